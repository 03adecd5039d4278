"""Bindings for the section "Compact index" of csrc/unitok_search.h."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.library import buffer_of, call, create, ffi, lib, optional, pointer
from pyunitok._c.search import ID_COUNTS, Runs, SearchPieces, TextCounter, Tokens, contexts, following, sizes_of
from pyunitok.packed import Bytes, Offsets

U32 = np.ndarray[Any, np.dtype[np.uint32]]
U64 = np.ndarray[Any, np.dtype[np.uint64]]
Int64s = np.ndarray[Any, np.dtype[np.int64]]

SECTIONS: int = lib.UNITOK_COMPACT_SECTIONS
FOOTER_BYTES: int = lib.UNITOK_COMPACT_FOOTER_BYTES
MAX_SYMBOLS: int = lib.UNITOK_COMPACT_SYMBOLS
CAPACITY = 1 << 20  # capacity for one step, in bytes
RANGES = 1 << 12  # the number of ranges of text in memory at a time
STEP = 4 << 20  # suffixes between checks for Ctrl-C


class CompactPart(NamedTuple):
    """The next bytes of the file.

    data      uint8; valid until the next part is requested
    section   -1 for the prefix, SECTIONS for the footer, which is one part
    progress  the completed share, 0 to 1
    """

    data: Bytes
    section: int
    progress: float


def build_parts(
    text: np.ndarray[Any, Any], sa: U32, n_symbols: int, *, rows: U32 | None = None, rows_every: int = 0,
    block: int = 128, locate_every: int = 32, extract_every: int = 64, budget: int = STEP,
) -> Iterator[CompactPart]:  # fmt: skip
    """Yields the parts of a compact index of `text` (uint8, uint16 or uint32), whose suffix array is `sa`; or `sa` and
    `rows` are from SuffixSorter.take_before. Overwrites both arrays. The checksums in the footer are 0."""
    if len(sa) != len(text) or sa.dtype != np.uint32 or text.dtype not in (np.uint8, np.uint16, np.uint32):
        raise ValueError(f"cannot index {text.dtype}[{len(text)}] with {sa.dtype}[{len(sa)}]")
    keep = (pointer(text, writable=True), pointer(sa, writable=True), optional(rows))
    shape, options = (keep[0], len(text), text.itemsize, n_symbols), (block, locate_every, extract_every)
    builder = create("compact_builder", *shape, *keep[1:], rows_every, *options)
    out = np.empty(CAPACITY, np.uint8)
    n_bytes, section, progress = ffi.new("int64_t *"), ffi.new("int32_t *"), ffi.new("double *")
    while progress[0] < 1:
        given = (pointer(out, writable=True), CAPACITY)
        call(lib.unitok_compact_builder_step, builder, budget, *given, n_bytes, section, progress)
        yield CompactPart(out[: n_bytes[0]], int(section[0]), float(progress[0]))


class Compact:
    """An open compact index. Symbols are ranks; rows are indices in the suffix array. Immutable; threads may share it.

    image          uint8: the bytes of the file, for example a memory map
    first          uint32[n_symbols + 1]: first[c] suffixes begin with a symbol below c
    first_row      the row of the suffix at position 0
    symbol_bytes   1, 2 or 4: the width of the tokens that were indexed
    """

    def __init__(self, image: Bytes) -> None:
        self.image, self._image = image, buffer_of(image)
        self.handle: Any = create("compact", self._image, len(image), how="open")
        info = ffi.new("unitok_compact_info *")
        lib.unitok_compact_get_info(self.handle, info)
        self.n, self.n_symbols, self.first_row = int(info.n), int(info.n_symbols), int(info.first_row)
        self.symbol_bytes, self.block = int(info.symbol_bytes), int(info.block)
        self.locate_every, self.extract_every = int(info.locate_every), int(info.extract_every)
        first = ffi.buffer(info.first, 4 * (self.n_symbols + 1))
        self.first: U32 = np.frombuffer(first, np.uint32)

    def __len__(self) -> int:
        return self.n

    def tokens(self, symbols: U32, begins: Offsets, ends: Offsets) -> tuple[Int64s, Int64s]:
        """The rows lo[k]:hi[k] whose suffixes begin with symbols[begins[k]:ends[k]]."""
        n = len(begins)
        if n and (int(begins.min()) < 0 or bool((ends < begins).any()) or int(ends.max()) > len(symbols)):
            raise ValueError("a query extends past the end of the symbols")
        if len(ends) != n:
            raise ValueError(f"expected {n} ends, got {len(ends)}")
        lo, hi = np.empty(n, np.int64), np.empty(n, np.int64)
        lib.unitok_compact_tokens(
            self.handle, pointer(symbols), pointer(begins), pointer(ends), n, pointer(lo), pointer(hi)
        )
        return lo, hi

    def next(self, lo: int, hi: int, depth: int) -> tuple[U32, Int64s]:
        """uint32[k] symbols and int64[k] counts: the symbols that follow the first `depth` symbols of rows lo:hi,
        which must be the same in all these rows."""
        return following(partial(lib.unitok_compact_next, self.handle, lo, hi, depth), np.uint32)

    def previous(self, lo: int, hi: int) -> Int64s:
        """int64[n_symbols]: the number of times that each symbol precedes rows lo:hi."""
        counts = np.zeros(self.n_symbols, np.int64)
        lib.unitok_compact_previous(self.handle, lo, hi, pointer(counts))
        return counts

    def locate(self, rows: Int64s) -> Int64s:
        """The positions of rows; -1 for a row out of range. Raises ValueError if the index cannot locate."""
        positions = np.empty(len(rows), np.int64)
        call(lib.unitok_compact_locate, self.handle, pointer(rows), len(rows), pointer(positions))
        return positions

    def extract(self, begins: Int64s, ends: Int64s, *, rows: U32 | None = None) -> U32:
        """The symbols at positions begins[k]:ends[k], concatenated. `rows`, of the same length, receives the rows of
        the suffixes that begin there. Raises ValueError if the index cannot extract."""
        n = int((ends - begins).sum())
        if len(ends) != len(begins) or bool((ends < begins).any()) or (rows is not None and len(rows) != n):
            raise ValueError("a range ends before it begins, or `rows` has the wrong length")
        symbols, ranges = np.empty(n, np.uint32), (pointer(begins), pointer(ends), len(begins))
        call(lib.unitok_compact_extract, self.handle, *ranges, pointer(symbols), optional(rows))
        return symbols

    def walk(self, n: int) -> Iterator[tuple[U32, U32]]:
        """Yields the symbols of the text and the rows of their suffixes, n at a time. Requires no samples."""
        row = self.first_row
        for at in range(0, self.n, n):
            size = min(n, self.n - at)
            symbols, rows = np.empty(size, np.uint32), np.empty(size, np.uint32)
            row = lib.unitok_compact_walk(self.handle, row, size, pointer(symbols), pointer(rows))
            yield symbols, rows


def inverse(rank: U32) -> U32:
    """uint32[n_ids]: the id of each rank."""
    ids = np.empty(len(rank), np.uint32)
    ids[rank] = np.arange(len(rank), dtype=np.uint32)
    return ids


class CompactSearch(TextCounter):
    """A unitok_compact_shard, with the methods of SearchShard except ngrams: a compact index whose symbols are ranks.
    Keeps the arrays alive.

    rank   uint32[n_ids]: the symbol of each id, a permutation
    ids    the tokens, if they are in memory or mapped; faster than reading them from the index
    ends   uint64: the end of each document, plus `begin`
    """

    _count, _find = lib.unitok_compact_count, lib.unitok_compact_find

    def __init__(
        self, compact: Compact, *, rank: U32, ends: U64, begin: int, eod: int | None, ids: Tokens | None = None
    ) -> None:  # fmt: skip
        if rank.dtype != np.uint32 or len(rank) not in ID_COUNTS.values() or ends.dtype != np.uint64:
            raise ValueError("an array of a shard has the wrong size or dtype")
        self.compact, self.n, self._rank, self._tokens = compact, compact.n, rank, ids
        self.ids = inverse(rank)
        self._ids_as_stored: Tokens = self.ids.astype(np.uint16 if len(rank) == ID_COUNTS[2] else np.uint32)
        self._keep = [ffi.from_buffer("uint32_t[]", rank), ffi.from_buffer("uint32_t[]", self.ids)]
        self._keep.append(ffi.from_buffer("uint64_t[]", ends))
        self.handle: Any = ffi.new("unitok_compact_shard *")
        handle = self.handle
        handle.n_ids = len(rank)
        handle.compact, (handle.rank, handle.ids, handle.ends) = compact.handle, self._keep
        handle.n_documents, handle.begin, handle.eod = len(ends), begin, -1 if eod is None else eod
        call(lib.unitok_compact_check, handle)

    def attach_inside(self, pieces: SearchPieces) -> None:
        """Does nothing: a compact index sums frequencies as it searches."""

    def tokens(self, ids: Tokens, begins: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
        n = len(self._rank)
        ranks = self._rank[np.minimum(ids, n - 1)]
        return self.compact.tokens(np.where(ids < n, ranks, np.uint32(n)), begins, ends)

    def tokens_of(self, ids: Tokens) -> tuple[int, int]:
        lo, hi = self.tokens(ids, np.zeros(1, np.int64), np.array([len(ids)]))
        return int(lo[0]), int(hi[0])

    def next(self, lo: int, hi: int, depth: int) -> tuple[U32, Offsets]:
        symbols, counts = self.compact.next(lo, hi, depth)
        return self.ids[symbols], counts

    def previous(self, lo: int, hi: int, counts: Offsets) -> None:
        counts += self.compact.previous(lo, hi)[self._rank]

    def extract(self, begins: Int64s, ends: Int64s) -> Tokens:
        """The ids at positions begins[k]:ends[k], concatenated, uint16 or uint32 as in the token file."""
        if self._tokens is not None:
            ranges = zip(begins.tolist(), ends.tolist(), strict=True)
            return np.concatenate([self._tokens[:0], *(self._tokens[begin:end] for begin, end in ranges)])
        return self._ids_as_stored[self.compact.extract(begins, ends)]

    def ends_of(self, pieces: SearchPieces, tokens: Offsets, skips: Offsets, n_bytes: int) -> tuple[Offsets, Offsets]:
        windows = self._window(tokens, np.full(len(tokens), self.n), pieces.lengths, n_bytes + skips)
        ids, offsets = self.extract(tokens, windows), np.cumsum(np.append(0, windows - tokens))
        sums = np.append(0, np.cumsum(pieces.lengths[ids], dtype=np.int64))
        wanted = sums[offsets[:-1]] + n_bytes + skips
        at = np.searchsorted(sums, wanted)  # token `at - 1` is the first at which the sum reaches `wanted`
        return tokens + at - 1 - offsets[:-1], wanted - sums[at - 1]

    def sizes(self, sizes: U32, begins: Offsets, ends: Offsets) -> Offsets:
        if self._tokens is not None:
            return sizes_of(self._tokens, sizes, begins, ends)
        ret = np.empty(len(begins), np.int64)
        for at in range(0, len(begins), RANGES):
            part = slice(at, at + RANGES)
            ids, lengths = self.extract(begins[part], ends[part]), ends[part] - begins[part]
            sums = np.append(0, np.cumsum(sizes[ids], dtype=np.int64))
            bounds = np.append(0, np.cumsum(lengths))
            ret[part] = np.diff(sums[bounds])
        return ret

    def contexts(
        self, data: Bytes, offsets: Offsets, hits: Runs, before: int, after: int
    ) -> tuple[Bytes, Offsets]:
        if self._tokens is not None:
            return contexts(self._tokens, data, offsets, hits, before, after)
        sizes, tokens = np.diff(offsets).astype(np.uint32), np.ascontiguousarray(hits["token"])
        begins = self._window_before(tokens, hits["begin"], sizes, np.full(len(hits), 4 * before))
        ends = self._window(tokens, hits["end"], sizes, hits["skip"] + hits["n_bytes"] + 4 * after)
        near = hits.copy()
        starts = np.cumsum(np.append(0, ends - begins))[:-1]
        near["dropped"][begins > hits["begin"]] = 0
        near["begin"], near["token"], near["end"] = starts, starts + hits["token"] - begins, starts + ends - begins
        return contexts(self.extract(begins, ends), data, offsets, near, before, after)

    def _window(self, begins: Int64s, limits: Int64s, sizes: U32, wanted: Int64s) -> Int64s:
        """For each position in begins, the end of a range of tokens that starts there and has at least `wanted` bytes.
        If fewer bytes are left, the end is the limit."""
        return self._grown(wanted, limits - begins, sizes, lambda n: (begins, begins + n)) + begins

    def _window_before(self, ends: Int64s, limits: Int64s, sizes: U32, wanted: Int64s) -> Int64s:
        """Like _window, but for ranges that end at `ends`; returns their begins."""
        return ends - self._grown(wanted, ends - limits, sizes, lambda n: (ends - n, ends))

    def _grown(
        self, wanted: Int64s, most: Int64s, sizes: U32, ranges: Callable[[Int64s], tuple[Int64s, Int64s]]
    ) -> Int64s:
        """The sizes in tokens, at most `most`, of ranges of at least `wanted` bytes. Doubles the size of each range
        that is too small."""
        n = np.minimum(wanted // 4 + 8, most)
        while True:
            is_short = (self.sizes(sizes, *ranges(n)) < wanted) & (n < most)
            if not is_short.any():
                return n
            n = np.where(is_short, np.minimum(2 * n, most), n)
