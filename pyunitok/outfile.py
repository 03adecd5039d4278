"""OutFile: appends to a file that may grow to terabytes, past the page cache where the system can, and hashes it.

Writing through the page cache costs a core a second or more for every 1.5 GB (it finds and fills pages that nobody will
read soon), which the encoder needs more. So once a file is large, its buffers go to the disk directly (O_DIRECT). What
stays small is written the usual way and stays in the cache for whoever opens it next.
"""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

import xxhash

HASH_CHUNK_BYTES = 64 << 20
BUFFER_BYTES = 4 << 20  # what one write takes; a multiple of any disk's block
DIRECT_FROM_BYTES = 64 << 20


class OutFile:
    """A new file at `path` (what was there is cut to nothing).

    n_bytes  appended so far
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_bytes = 0
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)
        self._buffer = mmap.mmap(-1, BUFFER_BYTES)  # page-aligned, as direct writes demand
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._direct = False
        self._may_be_direct = hasattr(os, "O_DIRECT")
        self._hash, self._hashed, self._digests = xxhash.xxh64(), 0, list[str]()

    def append(self, data: memoryview) -> None:
        """Take bytes; OSError where the disk is full or fails."""
        self._add_to_hash(data)
        self.n_bytes += len(data)
        while len(data):
            part = data[: BUFFER_BYTES - self._filled]
            self._view[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            data = data[len(part) :]
            if self._filled == BUFFER_BYTES:
                self._flush()

    def finish(self) -> list[str]:
        """Write the rest, put everything on the disk, close; the XXH64 of each HASH_CHUNK_BYTES."""
        self._set_direct(False)  # the rest is no whole number of blocks
        self._flush()
        os.fsync(self._fd)
        self.close()
        if self._hashed:
            self._digests.append(self._hash.hexdigest())
        return self._digests

    def close(self) -> None:
        """Close without finishing; a second call does nothing. What was flushed stays in the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._view.release()
            self._buffer.close()

    def _add_to_hash(self, data: memoryview) -> None:
        while len(data):
            part = data[: HASH_CHUNK_BYTES - self._hashed]
            self._hash.update(part)
            self._hashed += len(part)
            data = data[len(part) :]
            if self._hashed == HASH_CHUNK_BYTES:
                self._digests.append(self._hash.hexdigest())
                self._hash, self._hashed = xxhash.xxh64(), 0

    def _flush(self) -> None:
        if self._may_be_direct and self.n_bytes >= DIRECT_FROM_BYTES and self._filled == BUFFER_BYTES:
            self._set_direct(True)
        rest = self._view[: self._filled]
        while len(rest):
            try:
                n_written = os.write(self._fd, rest)
            except OSError as error:
                if not (self._direct and error.errno == errno.EINVAL):
                    raise
                self._set_direct(False)  # this file system cannot after all
                self._may_be_direct = False
                continue
            rest = rest[n_written:]
            if len(rest) and self._direct:
                self._set_direct(False)  # a short write leaves an offset that direct writes refuse
                self._may_be_direct = False
        self._filled = 0

    def _set_direct(self, direct: bool) -> None:
        if direct == self._direct:
            return
        import fcntl

        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self._fd, fcntl.F_SETFL, flags | os.O_DIRECT if direct else flags & ~os.O_DIRECT)
            self._direct = direct
        except OSError:
            self._may_be_direct = False
