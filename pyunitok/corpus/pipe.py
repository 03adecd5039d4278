"""PipeStream hashes a pipe as it is read, so that a resumed run can verify that its input has not changed.

A file is identified by its size and modification time. A pipe can be read only from its beginning, and identified only
by its bytes: when a run resumes, the bytes are read again, verified against the hash, and discarded.

    resuming:      [ verified, discarded        | verified, then returned   | returned ...   ]
                   0                          start                   known.n_bytes
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyunitok.corpus.block import ByteStream
from pyunitok.corpus.position import Position
from pyunitok.corpus.source import Source
from pyunitok.disk.hashing import HASH_CHUNK_BYTES, ChunkHash, Hashed
from pyunitok.errors import InputError

PIECE_BYTES = 1 << 18


def watched(
    sources: Sequence[Source], known: Mapping[int, Hashed], start: Position
) -> tuple[list[Source], dict[int, PipeStream]]:
    """The sources, with a PipeStream in each one that can be read only once, and these streams by source number.

    known  by source number, the hash of the bytes that an earlier run has read
    start  where that run resumes
    """
    ret, pipes = list(sources), dict[int, PipeStream]()
    for k, source in enumerate(sources):
        if source.opened is not None and not source.is_range:
            pipes[k] = PipeStream(source.opened, known.get(k), start.bytes if k == start.source else 0)
            ret[k] = replace(source, opened=pipes[k])
    return ret, pipes


class PipeStream:
    """Wraps a ByteStream.

    known  the hash of the bytes that an earlier run read; the caller reads the known bytes from `start` on again

    If the pipe does not begin with the known bytes, readinto raises InputError before it returns bytes from `start` on.
    """

    def __init__(self, stream: ByteStream, known: Hashed | None = None, start: int = 0) -> None:
        self.name = stream.name
        self.compressed_position, self.close = stream.compressed_position, stream.close
        self._stream = stream
        self._hash = ChunkHash()
        self._turn = threading.Lock()  # because one thread reads while another calls state()
        self._known, self._start = known or Hashed(), start
        self._checked = not self._known.n_bytes
        self._n_compared = 0  # chunks compared so far
        self._ahead = memoryview(b"")
        self._n_out = 0

    def state(self) -> Hashed:
        """The hash of all bytes read from the pipe so far."""
        with self._turn:
            return self._hash.state()

    def readinto(self, buffer: memoryview) -> int:
        if not self._checked and self._n_out + len(buffer) > self._start:
            self._check()
        n = min(len(buffer), len(self._ahead))
        buffer[:n] = self._ahead[:n]
        self._ahead = self._ahead[n:]
        n += self._read(buffer[n:])
        self._n_out += n
        if not self._checked:
            if n < len(buffer):
                raise self._ended()
            self._compare()
        return n

    def drain(self) -> None:
        """Read the pipe to its end. Raises InputError unless its contents are exactly the known bytes."""
        self._start = self._known.n_bytes
        piece = memoryview(bytearray(PIECE_BYTES))
        self._check()
        if self._stream.readinto(piece[:1]):
            raise self._differs(f"it is longer than before ({self._known.n_bytes} bytes)")

    def _read(self, buffer: memoryview) -> int:
        n_read = self._stream.readinto(buffer)
        with self._turn:
            self._hash.update(buffer[:n_read])
        return n_read

    def _check(self) -> None:
        """Read and verify all known bytes, and buffer the bytes from `start` on."""
        known, at = self._known, self._hash.n_bytes
        held = bytearray()
        piece = memoryview(bytearray(PIECE_BYTES))
        while at < known.n_bytes:
            n_read = self._read(piece[: min(PIECE_BYTES, known.n_bytes - at)])
            if not n_read:
                raise self._ended()
            held += piece[max(0, self._start - at) : n_read]
            at += n_read
            self._compare()
        self._ahead, self._checked = memoryview(held), True

    def _compare(self) -> None:
        """Raise InputError if a chunk read so far, or the partial chunk at the end, has changed."""
        known, end = self._known, self._hash.n_bytes
        for k in range(self._n_compared, min(len(self._hash.digests), len(known.digests))):
            if self._hash.digests[k] != known.digests[k]:
                raise self._differs(f"its bytes {k * HASH_CHUNK_BYTES} to {(k + 1) * HASH_CHUNK_BYTES} differ")
            self._n_compared = k + 1
        if end == known.n_bytes and self._hash.state() != known:
            raise self._differs(f"its bytes {known.rest_at} to {end} differ")

    def _ended(self) -> InputError:
        return self._differs(f"it ends at byte {self._hash.n_bytes}, but had at least {self._known.n_bytes} bytes")

    def _differs(self, how: str) -> InputError:
        return InputError(f"{self.name}: not the input of the interrupted run: {how}; --overwrite starts again")
