"""Plans an index: its token files, shards and order. This module writes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from pyunitok.errors import LimitError, OutputError
from pyunitok.index.manifest import (
    MAX_SHARD_TOKENS,
    VERSION,
    CompactOptions,
    IndexedFile,
    IndexManifest,
    ShardRecord,
    resolved_path,
    stored_path,
)
from pyunitok.index.opening import OpenIndex, digest_of, open_indexable, open_rank
from pyunitok.index.order import byte_rank
from pyunitok.index.shard import n_ids
from pyunitok.tokens.array import TokenArray

SORTER_BYTES_PER_TOKEN = 0.2  # the bits of the sorter
BYTES_PER_TOKEN = 6 + SORTER_BYTES_PER_TOKEN  # for sorting a shard of uint16 ids: tokens, positions and bits
TABLES_MARGIN = 0.075  # bytes per token
FIXED_BYTES = 100 << 20  # for Python, the library and buffers
MIN_SHARD_TOKENS = 1 << 16

Array = np.ndarray[Any, Any]


def bytes_per_token(dtype: np.dtype[Any], compact: CompactOptions | None) -> float:
    """Bytes of memory per token for sorting a shard. While a compact index is written, the bits of the sorter are free,
    but its directory and samples are in memory, and the rows from which the samples are made. At least TABLES_MARGIN is
    planned for the directory and samples, besides the bits."""
    size = BYTES_PER_TOKEN + dtype.itemsize - 2
    if compact is None:
        return size
    tables = 1 / compact.block
    if compact.locate_every:
        tables += 5 / compact.locate_every
    if compact.extract_every:
        tables += 4 / compact.extract_every
    return size + 4 / compact.rows_every + max(TABLES_MARGIN, tables - SORTER_BYTES_PER_TOKEN)


@dataclass(frozen=True)
class Limits:
    """The limits on the size of shards.

    max_memory       memory for indexing in bytes; None means half of this machine's memory
    shard_tokens     maximum tokens per shard; None means the most that max_memory allows for sorting two shards at a
                     time
    bytes_per_token  memory for sorting
    """

    max_memory: int | None = None
    shard_tokens: int | None = None
    bytes_per_token: float = BYTES_PER_TOKEN

    @property
    def memory(self) -> int:
        if self.max_memory is not None:
            return self.max_memory
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2 if hasattr(os, "sysconf") else 4 << 30

    @property
    def tokens(self) -> int:
        """The maximum tokens per shard. Neither it nor the output depends on the number of threads."""
        if self.shard_tokens is not None:
            if not 1 <= self.shard_tokens <= MAX_SHARD_TOKENS:
                raise LimitError(f"shard_tokens must be 1 to {MAX_SHARD_TOKENS}, not {self.shard_tokens}")
            return self.shard_tokens
        fitting = int((self.memory - FIXED_BYTES) / 2 / self.bytes_per_token)
        if fitting < MIN_SHARD_TOKENS:
            least = int(FIXED_BYTES + 2 * self.bytes_per_token * MIN_SHARD_TOKENS) // 1000**2 + 1
            raise LimitError(f"indexing requires at least {least} MB of memory; the limit is {self.memory:,} bytes")
        return min(fitting, MAX_SHARD_TOKENS)

    def at_once(self, largest: int, threads: int) -> int:
        """How many shards to sort at the same time if the largest shard has `largest` tokens."""
        fitting = (self.memory - FIXED_BYTES) / max(1.0, self.bytes_per_token * largest)
        if fitting < 1:
            need = int(FIXED_BYTES + self.bytes_per_token * largest) // 1000**2 + 1
            raise LimitError(
                f"sorting a shard of {largest:,} tokens takes {need:,} MB, but the limit is {self.memory // 1000**2:,} "
                "MB; raise it with --max-memory"
            )
        return max(1, min(threads, int(fitting)))


def plan_index(
    paths: Sequence[str | os.PathLike[str]], folder: Path, *, order: str, left: bool, limits: Limits, model: Any = None,
    existing: IndexManifest | None = None, compact: CompactOptions | None = None,
) -> tuple[IndexManifest, Array | None]:  # fmt: skip
    """Returns the manifest of the index without the hashes of shards, and the ranks (None for order "id").

    existing  the manifest of the index to add to

    Raises OutputError if the token files are incompatible or cannot be indexed.
    """
    arrays = [open_indexable(path, model) for path in paths]
    model = {} if arrays[0].manifest is None else dict(arrays[0].manifest.model)
    dtype = arrays[0].ids.dtype
    first = existing or IndexManifest(
        order, left, model, arrays[0].eod_id, [], [], compact=compact, dtype=dtype.str,
        version=1 if compact is None and dtype.itemsize == 2 else VERSION,
    )  # fmt: skip
    shards = list(existing.shards) if existing else []
    files = list(existing.files) if existing else []
    known = {resolved_path(file.path, folder) for file in files}
    for array in arrays:
        path = array.path.resolve()
        if path in known:
            raise OutputError(f"{array.path} is {'already in the index' if existing else 'given twice'}")
        known.add(path)
        _check_fits(array, first)
        files.append(IndexedFile(stored_path(array.path, folder), len(array.ids), len(array), digest_of(array)))
        shards += cut(array, len(files) - 1, limits.tokens)
    check_count_only(first.compact, first.eod, sum(file.documents for file in files))
    rank = byte_rank(arrays[0].tokenizer, n_ids(dtype)) if first.order == "bytes" else None
    rank_hash = None if rank is None else xxhash.xxh64_hexdigest(rank.astype(dtype).tobytes())
    return replace(first, files=files, shards=shards, rank_hash=rank_hash, created="", pyunitok=""), rank


def plan_conversion(
    source: OpenIndex, folder: Path, compact: CompactOptions
) -> tuple[IndexManifest, Array | None]:
    """Like plan_index, but for a compact index with the same shards as `source`, which is an index of suffix arrays."""
    old = source.manifest
    if old.order != "bytes" or old.compact is not None:
        kind = "is compact" if old.compact else f"has the order {old.order!r}"
        raise OutputError(f"{source.folder} {kind}; only an index of suffix arrays in byte order can be converted")
    check_count_only(compact, old.eod, sum(map(len, source.arrays)))
    files = [
        replace(file, path=stored_path(array.path, folder))
        for file, array in zip(old.files, source.arrays, strict=True)
    ]
    plan = replace(
        old, files=files, shards=[replace(shard, hash={}) for shard in old.shards], compact=compact, left=False,
        version=VERSION, created="", pyunitok="",
    )  # fmt: skip
    rank = open_rank(source.folder, old)
    return plan, rank


def check_count_only(compact: CompactOptions | None, eod: int | None, n_documents: int) -> None:
    """Raise LimitError if an index that only counts cannot tell documents apart."""
    if compact is not None and compact.only_counts and eod is None and n_documents > 1:
        raise LimitError("--count-only requires token files whose documents end with an eod")


def _check_fits(array: TokenArray, first: IndexManifest) -> None:
    model = {} if array.manifest is None else array.manifest.model
    if model.get("sha256") != first.model.get("sha256"):
        raise OutputError(f"{array.path}: its vocabulary differs from that of the other files; index it separately")
    if array.ids.dtype.str != first.dtype:
        raise OutputError(
            f"{array.path}: its ids are {array.ids.dtype}, but those of the other files are {np.dtype(first.dtype)}"
        )
    if array.eod_id != first.eod:
        raise OutputError(f"{array.path}: its eod is {array.eod_id}, but that of the other files is {first.eod}")


def cut(array: TokenArray, file: int, limit: int) -> list[ShardRecord]:
    """Divide a token file into shards of complete documents, of about equal size and at most `limit` tokens each.
    Raises OutputError or LimitError if a document is longer than a shard."""
    n_tokens, n_documents = len(array.ids), len(array)
    count, shards, document, begin = -(-n_tokens // limit), list[ShardRecord](), 0, 0
    ends = array.ends
    while document < n_documents:
        left = max(1, count - len(shards))
        target = begin + min(limit, -(-(n_tokens - begin) // left))
        # The first document that ends after the target.
        last = max(int(np.searchsorted(ends, np.uint64(target), "right")), document)
        if last < n_documents and _is_closer(ends, last, begin, target, limit):
            last += 1
        if last == document:
            _refuse(array, document, begin, limit)
        end = int(ends[last - 1])
        if end > begin:  # empty documents at the end do not form a shard
            shards.append(ShardRecord(file, document, last - document, begin, end - begin))
        elif shards:
            shards[-1].documents += last - document
        document, begin = last, end
    return shards


def _is_closer(ends: Array, last: int, begin: int, target: int, limit: int) -> bool:
    """Whether adding document `last` brings a shard closer to its target without exceeding the limit."""
    end, before = int(ends[last]), int(ends[last - 1]) if last else 0
    return end - begin <= limit and (before <= begin or end - target < target - before)


def _refuse(array: TokenArray, document: int, begin: int, limit: int) -> None:
    size = int(array.ends[document]) - begin
    if size > MAX_SHARD_TOKENS:
        raise OutputError(
            f"{array.path}: document {document} has {size:,} tokens, but a shard has at most {MAX_SHARD_TOKENS:,}"
        )
    raise LimitError(
        f"{array.path}: document {document} has {size:,} tokens, but a shard has at most {limit:,}; allow larger "
        "shards with --shard-tokens or --max-memory"
    )
