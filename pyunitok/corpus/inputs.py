"""Arguments of the command → Source, one a file, in the order in which they are read.

    argument            becomes
    -                   stdin, once
    a file              itself, whatever its name
    a directory         its regular files, recursively, sorted by the bytes of their paths
    a glob pattern      what matches, sorted the same way, directories as above; ** is any number of folders

Within directories and patterns, names that begin with "." are left out, symbolic links to files are followed
and those to directories are not, so there are no cycles. The command's own outputs are never read.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pyunitok.corpus.block import ByteStream
from pyunitok.corpus.frames import MAGIC, SKIPPABLE_MAGICS
from pyunitok.corpus.stream import STDIN, STDIN_NAME, Lookahead, RawFile, decompressed
from pyunitok.errors import InputError

COMPRESSIONS = {".zst": "zst", ".zstd": "zst", ".gz": "gz"}
JSONL_SUFFIXES = {".jsonl", ".ndjson"}
TEXT_SUFFIXES = {".txt", ".text", ".md", ".rst", ".tex", ".log", ".csv", ".tsv", ".html", ".htm", ".xml"}
# Read as text these would be garbage in the output, and nobody would see it.
BINARY_SUFFIXES = {".bz2", ".xz", ".lz4", ".zip", ".7z", ".tar", ".tgz", ".parquet", ".arrow", ".npy", ".bin"}
BINARY_SUFFIXES |= {".u16", ".u32", ".ends", ".utk", ".partial", ".pkl", ".pt", ".safetensors", ".so", ".exe", ".dll"}
BINARY_SUFFIXES |= {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".mp3", ".mp4", ".wav", ".woff", ".ttf", ".pyc"}
LOOK_BYTES = 1 << 20  # of a file's beginning, to tell its format


@dataclass(frozen=True)
class Source:
    """One file to read.

    path         as given or found; '-' is stdin
    compression  'zst', 'gz' or 'none'
    format       'text' or 'jsonl'
    reason       a few words: why that format
    size_bytes   of the file as it lies there; None for pipes
    opened       the stream, where finding out had to open something that can be opened only once
    """

    path: str
    compression: str
    format: str
    reason: str
    size_bytes: int | None
    opened: ByteStream | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """For messages."""
        return STDIN_NAME if self.path == STDIN else self.path


def find(
    arguments: Iterable[str],
    *,
    input_format: str = "auto",
    text_key: str = "text",
    exclude: Iterable[str] = (),
    refuse: Iterable[str] = (),
) -> list[Source]:
    """The files that `arguments` name.

    input_format  'text', 'jsonl', or 'auto' to go by each name, else by the first line
    text_key      of JSON lines, with dots: see json_text.key_path
    exclude       paths that are never read, existing or not
    refuse        paths that must not be among the files: the command is about to overwrite them

    Raises InputError where an argument names nothing, or a file's format is out of the question.
    """
    excluded, refused = _Excluded(exclude), _Excluded(refuse)
    sources: list[Source] = []
    for argument in arguments:
        if argument == STDIN:
            if any(source.path == STDIN for source in sources):
                raise InputError("stdin ('-') is given twice, and can be read once")
            sources.append(_source(STDIN, None, input_format, text_key))
            continue
        paths = _expand(argument)
        for path, status in paths:
            if refused.holds(path, status):
                raise InputError(f"{path} is to be read and to be overwritten; name another output")
        kept = [(path, status) for path, status in paths if not excluded.holds(path, status)]
        if not kept:
            raise InputError(f"{argument}: {_nothing(argument, len(paths))}")
        sources += [_source(path, status, input_format, text_key) for path, status in kept]
    return sources


class _Excluded:
    """Files that must not be read: those that exist by device and inode, the others by their real path."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._real_paths = {os.path.realpath(path) for path in paths}
        self._inodes = set()
        for path in self._real_paths:
            try:
                status = Path(path).stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                self._inodes.add((status.st_dev, status.st_ino))

    def holds(self, path: str, status: os.stat_result) -> bool:
        return (status.st_dev, status.st_ino) in self._inodes or os.path.realpath(path) in self._real_paths


def _nothing(argument: str, n_excluded: int) -> str:
    if n_excluded:
        return "is what this command writes"
    return "holds no file" if Path(argument).is_dir() else "no such file, and no file matches it as a pattern"


# ------------------------------------------------------------------------------------------ arguments → paths


def _expand(argument: str) -> list[tuple[str, os.stat_result]]:
    """The files of one argument with their stat, in reading order."""
    if not argument:
        raise InputError("an argument is empty")
    try:
        status = Path(argument).stat()
    except FileNotFoundError:
        found = dict(_glob(argument)) if _is_wild(argument) else {}
    except (OSError, ValueError) as error:
        raise InputError(f"{argument}: cannot be read: {error}") from error
    else:
        if not stat.S_ISDIR(status.st_mode):
            return [(argument, status)]
        found = dict(_walk(argument))
    return sorted(found.items(), key=lambda item: os.fsencode(item[0]))


