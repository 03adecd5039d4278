"""The vocabularies that have names: unitok-v1, which is part of this package, and rwkv-world of another."""

from __future__ import annotations

import os
from pathlib import Path

from pyunitok.vocab import rwkv

DEFAULT = "unitok-v1"
RWKV = "rwkv-world"
NAMES = (DEFAULT, RWKV)
FILE = Path(__file__).with_name("unitok-v1.utk")


def find(name: str | os.PathLike[str]) -> Path | None:
    """The file of the vocabulary of that name; None for another name, and where there is a file of that name.

    VocabularyError if it is not installed.
    """
    if name not in NAMES or Path(name).exists():
        return None
    return FILE if name == DEFAULT else rwkv.find_installed()


def locate(model: str | os.PathLike[str]) -> Path:
    """The file of a model: a path, or one of NAMES."""
    return find(model) or Path(model)
