"""The C side of training: counters, segmenters and trainers as Python objects. See "Training" in csrc/unitok.h."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from pyunitok._ffi import Bytes, Offsets, check, ffi, lib, pointer
from pyunitok._ffi_text import Normalizer
from pyunitok.train.sharing import share_out

Counts = np.ndarray[Any, np.dtype[np.uint64]]
CODE_POINTS = 0x110000
CHUNK_UNITS = 1 << 16
LEXICON_PARTS = 4  # for each thread
MIN_LEXICON_PART = 1 << 10  # pieces
SHARED_WORK = 1 << 22  # characters looked at in one call of a BPE trainer, which no interrupt ends

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
    """Byte strings and how often each occurs: unit i is data[offsets[i]:offsets[i + 1]], counts[i] times."""

    data: Bytes
    offsets: Offsets
    counts: Counts

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def pack(cls, items: Sequence[bytes], counts: Sequence[int] | Counts) -> Units:
        offsets = np.zeros(len(items) + 1, np.int64)
        np.cumsum([len(item) for item in items], out=offsets[1:])
        return cls(np.frombuffer(b"".join(items), np.uint8), offsets, np.asarray(counts, np.uint64))

    def items(self) -> list[bytes]:
        """All of them as bytes."""
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        return [data[begin:end] for begin, end in pairwise(bounds)]

    def take(self, order: Offsets) -> Units:
        """The units of these numbers, in this order."""
        sizes = np.diff(self.offsets)[order]
        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        starts, data = self.offsets[:-1][order], np.empty(int(offsets[-1]), np.uint8)
        lib.unitok_gather(pointer(self.data), pointer(starts), pointer(offsets), len(order), pointer(data))
        return Units(data, offsets, self.counts[order])


class Rules:
    """Which strings may be pieces. flags: names of RULE_FLAGS."""

    def __init__(self, flags: set[str], max_chars: int) -> None:
        ret, error = ffi.new("unitok_rules **"), ffi.new("unitok_error *")
        number = sum(RULE_FLAGS[name] for name in flags)
        check(lib.unitok_rules_new(number, max_chars, ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_rules_free, CODE_POINTS)


def allowed(rules: Rules, piece: bytes) -> bool:
    """Whether these bytes may be a piece."""
    return bool(lib.unitok_rules_allow(rules.handle, piece, len(piece)))


class Counter:
    """Counts byte strings, 64 bits wide; ordered: a list that merges nothing. For one thread at a time."""

    def __init__(self, *, ordered: bool = False) -> None:
        ret, error = ffi.new("unitok_counter **"), ffi.new("unitok_error *")
        check(lib.unitok_counter_new(ordered, ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_counter_free)

    def __len__(self) -> int:
        return int(lib.unitok_counter_count(self.handle))

    @property
    def memory_bytes(self) -> int:
        return int(lib.unitok_counter_memory_bytes(self.handle))

    def add(self, units: Units) -> None:
        error = ffi.new("unitok_error *")
        status = lib.unitok_counter_add(
            self.handle, pointer(units.data), pointer(units.offsets), pointer(units.counts), len(units), error
        )
        check(status, error)

    def sort(self) -> None:
        """By bytes."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_counter_sort(self.handle, error), error)

    def absorb(self, other: Counter, begin: int, end: int) -> None:
        """Take over the counts of those of the other's keys begin..end-1 that are here, too; several threads may do so
        for different keys. Before sort()."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_counter_absorb(self.handle, other.handle, begin, end, error), error)

    def drop_absorbed(self) -> None:
        """Drop the keys whose counts others have."""
        lib.unitok_counter_drop_absorbed(self.handle)

    def clear(self) -> None:
        lib.unitok_counter_clear(self.handle)

    def export(self) -> Units:
        """A copy of all: sorted by bytes after sort(), else in the order of first sight."""
        return export([self], 1)

    def chunks(self) -> Iterator[Units]:
        """The same in parts."""
        for begin in range(0, len(self), CHUNK_UNITS):
            yield _export([(self, begin, min(begin + CHUNK_UNITS, len(self)))], 1)


def export(counters: list[Counter], threads: int) -> Units:
    """All that they hold, one after the other."""
    return _export([(c, *bounds) for c in counters for bounds in shares(len(c), threads)], threads)


def _export(parts: list[tuple[Counter, int, int]], threads: int) -> Units:
    """Of each of the counters, keys begin..end-1."""
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
    """0..n-1 in parts of about one size: (begin, end) of each."""
    return [(n * k // parts, n * (k + 1) // parts) for k in range(parts)]


@dataclass
class SegmentStats:
    """See unitok_segment_stats in csrc/unitok.h."""

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
    """Cuts lines into units and counts them in `counter`. For one thread at a time.

    symbols    become boundaries, like the delimiter
    normalizer None: lines are normalized already
    """

    def __init__(
        self, normalizer: Normalizer | None, rules: Rules, counter: Counter, *, flags: int, max_line_bytes: int,
        symbols: Sequence[bytes] = (), delimiter: bytes = b"",
    ) -> None:  # fmt: skip
        spec, ret = ffi.new("unitok_segment_spec *"), ffi.new("unitok_segmenter **")
        error = ffi.new("unitok_error *")
        packed = Units.pack(sorted(set(symbols)), np.zeros(len(set(symbols)), np.uint64))
        bytes_of_delimiter = ffi.from_buffer("uint8_t[]", delimiter)
        spec.normalizer = ffi.NULL if normalizer is None else normalizer.handle
        spec.rules, spec.counter, spec.flags, spec.max_line_bytes = rules.handle, counter.handle, flags, max_line_bytes
        spec.symbols, spec.symbol_offsets = pointer(packed.data), pointer(packed.offsets)
        spec.n_symbols = len(packed)
        spec.delimiter, spec.n_delimiter_bytes = bytes_of_delimiter, len(delimiter)
        check(lib.unitok_segmenter_new(spec, ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_segmenter_free)
        self._counter = counter
        self._keep = (normalizer, rules)

    @property
    def counter(self) -> Counter:
        """With all that was counted so far."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_segmenter_flush(self.handle, error), error)
        return self._counter

    def add(self, data: Bytes, offsets: Offsets) -> None:
        """Count the lines of packed documents. ModelFormatError if a line is wrong: .item, .position say where."""
        error = ffi.new("unitok_error *")
        if len(offsets) and int(offsets[-1]) > len(data):
            raise ValueError("the offsets reach past the data")
        status = lib.unitok_segmenter_add(self.handle, pointer(data), pointer(offsets), len(offsets) - 1, error)
        check(status, error)

    def finish(self) -> None:
        """After the last line; only needed with FOLLOWERS."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_segmenter_finish(self.handle, error), error)

    def stats(self) -> SegmentStats:
        stats = ffi.new("unitok_segment_stats *")
        lib.unitok_segmenter_get_stats(self.handle, stats)
        return SegmentStats(**{name: int(getattr(stats, name)) for name in SegmentStats.__dataclass_fields__})

    @property
    def memory_bytes(self) -> int:
        """Its own and its counter's."""
        stats = ffi.new("unitok_segment_stats *")
        lib.unitok_segmenter_get_stats(self.handle, stats)
        return int(stats.memory_bytes) + self._counter.memory_bytes


