"""Writing files that are whole or not there: OutFile, which appends terabytes and hashes them, and what commits need.

A file is written as NAME.partial and takes its name when it is complete and on the disk.

Writing through the page cache costs a core a second or more for every 1.5 GB (it finds and fills pages that nobody will
read soon), which the encoder needs more. So once a file is large, its buffers go to the disk directly (O_DIRECT). What
stays small is written the usual way and stays in the cache for whoever opens it next.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from pathlib import Path

import xxhash

from pyunitok.errors import OutputError

HASH_CHUNK_BYTES = 64 << 20
BUFFER_BYTES = 4 << 20  # what one write takes; a multiple of any disk's block
DIRECT_FROM_BYTES = 64 << 20


def partial_name(path: Path) -> Path:
    """What a file is called until it is complete."""
    return path.with_name(path.name + ".partial")


def check_target(path: Path, *, overwrite: bool) -> None:
    """OutputError where no file may appear under this name: said before the work, not after it."""
    if path.is_dir():
        raise OutputError(f"{path} is a directory; name a file in it")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file and cannot be replaced")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists; --overwrite replaces it")


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where the system lets one ask for that."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def write_whole(path: Path, data: bytes | bytearray) -> None:
    """A small file at once: under its name and on the disk, or not there."""
    partial = partial_name(path)
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


class OutFile:
    """A new file at `path` (what was there is cut to nothing), locked against a second writer where the system can.

    n_bytes  appended so far

    OutputError where the file cannot be opened or written (a full disk, another process at it), naming file and byte.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_bytes = 0
        self._filled = 0
        self._direct = False
        self._may_be_direct = hasattr(os, "O_DIRECT")
        self._hash, self._hashed, self._digests = xxhash.xxh64(), 0, list[str]()
        self._buffer = mmap.mmap(-1, BUFFER_BYTES)  # page-aligned, as direct writes demand; freed with its last view
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise OutputError(f"{path}: cannot be opened for writing: {error.strerror}") from error
        try:
            self._lock()
            os.ftruncate(self._fd, 0)
        except BaseException:
            self.close()
            raise

    def write(self, data: memoryview) -> int:
        """Take all of these bytes; returns how many."""
        n_taken = len(data)
        self._add_to_hash(data)
        self.n_bytes += n_taken
        while len(data):
            part = data[: BUFFER_BYTES - self._filled]
            self._buffer[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            data = data[len(part) :]
            if self._filled == BUFFER_BYTES:
                self._flush()
        return n_taken

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

    def _lock(self) -> None:
        """Until the file is closed. A renamed file keeps its lock, a killed process loses it."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{self.path}: another process is writing it") from None
        except OSError:
            return  # a file system without locks

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
        rest = memoryview(self._buffer)[: self._filled]
        while len(rest):
            try:
                n_written = os.write(self._fd, rest)
            except OSError as error:
                if self._direct and error.errno == errno.EINVAL:
                    self._give_up_direct()  # this file system cannot after all
                    continue
                at = self.n_bytes - len(rest)
                raise OutputError(f"{self.path}: byte {at}: cannot be written: {error.strerror}") from error
            rest = rest[n_written:]
            if len(rest) and self._direct:
                self._give_up_direct()  # a short write leaves an offset that direct writes refuse
        self._filled = 0

    def _give_up_direct(self) -> None:
        self._set_direct(False)
        self._may_be_direct = False

    def _set_direct(self, direct: bool) -> None:
        if direct == self._direct:
            return
        import fcntl

        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self._fd, fcntl.F_SETFL, flags | os.O_DIRECT if direct else flags & ~os.O_DIRECT)
            self._direct = direct
        except OSError:
            if not direct:
                raise
            self._may_be_direct = False
