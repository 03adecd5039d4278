"""Benchmarks: python tools/bench.py COMMAND. Each verifies what it times before it prints a figure.

bench_texts.py is the table of texts, bench_peers.py that of the peers, bench_timing.py the timing loop and the report.
Corpora are not part of the repository; without them, the sample in tests/data is measured.
"""

from __future__ import annotations

import bench_calls
import bench_command
import bench_encode
import bench_reading
import bench_sample
import bench_search
import bench_suffix
import bench_train
import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure pyunitok and its peers in turns; compare ratios, not megabytes."""


for _command in (
    bench_encode.encode, bench_encode.vocabularies, bench_sample.sample, bench_calls.single, bench_calls.load,
    bench_calls.start, bench_command.tokenize, bench_command.rss, bench_command.stream, bench_command.checkpoints,
    bench_reading.reading, bench_reading.pipelines, bench_suffix.suffix, bench_search.search,
    bench_train.train_command, bench_train.density,
):  # fmt: skip
    cli.add_command(_command)

if __name__ == "__main__":
    cli()
