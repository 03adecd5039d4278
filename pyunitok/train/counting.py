"""Counts the units of a corpus in bounded memory, on several threads.

Each thread has a counter. A counter that exceeds its share of the memory is sorted, written to disk as a run, and
cleared. At the end all runs are merged, so the counts are exact and depend on neither memory nor threads:

    block ─▶ segmenter ─▶ counter ──full──▶ run 0  b b b b │
    block ─▶ segmenter ─▶ counter ──full──▶ run 1  b b b   ├─▶ merged: all keys up to the smallest last key of the
                               └─────end──▶ run 2  b b     │            first blocks, then the next blocks
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np
import zstandard

from pyunitok._c import train as c_train
from pyunitok._c.sharing import share_out
from pyunitok._c.train import Counter, SegmentStats, Units, merge
from pyunitok._c.train_ngrams import NgramTable
from pyunitok.errors import OutputError
from pyunitok.packed import ranges

RUN_BLOCK_BYTES = 1 << 20  # bytes of keys in a block


Table = Counter | NgramTable


class Cutter(Protocol):
    """An object that cuts documents into units and counts the units in `counter`, such as a Segmenter."""

    @property
    def counter(self) -> Table: ...

    @property
    def memory_bytes(self) -> int: ...

    def add(self, data: Any, offsets: Any) -> None: ...

    def stats(self) -> SegmentStats: ...


class UnitCounter:
    """Counts the units that segmenters cut, on any number of threads.

    make        makes a segmenter that uses the given counter, or its own table; called once per thread
    max_memory  bytes for the counters, and for the units at the end; 0: no limit
    folder      the folder for runs; None: the system's temporary folder
    """

    def __init__(self, make: Callable[[Counter], Cutter], max_memory: int = 0, folder: Path | None = None) -> None:
        self._make, self._max_memory, self._folder = make, max_memory, folder
        self._segmenters: dict[int, Cutter] = {}
        self._lock = threading.Lock()
        self._runs: Runs | None = None
        self.left_out = (0, 0, 1)  # dropped units, their occurrences, the smallest count that was kept

    def __enter__(self) -> UnitCounter:
        return self

    def __exit__(self, *error: object) -> None:
        if self._runs is not None:
            self._runs.close()

    def add(self, data: Any, offsets: Any) -> None:
        """Count packed documents. May be called from any thread."""
        segmenter = self._segmenters.get(threading.get_ident())
        if segmenter is None:
            segmenter = self._make(Counter())
            with self._lock:
                self._segmenters[threading.get_ident()] = segmenter
        segmenter.add(data, offsets)
        if self._max_memory and segmenter.memory_bytes > self._share:
            self._spill(segmenter.counter)

    @property
    def _share(self) -> int:
        """Bytes per thread. Sorting and exporting the units takes half as much memory again."""
        return self._max_memory // (2 * max(1, len(self._segmenters)))

    def _spill(self, counter: Table) -> None:
        counter.sort()
        with self._lock:
            if self._runs is None:  # an empty Runs is false
                self._runs = Runs(self._folder)
        self._runs.write(block for chunk in counter.chunks() for block in _blocks(chunk))
        counter.clear()

    @property
    def n_runs(self) -> int:
        return 0 if self._runs is None else len(self._runs)

    def stats(self) -> SegmentStats:
        """The sum over all threads."""
        total = SegmentStats()
        for segmenter in self._segmenters.values():
            total += segmenter.stats()
        return total

    def settle(self) -> Settled:
        """End counting, and return all units, which can be read repeatedly."""
        return Settled(self._side_by_side(), None) if self._runs is None else Settled([], self._all_spilled)

    def finish(self, *, sort: bool = True) -> Units:
        """All units, sorted by bytes, or in any order if `sort` is off. If they exceed max_memory, the rarest are
        dropped, and left_out is set."""
        if self._runs is None:
            return self._sorted() if sort else self._unsorted()
        store = Store(self._max_memory)
        for chunk in self._all_spilled():
            store.add(chunk)
        self.left_out = store.n_dropped_units, store.n_dropped, store.min_count
        return store.units()

    def _side_by_side(self) -> list[Table]:
        """The counters, each sorted, if nothing was spilled."""
        counters = [segmenter.counter for segmenter in self._segmenters.values()]
        self._segmenters = {}
        share_out(counters, len(counters), lambda _, counter: counter.sort())
        return counters

    def _sorted(self) -> Units:
        """All units, if nothing was spilled."""
        counters = self._side_by_side()
        parts = []
        while counters:
            parts.append(counters[-1].export())
            counters.pop().clear()
        return reduce(merge, parts) if parts else Counter().export()

    def _unsorted(self) -> Units:
        """All units, if nothing was spilled. With several threads, their order varies."""
        counters = [segmenter.counter for segmenter in self._segmenters.values()]
        assert all(isinstance(counter, Counter) for counter in counters)
        self._segmenters = {}
        return joined(cast("list[Counter]", counters))

    def _all_spilled(self) -> Iterator[Units]:
        assert self._runs is not None
        for segmenter in self._segmenters.values():
            if len(segmenter.counter):
                self._spill(segmenter.counter)
        self._segmenters = {}
        yield from merged(self._runs.read())


@dataclass(frozen=True)
class Settled:
    """All units that were counted. tables: the sorted table of each thread; empty if anything was spilled."""

    tables: list[Table]
    spilled: Callable[[], Iterator[Units]] | None

    def chunks(self) -> Iterator[Units]:
        """The units, sorted by bytes, in chunks."""
        return merged([table.chunks() for table in self.tables]) if self.spilled is None else self.spilled()


def joined(counters: list[Counter]) -> Units:
    """The sum of the counters, each unit once. Consumes the counters."""
    threads = len(counters)
    counters.sort(key=len, reverse=True)
    for k in range(1, threads):
        before, counter = counters[:k], counters[k]
        share_out(c_train.shares(len(counter), threads), threads, partial(_absorb, before, counter))
    for counter in counters[1:]:
        counter.drop_absorbed()
    return c_train.export(counters, max(threads, 1))


def _absorb(counters: list[Counter], other: Counter, _: int, bounds: tuple[int, int]) -> None:
    for counter in counters:
        counter.absorb(other, *bounds)


def _blocks(units: Units) -> Iterator[Units]:
    return (_part(units, begin, end) for begin, end in ranges(units.offsets, RUN_BLOCK_BYTES))


# ------------------------------------------------------------------------------------------------------- Runs ----


class Runs:
    """Temporary files of sorted blocks. They have no names, so they vanish with the process, however it ends.

    Each file is compressed with zstd. A block consists of the number of units and of bytes (int64), the sizes of the
    keys (uint32), the counts (uint64) and the keys.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: list[IO[bytes]] = []

    def __len__(self) -> int:
        return len(self._files)

    def write(self, blocks: Iterable[Units]) -> None:
        """Write a new run. May be called from any thread."""
        try:
            file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - close() closes it
            self._files.append(file)
            with zstandard.ZstdCompressor(level=1).stream_writer(file, closefd=False) as stream:
                for block in blocks:
                    head = np.array([len(block), len(block.data)], np.int64)
                    sizes = np.diff(block.offsets).astype(np.uint32)
                    stream.write(b"".join(array.tobytes() for array in (head, sizes, block.counts, block.data)))
            file.flush()
        except OSError as error:
            raise unwritable(error, self._folder) from error

    def read(self) -> list[Iterator[Units]]:
        return [_read(file) for file in self._files]

    def close(self) -> None:
        for file in self._files:
            with contextlib.suppress(OSError):  # the disk may be full, which write() has reported
                file.close()


