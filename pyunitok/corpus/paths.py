"""Expands command arguments to files: walks folders, matches patterns, lists URLs."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyunitok.corpus.raw_file import STDIN
from pyunitok.disk import remote
from pyunitok.disk.url import is_url, shown
from pyunitok.errors import InputError


@dataclass(frozen=True)
class LeftOut:
    """A file that was found but is not read, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True)
class FoundFile:
    """A file that an argument names or matches: stdin, a local file with its status, or a file at a URL.

    path   the path as stored and shown; only far.url contains the secrets of a URL
    named  whether the argument names this file itself, not a folder or a pattern
    """

    path: str
    status: os.stat_result | None
    far: remote.RemoteFile | None = None
    named: bool = False

    @property
    def address(self) -> str:
        """The path or URL to open."""
        return self.far.url if self.far else self.path

    @property
    def is_pipe(self) -> bool:
        """Whether the file can be read only once."""
        return self.far is None and (self.status is None or not stat.S_ISREG(self.status.st_mode))

    @property
    def size_bytes(self) -> int | None:
        if self.far:
            return self.far.size_bytes
        return None if self.status is None or self.is_pipe else self.status.st_size

    @property
    def mtime_ns(self) -> int | None:
        if self.far:
            return self.far.mtime_ns
        return None if self.status is None or self.is_pipe else self.status.st_mtime_ns


def expand(argument: str, left_out: list[LeftOut]) -> list[FoundFile]:
    """The files that an argument names, in reading order; left_out receives the folder entries that are not regular
    files."""
    if not argument:
        raise InputError("an argument is empty")
    if is_url(argument):
        return [FoundFile(shown(far.url), None, far, far.url == argument) for far in remote.expand(argument)]
    try:
        status = Path(argument).stat()
    except FileNotFoundError:
        found = dict(_glob(argument, left_out)) if _is_wild(argument) else {}
    except (OSError, ValueError) as error:
        raise InputError(f"{argument}: cannot be read: {error}") from error
    else:
        if not stat.S_ISDIR(status.st_mode):
            return [FoundFile(argument, status, named=True)]
        found = dict(_walk(argument, left_out))
    files = sorted(found.items(), key=lambda item: os.fsencode(item[0]))
    return [FoundFile("./-" if path == STDIN else path, status) for path, status in files]  # "-" is stdin


def _is_wild(text: str) -> bool:
    return re.search(r"[*?[]", text) is not None


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or ".") as entries:
            return list(entries)
    except OSError as error:
        raise InputError(f"{folder}: cannot be listed: {error.strerror}") from error


def _walk(folder: str, left_out: list[LeftOut]) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below a directory, in any order. Not recursive: a tree can be deeper than Python's stack."""
    folders = [folder]
    while folders:
        folder = folders.pop()
        for entry in _entries(folder):
            path = os.path.join(folder, entry.name)  # noqa: PTH118 (Path would drop a leading "./")
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif (status := _regular(path, left_out)) is not None:
                yield path, status


def _regular(path: str, left_out: list[LeftOut]) -> os.stat_result | None:
    """The status of a regular file or of a link to one. Other entries go into left_out."""
    try:
        status = Path(path).stat()
    except OSError as error:
        reason = "a dangling symbolic link" if Path(path).is_symlink() else f"cannot be read: {error.strerror}"
        left_out.append(LeftOut(path, reason))
        return None
    if stat.S_ISREG(status.st_mode):
        return status
    if not (stat.S_ISDIR(status.st_mode) and Path(path).is_symlink()):  # links to folders are never followed
        left_out.append(LeftOut(path, "not a regular file"))
    return None


def _glob(pattern: str, left_out: list[LeftOut]) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files that match a pattern or are below matching directories; may contain duplicates.

    The standard library's glob follows links to directories under "**" and may not terminate.
    """
    anchor = Path(pattern).anchor
    matches, part = [anchor], ""
    for part in Path(pattern).parts[bool(anchor) :]:
        matches = [path for folder in matches for path in _glob_part(folder, part)]
    last_is_wild = part != "**" and _is_wild(part)
    for path in matches:
        if Path(path).is_dir():
            if not (last_is_wild and Path(path).is_symlink()):
                yield from _walk(path, left_out)
        elif (status := _regular(path, left_out)) is not None:
            yield path, status


def _glob_part(folder: str, part: str) -> Iterator[str]:
    """The entries of `folder` ('' is the current one) that match one part of a pattern."""
    if part == "**":
        yield folder
        if folder and not Path(folder).is_dir():
            return
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from _glob_part(os.path.join(folder, entry.name), part)  # noqa: PTH118
    elif not _is_wild(part):
        path = os.path.join(folder, part)  # noqa: PTH118
        if os.path.lexists(path):
            yield path
    elif not folder or Path(folder).is_dir():
        for entry in _entries(folder):
            if fnmatch.fnmatchcase(entry.name, part) and (part[0] == "." or entry.name[0] != "."):
                yield os.path.join(folder, entry.name)  # noqa: PTH118
