"""bench.py vocabularies: how fast the default vocabulary and RWKV World's encode the same text, and how densely."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path

import click
from bench_timing import (
    Corpora,
    Report,
    clock_option,
    corpora_option,
    documents,
    fail,
    interleave,
    json_option,
    n_option,
    one_core,
    ratio,
    shared_option,
    verdict,
    warm_up,
)

from pyunitok import Tokenizer

DEFAULTS = ("unitok-v1", "rwkv-world")
MEAN, WORST = 0.95, 0.7  # of RWKV World's speed, wanted: the geometric mean of all corpora, and each of them


@click.command()
@shared_option
@corpora_option
@click.option(
    "-m", "--model", "names", metavar="MODEL", multiple=True,
    help="A model's file or name instead of unitok-v1; given again, another one instead of rwkv-world.",
)  # fmt: skip
@n_option(5)
@clock_option
@json_option
def vocabularies(
    shared: Path | None, corpora: str | None, names: tuple[str, ...], n: int, clock: str, as_json: bool
) -> None:
    """encode_batch of 16 KB documents on one core with two greedy vocabularies, turn by turn.

    Each is decoded again and compared before anything is timed. Timed is the second half of each corpus, warmed on the
    first. With several corpora, the last row has the geometric means of speeds and
    ratios and the harmonic means of bytes per token.
    """
    if len(names) > 2:
        raise click.UsageError("give at most two models")
    has_targets = len(names) < 2
    names += DEFAULTS[len(names) :]
    models = [Tokenizer.from_file(name) for name in names]
    texts = Corpora.find(shared, corpora)
    title = f"vocabularies: {models[0].name} beside {models[1].name}, encode_batch(threads=1), one core"
    report = Report(title, n, clock)

    def prepare(k: int, docs: list[bytes]) -> None:
        warm_up(models[k], docs)

    def encode(k: int, docs: list[bytes]) -> object:
        return models[k].encode_batch(docs, threads=1)

    with one_core():
        for name in texts.names:
            docs = documents(texts.read(name))
            half = len(docs) // 2
            n_bytes, rates = sum(map(len, docs[half:])), []
            for model in models:
                packed = model.encode_batch(docs, threads=1)
                if model.decode_bytes(packed.data) != b"".join(docs):
                    raise fail(f"{name}: {model.name} does not give the text back")
                rates.append(n_bytes / len(packed.data[packed.offsets[half] :]))
            seconds = interleave(
                {str(k): partial(encode, k, docs[half:]) for k in range(2)}, n,
                before={str(k): partial(prepare, k, docs[:half]) for k in range(2)}, clock=clock,
            )  # fmt: skip
            speeds = tuple(n_bytes / statistics.median(seconds[k]) / 1e6 for k in "01")
            add(report, name, speeds, ratio(seconds["1"], seconds["0"]), rates, WORST if has_targets else None)
    if len(report.rows) > 1:
        summarize(report, MEAN if has_targets else None)
    report.show(as_json)


def add(
    report: Report, name: str, speeds: Sequence[float], part: float, rates: Sequence[float], target: float | None
) -> None:
    """A row: MB/s and bytes per token of both, and the ratios of the first to the second."""
    report.add(
        corpus=name, MBps=speeds[0], other_MBps=speeds[1], ratio=part, target=target,
        verdict=verdict(part >= target) if target else None, bytes_per_token=rates[0], other=rates[1],
        denser=rates[0] / rates[1],
    )  # fmt: skip


def summarize(report: Report, target: float | None) -> None:
    """The means in a last row, and the slowest and the least dense corpus in a note."""
    rows = list(report.rows)

    def column(name: str) -> list[float]:
        return [row[name] for row in rows]

    speeds = [statistics.geometric_mean(column(name)) for name in ("MB/s", "other MB/s")]
    rates = [statistics.harmonic_mean(column(name)) for name in ("bytes per token", "other")]
    add(report, f"mean of {len(rows)}", speeds, statistics.geometric_mean(column("ratio")), rates, target)
    worst = [min(rows, key=itemgetter(name)) for name in ("ratio", "denser")]
    report.notes.append(
        f"slowest beside the other: {worst[0]['corpus']}, {worst[0]['ratio']:.2f}; "
        f"least dense beside it: {worst[1]['corpus']}, {worst[1]['denser']:.3f}"
    )
