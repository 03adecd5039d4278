"""Bindings for the section "Search" of csrc/unitok_search.h."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pyunitok._c.library import buffer_of, call, copied, create, ffi, lib, pointer
from pyunitok.packed import Bytes, Offsets

Tokens = np.ndarray[Any, np.dtype[Any]]  # uint16 or uint32
U32 = np.ndarray[Any, np.dtype[np.uint32]]
U64 = np.ndarray[Any, np.dtype[np.uint64]]

RUN = np.dtype([("lo", "<i8"), ("hi", "<i8"), ("back", "<i4"), ("skip", "<i4")])
HIT = np.dtype([(name, "<i8") for name in ("token", "skip", "n_bytes", "begin", "end", "dropped")])
Runs = np.ndarray[Any, np.dtype[np.void]]  # of dtype RUN; see unitok_search_run
ID_COUNTS: dict[int, int] = {2: lib.UNITOK_SEARCH_IDS_16, 4: lib.UNITOK_SEARCH_IDS_32}  # {bytes per id: number of ids}
TOP_TOKENS = 8


def _borrow(kind: str, array: np.ndarray[Any, Any]) -> Any:
    """A C array over a contiguous vector, which may be empty or a read-only memory map."""
    if not array.flags.c_contiguous:
        raise ValueError("expected a contiguous array")
    return ffi.from_buffer(kind, array)


def following(function: Callable[..., Any], dtype: Any) -> tuple[Any, Offsets]:
    """The symbols and counts that `function` writes. Its last arguments are two arrays and their capacity; it returns
    the number of symbols. If the capacity is too small, it is called again."""
    capacity = 1024
    while True:
        symbols, counts = np.empty(capacity, dtype), np.empty(capacity, np.int64)
        n = int(function(pointer(symbols), pointer(counts), capacity))
        if n <= capacity:
            return symbols[:n], counts[:n]
        capacity = n


class TextCounter:
    """Counts and finds texts in a shard of either kind: a suffix array or a compact index."""

    handle: Any
    _count: Any  # the functions of the library
    _find: Any

    def count_text(self, pieces: SearchPieces, data: Bytes, offsets: Offsets, max_work: int) -> tuple[Offsets, Bytes]:
        """int64[n] counts of the texts data[offsets[k]:offsets[k + 1]], and uint8[n]: 1 if the count is a lower
        bound."""
        n = len(offsets) - 1
        if int(offsets[-1]) > len(data):
            raise ValueError("the offsets extend past the end of the texts")
        counts, approx, texts = np.empty(n, np.int64), np.empty(n, np.uint8), (pointer(data), pointer(offsets), n)
        found = pointer(counts), pointer(approx)
        call(self._count, pieces.handle, self.handle, *texts, max_work, *found)
        return counts, approx

    def count_one(self, pieces: SearchPieces, text: bytes, max_work: int) -> tuple[int, bool]:
        """Like count_text, but for one text."""
        bounds, approx = ffi.new("int64_t[3]", [0, len(text), 0]), ffi.new("uint8_t *")
        data = buffer_of(text)
        call(self._count, pieces.handle, self.handle, data, bounds, 1, max_work, bounds + 2, approx)
        return bounds[2], bool(approx[0])

    def find_text(self, pieces: SearchPieces, text: bytes, max_hits: int, max_work: int) -> tuple[Runs, bool]:
        """The runs of a text's occurrences, an array of RUN, and whether max_work cut the search short."""
        ret, n, approx = ffi.new("unitok_search_run **"), ffi.new("int64_t *"), ffi.new("uint8_t *")
        limits, data = (max_hits, max_work), buffer_of(text)
        call(self._find, pieces.handle, self.handle, data, len(text), *limits, ret, n, approx)
        try:
            return copied(ret[0], n[0], RUN), bool(approx[0])
        finally:
            lib.unitok_search_runs_free(ret[0])


