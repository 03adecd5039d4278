"""Block, the unit of work: packed documents in a reused buffer; and the protocols around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.packed import Bytes, Offsets

# How much of an unfinished document may be handed on now: see unitok_split in csrc/unitok.h. 0: none yet, read on.
Split = Callable[[memoryview], int]


def whole(text: memoryview) -> int:
    """A Split for workers that need whole documents."""
    return 0


def anywhere(text: memoryview) -> int:
    """A Split for workers to whom all places are alike."""
    return len(text)


@dataclass(frozen=True)
class BadDocument:
    """One that was left out: the number of its line, counting from 1, and what is wrong with it."""

    line: int
    error: str


@dataclass
class Block:
    """Documents of one input, in order. Reused: a reader's fill() overwrites everything here.

    data            uint8[>= offsets[n_docs]]; grows only when one undividable piece of a document is longer
    offsets         int64[>= n_docs + 1], offsets[0] = 0; document i is data[offsets[i]:offsets[i + 1]]
    open_end        the last document continues in the next block (of the same input)
    source_bytes    decompressed bytes of the input that this block accounts for, separators included
    number          counts the blocks of a run from 0, where Workers filled it
    source          which input, counting from 0
    first_document  the number, within its input, of the document that the first piece belongs to
    inside          bytes of that document in earlier blocks
    numbers         int64[n_docs], the number of each document, if some were left out; else they are consecutive
    after           where the next block begins
    bad             the documents that were left out
    metadata        if asked for: a line of JSON, without its newline, for each document that ends in this block
    lines           uint8[], a memoryview for the reader's own use
    work            what finish() must do, without the reading turn, before the above is valid
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
    work: Callable[[Block], None] | None = None

    def grow(self, n_bytes: int) -> None:
        """Extend the capacity of data by n_bytes."""
        self.data = np.concatenate((self.data, np.empty(n_bytes, np.uint8)))

    def have_offsets(self, n: int) -> None:
        """Provide capacity for n offsets; clear() must have been called."""
        if len(self.offsets) < n:
            self.offsets = np.zeros(n, np.int64)

    def texts(self) -> Iterator[bytes]:
        """The pieces one by one: each a document, but the first may continue one and the last may be continued."""
        bounds = self.offsets[: self.n_docs + 1].tolist()
        return (self.data[begin:end].tobytes() for begin, end in pairwise(bounds))

    def clear(self) -> None:
        """Make it empty."""
        self.n_docs, self.open_end, self.source_bytes = 0, False, 0
        self.offsets[0] = 0
        self.numbers, self.work = None, None
        self.bad, self.metadata = [], []

    def finish(self) -> None:
        """Complete the block: do the work that the reader left for the thread that got it. Raises InputError."""
        work, self.work = self.work, None
        if work is not None:
            work(self)


class ByteStream(Protocol):
    """Decompressed bytes of one file. Errors are InputError naming the file and the offset in it."""

    name: str  # the path as given, or '<stdin>'; for messages

    def readinto(self, buffer: memoryview) -> int:
        """Fill as much of `buffer` as there is, short only at the end of the file; 0 there. GIL released inside."""

    def compressed_position(self) -> int:
        """Bytes of the file itself read so far, for progress."""

    def close(self) -> None: ...


class DocumentReader(Protocol):
    """Cuts a ByteStream into blocks.

    finished             nothing is left; becomes true with the last block or with the call after it
    ends_with_separator  known once finished; None if there is no separator
    """

    @property
    def finished(self) -> bool: ...

    @property
    def ends_with_separator(self) -> bool | None: ...

    def fill(self, block: Block) -> bool:
        """Put the next documents into `block`, to be completed by block.finish(). False when there are no more;
        block.source_bytes then counts what followed the last document."""
