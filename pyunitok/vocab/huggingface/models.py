"""Reads the model of a tokenizer.json: Unigram, or BPE that is not byte-level."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyunitok._c.library import MODEL_FLAGS
from pyunitok.packed import Offsets
from pyunitok.vocab.huggingface import merges
from pyunitok.vocab.huggingface.fields import Fields

_SCORE_MAX = 1e30
# If the lowest score, s, is at most this, adjacent unknown characters never spell a piece: k unknown characters score
# k * (s - 10), and a piece scores at least s, which is greater if (k - 1) * s < 10 * k.
_LEAST_SCORE_MAX = 10.0
BYTE_PIECES = {f"<0x{byte:02X}>" for byte in range(256)}


class FileModel(NamedTuple):
    """The model in a tokenizer.json."""

    kind: str  # "unigram" or "bpe"
    pieces: list[str]
    ids: list[int]
    scores: list[float] | None
    unknown: int | None  # the id of unknown characters
    flags: int
    merges: Offsets | None  # as in Vocabulary
    more: dict[str, Any]  # settings for About.prepare


# -------------------------------------------------------------------------------------------------- Unigram ----


def read_unigram(fields: Fields, is_bytes: bool = False) -> FileModel:
    """Read a Unigram model. Accepts only models in which no character is unknown and for which C gives identical
    ids."""
    pieces, scores = [], []
    for k, pair in enumerate(fields.list("vocab")):
        piece, score = pair if isinstance(pair, list) and len(pair) == 2 else ("", "")
        if not isinstance(score, int | float) or isinstance(score, bool) or not -_SCORE_MAX <= score <= _SCORE_MAX:
            fields.refuse("expected a piece and a score within ±1e30", f"vocab[{k}]")
        pieces.append(_text(piece, fields, f"vocab[{k}]"))
        scores.append(float(score))
    byte_fallback, ids = fields.boolean("byte_fallback", False), list(range(len(pieces)))
    if is_bytes and not fields.has("unk_id") and not byte_fallback:
        return FileModel("unigram", pieces, ids, scores, None, MODEL_FLAGS["float64"], None, {})
    if not fields.has("unk_id"):
        fields.refuse("null requires `tokenizers`", "unk_id")
    unknown = fields.integer("unk_id")
    if unknown >= len(pieces):
        fields.refuse(f"{unknown} has no piece; the largest id is {len(pieces) - 1}", "unk_id")
    if is_bytes or not byte_fallback or not set(pieces) >= BYTE_PIECES:
        fields.refuse("unknown characters require `tokenizers`", "byte_fallback")
    if min(scores) > _LEAST_SCORE_MAX:
        fields.refuse("scores this large require `tokenizers`", "vocab")
    names = ("float64", "merge_unknown", "byte_fallback", "byte_pieces_match")
    more = {"reference": False, "byte_fallback": byte_fallback, "unknown_score": scores[unknown]}
    return FileModel("unigram", pieces, ids, scores, unknown, sum(map(MODEL_FLAGS.__getitem__, names)), None, more)


def _text(value: Any, fields: Fields, key: str) -> str:
    return Fields({key: value}, fields.where).string(key) or fields.refuse("an empty piece requires `tokenizers`", key)


# ------------------------------------------------------------------------------------------------------ BPE ----


def read_bpe(fields: Fields) -> FileModel:
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if fields.has(key) and fields.string(key):
            fields.refuse("a non-empty string requires `tokenizers`", key)
    vocab = fields.child("vocab")
    ids = []
    for k, piece in enumerate(vocab.values):
        _text(piece, fields, f"vocab[{k}]")
        ids.append(vocab.integer(piece))
    if len(set(ids)) < len(ids):
        fields.refuse("two pieces have the same id", "vocab")
    unknown = None
    if fields.has("unk_token"):
        unknown = vocab.integer(fields.string("unk_token"))
    names = ["listed_merges"]
    for key, flag in (("byte_fallback",) * 2, ("fuse_unk", "merge_unknown"), ("ignore_merges",) * 2):
        names += [flag] if fields.boolean(key, False) else []
    flags = sum(MODEL_FLAGS[flag] for flag in names)
    return FileModel("bpe", list(vocab.values), ids, None, unknown, flags, merges.read(fields, vocab.values), {})
