"""pyunitok turns terabytes of text into uint16 token arrays, exactly and fast. This module only exports the
public names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyunitok.errors import (
    CpuError,
    IdError,
    InputError,
    MissingFileError,
    ModelFormatError,
    OptionError,
    OutputError,
    UnitokError,
    VocabularyError,
)

if TYPE_CHECKING:
    from pyunitok.clean.decontaminate import decontaminate
    from pyunitok.clean.deduplicate import deduplicate
    from pyunitok.export import export_tokens
    from pyunitok.index.build import build_index
    from pyunitok.index.duplicates import duplicates
    from pyunitok.index.field_build import add_fields
    from pyunitok.index.opened import Index, open_index
    from pyunitok.index.verify import verify
    from pyunitok.index.word_build import add_words
    from pyunitok.job import tokenize
    from pyunitok.model.tokenizer import Tokenizer
    from pyunitok.packed import Packed
    from pyunitok.run.merge import merge
    from pyunitok.tokens.array import TokenArray
    from pyunitok.tokens.manifest import Manifest
    from pyunitok.tokens.opening import open
    from pyunitok.tokens.several import TokenArrays
    from pyunitok.train.api import train

__version__ = "0.1.0"

__all__ = [
    "CpuError",
    "IdError",
    "Index",
    "InputError",
    "Manifest",
    "MissingFileError",
    "ModelFormatError",
    "OptionError",
    "OutputError",
    "Packed",
    "TokenArray",
    "TokenArrays",
    "Tokenizer",
    "UnitokError",
    "VocabularyError",
    "__version__",
    "add_fields",
    "add_words",
    "build_index",
    "decontaminate",
    "deduplicate",
    "duplicates",
    "export_tokens",
    "merge",
    "open",
    "open_index",
    "tokenize",
    "train",
    "verify",
]

# These names are imported on first use, because `pyunitok --help` needs neither NumPy nor the C library.
_LAZY = {
    "Index": "index.opened",
    "Manifest": "tokens.manifest",
    "Packed": "packed",
    "TokenArray": "tokens.array",
    "TokenArrays": "tokens.several",
    "Tokenizer": "model.tokenizer",
    "add_fields": "index.field_build",
    "add_words": "index.word_build",
    "build_index": "index.build",
    "decontaminate": "clean.decontaminate",
    "deduplicate": "clean.deduplicate",
    "duplicates": "index.duplicates",
    "export_tokens": "export",
    "merge": "run.merge",
    "open": "tokens.opening",
    "open_index": "index.opened",
    "tokenize": "job",
    "train": "train.api",
    "verify": "index.verify",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
