"""CompactShard: a shard of a compact index, which stores suffixes and tokens in a quarter of a suffix array's space.

csrc/suffix/compact.h describes the file. The rows of the compact index are the ranks of the suffixes, so queries use
it like a suffix array: both kinds implement Shard and Searcher in shard.py.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import xxhash

from pyunitok._c.compact import FOOTER_BYTES, SECTIONS, Compact, CompactSearch, build_parts, inverse
from pyunitok._c.search import ID_COUNTS, Tokens
from pyunitok.errors import LimitError
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.shard import CHUNK, U32, IndexShard, Shard

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Int64s = np.ndarray[Any, np.dtype[np.int64]]


class CompactIds:
    """The tokens of a compact index, indexed like an array: by an integer, a slice with step 1, or an integer array."""

    def __init__(self, compact: Compact, rank: U32) -> None:
        self.dtype = np.dtype(np.uint16 if len(rank) == ID_COUNTS[2] else np.uint32)
        self._compact, self.of_rank = compact, inverse(rank).astype(self.dtype)

    def __len__(self) -> int:
        return self._compact.n

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            begin, end, step = key.indices(len(self))
            if step != 1:
                raise IndexError("slices of a compact index must have step 1")
            return self._read(np.array([begin]), np.array([max(begin, end)]))
        at = np.asarray(key, np.int64)
        flat = np.ascontiguousarray(np.where(at < 0, at + len(self), at).reshape(-1))
        if len(flat) and not 0 <= int(flat.min()) <= int(flat.max()) < len(self):
            raise IndexError(f"a token is out of range: the shard has {len(self)}")
        found = self._read(flat, flat + 1).reshape(at.shape)
        return found if at.shape else found[()]

    def _read(self, begins: Int64s, ends: Int64s) -> Tokens:
        return self.of_rank[self._compact.extract(begins, ends)]


class StoredIds:
    """The tokens of a token file that is stored in the shards of a compact index, read like CompactIds."""

    def __init__(self, dtype: np.dtype[Any], n: int) -> None:
        self.dtype, self._n = dtype, n
        self._parts: list[CompactIds] = []
        self._bounds = np.zeros(1, np.int64)

    @property
    def nbytes(self) -> int:
        return self._n * self.dtype.itemsize

    def append(self, part: CompactIds) -> None:
        """Add the tokens of the next shard."""
        self._parts.append(part)
        self._bounds = np.append(self._bounds, self._bounds[-1] + len(part))

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            begin, end, step = key.indices(self._n)
            if step != 1:
                raise IndexError("slices of a compact index must have step 1")
            parts = [
                part[max(begin - low, 0) : max(end - low, 0)]
                for part, low in zip(self._parts, self._bounds.tolist(), strict=False)
                if low < end and low + len(part) > begin
            ]
            return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0, self.dtype)])
        at = np.asarray(key, np.int64)
        flat = np.where(at < 0, at + self._n, at).reshape(-1)
        if len(flat) and not 0 <= int(flat.min()) <= int(flat.max()) < self._n:
            raise IndexError(f"a token is out of range: the file has {self._n}")
        ret, shards = np.empty(len(flat), self.dtype), np.searchsorted(self._bounds, flat, "right") - 1
        for k in np.unique(shards).tolist():
            ret[shards == k] = self._parts[k][flat[shards == k] - self._bounds[k]]
        return ret.reshape(at.shape) if at.shape else ret[0]


@dataclass(kw_only=True)
class CompactShard(Shard):
    """A shard of a compact index; see Shard for the other fields. `compact` contains the ranks of the tokens."""

    rank: U32
    compact: Compact
    ids: Any = None  # the tokens of the token file; by default, those in `compact`
    first: U32 = field(init=False)

    def __post_init__(self) -> None:
        self.first = self.compact.first
        self.has_token_file = self.ids is not None
        if self.ids is None:
            self.ids = self.own_ids()

    def own_ids(self) -> Any:
        """The tokens in the index, or the tokens in the token file if the index only counts."""
        return CompactIds(self.compact, self.rank) if self.compact.extract_every else self.ids

    def searcher(self, eod: int | None) -> CompactSearch:
        ids = self.ids if self.has_token_file else None
        return CompactSearch(self.compact, rank=self.ranks, ends=self.ends, begin=self.begin, eod=eod, ids=ids)

    def _positions(self, ranks: Any) -> Int64s:
        if not self.compact.locate_every:
            raise LimitError(
                f"{self.name} was built with --count-only, so it has no positions of hits; count hits with"
                " `pyunitok search --count`, or build the index again without --count-only"
            )
        return self.compact.locate(np.ascontiguousarray(ranks, np.int64))

    def restored(self) -> IndexShard:
        """A copy of the shard as a suffix array. Takes 6 bytes of memory and 0.2 to 0.5 µs per token."""
        ids, sa, at = np.empty(len(self), self.ids.dtype), np.zeros(len(self), np.uint32), 0
        of_rank = inverse(self.rank).astype(ids.dtype)
        advise(self.compact.image, "MADV_NORMAL")  # for read-ahead: the complete file is read
        for symbols, rows in self.compact.walk(CHUNK):
            end = at + len(symbols)
            ids[at:end] = of_rank[symbols]
            sa[rows] = np.arange(at, end, dtype=np.uint32)
            at = end
        advise(self.compact.image, "MADV_RANDOM")
        ret = IndexShard.from_arrays(ids, sa, rank=self.rank, ends=self.ends, left=False)
        ret.begin, ret.first_document, ret.number = self.begin, self.first_document, self.number
        ret.file, ret.name = self.file, self.name
        return ret


def advise(image: Bytes, advice: str) -> None:
    """Tell the system how a mapped file will be read, if the system supports such advice. After MADV_RANDOM, the system
    reads single pages; by default, it reads up to megabytes around each page, which makes scattered reads many times
    slower."""
    mapped, number = getattr(image, "_mmap", None), getattr(mmap, advice, None)
    if mapped is not None and number is not None:
        mapped.madvise(number)


def compact_file(
    ranks: Tokens, sa: np.ndarray[Any, Any], options: CompactOptions, on_share: Callable[[float], None],
    rows: np.ndarray[Any, Any] | None = None,
) -> Iterator[np.ndarray[Any, Any]]:  # fmt: skip
    """The bytes of a shard's file, with checksums. Calls on_share after each step. `sa` is the suffix array; or `sa`
    and `rows` are the result of symbols_before(ranks, options.rows_every). `ranks` and `sa` are overwritten."""
    digests = [xxhash.xxh64() for _ in range(SECTIONS)]
    samples = {"rows": rows, "rows_every": options.rows_every, **asdict(options)}
    for part in build_parts(ranks, sa, ID_COUNTS[ranks.itemsize], **samples):
        data = part.data
        if 0 <= part.section < SECTIONS:
            digests[part.section].update(data.data)
        elif part.section == SECTIONS:
            data = data.copy()
            data[: 8 * SECTIONS].view("<u8")[:] = [digest.intdigest() for digest in digests]
            data[-16:-8].view("<u8")[0] = xxhash.xxh64_intdigest(data[:-16].data)
        yield data
        on_share(part.progress)


def offsets_of(image: Bytes) -> list[int]:
    """The offsets of a file's sections and of its footer. The second section contains the blocks."""
    ret: list[int] = np.frombuffer(image[-FOOTER_BYTES:].tobytes(), "<u8")[SECTIONS : 2 * SECTIONS + 1].tolist()
    return ret


