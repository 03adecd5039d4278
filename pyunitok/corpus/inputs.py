"""Arguments of the command → Source, one a file, in the order in which they are read.

    argument            becomes
    -                   stdin, once
    a file              itself, whatever its name
    a directory         its regular files, recursively, sorted by the bytes of their paths
    a glob pattern      what matches, sorted the same way, directories as above; ** is any number of folders
    a URL               file:// as a path; any other (s3://…) is a file, directory or pattern there: see remote.py

In directories and patterns names that begin with "." are passed over, symbolic links to files are followed and those to
directories are not, so there are no cycles; files that do not look like text are left out and listed (sniff.py).
The command's own outputs are never read.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pyunitok.corpus.block import ByteStream
from pyunitok.corpus.paths import Found, LeftOut, expand
from pyunitok.corpus.sniff import compression_of, not_text, why_not_text
from pyunitok.corpus.source import NEEDS_PYARROW, STDIN, Source, without_secrets
from pyunitok.corpus.stream import Lookahead, RawFile, decompressed
from pyunitok.disk.url import is_url, shown, without_file_scheme, without_query
from pyunitok.errors import InputError, OptionError

if TYPE_CHECKING:
    from concurrent.futures import Future

COMPRESSIONS = {".zst": "zst", ".zstd": "zst", ".gz": "gz", ".bz2": "bz2", ".xz": "xz"}
PARQUET_SUFFIXES = {".parquet", ".pq"}
PARQUET_MAGICS = (b"PAR1", b"PARE")  # PARE: the footer is encrypted
JSONL_SUFFIXES = {".jsonl", ".ndjson"}
TEXT_SUFFIXES = {".txt", ".text", ".md", ".rst", ".tex", ".log", ".csv", ".tsv", ".html", ".htm", ".xml"}
# Read as text these would put garbage into the output, unnoticed.
BINARY_SUFFIXES = {".lz4", ".lzma", ".zip", ".7z", ".tar", ".tgz", ".arrow", ".npy", ".bin"}
BINARY_SUFFIXES |= {".u16", ".u32", ".ends", ".utk", ".partial", ".pkl", ".pt", ".safetensors", ".so", ".exe", ".dll"}
BINARY_SUFFIXES |= {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".mp3", ".mp4", ".wav", ".woff", ".ttf", ".pyc"}
# By format or compression: a module that not every Python has, and what to say where it is missing.
PACKAGES = {
    "parquet": ("pyarrow.parquet", NEEDS_PYARROW),
    "bz2": ("bz2", "this Python was built without bz2; use another Python, or decompress the file"),
    "xz": ("lzma", "this Python was built without lzma; use another Python, or decompress the file"),
}
FAR_THREADS = 16  # ask for the first bytes of files behind URLs
START_BYTES = 1 << 12  # looked at of every file, of which there may be many
MANIFEST_BYTES = 1 << 20
LINE_BYTES = 1 << 20  # of a file's beginning, to tell its format by the first line


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

    input_format  'text', 'jsonl', 'parquet', or 'auto' to go by each name, else by the first line
    text_key      of JSON lines and Parquet, with dots: see json_text.key_path
    include       patterns: of the files in directories and of those that a pattern matches, only these
    exclude       patterns: files that are not read, however they are named
    own           paths and URLs that are never read, existing or not: what the command writes
    refuse        paths that must not be among the files: the command is about to overwrite them
    left_out      gets what directories and patterns hold and is not read: all that is not recognisably text, token
                  files, links that lead nowhere
    allow_damaged a file whose beginning cannot be decompressed is taken as text: reading it will fail

    A pattern is matched with the file's name or, if it has a slash, with the end of its path.

    Raises InputError if an argument names nothing to read, or a file that is named by itself is not text.
    """
    never, refused = _Excluded(own), _Excluded(refuse)
    left_out = [] if left_out is None else left_out
    chooser = _Chooser(input_format, text_key, include, exclude, left_out, allow_damaged)
    sources: list[Source] = []
    for argument in map(without_file_scheme, arguments):
        if argument == STDIN:
            if any(source.path == STDIN for source in sources):
                raise InputError("stdin ('-') is given twice, and can be read once")
            sources += chooser.choose([Found(STDIN, None, named=True)])
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
    """OptionError for a separator that no input uses: of JSON lines and of Parquet, a record is a document."""
    formats = sorted({source.format for source in sources})
    if separator is not None and formats and "text" not in formats:
        raise OptionError(f"a separator (--doc) is for text files, and all inputs are {' or '.join(formats)}")


