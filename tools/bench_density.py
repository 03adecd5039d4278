"""bench.py density: what models trained here make of text they have not seen, beside the compatible ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench_timing import Corpora, Report, fail, json_option, shared_option, verdict

TEXTS = {
    "en": "en_web", "de": "de", "zh": "zh", "ja": "ja", "code": "code", "mixed": "en_web,zh,code,de,ja,ru",
}  # fmt: skip
COMPAT: dict[str, Any] = {"compat": "sentencepiece", "hard_vocab_limit": False, "max_sentence_length": 1 << 20}
VARIANTS: dict[str, dict[str, Any]] = {"own": {}, "sparse": {"prune": "sparse"}, "tokens": {"objective": "tokens"}}
UNSEEN_BYTES = 800_000


@click.command()
@shared_option
@click.option("--kind", type=click.Choice(["unigram", "bpe"]), default="unigram", show_default=True)
@click.option("--text", "texts", multiple=True, type=click.Choice(list(TEXTS)), help="Only this.")
@click.option("--variant", "variants", multiple=True, type=click.Choice(list(VARIANTS)), help="Default: own.")
@click.option("--megabytes", type=float, default=4, show_default=True, help="Of text to train on.")
@click.option("--vocab-size", type=click.IntRange(300), default=16000, show_default=True)
@json_option
def density(
    shared: Path | None, kind: str, texts: tuple[str, ...], variants: tuple[str, ...], megabytes: float,
    vocab_size: int, as_json: bool,
) -> None:  # fmt: skip
    """Train with and without --compat sentencepiece; bytes per token, and for Unigram bits per byte, on the text's end.

    Bits are those of the best segmentation by the model's probabilities; what a model writes as bytes counts as
    nothing in both. With `mixed` every language has a sixth of the text.
    """
    report = Report(f"density: {vocab_size} pieces of {megabytes:g} MB, {kind}", 1)
    for name in texts or TEXTS:
        seen, unseen = parts(Corpora.find(shared, TEXTS[name]), int(megabytes * 1e6))
        theirs = measured(seen, unseen, kind, vocab_size, COMPAT)
        for variant in variants or ("own",):
            ours = measured(seen, unseen, kind, vocab_size, VARIANTS[variant])
            bits = {"bits_a_byte": ours[1], "compat_bits": theirs[1]} if kind == "unigram" else {}
            report.add(
                text=name, mode=variant, bytes_a_token=ours[0], compat=theirs[0], denser=ours[0] / theirs[0], **bits,
                verdict=verdict(ours[0] >= 0.9995 * theirs[0] and ours[1] <= 1.005 * theirs[1]),
            )  # fmt: skip
    report.show(as_json)


def parts(corpora: Corpora, n_bytes: int) -> tuple[list[str], list[bytes]]:
    """Lines to train on, equally many bytes of each corpus from its beginning, and lines from the ends."""
    seen, unseen = b"", b""
    for name in corpora.names:
        text = corpora.read(name)
        size, rest = n_bytes // len(corpora.names), UNSEEN_BYTES // len(corpora.names)
        if len(text) < size + rest:
            size, rest = len(text) * 3 // 4, len(text) // 4
        seen, unseen = seen + text[:size] + b"\n", unseen + text[-rest:] + b"\n"
    return seen.decode("utf-8", "ignore").split("\n"), unseen.decode("utf-8", "ignore").encode().split(b"\n")


def measured(
    seen: list[str], unseen: list[bytes], kind: str, size: int, options: dict[str, Any]
) -> tuple[float, float]:
    """(bytes a token, bits a byte)."""
    from pyunitok.train.api import run

    got = run(iter(seen), kind=kind, vocab_size=size, threads=1, byte_fallback=True, **options)
    assert got is not None  # as with a checkpoint only
    ids = got.tokenizer.encode_batch(unseen).data
    check = "The model decodes what it encodes."
    if got.tokenizer.decode(got.tokenizer.encode(check)) != check:
        raise fail("a trained model does not decode what it encodes")
    n_bytes = sum(map(len, unseen))
    scores = np.array([piece.score if piece.type == 1 else 0.0 for piece in got.proto.pieces])
    bits = -float(scores[ids].sum()) / math.log(2) / n_bytes if kind == "unigram" else 0.0
    return n_bytes / len(ids), bits
