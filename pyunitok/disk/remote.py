"""Accesses files at URLs with fsspec: expands arguments to files, and reads ranges with read-ahead and retries.

    s3://bucket/key   gs://   hf://datasets/…   https://   memory://   (only the protocols in PROTOCOLS)

fsspec's caches are not used, because a file is read only once, in ranges that are requested before they are needed:

    read           │ requested                               not yet requested
    ───────────────┤ range │ range │ range │ range │         read-ahead: as much as was read without a seek, at most
                   position                                  AHEAD_BYTES

So a reader that seeks, for example to the footer and one column of a Parquet file, fetches little unused data.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import io
import re
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pyunitok.disk.url import redacted, shown
from pyunitok.errors import InputError, UnitokError

RANGE_BYTES = 4 << 20  # maximum size of a request
AHEAD_BYTES = 16 << 20
ATTEMPTS = 5
FIRST_DELAY_SECONDS = 0.5  # the delay before the first retry; doubled after each further failure
# The supported protocols, and the extra that each requires. fsspec supports more, but some run code from the URL or
# read any local file, and a list of inputs may be untrusted.
PROTOCOLS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "hf": "hf", "http": "remote", "https": "remote",
             "memory": "remote"}  # fmt: skip
# Errors that are not retried.
GONE = (404, 410)  # HTTP status codes for a file that does not exist
FINAL_ERRORS = (FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError, IsADirectoryError,
                NotImplementedError, ImportError, TypeError, UnitokError)  # fmt: skip
FINAL_NAMES = {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"}  # in optional packages

_T = TypeVar("_T")


@dataclass(frozen=True)
class RemoteFile:
    """A file at a URL.

    url       the URL with its secrets
    size_bytes, etag, mtime_ns   None if the server does not send them. mtime_ns is also None if there is an etag, which
              identifies the version better: copying a file changes its time
    """

    url: str
    size_bytes: int | None
    etag: str | None
    mtime_ns: int | None


def canonical(url: str) -> str:
    """The URL in the form that expand() returns; equal for all spellings of the same file."""
    fs, path = file_system(url)
    return str(fs.unstrip_protocol(path))


def check_protocol(url: str) -> str:
    """The protocol of a URL. Raises InputError if it is not supported, or if the URL chains several
    ("zip://a::s3://b")."""
    protocol = url.partition("://")[0].lower()
    if protocol not in PROTOCOLS:
        names = ", ".join(f"{name}://" for name in PROTOCOLS)
        raise InputError(f"{shown(url)}: {protocol}:// is not supported; use {names}")
    if re.search(r"::[A-Za-z][A-Za-z0-9+.-]*://", url):
        raise InputError(f"{shown(url)}: chained URLs are not supported; name one file")
    return protocol


def file_system(url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it.

    Raises InputError if the protocol is not supported, its package is not installed, or the store cannot be opened.
    """
    protocol = check_protocol(url)
    try:
        import fsspec
    except ImportError as error:
        raise InputError(f"{shown(url)}: URLs require fsspec: pip install 'pyunitok[remote]'") from error
    try:
        # Not url_to_fs, which would parse "::" in a key as a chain of file systems.
        cls = fsspec.get_filesystem_class(protocol)
        fs, path = cls(**cls._get_kwargs_from_urls(url)), cls._strip_protocol(url)
    except ImportError as error:
        raise InputError(f"{shown(url)}: {error}: pip install 'pyunitok[{PROTOCOLS[protocol]}]'") from error
    except Exception as error:
        raise InputError(f"{shown(url)}: cannot be opened: {said(error)}") from cause(error)
    return fs, path


def retried(action: Callable[[], _T], given_up: threading.Event | None = None) -> _T:
    """Call action() up to ATTEMPTS times, as long as its errors may be temporary. Raises the last error. Setting
    `given_up` ends the retries."""
    waiting = given_up or threading.Event()
    for attempt in range(ATTEMPTS):
        try:
            return action()
        except Exception as error:
            if attempt + 1 == ATTEMPTS or not _may_be_temporary(error):
                raise
        if waiting.wait(FIRST_DELAY_SECONDS * 2**attempt):
            raise OSError(errno.ECANCELED, "given up")
    raise AssertionError("no attempt")


def _may_be_temporary(error: Exception) -> bool:
    status = getattr(error, "status", None) or getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int) and 400 <= status < 500:
        return status in (408, 425, 429)
    return not isinstance(error, FINAL_ERRORS) and type(error).__name__ not in FINAL_NAMES