def _check_package(name: str, kind: str) -> None:
    """InputError if the package that reads such a file is not installed: better now than after hours of work."""
    if kind in PACKAGES:
        module, message = PACKAGES[kind]
        try:
            import_module(module)
        except ImportError as error:
            raise InputError(f"{name}: {message}") from error


class _Excluded:
    """Files that must not be read: those that exist by device and inode, others by their real path, or URL."""

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

    def holds(self, found: Found) -> bool:
        if found.status is None:
            return bool(self._urls) and _canonical(found.address) in self._urls
        inode = (found.status.st_dev, found.status.st_ino)
        return inode in self._inodes or os.path.realpath(found.path) in self._real_paths


def _canonical(url: str) -> str:
    from pyunitok.disk import remote  # most files are on this machine

    return shown(remote.canonical(url))


def _nothing(argument: str, n_found: int, n_kept: int, left_out: list[LeftOut]) -> str:
    """Why an argument gives nothing to read."""
    if n_found and not n_kept:
        return "is what this command writes"
    if left_out:
        more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        return f"no text to read; left out: {left_out[0].path} ({left_out[0].reason}){more}"
    if n_found:
        return "no file is left by --include and --exclude"
    if is_url(argument):
        return "nothing is there, and no file matches it as a pattern"
    return "holds no file" if Path(argument).is_dir() else "no such file, and no file matches it as a pattern"


# --------------------------------------------------------------------------------- path → compression, format


class _Chooser:
    """Decides how a file that was found is read, or that it is not.

    include, exclude  patterns: see find()
    """

    def __init__(
        self, input_format: str, text_key: str, include: Iterable[str], exclude: Iterable[str],
        left_out: list[LeftOut], allow_damaged: bool,
    ) -> None:  # fmt: skip
        self._format, self._key = input_format, text_key
        self._include, self._exclude = list(include), list(exclude)
        self._left_out, self._allow_damaged = left_out, allow_damaged
        self._starts: dict[str, Future[bytes]] = {}  # of files behind URLs

    def choose(self, found: list[Found]) -> list[Source]:
        """The sources among the files that one argument names."""
        tokens = _token_files(found)
        if unclear := [item.address for item in found if self._is_unclear(item)]:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(FAR_THREADS) as threads:
                self._starts = {url: threads.submit(_far_start, url) for url in unclear}
        return [source for item in found if (source := self._choose(item, tokens)) is not None]

    @staticmethod
    def _is_unclear(item: Found) -> bool:
        """A file behind a URL whose name says neither that it is compressed nor that it is Parquet."""
        suffix = os.path.splitext(without_query(item.path).lower())[1]  # noqa: PTH122
        return item.far is not None and suffix not in {*COMPRESSIONS, *PARQUET_SUFFIXES, *BINARY_SUFFIXES}

    def _choose(self, item: Found, tokens: dict[str, str]) -> Source | None:
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

    def _source(self, found: Found, is_forced: bool) -> Source:
        """_NotText where its name or its first bytes say that it is none; what compressed data holds is seen later."""
        path, input_format = found.path, self._format
        stem, suffix = os.path.splitext(without_query(path).lower())  # noqa: PTH122
        compression = COMPRESSIONS.get(suffix, "none")
        if suffix in COMPRESSIONS:
            suffix = os.path.splitext(stem)[1]  # noqa: PTH122
        if suffix in BINARY_SUFFIXES and not is_forced:
            raise _NotText(f"a {suffix} file")
        stream: ByteStream | None = None
        if found.address in self._starts:
            start = self._starts[found.address].result()
            compression = _compression(start, compression)
            may_be_text = input_format != "parquet" and start[:4] not in PARQUET_MAGICS
            self._refuse(why_not_text(start) if may_be_text and compression == "none" and not is_forced else None)
        elif found.is_pipe or not found.far:
            # A pipe's name tells little (/dev/fd/63), and what has been read of it cannot be read again.
            raw = RawFile(found.address)
            start = raw.peek(10 if found.is_pipe else START_BYTES)
            compression = _compression(start, compression)
            is_parquet = compression == "none" and start[:4] in PARQUET_MAGICS
            if is_parquet and found.is_pipe and input_format in ("auto", "parquet"):
                raise InputError(f"{raw.name}: a Parquet file cannot be read from a pipe; name the file")
            if found.is_pipe:
                stream = decompressed(raw, compression)
            else:
                raw.close()
                may_be_text = input_format != "parquet" and suffix not in PARQUET_SUFFIXES and not is_parquet
                self._refuse(why_not_text(start) if may_be_text and compression == "none" and not is_forced else None)
        _check_package(path, compression)
        if input_format == "auto":
            try:
                format_, reason, stream = _decide(found, suffix, compression, self._key, stream)
            except InputError:
                if not self._allow_damaged or found.is_pipe:
                    raise
                format_, reason = "text", "its beginning cannot be read"
        else:
            format_, reason = input_format, "as told"
        if format_ == "parquet" and (compression != "none" or stream):
            raise InputError(f"{path}: a Parquet file is read as it is stored: decompress it, and name the file")
        _check_package(path, format_)
        etag = found.far.etag if found.far else None
        source = Source(
            found.address, format_, compression, found.size_bytes, found.mtime_ns, etag, reason=reason, opened=stream,
            is_forced=is_forced, url=found.address if found.far else None,
        )  # fmt: skip
        return without_secrets(source)

    @staticmethod
    def _refuse(why: str | None) -> None:
        if why is not None:
            raise _NotText(why)


