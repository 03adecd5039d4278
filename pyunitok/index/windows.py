"""RepeatedWindows finds the windows of tokens that occur more than once, in bounded memory.

    tokens ─ count ─▶ counters ─ find ─▶ windows ─ group ─▶ repeats ─ compare ─▶ repeats
    (text order)      (by hash)          (by hash)          (by place)

Windows whose hash occurs once are discarded early, in csrc/clean/windows.c; the others are written to a file and
grouped a few buckets at a time. Every repeat is then compared with the first window of its group. If the two differ
although their 122-bit hashes are equal, everything starts again with a different seed. So the result does not depend
on hashes, memory or threads.

Memory: up to half of the budget is used for the counters and, later, for the records that threads group or compare.
Disk: 48 bytes for each window that occurs more than once, and 24 bytes for each other window that shares its counter
with a different window. With 2 bytes of counters per token, an eighth of these other windows share one; with few
counters, nearly all do.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import numpy as np

from pyunitok._c import anchors as c_anchors
from pyunitok._c.anchors import RECORD, Int64s, Records
from pyunitok._c.windows import Ids, TokenWindows
from pyunitok.clean.records import HASH_SHIFT, RecordReader, RecordWriter, bucket_ranges, place_shift
from pyunitok.clean.repeats import Memory, release
from pyunitok.clean.workspace import TemporaryFiles, in_order

STEP = 1 << 20  # tokens between checks for Ctrl-C
MAX_COUNTER_BYTES = 2  # bytes of counters per token
HEAD = np.dtype([*((name, np.uint64) for name in ("key", "value", "place")), ("count", np.int64)])
Heads = np.ndarray[tuple[int], np.dtype[np.void]]

OnShare = Callable[[float], None]


class RepeatedWindows:
    """Finds the repeated windows of n_tokens tokens.

    ids       the tokens of all documents: a memory map
    ends      int64[documents]: the end of each document in `ids`, ascending
    n_after   the number of tokens at the end of each document that do not belong to any window
    on_share  called with the completed share, 0 to 1
    """

    def __init__(
        self, scratch: TemporaryFiles, ids: Ids, ends: Int64s, n_after: int, n_tokens: int, max_memory_bytes: int,
        n_threads: int, on_share: OnShare,
    ) -> None:  # fmt: skip
        self._scratch, self._n_threads, self._on_share = scratch, n_threads, on_share
        self._memory = Memory.of(max_memory_bytes, n_threads)
        self._counter_bytes = max(1, min(max_memory_bytes // 2, MAX_COUNTER_BYTES * len(ids)))
        self._window = n_tokens, ids, ends, n_after
        self._ids, self._place_shift = ids, place_shift(len(ids))
        self.n = 0
        while not self._is_found(secrets.randbits(63)):
            pass

    def __iter__(self) -> Iterator[Records]:
        """Yields all repeated windows in text order. key: the first token of a window; value: how often it occurs;
        place: the first token of its first occurrence."""
        for repeats in self._sorted():
            yield repeats
            release(self._ids)

    def _is_found(self, seed: int) -> bool:
        """Find all repeats, with hashes that depend on the seed. Returns False if two different windows have equal
        hashes."""
        n = self._find(seed)
        self._group(n)
        self._scratch.remove("windows")
        windows, done = TokenWindows(*self._window, seed, 1), 0
        for repeats, is_equal in in_order(self._n_threads, windows.are_equal, self._sorted()):
            release(self._ids)
            done += len(repeats)
            self._on_share(0.8 + 0.2 * done / self.n)
            if not is_equal:
                return False
        return True

    def _find(self, seed: int) -> int:
        """Write the records of the windows that may repeat. Returns the number of records."""
        windows, n_ids = TokenWindows(*self._window, seed, self._counter_bytes), len(self._ids)
        for begin, end in self._steps():
            windows.count(begin, end)
            release(self._ids)
            self._on_share(0.3 * end / n_ids)
        with RecordWriter(self._scratch, "windows", HASH_SHIFT, self._memory.batch_bytes) as writer:
            for (_, end), records in in_order(self._n_threads, lambda step: windows.find(*step), self._steps()):
                writer.add(records)
                release(self._ids)
                self._on_share(0.3 + 0.3 * end / n_ids)
        return writer.n

    def _steps(self) -> Iterator[tuple[int, int]]:
        size = min(STEP, self._memory.task_bytes)
        for begin in range(0, len(self._ids), size):
            yield begin, min(begin + size, len(self._ids))

    def _group(self, n: int) -> None:
        """Write the repeats among n windows."""
        with (
            RecordReader(self._scratch, "windows", n) as reader,
            RecordWriter(self._scratch, "repeats", self._place_shift, self._memory.batch_bytes) as writer,
        ):
            limit, done = self._memory.group_records, 0

            def grouped(part: tuple[int, int]) -> Records | None:
                """The repeats in some buckets; None if they do not fit in memory."""
                if int(reader.counts[slice(*part)].sum()) > limit:
                    return None
                records = _sorted(reader.read(*part))
                return _repeats(records, _heads(records))

            parts = bucket_ranges(reader.counts, self._memory.task_records)
            for part, repeats in in_order(self._n_threads, grouped, parts):
                for some in [repeats] if repeats is not None else _grouped_in_pieces(reader, *part, limit):
                    writer.add(some)
                done += int(reader.counts[slice(*part)].sum())
                self._on_share(0.6 + 0.2 * done / max(n, 1))
        self.n = writer.n

    def _sorted(self) -> Iterator[Records]:
        with RecordReader(self._scratch, "repeats", self.n) as reader:
            for low, high in bucket_ranges(reader.counts, self._memory.task_records):
                if reader.counts[low:high].any():
                    repeats = reader.read(low, high).copy()
                    c_anchors.sort(repeats)
                    yield repeats


def _grouped_in_pieces(reader: RecordReader, low: int, high: int, limit: int) -> Iterator[Records]:
    """The repeats among the windows in some buckets. Reads the buckets twice, in pieces of `limit` records. Besides a
    piece, only the first window of each group is in memory: one window if a token is repeated a billion times."""
    heads = np.empty(0, HEAD)
    for piece in reader.pieces(low, high, limit):
        heads = _joined(heads, _heads(_sorted(piece)))
    for piece in reader.pieces(low, high, limit):
        records = _sorted(piece)
        own = _heads(records)
        at = np.searchsorted(heads["key"], own["key"])
        while len(other := np.flatnonzero(heads["value"][at] != own["value"])):
            at[other] += 1  # heads with equal keys are ordered by value
        yield _repeats(records, heads[at], own["count"])


def _sorted(records: Records) -> Records:
    """The records of windows, ordered by key, value and place. The given records are in text order, and sorting is
    stable."""
    c_anchors.sort(records)
    keys, values = records["key"], records["value"]
    if bool(((keys[1:] == keys[:-1]) & (values[1:] < values[:-1])).any()):
        return records[np.lexsort((values, keys))]
    return records


def _heads(records: Records) -> Heads:
    """The first window of each group of equal windows, and the size of the group."""
    keys, values = records["key"], records["value"]
    is_first = np.ones(len(records), np.bool_)
    is_first[1:] = (keys[1:] != keys[:-1]) | (values[1:] != values[:-1])
    firsts = np.flatnonzero(is_first)
    ret = np.empty(len(firsts), HEAD)
    for name in RECORD.names or ():
        ret[name] = records[name][firsts]
    ret["count"] = np.diff(firsts, append=len(records))
    return ret


def _joined(before: Heads, heads: Heads) -> Heads:
    """Merge two arrays of heads; the heads in `before` are earlier in the text."""
    both = np.concatenate((before, heads))
    both = both[np.lexsort((both["value"], both["key"]))]
    ret = _heads(both)
    if len(both):
        ret["count"] = np.add.reduceat(both["count"], np.cumsum(ret["count"]) - ret["count"])
    return ret


def _repeats(records: Records, heads: Heads, sizes: Int64s | None = None) -> Records:
    """The records of repeats. sizes: for each head, the number of its sorted `records`; by default, its count."""
    sizes = heads["count"] if sizes is None else sizes
    is_repeated = heads["count"] > 1
    kept = np.repeat(is_repeated, sizes)
    heads, sizes = heads[is_repeated], sizes[is_repeated]
    ret = np.empty(int(sizes.sum()), RECORD)
    ret["key"] = records["place"][kept]
    ret["value"], ret["place"] = np.repeat(heads["count"], sizes), np.repeat(heads["place"], sizes)
    return ret