def count_chars(units: Units, threads: int = 1) -> Counts:
    """How often each character occurs in the units: uint64[0x110000]."""
    totals: list[Counts] = []

    def work(_: int, bounds: tuple[int, int]) -> None:
        by_char, error = np.zeros(CODE_POINTS, np.uint64), ffi.new("unitok_error *")
        begin, end = bounds
        status = lib.unitok_units_count_chars(
            pointer(units.data), pointer(units.offsets) + begin, pointer(units.counts) + begin, end - begin,
            pointer(by_char), error,
        )  # fmt: skip
        check(status, error)
        totals.append(by_char)

    share_out(shares(len(units), threads), threads, work)
    return reduce(np.add, totals)


FOLD_WHOLE: int = lib.UNITOK_FOLD_WHOLE
FOLD_CUT: int = lib.UNITOK_FOLD_CUT
FOLD_STRIP: int = lib.UNITOK_FOLD_STRIP


def fold(units: Units, keep: Bytes | None, how: int, counter: Counter) -> None:
    """Count the units in `counter` with characters c of keep[c] == 0 replaced by U+2585; see unitok_units_fold."""
    error = ffi.new("unitok_error *")
    status = lib.unitok_units_fold(
        pointer(units.data), pointer(units.offsets), pointer(units.counts), len(units),
        ffi.NULL if keep is None else pointer(keep), how, counter.handle, error,
    )  # fmt: skip
    check(status, error)


