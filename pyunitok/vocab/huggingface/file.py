"""Reads a tokenizer.json: as a C model if byte_rules.py or direct.py supports it, otherwise for delegate.py.

The ids equal those of tokenizers 0.23.3.
"""

from __future__ import annotations

import re
import warnings

import numpy as np

from pyunitok._c.library import MODEL_FLAGS
from pyunitok.errors import ModelFormatError, ModelWarning, VocabularyError
from pyunitok.vocab.huggingface import byte_file, delegate, merges, pre_tokenizers, writer
from pyunitok.vocab.huggingface.decoders import SPACE
from pyunitok.vocab.huggingface.delegate import special_ids
from pyunitok.vocab.huggingface.direct import Settings
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.models import BYTE_PIECES, FileModel, read_bpe, read_unigram
from pyunitok.vocab.huggingface.rules import FORMAT
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, Vocabulary

_KEYS = (*writer.PARTS, "version", "truncation", "padding", "added_tokens", "model")
_FIRST_KEY = re.compile(rb'\s*\{\s*"([a-z_]*)"\s*:\s*("1\.0"|[\[{n])')


def looks_like_json(data: bytes) -> bool:
    """Whether `data` begins like a tokenizer.json: an object whose first key is one of _KEYS."""
    match = _FIRST_KEY.match(data)
    return match is not None and match[1].decode() in _KEYS


def read(data: bytes, name: str) -> Vocabulary:
    """Read a file. Raises ModelFormatError if it is not a tokenizer.json, or VocabularyError, which names the file and
    the field."""
    try:
        document = Fields(merges.load(data), f"{name}: ")
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{name}: not a valid tokenizer.json: {error}") from None
    for key, what in (("truncation", "truncated"), ("padding", "padded")):
        if document.has(key):
            message = f"{document.path(key)}: not supported, so texts are not {what}; set the field to null"
            warnings.warn(ModelWarning(message), stacklevel=2)
    model = document.child("model")
    for key in ("dropout", "alpha", "nbest_size"):
        if model.values.get(key) not in (None, 0):
            model.refuse("not supported, because it would make ids random; set the field to null", key)
    try:
        return _for_c(document, model, name)
    except VocabularyError as reason:
        return delegate.read(data, document, name, str(reason))


def _for_c(document: Fields, fields: Fields, name: str) -> Vocabulary:
    """Read a file that C supports. Raises VocabularyError, which names the first unsupported field."""
    if document.string("version", "1.0") != "1.0":
        document.refuse("only version 1.0 is supported", "version")
    kind = fields.string("type", "BPE" if fields.has("merges") else "Unigram")
    if kind not in ("BPE", "Unigram"):
        fields.refuse(f"the model {kind[:40]!r} requires `tokenizers`", "type")
    if pre_tokenizers.is_byte_level(document):
        return byte_file.read(document, fields, kind, name)
    settings = Settings.of(document)
    model = (read_unigram if kind == "Unigram" else read_bpe)(fields)
    table = dict(zip(model.pieces, model.ids, strict=True))
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
    return _pack(document, model, settings, table, name)


def _pack(document: Fields, model: FileModel, settings: Settings, table: dict[str, int], name: str) -> Vocabulary:
    """The vocabulary of the model. Added tokens that are not in it become pieces that match nothing. If pieces are
    equal, only the last one can match."""
    tokens = {token.id: token.content for token in settings.tokens}
    types: list[int] = []
    for piece, id_ in zip(model.pieces, model.ids, strict=True):
        is_byte = model.flags & MODEL_FLAGS["byte_pieces_match"] and piece in BYTE_PIECES
        types.append(UNKNOWN if id_ == model.unknown else CONTROL if table[piece] != id_
                     else BYTE if is_byte else NORMAL)  # fmt: skip
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
        [piece.encode() for piece in (*model.pieces, *more.values())], np.array([*model.ids, *more], np.int64),
        eod_id=eod_id, eod_piece=None if eod_id is None else shown.get(eod_id), name=name, kind=model.kind,
        scores=None if scores is None else np.array(scores, np.float64),
        types=np.array([*types, *[CONTROL] * len(more)], np.uint8), flags=model.flags | settings.flags, special=special,
        merges=model.merges,
        prepare={"format": FORMAT, **parts, **model.more},
    )  # fmt: skip
