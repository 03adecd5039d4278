"""Hugging Face's tokenizer.json: models of the kinds Unigram and BPE, with the ids of tokenizers 0.23.3.

What stands around the model (normalizer, pre-tokenizer, added tokens, decoder, post-processor) stays as it is in the
file, checked by its readers in this folder, and lies in About.prepare. What is not supported is refused; the error
names the field.
"""

from __future__ import annotations

import json
import re
import warnings
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c import library
from pyunitok.errors import ModelFormatError, ModelWarning, VocabularyError
from pyunitok.vocab.byte_level import flags_of
from pyunitok.vocab.huggingface import added, byte_level, decoders, normalizers, pretokenizers, shortcut, unigram
from pyunitok.vocab.huggingface.fields import Fields, optional
from pyunitok.vocab.huggingface.preparation import FORMAT
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, Vocabulary

_SCORE_MAX = 1e30
_KEYS = (*byte_level.PARTS, "version", "truncation", "padding", "added_tokens", "model")
_ROLES = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>"), "eos": ("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"),
    "pad": ("<pad>", "[PAD]"),
}  # fmt: skip
_SPACE = pretokenizers.SPACE


def looks_like_json(head: bytes) -> bool:
    """Whether a file that begins so is a tokenizer.json: an object whose first key is one of its."""
    match = re.match(rb'\s*\{\s*"([a-z_]*)"\s*:\s*("1\.0"|[\[{n])', head)
    return match is not None and match[1].decode() in _KEYS


class _Model(NamedTuple):
    """The model's part of the file."""

    kind: str  # "unigram" or "bpe"
    pieces: list[str]
    ids: list[int]
    scores: list[float] | None
    unknown: int | None  # an id
    flags: int
    merges: list[tuple[int, int, int]]
    more: dict[str, Any]  # for About.prepare

    def table(self) -> dict[str, int]:
        """The id of a piece: of equal ones the last, as in tokenizers."""
        return dict(zip(self.pieces, self.ids, strict=True))


def read(data: bytes, name: str) -> Vocabulary:
    """The model in a file's bytes. ModelFormatError: no such file; VocabularyError names file and field."""
    try:
        values = json.loads(data, parse_float=serde_float)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError, too
        raise ModelFormatError(f"{name}: not a tokenizer.json, or damaged: {error}") from None
    document = Fields(values, f"{name}: ")
    if document.string("version", "1.0") != "1.0":
        document.refuse("only version 1.0 is known", "version")
    for key, what in (("truncation", "truncated"), ("padding", "padded")):
        if document.has(key):
            message = f"{document.path(key)}: texts are not {what} here; set it to null to silence this warning"
            warnings.warn(ModelWarning(message), stacklevel=2)
    fields = document.child("model")
    kind = fields.string("type", "BPE" if fields.has("merges") else "Unigram")
    if kind not in ("BPE", "Unigram"):
        fields.refuse(f"the model {kind[:40]!r} is not supported: only Unigram and BPE are", "type")
    is_bytes = byte_level.looks_byte_level(document)
    model = _read_unigram(fields, is_bytes) if kind == "Unigram" else _read_bpe(fields)
    try:
        if is_bytes:
            return _assemble_bytes(document, model, name)
        return _assemble(document, model, name)
    except re.error as error:
        raise VocabularyError(f"{name}: {error}") from None


def _assemble(document: Fields, model: _Model, name: str) -> Vocabulary:
    normalize = normalizers.read(optional(document, "normalizer"))
    pretokenizers.read(optional(document, "pre_tokenizer"))
    decoders.read(optional(document, "decoder"))
    template = decoders.read_template(optional(document, "post_processor"))

    def normalized(text: str) -> str:
        return normalizers.apply(normalize, text)

    table = model.table()
    tokens = added.read(document, table, len(model.pieces), normalized)
    for finder in (False, True):
        added.Finder(tokens, finder, document)
    short = shortcut.of(document)
    if model.kind == "bpe" and any(" " in piece for piece in model.pieces):
        short = shortcut.Shortcut()  # in compact texts a space stands for U+2581
    if table.get(_SPACE) is None or table[_SPACE] == model.unknown:
        short.drop_restart()  # unknown characters on both sides of it must not be joined
    special = _special(tokens, table)
    if model.unknown is not None:
        special["unk"] = model.unknown
    eod_id = special.get("eos", template.after[-1] if len(template.after) == 1 else None)
    prepare = _prepare(document, tokens)
    own = set(model.ids)
    return _pack(
        model, [(token.content, token.id) for token in tokens if token.id not in own], name,
        flags=model.flags | short.flags, charsmap=short.charsmap.blob if short.charsmap and short.is_direct else b"",
        special=special, prepare={"format": FORMAT, **prepare, **model.more}, eod_id=eod_id,
    )  # fmt: skip


