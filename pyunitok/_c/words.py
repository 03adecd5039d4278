"""Bindings for the section "Words" of csrc/unitok_search.h."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pyunitok._c.library import ffi, lib, pointer
from pyunitok.packed import Offsets

Words = np.ndarray[Any, np.dtype[np.uint32]]

MAX_PLACES: int = lib.UNITOK_WORDS_MAX_PLACES
MAX_SPAN: int = lib.UNITOK_WORDS_MAX_SPAN
STEP = 1 << 24  # words per call
CAPACITY = 1 << 18


def count_words(words: Words, begins: Offsets, ends: Offsets, counts: Offsets) -> bool:
    """Add to counts[w] how often each word w occurs in words[begins[k]:ends[k]]. Returns False if a word is not less
    than len(counts)."""
    if len(begins) != len(ends) or (len(begins) and (int(begins.min()) < 0 or int(ends.max()) > len(words))):
        raise ValueError("a range extends past the end of the words")
    borrowed = ffi.from_buffer("uint32_t[]", words)
    ranges = (pointer(np.ascontiguousarray(begins)), pointer(np.ascontiguousarray(ends)), len(begins))
    return bool(lib.unitok_words_count(borrowed, *ranges, len(counts), pointer(counts, writable=True)))


def narrowed(
    words: Words, sa: Words, lo: Offsets, hi: Offsets, depth: int, first: Offsets, last: Offsets
) -> tuple[Offsets, Offsets] | None:
    """The suffixes among lo[k]:hi[k], which have `depth` words in common, that continue with a word from first[k] to
    last[k]. None if a suffix begins past the end of the words."""
    n = len(lo)
    if not n == len(hi) == len(first) == len(last) or len(sa) != len(words):
        raise ValueError("the arrays have different sizes")
    if n and (int(lo.min()) < 0 or int(hi.max()) > len(sa)):
        raise ValueError("an interval extends past the end of the suffix array")
    lo, hi = np.array(lo, np.int64), np.array(hi, np.int64)
    arrays = (ffi.from_buffer("uint32_t[]", words), ffi.from_buffer("uint32_t[]", sa), len(words), depth)
    ranges = (pointer(np.ascontiguousarray(first)), pointer(np.ascontiguousarray(last)), n)
    done = lib.unitok_words_narrow(*arrays, *ranges, pointer(lo, writable=True), pointer(hi, writable=True))
    return (lo, hi) if done else None


def find_gapped(
    words: Words, places: Sequence[Offsets], gaps: Sequence[tuple[int, int]], n_words: int
) -> Iterator[tuple[Offsets, Offsets] | None]:
    """Yields (begins, ends) of matches, ascending, or None if a word is not less than n_words.

    places  the words that each place accepts; they are not 0
    gaps    how many other words are between two places
    """
    span = len(places) + sum(most for _, most in gaps)
    if not 0 < len(places) <= MAX_PLACES or span > MAX_SPAN or len(gaps) != len(places) - 1:
        raise ValueError("the query has too many words or the wrong number of gaps")
    accepted = np.zeros(n_words, np.uint64)
    for k, ids in enumerate(places):
        accepted[ids] |= np.uint64(1 << k)
    accepted[0] = 0
    least, most = (np.array([gap[k] for gap in gaps], np.int32) for k in range(2))
    query = ffi.new("unitok_words_query *")
    first = np.packbits((accepted & np.uint64(1)).astype(np.bool_), bitorder="little")
    query.first = pointer(first)
    query.places, query.n_words, query.n_places, query.span = pointer(accepted), n_words, len(places), span
    query.least, query.most = pointer(least), pointer(most)
    borrowed, at = ffi.from_buffer("uint32_t[]", words), ffi.new("int64_t *")
    while at[0] < len(words):
        begins, ends = np.empty(CAPACITY, np.int64), np.empty(CAPACITY, np.int64)
        out = (pointer(begins, writable=True), pointer(ends, writable=True), CAPACITY)
        n = lib.unitok_words_find(borrowed, len(words), query, min(len(words), at[0] + STEP), at, *out)
        yield None if n < 0 else (begins[:n], ends[:n])
        if n < 0:
            return
