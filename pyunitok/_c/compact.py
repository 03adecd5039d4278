"""Bindings for the section "Compact index" of csrc/unitok_search.h."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.library import buffer_of, call, create, ffi, lib, pointer
from pyunitok._c.search import TextCounter
from pyunitok.packed import Bytes, Offsets

U16 = np.ndarray[Any, np.dtype[np.uint16]]
U32 = np.ndarray[Any, np.dtype[np.uint32]]
U64 = np.ndarray[Any, np.dtype[np.uint64]]
Int64s = np.ndarray[Any, np.dtype[np.int64]]

SECTIONS: int = lib.UNITOK_COMPACT_SECTIONS
MAX_SYMBOLS: int = lib.UNITOK_COMPACT_SYMBOLS
CAPACITY = 1 << 20  # bytes that a step can write
STEP = 4 << 20  # suffixes between checks for Ctrl-C


class CompactPart(NamedTuple):
    """The next bytes of a file.

    data      uint8; valid until the next part is requested
    section   -1 for the prefix, SECTIONS for the footer, which is one part
    progress  the completed share, 0 to 1
    """

    data: Bytes
    section: int
    progress: float


def build_parts(
    text: np.ndarray[Any, Any], sa: U32, n_symbols: int, *, block: int = 128, locate_every: int = 32,
    extract_every: int = 64, budget: int = STEP,
) -> Iterator[CompactPart]:  # fmt: skip
    """Yields a compact index of `text` (uint8, uint16 or uint32), whose suffix array is `sa`. Overwrites both arrays.
    The checksums in the footer are 0."""
    if len(sa) != len(text) or sa.dtype != np.uint32 or text.dtype not in (np.uint8, np.uint16, np.uint32):
        raise ValueError(f"cannot index {text.dtype}[{len(text)}] with {sa.dtype}[{len(sa)}]")
    keep = (pointer(text, writable=True), pointer(sa, writable=True))
    shape, options = (keep[0], len(text), text.itemsize, n_symbols), (block, locate_every, extract_every)
    builder = create("compact_builder", *shape, keep[1], *options)
    out = np.empty(CAPACITY, np.uint8)
    n_bytes, section, progress = ffi.new("int64_t *"), ffi.new("int32_t *"), ffi.new("double *")
    while progress[0] < 1:
        given = (pointer(out, writable=True), CAPACITY)
        call(lib.unitok_compact_builder_step, builder, budget, *given, n_bytes, section, progress)
        yield CompactPart(out[: n_bytes[0]], int(section[0]), float(progress[0]))


class Compact:
    """An open compact index. Symbols are ranks; rows are those of a suffix array. Immutable, shared by threads.

    image          uint8: the bytes of the file, for example a memory map
    first          uint32[n_symbols + 1]: first[c] suffixes begin with a symbol below c
    first_row      the row of the suffix at position 0
    symbol_bytes   1, 2 or 4: the width of the tokens that were indexed
    """

    def __init__(self, image: Bytes) -> None:
        self._image = buffer_of(image)
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
        """uint32[k] symbols and int64[k] counts: those after the first `depth` symbols of rows lo:hi, which must
        agree in these."""
        capacity = 1024
        while True:
            symbols, counts = np.empty(capacity, np.uint32), np.empty(capacity, np.int64)
            n = lib.unitok_compact_next(self.handle, lo, hi, depth, pointer(symbols), pointer(counts), capacity)
            if n <= capacity:
                return symbols[:n], counts[:n]
            capacity = int(n)

    def previous(self, lo: int, hi: int) -> Int64s:
        """int64[n_symbols]: how often each symbol precedes rows lo:hi."""
        counts = np.zeros(self.n_symbols, np.int64)
        lib.unitok_compact_previous(self.handle, lo, hi, pointer(counts))
        return counts

    def locate(self, rows: Int64s) -> Int64s:
        """The positions of rows; -1 for those out of range. ValueError without samples to locate."""
        positions = np.empty(len(rows), np.int64)
        call(lib.unitok_compact_locate, self.handle, pointer(rows), len(rows), pointer(positions))
        return positions

    def extract(self, begins: Int64s, ends: Int64s) -> U32:
        """The symbols at positions begins[k]:ends[k], concatenated. ValueError without samples to extract."""
        if len(ends) != len(begins) or bool((ends < begins).any()):
            raise ValueError("a range ends before it begins")
        symbols = np.empty(int((ends - begins).sum()), np.uint32)
        call(lib.unitok_compact_extract, self.handle, pointer(begins), pointer(ends), len(begins), pointer(symbols))
        return symbols


class CompactText(TextCounter):
    """A unitok_compact_shard: searches for text in a compact index whose symbols are ranks. Keeps the arrays alive.

    rank   uint16[65536]: the symbol of each id, a permutation
    ends   uint64: the end of each document, plus `begin`
    """

    _count, _find = lib.unitok_compact_count, lib.unitok_compact_find

    def __init__(self, compact: Compact, *, rank: U16, ends: U64, begin: int, eod: int | None) -> None:
        if rank.dtype != np.uint16 or len(rank) != 65536 or ends.dtype != np.uint64:
            raise ValueError("an array of a shard has the wrong size or dtype")
        ids = np.empty(65536, np.uint16)
        ids[rank] = np.arange(65536, dtype=np.uint16)
        self.compact = compact
        self._keep = (ffi.from_buffer("uint16_t[]", rank), ffi.from_buffer("uint16_t[]", ids))
        self._ends = ffi.from_buffer("uint64_t[]", ends)
        self.handle: Any = ffi.new("unitok_compact_shard *")
        handle = self.handle
        handle.compact, (handle.rank, handle.ids), handle.ends = compact.handle, self._keep, self._ends
        handle.n_documents, handle.begin, handle.eod = len(ends), begin, -1 if eod is None else eod
        call(lib.unitok_compact_check, handle)
