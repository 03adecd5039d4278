"""Writes indexes of other engines, including their suffix arrays: infini-gram's table.N, tokengrams' NAME.idx.

infini-gram   table.N: the byte at which each suffix of tokenized.N begins, in the order of their raw bytes, stored
              in the fewest bytes that can hold all of these numbers; the other files are those of `pyunitok export`
tokengrams    NAME.idx: uint64, the token at which each suffix of NAME.bin begins, in the order of their ids
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.outfile import OutFile, check_target, partial_name
from pyunitok.errors import OutputError
from pyunitok.export import Exported, default_name, export
from pyunitok.export.files import WrittenFile
from pyunitok.export.options import Options
from pyunitok.index.build import IndexProgress, on_threads, read_ranks
from pyunitok.index.plan import Limits
from pyunitok.index.suffix import CHUNK, suffix_array
from pyunitok.model.batch import threads_or_cores
from pyunitok.tokens.array import TokenArray

Array = np.ndarray[Any, Any]


def _byte_offsets(sa: Array) -> Iterator[Array]:
    width = max(1, (max(2 * len(sa) - 1, 1).bit_length() + 7) // 8)
    for at in range(0, len(sa), CHUNK):
        wide = 2 * sa[at : at + CHUNK].astype("<u8")
        yield np.ascontiguousarray(wide.view(np.uint8).reshape(-1, 8)[:, :width]).reshape(-1)


def _token_offsets(sa: Array) -> Iterator[Array]:
    return (sa[at : at + CHUNK].astype("<u8").view(np.uint8) for at in range(0, len(sa), CHUNK))


@dataclass(frozen=True)
class EngineIndex:
    """The suffix arrays of one engine.

    files     (tokens, suffix array): the names of each shard's files, in an export with these options
    sharded   whether the engine reads several shards
    by_bytes  whether suffixes are sorted by their raw bytes instead of by their ids
    encode    returns the bytes of a suffix array's file, in parts
    """

    files: Callable[[Options], list[tuple[str, str]]]
    sharded: bool
    by_bytes: bool
    encode: Callable[[Array], Iterator[Array]]


ENGINES = {
    "infini-gram": EngineIndex(
        lambda options: [(f"tokenized.{k}", f"table.{k}") for k in range(options.shards)],
        sharded=True, by_bytes=True, encode=_byte_offsets,
    ),
    "tokengrams": EngineIndex(
        lambda options: [(f"{options.name}.bin", f"{options.name}.idx")],
        sharded=False, by_bytes=False, encode=_token_offsets,
    ),
}  # fmt: skip


def write_engine_index(
    array: TokenArray, to: str, folder: Path, *, limits: Limits, threads: int | None = None, overwrite: bool = False,
    on_progress: Callable[[IndexProgress], None] | None = None,
) -> Exported:  # fmt: skip
    """Write the exported files and their suffix arrays into `folder`; `to` is one of ENGINES.

    Raises OutputError if files exist or the engine does not support the ids; LimitError if max_memory is too low.
    """
    engine, n_threads = ENGINES[to], threads_or_cores(threads)
    if array.ids.dtype != np.dtype("<u2"):
        raise OutputError(f"{array.path}: its ids are {array.ids.dtype}; an index for {to} requires uint16 ids")
    # The export may add a separator for each document.
    n_shards = -(-(len(array.ids) + len(array)) // limits.tokens) if engine.sharded else 1
    options = Options(default_name(array.path), shards=max(1, n_shards))
    sources, targets = zip(*((folder / a, folder / b) for a, b in engine.files(options)), strict=True)
    for target in targets:
        check_target(target, overwrite=overwrite)
        target.unlink(missing_ok=True)  # an older table must not be left with new tokens
    exported = export(array, to, folder, options, overwrite=overwrite)
    sizes = {k: path.stat().st_size // 2 for k, path in enumerate(sources)}
    progress = IndexProgress(0, sum(sizes.values()), 0, len(sizes), 0)

    def build(k: int, on_share: Callable[[float], None]) -> None:
        rank = np.arange(1 << 16, dtype=np.uint16).byteswap().astype(np.uint32) if engine.by_bytes else None
        text, _, _ = read_ranks(sources[k], 0, sizes[k], rank, array.ids.dtype)
        sa = suffix_array(text, on_progress=lambda share: on_share(0.9 * share))
        _write(targets[k], engine.encode(sa))

    on_threads(build, sizes, limits.at_once(max(sizes.values()), n_threads), progress, on_progress or (lambda _: None))
    files = exported.files + [WrittenFile(path, path.stat().st_size, "written") for path in targets]
    return Exported(files, [note for note in exported.notes if not note.startswith("build its ")])


def _write(path: Path, chunks: Iterator[Array]) -> None:
    file = OutFile(partial_name(path))
    try:
        for chunk in chunks:
            file.write(chunk.data)
        file.finish(path)
    finally:
        file.close()