class SearchShard(TextCounter):
    """A unitok_search_shard. Keeps the arrays alive. Raises ValueError if their sizes or dtypes are wrong."""

    _count, _find = lib.unitok_search_count, lib.unitok_search_find

    def __init__(
        self, *, ids: Tokens, sa: U32, first: U64, top: np.ndarray[Any, Any], left: Tokens | None, rank: U32, ends: U64,
        begin: int, eod: int | None,
    ) -> None:  # fmt: skip
        n, size = len(ids), ids.itemsize
        n_ids = ID_COUNTS.get(size)
        wrong = n_ids is None or len(sa) != n or len(first) != n_ids + 1 or len(rank) != n_ids
        if wrong or (left is not None and len(left) != n) or top.dtype.itemsize != 4 + TOP_TOKENS * size:
            raise ValueError("an array of a shard has the wrong size")
        dtypes = [(ids, f"<u{size}"), (sa, "<u4"), (first, "<u8"), (rank, "<u4"), (ends, "<u8")]
        for array, dtype in dtypes if left is None else [*dtypes, (left, f"<u{size}")]:
            if array.dtype != np.dtype(dtype):
                raise ValueError(f"an array of a shard has dtype {array.dtype}, not {dtype}")
        self.n, self._ids = n, ids
        self.handle: Any = ffi.new("unitok_search_shard *")
        handle = self.handle
        self._keep: list[Any] = []

        def borrowed(kind: str, array: np.ndarray[Any, Any]) -> Any:
            self._keep.append(_borrow(kind, array))
            return self._keep[-1]

        handle.n, handle.n_top, handle.n_documents, handle.begin = n, len(top), len(ends), begin
        handle.ids, handle.id_bytes, handle.sa = borrowed("uint8_t[]", ids), size, borrowed("uint32_t[]", sa)
        handle.first, handle.top = borrowed("uint64_t[]", first), borrowed("uint8_t[]", top)
        handle.left = ffi.NULL if left is None else borrowed("uint8_t[]", left)
        handle.rank, handle.ends = borrowed("uint32_t[]", rank), borrowed("uint64_t[]", ends)
        handle.eod = -1 if eod is None else eod
        call(lib.unitok_search_check, handle)

    def attach_inside(self, pieces: SearchPieces) -> None:
        """Compute and attach the sums that speed up counting texts of one or two bytes."""
        sums = np.empty(lib.unitok_search_inside(pieces.handle, self.handle, ffi.NULL) + 1, np.uint64)
        buffer = ffi.from_buffer("uint64_t[]", sums)
        lib.unitok_search_inside(pieces.handle, self.handle, buffer)
        self._keep.append(buffer)
        self.handle.inside = buffer

    def tokens(self, ids: Tokens, begins: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
        """The intervals lo[k]:hi[k] in the suffix array of the sequences ids[begins[k]:ends[k]]."""
        n = len(begins)
        if n and (int(begins.min()) < 0 or bool((ends < begins).any()) or int(ends.max()) > len(ids) or len(ends) != n):
            raise ValueError("a query extends past the end of the ids")
        lo, hi = np.empty(n, np.int64), np.empty(n, np.int64)
        lib.unitok_search_tokens(
            self.handle, pointer(ids.astype(np.uint32)), pointer(begins), pointer(ends), n, pointer(lo), pointer(hi)
        )
        return lo, hi

    def tokens_of(self, ids: Tokens) -> tuple[int, int]:
        """The interval (lo, hi) of one sequence."""
        bounds = ffi.new("int64_t[4]", [0, len(ids), 0, 0])
        data = ffi.from_buffer("uint32_t[]", ids.astype(np.uint32))
        lib.unitok_search_tokens(self.handle, data, bounds, bounds + 1, 1, bounds + 2, bounds + 3)
        return bounds[2], bounds[3]

    def next(self, lo: int, hi: int, depth: int) -> tuple[U32, Offsets]:
        """uint32[k] and int64[k]: the tokens that follow the first `depth` tokens of suffixes sa[lo:hi], and their
        counts."""
        return following(partial(lib.unitok_search_next, self.handle, lo, hi, depth), np.uint32)

    def previous(self, lo: int, hi: int, counts: Offsets) -> None:
        """Add to counts[id], for each id, how often it precedes the suffixes sa[lo:hi]."""
        assert len(counts) == ID_COUNTS[self._ids.itemsize]
        lib.unitok_search_previous(self.handle, lo, hi, pointer(counts, writable=True))

    def ngrams(
        self, n_tokens: int, min_count: int, rank: int, n_suffixes: int, capacity: int
    ) -> tuple[int, U32, Offsets]:
        """Returns (where to resume, positions, counts); see unitok_search_ngrams."""
        at, positions, counts = ffi.new("int64_t *", rank), np.empty(capacity, np.uint32), np.empty(capacity, np.int64)
        n = lib.unitok_search_ngrams(
            self.handle, n_tokens, min_count, n_suffixes, at, pointer(positions), pointer(counts), capacity
        )
        return int(at[0]), positions[:n], counts[:n]

    def ends_of(self, pieces: SearchPieces, tokens: Offsets, skips: Offsets, n_bytes: int) -> tuple[Offsets, Offsets]:
        """The last token of each hit, and the number of its bytes that belong to the hit, as int64[n] each; see
        unitok_search_ends."""
        last, used = np.empty(len(tokens), np.int64), np.empty(len(tokens), np.int64)
        lib.unitok_search_ends(
            pieces.handle, self.handle, pointer(tokens), pointer(skips), len(tokens), n_bytes, pointer(last),
            pointer(used),
        )  # fmt: skip
        return last, used

    def sizes(self, sizes: U32, begins: Offsets, ends: Offsets) -> Offsets:
        """Like sizes_of, for positions in the shard."""
        return sizes_of(self._ids, sizes, begins, ends)

    def contexts(
        self, data: Bytes, offsets: Offsets, hits: Runs, before: int, after: int
    ) -> tuple[Bytes, Offsets]:
        """Like contexts(), for hits in the shard."""
        return contexts(self._ids, data, offsets, hits, before, after)


class SearchPieces:
    """The sorted bytes of all ids; see unitok_search_pieces_new. Immutable, shared by threads."""

    def __init__(self, data: Bytes, offsets: Offsets, drops_space: Bytes, rank: U32, order: U32) -> None:
        n = len(offsets) - 1
        if len(drops_space) != n or len(order) != int(offsets[-1]) - int(offsets[0]) + n:
            raise ValueError("a table of the pieces has the wrong size")
        texts = (pointer(data), pointer(offsets), pointer(drops_space), n, len(rank))
        self.lengths: U32 = np.zeros(len(rank), np.uint32)
        self.lengths[:n] = np.diff(offsets)
        self.handle: Any = create("search_pieces", *texts, pointer(rank), pointer(order))


def sizes_of(ids: Tokens, sizes: U32, begins: Offsets, ends: Offsets) -> Offsets:
    """int64[n]: the sum of sizes[id] over ids[begins[k]:ends[k]]; sizes has an entry for each id."""
    n = len(begins)
    if len(sizes) != ID_COUNTS[ids.itemsize] or (n and (int(begins.min()) < 0 or int(ends.max()) > len(ids))):
        raise ValueError("a range extends past the end of the ids")
    ret = np.empty(n, np.int64)
    tokens, ranges = (_borrow("uint8_t[]", ids), ids.itemsize), (pointer(begins), pointer(ends), n)
    lib.unitok_search_sizes(*tokens, pointer(sizes), *ranges, pointer(ret))
    return ret


def contexts(
    ids: Tokens, data: Bytes, offsets: Offsets, hits: Runs, before: int, after: int
) -> tuple[Bytes, Offsets]:
    """A text, and int64[3n + 1] offsets in this text: for each hit, where the context before it, the hit itself and the
    context after it begin. `hits` is an array of HIT; see unitok_search_contexts."""
    n, bounds = len(hits), np.empty(3 * len(hits) + 1, np.int64)
    is_inside = (hits["begin"] >= 0) & (hits["begin"] <= hits["token"]) & (hits["token"] <= hits["end"])
    is_inside &= (hits["end"] <= len(ids)) & (hits["n_bytes"] >= 0)
    if len(offsets) != ID_COUNTS[ids.itemsize] + 1 or not bool(is_inside.all()):
        raise ValueError("a hit extends past the end of the ids")
    out = np.empty(int(hits["n_bytes"].sum()) + 4 * n * (before + after) + 1, np.uint8)
    buffer = ffi.from_buffer("unitok_search_hit[]", np.ascontiguousarray(hits))
    lib.unitok_search_contexts(
        _borrow("uint8_t[]", ids), ids.itemsize, pointer(data), pointer(offsets), buffer, n, before, after,
        pointer(out, writable=True), pointer(bounds, writable=True),
    )  # fmt: skip
    return out[: int(bounds[-1])], bounds