def fold_sorted(units: Units, keep: Bytes | None) -> Units:
    """fold(units, keep, FOLD_CUT) of sorted units, sorted; most of them stay where they are: `units` is used up."""
    left, counter, error = ffi.new("int64_t *"), Counter(), ffi.new("unitok_error *")
    data, offsets = np.require(units.data, requirements="W"), np.require(units.offsets, requirements="W")
    counts = np.require(units.counts, requirements="W")
    status = lib.unitok_units_fold_out(
        pointer(data), pointer(offsets), pointer(counts), len(units), ffi.NULL if keep is None else pointer(keep),
        counter.handle, left, error,
    )  # fmt: skip
    check(status, error)
    n = int(left[0])
    kept = Units(data[: offsets[n]], offsets[: n + 1], counts[:n])
    if not len(counter):
        return kept
    counter.sort()
    return merge(kept, counter.export())


def merge(a: Units, b: Units) -> Units:
    """Both are sorted by bytes; counts of equal units are added."""
    data = np.empty(len(a.data) + len(b.data), np.uint8)
    offsets, counts = np.empty(len(a) + len(b) + 1, np.int64), np.empty(len(a) + len(b), np.uint64)
    n = lib.unitok_units_merge(
        pointer(a.data), pointer(a.offsets), pointer(a.counts), len(a), pointer(b.data), pointer(b.offsets),
        pointer(b.counts), len(b), pointer(data), pointer(offsets), pointer(counts),
    )  # fmt: skip
    return Units(data[: offsets[n]], offsets[: n + 1], counts[:n])


