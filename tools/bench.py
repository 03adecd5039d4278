"""Benchmarks: python tools/bench.py COMMAND. Each command verifies its results before it prints a figure.

bench_texts.py provides the texts, bench_peers.py the table of peers, bench_timing.py the timing loop and the report.
The corpora are not part of the repository; without them, the sample in tests/data is measured.
"""

from importlib import import_module

from bench_timing import cli

_NAMES = (
    "encode", "bytelevel", "sample", "calls", "command", "reading", "suffix", "search", "words", "compact", "clean",
    "train", "report",
)  # fmt: skip
for _name in _NAMES:
    import_module(f"bench_{_name}")  # importing a module adds its commands

if __name__ == "__main__":
    cli()
