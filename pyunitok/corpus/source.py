"""InputFile and Source describe one input of a run, from its discovery to the manifest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Annotated, TypeVar

from msgspec import Meta

from pyunitok.corpus.block import ByteStream
from pyunitok.corpus.compressions import COMPRESSIONS, NONE
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.position import Count as Count
from pyunitok.corpus.raw_file import STDIN, STDIN_NAME
from pyunitok.disk.url import hash_of_secrets, shown

# Manifests are untrusted; tokens/manifest.py validates these fields by their types.
Nanoseconds = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
FormatName = Annotated[str, Meta(pattern=f"^({'|'.join([*FORMATS, 'documents'])})$")]
CompressionName = Annotated[str, Meta(pattern=f"^({'|'.join(COMPRESSIONS)})$")]


@dataclass(frozen=True)
class InputFile:
    """An input file: its name, its storage, and the values that detect changes.

    path            the path as given or found; "-" is stdin; the secrets of URLs are removed (see disk/url.py)
    format          one of FORMATS, or "documents" if the caller supplied the documents
    compression     one of COMPRESSIONS
    size_bytes      size of the stored file; None for pipes, or if a server does not send it
    mtime_ns        time of the last change, in nanoseconds since 1970; None if unknown
    etag            the store's identifier of this version of the file; None for local files
    secrets_sha256  hash of the secrets removed from `path`, if neither a time nor an etag identifies the file
    """

    path: str
    format: FormatName
    compression: CompressionName
    size_bytes: Count | None = None
    mtime_ns: Nanoseconds | None = None
    etag: str | None = None
    secrets_sha256: str | None = None

    @property
    def file(self) -> InputFile:
        """A copy without the fields of a subclass."""
        return InputFile(
            self.path, self.format, self.compression, self.size_bytes, self.mtime_ns, self.etag, self.secrets_sha256
        )

    @property
    def name(self) -> str:
        """The name for messages."""
        return STDIN_NAME if self.path == STDIN else self.path

    def description(self) -> str:
        """All fields, for messages about changes."""
        words = [self.format, f"compression {self.compression}"]
        if self.size_bytes is not None:
            words.append(f"{self.size_bytes} bytes")
        if self.mtime_ns is not None:
            seconds, ns = divmod(self.mtime_ns, 10**9)
            words.append(f"changed {datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M:%S}.{ns:09} UTC")
        if self.etag is not None:
            words.append(f"etag {self.etag}")
        if self.secrets_sha256 is not None:
            words.append(f"URL secrets with hash {self.secrets_sha256[:8]}")
        return f"{self.path} ({', '.join(words)})"


File = TypeVar("File", bound=InputFile)


def without_secrets(file: File) -> File:
    """The file without the secrets of its URL, as stored and shown."""
    path = shown(file.path)
    if path == file.path:
        return file
    is_known = file.etag is not None or file.mtime_ns is not None
    return replace(file, path=path, secrets_sha256=None if is_known else hash_of_secrets(file.path))


@dataclass(frozen=True)
class Source(InputFile):
    """An input to be read.

    reason     how the format was determined, for messages
    opened     the stream of a pipe, which cannot be opened again, or the stream of a range
    is_range   whether this is a range of a file (see ranges.py), which can be opened again
    is_forced  whether the user chose the format; if so, nothing checks that the file is text
    url        the URL with its secrets, if `path` is a URL
    """

    reason: str = "as requested"
    opened: ByteStream | None = field(default=None, compare=False, repr=False)
    is_range: bool = False
    is_forced: bool = False
    url: str | None = field(default=None, compare=False, repr=False)

    @property
    def address(self) -> str:
        """The path or URL to open. It may contain secrets: do not store or show it."""
        return self.url or self.path

    @property
    def is_plain(self) -> bool:
        """Whether the stored bytes of the file are its text."""
        return self.compression == NONE.name and not FORMATS[self.format].seekable


def total_bytes(files: Iterable[InputFile]) -> int | None:
    """The total size of the stored files; None if any size is unknown."""
    sizes = [file.size_bytes for file in files]
    return None if None in sizes else sum(size for size in sizes if size is not None)
