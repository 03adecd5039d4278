"""Arguments of the command → Source, one a file, in the order in which they are read.

    argument            becomes
    -                   stdin, once
    a file              itself, whatever its name
    a directory         its regular files, recursively, sorted by the bytes of their paths
    a glob pattern      what matches, sorted the same way, directories as above; ** is any number of folders
    a URL               file:// as a path; any other (s3://…) is a file, directory or pattern there: see remote.py

Within directories and patterns, names that begin with "." are left out, symbolic links to files are followed
and those to directories are not, so there are no cycles. The command's own outputs are never read.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyunitok.corpus.block import ByteStream
from pyunitok.corpus.frames import MAGIC, SKIPPABLE_MAGICS
from pyunitok.corpus.source import STDIN, Source
from pyunitok.corpus.stream import Lookahead, RawFile, decompressed
from pyunitok.disk import remote
from pyunitok.errors import InputError

COMPRESSIONS = {".zst": "zst", ".zstd": "zst", ".gz": "gz", ".bz2": "bz2", ".xz": "xz"}
PARQUET_SUFFIXES = {".parquet", ".pq"}
PARQUET_MAGICS = (b"PAR1", b"PARE")  # PARE: the footer is encrypted
JSONL_SUFFIXES = {".jsonl", ".ndjson"}
TEXT_SUFFIXES = {".txt", ".text", ".md", ".rst", ".tex", ".log", ".csv", ".tsv", ".html", ".htm", ".xml"}
# Read as text these would be garbage in the output, and nobody would see it.
BINARY_SUFFIXES = {".lz4", ".lzma", ".zip", ".7z", ".tar", ".tgz", ".arrow", ".npy", ".bin"}
BINARY_SUFFIXES |= {".u16", ".u32", ".ends", ".utk", ".partial", ".pkl", ".pt", ".safetensors", ".so", ".exe", ".dll"}
BINARY_SUFFIXES |= {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".mp3", ".mp4", ".wav", ".woff", ".ttf", ".pyc"}
LOOK_BYTES = 1 << 20  # of a file's beginning, to tell its format


def find(
    arguments: Iterable[str],
    *,
    input_format: str = "auto",
    text_key: str = "text",
    exclude: Iterable[str] = (),
    refuse: Iterable[str] = (),
) -> list[Source]:
    """The files that `arguments` name.

    input_format  'text', 'jsonl', 'parquet', or 'auto' to go by each name, else by the first line
    text_key      of JSON lines and Parquet, with dots: see json_text.key_path
    exclude       paths and URLs that are never read, existing or not
    refuse        paths that must not be among the files: the command is about to overwrite them

    Raises InputError where an argument names nothing, or a file's format is out of the question.
    """
    excluded, refused = _Excluded(exclude), _Excluded(refuse)
    sources: list[Source] = []
    for argument in map(remote.without_file_scheme, arguments):
        if argument == STDIN:
            if any(source.path == STDIN for source in sources):
                raise InputError("stdin ('-') is given twice, and can be read once")
            sources.append(_source(_Found(STDIN, None), input_format, text_key))
            continue
        found = _expand(argument)
        for item in found:
            if refused.holds(item):
                raise InputError(f"{item.path} is to be read and to be overwritten; name another output")
        kept = [item for item in found if not excluded.holds(item)]
        if not kept:
            raise InputError(f"{argument}: {_nothing(argument, len(found))}")
        sources += [_source(item, input_format, text_key) for item in kept]
    return sources


@dataclass(frozen=True)
class _Found:
    """A file that an argument names: stdin, a local one with its status, or one behind a URL."""

    path: str
    status: os.stat_result | None
    far: remote.Found | None = None

    @property
    def is_pipe(self) -> bool:
        """What has been read of it cannot be read again."""
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


class _Excluded:
    """Files that must not be read: those that exist by device and inode, others by their real path, or URL."""

    def __init__(self, paths: Iterable[str]) -> None:
        paths = list(paths)
        self._urls = {remote.canonical(path) for path in paths if remote.is_url(path)}
        self._real_paths = {os.path.realpath(path) for path in paths if not remote.is_url(path)}
        self._inodes = set()
        for path in self._real_paths:
            try:
                status = Path(path).stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                self._inodes.add((status.st_dev, status.st_ino))

    def holds(self, found: _Found) -> bool:
        if found.status is None:
            return bool(self._urls) and remote.canonical(found.path) in self._urls
        inode = (found.status.st_dev, found.status.st_ino)
        return inode in self._inodes or os.path.realpath(found.path) in self._real_paths


def _nothing(argument: str, n_excluded: int) -> str:
    if n_excluded:
        return "is what this command writes"
    if remote.is_url(argument):
        return "nothing is there, and no file matches it as a pattern"
    return "holds no file" if Path(argument).is_dir() else "no such file, and no file matches it as a pattern"


# ------------------------------------------------------------------------------------------ arguments → paths


def _expand(argument: str) -> list[_Found]:
    """The files of one argument, in reading order."""
    if not argument:
        raise InputError("an argument is empty")
    if remote.is_url(argument):
        return [_Found(far.url, None, far) for far in remote.expand(argument)]
    try:
        status = Path(argument).stat()
    except FileNotFoundError:
        found = dict(_glob(argument)) if _is_wild(argument) else {}
    except (OSError, ValueError) as error:
        raise InputError(f"{argument}: cannot be read: {error}") from error
    else:
        if not stat.S_ISDIR(status.st_mode):
            return [_Found(argument, status)]
        found = dict(_walk(argument))
    files = sorted(found.items(), key=lambda item: os.fsencode(item[0]))
    return [_Found("./-" if path == STDIN else path, status) for path, status in files]  # a file named "-" is a file


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


def _source(found: _Found, input_format: str, text_key: str) -> Source:
    path = found.path
    stem, suffix = os.path.splitext(remote.without_query(path).lower())  # noqa: PTH122
    compression = COMPRESSIONS.get(suffix, "none")
    stream: ByteStream | None = None
    if found.is_pipe:
        # A pipe's name tells little (/dev/fd/63), and what has been read of it cannot be read again.
        raw = RawFile(path)
        if compression == "none":
            compression = _compression_of(raw.peek(10))
        if compression == "none" and input_format in ("auto", "parquet") and raw.peek(4) in PARQUET_MAGICS:
            raise InputError(f"{raw.name}: a Parquet file cannot be read from a pipe; name the file")
        stream = decompressed(raw, compression)
    if suffix in COMPRESSIONS:
        suffix = os.path.splitext(stem)[1]  # noqa: PTH122
    if input_format == "auto":
        format_, reason, stream = _decide(found, suffix, compression, text_key, stream)
    else:
        format_, reason = input_format, "as told"
    if format_ == "parquet" and (compression != "none" or stream):
        raise InputError(f"{path}: a Parquet file is read as it lies there: decompress it, and name the file")
    etag = found.far.etag if found.far else None
    return Source(path, format_, compression, found.size_bytes, found.mtime_ns, etag, reason, stream)


def _decide(
    found: _Found, suffix: str, compression: str, text_key: str, stream: ByteStream | None
) -> tuple[str, str, ByteStream | None]:
    """Format and reason, by the name, else by the first line; and a pipe's stream, read or not."""
    if suffix in BINARY_SUFFIXES:
        raise InputError(f"{found.path}: a {suffix} file is no text; --input-format text reads it as if it were")
    for format_, suffixes in (("parquet", PARQUET_SUFFIXES), ("jsonl", JSONL_SUFFIXES), ("text", TEXT_SUFFIXES)):
        if suffix in suffixes:
            return format_, f"its name ends in {suffix}", stream
    looked = Lookahead(stream or decompressed(RawFile(found.path), compression))
    try:
        format_, reason = _format_of(looked.peek_line(LOOK_BYTES), text_key)
    finally:
        if not found.is_pipe:
            looked.close()
    return format_, reason, looked if found.is_pipe else None


def _compression_of(start: bytes) -> str:
    if start[:4] == MAGIC or start[:4] in SKIPPABLE_MAGICS:
        return "zst"
    if start[:2] == b"\x1f\x8b":
        return "gz"
    if start[:6] == b"\xfd7zXZ\0":
        return "xz"
    # "BZh" and a digit may begin a text; what follows, the head of a block or of the end, does not.
    return "bz2" if re.match(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", start) else "none"


def _format_of(start: bytes, text_key: str) -> tuple[str, str]:
    """Format and reason, from a file's beginning: its first line that is not blank, or LOOK_BYTES of it.

    A longer first line is JSON if it begins an object and the last name of the key is in sight as the name of
    a string; the rest of the object is taken on trust, and the reader will say so if that is wrong.
    """
    from pyunitok.corpus.json_text import BLANK, BOM, TextField, key_path  # only now: see decompressed()

    if start[:4] in PARQUET_MAGICS:
        return "parquet", f"it begins with {start[:4].decode()}"
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
