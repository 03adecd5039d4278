"""Reads a source more than once: rereads files, and copies anything else."""

from __future__ import annotations

import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import zstandard

from pyunitok._c.sharing import share_out
from pyunitok.train.counting import unwritable
from pyunitok.train.lines import Batch
from pyunitok.train.sources import Adder, Progress, TextSource

IN_MEMORY_BYTES = 16 << 20  # the size up to which a copy stays in memory; a larger copy is a file


class Rereading:
    """A context manager: a source that can be fed to several counters in turn.

    Files are read again each time. A source that can be read only once (an iterator, stdin) is copied to a compressed
    temporary file. The file contains, for each batch, the size of a zstd frame and the frame: the number of documents,
    their sizes (int64) and their bytes.
    """

    def __init__(self, source: TextSource, threads: int, folder: Path | None) -> None:
        self._source, self._threads, self._folder = source, threads, folder
        self._copy: IO[bytes] | None = None
        if not source.may_reread:
            where = None if folder is None else str(folder)
            self._copy = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES, dir=where)  # noqa: SIM115
        self._n_bytes = 0  # in the copy
        self._lock = threading.Lock()

    def __enter__(self) -> Rereading:
        return self

    def __exit__(self, *_: object) -> None:
        if self._copy is not None:
            self._copy.close()

    def feed(self, counter: Adder, progress: Progress) -> None:
        """Count all documents."""
        if self._copy is None:
            self._source.feed(counter, progress, self._threads)
        elif not self._n_bytes:
            self._counter = counter
            self._source.feed(self, progress, self._threads)
        else:
            done = [0] * self._threads

            def work(thread: int, frame: bytes) -> None:
                counter.add(*_unpack(frame))
                done[thread] += len(frame)

            share_out(_frames(self._copy), self._threads, work, lambda: progress(sum(done), self._n_bytes))

    def add(self, data: Any, offsets: Any) -> None:
        """Copy and count a batch. May be called from any thread."""
        assert self._copy is not None
        head = np.concatenate(([len(offsets) - 1], np.diff(offsets))).astype(np.int64)
        text = head.tobytes() + data[offsets[0] : offsets[-1]].tobytes()
        frame = zstandard.ZstdCompressor(level=1).compress(text)
        try:
            with self._lock:
                self._copy.write(struct.pack("<q", len(frame)) + frame)
                self._n_bytes += len(frame)
        except OSError as error:
            raise unwritable(error, self._folder, "the texts") from error
        self._counter.add(data, offsets)


def _frames(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while size := file.read(8):
        yield file.read(struct.unpack("<q", size)[0])


def _unpack(frame: bytes) -> Batch:
    text = zstandard.ZstdDecompressor().decompress(frame)
    n = int(np.frombuffer(text, np.int64, 1)[0])
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.frombuffer(text, np.int64, n, 8), out=offsets[1:])
    return np.frombuffer(text, np.uint8, offset=8 * (n + 1)), offsets
