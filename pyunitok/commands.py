"""Functions for commands on token files and indexes: build_index, merge, verify, export_tokens, duplicates.

The commands are tokenize (job.py), train (train/api.py), and these. Arguments are the commands' options.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyunitok import export
from pyunitok.corpus.inputs import find
from pyunitok.errors import ModelFormatError, OutputError, VocabularyError
from pyunitok.export import Exported
from pyunitok.index import build
from pyunitok.index.duplicates import drop_repeats, write_repeats
from pyunitok.index.manifest import IndexManifest
from pyunitok.index.opened import Index, open_index
from pyunitok.index.plan import Limits
from pyunitok.index.shard import open_shards
from pyunitok.index.verify import verify_index
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run.merge import merge as merge_parts
from pyunitok.run.parts import finished_parts
from pyunitok.run.plan import Progress
from pyunitok.tokens import opening
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import Manifest
from pyunitok.tokens.verify import verify as verify_tokens
from pyunitok.tokens.verify_text import sources_of, verify_text

StrPath = str | os.PathLike[str]
Model = Tokenizer | StrPath | None


def build_index(
    tokens: StrPath | Iterable[StrPath], folder: StrPath, *, order: str = "bytes", left: bool = False,
    max_memory_bytes: int | None = None, shard_tokens: int | None = None, threads: int | None = None,
    add: bool = False, overwrite: bool = False, model: Model = None, ray: str | None = None,
    on_progress: Callable[[build.Progress], None] | None = None,
) -> IndexManifest:  # fmt: skip
    """Index token files for search, as `pyunitok index` does; open_index() opens the folder. Returns index.json.

    tokens            a token file, or several; the index refers to them by their paths
    folder            of the index; 4 bytes per token, 6 with left
    order             "bytes": sorted by the bytes of the tokens, which searches for text are fastest with; "id": by ids
    left              also store the token before each suffix
    max_memory_bytes  for sorting; by default half of the machine's memory
    shard_tokens      most tokens in a shard; by default, two fit in memory at once
    threads           shards sorted at the same time; all cores by default
    add               add the files to the index in the folder; its shards, order and columns stay as they are
    overwrite         replace the index in the folder
    model             instead of the one that the token files name
    ray               the address of a Ray cluster that builds the shards: "auto", "local" or HOST:PORT
    on_progress       called from this thread

    The same call again resumes an interrupted one, and leaves a finished index as it is. OutputError if the token files
    do not go together, or the folder holds anything else; LimitError if the memory is too little.

        pyunitok.build_index(["a.u16", "b.u16"], "idx")
    """
    paths = [tokens] if isinstance(tokens, str | os.PathLike) else list(tokens)
    return build.build_index(
        paths, folder, order=order, left=left, limits=Limits(max_memory_bytes, shard_tokens), threads=threads, add=add,
        overwrite=overwrite, model=_opened(model), ray=ray, on_progress=on_progress,
    )  # fmt: skip


def merge(
    parts: Iterable[StrPath], out: StrPath, *, overwrite: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Manifest:  # fmt: skip
    """Join finished token files in the given order, as `pyunitok merge` does. Returns the manifest (OUT.json).

    parts        token files with the same model, eod and dtype; of a run with shard=, all shards in order. A folder
                 OUT.parts, left by tokenize(ray=..., keep_parts=True), stands for the parts in it
    out          OUT, with OUT.ends and OUT.json beside it
    overwrite    replace OUT if it exists
    on_progress  called after each piece, from this thread

    The parts' hashes are checked as they are read, and the parts stay. The same call again leaves a finished OUT as it
    is. OutputError, before anything is written, if a part is not finished or the parts do not fit together.

        pyunitok.merge(["ids.u16.0-of-2", "ids.u16.1-of-2"], "ids.u16")
    """
    paths = [path for part in map(Path, parts) for path in (finished_parts(part) if part.is_dir() else [part])]
    return merge_parts(paths, Path(out), overwrite=overwrite, on_progress=on_progress)[0]


def verify(
    path: StrPath, inputs: StrPath | Sequence[StrPath] | bool = False, *, model: Model = None,
    threads: int | None = None,
) -> list[str]:  # fmt: skip
    """Check a token file or an index, as `pyunitok verify` does: a sentence for each fault, [] if it is intact.

    path     of a token file: hashes, document ends, ids and counts are checked; or the folder of an index: hashes,
             order and tables
    inputs   also decode every document and compare it with its input, byte by byte: the files that were tokenized, in
             the same order; or True for those that the manifest names, which must be files on this machine. Inputs
             that duplicates(drop=True) has abridged are not compared
    model    instead of the one that the manifest names; without either, ids are not checked
    threads  all cores by default

    OutputError if there is no such file or no manifest; InputError if an input cannot be read.

        if faults := pyunitok.verify("ids.u16", inputs=True):
            raise SystemExit("\\n".join(faults))
    """
    if Path(path).is_dir():
        if inputs:
            raise OutputError(f"{path} is an index, which has no inputs to compare: verify its token files")
        return verify_index(open_shards(Path(path), model=_opened(model)))
    array = opening.open(path, model=model)
    tokenizer: Tokenizer | None = None
    try:
        tokenizer = array.tokenizer
    except (ModelFormatError, VocabularyError):
        if inputs or model is not None:
            raise
    faults = verify_tokens(array, tokenizer, threads=threads)
    if faults or not inputs or tokenizer is None or array.manifest is None:
        return faults
    names = None if inputs is True else [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    found = None if names is None else find([os.fspath(name) for name in names], input_format="text")
    fault = verify_text(array, tokenizer, sources_of(array.manifest.inputs, found), threads=threads)
    return [fault] if fault else []


def export_tokens(
    tokens: StrPath | TokenArray, to: str, folder: StrPath, *, name: str | None = None, copy: bool = False,
    overwrite: bool = False, **options: Any,
) -> Exported:  # fmt: skip
    """Write a token file for another tool, as `pyunitok export` does. Returns the files, each "linked", "reflinked",
    "copied" or "written", and notes.

    tokens     a token file, or a TokenArray
    to         one of export.FORMATS, as "megatron"
    folder     to write into
    name       of the files, where the format leaves it open; by default that of the token file
    copy       copy tokens even if a link is possible
    overwrite  replace files that exist
    options    of the format, as val_fraction=0.01; see export.Options

    The files appear once all of them are complete. OutputError names what is in the way.

        pyunitok.export_tokens("ids.u16", "nanogpt", "data/corpus", val_fraction=0.01)
    """
    array = tokens if isinstance(tokens, TokenArray) else opening.open(tokens)
    chosen = export.Options(name or export.default_name(array.path), **options)
    return export.export(array, to, Path(folder), chosen, copy=copy, overwrite=overwrite)


@dataclass(frozen=True)
class Repeats:
    """What duplicates() found.

    spans     how many repeated spans were written; None with drop=True
    tokens    how many tokens are in the spans, or were dropped
    manifest  of the token file, with drop=True
    """

    spans: int | None
    tokens: int
    manifest: Manifest | None = None


def duplicates(
    index: StrPath | Index, out: StrPath, min_tokens: int = 50, *, drop: bool = False, overwrite: bool = False,
    model: Model = None, on_progress: Callable[[float], None] | None = None,
) -> Repeats:  # fmt: skip
    """Find text that occurs more than once in an index, or drop it, as `pyunitok duplicates` does.

    index        the folder of an index, or an open Index
    out          the file to write: a JSON object for each repeated span, a line each, compressed if the name ends in
                 .zst
    min_tokens   shortest span
    drop         write a token file to `out` instead: all documents, without what has occurred before
    overwrite    replace OUT if it exists
    model        instead of the one that the token files name
    on_progress  told which share is done, from this thread

    Memory: about 21 bytes for each token of the index. OutputError if OUT exists.

        pyunitok.duplicates("idx", "unique.u16", drop=True).manifest
    """
    opened = index if isinstance(index, Index) else open_index(Path(index), model=_opened(model))
    if drop:
        manifest, n = drop_repeats(opened, Path(out), min_tokens, overwrite=overwrite, on_progress=on_progress)
        return Repeats(None, n, manifest)
    return Repeats(*write_repeats(opened, Path(out), min_tokens, overwrite=overwrite, on_progress=on_progress))


def _opened(model: Model) -> Tokenizer | None:
    return model if model is None or isinstance(model, Tokenizer) else Tokenizer.from_file(model)
