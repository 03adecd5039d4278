"""bench.py vocabularies: how fast the default vocabulary and RWKV World's encode the same text, and how densely."""

from __future__ import annotations

import statistics
from functools import partial
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

TARGETS = {"en_prose": 0.7, "en_web": 0.7, "code": 0.7, "zh": 0.7, "ja": 0.7}


@click.command()
@shared_option
@corpora_option
@click.option("-m", "--model", "names", multiple=True, help="Two models; by default unitok-v1 and rwkv-world.")
@n_option(5)
@clock_option
@json_option
def vocabularies(
    shared: Path | None, corpora: str | None, names: tuple[str, ...], n: int, clock: str, as_json: bool
) -> None:
    """encode_batch of 16 KB documents on one core with two greedy vocabularies, turn by turn.

    Each is decoded again and compared before anything is timed. Timed is the second half of each corpus, warmed on the
    first.
    """
    if len(names or TARGETS) < 2:
        raise click.UsageError("give two models")
    models = [Tokenizer.from_file(name) for name in names[:2] or ("unitok-v1", "rwkv-world")]
    texts = Corpora.find(shared, corpora)
    title = f"vocabularies: {models[0].name} beside {models[1].name}, encode_batch(threads=1), one core"
    report = Report(title, n, clock)
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
                {str(k): partial(model.encode_batch, docs[half:], threads=1) for k, model in enumerate(models)}, n,
                before={str(k): partial(warm_up, model, docs[:half]) for k, model in enumerate(models)}, clock=clock,
            )  # fmt: skip
            ours, theirs = (n_bytes / statistics.median(seconds[k]) / 1e6 for k in "01")
            part, target = ratio(seconds["1"], seconds["0"]), TARGETS.get(name) if not names else None
            report.add(
                corpus=name, MBps=ours, other_MBps=theirs, ratio=part, target=target,
                verdict=verdict(part >= target) if target else None, bytes_per_token=rates[0], other=rates[1],
                denser=rates[0] / rates[1],
            )  # fmt: skip
    report.show(as_json)
