"""Indexes of other engines, complete with their suffix arrays: infini-gram's table.N, tokengrams' NAME.idx.

infini-gram   table.N: for each suffix of tokenized.N, sorted by its raw bytes, the byte at which it begins, in as few
              bytes as hold them all; the other files are those of `pyunitok export`
tokengrams    NAME.idx: uint64 for each suffix of NAME.bin, sorted by its ids: the token at which it begins
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.outfile import OutFile, check_target, partial_name
from pyunitok.errors import OutputError
from pyunitok.export import Exported, default_name, export
from pyunitok.export.files import Written
from pyunitok.export.options import Options
from pyunitok.index.build import Progress, on_threads, read_ranks
from pyunitok.index.plan import Limits
from pyunitok.index.suffix import CHUNK, suffix_array
from pyunitok.model.batch import threads_or_cores
from pyunitok.tokens.array import TokenArray

Array = np.ndarray[Any, Any]


def write_engine_index(
    array: TokenArray, to: str, folder: Path, *, limits: Limits, threads: int | None = None, overwrite: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Exported:  # fmt: skip
    """What `to` ("infini-gram" or "tokengrams") opens: the exported files in `folder`, and their suffix arrays.

    OutputError if files are in the way, or the ids do not suit the engine; LimitError if memory does not suffice.
    """
    n_threads = threads_or_cores(threads)
    if array.ids.dtype != np.dtype("<u2"):
        raise OutputError(f"{array.path}: its ids are {array.ids.dtype}, and an index is over uint16 ids")
    n, name = len(array.ids), default_name(array.path)
    # A separator for each document may come on top; tokengrams has one array for all.
    n_shards = -(-(n + len(array)) // limits.tokens) if to == "infini-gram" else 1
    options = Options(name, shards=max(1, n_shards))
    targets = [folder / f"table.{k}" for k in range(options.shards)]
    if to == "tokengrams":
        targets = [folder / f"{name}.idx"]
    for target in targets:
        check_target(target, overwrite=overwrite)
        target.unlink(missing_ok=True)  # an older table must not stand beside new tokens
    exported = export(array, to, folder, options, overwrite=overwrite)
    sources = [folder / f"tokenized.{k}" for k in range(options.shards)]
    if to == "tokengrams":
        sources = [folder / f"{name}.bin"]
    sizes = {k: path.stat().st_size // 2 for k, path in enumerate(sources)}
    progress = Progress(0, sum(sizes.values()), 0, len(sizes), 0)
    at_once = limits.at_once(max(sizes.values()), n_threads)

    def build(k: int, on_share: Callable[[float], None]) -> None:
        rank = np.arange(1 << 16, dtype=np.uint16).byteswap() if to == "infini-gram" else None
        text, _, _ = read_ranks(sources[k], 0, sizes[k], rank)
        sa = suffix_array(text, on_progress=lambda share: on_share(0.9 * share))
        _write(targets[k], _byte_offsets(sa) if to == "infini-gram" else _token_offsets(sa))

    on_threads(build, sizes, at_once, progress, on_progress)
    files = exported.files + [Written(path, path.stat().st_size, "written") for path in targets]
    return Exported(files, [note for note in exported.notes if not note.startswith("build its ")])


def _byte_offsets(sa: Array) -> Iterator[Array]:
    width = max(1, (max(2 * len(sa) - 1, 1).bit_length() + 7) // 8)
    for at in range(0, len(sa), CHUNK):
        wide = 2 * sa[at : at + CHUNK].astype("<u8")
        yield np.ascontiguousarray(wide.view(np.uint8).reshape(-1, 8)[:, :width]).reshape(-1)


def _token_offsets(sa: Array) -> Iterator[Array]:
    return (sa[at : at + CHUNK].astype("<u8").view(np.uint8) for at in range(0, len(sa), CHUNK))


def _write(path: Path, chunks: Iterator[Array]) -> None:
    file = OutFile(partial_name(path))
    try:
        for chunk in chunks:
            file.write(chunk.data)
        file.finish(path)
    finally:
        file.close()
