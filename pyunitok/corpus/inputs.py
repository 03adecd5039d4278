"""Turns command arguments into Sources, one for each file, in reading order.

    argument            becomes
    -                   stdin, once
    a file              itself, whatever its name
    a directory         its regular files, recursively, sorted by the bytes of their paths
    a glob pattern      its matches, sorted the same way; directories as above; ** matches any number of folders
    a URL               a file:// URL is a path; others (s3://…) name a file, directory or pattern: see remote.py

In directories and patterns, names that begin with "." are skipped. Symbolic links to files are followed, but not links
to directories, so there are no cycles. Files that are not text are skipped and listed (sniff.py). A command never reads
its own outputs.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import stat
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

from pyunitok.corpus import compressions, formats
from pyunitok.corpus.block import ByteStream
from pyunitok.corpus.compressions import NONE, Compression
from pyunitok.corpus.formats import FORMATS, Format
from pyunitok.corpus.jsonl import LINE_BYTES
from pyunitok.corpus.paths import FoundFile, LeftOut, expand
from pyunitok.corpus.pushback import Pushback
from pyunitok.corpus.raw_file import STDIN, RawFile
from pyunitok.corpus.sniff import not_text, why_not_text
from pyunitok.corpus.source import Source, without_secrets
from pyunitok.corpus.stream import decompressed
from pyunitok.disk import remote
from pyunitok.disk.url import is_url, shown, without_file_scheme, without_query
from pyunitok.errors import InputError, OptionError

# The output would silently contain garbage if these files were read as text.
BINARY_SUFFIXES = {".lz4", ".lzma", ".zip", ".7z", ".tar", ".tgz", ".arrow", ".npy", ".bin"}
BINARY_SUFFIXES |= {".u16", ".u32", ".ends", ".utk", ".partial", ".pkl", ".pt", ".safetensors", ".so", ".exe", ".dll"}
BINARY_SUFFIXES |= {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".mp3", ".mp4", ".wav", ".woff", ".ttf", ".pyc"}
REMOTE_THREADS = 16  # threads that fetch the first bytes of files at URLs
START_BYTES = 1 << 12  # bytes read from every file; few, because there may be many files
PIECE_BYTES = 1 << 16  # bytes read at a time to find the first line
MANIFEST_BYTES = 1 << 20


def find(
    arguments: Iterable[str],
    *,
    input_format: str = "auto",
    text_key: str = "text",
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    own: Iterable[str] = (),
    refuse: Iterable[str] = (),
    left_out: list[LeftOut] | None = None,
    allow_damaged: bool = False,
) -> list[Source]:
    """The files that `arguments` name.

    input_format  one of FORMATS, or "auto" to infer the format from each file's name or first line
    text_key      the field or column with the text of JSON lines or Parquet: see json_text.key_path
    include       patterns: among files found in directories and by globs, read only those that match
    exclude       patterns: never read files that match
    own           paths and URLs that the command writes and therefore does not read
    refuse        paths that must not be among the files, because the command would overwrite them
    left_out      receives the files in directories and globs that are not read: token files, dangling links, and files
                  that are not text
    allow_damaged if a file's beginning cannot be decompressed, assume that it is text, so that reading it fails later

    A pattern must match the file's name or, if it has a slash, the end of its path.

    Raises InputError if an argument matches no readable file, or names a file that is not text.
    """
    never, refused = _Excluded(own), _Excluded(refuse)
    left_out = [] if left_out is None else left_out
    chooser = _Chooser(input_format, text_key, include, exclude, left_out, allow_damaged)
    sources: list[Source] = []
    for argument in map(without_file_scheme, arguments):
        if argument == STDIN:
            if any(source.path == STDIN for source in sources):
                raise InputError("stdin ('-') is given twice, but can be read only once")
            sources += chooser.choose([FoundFile(STDIN, None, named=True)])
            continue
        n_left_out = len(left_out)
        found = expand(argument, left_out)
        for item in found:
            if refused.holds(item):
                raise InputError(f"{item.path} is both an input and the output; name another output")
        kept = [item for item in found if not never.holds(item)]
        chosen = chooser.choose(kept)
        if not chosen:
            raise InputError(f"{shown(argument)}: {_nothing(argument, len(found), len(kept), left_out[n_left_out:])}")
        sources += chosen
    return sources


def check_separator(sources: Iterable[Source], separator: str | bytes | None) -> None:
    """Raise OptionError if no input uses the separator, because every JSON line and Parquet row is a document."""
    names = sorted({source.format for source in sources})
    if separator is not None and names and all(FORMATS[name].has_text_key for name in names):
        raise OptionError(f"a separator (--doc) is for text files, but all inputs are {' or '.join(names)}; remove it")


def _check_module(name: str, needs: tuple[str, str] | None) -> None:
    """Raise InputError, before hours of work, if a module that the file requires is missing."""
    if needs is not None:
        try:
            import_module(needs[0])
        except ImportError as error:
            raise InputError(f"{name}: {needs[1]}") from error


class _Excluded:
    """Files that must not be read, identified by device and inode if they exist, otherwise by real path or URL."""

    def __init__(self, paths: Iterable[str]) -> None:
        paths = list(paths)
        self._urls = {_canonical(path) for path in paths if is_url(path)}
        self._real_paths = {os.path.realpath(path) for path in paths if not is_url(path)}
        self._inodes = set()
        for path in self._real_paths:
            try:
                status = Path(path).stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                self._inodes.add((status.st_dev, status.st_ino))

    def holds(self, found: FoundFile) -> bool:
        if found.status is None:
            return bool(self._urls) and _canonical(found.address) in self._urls
        inode = (found.status.st_dev, found.status.st_ino)
        return inode in self._inodes or os.path.realpath(found.path) in self._real_paths


def _canonical(url: str) -> str:
    return shown(remote.canonical(url))


def _nothing(argument: str, n_found: int, n_kept: int, left_out: list[LeftOut]) -> str:
    """Why an argument yields no file to read."""
    if n_found and not n_kept:
        return "is an output of this command"
    if left_out:
        more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        return f"no text to read; left out: {left_out[0].path} ({left_out[0].reason}){more}"
    if n_found:
        return "--include and --exclude leave no files"
    is_folder = not is_url(argument) and Path(argument).is_dir()
    return "contains no files" if is_folder else "no such file, and no file matches it as a pattern"


# --------------------------------------------------------------------------------- path → compression, format


class _Chooser:
    """Decides whether and how to read a file. find() describes the arguments."""

    def __init__(
        self, input_format: str, text_key: str, include: Iterable[str], exclude: Iterable[str],
        left_out: list[LeftOut], allow_damaged: bool,
    ) -> None:  # fmt: skip
        self._format, self._key = input_format, text_key
        self._include, self._exclude = list(include), list(exclude)
        self._left_out, self._allow_damaged = left_out, allow_damaged
        self._starts: dict[str, Future[bytes]] = {}  # first bytes of files at URLs

    def choose(self, found: list[FoundFile]) -> list[Source]:
        """The sources among the files of one argument."""
        tokens = _token_files(found)
        if unclear := [item.address for item in found if self._is_unclear(item)]:
            with ThreadPoolExecutor(REMOTE_THREADS) as threads:
                self._starts = {url: threads.submit(_start_of, url) for url in unclear}
        return [source for item in found if (source := self._choose(item, tokens)) is not None]

    @staticmethod
    def _is_unclear(item: FoundFile) -> bool:
        """Whether this is a file at a URL whose name indicates neither a compression nor a binary format."""
        suffix = os.path.splitext(without_query(item.path).lower())[1]  # noqa: PTH122
        named = formats.by_suffix(suffix)
        is_clear = compressions.by_suffix(suffix) is not NONE or (named and named.seekable) or suffix in BINARY_SUFFIXES
        return item.far is not None and not is_clear

    def _choose(self, item: FoundFile, tokens: dict[str, str]) -> Source | None:
        if item.path != STDIN and _matches(item.path, self._exclude):
            return None
        if not item.named and self._include and not _matches(item.path, self._include):
            return None
        if not item.named and item.path in tokens:
            self._left_out.append(LeftOut(item.path, tokens[item.path]))
            return None
        is_forced = self._format != "auto" and (item.named or bool(self._include))
        try:
            return self._source(item, is_forced)
        except _NotText as error:
            if item.named:
                raise not_text(item.path, str(error)) from None
            self._left_out.append(LeftOut(item.path, f"{error}, not text"))
            return None

    def _source(self, found: FoundFile, is_forced: bool) -> Source:
        """The file as a source. Raises _NotText if its name or first bytes show that it is not text; compressed files
        are checked when they are read."""
        path = found.path
        stem, suffix = os.path.splitext(without_query(path).lower())  # noqa: PTH122
        compression = compressions.by_suffix(suffix)
        if compression is not NONE:
            suffix = os.path.splitext(stem)[1]  # noqa: PTH122
        if suffix in BINARY_SUFFIXES and not is_forced:
            raise _NotText(f"a {suffix} file")
        start, raw = self._start(found)
        compression = compression if (by_start := compressions.by_start(start)) is NONE else by_start
        by_magic = formats.by_magic(start) if compression is NONE else None
        stream: ByteStream | None = None
        if raw is not None:
            if by_magic and by_magic.seekable and self._format in ("auto", by_magic.name):
                raise InputError(f"{raw.name}: a {by_magic.title} file cannot be read from a pipe; name the file")
            stream = decompressed(raw, compression.name)
        elif not is_forced and compression is NONE and not by_magic:
            named = FORMATS.get(self._format) or formats.by_suffix(suffix)
            if (why := why_not_text(start)) and not (named and named.seekable):
                raise _NotText(why)
        _check_module(path, compression.needs)
        format_, reason, stream = self._decide(found, suffix, compression, stream)
        if format_.seekable and (compression is not NONE or stream):
            raise InputError(
                f"{path}: a {format_.title} file cannot be read from a compressed file or pipe; decompress it to a file"
            )
        _check_module(path, format_.needs)
        etag = found.far.etag if found.far else None
        source = Source(
            found.address, format_.name, compression.name, found.size_bytes, found.mtime_ns, etag, reason=reason,
            opened=stream, is_forced=is_forced, url=found.address if found.far else None,
        )  # fmt: skip
        return without_secrets(source)

    def _start(self, found: FoundFile) -> tuple[bytes, RawFile | None]:
        """The first bytes of a file; empty if it is at a URL and they were not fetched. A pipe stays open, because its
        bytes cannot be read again."""
        if found.far:
            return self._starts[found.address].result() if found.address in self._starts else b"", None
        if found.is_pipe:
            raw = RawFile(found.address)
            return raw.peek(10), raw
        return _start_of(found.address), None

    def _decide(
        self, found: FoundFile, suffix: str, compression: Compression, stream: ByteStream | None
    ) -> tuple[Format, str, ByteStream | None]:
        """The format, the reason, and the stream of a pipe. The option takes precedence over the name, and the name
        over the first line."""
        if self._format in FORMATS:
            return FORMATS[self._format], "as requested", stream
        if by_suffix := formats.by_suffix(suffix):
            return by_suffix, f"its name ends in {suffix}", stream
        try:
            opened = Pushback(stream or decompressed(RawFile(found.address), compression.name))
            try:
                format_, reason = formats.by_first_line(_first_line(opened), self._key)
            finally:
                if not found.is_pipe:
                    opened.close()
        except InputError:
            if not self._allow_damaged or found.is_pipe:
                raise
            return formats.TEXT, "its beginning cannot be read", stream
        return format_, reason, opened if found.is_pipe else None


def _first_line(stream: Pushback) -> bytes:
    """The beginning of a stream, up to the end of its first non-blank line, but at most LINE_BYTES."""
    start, piece = bytearray(), memoryview(bytearray(PIECE_BYTES))
    while len(start) < LINE_BYTES and b"\n" not in start.lstrip():
        n = stream.readinto(piece[: LINE_BYTES - len(start)])
        if n == 0:
            break
        start += piece[:n]
    stream.unread(start)
    return bytes(start)


def _start_of(address: str) -> bytes:
    with contextlib.closing(RawFile(address)) as raw:
        return raw.peek(START_BYTES)


class _NotText(Exception):
    """The file is not text; the message says what it is."""


def _matches(path: str, patterns: list[str]) -> bool:
    """Whether a pattern matches the file's name or, if it has a slash, the end of its path."""
    name, whole = path.rpartition("/")[2], f"/{path}"
    for pattern in patterns:
        with_folder = "/" in pattern
        if fnmatch.fnmatchcase(whole if with_folder else name, f"*/{pattern.lstrip('/')}" if with_folder else pattern):
            return True
    return False


def _token_files(found: list[FoundFile]) -> dict[str, str]:
    """The output files of earlier runs: path → a description."""
    paths = {item.path for item in found if item.far is None}
    outs = [path for path in paths if f"{path}.ends" in paths and f"{path}.json" in paths and _is_manifest(path)]
    return {
        path: "a token file" if path == out else f"part of the token file {out}"
        for out in outs for path in paths if path == out or path.startswith(f"{out}.")
    }  # fmt: skip


def _is_manifest(out: str) -> bool:
    try:
        with Path(f"{out}.json").open("rb") as file:
            return b'"pyunitok"' in file.read(MANIFEST_BYTES)
    except OSError:
        return False
