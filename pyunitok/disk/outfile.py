"""Writes files that appear only when complete. The package writes all its permanent files with this module.

    OutFile       appends terabytes, hashes them, and resumes; reopened() returns an unfinished one
    new_file()    writes any other file sequentially; write_whole() if its content is in memory
    OutputLock    prevents two processes from writing the same OUT and its sidecars at once

A file is written as NAME.partial, under a lock, and renamed when it is complete and on disk. A link at NAME.partial is
never followed.

Writing 1.5 GB through the page cache takes at least a second of CPU time, which the encoder could use, and fills the
cache with data that will not be read soon. So large files are written directly to the disk (O_DIRECT). Small files are
written through the cache, because the next program will read them.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pyunitok.disk import hashing
from pyunitok.disk.hashing import ChunkHash, Hashed
from pyunitok.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

BUFFER_BYTES = 4 << 20  # bytes per write; a multiple of the block size of any disk
DIRECT_FROM_BYTES = 16 << 20


def partial_name(path: Path) -> Path:
    """The name of a file until it is complete."""
    return path.with_name(path.name + ".partial")


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise OutputError, before any work, if the file at this path cannot be written or replaced."""
    if path.is_dir():
        raise OutputError(f"{path} is a directory; name a file in it")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file and cannot be replaced")
    if standard_stream(path) is not None:
        raise OutputError(f"{path} is this command's own stdout or stderr; name another file")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists; --overwrite replaces it")


def check_folder(path: Path) -> None:
    """Raise OutputError, before any work, if the folder of this file does not exist."""
    if not path.parent.is_dir():
        raise OutputError(f"{path}: cannot be written: the folder {path.parent} does not exist; create it first")


def make_folder(path: Path, *, parents: bool = False) -> None:
    """Create a folder, unless it exists. Raises OutputError if that fails."""
    try:
        path.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be created: {error.strerror}") from error


def sync_folder(folder: Path) -> None:
    """Call fsync for a folder, if the system supports this, so that the names in the folder are on disk."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def open_own(path: Path, *, create: bool = True) -> int:
    """Open a file that only this process writes, for reading and writing. Does not truncate it. Returns a descriptor.

    Raises OutputError if the path is a link, because writing would destroy its target. Raises OSError if the file
    cannot be opened.
    """
    flags = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_BINARY", 0)
    if path.is_symlink():  # O_NOFOLLOW, if the system supports it, closes the gap between this check and opening
        raise OutputError(f"{path} is a symbolic link, and its target would be overwritten; remove the link")
    fd = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(fd)
        what = "is a hard link to another file" if stat.S_ISREG(status.st_mode) else "is not a regular file"
        raise OutputError(f"{path} {what}, and would be overwritten; remove it")
    return fd


def open_locked(path: Path, named: Path, *, create: bool = True) -> int:
    """Like open_own, but also lock the file until it is closed, if the system supports locks.

    A renamed file keeps its lock; a killed process loses it. Raises OutputError, which names `named`, if another
    process holds the lock.
    """
    while True:
        fd = open_own(path, create=create)
        try:
            if not _lock(fd, named) or _is_still(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the file's previous owner renamed or removed it between our open and our lock


def _lock(fd: int, named: Path) -> bool:
    """Lock a file. Returns False if the system or the file system does not support locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{named}: another process is writing it") from None
    except OSError:
        return False
    return True


