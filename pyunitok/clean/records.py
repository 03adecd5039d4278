"""Reads and writes files of records (divided by key; they may be larger than memory) and files of ranges.

    NAME         run 0: bucket 0 │ bucket 1 │ … │ run 1: bucket 0 │ bucket 1 │ …      records as they were added
    NAME.index   int64[runs, BUCKETS + 1]: the record at which each bucket of each run begins

Reading a bucket reads its records from all runs, in the order in which they were added.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from pyunitok._c.anchors import RECORD, Buffer, Int64s, Records, divided
from pyunitok.clean.workspace import Space
from pyunitok.errors import OutputError

BUCKETS = 2048
SMALL_RUN = (4 << 20) // 24  # records that fit in the CPU cache, so that dividing them takes half as long
HASH_SHIFT = 64 - 11  # the shift for keys that are hashes


def place_shift(n_bytes: int) -> int:
    """The shift for keys that are positions in a text of n_bytes."""
    return max(0, n_bytes.bit_length() - 11)


class RecordWriter:
    """Writes a file of records. A context manager.

    shift        the bucket of a record is key >> shift
    batch_bytes  the maximum size of a run; a run is divided in memory

    Small runs are faster to write, but many runs are slow to read, so runs grow with the file: a run has SMALL_RUN
    records or a 64th of the records before it, whichever is more.
    """

    def __init__(self, space: Space, name: str, shift: int, batch_bytes: int) -> None:
        self._name, self._space, self._shift = name, space, shift
        self._n_batch = max(1, batch_bytes // RECORD.itemsize)
        self._waiting, self._divided = np.empty(self._n_batch, RECORD), np.empty(self._n_batch, RECORD)
        self._index: list[Int64s] = []
        self._n_waiting = self.n = 0
        self._stack = ExitStack()
        self._file = self._stack.enter_context(space.new_file(name))

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *failure: Any) -> None:
        if failure[0] is None:
            self._flush()
            with self._space.new_file(f"{self._name}.index") as file:
                file.write(np.array(self._index, np.int64).tobytes())
        self._stack.__exit__(*failure)

    def add(self, records: Records) -> None:
        while len(records):
            n_run = min(self._n_batch, max(SMALL_RUN, self.n // 64))
            part = records[: n_run - self._n_waiting]
            self._waiting[self._n_waiting : self._n_waiting + len(part)] = part
            self._n_waiting += len(part)
            if self._n_waiting == n_run:
                self._flush()
            records = records[len(part) :]

    def _flush(self) -> None:
        n = self._n_waiting
        if n:
            self._index.append(self.n + divided(self._waiting[:n], self._shift, BUCKETS, self._divided[:n]))
            self._file.write(self._divided[:n].data.cast("B"))
            self.n += n
            self._n_waiting = 0


class RecordReader:
    """Reads a file of records, or the files NAME.0, NAME.1, … as one; threads may share it. A context manager.

    n       the number of records in the file, or in each file
    counts  int64[BUCKETS]: the number of records in each bucket
    """

    def __init__(self, space: Space, name: str, n: int | Sequence[int]) -> None:
        names = [name] if isinstance(n, int) else [f"{name}.{k}" for k in range(len(n))]
        self._stack, self._runs = ExitStack(), list[tuple[_File, Int64s]]()
        with ExitStack() as stack:
            for one, size in zip(names, [n] if isinstance(n, int) else n, strict=True):
                with space.open(f"{one}.index") as index:
                    starts = np.fromfile(index, np.int64)
                file = _File(space.path(one), stack.enter_context(space.open(one)))
                if len(starts) % (BUCKETS + 1) or os.fstat(file.file.fileno()).st_size != size * RECORD.itemsize:
                    raise OutputError(f"{file.path} is not the file that was written; --overwrite starts again")
                self._runs += [(file, run) for run in starts.reshape(-1, BUCKETS + 1)]
            self._stack = stack.pop_all()
        self.counts: Int64s = np.sum([np.zeros(BUCKETS, np.int64), *(np.diff(run) for _, run in self._runs)], axis=0)
        self._buffer = Buffer()

    def __enter__(self) -> RecordReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(self, begin: int, end: int) -> Records:
        """The records in buckets begin..end - 1, run by run; valid until this thread reads again."""
        ret, n = self._buffer.take(int(self.counts[begin:end].sum())), 0
        for file, starts in self._runs:
            first, last = int(starts[begin]), int(starts[end])
            file.read(first, ret[n : n + last - first])
            n += last - first
        return ret

    def pieces(self, begin: int, end: int, n: int) -> Iterator[Records]:
        """The same records as read(), in pieces of at most n records."""
        for file, starts in self._runs:
            for at in range(int(starts[begin]), int(starts[end]), n):
                ret = self._buffer.take(min(n, int(starts[end]) - at))
                file.read(at, ret)
                yield ret


@dataclass(frozen=True)
class _File:
    path: Path
    file: IO[bytes]

    def read(self, begin: int, into: Records) -> None:
        if not len(into):
            return
        view, at = into.data.cast("B"), begin * RECORD.itemsize
        while len(view):
            n = os.preadv(self.file.fileno(), [view], at)
            if n == 0:
                raise OutputError(f"{self.path} was truncated at byte {at}; --overwrite starts again")
            view, at = view[n:], at + n


def bucket_ranges(counts: Int64s, n: int) -> Iterator[tuple[int, int]]:
    """Divide the buckets into ranges that contain at most n records each; a bucket with more is a range by itself."""
    totals = np.concatenate(([0], np.cumsum(counts)))
    begin = 0
    while begin < BUCKETS:
        end = int(np.searchsorted(totals, totals[begin] + n, "right")) - 1
        end = min(max(end, begin + 1), BUCKETS)
        yield begin, end
        begin = end


class RangesWriter:
    """Writes ascending ranges as two files, NAME.begins and NAME.ends. A context manager.

    n, n_bytes  the numbers of ranges written so far, and of bytes in these ranges
    """

    def __init__(self, space: Space, name: str) -> None:
        self._stack = ExitStack()
        self._files = [self._stack.enter_context(space.new_file(f"{name}.{part}")) for part in ("begins", "ends")]
        self.n = self.n_bytes = 0

    def __enter__(self) -> RangesWriter:
        return self

    def __exit__(self, *failure: Any) -> None:
        self._stack.__exit__(*failure)

    def add(self, ranges: Int64s) -> None:
        for k, file in enumerate(self._files):
            file.write(ranges[:, k].tobytes())
        self.n += len(ranges)
        self.n_bytes += int((ranges[:, 1] - ranges[:, 0]).sum())


class Ranges:
    """Ascending, disjoint ranges of text.

    begins, ends  int64[n]: byte positions
    """

    def __init__(self, begins: Int64s, ends: Int64s) -> None:
        self.begins, self.ends = begins, ends

    @classmethod
    def opened(cls, space: Space, name: str, n: int) -> Ranges:
        return cls(space.mapped(f"{name}.begins", np.int64, n), space.mapped(f"{name}.ends", np.int64, n))

    def __len__(self) -> int:
        return len(self.begins)

    def slice(self, begin: int, end: int) -> Int64s:
        """int64[n, 2]: the ranges numbered begin..end - 1."""
        return np.stack((self.begins[begin:end], self.ends[begin:end]), axis=1)

    def between(self, begin: int, end: int) -> Int64s:
        """int64[n, 2]: the ranges that overlap begin..end - 1."""
        return self.slice(
            int(np.searchsorted(self.ends, begin, "right")), int(np.searchsorted(self.begins, end, "left"))
        )


def removed_before(ranges: Int64s, places: Int64s) -> Int64s:
    """int64[n]: for each position, the number of bytes before it that are in the ranges, which are ascending."""
    totals = np.concatenate(([0], np.cumsum(ranges[:, 1] - ranges[:, 0])))
    number = np.searchsorted(ranges[:, 0], places, "left")
    last_end = np.concatenate(([0], ranges[:, 1]))[number]
    ret: Int64s = totals[number] - np.maximum(last_end - places, 0)
    return ret


def widened(before: Int64s, ranges: Int64s) -> Sequence[Int64s]:
    """Translates ranges of a text from which the ranges `before` were removed into ranges of the original text. Returns
    [before, the translated ranges]. A translated range includes the ranges of `before` inside it."""
    places = before[:, 0] - removed_before(before, before[:, 0])  # the positions in the shortened text where they were
    totals = np.concatenate(([0], np.cumsum(before[:, 1] - before[:, 0])))
    begins = ranges[:, 0] + totals[np.searchsorted(places, ranges[:, 0], "right")]
    ends = ranges[:, 1] + totals[np.searchsorted(places, ranges[:, 1] - 1, "right")]
    return [before, np.stack((begins, ends), axis=1)]
