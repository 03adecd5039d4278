"""Reads a byte-level tokenizer.json for C: the pieces, the ids of added tokens, and the settings for byte_rules.py."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.library import MODEL_FLAGS, WIDE_ID_MAX
from pyunitok.packed import Bytes, Offsets, Scores
from pyunitok.vocab import byte_level
from pyunitok.vocab.huggingface import added_tokens, merges, writer
from pyunitok.vocab.huggingface.added_tokens import AddedToken
from pyunitok.vocab.huggingface.byte_rules import SPLIT_PATTERN, ByteSettings
from pyunitok.vocab.huggingface.delegate import special_ids
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.models import read_unigram
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, USER_DEFINED, PackedPieces, Vocabulary, pack, split

_NEEDED = "requires `tokenizers`"
_EMPTY = b"<empty>"  # stands for the piece "", which C does not support; any name works


class _Pieces(NamedTuple):
    kind: str
    ids: dict[str, int]  # {piece: id}
    flags: int
    scores: Scores | None = None
    merges: Offsets | None = None  # as in Vocabulary


def read(document: Fields, model: Fields, kind: str, name: str) -> Vocabulary:
    """Read a file that C supports. Raises VocabularyError, which names the first unsupported field."""
    settings = ByteSettings.of(document)
    own = _read_bpe(model) if kind == "BPE" else _read_unigram(model)
    tokens = added_tokens.with_ids(settings.tokens, own.ids, document)
    packed, types = _pieces(own, tokens)
    _check_bytes(model, own, packed, types)
    pattern = settings.steps.pattern
    if pattern == SPLIT_PATTERN and not _crosses_spaces(packed, types):
        pattern = b""
    if pattern and kind != "BPE":
        document.refuse(f"a pre-tokenizer before a Unigram model {_NEEDED}", "pre_tokenizer")
    outside = [token for token in tokens if token.content not in own.ids]
    data, offsets = _extended(packed, [token.content.encode() for token in outside])
    types = np.append(types, [_type_outside(token, pattern) for token in outside]).astype(np.uint8)
    scores = own.scores
    if scores is not None:
        scores = np.append(scores, [scores.min(initial=0.0)] * len(outside))
    shown = own.ids | {token.content: token.id for token in tokens}
    special, after = special_ids(shown), settings.template.after
    eod_id = special.get("eos", after[-1] if len(after) == 1 else None)
    prepare = {key: document.values.get(key) for key in writer.PARTS}
    prepare |= {"added_tokens": list(map(added_tokens.to_json, tokens)), "outside": [token.id for token in outside]}
    prepare |= {"empty_id": own.ids[""]} if "" in own.ids else {}
    named = (content for content, id_ in chain(((t.content, t.id) for t in tokens), own.ids.items()) if id_ == eod_id)
    return Vocabulary(
        data, offsets, np.array([*own.ids.values(), *(token.id for token in outside)], np.int64), eod_id,
        next(named, None), None, name, own.kind,
        own.flags | MODEL_FLAGS["bytes"] | (MODEL_FLAGS["pattern"] if pattern else 0), scores, types,
        merges=own.merges, pattern=pattern, special=special, prepare={"format": "huggingface 1", **prepare},
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------- models -----


def _read_bpe(fields: Fields) -> _Pieces:
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if fields.has(key) and fields.string(key):
            fields.refuse(f"a non-empty string {_NEEDED}", key)
    for key in ("fuse_unk", "byte_fallback"):
        fields.boolean(key, False)
    if fields.has("unk_token"):
        fields.string("unk_token")
    vocab: dict[str, Any] = fields.child("vocab").values
    ids = list(vocab.values())
    if set(map(type, ids)) - {int} or min(ids, default=0) < 0 or len(set(ids)) < len(ids):
        fields.refuse("expected distinct integers", "vocab")
    if max(ids, default=0) > WIDE_ID_MAX:
        fields.refuse(f"id {max(ids)} is not within 0..{WIDE_ID_MAX}", "vocab")
    flags = MODEL_FLAGS["listed_merges"]
    flags |= MODEL_FLAGS["ignore_merges"] if fields.boolean("ignore_merges", False) else 0
    return _Pieces("bpe", vocab, flags, merges=merges.read(fields, vocab))


def _read_unigram(fields: Fields) -> _Pieces:
    model = read_unigram(fields, True)
    assert model.scores is not None
    return _Pieces("unigram", dict(zip(model.pieces, model.ids, strict=True)), model.flags, np.array(model.scores))


def _check_bytes(fields: Fields, own: _Pieces, packed: PackedPieces, types: Bytes) -> None:
    """Rejects models in which some bytes have no pieces, except BPE without an unknown piece, which drops such
    bytes."""
    data, offsets = packed
    is_byte = (np.diff(offsets) == 1) & (types == NORMAL)
    if len(np.unique(data[offsets[:-1][is_byte]])) == 256:
        return
    if own.merges is None or fields.has("unk_token") or fields.boolean("byte_fallback", False):
        fields.refuse(f"a vocabulary without all 256 bytes {_NEEDED}", "vocab")


# -------------------------------------------------------------------------------------------------- pieces -----


def _pieces(own: _Pieces, tokens: list[AddedToken]) -> tuple[PackedPieces, Bytes]:
    """The pieces of the model and their types. Pieces with characters that do not represent bytes match no text."""
    packed, outside = byte_level.packed(list(own.ids))
    types = np.full(len(own.ids), NORMAL, np.uint8)
    types[outside] = CONTROL
    ids = np.fromiter(own.ids.values(), np.int64, len(own.ids))
    known = np.flatnonzero(np.isin(ids, [token.id for token in tokens] + [own.ids.get("", -1)]))
    numbers = dict(zip(ids[known].tolist(), known.tolist(), strict=True))
    if "" in own.ids:
        pieces = split(*packed)
        pieces[numbers[own.ids[""]]] = _EMPTY
        packed = pack(pieces)
        types[numbers[own.ids[""]]] = CONTROL
    if not own.flags & MODEL_FLAGS["ignore_merges"]:
        specials = [token.id for token in tokens if token.special]
        merged = set() if own.merges is None else {*np.intersect1d(own.merges, specials).tolist()}
        for token in tokens:
            k = numbers.get(token.id, -1)
            if k >= 0 and token.special and token.id not in merged and _is_unmapped(token):
                types[k] = CONTROL
    return packed, types


def _type_outside(token: AddedToken, pattern: bytes) -> int:
    """The type of a token outside the model. A token that is not special must decode to its content, as pieces of type
    USER_DEFINED do. That type is used only in models with a pattern, where such pieces cannot match a text."""
    return USER_DEFINED if pattern and not token.special and _is_unmapped(token) else CONTROL


def _is_unmapped(token: AddedToken) -> bool:
    """Whether the token has several characters and the byte-level decoder turns it into its own UTF-8."""
    return len(token.content) > 1 and byte_level.decoded(token.content) == token.content.encode()


def _extended(packed: PackedPieces, more: list[bytes]) -> PackedPieces:
    data, offsets = packed
    added, bounds = pack(more)
    return np.concatenate((data, added)), np.concatenate((offsets, offsets[-1] + bounds[1:]))


def _crosses_spaces(packed: PackedPieces, types: Bytes) -> bool:
    matching = (types == NORMAL).tolist()
    return writer.crosses_spaces([piece for piece, is_it in zip(split(*packed), matching, strict=True) if is_it])
