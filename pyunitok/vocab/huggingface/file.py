"""Read a tokenizer.json: as a C model if it is Unigram or BPE and direct.py supports the rest, else for delegate.py.

The ids equal those of tokenizers 0.23.3.
"""

from __future__ import annotations

import json
import re
import warnings
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.library import MODEL_FLAGS
from pyunitok.errors import ModelFormatError, ModelWarning, VocabularyError
from pyunitok.vocab import byte_level
from pyunitok.vocab.huggingface import delegate, writer
from pyunitok.vocab.huggingface.decoders import SPACE
from pyunitok.vocab.huggingface.delegate import special_ids
from pyunitok.vocab.huggingface.direct import FORMAT, Settings
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, Vocabulary

_SCORE_MAX = 1e30
# If the least score is at most this, joined unknown characters never spell a piece. k unknown characters score
# k (least - 10), and a piece scores at least `least`, which is better while (k - 1) least < 10 k.
_LEAST_SCORE_MAX = 10.0
_KEYS = (*writer.PARTS, "version", "truncation", "padding", "added_tokens", "model")
_BYTE_PIECES = {f"<0x{byte:02X}>" for byte in range(256)}
_FIRST_KEY = re.compile(rb'\s*\{\s*"([a-z_]*)"\s*:\s*("1\.0"|[\[{n])')


def looks_like_json(data: bytes) -> bool:
    """Whether `data` begins like a tokenizer.json: an object whose first key is one of _KEYS."""
    match = _FIRST_KEY.match(data)
    return match is not None and match[1].decode() in _KEYS


class _Model(NamedTuple):
    """The model in the file."""

    kind: str  # "unigram" or "bpe"
    pieces: list[str]
    ids: list[int]
    scores: list[float] | None
    unknown: int | None  # an id
    flags: int
    merges: list[tuple[int, int, int]]
    more: dict[str, Any]  # for About.prepare


def read(data: bytes, name: str) -> Vocabulary:
    """Read a file. ModelFormatError if it is not a tokenizer.json; VocabularyError names the file and the field."""
    try:
        document = Fields(json.loads(data, parse_float=writer.serde_float), f"{name}: ")
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{name}: not a valid tokenizer.json: {error}") from None
    for key, what in (("truncation", "truncated"), ("padding", "padded")):
        if document.has(key):
            message = f"{document.path(key)}: pyunitok does not support it, so texts are not {what}; set it to null"
            warnings.warn(ModelWarning(message), stacklevel=2)
    model = document.child("model")
    for key in ("dropout", "alpha", "nbest_size"):
        if model.values.get(key) not in (None, 0):
            model.refuse("it would make ids random, so it is not supported; set it to null in the file", key)
    try:
        return _for_c(document, model, name)
    except VocabularyError as reason:
        return delegate.read(data, document, name, str(reason))


def _for_c(document: Fields, fields: Fields, name: str) -> Vocabulary:
    """VocabularyError names the first unsupported field."""
    if document.string("version", "1.0") != "1.0":
        document.refuse("only version 1.0 is supported", "version")
    kind = fields.string("type", "BPE" if fields.has("merges") else "Unigram")
    if kind not in ("BPE", "Unigram"):
        fields.refuse(f"the model {kind[:40]!r} requires `tokenizers`", "type")
    settings = Settings.of(document)
    model = (_read_unigram if kind == "Unigram" else _read_bpe)(fields, settings.is_bytes)
    table = dict(zip(model.pieces, model.ids, strict=True))
    if not settings.is_bytes:
        if any(" " in piece for piece in model.pieces):  # C represents U+2581 as a space
            fields.refuse("a piece with a space requires `tokenizers`", "vocab")
        if settings.flags & MODEL_FLAGS["restart_at_space"] and table.get(SPACE, model.unknown) == model.unknown:
            fields.refuse("a vocabulary without the piece U+2581 requires `tokenizers`", "vocab")
        if model.scores is not None and model.unknown not in {token.id for token in settings.tokens}:
            fields.refuse("an unknown piece that is not an added token requires `tokenizers`", "unk_id")
    next_id = len(model.pieces)
    for token in settings.tokens:
        id_ = table.get(token.content, next_id)
        next_id += token.content not in table
        if token.id != id_:
            document.refuse(f"{token.content[:40]!r} has id {id_} in `tokenizers`, not {token.id}", "added_tokens")
    return _pack(document, fields, model, settings, table, name)


