"""A source that is read more than once: files again, and a copy of what can be read only once."""

from __future__ import annotations

import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from pyunitok._c.sharing import share_out
from pyunitok.train.counting import unwritable
from pyunitok.train.lines import Batch
from pyunitok.train.sources import Adder, Progress, Source

IN_MEMORY_BYTES = 16 << 20  # of a copy; the rest is in a file


class Rereading:
    """A source that may be fed to several counters in turn.

    Files are read again each time. Of what can be read only once (an iterator, stdin) a compressed copy is kept in a
    temporary file.
    """

    def __init__(self, source: Source, threads: int, folder: Path | None) -> None:
        self._source, self._threads = source, threads
        self._kept = None if source.may_reread else _Kept(folder)
        self._n_fed = 0

    def __enter__(self) -> Rereading:
        return self

    def __exit__(self, *_: object) -> None:
        if self._kept is not None:
            self._kept.close()

    def feed(self, counter: Adder, progress: Progress) -> None:
        """Count all documents."""
        self._n_fed += 1
        if self._kept is None:
            self._source.feed(counter, progress, self._threads)
        elif self._n_fed == 1:
            self._source.feed(_Keeping(counter, self._kept), progress, self._threads)
        else:
            self._feed_again(counter, self._kept, progress)

    def _feed_again(self, counter: Adder, kept: _Kept, progress: Progress) -> None:
        def work(thread: int, block: bytes) -> None:
            counter.add(*_unpack(block))
            done[thread] += len(block)

        done = [0] * self._threads
        share_out(kept.blocks(), self._threads, work, lambda: progress(sum(done), kept.n_bytes))


class _Keeping:
    """A counter that keeps what it counts."""

    def __init__(self, counter: Adder, kept: _Kept) -> None:
        self._counter, self._kept = counter, kept

    def add(self, data: Any, offsets: Any) -> None:
        self._kept.add(data, offsets)
        self._counter.add(data, offsets)


class _Kept:
    """Batches in a file, each a size and a zstd frame of the number of documents, their sizes (int64), and their bytes.

    add() is called in any thread.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        where = None if folder is None else str(folder)
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES, dir=where)  # noqa: SIM115 (close() closes it)
        self.n_bytes = 0

    def close(self) -> None:
        self._file.close()

    def add(self, data: Any, offsets: Any) -> None:
        head = np.concatenate(([len(offsets) - 1], np.diff(offsets))).astype(np.int64)
        text = head.tobytes() + data[offsets[0] : offsets[-1]].tobytes()
        frame = zstandard.ZstdCompressor(level=1).compress(text)
        try:
            with self._lock:
                self._file.write(struct.pack("<q", len(frame)) + frame)
                self.n_bytes += len(frame)
        except OSError as error:
            raise unwritable(error, self._folder, "the texts") from error

    def blocks(self) -> Iterator[bytes]:
        """Frames."""
        self._file.seek(0)
        while size := self._file.read(8):
            yield self._file.read(struct.unpack("<q", size)[0])


def _unpack(frame: bytes) -> Batch:
    text = zstandard.ZstdDecompressor().decompress(frame)
    n = int(np.frombuffer(text, np.int64, 1)[0])
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.frombuffer(text, np.int64, n, 8), out=offsets[1:])
    return np.frombuffer(text, np.uint8, offset=8 * (n + 1)), offsets