def _far_start(url: str) -> bytes:
    raw = RawFile(url)
    try:
        return raw.peek(START_BYTES)
    finally:
        raw.close()


class _NotText(Exception):
    """What the file is."""


def _matches(path: str, patterns: list[str]) -> bool:
    """Whether a pattern matches the file's name or, if it has a slash, the end of its path."""
    name, whole = path.rpartition("/")[2], f"/{path}"
    for pattern in patterns:
        with_folder = "/" in pattern
        if fnmatch.fnmatchcase(whole if with_folder else name, f"*/{pattern.lstrip('/')}" if with_folder else pattern):
            return True
    return False


def _token_files(found: list[Found]) -> dict[str, str]:
    """Of the files of earlier runs, which hold ids and lie among others: path → what it is."""
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


def _compression(start: bytes, by_name: str) -> str:
    """By the first bytes, whatever the name says; by the name where they say nothing."""
    by_content = compression_of(start)
    return by_content if by_content != "none" else by_name


def _decide(
    found: Found, suffix: str, compression: str, text_key: str, stream: ByteStream | None
) -> tuple[str, str, ByteStream | None]:
    """Format and reason, by the name, else by the first line; and a pipe's stream, read or not."""
    for format_, suffixes in (("parquet", PARQUET_SUFFIXES), ("jsonl", JSONL_SUFFIXES), ("text", TEXT_SUFFIXES)):
        if suffix in suffixes:
            return format_, f"its name ends in {suffix}", stream
    looked = Lookahead(stream or decompressed(RawFile(found.address), compression))
    try:
        format_, reason = _format_of(looked.peek_line(LINE_BYTES), text_key)
    finally:
        if not found.is_pipe:
            looked.close()
    return format_, reason, looked if found.is_pipe else None


def _format_of(start: bytes, text_key: str) -> tuple[str, str]:
    """Format and reason, from a file's beginning: its first line that is not blank, or LINE_BYTES of it.

    A longer first line is JSON if it begins an object and the last name of the key is in sight as the name of
    a string; the rest of the object is taken on trust, and the reader will say so if that is wrong.
    """
    from pyunitok.corpus.json_text import BLANK, BOM, TextField, key_path  # only now: see decompressed()

    if start[:4] in PARQUET_MAGICS:
        return "parquet", f"it begins with {start[:4].decode()}"
    line, newline, _ = start.removeprefix(BOM).lstrip(BLANK).partition(b"\n")
    if len(start) >= LINE_BYTES and not newline:
        name = re.escape(key_path(text_key)[-1].encode())
        if line.startswith(b"{") and re.search(b'"' + name + rb'"\s*:\s*"', line):
            return "jsonl", f"its first line, of more than 1 MiB, begins an object with {text_key!r}"
        return "text", f"its first line, of more than 1 MiB, shows no {text_key!r} at its beginning"
    try:
        TextField(text_key).of_line(line)
    except ValueError:
        return "text", f"its first line is no JSON object with a string under {text_key!r}"
    return "jsonl", f"its first line is a JSON object with {text_key!r}"