def _is_wild(text: str) -> bool:
    return re.search(r"[*?[]", text) is not None


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or ".") as entries:
            return list(entries)
    except OSError as error:
        raise InputError(f"{folder}: cannot be listed: {error.strerror}") from error


def _walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below a directory, in no order. A loop: trees can be deeper than Python's stack."""
    folders = [folder]
    while folders:
        folder = folders.pop()
        for entry in _entries(folder):
            path = os.path.join(folder, entry.name)  # noqa: PTH118 (Path would drop a leading "./")
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif (status := _regular(path)) is not None:
                yield path, status


def _regular(path: str) -> os.stat_result | None:
    """The stat of a regular file or of a link to one; None for anything else, dangling links included."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _glob(pattern: str) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files that a pattern names or that lie below directories it names; some perhaps twice.

    The standard library's glob descends into linked directories under "**", so it can go round in circles.
    """
    anchor = Path(pattern).anchor
    matches, part = [anchor], ""
    for part in Path(pattern).parts[bool(anchor) :]:
        matches = [path for folder in matches for path in _glob_part(folder, part)]
    last_is_wild = part != "**" and _is_wild(part)
    for path in matches:
        if Path(path).is_dir():
            if not (last_is_wild and Path(path).is_symlink()):
                yield from _walk(path)
        elif (status := _regular(path)) is not None:
            yield path, status


def _glob_part(folder: str, part: str) -> Iterator[str]:
    """What one part of a pattern matches in `folder` ('' is the current one)."""
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


# --------------------------------------------------------------------------------- path → compression, format


def _source(path: str, status: os.stat_result | None, input_format: str, text_key: str) -> Source:
    """`status` is None for stdin."""
    regular = status is not None and stat.S_ISREG(status.st_mode)
    size_bytes = status.st_size if status is not None and regular else None
    stem, suffix = os.path.splitext(path.lower())  # noqa: PTH122
    compression = COMPRESSIONS.get(suffix, "none")
    stream: ByteStream | None = None
    if not regular:
        # A pipe's name tells little (/dev/fd/63), and what has been read of it cannot be read again.
        raw = RawFile(path)
        if compression == "none":
            compression = _compression_of(raw.peek(4))
        stream = decompressed(raw, compression)
    if input_format != "auto":
        return Source(path, compression, input_format, "as told", size_bytes, stream)

    if suffix in COMPRESSIONS:
        suffix = os.path.splitext(stem)[1]  # noqa: PTH122
    if suffix in BINARY_SUFFIXES:
        raise InputError(f"{path}: a {suffix} file is no text; --input-format text reads it as if it were")
    if suffix in JSONL_SUFFIXES:
        return Source(path, compression, "jsonl", f"its name ends in {suffix}", size_bytes, stream)
    if suffix in TEXT_SUFFIXES:
        return Source(path, compression, "text", f"its name ends in {suffix}", size_bytes, stream)
    looked = Lookahead(stream or decompressed(RawFile(path), compression))
    try:
        found, reason = _format_of(looked.peek_line(LOOK_BYTES), text_key)
    finally:
        if regular:
            looked.close()
    return Source(path, compression, found, reason, size_bytes, None if regular else looked)


def _compression_of(start: bytes) -> str:
    if start == MAGIC or start in SKIPPABLE_MAGICS:
        return "zst"
    return "gz" if start[:2] == b"\x1f\x8b" else "none"


def _format_of(start: bytes, text_key: str) -> tuple[str, str]:
    """Format and reason, from a file's beginning: its first line that is not blank, or LOOK_BYTES of it.

    A longer first line is JSON if it begins an object and the last name of the key is in sight as the name of
    a string; the rest of the object is taken on trust, and the reader will say so if that is wrong.
    """
    from pyunitok.corpus.json_text import BLANK, BOM, TextField, key_path  # only now: see decompressed()

    line, newline, _ = start.removeprefix(BOM).lstrip(BLANK).partition(b"\n")
    if len(start) >= LOOK_BYTES and not newline:
        name = re.escape(key_path(text_key)[-1].encode())
        if line.startswith(b"{") and re.search(b'"' + name + rb'"\s*:\s*"', line):
            return "jsonl", f"its first line, of more than 1 MiB, begins an object with {text_key!r}"
        return "text", f"its first line, of more than 1 MiB, shows no {text_key!r} at its beginning"
    try:
        TextField(text_key).of_line(line)
    except ValueError:
        return "text", f"its first line is no JSON object with a string under {text_key!r}"
    return "jsonl", f"its first line is a JSON object with {text_key!r}"
