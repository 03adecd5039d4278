"""RawFile reads the stored bytes of a file, a pipe or a URL."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys

from pyunitok.corpus.unchanged import Unchanged
from pyunitok.disk import remote
from pyunitok.disk.url import is_url, shown
from pyunitok.errors import InputError

STDIN = "-"
STDIN_NAME = "<stdin>"
CHUNK_BYTES = 1 << 18  # compressed bytes read at a time


class RawFile:
    """A ByteStream of the stored bytes of a file, a pipe or a URL. Errors are InputErrors that name the file.

    name      the path as shown in messages, or "<stdin>"
    position  the offset of the next byte in the file
    """

    def __init__(self, path: str) -> None:
        self.name = STDIN_NAME if path == STDIN else shown(path)
        self.position = 0
        self._ahead = b""
        self._end: int | None = None
        self._file: io.RawIOBase
        try:
            if path == STDIN:
                if sys.stdin is None:
                    raise InputError(f"{self.name}: closed")
                # Not sys.stdin.buffer: an abandoned thread that blocks in it holds a lock that Python needs at exit.
                self._file = io.FileIO(sys.stdin.fileno(), closefd=False)
            elif is_url(path):
                self._file = remote.open_file(path)
            else:
                # Unbuffered: all reads are large, and readinto avoids a copy.
                self._file = io.FileIO(path)
        except OSError as error:
            raise InputError(f"{self.name}: cannot be opened: {error.strerror}") from error
        self._unchanged = None if path == STDIN or is_url(path) else Unchanged(self._file, self.name)
        # A parent process may have made a pipe non-blocking; a read that finds no data would look like the end of file.
        with contextlib.suppress(OSError, ValueError):
            os.set_blocking(self._file.fileno(), True)

    @property
    def n_bytes(self) -> int | None:
        """The size of a regular file; otherwise None."""
        try:
            status = os.fstat(self._file.fileno())
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def expect(self, n_bytes: int | None, mtime_ns: int | None) -> None:
        """Raise InputError if the file has changed since it was found; see Unchanged."""
        if self._unchanged is not None:
            self._unchanged.expect(n_bytes, mtime_ns)

    def begin_at(self, position: int) -> None:
        """Start reading at this byte. Pipes do not support this call."""
        try:
            self.position = self._file.seek(position)
        except OSError as error:
            raise self._failed(error) from error

    def end_at(self, position: int | None) -> None:
        """Treat this position as the end of the file."""
        self._end = position

    def peek(self, n_bytes: int) -> bytes:
        """The next n_bytes, fewer only at the end of the file, without consuming them."""
        while len(self._ahead) < n_bytes:
            more = self._read(n_bytes - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead[:n_bytes]

    def read(self, n_bytes: int) -> bytes:
        """The next 1 to n_bytes bytes; empty at the end of the file."""
        n_bytes = self._up_to_end(n_bytes)
        if self._ahead:
            chunk, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
        else:
            chunk = self._read(n_bytes)
        self.position += len(chunk)
        return chunk

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer unless the file ends first."""
        buffer = buffer[: self._up_to_end(len(buffer))]
        n = 0
        while self._ahead and n < len(buffer):
            chunk = self.read(len(buffer) - n)
            buffer[n : n + len(chunk)] = chunk
            n += len(chunk)
        while n < len(buffer):
            try:
                n_read = self._file.readinto(buffer[n:])
            except OSError as error:
                raise self._failed(error) from error
            if not n_read:
                self._check_position(0, at_end=True)
                break
            n += n_read
            self.position += n_read
            self._check_position(0)
        return n

    def compressed_position(self) -> int:
        return self.position

    def close(self) -> None:
        if self.name != STDIN_NAME:
            self._file.close()

    def _up_to_end(self, n_bytes: int) -> int:
        return n_bytes if self._end is None else min(n_bytes, self._end - self.position)

    def _read(self, n_bytes: int) -> bytes:
        try:
            chunk = self._file.read(n_bytes) or b""
        except OSError as error:
            raise self._failed(error) from error
        self._check_position(len(self._ahead) + len(chunk), at_end=not chunk)
        return chunk

    def _check_position(self, n_ahead: int, *, at_end: bool = False) -> None:
        """Raise InputError if the file has changed since it was opened. n_ahead: bytes read but not yet returned;
        at_end: a read has reached the end of the file."""
        if self._unchanged is None:
            return
        if at_end:
            self._unchanged.check(self.position + n_ahead if self._end is None else None)
        elif self.position + n_ahead > self._unchanged.n_bytes:
            self._unchanged.check()

    def _failed(self, error: OSError) -> InputError:
        return InputError(f"{self.name}: byte {self.position}: cannot be read: {error.strerror}")