def _is_still(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def give_name(path: Path) -> None:
    """Rename NAME.partial, which is complete and on disk, to NAME. Call sync_folder() to put the new name on disk."""
    partial_name(path).replace(path)


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool = True, keep_partial: bool = False) -> Iterator[IO[bytes]]:
    """Open a file to be written sequentially. When the context ends, the file is complete and on disk; after an
    exception, the path is unchanged. Raises OutputError like check_target, or if the file cannot be written.

    keep_partial  leave the file as NAME.partial; the caller calls give_name() later
    """
    check_target(path, overwrite=overwrite)
    partial = partial_name(path)
    try:
        with open(open_locked(partial, path), "wb") as file:
            try:
                file.truncate()
                yield file
                file.flush()
                os.fsync(file.fileno())
                if fcntl is None:
                    file.close()  # Windows cannot rename an open file; elsewhere, closing would release the lock
                if not keep_partial:
                    give_name(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    partial.unlink()  # to free space, if the disk is full
                raise
        if not keep_partial:
            sync_folder(path.parent)
    except OSError as error:
        if error.filename is not None and Path(os.fsdecode(error.filename)) not in (path, partial):
            raise  # the error is about another file
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


def write_whole(path: Path, data: bytes | bytearray) -> None:
    """Write a small file. Afterwards it is complete and on disk, or unchanged. Never replaces a device."""
    with new_file(path) as file:
        file.write(data)


def standard_stream(path: Path) -> int | None:
    """The descriptor, if the path is this process's stdout or stderr: /dev/stdout, or the file that it is redirected
    to; otherwise None."""
    for fd in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(path.stat(), os.fstat(fd)):
                return fd
    return None


def lock_path(out: Path) -> Path:
    return partial_name(out.with_name(out.name + ".lock"))


class OutputLock:
    """A lock on OUT and its sidecars, held from the first byte until the last rename.

    The lock is on a separate file, because OUT is renamed, and uses flock, so that a killed process loses the lock.
    Raises OutputError if another process holds the lock. Does nothing if the system does not support locks.
    """

    def __init__(self, out: Path) -> None:
        self.path = lock_path(out)
        self._fd = -1
        if fcntl is None:
            return
        try:
            self._fd = open_locked(self.path, out)
        except OSError as error:
            raise OutputError(f"{out}: cannot be written: {error.strerror}") from error

    def release(self) -> None:
        """Remove the lock file and release the lock. A second call does nothing."""
        if self._fd >= 0:
            self.path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


class OutFile:
    """An append-only file at `path`, locked against a second writer if the system supports that.

    n_bytes  the number of bytes appended so far

    An existing file is truncated. With `state`, it is truncated to the recorded length, its last chunk is verified, and
    writing continues there.

    Raises OutputError, naming the file and byte, if the file cannot be opened or written (a full disk, another writer),
    or does not match `state`.

        flushed in full buffers ────────────┐        ┌─ n_bytes
        [ BUFFER_BYTES | BUFFER_BYTES | ... | buffer ]
    """

    def __init__(self, path: Path, state: Hashed | None = None) -> None:
        self.path = path
        self.n_bytes = 0
        self._filled = 0
        self._direct = False
        self._may_be_direct = hasattr(os, "O_DIRECT")
        self._hash = ChunkHash()
        self._buffer = mmap.mmap(-1, BUFFER_BYTES)  # page-aligned, as direct writes require; freed with its last view
        self._fd = self._sync_fd = -1
        try:
            self._fd = open_locked(path, path, create=state is None)
            # save() writes partial buffers with this descriptor, which has its own offset and never uses O_DIRECT.
            self._sync_fd = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            if state is None:
                os.ftruncate(self._fd, 0)
            else:
                self._restore(state)
        except BaseException as error:
            self.close()
            if isinstance(error, FileNotFoundError) and state is not None:
                raise OutputError(f"{path} is missing, so the run cannot resume; --overwrite starts again") from error
            if isinstance(error, OSError):
                raise OutputError(f"{path}: cannot be opened for writing: {error.strerror}") from error
            raise

    def write(self, data: memoryview) -> int:
        """Append all of these bytes. Returns their number."""
        n_taken = len(data)
        self._hash.update(data)
        while len(data):
            part = data[: BUFFER_BYTES - self._filled]
            self._buffer[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            self.n_bytes += len(part)
            data = data[len(part) :]
            if self._filled == BUFFER_BYTES:
                self._flush()
        return n_taken

    def save(self) -> Hashed:
        """Pass all data written so far to the system, and return the state of the file. sync() puts the data on disk.

        A partial buffer is written but also kept, so that later writes stay aligned.
        """
        if self._filled:
            os.lseek(self._sync_fd, self.n_bytes - self._filled, os.SEEK_SET)
            self._write_all(self._sync_fd, memoryview(self._buffer)[: self._filled])
        return self._hash.state()

    def sync(self) -> None:
        """Sync to disk everything that save() or a full buffer has written. Another thread may write meanwhile."""
        try:
            os.fsync(self._sync_fd)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be synced to disk: {error.strerror}") from error

    def finish(self, path: Path | None = None) -> list[str]:
        """Write the rest, sync and close. Returns the XXH64 of each chunk of HASH_CHUNK_BYTES bytes.

        path  NAME, if this file is NAME.partial and is to be renamed
        """
        self._set_direct(False)  # the rest may not be a multiple of the block size
        self._flush()
        self.sync()
        if path is not None and fcntl is not None:  # while it is locked
            give_name(path)
        self.close()
        if path is not None:
            if fcntl is None:  # Windows cannot rename an open file
                give_name(path)
            sync_folder(path.parent)
        return self._hash.state().all_digests()

    def close(self) -> None:
        """Close without finishing. The file keeps everything that was flushed. A second call does nothing."""
        for fd in (self._fd, self._sync_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._sync_fd = -1

    def state_at(self, n_bytes: int) -> Hashed:
        """The state of the file when it had n_bytes, which must not exceed its size. Reads at most one chunk."""
        self.save()
        hashed = ChunkHash(tuple(self._hash.digests[: n_bytes // hashing.HASH_CHUNK_BYTES]))
        self._hash_range(hashed, hashed.n_bytes, n_bytes)
        if hashed.n_bytes < n_bytes:
            raise OutputError(f"{self.path}: ends at byte {hashed.n_bytes}: it has been truncated")
        return hashed.state()

    def cut(self, state: Hashed) -> None:
        """Truncate the file to a state that state_at() returned."""
        self._set_direct(False)
        self._restore(state)

    def verify(self, state: Hashed) -> None:
        """Raise OutputError unless all complete chunks match `state`. Opening the file verified only the bytes after
        them."""
        size = hashing.HASH_CHUNK_BYTES
        for k, digest in enumerate(state.digests):
            hashed = ChunkHash()
            self._hash_range(hashed, k * size, (k + 1) * size)
            if hashed.state().all_digests() != [digest]:
                raise self._differs(k * size, (k + 1) * size)

    def _hash_range(self, hashed: ChunkHash, at: int, end: int) -> None:
        """Update `hashed` with bytes at..end-1 of the file, or with fewer if the file ends earlier."""
        while at < end and (piece := os.pread(self._sync_fd, min(BUFFER_BYTES, end - at), at)):
            hashed.update(memoryview(piece))
            at += len(piece)

    def _differs(self, begin: int, end: int) -> OutputError:
        return OutputError(
            f"{self.path}: bytes {begin} to {end} are not those that were written (their XXH64 does not match); "
            "--overwrite starts again"
        )

    def _restore(self, state: Hashed) -> None:
        """Truncate the file to a recorded state, and load the hash and the buffer. Reads the last chunk."""
        size, n_bytes = os.fstat(self._fd).st_size, state.n_bytes
        if size < n_bytes:
            raise OutputError(
                f"{self.path}: has {size} bytes, but {n_bytes} were written: it has been truncated; "
                "--overwrite starts again"
            )
        os.ftruncate(self._fd, n_bytes)
        self._hash = ChunkHash(state.digests)
        self._filled = n_bytes % BUFFER_BYTES
        buffer_at = n_bytes - self._filled
        at = os.lseek(self._fd, min(state.rest_at, buffer_at), os.SEEK_SET)
        while at < n_bytes and (piece := os.read(self._fd, min(BUFFER_BYTES, n_bytes - at))):
            self._hash.update(memoryview(piece)[max(0, state.rest_at - at) :])
            kept = piece[max(0, buffer_at - at) :]
            into = max(0, at - buffer_at)
            self._buffer[into : into + len(kept)] = kept
            at += len(piece)
        if self._hash.state() != state:
            raise self._differs(state.rest_at, n_bytes)
        os.lseek(self._fd, buffer_at, os.SEEK_SET)
        self.n_bytes = n_bytes

    def _flush(self) -> None:
        if self._may_be_direct and self.n_bytes >= DIRECT_FROM_BYTES and self._filled == BUFFER_BYTES:
            self._set_direct(True)
        self._write_all(self._fd, memoryview(self._buffer)[: self._filled])
        self._filled = 0

    def _write_all(self, fd: int, rest: memoryview) -> None:
        """Write `rest`, the buffer or its filled part, which ends at byte n_bytes of the file."""
        while len(rest):
            try:
                n_written = os.write(fd, rest)
            except OSError as error:
                if self._direct and error.errno == errno.EINVAL:
                    self._give_up_direct()  # this file system does not support it
                    continue
                at = self.n_bytes - len(rest)
                raise OutputError(f"{self.path}: byte {at}: cannot be written: {error.strerror}") from error
            rest = rest[n_written:]
            if len(rest) and self._direct and fd == self._fd:
                self._give_up_direct()  # a short write leaves an offset that direct writes reject

    def _give_up_direct(self) -> None:
        self._set_direct(False)
        self._may_be_direct = False

    def _set_direct(self, direct: bool) -> None:
        if direct == self._direct:
            return
        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        try:
            fcntl.fcntl(self._fd, fcntl.F_SETFL, flags | os.O_DIRECT if direct else flags & ~os.O_DIRECT)
            self._direct = direct
        except OSError:
            if not direct:
                raise
            self._may_be_direct = False


def reopened(path: Path, state: Hashed | None) -> OutFile:
    """The unfinished file for `path`, at a recorded state; empty if `state` is None.

    If the run was killed after the file had been given its final name, the file becomes unfinished again.
    """
    partial = partial_name(path)
    if state is not None and not partial.exists() and path.exists():
        path.replace(partial)
    return OutFile(partial, state)
