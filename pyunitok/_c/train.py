"""Bindings for the section "Counting units" of csrc/unitok_train.h."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from pyunitok._c.library import call, create, ffi, lib, optional, pointer
from pyunitok._c.sharing import share_out
from pyunitok._c.text import Normalizer, Pattern
from pyunitok.packed import Bytes, Offsets, Packed

Counts = np.ndarray[Any, np.dtype[np.uint64]]
CODE_POINTS = 0x110000
CHUNK_UNITS = 1 << 16

RULE_FLAGS: dict[str, int] = {
    name: getattr(lib, f"UNITOK_RULE_{name.upper()}")
    for name in (
        "split_by_whitespace", "whitespace_as_suffix", "whitespace_only", "split_by_script", "split_by_number",
        "split_digits", "byte_level",
    )
}  # fmt: skip
CUT: int = lib.UNITOK_SEGMENT_CUT
FOLLOWERS: int = lib.UNITOK_SEGMENT_FOLLOWERS
TSV: int = lib.UNITOK_SEGMENT_TSV
WHOLE: int = lib.UNITOK_SEGMENT_WHOLE


@dataclass(frozen=True, eq=False)
class Units:
    """Byte strings and their counts: unit i is data[offsets[i]:offsets[i + 1]] and occurs counts[i] times."""

    data: Bytes
    offsets: Offsets
    counts: Counts

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def pack(cls, items: Sequence[bytes], counts: Sequence[int] | Counts) -> Units:
        packed = Packed.from_documents(items)
        return cls(packed.data, packed.offsets, np.asarray(counts, np.uint64))

    @classmethod
    def joined(cls, parts: Sequence[Units]) -> Units:
        """The units of all parts, concatenated."""
        offsets = np.zeros(sum(map(len, parts)) + 1, np.int64)
        np.cumsum(np.concatenate([np.diff(part.offsets) for part in parts] or [offsets[:0]]), out=offsets[1:])
        data = np.concatenate([part.data for part in parts] or [np.zeros(0, np.uint8)])
        return cls(data, offsets, np.concatenate([part.counts for part in parts] or [np.zeros(0, np.uint64)]))

    def part(self, begin: int = 0, end: int | None = None) -> Any:
        """Units begin..end-1 as a unitok_units that borrows the arrays."""
        end = len(self) if end is None else end
        offsets, counts = pointer(self.offsets) + begin, pointer(self.counts) + begin
        return ffi.new("unitok_units *", (pointer(self.data), offsets, counts, end - begin))

    def items(self) -> list[bytes]:
        """The units as a list of bytes."""
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        return [data[begin:end] for begin, end in pairwise(bounds)]

    def take(self, order: Offsets) -> Units:
        """The units whose numbers are in `order`, in that order."""
        offsets = np.concatenate(([0], np.cumsum(np.diff(self.offsets)[order])))
        starts, data = self.offsets[:-1][order], np.empty(int(offsets[-1]), np.uint8)
        lib.unitok_gather(pointer(self.data), pointer(starts), pointer(offsets), len(order), pointer(data))
        return Units(data, offsets, self.counts[order])


class Rules:
    """The rules that decide which strings may be pieces. flags: names from RULE_FLAGS."""

    def __init__(self, flags: set[str], max_chars: int) -> None:
        self.handle: Any = create("rules", sum(RULE_FLAGS[name] for name in flags), max_chars)


def allowed(rules: Rules, piece: bytes) -> bool:
    """Whether these bytes may be a piece."""
    return bool(lib.unitok_rules_allow(rules.handle, piece, len(piece)))


class Counter:
    """Counts byte strings. ordered: keep a list, without merging equal ones. Not thread-safe except for absorb()."""

    def __init__(self, *, ordered: bool = False) -> None:
        self.handle: Any = create("counter", ordered)

    def __len__(self) -> int:
        return int(lib.unitok_counter_count(self.handle))

    @property
    def memory_bytes(self) -> int:
        return int(lib.unitok_counter_memory_bytes(self.handle))

    def add(self, units: Units) -> None:
        call(lib.unitok_counter_add, self.handle, units.part())

    def sort(self) -> None:
        """Sort the keys by their bytes."""
        call(lib.unitok_counter_sort, self.handle)

    def absorb(self, other: Counter, begin: int, end: int) -> None:
        """Move to this counter the counts of the keys begin..end-1 of `other`, for keys that both counters contain.
        Several threads may call this for different keys. Not allowed after sort()."""
        call(lib.unitok_counter_absorb, self.handle, other.handle, begin, end)

    def drop_absorbed(self) -> None:
        """Drop the keys whose counts have been moved to another counter."""
        lib.unitok_counter_drop_absorbed(self.handle)

    def clear(self) -> None:
        lib.unitok_counter_clear(self.handle)

    def export(self) -> Units:
        """A copy of all units, in byte order after sort(), otherwise in the order of their first occurrence."""
        return export([self], 1)

    def chunks(self) -> Iterator[Units]:
        """The units of export(), in chunks."""
        for begin in range(0, len(self), CHUNK_UNITS):
            yield _export([(self, begin, min(begin + CHUNK_UNITS, len(self)))], 1)


def export(counters: list[Counter], threads: int) -> Units:
    """The units of all counters, concatenated."""
    return _export([(c, *bounds) for c in counters for bounds in shares(len(c), threads)], threads)


def _export(parts: list[tuple[Counter, int, int]], threads: int) -> Units:
    """Export keys begin..end-1 of each counter."""
    sizes = [int(lib.unitok_counter_part_bytes(counter.handle, begin, end)) for counter, begin, end in parts]
    starts, firsts = _sums(sizes), _sums([end - begin for _, begin, end in parts])
    data, counts = np.empty(starts[-1], np.uint8), np.empty(firsts[-1], np.uint64)
    offsets = np.empty(firsts[-1] + 1, np.int64)

    def work(_: int, k: int) -> None:
        counter, begin, end = parts[k]
        own = np.empty(end - begin + 1, np.int64)
        lib.unitok_counter_export(
            counter.handle, begin, end, pointer(data[starts[k] :]), pointer(own), pointer(counts[firsts[k] :])
        )
        np.add(own[:-1], starts[k], out=offsets[firsts[k] : firsts[k + 1]])

    share_out(range(len(parts)), threads, work)
    offsets[-1] = starts[-1]
    return Units(data, offsets, counts)


def _sums(sizes: list[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))


def shares(n: int, parts: int) -> list[tuple[int, int]]:
    """Divide 0..n-1 into parts of about equal size. Returns the (begin, end) of each."""
    return [(n * k // parts, n * (k + 1) // parts) for k in range(parts)]


@dataclass
class SegmentStats:
    """The statistics of a Segmenter, with the fields of unitok_segment_stats."""

    n_bytes: int = 0
    n_lines: int = 0
    n_empty: int = 0
    n_too_long: int = 0
    n_too_long_bytes: int = 0
    n_reserved: int = 0

    def __iadd__(self, other: SegmentStats) -> SegmentStats:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self


class Segmenter:
    """Cuts lines into units and counts them in `counter`. Not thread-safe.

    symbols     strings that, like the delimiter, are boundaries of units
    normalizer  None if the lines are already normalized
    """

    def __init__(
        self, normalizer: Normalizer | None, rules: Rules, counter: Counter, *, flags: int, max_line_bytes: int,
        symbols: Sequence[bytes] = (), delimiter: bytes = b"",
    ) -> None:  # fmt: skip
        spec = ffi.new("unitok_segment_spec *")
        packed = Units.pack(sorted(set(symbols)), np.zeros(len(set(symbols)), np.uint64))
        bytes_of_delimiter = ffi.from_buffer("uint8_t[]", delimiter)
        spec.normalizer = ffi.NULL if normalizer is None else normalizer.handle
        spec.rules, spec.counter, spec.flags, spec.max_line_bytes = rules.handle, counter.handle, flags, max_line_bytes
        spec.symbols, spec.symbol_offsets = pointer(packed.data), pointer(packed.offsets)
        spec.n_symbols = len(packed)
        spec.delimiter, spec.n_delimiter_bytes = bytes_of_delimiter, len(delimiter)
        self.handle: Any = create("segmenter", spec)
        self._counter = counter
        self._keep: object = (normalizer, rules)

    @property
    def counter(self) -> Counter:
        """The counter, which contains everything counted so far."""
        call(lib.unitok_segmenter_flush, self.handle)
        return self._counter

    def add(self, data: Bytes, offsets: Offsets) -> None:
        """Count the lines of packed documents. Raises ModelFormatError if a byte is invalid: byte .position of document
        .item.
        """
        if len(offsets) and int(offsets[-1]) > len(data):
            raise ValueError("the offsets reach past the data")
        call(lib.unitok_segmenter_add, self.handle, pointer(data), pointer(offsets), len(offsets) - 1)

    def finish(self) -> None:
        """Call this after the last line. Required only with FOLLOWERS."""
        call(lib.unitok_segmenter_finish, self.handle)

    def stats(self) -> SegmentStats:
        stats = self._stats()
        return SegmentStats(**{name: int(getattr(stats, name)) for name in SegmentStats.__dataclass_fields__})

    @property
    def memory_bytes(self) -> int:
        """The memory used by the segmenter and its counter."""
        return int(self._stats().memory_bytes) + self._counter.memory_bytes

    def _stats(self) -> Any:
        stats = ffi.new("unitok_segment_stats *")
        lib.unitok_segmenter_get_stats(self.handle, stats)
        return stats


class Splitter(Segmenter):
    """Counts the pieces of a pattern. Each document is one text, of any bytes."""

    def __init__(self, pattern: Pattern, counter: Counter) -> None:
        spec = ffi.new("unitok_segment_spec *")
        spec.pattern, spec.counter = pattern.handle, counter.handle
        self.handle = create("segmenter", spec)
        self._counter = counter
        self._keep = pattern


def count_chars(units: Units, threads: int = 1) -> Counts:
    """How often each character occurs in the units: uint64[0x110000]."""
    totals: list[Counts] = []

    def work(_: int, bounds: tuple[int, int]) -> None:
        by_char = np.zeros(CODE_POINTS, np.uint64)
        call(lib.unitok_units_count_chars, units.part(*bounds), pointer(by_char))
        totals.append(by_char)

    share_out(shares(len(units), threads), threads, work)
    return reduce(np.add, totals)


FOLD_WHOLE: int = lib.UNITOK_FOLD_WHOLE
FOLD_CUT: int = lib.UNITOK_FOLD_CUT
FOLD_STRIP: int = lib.UNITOK_FOLD_STRIP


def fold(units: Units, keep: Bytes | None, how: int, counter: Counter) -> None:
    """Replace each character c that has keep[c] == 0 with U+2585, and count the resulting units in `counter`. See
    unitok_units_fold."""
    call(lib.unitok_units_fold, units.part(), optional(keep), how, counter.handle)


def fold_sorted(units: Units, keep: Bytes | None) -> Units:
    """Like fold(units, keep, FOLD_CUT), but takes and returns sorted units. Works in place: overwrites `units`."""
    left, counter = ffi.new("int64_t *"), Counter()
    data, offsets = np.require(units.data, requirements="W"), np.require(units.offsets, requirements="W")
    counts = np.require(units.counts, requirements="W")
    lists = (pointer(data), pointer(offsets), pointer(counts), len(units))
    call(lib.unitok_units_fold_out, *lists, optional(keep), counter.handle, left)
    n = int(left[0])
    kept = Units(data[: offsets[n]], offsets[: n + 1], counts[:n])
    if not len(counter):
        return kept
    counter.sort()
    return merge(kept, counter.export())


def merge(a: Units, b: Units) -> Units:
    """Merge two lists of units, each sorted by bytes, adding the counts of equal units."""
    data = np.empty(len(a.data) + len(b.data), np.uint8)
    offsets, counts = np.empty(len(a) + len(b) + 1, np.int64), np.empty(len(a) + len(b), np.uint64)
    n = lib.unitok_units_merge(a.part(), b.part(), pointer(data), pointer(offsets), pointer(counts))
    return Units(data[: offsets[n]], offsets[: n + 1], counts[:n])


def log_shares(counts: Counts, total: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """log(count) - log(total) in float32, computed with the C library's logf."""
    shares = np.empty(len(counts), np.float32)
    lib.unitok_log_shares(pointer(counts), len(counts), total, pointer(shares))
    return shares