def _pack(
    document: Fields, fields: Fields, model: _Model, settings: Settings, table: dict[str, int], name: str
) -> Vocabulary:
    """Added tokens that are not in the model become pieces that match nothing. Of equal pieces, the last matches."""
    tokens = {token.id: token.content for token in settings.tokens}
    pieces: list[bytes] = []
    types: list[int] = []
    for piece, id_ in zip(model.pieces, model.ids, strict=True):
        is_token = settings.is_bytes and id_ in tokens
        try:
            pieces.append(byte_level.bytes_of(piece) if settings.is_bytes and not is_token else piece.encode())
        except KeyError:
            fields.refuse(f"{piece[:40]!r} has a character that does not stand for a byte", "vocab")
        is_byte = model.flags & MODEL_FLAGS["byte_pieces_match"] and piece in _BYTE_PIECES
        types.append(UNKNOWN if id_ == model.unknown else CONTROL if is_token or table[piece] != id_
                     else BYTE if is_byte else NORMAL)  # fmt: skip
    own = [piece for piece, type_ in zip(pieces, types, strict=True) if type_ != CONTROL]
    if settings.is_bytes and sum(len(piece) == 1 for piece in own) < 256:
        fields.refuse("a vocabulary without all 256 bytes requires `tokenizers`", "vocab")
    if settings.splits_bytes and writer.crosses_spaces(own):
        document.refuse("a Split at spaces that pieces cross requires `tokenizers`", "pre_tokenizer")
    more = {id_: content for id_, content in tokens.items() if id_ not in set(model.ids)}
    special = special_ids(table | {content: id_ for id_, content in tokens.items()})
    if model.unknown is not None:
        special["unk"] = model.unknown
    after = settings.template.after
    eod_id = special.get("eos", after[-1] if len(after) == 1 else None)
    shown = dict(zip(model.ids, model.pieces, strict=True)) | tokens
    scores = None
    if model.scores is not None:
        least = min(model.scores, default=0.0)  # the score of unknown characters is relative to it
        scores = [least if id_ == model.unknown else s for id_, s in zip(model.ids, model.scores, strict=True)]
        scores += [least] * len(more)
    parts = {key: document.values.get(key) for key in (*writer.PARTS, "added_tokens")}
    return Vocabulary.pack(
        [*pieces, *(content.encode() for content in more.values())], np.array([*model.ids, *more], np.int64),
        eod_id=eod_id, eod_piece=None if eod_id is None else shown.get(eod_id), name=name, kind=model.kind,
        scores=None if scores is None else np.array(scores, np.float64),
        types=np.array([*types, *[CONTROL] * len(more)], np.uint8), flags=model.flags | settings.flags, special=special,
        merges=np.array(model.merges, np.int64).reshape(-1, 3).T.reshape(-1).copy() if model.scores is None else None,
        prepare={"format": FORMAT, **parts, **model.more},
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------- Unigram ----


def _read_unigram(fields: Fields, is_bytes: bool) -> _Model:
    """Accepts only models in which no character is unknown and which C encodes identically."""
    pieces, scores = [], []
    for k, pair in enumerate(fields.list("vocab")):
        piece, score = pair if isinstance(pair, list) and len(pair) == 2 else ("", "")
        if not isinstance(score, int | float) or isinstance(score, bool) or not -_SCORE_MAX <= score <= _SCORE_MAX:
            fields.refuse("expected a piece and a score within ±1e30", f"vocab[{k}]")
        pieces.append(_text(piece, fields, f"vocab[{k}]"))
        scores.append(float(score))
    byte_fallback, ids = fields.boolean("byte_fallback", False), list(range(len(pieces)))
    if is_bytes and not fields.has("unk_id") and not byte_fallback:
        return _Model("unigram", pieces, ids, scores, None, MODEL_FLAGS["float64"], [], {})
    if not fields.has("unk_id"):
        fields.refuse("null requires `tokenizers`", "unk_id")
    unknown = fields.integer("unk_id")
    if unknown >= len(pieces):
        fields.refuse(f"{unknown} has no piece; the largest id is {len(pieces) - 1}", "unk_id")
    if is_bytes or not byte_fallback or not set(pieces) >= _BYTE_PIECES:
        fields.refuse("unknown characters require `tokenizers`", "byte_fallback")
    if min(scores) > _LEAST_SCORE_MAX:
        fields.refuse("scores this large require `tokenizers`", "vocab")
    names = ("float64", "merge_unknown", "byte_fallback", "byte_pieces_match")
    more = {"reference": False, "byte_fallback": byte_fallback, "unknown_score": scores[unknown]}
    return _Model("unigram", pieces, ids, scores, unknown, sum(map(MODEL_FLAGS.__getitem__, names)), [], more)


def _text(value: Any, fields: Fields, key: str) -> str:
    return Fields({key: value}, fields.where).string(key) or fields.refuse("an empty piece requires `tokenizers`", key)


# ------------------------------------------------------------------------------------------------------ BPE ----


def _read_bpe(fields: Fields, is_bytes: bool) -> _Model:
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if fields.has(key) and fields.string(key):
            fields.refuse("it requires `tokenizers`", key)
    vocab = fields.child("vocab")
    ids = []
    for k, piece in enumerate(vocab.values):
        _text(piece, fields, f"vocab[{k}]")
        ids.append(vocab.integer(piece))
    if len(set(ids)) < len(ids):
        fields.refuse("two pieces have the same id", "vocab")
    unknown = None
    if fields.has("unk_token") and not is_bytes:
        unknown = vocab.integer(fields.string("unk_token"))
    names = ["listed_merges"]
    for key, flag in (("byte_fallback",) * 2, ("fuse_unk", "merge_unknown"), ("ignore_merges",) * 2):
        names += [flag] if fields.boolean(key, False) else []
    if is_bytes and len(names) > 1:
        fields.refuse("a byte-level model with byte_fallback, fuse_unk or ignore_merges requires `tokenizers`")
    flags = sum(MODEL_FLAGS[flag] for flag in names)
    return _Model("bpe", list(vocab.values), ids, None, unknown, flags, _read_merges(fields, vocab.values), {})


def _read_merges(fields: Fields, ids: dict[str, int]) -> list[tuple[int, int, int]]:
    ret = []
    for k, merge in enumerate(fields.list("merges")):
        if isinstance(merge, str):
            if merge.startswith("#version"):
                continue
            merge = merge.split(" ")
        if not isinstance(merge, list) or len(merge) != 2 or not all(isinstance(side, str) for side in merge):
            fields.refuse("expected two pieces", f"merges[{k}]")
        left, right = merge
        if left not in ids or right not in ids or left + right not in ids:
            missing = next(piece for piece in (left, right, left + right) if piece not in ids)
            fields.refuse(f"{missing[:40]!r} is not in the vocabulary", f"merges[{k}]")
        ret.append((ids[left], ids[right], ids[left + right]))
    return ret