def _special(tokens: list[added.AddedToken], table: dict[str, int]) -> dict[str, int]:
    """Ids by role."""
    known = {token.content: token.id for token in tokens}
    special = {
        role: next((known.get(t, table.get(t, -1)) for t in names if t in known or t in table), -1)
        for role, names in _ROLES.items()
    }
    return {role: id_ for role, id_ in special.items() if id_ >= 0}


def _prepare(document: Fields, tokens: list[added.AddedToken]) -> dict[str, Any]:
    """For About.prepare, with the ids that the tokens have."""
    prepare = {key: document.values.get(key) for key in (*byte_level.PARTS, "added_tokens")}
    if tokens:
        ids = {token.content: token.id for token in tokens}
        prepare["added_tokens"] = [
            {**values, "id": ids.get(values["content"], values["id"])} for values in document.list("added_tokens")
        ]
    return prepare


def _assemble_bytes(document: Fields, model: _Model, name: str) -> Vocabulary:
    if model.flags & ~flags_of(model.kind):
        document.refuse("a byte-level model needs no byte_fallback, fuse_unk or ignore_merges", "model")
    table = model.table()
    tokens = added.read(document, table, len(model.pieces), lambda text: text)
    template = decoders.read_template(optional(document, "post_processor"))
    special = _special(tokens, table)
    eod_id = special.get("eos", template.after[-1] if len(template.after) == 1 else None)
    shown = {id_: piece for piece, id_ in [*table.items(), *((token.content, token.id) for token in tokens)]}
    return byte_level.vocabulary_of(
        document, kind=model.kind, pieces=model.pieces, ids=model.ids, scores=model.scores, merges=model.merges,
        added=[(token.content, token.id) for token in tokens], name=name, special=special, eod_id=eod_id,
        eod_piece=None if eod_id is None else shown[eod_id],
        prepare={"format": FORMAT, **_prepare(document, tokens)},
    )  # fmt: skip


