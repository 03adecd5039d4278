"""CleanFiles pairs the files of a corpus with files of the same names in the folder CLEAN.

    crawl/ ──▶ crawl/a/x.jsonl.zst ──▶ CLEAN/a/x.jsonl.zst        x.jsonl ──▶ CLEAN
               crawl/y.parquet     ──▶ CLEAN/y.parquet
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from pyunitok.corpus import inputs, stream
from pyunitok.corpus.compressions import by_suffix
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.paths import LeftOut
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.corpus.rewriting import Rewriter
from pyunitok.corpus.source import Source
from pyunitok.disk.url import is_url, without_file_scheme, without_query
from pyunitok.errors import InputError, OptionError


@dataclass(frozen=True)
class CleanFiles:
    """The files of a corpus and of CLEAN.

    sources   the files of the corpus
    targets   the file in CLEAN for each source; None if no corpus is written
    left_out  files in directories that are not read
    """

    sources: Sequence[Source]
    targets: Sequence[Path | None]
    left_out: Sequence[LeftOut] = field(default=())

    @classmethod
    def find(
        cls, arguments: Iterable[str], out: Path | None, *, input_format: str, text_key: str, include: Iterable[str],
        exclude: Iterable[str], own: Iterable[Path] = (),
    ) -> CleanFiles:  # fmt: skip
        """Find the files. Files in CLEAN and in `own` are never read. Raises InputError and OptionError, as
        corpus.inputs.find() does, and also if two files would have the same name in CLEAN, or if a pipe would have no
        name there."""
        sources, names, left_out = list[Source](), list[PurePath](), list[LeftOut]()
        mine = [str(path) for path in own]
        if out is not None and out.is_dir():
            mine += [str(path) for path in out.rglob("*") if path.is_file()]
        include, exclude = list(include), list(exclude)
        for argument in arguments:
            found = inputs.find(
                [argument], input_format=input_format, text_key=text_key, include=include, exclude=exclude, own=mine,
                refuse=[str(out)] if out is not None else [], left_out=left_out,
            )  # fmt: skip
            sources += found
            names += [_name_in(argument, source.path) for source in found]
        return cls(sources, _targets(out, sources, names), left_out)


def _name_in(argument: str, path: str) -> PurePath:
    """The name in CLEAN of the file at `path`, which was found through `argument`: its path relative to the folder that
    the argument names."""
    path, folder = (without_query(text) if is_url(text) else text for text in (path, without_file_scheme(argument)))
    if magic := re.search(r"[*?\[]", folder):
        folder = folder[: magic.start()].rpartition("/")[0]
    name = PurePath(path)
    inside = PurePath(folder) in name.parents and ".." not in name.relative_to(folder).parts
    return name.relative_to(folder) if inside else PurePath(name.name)


def _targets(out: Path | None, sources: Sequence[Source], names: Sequence[PurePath]) -> list[Path | None]:
    if out is None:
        return [None] * len(names)
    if len(names) == 1 and not out.is_dir():
        return [out]
    for source in sources:
        if source.opened is not None:
            raise InputError(f"{source.name}: a pipe has no name in the folder {out}; make it the only input")
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise OptionError(f"several inputs would be written to {out / twice[0]}; pass a folder that contains them")
    return [out / name for name in names]


def rewriter_of(
    source: Source, target: Path | None, options: ReadingOptions, field: str | None = None
) -> Rewriter:
    """The Rewriter for an input's format. If the suffixes of the target and the input differ, the target's suffix
    determines the compression. field: the name of the field that edits may add. Raises InputError if the input cannot
    be opened, or if its format cannot be written."""
    format_ = FORMATS[source.format]
    if target is not None and target.suffix not in ("", PurePath(source.path).suffix):
        source = replace(source, compression=by_suffix(target.suffix).name)
    if format_.rewriter is None:
        raise InputError(f"{source.name}: {format_.title} files cannot be written")
    if not format_.seekable:
        return format_.rewriter(None, source, options, field)
    with closing(stream.open_seekable(source)) as file:
        return format_.rewriter(file, source, options, field)
