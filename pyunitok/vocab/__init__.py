"""Opens vocabulary and model files. Each format has a module and a row in READERS.

A reader returns a Vocabulary (vocabulary.py), which builds the model. A native file contains the model and is
mapped into memory. Two formats have no rows: vocab.json with merges.txt, which is two files, and folders
(folder.py). convert.py converts one format to another.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyunitok._c import model as c_model
from pyunitok.errors import ModelFormatError, OptionError
from pyunitok.vocab import bytepiece, folder, native, rwkv, sentencepiece, tekken, tiktoken, vocab_merges
from pyunitok.vocab.huggingface import file as huggingface
from pyunitok.vocab.patterns import NO_OPTIONS, ReadOptions
from pyunitok.vocab.vocabulary import About, Vocabulary


class Reader(NamedTuple):
    """name: the format, for messages. recognises: whether a file's bytes have this format. takes_options: whether
    ReadOptions are allowed, which supply settings that files of this format do not contain."""

    name: str
    recognises: Callable[[bytes], bool]
    read: Callable[[bytes, str, ReadOptions], Vocabulary]
    takes_options: bool = False


def _complete(read: Callable[[bytes, str], Vocabulary]) -> Callable[[bytes, str, ReadOptions], Vocabulary]:
    """The field `read` for a format whose files contain all settings, so that ReadOptions are not needed."""
    return lambda data, name, _: read(data, name)


# The first format that matches is used.
READERS = [
    Reader("RWKV World text", rwkv.looks_like_text, _complete(rwkv.read_text)),
    Reader("tekken.json", tekken.looks_like_json, tekken.read, takes_options=True),
    Reader("RWKV World JSON", rwkv.looks_like_json, _complete(rwkv.read_json)),
    Reader("tokenizer.json", huggingface.looks_like_json, _complete(huggingface.read)),
    Reader("BytePiece", bytepiece.looks_like_json, _complete(bytepiece.read)),
    Reader("tiktoken", tiktoken.looks_like_ranks, tiktoken.read, takes_options=True),
    Reader("SentencePiece", sentencepiece.looks_like_model, _complete(sentencepiece.read_vocabulary)),
]


def open_model(
    path: Path, *, options: ReadOptions = NO_OPTIONS, engine: str = "double-array", cpu: str | None = None
) -> tuple[c_model.Model, About]:
    """Open a model file of any format, or a folder that contains one. Tokenizer.from_file lists the errors."""
    name = path.stem
    if path.is_dir():
        given, name = options, path.resolve().name
        path, options = folder.find(path, options)
    else:
        given = options
    if pair := vocab_merges.pair_of(path):
        vocabulary = vocab_merges.read(*pair, options)
        return vocabulary.build(engine=engine, cpu=cpu), vocabulary.about(name)
    with path.open("rb", buffering=0) as file:
        if native.looks_native(file.read(len(native.MAGIC))):
            _check_no_options(path, "native", given)
            return native.open_file(path, engine=engine, cpu=cpu)
        file.seek(0)
        data = file.readall()
    for reader in READERS:
        if reader.recognises(data):
            if not reader.takes_options:
                _check_no_options(path, reader.name, given)
            vocabulary = reader.read(data, str(path), options)
            return vocabulary.build(engine=engine, cpu=cpu), vocabulary.about(name)
    names = ", ".join(["native", *(reader.name for reader in READERS), "vocab.json with merges.txt"])
    raise ModelFormatError(
        f"{path}: not a model file in a supported format ({names}); it begins with {data[:16]!r}"
    )


def _check_no_options(path: Path, format_: str, options: ReadOptions) -> None:
    if options != NO_OPTIONS:
        raise OptionError(
            f"{path}: this file ({format_}) specifies its own pattern and special tokens; these options are only for"
            " tiktoken, tekken.json, and vocab.json with merges.txt"
        )