def log_shares(counts: Counts, total: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """log(count) - log(total) in float32, by the C library's logarithm."""
    shares = np.empty(len(counts), np.float32)
    lib.unitok_log_shares(pointer(counts), len(counts), total, pointer(shares))
    return shares


class BpeTrainer:
    """Merges pairs of units' characters; the units are copied. Where characters c have keep[c] == 0, units end."""

    def __init__(self, rules: Rules, units: Units, keep: Bytes | None = None, threads: int = 1) -> None:
        ret, error = ffi.new("unitok_bpe_trainer **"), ffi.new("unitok_error *")
        status = lib.unitok_bpe_trainer_new(
            rules.handle, pointer(units.data), pointer(units.offsets), pointer(units.counts), len(units),
            ffi.NULL if keep is None else pointer(keep), threads, ret, error,
        )  # fmt: skip
        check(status, error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_bpe_trainer_free)
        self._rules, self._threads = rules, threads
        self.n_pieces = 0
        self.done = False
        self._share(units, keep)

    def _share(self, *needed: object) -> None:
        """Phases that threads share. A thread that works on after an interrupt keeps what is needed."""

        def work(_: int, worker: int) -> None:
            done, error, _needed = ffi.new("int32_t *"), ffi.new("unitok_error *"), (self, needed)
            while not done[0]:
                check(lib.unitok_bpe_trainer_work(self.handle, worker, SHARED_WORK, done, error), error)

        while lib.unitok_bpe_trainer_is_shared(self.handle):
            share_out(range(self._threads), self._threads, work)
            error = ffi.new("unitok_error *")
            check(lib.unitok_bpe_trainer_join(self.handle, error), error)

    @property
    def memory_bytes(self) -> int:
        return int(lib.unitok_bpe_trainer_memory_bytes(self.handle))

    def step(self, n_pieces: int, *, min_count: int, max_work: int) -> bool:
        """Merge on for a while; False when there are n_pieces or no pair is left (then .done)."""
        self._share()
        done = ffi.new("int32_t *")
        n = int(lib.unitok_bpe_trainer_step(self.handle, n_pieces, min_count, max_work, done))
        if n < 0:
            raise MemoryError("not enough memory for the pairs of the BPE trainer")
        self.n_pieces, self.done = n, bool(done[0])
        return not self.done and n < n_pieces

    def merges(self) -> tuple[np.ndarray[Any, np.dtype[np.uint32]], Counts]:
        """The symbols of each merge so far, left and right, and its count: for resume()."""
        symbols, counts = np.empty((self.n_pieces, 2), np.uint32), np.empty(self.n_pieces, np.uint64)
        lib.unitok_bpe_trainer_merges(self.handle, 0, self.n_pieces, pointer(symbols.reshape(-1)), pointer(counts))
        return symbols, counts

    def resume(self, symbols: np.ndarray[Any, np.dtype[np.uint32]], counts: Counts) -> None:
        """Before the first step: begin after the merges() of another trainer of the same units and rules."""
        error, flat = ffi.new("unitok_error *"), np.ascontiguousarray(symbols, np.uint32).reshape(-1)
        if len(flat) != 2 * len(counts):
            raise ValueError("a merge has two symbols and a count")
        check(lib.unitok_bpe_trainer_resume(self.handle, pointer(flat), pointer(counts), len(counts), error), error)
        self.n_pieces = len(counts)

    def pieces(self) -> Units:
        """In the order of the merges, each with the count its pair had."""
        n = self.n_pieces
        n_bytes = lib.unitok_bpe_trainer_pieces(self.handle, 0, n, ffi.NULL, -1, ffi.NULL, ffi.NULL)
        data = np.empty(int(n_bytes), np.uint8)
        offsets, counts = np.zeros(n + 1, np.int64), np.empty(n, np.uint64)
        lib.unitok_bpe_trainer_pieces(
            self.handle, 0, n, pointer(data), len(data), pointer(offsets), pointer(counts)
        )
        return Units(data, offsets, counts)


class Seeds:
    """The strings that repeat in units, found in parts; see unitok_seeds in csrc/unitok.h."""

    def __init__(self, rules: Rules, units: Units, *, compat: bool) -> None:
        ret, error = ffi.new("unitok_seeds **"), ffi.new("unitok_error *")
        status = lib.unitok_seeds_new(
            rules.handle, pointer(units.data), pointer(units.offsets), pointer(units.counts), len(units), compat, ret,
            error,
        )  # fmt: skip
        check(status, error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_seeds_free)
        self._keep = rules

    def step(self, budget: int = 1 << 23) -> float:
        """Prepare the parts for a while; how much is done, 1 when all is."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_seeds_step(self.handle, budget, error), error)
        return float(lib.unitok_seeds_progress(self.handle))

    @property
    def n_parts(self) -> int:
        return int(lib.unitok_seeds_parts(self.handle))

    def add_leaves(self, min_leaf: int, counters: Sequence[Counter], budget: int = 1 << 23) -> bool:
        """Count in the first counter, for a while, units that none of them holds; whether that was all. Not with
        compat."""
        done, error = ffi.new("int32_t *"), ffi.new("unitok_error *")
        handles = ffi.new("unitok_counter *[]", [counter.handle for counter in counters])
        status = lib.unitok_seeds_leaves(self.handle, min_leaf, budget, handles, len(counters), done, error)
        check(status, error)
        return bool(done[0])


class SeedFinder:
    """Finds what repeats in parts of Seeds, for one thread. limit: see max_seeds in csrc/unitok.h."""

    def __init__(self, seeds: Seeds, limit: int) -> None:
        ret, error = ffi.new("unitok_seed_finder **"), ffi.new("unitok_error *")
        check(lib.unitok_seed_finder_new(seeds.handle, limit, ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_seed_finder_free)
        self._keep = seeds

    def add(self, part: int) -> None:
        """Each part goes to one finder."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_seed_finder_add(self.handle, part, error), error)

    def finish(self, counter: Counter) -> None:
        """Count what was found."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_seed_finder_finish(self.handle, counter.handle, error), error)


Floats = np.ndarray[Any, np.dtype[np.float32]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]


def _enough(status: int) -> None:
    if status:
        raise MemoryError("not enough memory for a lattice")


def _kept(kept: KeptEdges | None) -> Any:
    return ffi.NULL if kept is None else kept.handle


class Lattice:
    """Memory for one thread's lattices."""

    def __init__(self) -> None:
        handle = lib.unitok_lattice_new()
        if handle == ffi.NULL:
            raise MemoryError("not enough memory for a lattice")
        self.handle: Any = ffi.gc(handle, lib.unitok_lattice_free)


class KeptEdges:
    """What calls with the same units keep of them, max_bytes at most; see unitok_edges in csrc/unitok.h."""

    def __init__(self, max_bytes: int) -> None:
        handle = lib.unitok_edges_new(max_bytes)
        if handle == ffi.NULL:
            raise MemoryError("not enough memory for the edges of a lattice")
        self.handle: Any = ffi.gc(handle, lib.unitok_edges_free)

    @property
    def memory_bytes(self) -> int:
        return int(lib.unitok_edges_memory_bytes(self.handle))

    def renumber(self, numbers: Numbers) -> None:
        """Piece i is now numbers[i]; -1: dropped."""
        lib.unitok_edges_renumber(self.handle, pointer(numbers))


@dataclass(frozen=True, eq=False)
class Scored:
    """A Unigram model in training: arrays by piece, and what an unknown character counts as.

    unknown_piece  the piece that unknown characters are counted for; -1: none
    """

    lattice: Lattice
    alive: Bytes
    scores: Floats | Doubles
    unknown_score: float
    unknown_piece: int = -1
    live_scores: Floats | Doubles = field(init=False)

    def __post_init__(self) -> None:
        dropped = self.scores.dtype.type(-np.inf)
        object.__setattr__(self, "live_scores", np.where(self.alive == 1, self.scores, dropped))


def _parts(pieces: Units, n: int) -> list[tuple[int, int]]:
    """Ranges of pieces, about n, that have no first byte in common; none where they would be small."""
    size = len(pieces) / n
    if size < MIN_LEXICON_PART:
        return []
    ret, begin = [], 0
    for end in [*(np.flatnonzero(np.diff(pieces.data[pieces.offsets[:-1]])) + 1).tolist(), len(pieces)]:
        if end - begin >= size or end == len(pieces):
            ret.append((begin, end))
            begin = end
    return ret


def _lexicon_parts(pieces: Units, parts: list[tuple[int, int]], threads: int) -> list[Any]:
    """A lexicon of each part."""
    made: list[Any] = [None] * len(parts)

    def work(_: int, k: int) -> None:
        ret, error = ffi.new("unitok_lexicon **"), ffi.new("unitok_error *")
        data, offsets = pointer(pieces.data), pointer(pieces.offsets)
        check(lib.unitok_lexicon_new_part(data, offsets, *parts[k], ret, error), error)
        made[k] = ffi.gc(ret[0], lib.unitok_lexicon_free)

    share_out(range(len(parts)), threads, work)
    return made


class Lexicon:
    """The pieces of a Unigram model in training, by their bytes; its arrays go by their numbers. See csrc/unitok.h.

    pieces   sorted by bytes, none twice; their counts are of no meaning here
    threads  make it together where there are many pieces
    """

    def __init__(self, pieces: Units, threads: int = 1) -> None:
        ret, error = ffi.new("unitok_lexicon **"), ffi.new("unitok_error *")
        parts = [] if threads == 1 else _parts(pieces, LEXICON_PARTS * threads)
        if len(parts) < 2:
            check(lib.unitok_lexicon_new(pointer(pieces.data), pointer(pieces.offsets), len(pieces), ret, error), error)
        else:
            made = _lexicon_parts(pieces, parts, threads)
            handles = ffi.new("unitok_lexicon *[]", made)
            check(lib.unitok_lexicon_join(handles, len(made), ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_lexicon_free, int(lib.unitok_lexicon_memory_bytes(ret[0])))
        self.pieces = pieces

    def expect(
        self, model: Scored, p: Doubles, p_unknown: float, units: Units, begin: int, end: int, unit: float,
        expected: Counts, kept: KeptEdges | None = None,
    ) -> float:  # fmt: skip
        """Add to `expected` for units begin..end-1; their log-likelihood. p: probabilities, 0 for dropped pieces."""
        total = ffi.new("double *")
        _enough(
            lib.unitok_unigram_expect(
                self.handle, model.lattice.handle, _kept(kept), pointer(p), p_unknown, pointer(units.data),
                pointer(units.offsets) + begin, pointer(units.counts) + begin, end - begin, unit, pointer(expected),
                total,
            )
        )  # fmt: skip
        return float(total[0])

    def expect_exact(
        self, model: Scored, units: Units, begin: int, end: int, expected: Floats, kept: KeptEdges | None = None
    ) -> None:
        """Like expect, as sentencepiece."""
        _enough(
            lib.unitok_unigram_expect_exact(
                self.handle, model.lattice.handle, _kept(kept), pointer(model.live_scores), model.unknown_score,
                model.unknown_piece, pointer(units.data), pointer(units.offsets) + begin,
                pointer(units.counts) + begin, end - begin, pointer(expected),
            )
        )  # fmt: skip

    def paths(
        self, model: Scored, units: Units, begin: int, end: int, used: Floats | Doubles, kept: KeptEdges | None = None
    ) -> tuple[float, int]:
        """Add to `used` the pieces of the best paths of units begin..end-1; (their score, their number)."""
        function = lib.unitok_unigram_paths_f32 if used.dtype == np.float32 else lib.unitok_unigram_paths_f64
        score, tokens = ffi.new("double *"), ffi.new("int64_t *")
        _enough(
            function(
                self.handle, model.lattice.handle, _kept(kept), pointer(model.live_scores), model.unknown_score,
                model.unknown_piece, pointer(units.data), pointer(units.offsets) + begin,
                pointer(units.counts) + begin, end - begin, pointer(used), score, tokens,
            )
        )  # fmt: skip
        return float(score[0]), int(tokens[0])

    def losses(
        self, model: Scored, begin: int, end: int, used: Floats | Doubles, total: float, losses: Floats | Doubles
    ) -> None:
        """What the likelihood loses without each of the pieces begin..end-1."""
        function = lib.unitok_unigram_losses_f32 if used.dtype == np.float32 else lib.unitok_unigram_losses_f64
        _enough(
            function(
                self.handle, model.lattice.handle, pointer(model.live_scores), model.unknown_score,
                model.unknown_piece, pointer(self.pieces.data), pointer(self.pieces.offsets), begin, end,
                pointer(used), total, pointer(losses),
            )
        )  # fmt: skip

    def parts(self, model: Scored, begin: int, end: int, parts: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        """Of how many pieces the best path through each of the pieces begin..end-1 is made without itself."""
        is_float = model.scores.dtype == np.float32
        function = lib.unitok_unigram_parts_f32 if is_float else lib.unitok_unigram_parts_f64
        _enough(
            function(
                self.handle, model.lattice.handle, pointer(model.live_scores), model.unknown_score,
                pointer(self.pieces.data), pointer(self.pieces.offsets), begin, end, pointer(parts),
            )
        )  # fmt: skip


def maximize_exact(expected: Floats, order: Numbers, alive: Bytes, scores: Floats) -> None:
    """New scores from expected counts, as sentencepiece; pieces below 0.5 are dropped."""
    lib.unitok_unigram_maximize_f32(pointer(expected), pointer(order), len(order), pointer(alive), pointer(scores))


def maximize(expected: Doubles, min_count: float, prior: str, alive: Bytes, scores: Doubles) -> None:
    """New scores from expected counts; pieces below min_count are dropped."""
    number = lib.UNITOK_PRIOR_DIGAMMA if prior == "digamma" else lib.UNITOK_PRIOR_NONE
    lib.unitok_unigram_maximize_f64(
        pointer(expected), len(expected), min_count, number, pointer(alive), pointer(scores)
    )
