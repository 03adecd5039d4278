"""Vocabulary and model files: one module per format, each recognised by its content.

    native         our own: mapped into memory, ready to use
    rwkv           the RWKV World vocabulary, as text and as JSON
    sentencepiece  .model files of SentencePiece: Unigram, BPE, char and word
    bytepiece      .model files of BytePiece: JSON of base64 pieces and their counts
    huggingface    tokenizer.json of Unigram and BPE

convert.py turns one into another.

A reader gives a Vocabulary (vocabulary.py), which builds its model; a native file holds the model itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyunitok._c import library
from pyunitok.errors import ModelFormatError
from pyunitok.vocab import native

if TYPE_CHECKING:
    from pyunitok.vocab.vocabulary import About, Vocabulary

HEAD_BYTES = 4096  # enough to tell all formats apart but SentencePiece's


def open_model(path: Path, *, engine: str, cpu: str | None) -> tuple[library.Model, About]:
    """The model in a file of any format, and what else is known of it; see Tokenizer.from_file for the errors."""
    with path.open("rb", buffering=0) as file:
        if native.looks_native(file.read(HEAD_BYTES)):
            return native.open_file(path, engine=engine, cpu=cpu)
        file.seek(0)
        data = file.readall()
    vocabulary = _read(data, str(path))
    return vocabulary.build(engine=engine, cpu=cpu), vocabulary.about(path.stem)


def _read(data: bytes, name: str) -> Vocabulary:
    from pyunitok.vocab import rwkv  # only now: a native file must open faster than this imports

    head = data[:HEAD_BYTES]
    if rwkv.looks_like_text(head):
        return rwkv.read_text(data, name)
    if rwkv.looks_like_json(head):
        return rwkv.read_json(data, name)
    if head.lstrip().startswith(b"{"):
        from pyunitok.vocab import bytepiece
        from pyunitok.vocab.huggingface import file as huggingface

        if huggingface.looks_like_json(head):
            return huggingface.read(data, name)
        if bytepiece.looks_like_json(head):
            return bytepiece.read(data, name)
    from pyunitok.vocab import sentencepiece

    if sentencepiece.looks_like_model(data):
        return sentencepiece.read(data, name, is_built=True).vocabulary()
    raise ModelFormatError(
        f"{name}: not a model file that this version reads (native, RWKV World text or JSON, SentencePiece,"
        f" BytePiece, tokenizer.json); it begins with {head[:16]!r}"
    )
