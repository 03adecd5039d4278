"""Token files in the formats of other tools.

    options     what one may ask for                    files       linking, reflinking, copying; whole or not at all
    documents   bounds; a separator before each         origins     where documents came from
    direct      tokenize --format
    megatron nanogpt llmc datatrove dolma infini_gram tokengrams npy      one module a format: its bytes, and its writer

Where a tool's file is our token file under another name, it is linked: no time, no space. Each module has

    TAKES                            the Options that mean something to it, besides the name
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
    """What an export made, and what the user should know about it."""

    files: list[Written]
    notes: list[str]


def module(to: str) -> Any:
    """The module of a format."""
    if to not in MODULES:
        raise OutputError(f"no such format: {to}; there are {', '.join(FORMATS)}")
    return import_module(f"{__name__}.{MODULES[to]}")


def default_name(out: Path) -> str:
    """What files are called that come from this token file: its name without the ending."""
    return out.stem if re.fullmatch(r"\.[A-Za-z]\w{0,7}", out.suffix) else out.name


def export(
    array: TokenArray, to: str, folder: Path, options: Options | None = None, *, copy: bool = False,
    overwrite: bool = False, before_commit: Callable[[], None] = lambda: None,
) -> Exported:  # fmt: skip
    """Write `array` into `folder` in the format `to`, one of FORMATS; all its files appear, or none.

    copy           every file has blocks of its own; else tokens are linked, reflinked or copied, whatever comes first
    overwrite      files that exist are replaced, else OutputError
    before_commit  called when all files are complete and on the disk, and have only to be named

    OutputError too where the format cannot hold these documents; it names the document. Time and memory are
    proportional to the documents, where the tokens can be linked; else also to the tokens, and memory is a few MiB.
    """
    writer = module(to)
    options = options or Options(default_name(array.path))
    options.check(writer.TAKES, to)
    keep = [array.path, *sidecars(array.path)]
    with Folder(folder, overwrite=overwrite, copy=copy, keep=keep) as target:
        notes = writer.export(array, target, options)
        before_commit()
        return Exported(target.commit(), notes)