def _pack(model: _Model, more: list[tuple[str, int]], name: str, *, eod_id: int | None, **rest: Any) -> Vocabulary:
    """`more`: added tokens that the model does not have; they match nothing there. Of equal pieces the last does."""
    last = {piece: k for k, piece in enumerate(model.pieces)}
    keep = [k for k, piece in enumerate(model.pieces) if piece]
    pieces = [model.pieces[k].encode() for k in keep] + [content.encode() for content, _ in more]
    ids = [model.ids[k] for k in keep] + [id_ for _, id_ in more]
    types = [NORMAL if last[model.pieces[k]] == k else CONTROL for k in keep] + [CONTROL] * len(more)
    scores = None
    if model.scores is not None:
        least = min(model.scores)  # which an unknown character's score is counted from: it must be among those of C
        scores = [model.scores[k] for k in keep] + [least] * len(more)
    if model.flags & library.MODEL_FLAGS["byte_pieces_match"]:
        types = [BYTE if re.fullmatch(rb"<0x[0-9A-F]{2}>", piece) and type_ == NORMAL else type_
                 for piece, type_ in zip(pieces, types, strict=True)]  # fmt: skip
    for k, id_ in enumerate(ids):
        if id_ == model.unknown:
            types[k] = UNKNOWN
            if scores is not None:
                scores[k] = least
    shown = dict(zip(ids, pieces, strict=True))
    return Vocabulary.pack(
        pieces, np.array(ids, np.int64), eod_id=eod_id,
        eod_piece=shown[eod_id].decode() if eod_id in shown else None, name=name, kind=model.kind,
        scores=None if scores is None else np.array(scores, np.float64), types=np.array(types, np.uint8),
        merges=np.array(model.merges, np.int64).reshape(-1, 3).T.reshape(-1).copy() if model.kind == "bpe" else None,
        **rest,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------- Unigram ----


_FLOAT = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")


def serde_float(text: str) -> float:
    """A number of JSON as serde_json reads it, which tokenizers is built on: its digits as an integer, rounded, then
    one multiplication or division by a power of ten. Some scores come out one unit beside the nearest."""
    match = _FLOAT.fullmatch(text)
    assert match is not None
    digits, exponent = match[2] + (match[3] or ""), int((match[4] or "0")[:9]) - len(match[3] or "")
    digits = digits.lstrip("0") or "0"
    significand = int(digits[:20])
    n_digits = 20
    while significand > 0xFFFFFFFFFFFFFFFF or n_digits > len(digits):  # digits that no longer fit are left out
        n_digits -= 1
        significand = int(digits[:n_digits])
    exponent += len(digits) - n_digits
    value = float(significand)
    while exponent < -308 and value:
        value, exponent = value / 1e308, exponent + 308
    if value and exponent > 308:
        raise ValueError(f"the number {text[:40]} is out of range")
    if value:
        value = value * float(f"1e{exponent}") if exponent >= 0 else value / float(f"1e{-exponent}")
    return -value if match[1] else value


def _read_unigram(fields: Fields, is_bytes: bool) -> _Model:
    """is_bytes: no character is unknown."""
    pieces, scores = [], []
    for k, pair in enumerate(fields.list("vocab")):
        piece, score = _scored(pair, fields, k)
        pieces.append(piece)
        scores.append(score)
    if is_bytes and not fields.has("unk_id") and not fields.boolean("byte_fallback", False):
        return _Model("unigram", pieces, list(range(len(pieces))), scores, None, library.MODEL_FLAGS["float64"], [], {})
    if not fields.has("unk_id"):
        fields.refuse("null is not supported: unknown characters need an id", "unk_id")
    unknown = fields.integer("unk_id")
    if unknown >= len(pieces):
        fields.refuse(f"{unknown} has no piece: there are {len(pieces)}", "unk_id")
    for key in ("alpha", "nbest_size"):
        if fields.has(key):
            fields.refuse("it is not supported", key)
    byte_fallback = fields.boolean("byte_fallback", False)
    found = {f"<0x{byte:02X}>" for byte in range(256)} & set(pieces)
    names = ["float64", "merge_unknown"] + (["byte_fallback"] if byte_fallback and len(found) == 256 else [])
    more = {
        "reference": not unigram.is_simple(pieces, scores, unknown, byte_fallback),
        "byte_fallback": byte_fallback,
        "unknown_score": scores[unknown],
    }
    if byte_fallback and len(found) == 256:
        names.append("byte_pieces_match")
    flags = sum(library.MODEL_FLAGS[flag] for flag in names)
    return _Model("unigram", pieces, list(range(len(pieces))), scores, unknown, flags, [], more)


def _scored(pair: Any, fields: Fields, k: int) -> tuple[str, float]:
    if not isinstance(pair, list) or len(pair) != 2:
        fields.refuse("a pair of piece and score is needed", f"vocab[{k}]")
    score = pair[1]
    if type(score) not in (int, float) or not -_SCORE_MAX <= score <= _SCORE_MAX:
        fields.refuse("the score must be a number within 1e30", f"vocab[{k}]")
    return _text(pair[0], fields, f"vocab[{k}]"), float(score)


def _text(value: Any, fields: Fields, key: str) -> str:
    return Fields({key: value}, fields.where).string(key)


# ------------------------------------------------------------------------------------------------------ BPE ----


def _read_bpe(fields: Fields) -> _Model:
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if fields.has(key) and fields.string(key):
            fields.refuse("it is not supported", key)
    if fields.has("dropout") and fields.values["dropout"] != 0:
        fields.refuse("it is not supported; set it to null in the file to do without", "dropout")
    vocab = fields.child("vocab")
    ids = []
    for k, piece in enumerate(vocab.values):
        _text(piece, fields, f"vocab[{k}]")
        if not piece:
            fields.refuse("an empty piece is not supported", f"vocab[{k}]")
        ids.append(vocab.integer(piece))
    if len(set(ids)) < len(ids):
        fields.refuse("two pieces have the same id", "vocab")
    unknown = None
    if fields.has("unk_token"):
        unknown = vocab.values.get(fields.string("unk_token"))
    more = {"missing_unknown": fields.string("unk_token")} if fields.has("unk_token") and unknown is None else {}
    names = ["listed_merges"]
    for key, flag in (("byte_fallback",) * 2, ("fuse_unk", "merge_unknown"), ("ignore_merges",) * 2):
        names += [flag] if fields.boolean(key, False) else []
    flags = sum(library.MODEL_FLAGS[flag] for flag in names)
    merges = _read_merges(fields, vocab.values)
    return _Model("bpe", list(vocab.values), ids, None, unknown, flags, merges, more)


def _read_merges(fields: Fields, ids: dict[str, int]) -> list[tuple[int, int, int]]:
    ret = []
    for k, merge in enumerate(fields.list("merges")):
        if isinstance(merge, str):
            if merge.startswith("#version"):
                continue
            merge = merge.split(" ")
        if not isinstance(merge, list) or len(merge) != 2 or not all(isinstance(side, str) for side in merge):
            fields.refuse("two pieces are needed", f"merges[{k}]")
        left, right = merge
        if left not in ids or right not in ids or left + right not in ids:
            missing = next(piece for piece in (left, right, left + right) if piece not in ids)
            fields.refuse(f"{missing[:40]!r} is not in the vocabulary", f"merges[{k}]")
        ret.append((ids[left], ids[right], ids[left + right]))
    return ret