def said(error: BaseException) -> str:
    """The message of an error, or its type if it has none, without the secrets in URLs."""
    return redacted(str(error)) or type(error).__name__


def cause(error: BaseException) -> BaseException | None:
    """The error, for `raise … from`; None if its traceback would show secrets in URLs."""
    link: BaseException | None = error
    seen: set[int] = set()  # the chain may be circular, as aiohttp's is if a connection is refused
    while link is not None and id(link) not in seen:
        if redacted(repr(link)) != repr(link):
            return None
        seen.add(id(link))
        link = link.__cause__ or link.__context__
    return error


# ------------------------------------------------------------------------------------------------- URL → files


def expand(url: str) -> list[RemoteFile]:
    """The files that an argument names, as a file, directory or pattern, sorted by the bytes of their paths.

    As with local paths, names that begin with "." are skipped in directories and patterns. The list is empty if nothing
    matches. Raises InputError if the store cannot be listed.
    """
    fs, path = file_system(url)
    try:
        found = retried(lambda: _list(fs, path, url))
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{shown(url)}: cannot be listed: {said(error)}") from cause(error)
    return sorted(found, key=lambda item: item.url.encode("utf-8", "surrogateescape"))


def _list(fs: Any, path: str, url: str) -> list[RemoteFile]:
    fs.invalidate_cache()
    try:
        info = fs.info(path)
    except FileNotFoundError as error:
        # fsspec's HTTP file system raises this for every failure.
        cause = error.__cause__
        if cause is not None and not isinstance(cause, FileNotFoundError) and getattr(cause, "status", 0) not in GONE:
            raise cause from None
        return _glob(fs, path) if re.search(r"[*?[]", path) else []
    if info["type"] == "directory":
        return [_found(fs.unstrip_protocol(name), below) for name, below in _walk(fs, path).items()]
    return [_found(url, info)]


def _walk(fs: Any, folder: str) -> dict[str, Any]:
    """The files below a directory, except hidden files and files in hidden folders."""
    n_root = len(folder.rstrip("/"))
    below = fs.find(folder, detail=True)
    return {name: info for name, info in below.items() if _is_file(name, info) and "/." not in name[n_root:]}


def _is_file(name: str, info: dict[str, Any]) -> bool:
    """Whether this is a file. Some stores represent a folder by an empty object whose name ends in "/"."""
    return bool(info["type"] == "file") and not name.endswith("/")


def _glob(fs: Any, pattern: str) -> list[RemoteFile]:
    wanted = [part for part in pattern.split("/") if part.startswith(".")]
    files: dict[str, Any] = {}
    for name, info in fs.glob(pattern, detail=True).items():
        hidden = [part for part in name.split("/") if part.startswith(".")]
        if not all(any(fnmatch.fnmatchcase(part, want) for want in wanted) for part in hidden):
            continue
        if info["type"] == "directory":
            files |= _walk(fs, name)
        elif _is_file(name, info):
            files[name] = info
    return [_found(fs.unstrip_protocol(name), info) for name, info in files.items()]


def _found(url: str, info: dict[str, Any]) -> RemoteFile:
    """Convert a store's description of a file. Stores use different names for the same field."""
    etags = (info.get(key) for key in ("ETag", "etag", "blob_id", "md5Hash", "content_md5", "version_id"))
    times = (info.get(key) for key in ("LastModified", "last_modified", "mtime", "updated", "modified", "created"))
    etag, time = next(filter(None, etags), None), next(filter(None, times), None)
    if etag:
        return RemoteFile(url, info.get("size"), str(etag).strip('"'), None)
    return RemoteFile(url, info.get("size"), None, _nanoseconds(time))


def _nanoseconds(time: Any) -> int | None:
    """Convert a datetime, seconds, or an ISO 8601 string. None for anything else."""
    try:
        if isinstance(time, str):
            time = datetime.fromisoformat(time.replace("Z", "+00:00"))
        if isinstance(time, datetime):
            time = time.timestamp()
        return round(time * 1e6) * 1000 if isinstance(time, (int, float)) else None
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------------ reading


def open_file(url: str) -> io.RawIOBase:
    """Open the file at a URL. It is seekable if its size is known and the server supports ranges. Raises OSError."""
    fs, path = file_system(url)
    try:
        info = retried(lambda: fs.info(path))
    except UnitokError:
        raise
    except Exception as error:
        raise _os_error(error, "") from cause(error)
    # "partial" tells whether an HTTP server supports ranges; other stores always support them.
    in_ranges = info.get("size") is not None and info.get("partial", "http" not in protocols(fs))
    return RangeFile(fs, path, info["size"]) if in_ranges else StreamFile(fs, path)