def first_problem(image: Bytes) -> str | None:
    """An error message if a checksum of the file is wrong; otherwise None."""
    footer = image[-FOOTER_BYTES:]
    numbers = np.frombuffer(footer.tobytes(), "<u8")
    if xxhash.xxh64_intdigest(footer[:-16].data) != int(numbers[-2]):
        return "the XXH64 of the footer does not match"
    sums, offsets = numbers[:SECTIONS].tolist(), offsets_of(image)
    advise(image, "MADV_NORMAL")
    for k, (expected, begin, end) in enumerate(zip(sums, offsets[:-1], offsets[1:], strict=True)):
        digest = xxhash.xxh64()
        for at in range(begin, end, CHUNK):
            digest.update(image[at : min(at + CHUNK, end)].data)
        if digest.intdigest() != expected:
            return f"the XXH64 of section {k} does not match"
    advise(image, "MADV_RANDOM")
    return None


def compacted(shard: IndexShard, **options: Any) -> CompactShard:
    """A copy of a shard as a compact index in memory, with the options of build_parts."""
    ranks = shard.ranks[np.asarray(shard.ids)].astype(shard.ids.dtype)
    parts = build_parts(ranks, np.array(shard.sa, np.uint32), len(shard.ranks), **options)
    compact = Compact(np.frombuffer(b"".join(part.data.tobytes() for part in parts), np.uint8))
    return CompactShard(
        compact=compact, ends=np.array(shard.ends), rank=shard.ranks, begin=shard.begin,
        first_document=shard.first_document, number=shard.number, file=shard.file,
    )  # fmt: skip
