"""Files that appear only when complete. Whatever the package writes for good is written here.

    OutFile       appends terabytes, hashes them, and resumes
    new_file()    any other file, written in order; write_whole() where its content is in memory
    OutputLock    keeps two processes from writing the same OUT and its sidecars

A file is written as NAME.partial, under a lock, and renamed when it is complete and on disk. A link at NAME.partial is
never followed.

Writing through the page cache costs a second or more of a core for every 1.5 GB, to fill pages that will not be read
soon; the encoder has better use for it. So the buffers of a large file go directly to the disk (O_DIRECT). A small file
is written the usual way and stays in the cache for whoever opens it next.
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

BUFFER_BYTES = 4 << 20  # what one write takes; a multiple of any disk's block
DIRECT_FROM_BYTES = 16 << 20


def partial_name(path: Path) -> Path:
    """The name of a file until it is complete."""
    return path.with_name(path.name + ".partial")


def check_target(path: Path, *, overwrite: bool) -> None:
    """OutputError, before any work, if no file can be written under this name."""
    if path.is_dir():
        raise OutputError(f"{path} is a directory; name a file in it")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file and cannot be replaced")
    if standard_stream(path) is not None:
        raise OutputError(f"{path} is where this command's own output goes; name another file")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists; --overwrite replaces it")


def check_folder(path: Path) -> None:
    """OutputError, before any work, if the folder of this file does not exist."""
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}; create it first")


def sync_folder(folder: Path) -> None:
    """fsync a folder, so that its names are on disk, where the system can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def open_own(path: Path, *, create: bool = True) -> int:
    """A descriptor of a file that only we write, to read and write; what it holds stays.

    OutputError if a link stands under its name: opening it for writing would destroy the file that it leads to. An
    OSError if it cannot be opened.
    """
    flags = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_BINARY", 0)
    if path.is_symlink():  # O_NOFOLLOW closes the gap between looking and opening, where the system has it
        raise OutputError(f"{path} is a symbolic link, and would be overwritten: remove it")
    fd = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(fd)
        what = "is a hard link to another file" if stat.S_ISREG(status.st_mode) else "is not a regular file"
        raise OutputError(f"{path} {what}, and would be overwritten: remove it")
    return fd


def open_locked(path: Path, named: Path, *, create: bool = True) -> int:
    """Like open_own, and until the file is closed no other process can open it this way, where the system has locks.

    A renamed file keeps its lock, a killed process loses it. OutputError, with the name `named`, if another has it.
    """
    while True:
        fd = open_own(path, create=create)
        try:
            if not _lock(fd, named) or _is_still(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the process before us has renamed or removed it between our open and our lock


def _lock(fd: int, named: Path) -> bool:
    """False where the system or the file system has no locks."""
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
    """Rename NAME.partial, which is complete and on disk, to NAME. sync_folder() then puts the name on disk."""
    partial_name(path).replace(path)


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool = True, keep_partial: bool = False) -> Iterator[IO[bytes]]:
    """A file to write in order. When the context ends, it is complete and on disk, under its name; an exception leaves
    what was there before. OutputError as from check_target, or if it cannot be written.

    keep_partial  it stays NAME.partial: give_name() comes later
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
                    file.close()  # Windows renames no open file; elsewhere, closing it would release the lock
                if not keep_partial:
                    give_name(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    partial.unlink()  # it would take up what is left of a full disk
                raise
        if not keep_partial:
            sync_folder(path.parent)
    except OSError as error:
        if error.filename is not None and Path(os.fsdecode(error.filename)) not in (path, partial):
            raise  # of another file
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


def write_whole(path: Path, data: bytes | bytearray) -> None:
    """Write a small file: afterwards it is complete and on disk, or unchanged. A device is never replaced by it."""
    with new_file(path) as file:
        file.write(data)


def standard_stream(path: Path) -> int | None:
    """The descriptor, where the name leads to this process's stdout or stderr: /dev/stdout, or their file's name."""
    for fd in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(path.stat(), os.fstat(fd)):
                return fd
    return None


def lock_path(out: Path) -> Path:
    return partial_name(out.with_name(out.name + ".lock"))


class OutputLock:
    """The process that holds it is the only one that writes OUT and its sidecars, from first byte to last rename.

    A separate file, since the files written change their names; locked by flock, so a killed process loses it.
    OutputError if another process holds it. Does nothing where the system has no locks.
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
        """Remove the lock file and release the lock; a second call does nothing."""
        if self._fd >= 0:
            self.path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


