"""What an index is to be: which token files, cut into which shards, in which order. Nothing is written here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from pyunitok.errors import LimitError, OutputError
from pyunitok.index.manifest import (
    MAX_SHARD_TOKENS,
    IndexedFile,
    IndexManifest,
    ShardRecord,
    resolved_path,
    stored_path,
)
from pyunitok.index.order import byte_rank
from pyunitok.index.shard import digest_of
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.opening import open as open_tokens

BYTES_A_TOKEN = 6.2  # of a shard while it is sorted: tokens, positions, bits
FIXED_BYTES = 100 << 20  # Python, the library, buffers
MIN_SHARD_TOKENS = 1 << 16

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Limits:
    """How large shards may be.

    max_memory    bytes that indexing may take; None: half of this machine's
    shard_tokens  None: the most that max_memory allows, with two shards at a time
    """

    max_memory: int | None = None
    shard_tokens: int | None = None

    @property
    def memory(self) -> int:
        if self.max_memory is not None:
            return self.max_memory
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2 if hasattr(os, "sysconf") else 4 << 30

    @property
    def tokens(self) -> int:
        """Of a shard, at most. It does not depend on the number of threads, so the output does not either."""
        if self.shard_tokens is not None:
            if not 1 <= self.shard_tokens <= MAX_SHARD_TOKENS:
                raise LimitError(f"a shard has 1 to {MAX_SHARD_TOKENS} tokens, not {self.shard_tokens}")
            return self.shard_tokens
        room = int((self.memory - FIXED_BYTES) / 2 / BYTES_A_TOKEN)
        if room < MIN_SHARD_TOKENS:
            least = int(FIXED_BYTES + 2 * BYTES_A_TOKEN * MIN_SHARD_TOKENS) // 1000**2 + 1
            raise LimitError(f"{self.memory:,} bytes are too few to index with; {least} MB are enough")
        return min(room, MAX_SHARD_TOKENS)

    def at_once(self, largest: int, threads: int) -> int:
        """How many shards are sorted at the same time if the largest has so many tokens."""
        room = (self.memory - FIXED_BYTES) / max(1.0, BYTES_A_TOKEN * largest)
        if room < 1:
            need = int(FIXED_BYTES + BYTES_A_TOKEN * largest) // 1000**2 + 1
            raise LimitError(
                f"a shard of {largest:,} tokens takes {need:,} MB, more than {self.memory // 1000**2:,} MB: "
                "allow more memory (--max-memory)"
            )
        return max(1, min(threads, int(room)))


def plan_index(
    paths: Sequence[str | os.PathLike[str]], folder: Path, *, order: str, left: bool, limits: Limits, model: Any = None,
    existing: IndexManifest | None = None,
) -> tuple[IndexManifest, Array | None]:  # fmt: skip
    """The manifest that the index will have, but for the hashes of shards, and the ranks of order "bytes".

    existing  of the index that shards are added to

    OutputError if the token files do not go together, or cannot be indexed.
    """
    arrays = [_open(path, model) for path in paths]
    first = existing or _describe(arrays[0], order, left)
    shards = list(existing.shards) if existing else []
    files = list(existing.files) if existing else []
    known = {resolved_path(file.path, folder) for file in files}
    for array in arrays:
        path = array.path.resolve()
        if path in known:
            raise OutputError(f"{array.path} is in the index already" if existing else f"{array.path} is named twice")
        known.add(path)
        _check_fits(array, first)
        files.append(IndexedFile(stored_path(array.path, folder), len(array.ids), len(array), digest_of(array)))
        shards += cut(array, len(files) - 1, limits.tokens)
    rank = byte_rank(arrays[0].tokenizer) if first.order == "bytes" else None
    rank_hash = None if rank is None else xxhash.xxh64_hexdigest(rank.astype("<u2").tobytes())
    return IndexManifest(first.order, first.left, first.model, first.eod, files, shards, rank_hash=rank_hash), rank


def _open(path: str | os.PathLike[str], model: Any) -> TokenArray:
    array = open_tokens(path, model=model, dtype="uint16")
    if array.ids.dtype != np.dtype("<u2"):
        raise OutputError(f"{path}: its ids are {array.ids.dtype}, and an index is over uint16 ids")
    return array


def _describe(array: TokenArray, order: str, left: bool) -> IndexManifest:
    model = {} if array.manifest is None else dict(array.manifest.model)
    return IndexManifest(order, left, model, array.eod_id, [], [])


def _check_fits(array: TokenArray, first: IndexManifest) -> None:
    model = {} if array.manifest is None else array.manifest.model
    if model.get("sha256") != first.model.get("sha256"):
        raise OutputError(f"{array.path} was made with another vocabulary than the files before it: index it apart")
    if array.eod_id != first.eod:
        raise OutputError(f"{array.path} ends documents with id {array.eod_id}, the files before it with {first.eod}")


def cut(array: TokenArray, file: int, limit: int) -> list[ShardRecord]:
    """Runs of whole documents of at most `limit` tokens, about equally large. OutputError names a longer document."""
    n_tokens, n_documents = len(array.ids), len(array)
    count, shards, document, begin = -(-n_tokens // limit), list[ShardRecord](), 0, 0
    ends = array.ends
    while document < n_documents:
        left = max(1, count - len(shards))
        target = begin + min(limit, -(-(n_tokens - begin) // left))
        last = max(int(np.searchsorted(ends, np.uint64(target), "right")), document)  # documents that end by then
        if last < n_documents and _is_closer(ends, last, begin, target, limit):
            last += 1
        if last == document:
            _refuse(array, document, begin, limit)
        end = int(ends[last - 1])
        if end > begin:  # empty documents at the end make no shard
            shards.append(ShardRecord(file, document, last - document, begin, end - begin))
        elif shards:
            shards[-1].documents += last - document
        document, begin = last, end
    return shards


def _is_closer(ends: Array, last: int, begin: int, target: int, limit: int) -> bool:
    """Whether a shard that takes document `last` too is nearer to its target, and not too large."""
    end, before = int(ends[last]), int(ends[last - 1]) if last else 0
    return end - begin <= limit and (before <= begin or end - target < target - before)


def _refuse(array: TokenArray, document: int, begin: int, limit: int) -> None:
    size = int(array.ends[document]) - begin
    if size > MAX_SHARD_TOKENS:
        raise OutputError(f"{array.path}: document {document} has {size:,} tokens; a shard has {MAX_SHARD_TOKENS:,}")
    raise LimitError(
        f"{array.path}: document {document} has {size:,} tokens, more than a shard of {limit:,}: allow more "
        "(--shard-tokens, --max-memory)"
    )
