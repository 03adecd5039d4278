"""Token files in the formats of other tools.

    options     what an export can be told              files       linking, reflinking, copying; all files or none
    documents   bounds; a separator before each         origins     where documents came from
    instead     tokenize --format
    megatron nanogpt llmc datatrove dolma infini_gram tokengrams npy      one module a format: its bytes, and its writer

Where a tool's file is byte-identical to our token file, it is linked, which takes no time and no space. Each module has

    TAKES                            the Options that it uses, besides the name
    names(options)                   the files that it will write
    export(array, folder, options)   writes them; returns what the user should know
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pyunitok.errors import OutputError
from pyunitok.export.files import Folder, Written
from pyunitok.export.options import MAX_SHARD_TOKENS, Options
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import sidecars

MODULES = {
    "megatron": "megatron",
    "nanogpt": "nanogpt",
    "llm.c": "llmc",
    "datatrove": "datatrove",
    "dolma": "dolma",
    "infini-gram": "infini_gram",
    "tokengrams": "tokengrams",
    "npy": "npy",
}
FORMATS = tuple(MODULES)

__all__ = ["FORMATS", "MAX_SHARD_TOKENS", "Exported", "Options", "default_name", "export", "module"]


@dataclass(frozen=True)
class Exported:
    """The files that an export made, and what the user should know about them."""

    files: list[Written]
    notes: list[str]


def module(to: str) -> Any:
    """The module of a format."""
    if to not in MODULES:
        raise OutputError(f"unknown format {to}; choose one of {', '.join(FORMATS)}")
    return import_module(f"{__name__}.{MODULES[to]}")


def default_name(out: Path) -> str:
    """The base name of files made from this token file: its name without the suffix."""
    return out.stem if re.fullmatch(r"\.[A-Za-z]\w{0,7}", out.suffix) else out.name


def export(
    array: TokenArray, to: str, folder: Path, options: Options | None = None, *, copy: bool = False,
    overwrite: bool = False, before_commit: Callable[[], None] = lambda: None,
) -> Exported:  # fmt: skip
    """Write `array` into `folder` in the format `to`, one of FORMATS; all its files appear, or none.

    copy           copy everything; otherwise tokens are linked, else reflinked, else copied
    overwrite      existing files are replaced; otherwise they are an OutputError
    before_commit  called when all files are complete and on disk, just before they are renamed

    OutputError, naming the document, also where the format cannot hold these documents. Time is proportional to the
    number of documents where the tokens can be linked, else also to the number of tokens; memory is a few MiB.
    """
    writer = module(to)
    options = options or Options(default_name(array.path))
    options.check(writer.TAKES, to)
    keep = [array.path, *sidecars(array.path)]
    with Folder(folder, overwrite=overwrite, copy=copy, keep=keep) as target:
        notes = writer.export(array, target, options)
        before_commit()
        return Exported(target.commit(), notes)
