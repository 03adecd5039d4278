"""Vocabulary and model files: one module and one row of READERS for each format.

A reader returns a Vocabulary (vocabulary.py), which builds its model. A native file holds the model and is mapped
into memory. convert.py turns one format into another.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyunitok._c import model as c_model
from pyunitok.errors import ModelFormatError
from pyunitok.vocab import bytepiece, native, rwkv, sentencepiece
from pyunitok.vocab.huggingface import file as huggingface
from pyunitok.vocab.vocabulary import About, Vocabulary

# (the name of the format in messages, a test of the file's bytes, the reader). The first format that matches is used.
READERS: list[tuple[str, Callable[[bytes], bool], Callable[[bytes, str], Vocabulary]]] = [
    ("RWKV World text", rwkv.looks_like_text, rwkv.read_text),
    ("RWKV World JSON", rwkv.looks_like_json, rwkv.read_json),
    ("tokenizer.json", huggingface.looks_like_json, huggingface.read),
    ("BytePiece", bytepiece.looks_like_json, bytepiece.read),
    ("SentencePiece", sentencepiece.looks_like_model, sentencepiece.read_vocabulary),
]


def open_model(path: Path, *, engine: str = "double-array", cpu: str | None = None) -> tuple[c_model.Model, About]:
    """Open a model file of any format. Tokenizer.from_file lists the errors."""
    with path.open("rb", buffering=0) as file:
        if native.looks_native(file.read(len(native.MAGIC))):
            return native.open_file(path, engine=engine, cpu=cpu)
        file.seek(0)
        data = file.readall()
    for _, recognises, read in READERS:
        if recognises(data):
            vocabulary = read(data, str(path))
            return vocabulary.build(engine=engine, cpu=cpu), vocabulary.about(path.stem)
    names = ", ".join(["native", *(name for name, _, _ in READERS)])
    raise ModelFormatError(
        f"{path}: not a model file in a supported format ({names}); it begins with {data[:16]!r}"
    )
