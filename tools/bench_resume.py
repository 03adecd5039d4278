"""bench.py's command that measures what it costs to be able to go on: checkpoints."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from bench_command import temporary_option
from bench_timing import (
    Corpora,
    Report,
    corpora_option,
    fail,
    interleave,
    json_option,
    n_option,
    ratio,
    run,
    shared_option,
    verdict,
    write_zst,
)

CHECKPOINTS_TARGET = 1.02
N_FILES = 4
# The command with other intervals; children's processor time goes to stdout.
_CODE = """
import resource, sys
from pyunitok import cli
from pyunitok.run import output
output.CHECKPOINT_BYTES, output.CHECKPOINT_SECONDS, output.CHECKPOINT_SHARE = {}
cli.cli.main(sys.argv[1:], standalone_mode=False)
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
"""
_NEVER = "1 << 60, 1e18, 0"


@click.command()
@shared_option
@corpora_option
@n_option(4)
@click.option("--gigabytes", type=float, default=4.0, show_default=True, help="Text to tokenize, decompressed.")
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
@temporary_option
@json_option
def checkpoints(
    shared: Path | None, corpora: str | None, n: int, gigabytes: float, threads: int, tmp: str | None, as_json: bool
) -> None:
    """`pyunitok tokenize` with checkpoints as it makes them, with one each 64 MiB of text, and without any.

    Turn by turn there and back (ABBA), wall and processor time. The outputs' hashes are compared.
    """
    from pyunitok.run import output

    text = Corpora.find(shared, corpora).round_robin()
    usual = f"{output.CHECKPOINT_BYTES}, {output.CHECKPOINT_SECONDS}, {output.CHECKPOINT_SHARE}"
    kinds = {"none": _NEVER, "usual": usual, "each 64 MiB": "64 << 20, 1e18, 0"}
    with tempfile.TemporaryDirectory(dir=tmp) as name:
        folder = Path(name)
        paths = [folder / f"{k}.txt.zst" for k in range(N_FILES)]
        for path in paths:
            write_zst(path, text, int(gigabytes * 1e9 / N_FILES))
        out = folder / "ids.u16"
        argv = ["tokenize", *map(str, paths), "-o", str(out), "--overwrite", "--threads", str(threads)]
        cpu: dict[str, list[float]] = {kind: [] for kind in kinds}
        hashes = set()

        def measured(kind: str) -> None:
            cpu[kind].append(float(run([sys.executable, "-c", _CODE.format(kinds[kind]), *argv]).split()[-1]))
            hashes.add(json.dumps(json.loads(out.with_name("ids.u16.json").read_text())["hash"]))

        there = {f"{kind}, there": partial(measured, kind) for kind in kinds}
        back = {f"{kind}, back": partial(measured, kind) for kind in reversed(kinds)}
        functions: dict[str, Callable[[], Any]] = {**there, **back}
        seconds = interleave(functions, n)
        if len(hashes) != 1:
            raise fail("the outputs differ")
    report = Report(f"checkpoints: {gigabytes:.1f} GB of text, {threads} threads", n)
    turns = {kind: zip(seconds[f"{kind}, there"], seconds[f"{kind}, back"], strict=True) for kind in kinds}
    pairs = {kind: list(map(sum, there_and_back)) for kind, there_and_back in turns.items()}
    for kind in kinds:
        part = ratio(pairs[kind], pairs["none"])
        report.add(
            checkpoints=kind, s=statistics.median(pairs[kind]) / 2, to_none=part, cpu_s=statistics.median(cpu[kind]),
            cpu_to_none=statistics.median(cpu[kind]) / statistics.median(cpu["none"]),
            target=CHECKPOINTS_TARGET if kind == "usual" else None,
            verdict=verdict(part <= CHECKPOINTS_TARGET) if kind == "usual" else None,
        )  # fmt: skip
    report.show(as_json)
