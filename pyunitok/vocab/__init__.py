"""Vocabulary and model files: one module per format, each recognised by its content.

    native   our own: mapped into memory, ready to use
    rwkv     the RWKV World vocabulary, as text and as JSON

A reader gives a Vocabulary (vocabulary.py), from which the Tokenizer builds its model; native files hold the model.
"""

from __future__ import annotations

from pathlib import Path

from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.tokenizer import Engine, Tokenizer, engine_arguments
from pyunitok.vocab import native, rwkv
from pyunitok.vocab.vocabulary import Vocabulary

HEAD_BYTES = 4096  # enough to tell the formats apart


def open_tokenizer(path: Path, *, engine: Engine, cpu: str | None) -> Tokenizer:
    """See Tokenizer.from_file."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if native.looks_native(head):
        model, about = native.open_file(path, **engine_arguments(engine, cpu))
        return Tokenizer(model, name=about["name"], eod_piece=about["eod_piece"], path=str(path))
    vocabulary = _read(path, head)
    eod_id = -1 if vocabulary.eod_id is None else vocabulary.eod_id
    fallback_id = -1 if vocabulary.fallback_id is None else vocabulary.fallback_id
    try:
        model = Tokenizer._build(
            vocabulary.data, vocabulary.offsets, vocabulary.ids, eod_id, fallback_id, engine, cpu
        )
    except VocabularyError as error:
        raise VocabularyError(f"{path}: {error}") from None
    return Tokenizer(model, name=path.stem, eod_piece=vocabulary.eod_piece, path=str(path))


def _read(path: Path, head: bytes) -> Vocabulary:
    if rwkv.looks_like_text(head):
        return rwkv.read_text(path.read_bytes(), str(path))
    if rwkv.looks_like_json(head):
        return rwkv.read_json(path.read_bytes(), str(path))
    raise ModelFormatError(
        f"{path}: not a model that this release reads (native, RWKV World text or JSON); it begins with {head[:16]!r}"
    )
