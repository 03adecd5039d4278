"""Folder writes the files of one export, which all appear together or not at all. Tokens are linked or copied.

    link      a second name (hard link) of the same file: no time, no space, no second copy in the page cache
    reflink   a new file that shares the blocks of the old one until either changes (btrfs, XFS): no time, no space
    copy      inside the kernel if possible (copy_file_range), otherwise through a buffer

Every file is written or linked as NAME.partial; commit() renames all of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pyunitok.disk.outfile import check_target, give_name, new_file, partial_name, sync_folder
from pyunitok.errors import OutputError

FICLONE = 0x40049409  # linux/fs.h: _IOW(0x94, 9, int)
COPY_BYTES = 1 << 30  # copied by one call of copy_file_range
BUFFER_BYTES = 4 << 20
# If one of these errors is raised, a method is not supported, and the next one is tried.
CANNOT = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOSYS, errno.EINVAL, errno.ENOTTY}
CANNOT |= {errno.EOPNOTSUPP, errno.EBADF, errno.ETXTBSY}


@dataclass(frozen=True)
class WrittenFile:
    """One file of an export; how: "linked", "reflinked", "copied", "written" or "already present"."""

    path: Path
    n_bytes: int
    how: str


class Folder:
    """The folder of an export, created if needed. A context manager: without commit(), its exit removes the files.

    path       the folder
    overwrite  whether existing files may be replaced
    copy       never link
    keep       files that must never be replaced: the token file and its sidecars
    """

    def __init__(self, path: Path, *, overwrite: bool = False, copy: bool = False, keep: Iterable[Path] = ()) -> None:
        self.path = path
        self._overwrite, self._copy = overwrite, copy
        self._keep = {os.path.realpath(kept) for kept in keep}
        self._written: list[WrittenFile] = []
        self._stale: list[Path] = []
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path}: cannot create the folder: {error.strerror}") from error

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        for written in self._written:
            partial_name(written.path).unlink(missing_ok=True)

    def reserve(self, *names: str) -> None:
        """Raise OutputError, before any work, if a file with one of these names cannot be written or replaced."""
        for name in names:
            path = self.path / name
            if os.path.realpath(path) in self._keep:
                raise OutputError(f"{path} belongs to the token file itself; use another folder or another --name")
            check_target(path, overwrite=self._overwrite)

    def discard(self, paths: Iterable[Path], why: str) -> None:
        """Remove these files in commit(). If `overwrite` is not set, raises OutputError with the reason `why`."""
        found = sorted(paths)
        if found and not self._overwrite:
            raise OutputError(f"{found[0]} {why}; use an empty folder, or --overwrite to remove it")
        self._stale += found

    def share(self, name: str, source: Path) -> None:
        """Put `source` into the folder as `name`: as a link if possible, otherwise as a reflink or a copy."""
        self.reserve(name)
        partial = partial_name(self.path / name)
        if not self._copy:
            partial.unlink(missing_ok=True)
            how = "linked" if _link(source, partial) else "reflinked" if _reflink(source, partial) else None
            if how is not None:
                self._written.append(WrittenFile(self.path / name, source.stat().st_size, how))
                return
        self.copy(name, source, 0, source.stat().st_size)

    def copy(self, name: str, source: Path, begin: int, end: int, head: bytes = b"") -> None:
        """Write `head`, then bytes begin..end-1 of `source`."""
        with self.write(name, how="copied") as file:
            file.write(head)
            file.flush()
            _copy(source, begin, end - begin, file)

    @contextlib.contextmanager
    def write(self, name: str, how: str = "written") -> Any:
        """A new file to be written sequentially; it is synced to disk when the context ends."""
        self.reserve(name)
        path = self.path / name
        _remove_link(partial_name(path))
        with new_file(path, keep_partial=True) as file:
            at = len(self._written)
            self._written.append(WrittenFile(path, 0, how))
            yield file
            self._written[at] = WrittenFile(path, file.seek(0, os.SEEK_END), how)

    def commit(self) -> list[WrittenFile]:
        """Rename all files to their final names. They are on disk, so a file with its final name is always complete."""
        for path in self._stale:
            path.unlink(missing_ok=True)
        for written in self._written:
            give_name(written.path)
            partial_name(written.path).unlink(missing_ok=True)  # renaming one link of a file to another does nothing
        sync_folder(self.path)
        ret, self._written = self._written, []
        return ret


def _remove_link(partial: Path) -> None:
    """Remove the link to a token file that a killed export has left behind."""
    with contextlib.suppress(FileNotFoundError):
        status = partial.lstat()
        if stat.S_ISLNK(status.st_mode) or status.st_nlink > 1:
            partial.unlink()


def _link(source: Path, target: Path) -> bool:
    try:
        os.link(source.resolve(), target)
    except OSError as error:
        if error.errno in CANNOT:
            return False
        raise OutputError(f"{target}: cannot be linked: {error.strerror}") from error
    return True


def _reflink(source: Path, target: Path) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        with source.open("rb") as old, target.open("xb") as new:
            fcntl.ioctl(new.fileno(), FICLONE, old.fileno())
            os.fsync(new.fileno())
    except OSError as error:
        target.unlink(missing_ok=True)
        if error.errno in CANNOT:
            return False
        raise OutputError(f"{target}: cannot be written: {error.strerror}") from error
    return True


def _copy(source: Path, begin: int, n_bytes: int, file: IO[bytes]) -> None:
    """Append bytes begin..begin + n_bytes - 1 of `source`. Raises OutputError if it is shorter."""
    with source.open("rb") as old:
        done = _copy_in_kernel(old.fileno(), begin, n_bytes, file.fileno())
        old.seek(begin + done)
        file.seek(0, os.SEEK_END)
        while done < n_bytes:
            piece = old.read(min(BUFFER_BYTES, n_bytes - done))
            if not piece:
                raise OutputError(f"{source}: the file has shrunk: it ends at byte {begin + done}")
            file.write(piece)
            done += len(piece)


def _copy_in_kernel(old: int, begin: int, n_bytes: int, new: int) -> int:
    """Return the number of bytes copied: fewer than n_bytes if the source ends or the kernel does not support it."""
    done = 0
    if not hasattr(os, "copy_file_range"):
        return done
    try:
        while done < n_bytes:
            n = os.copy_file_range(old, new, min(COPY_BYTES, n_bytes - done), offset_src=begin + done)
            if n == 0:
                break
            done += n
    except OSError as error:
        if error.errno not in CANNOT:
            raise
    return done