class OutFile:
    """A file that only grows, at `path`, locked against a second writer where the system can.

    n_bytes  appended so far

    An existing file is emptied. With `state` it is cut to the length given there, its last chunk is compared with the
    hash, and writing continues where it stopped.

    OutputError, naming file and byte, if it cannot be opened or written (a full disk, another writer), or if it is not
    what `state` says.

        flushed: a whole number of buffers ─┐        ┌─ n_bytes
        [ BUFFER_BYTES | BUFFER_BYTES | ... | buffer ]
    """

    def __init__(self, path: Path, state: Hashed | None = None) -> None:
        self.path = path
        self.n_bytes = 0
        self._filled = 0
        self._direct = False
        self._may_be_direct = hasattr(os, "O_DIRECT")
        self._hash = ChunkHash()
        self._buffer = mmap.mmap(-1, BUFFER_BYTES)  # page-aligned, as direct writes demand; freed with its last view
        self._fd = self._sync_fd = -1
        try:
            self._fd = open_locked(path, path, create=state is None)
            # Of its own offset and without O_DIRECT: what has not filled a buffer goes through it, see save().
            self._sync_fd = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            if state is None:
                os.ftruncate(self._fd, 0)
            else:
                self._restore(state)
        except BaseException as error:
            self.close()
            if isinstance(error, FileNotFoundError) and state is not None:
                raise OutputError(f"{path} is missing and is needed to resume; --overwrite starts again") from error
            if isinstance(error, OSError):
                raise OutputError(f"{path}: cannot be opened for writing: {error.strerror}") from error
            raise

    def write(self, data: memoryview) -> int:
        """Take all of these bytes; returns how many."""
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
        """Pass everything written so far to the system, and return what the file holds; sync() then puts it on disk.

        The part in the buffer is written and also kept, so that later writes stay aligned.
        """
        if self._filled:
            os.lseek(self._sync_fd, self.n_bytes - self._filled, os.SEEK_SET)
            self._write_all(self._sync_fd, memoryview(self._buffer)[: self._filled])
        return self._hash.state()

    def sync(self) -> None:
        """Put on disk what save() or a full buffer has written; another thread may keep writing."""
        try:
            os.fsync(self._sync_fd)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be synced to disk: {error.strerror}") from error

    def finish(self, path: Path | None = None) -> list[str]:
        """Write the rest, sync, close; returns the XXH64 of each HASH_CHUNK_BYTES.

        path  where the file is this one's NAME.partial: also give it its name
        """
        self._set_direct(False)  # the rest is not a whole number of blocks
        self._flush()
        self.sync()
        if path is not None and fcntl is not None:  # while it is locked
            give_name(path)
        self.close()
        if path is not None:
            if fcntl is None:  # Windows renames no open file
                give_name(path)
            sync_folder(path.parent)
        return self._hash.state().all_digests()

    def close(self) -> None:
        """Close without finishing; a second call does nothing. What was flushed stays in the file."""
        for fd in (self._fd, self._sync_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._sync_fd = -1

    def state_at(self, n_bytes: int) -> Hashed:
        """What the file held when it had n_bytes bytes, no more than it has now. Reads at most a chunk."""
        self.save()
        hashed = ChunkHash(tuple(self._hash.digests[: n_bytes // hashing.HASH_CHUNK_BYTES]))
        while hashed.n_bytes < n_bytes:
            n_wanted = min(BUFFER_BYTES, n_bytes - hashed.n_bytes)
            piece = os.pread(self._sync_fd, n_wanted, hashed.n_bytes)
            if not piece:
                raise OutputError(f"{self.path}: ends at byte {hashed.n_bytes}: it has been truncated")
            hashed.update(memoryview(piece))
        return hashed.state()

    def cut(self, state: Hashed) -> None:
        """Forget what follows the beginning that state_at() described."""
        self._set_direct(False)
        self._restore(state)

    def verify(self, state: Hashed) -> None:
        """OutputError unless all whole chunks are what `state` says: on opening, only what follows them is read."""
        size = hashing.HASH_CHUNK_BYTES
        for k, digest in enumerate(state.digests):
            hashed = ChunkHash()
            while hashed.n_bytes < size and (
                piece := os.pread(self._sync_fd, min(BUFFER_BYTES, size - hashed.n_bytes), k * size + hashed.n_bytes)
            ):
                hashed.update(memoryview(piece))
            if hashed.state().all_digests() != [digest]:
                raise OutputError(
                    f"{self.path}: bytes {k * size} to {(k + 1) * size} are not those that were written (their XXH64"
                    " differs); --overwrite starts again"
                )

    def _restore(self, state: Hashed) -> None:
        """Cut the file to what it was, and load hash and buffer; reads the last chunk."""
        size, n_bytes = os.fstat(self._fd).st_size, state.n_bytes
        if size < n_bytes:
            raise OutputError(
                f"{self.path}: {size} bytes, but {n_bytes} had been written: it has been truncated; "
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
            raise OutputError(
                f"{self.path}: bytes {state.rest_at} to {n_bytes} are not those that were written (XXH64 differs); "
                "--overwrite starts again"
            )
        os.lseek(self._fd, buffer_at, os.SEEK_SET)
        self.n_bytes = n_bytes

    def _flush(self) -> None:
        if self._may_be_direct and self.n_bytes >= DIRECT_FROM_BYTES and self._filled == BUFFER_BYTES:
            self._set_direct(True)
        self._write_all(self._fd, memoryview(self._buffer)[: self._filled])
        self._filled = 0

    def _write_all(self, fd: int, rest: memoryview) -> None:
        """The buffer, or what there is of it, which ends at n_bytes."""
        while len(rest):
            try:
                n_written = os.write(fd, rest)
            except OSError as error:
                if self._direct and error.errno == errno.EINVAL:
                    self._give_up_direct()  # this file system cannot after all
                    continue
                at = self.n_bytes - len(rest)
                raise OutputError(f"{self.path}: byte {at}: cannot be written: {error.strerror}") from error
            rest = rest[n_written:]
            if len(rest) and self._direct and fd == self._fd:
                self._give_up_direct()  # a short write leaves an offset that direct writes refuse

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
