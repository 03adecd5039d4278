"""Defines Block, the unit of work: packed documents in a reused buffer. Also defines Split and protocols of readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.packed import Bytes, Offsets

# Returns how many bytes of an unfinished document may be processed now; 0 if more must be read. See unitok_split in
# csrc/unitok.h.
Split = Callable[[memoryview], int]


def whole(text: memoryview) -> int:
    """A Split for workers that need complete documents."""
    return 0


def anywhere(text: memoryview) -> int:
    """A Split for workers that accept documents split anywhere."""
    return len(text)


@dataclass(frozen=True)
class BadDocument:
    """A skipped document: its line number, from 1, and the error."""

    line: int
    error: str


@dataclass
class Block:
    """Documents of one input, in order. Blocks are reused: a reader's fill() overwrites all fields.

    data            uint8[>= offsets[n_docs]]; grows only if an indivisible piece of a document does not fit
    offsets         int64[>= n_docs + 1], offsets[0] = 0; document i is data[offsets[i]:offsets[i + 1]]
    open_end        whether the last document continues in the next block, which is then from the same input
    source_bytes    decompressed bytes of the input in this block, including separators
    number          the block's number in a run of Workers, from 0
    source          the input's number, from 0
    first_document  the first document's number in the input; it may have begun in an earlier block
    inside          the number of bytes of the first document that are in earlier blocks
    numbers         int64[n_docs], the number of each document if some were skipped; otherwise they are consecutive
    after           where the next block begins
    bad             skipped documents
    metadata        optional: a line of JSON, without its newline, for each document that ends in this block
    lines           uint8[], a memoryview for the reader's own use
    raw             JSON lines: the lines of the block as they are in the input, including blank ones; Parquet, with
                    Reading.whole_rows: record batches with the rows of the documents
    ends_group      Parquet: whether the block ends at the end of a row group. With Reading.whole_rows, all rows of a
                    block are in one row group
    work            the work left for finish(); until finish() has done it, the fields above are not valid
    """

    data: Bytes
    offsets: Offsets = field(default_factory=lambda: np.zeros(1025, np.int64))
    n_docs: int = 0
    open_end: bool = False
    source_bytes: int = 0
    number: int = 0
    source: int = 0
    first_document: int = 0
    inside: int = 0
    numbers: Offsets | None = None
    after: Position = BEGINNING
    bad: list[BadDocument] = field(default_factory=list)
    metadata: list[bytes] = field(default_factory=list)
    lines: Any = b""
    raw: Any = b""
    ends_group: bool = False
    work: Callable[[Block], None] | None = None

    def grow(self, n_bytes: int) -> None:
        """Extend the capacity of data by n_bytes."""
        self.data = np.concatenate((self.data, np.empty(n_bytes, np.uint8)))

    def have_offsets(self, n: int) -> None:
        """Ensure capacity for n offsets. Call clear() first."""
        if len(self.offsets) < n:
            self.offsets = np.zeros(n, np.int64)

    def texts(self) -> Iterator[bytes]:
        """The documents; the first may have begun in an earlier block, and the last may continue in the next."""
        bounds = self.offsets[: self.n_docs + 1].tolist()
        return (self.data[begin:end].tobytes() for begin, end in pairwise(bounds))

    def clear(self) -> None:
        """Remove all documents."""
        self.n_docs, self.open_end, self.source_bytes = 0, False, 0
        self.offsets[0] = 0
        self.numbers, self.work = None, None
        self.bad, self.metadata, self.raw, self.ends_group = [], [], b"", False

    def finish(self) -> None:
        """Complete the block: do the work that the reader left for the caller's thread. Raises InputError."""
        work, self.work = self.work, None
        if work is not None:
            work(self)


class ByteStream(Protocol):
    """Decompressed bytes of one file. Errors are InputErrors that name the file and the offset."""

    name: str  # for messages: the path as given, or "<stdin>"

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer unless the file ends first. Returns the number of bytes. Releases the GIL."""

    def compressed_position(self) -> int:
        """The number of stored bytes read so far, for progress."""

    def close(self) -> None: ...


class DocumentReader(Protocol):
    """Divides a ByteStream into blocks.

    finished             whether all documents have been returned; may become true only in the next call of fill()
    ends_with_separator  valid once finished; None if there is no separator
    """

    @property
    def finished(self) -> bool: ...

    @property
    def ends_with_separator(self) -> bool | None: ...

    def fill(self, block: Block) -> bool:
        """Put the next documents into `block`, which block.finish() completes. Returns False if no documents are left;
        block.source_bytes then counts the bytes after the last document."""
