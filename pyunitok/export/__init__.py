"""Exports token files in the formats of other tools.

    options     the options of all formats           files       links, reflinks, copies; all files or none
    separated   a separator before each document     origins     where documents came from
    direct      tokenize --format                    engines     index --format

FORMATS has one row per format. Each module defines

    TAKES                            the fields of Options that the format uses, except the name
    names(options)                   the files that export() writes
    export(array, folder, options)   writes them; returns notes for the user

If a tool's file has the same bytes as the token file, the export makes a hard link, which takes no time and no space.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyunitok.errors import OutputError
from pyunitok.export import datatrove, dolma, infini_gram, llmc, megatron, nanogpt, npy, tokengrams
from pyunitok.export.files import Folder, WrittenFile
from pyunitok.export.options import MAX_SHARD_TOKENS, Options
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import StrPath, sidecars
from pyunitok.tokens.opening import open as open_tokens

FORMATS: dict[str, Any] = {
    "megatron": megatron,
    "nanogpt": nanogpt,
    "llm.c": llmc,
    "datatrove": datatrove,
    "dolma": dolma,
    "infini-gram": infini_gram,
    "tokengrams": tokengrams,
    "npy": npy,
}

__all__ = ["FORMATS", "MAX_SHARD_TOKENS", "Exported", "Options", "default_name", "export", "export_tokens", "module"]


@dataclass(frozen=True)
class Exported:
    """The files that an export wrote, and notes for the user."""

    files: list[WrittenFile]
    notes: list[str]


def module(to: str) -> Any:
    """The module of a format."""
    if to not in FORMATS:
        raise OutputError(f"unknown export format {to!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[to]


def default_name(out: Path) -> str:
    """The name of a token file without its suffix: the default base name of exported files."""
    return out.stem if re.fullmatch(r"\.[A-Za-z]\w{0,7}", out.suffix) else out.name


def export(
    array: TokenArray, to: str, folder: Path, options: Options | None = None, *, copy: bool = False,
    overwrite: bool = False, before_commit: Callable[[], None] = lambda: None,
) -> Exported:  # fmt: skip
    """Write `array` into `folder` in the format `to`, one of FORMATS. All files appear, or none.

    copy           always copy tokens; otherwise link them, or reflink them, or copy them if neither is possible
    overwrite      replace existing files instead of raising OutputError
    before_commit  called when all files are complete and on disk, just before they are renamed

    Also raises OutputError, naming the document, if the format cannot represent a document. Time: proportional to the
    number of documents, and to the number of tokens unless tokens are linked. Memory: a few MiB.
    """
    writer = module(to)
    options = options or Options(default_name(array.path))
    options.check(writer.TAKES, to)
    keep = [array.path, *sidecars(array.path)]
    with Folder(folder, overwrite=overwrite, copy=copy, keep=keep) as target:
        target.reserve(*writer.names(options))
        notes = writer.export(array, target, options)
        before_commit()
        return Exported(target.commit(), notes)


def export_tokens(
    tokens: StrPath | TokenArray, to: str, folder: StrPath, *, name: str | None = None, copy: bool = False,
    overwrite: bool = False, **options: Any,
) -> Exported:  # fmt: skip
    """Write a token file for another tool, as `pyunitok export` does. Returns the files, each "linked", "reflinked",
    "copied" or "written", and notes.

    tokens     a token file, or a TokenArray
    to         one of export.FORMATS, such as "megatron"
    folder     the folder to write into
    name       the base name of the files, unless the format prescribes it; by default the name of the token file
    copy       copy tokens even if a link is possible
    overwrite  replace existing files
    options    the options of the format, such as val_fraction=0.01; see export.Options

    The files appear once all of them are complete. Raises OutputError, naming the file, if one exists already.

        pyunitok.export_tokens("ids.u16", "nanogpt", "data/corpus", val_fraction=0.01)
    """
    array = tokens if isinstance(tokens, TokenArray) else open_tokens(tokens)
    chosen = Options(name or default_name(array.path), **options)
    return export(array, to, Path(folder), chosen, copy=copy, overwrite=overwrite)