def protocols(fs: Any) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def _os_error(error: Exception, where: str) -> OSError:
    number = getattr(error, "errno", None)
    return OSError(number if isinstance(number, int) else errno.EIO, f"{where}{said(error)}")


class SeekableFile(io.RawIOBase):
    """A read-only file of `size_bytes`. Subclasses read at position `_at`."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__()
        self.size_bytes, self._at = size_bytes, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + (0, self._at, self.size_bytes)[whence])
        return self._at


class RangeFile(SeekableFile):
    """A file of `size_bytes` that is read in ranges. Seeking is free. Errors are OSErrors that name the range.

    Memory: AHEAD_BYTES and one range. Not thread-safe.
    """

    def __init__(self, fs: Any, path: str, size_bytes: int) -> None:
        super().__init__(size_bytes)
        self._fs, self._path = fs, path
        self._n_in_a_row = 0  # how many bytes before _at have been read without a seek
        self._requests: deque[tuple[int, int, Future[bytes]]] = deque()  # (begin, end, data) of adjacent ranges
        self._threads: ThreadPoolExecutor | None = None
        self._given_up = threading.Event()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        before, at = self._at, super().seek(offset, whence)
        if at != before and not (self._requests and self._requests[0][0] <= at < self._requests[-1][1]):
            self._n_in_a_row = 0
        return at

    def readinto(self, buffer: Any) -> int:
        """Read at least one byte, except at the end."""
        wanted = min(len(buffer), self.size_bytes - self._at, RANGE_BYTES)
        if wanted <= 0:
            return 0
        while self._requests and not self._requests[0][0] <= self._at < self._requests[0][1]:
            self._requests.popleft()[2].cancel()
        if self._requests:
            begin, _, future = self._requests[0]
            piece = memoryview(future.result())[self._at - begin :][:wanted]
        else:
            piece = memoryview(self._fetch(self._at, self._at + wanted))
        buffer[: len(piece)] = piece
        self._at += len(piece)
        self._n_in_a_row += len(piece)
        self._read_ahead()
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._given_up.set()
            if self._threads:
                self._threads.shutdown(wait=False, cancel_futures=True)
        super().close()

    def _read_ahead(self) -> None:
        end = self._requests[-1][1] if self._requests else self._at
        goal = min(self.size_bytes, self._at + min(self._n_in_a_row, AHEAD_BYTES))
        while end < goal:
            begin, end = end, min(self.size_bytes, end + min(self._n_in_a_row, RANGE_BYTES))
            if self._threads is None:
                self._threads = ThreadPoolExecutor(AHEAD_BYTES // RANGE_BYTES, "pyunitok-ahead")
            self._requests.append((begin, end, self._threads.submit(self._fetch, begin, end)))

    def _fetch(self, begin: int, end: int) -> bytes:
        try:
            return retried(lambda: self._fetch_once(begin, end), self._given_up)
        except Exception as error:
            raise _os_error(error, f"bytes {begin} to {end}: ") from cause(error)

    def _fetch_once(self, begin: int, end: int) -> bytes:
        data: bytes = self._fs.cat_file(self._path, start=begin, end=end)
        if len(data) != end - begin:
            raise OSError(errno.EIO, f"received {len(data)} bytes instead of {end - begin}; the file may have changed")
        return data


class StreamFile(io.RawIOBase):
    """A file from a server that does not support ranges. After an error or a seek, it is requested again, and the bytes
    before the current position are skipped."""

    def __init__(self, fs: Any, path: str) -> None:
        super().__init__()
        self._fs, self._path = fs, path
        self._at = 0
        self._file: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            piece = retried(lambda: self._read(len(buffer)))
        except Exception as error:
            raise _os_error(error, f"byte {self._at}: ") from cause(error)
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seek to an absolute position. The next read reads and discards all bytes before that position."""
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("the size of the file is unknown")
        self._drop()
        self._at = offset
        return offset

    def close(self) -> None:
        self._drop()
        super().close()

    def _drop(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(Exception):
                file.close()

    def _read(self, n_bytes: int) -> bytes:
        try:
            if self._file is None:
                self._file = self._fs.open(self._path, "rb", block_size=0)
                self._skip(self._at)
            piece: bytes = self._file.read(n_bytes)
            return piece
        except Exception:
            self._drop()
            raise

    def _skip(self, n_bytes: int) -> None:
        while n_bytes:
            piece = self._file.read(min(n_bytes, RANGE_BYTES))
            if not piece:
                raise OSError(errno.EIO, "the file is shorter than before")
            n_bytes -= len(piece)