def unwritable(error: OSError, folder: Path | None, what: str = "counts") -> OutputError:
    """The error for a temporary file that cannot be written."""
    where = folder or tempfile.gettempdir()
    return OutputError(
        f"{where}: {what} cannot be written: {error.strerror}; raise --max-memory, or set TMPDIR to another folder"
    )


def _read(file: IO[bytes]) -> Iterator[Units]:
    file.seek(0)
    with io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, closefd=False)) as stream:
        while head := stream.read(16):
            n, n_bytes = np.frombuffer(head, np.int64).tolist()
            offsets = np.zeros(n + 1, np.int64)
            np.cumsum(np.frombuffer(stream.read(4 * n), np.uint32), out=offsets[1:])
            counts = np.frombuffer(stream.read(8 * n), np.uint64)
            yield Units(np.frombuffer(stream.read(n_bytes), np.uint8), offsets, counts)


def merged(runs: list[Iterator[Units]]) -> Iterator[Units]:
    """The units of all runs, sorted by bytes, in chunks. A run is an iterator over sorted blocks."""
    waiting: list[tuple[Units, Iterator[Units]]] = []
    for blocks in runs:
        if (block := next(blocks, None)) is not None:
            waiting.append((block, blocks))
    while waiting:
        bound = min(_key(block, len(block) - 1) for block, _ in waiting)
        parts, rest = [], []
        for block, blocks in waiting:
            n = bisect_right(range(len(block)), bound, key=partial(_key, block))
            if n:
                parts.append(_part(block, 0, n))
            left = _part(block, n, len(block)) if n < len(block) else next(blocks, None)
            if left is not None:
                rest.append((left, blocks))
        waiting = rest
        yield reduce(merge, parts)


def _key(block: Units, i: int) -> bytes:
    return block.data[block.offsets[i] : block.offsets[i + 1]].tobytes()


def _part(block: Units, begin: int, end: int) -> Units:
    offsets = block.offsets[begin : end + 1]
    return Units(block.data[offsets[0] : offsets[-1]], offsets - offsets[0], block.counts[begin:end].copy())


class Store:
    """Units in memory. If they exceed the limit, the rarest are dropped, as few as possible."""

    def __init__(self, max_memory: int) -> None:
        self._max_memory = max_memory
        self._chunks: list[Units] = []
        self._n_bytes = 0
        self.min_count = 1
        self.n_dropped_units = self.n_dropped = 0

    def add(self, chunk: Units) -> None:
        self._chunks.append(self._common(chunk))
        self._n_bytes += _size(self._chunks[-1])
        while self._max_memory and self._n_bytes > self._max_memory // 3:  # the trainer needs the rest of the memory
            self.min_count += 1
            self._chunks = [self._common(kept) for kept in self._chunks]
            self._n_bytes = sum(map(_size, self._chunks))

    def _common(self, chunk: Units) -> Units:
        rare = chunk.counts < self.min_count
        if not rare.any():
            return chunk
        self.n_dropped_units += int(rare.sum())
        self.n_dropped += int(chunk.counts[rare].sum())
        return chunk.take(np.flatnonzero(~rare))

    def units(self) -> Units:
        chunks, self._chunks = self._chunks, []
        return Units.joined(chunks)


def _size(units: Units) -> int:
    return units.data.nbytes + units.offsets.nbytes + units.counts.nbytes
