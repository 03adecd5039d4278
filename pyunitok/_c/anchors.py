"""Bindings for the repeats of text in csrc/unitok_clean.h."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from pyunitok._c.grams import WordRules
from pyunitok._c.library import call, create, ffi, lib, pointer
from pyunitok.packed import Bytes, Offsets

GRAMS: int = lib.UNITOK_ANCHOR_GRAMS
WINDOWS: int = lib.UNITOK_ANCHOR_WINDOWS
DOCUMENTS: int = lib.UNITOK_ANCHOR_DOCUMENTS
MARKS_PER_BYTE: int = lib.UNITOK_MARKS_PER_BYTE
MAX_PAIRED: int = lib.UNITOK_ANCHORS_MAX_PAIRED
MAX_UNITS: int = lib.UNITOK_ANCHORS_MAX_UNITS
CUTS: dict[str, int] = {name: getattr(lib, f"UNITOK_CUT_{name.upper()}") for name in ("char", "word", "line")}

# The fields of unitok_anchor.
RECORD = np.dtype([(name, np.uint64) for name in ("key", "value", "place")])
Records = np.ndarray[Any, np.dtype[np.void]]
Int64s = np.ndarray[Any, np.dtype[np.int64]]


def _records(array: Records, *, writable: bool = False) -> Any:
    return ffi.from_buffer("unitok_anchor[]", array, require_writable=writable)


class Buffer(threading.local):
    """One reusable array per thread: the system clears fresh pages, which takes longer than the work itself."""

    def __init__(self, dtype: Any = RECORD) -> None:
        self._array: np.ndarray[Any, Any] = np.empty(0, dtype)

    def take(self, n: int) -> np.ndarray[Any, Any]:
        """An array of n items, valid until the next call in this thread."""
        if len(self._array) < n:
            self._array = np.empty(n + n // 4, self._array.dtype)
        return self._array[:n]


_SCRATCH, _PAIRS, _MARKS, _FOUND = Buffer(), Buffer(), Buffer(np.int64), Buffer()


def divided(records: Records, shift: int, n_buckets: int, ret: Records) -> Int64s:
    """Copy records to `ret`, ordered by the bucket key >> shift. Returns int64[n_buckets + 1]: where each bucket
    begins. Records in a bucket keep their order."""
    starts = np.empty(n_buckets + 1, np.int64)
    lib.unitok_anchors_divide(
        _records(records), len(records), shift, n_buckets, pointer(starts, writable=True), _records(ret, writable=True)
    )
    return starts


def sort(records: Records) -> None:
    """Sort records by key, in place. Records with equal keys keep their order."""
    scratch = _SCRATCH.take(len(records))
    call(lib.unitok_anchors_sort, _records(records, writable=True), len(records), _records(scratch, writable=True))


class Anchors:
    """Finds equal windows of text: see csrc/unitok_clean.h. Immutable; threads may share it.

    n_units  the number of units in a window
    seed     the seed of the hashes
    rules    divide text into words, which are the units; None: units are bytes
    """

    def __init__(self, n_units: int, seed: int, rules: WordRules | None = None) -> None:
        self._rules = rules  # keeps the rules alive
        self.has_words = rules is not None
        self.arguments = n_units, seed, self.has_words
        self.handle: Any = create("anchors", ffi.NULL if rules is None else rules.handle, n_units, seed)

    def find(
        self, kind: int, data: Bytes, offsets: Offsets, at: int, marks: Int64s | None = None
    ) -> Records:
        """RECORD[]: the records of one kind in documents data[offsets[k]:offsets[k + 1]], the first of which is at
        position `at`. marks: the anchors of the windows to find."""
        if int(offsets[-1]) > len(data):
            raise ValueError("the offsets reach past the data")
        marks = np.empty(0, np.int64) if marks is None else marks
        capacity, n = max(1024, int(offsets[-1] - offsets[0]) // 16), ffi.new("int64_t *")
        while True:
            ret = _FOUND.take(capacity)
            call(
                lib.unitok_anchors_find, self.handle, kind, pointer(data), pointer(offsets), len(offsets) - 1, at,
                pointer(marks), len(marks), _records(ret, writable=True), capacity, n,
            )  # fmt: skip
            if n[0] <= capacity:
                copied: Records = ret[: n[0]].copy()
                return copied
            capacity = int(n[0])

    def group(
        self, kind: int, records: Records, first: int, *, all_copies: bool, mark_all: bool
    ) -> tuple[Records, Int64s, Records]:
        """Group records with equal keys. Returns (pairs of places with equal text, marks, remaining records). Changes
        `records`."""
        n_records = len(records)
        scratch, marks = _SCRATCH.take(n_records), _MARKS.take(n_records)
        pairs = _PAIRS.take(MAX_PAIRED * n_records)
        n = ffi.new("unitok_anchor_groups *")
        call(
            lib.unitok_anchors_group, self.handle, kind, all_copies, mark_all, first,
            _records(records, writable=True), n_records, _records(scratch, writable=True),
            _records(pairs, writable=True), pointer(marks, writable=True), n,
        )  # fmt: skip
        return pairs[: n.n_pairs].copy(), marks[: n.n_marks].copy(), records[: n.n_kept]

    def verify(self, kind: int, text: Bytes, ends: Int64s, pairs: Records) -> Int64s:
        """int64[n, 2]: the ranges of the sorted `pairs` whose text is equal. See unitok_anchors_verify."""
        if len(ends) and int(ends[-1]) > len(text):
            raise ValueError("the documents reach past the text")
        ret, n = np.empty(2 * len(pairs), np.int64), ffi.new("int64_t *")
        lib.unitok_anchors_verify(
            self.handle, kind, pointer(text), pointer(ends), len(ends), _records(pairs), len(pairs),
            pointer(ret, writable=True), n,
        )  # fmt: skip
        return ret[: 2 * n[0]].reshape(-1, 2)


def cut(
    rules: WordRules, how: str, text: Bytes, ends: Int64s, ranges: Int64s, max_share: float, min_left: int
) -> Int64s:
    """int64[n, 2]: the ranges to remove from the documents that contain the repeats `ranges`: see unitok_ranges_cut."""
    if len(ends) and int(ends[-1]) > len(text):
        raise ValueError("the documents reach past the text")
    flat, capacity, n = np.ascontiguousarray(ranges, np.int64).reshape(-1), len(ranges) + 1024, ffi.new("int64_t *")
    while True:
        ret = np.empty(2 * capacity, np.int64)
        lib.unitok_ranges_cut(
            rules.handle, CUTS[how], pointer(text), pointer(ends), len(ends), pointer(flat), len(ranges), max_share,
            min_left, pointer(ret, writable=True), capacity, n,
        )  # fmt: skip
        if n[0] <= capacity:
            return ret[: 2 * n[0]].reshape(-1, 2)
        capacity = int(n[0])


def removed(text: Bytes, begin: int, end: int, ranges: Int64s) -> Bytes:
    """text[begin:end] without `ranges`, which are ascending positions in `text`."""
    if not 0 <= begin <= end <= len(text):
        raise ValueError("the text is too short")
    ret, flat = np.empty(end - begin, np.uint8), np.ascontiguousarray(ranges, np.int64).reshape(-1)
    n = lib.unitok_ranges_remove(pointer(text), begin, end, pointer(flat), len(ranges), pointer(ret, writable=True))
    return ret[:n]
