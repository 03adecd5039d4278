"""Finds the named vocabularies: unitok-v1, which this package ships, and rwkv-world, which pyrwkv-tokenizer ships."""

from __future__ import annotations

import os
from pathlib import Path

from pyunitok.errors import ModelFormatError
from pyunitok.vocab import rwkv

DEFAULT = "unitok-v1"
RWKV = "rwkv-world"
NAMES = (DEFAULT, RWKV)
FILE = Path(__file__).with_name("unitok-v1.utk")


def find(name: str | os.PathLike[str]) -> Path | None:
    """The file of a named vocabulary; None if the name is unknown or a file of that name exists.

    Raises VocabularyError if the vocabulary is not installed.
    """
    if name not in NAMES or Path(name).exists():
        return None
    return FILE if name == DEFAULT else rwkv.find_installed()


def locate(model: str | os.PathLike[str]) -> Path:
    """The file or folder of `model`, a path or one of NAMES. Raises ModelFormatError if it does not exist."""
    path = find(model) or Path(model)
    if not path.is_file() and not path.is_dir():  # opening a pipe or a device could block forever
        names = " and ".join(NAMES)
        raise ModelFormatError(
            f"the model file {os.fspath(model)!r} does not exist; pass a file or one of the names {names}"
        )
    return path
