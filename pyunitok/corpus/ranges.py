"""Divides a large file into ranges that are read independently. A document belongs to the range where it begins.

    frames     │ 0         │ 1        │ 2         │ 3       │        of a .zst file; without compression, any bytes
    documents   a a a|b b b b b|c c|d d d d d d d d d d d|e e
    ranges     │ a b: continues into 1│ c d: continues into 3       │ e

The text of a range starts after the first separator at or after its first byte, and ends where the text of the next
range starts. Both places depend only on nearby bytes, so ranges are independent and together cover the file. If a
separator can overlap itself ("\\n\\n" in "\\n\\n\\n"), its matches depend on earlier bytes. Therefore a range starts
only at an occurrence that does not overlap an earlier one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyunitok.corpus.block import ByteStream, anywhere
from pyunitok.corpus.compressions import COMPRESSIONS
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.raw_file import CHUNK_BYTES
from pyunitok.corpus.reading import InputBlocks, Reading, ReadingOptions
from pyunitok.corpus.source import Source
from pyunitok.corpus.stream import decompressed, open_raw


@dataclass(frozen=True)
class Range:
    """Stored bytes of a file: complete frames or, without compression, any bytes. end: None for the end of the file."""

    begin: int = 0
    end: int | None = None


def plan_ranges(source: Source, separator: bytes | None, n_bytes: int) -> list[Range]:
    """Divide a file into ranges of at least n_bytes, except the last, if its format and compression support ranges.

    separator  the separator between documents (see separator_of); None: the file is one document and one range

    Raises InputError. Reads a few bytes of each frame of a .zst file. Does not read files of up to n_bytes bytes.
    """
    divide, size_bytes = COMPRESSIONS[source.compression].divide, source.size_bytes
    if separator is None or size_bytes is None or divide is None or FORMATS[source.format].seekable:
        return [Range()]
    begins = divide(source.path, size_bytes, n_bytes) if size_bytes > n_bytes else [0]
    return [Range(begin, end) for begin, end in zip(begins, [*begins[1:], None], strict=True)]


def open_range(source: Source, part: Range, separator: bytes | None) -> Source:
    """A source with only the documents of this range. It can be read only once. If line numbers are required, start the
    reader at the position that followed_by() and counted() compute; otherwise, at UNCOUNTED."""
    if part == Range():
        return source
    assert separator is not None
    return replace(described_range(source, part), opened=_RangeStream(source, part, separator))


def described_range(source: Source, part: Range) -> Source:
    """Like open_range, but does not open the file."""
    if part == Range():
        return source
    size = (source.size_bytes if part.end is None else part.end) or 0
    return replace(source, size_bytes=size - part.begin, is_range=True)


# The start of a range inside a file if the documents before it have not been counted.
UNCOUNTED = Position(bytes=1, documents=1, lines=1, file_bytes=1)


def counted(source: Source, part: Range, separator: bytes | None) -> Position:
    """The bytes, documents and lines of a range, including bad lines. Reads the range once. Raises InputError."""
    at = BEGINNING if part.begin == 0 else UNCOUNTED
    part_source = open_range(source, part, separator)
    options = ReadingOptions(separator=separator, on_error="skip", threads=1, max_line_bytes=CHUNK_BYTES)
    with contextlib.closing(InputBlocks(Reading([part_source], options, anywhere), at)) as inputs:
        block = inputs.new_block()
        while inputs.fill(block):  # without block.finish(), which would parse the lines
            pass
        (ending,) = inputs.endings()
    after = ending.at
    n_documents, n_lines = after.documents - at.documents, after.lines - at.lines
    return Position(bytes=after.bytes - at.bytes, documents=n_documents, lines=n_lines)


def followed_by(before: Position, more: Position) -> Position:
    """The position after a range that starts at `before` and contains `more`."""
    n_bytes = before.bytes + more.bytes
    return Position(
        bytes=n_bytes, documents=before.documents + more.documents, lines=before.lines + more.lines, file_bytes=n_bytes
    )


# ------------------------------------------------------------------------------------------------------- reading


class _RangeStream:
    """A ByteStream of a range's documents, from the first separator in the range to the first separator beyond it; see
    Search."""

    def __init__(self, source: Source, part: Range, separator: bytes) -> None:
        self.name = source.name
        self._part = part
        self._separator = separator
        self._inside = _open(source, part)
        self._behind = None if part.end is None else _open(source, Range(part.end))
        self._pieces = self._read_pieces()
        self._piece = memoryview(b"")

    def readinto(self, buffer: memoryview) -> int:
        n = 0
        while n < len(buffer):
            if not self._piece:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._piece = memoryview(piece)
            more = self._piece[: len(buffer) - n]
            buffer[n : n + len(more)] = more
            self._piece = self._piece[len(more) :]
            n += len(more)
        return n

    def compressed_position(self) -> int:
        return self._inside.compressed_position() - self._part.begin

    def close(self) -> None:
        self._inside.close()
        if self._behind is not None:
            self._behind.close()

    def _read_pieces(self) -> Iterator[bytes]:
        begin = Search(self._separator) if self._part.begin else None
        for chunk in _chunks(self._inside):
            if begin is None:
                yield chunk
            elif (at := begin.feed(chunk)) is not None:
                yield chunk[at:]
                begin = None
        if self._behind is None:
            return
        end = Search(self._separator)
        for chunk in _chunks(self._behind):
            at, from_at = end.feed(chunk), 0
            if begin is not None and (found := begin.feed(chunk)) is not None:
                from_at, begin = found, None
            if begin is None:
                yield chunk[from_at:at]
            if at is not None:
                return


class Search:
    """Finds the first separator that does not overlap an earlier one, in text that starts at any byte of a file."""

    def __init__(self, separator: bytes) -> None:
        self._separator = separator
        self._tail = b""  # the end of the text so far, where a separator may begin
        self._n_bytes = 0  # the number of bytes of text so far
        self._last: int | None = None  # where the last separator began in the text

    def feed(self, chunk: bytes) -> int | None:
        """Where that separator ends in `chunk`, the next part of the text; None if it does not end there."""
        n = len(self._separator)
        text = self._tail + chunk
        base = self._n_bytes - len(self._tail)
        at = text.find(self._separator)
        while at >= 0:
            is_apart = base + at >= n - 1 if self._last is None else base + at - self._last >= n
            if is_apart:
                return at + n - len(self._tail)
            self._last = base + at
            at = text.find(self._separator, at + 1)
        self._n_bytes += len(chunk)
        self._tail = text[len(text) - n + 1 :] if n > 1 else b""
        return None


def _chunks(stream: ByteStream) -> Iterator[bytes]:
    buffer = bytearray(CHUNK_BYTES)
    while n := stream.readinto(memoryview(buffer)):
        yield bytes(buffer[:n])


def _open(source: Source, part: Range) -> ByteStream:
    raw = open_raw(source)
    raw.begin_at(part.begin)
    raw.end_at(part.end)
    return decompressed(raw, source.compression)


def separator_of(source: Source, separator: bytes | None) -> bytes | None:
    """The separator that the source's format defines or, if it defines none, `separator`."""
    return FORMATS[source.format].separator or separator
