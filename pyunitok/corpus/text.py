"""TextReader: a text file as one document, or cut into documents at a separator such as a newline.

What fill() does with a block, separator "|":

    carry from before   read from the stream
    [ o u t | f o x | b r o w n | l a z y |  j u m p s  o v e r ]
      doc 0   doc 1   doc 2       doc 3      unfinished: next time, or in pieces if long

Occurrences of the separator are leftmost and do not overlap, over the whole file. They do not depend on the blocks: the
last len(separator) - 1 bytes of an unfinished document stay back, because a separator may begin in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from pyunitok._c import text as c_text
from pyunitok.corpus.block import Block, ByteStream, Split
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.pushback import Pushback
from pyunitok.corpus.sniff import SNIFF_BYTES

MAX_DOCS = 1 << 16  # in a block: bounds its offsets (512 KiB) if lines are empty
CARRY_SHARE = 4  # an unfinished document waits whole for the next block if it is at most 1/4 of one
MIN_FILL_BYTES = 1 << 16


class TextReader:
    """Cuts a text into blocks.

    stream     its bytes
    separator  between documents, not part of them, at least 1 byte; None: the file is one document
    split      where a piece of a document may end: see block.Split
    start      where the stream stands, and what came before; the beginning of a file by default
    metadata   put the beginning of each document into block.metadata
    check_start  called with the first SNIFF_BYTES bytes of a file that is read from its beginning

    Without a separator an empty file is one empty document. With one, a separator at the very end begins no
    document (ends_with_separator is then True), empty documents between separators count, and an empty file
    has none.

    A document may have pieces in several blocks; its last piece may be empty.
    Memory: the carry, at most one block.
    """

    def __init__(
        self, stream: ByteStream, separator: bytes | None, split: Split, start: Position = BEGINNING, *,
        metadata: bool = False, check_start: Callable[[bytes], None] | None = None,
    ) -> None:  # fmt: skip
        if separator == b"":
            raise ValueError("the separator is empty")
        self.ends_with_separator: bool | None = None
        self._check_start = check_start if start == Position(start.source) else None
        self._stream = Pushback(stream)
        self._separator = separator
        self._split = split
        self._limit: int | None = None  # how much of a block to fill if its offsets run out first
        self._inside = start.inside  # bytes of the current document in earlier blocks
        self._separated = separator is not None and start.documents > 0  # it follows a separator
        self._position = start
        self._file = json.dumps(stream.name).encode() if metadata else None
        self.finished = False

    def fill(self, block: Block) -> bool:
        """Put the next documents into `block`; False (and block.n_docs == 0) once there are none left.

        Raises InputError from the stream.
        """
        block.clear()
        if self.finished:
            return False
        if self._separator is not None:
            block.have_offsets(MAX_DOCS + 1)
        n_bytes = 0
        while True:
            limit = min(len(block.data), self._limit or len(block.data))
            n_bytes += self._stream.readinto(block.data[n_bytes:limit].data)
            if self._check_start is not None:
                self._check_start(block.data[: min(n_bytes, SNIFF_BYTES)].tobytes())
                self._check_start = None
            rest_at, n_rest = self._cut(block, n_bytes)
            if block.n_docs or self.finished:
                break
            # One unfinished piece that cannot be divided: it stays where it is, and reading continues after it.
            if n_bytes == len(block.data):
                block.grow(max(n_bytes, 1))
        block.source_bytes = n_bytes - n_rest
        self._stream.unread(block.data[rest_at : rest_at + n_rest].data)
        self._advance(block)
        return block.n_docs > 0

    def _advance(self, block: Block) -> None:
        """Record where the block is, and move on."""
        before = self._position
        block.first_document, block.inside = before.documents, before.inside
        block.after = self._position = replace(
            before,
            bytes=before.bytes + block.source_bytes,
            documents=before.documents + block.n_docs - block.open_end,
            inside=self._inside,
        )
        if self._file is not None:
            block.metadata = [self._metadata_of(*place) for place in self._places(block, before)]

    def _places(self, block: Block, before: Position) -> Iterator[tuple[int, int]]:
        """Of each document that ends in the block: its number, and the byte of the input at which it begins."""
        n_separator_bytes = len(self._separator or b"")
        begins = block.offsets[: block.n_docs - block.open_end] + before.bytes
        begins += np.arange(len(begins)) * n_separator_bytes
        if len(begins):
            begins[0] -= before.inside
        return zip(range(before.documents, before.documents + len(begins)), begins.tolist(), strict=True)

    def _metadata_of(self, number: int, begin: int) -> bytes:
        assert self._file is not None
        if self._separator == b"\n":
            return b'{"file":%b,"line":%d,"byte":%d}' % (self._file, number + 1, begin)
        return b'{"file":%b,"document":%d,"byte":%d}' % (self._file, number, begin)

    def _cut(self, block: Block, n_bytes: int) -> tuple[int, int]:
        """Cut block.data[:n_bytes] into documents; return where the rest is, and its length."""
        self._limit = None
        if self._separator is None:
            n_whole, hold = 0, 0
            block.offsets[1] = n_bytes
        else:
            n_found, n_consumed = c_text.split_documents(block.data, n_bytes, self._separator, block.offsets)
            n_whole, hold = n_found - 1, len(self._separator) - 1
            if n_whole:
                self._inside, self._separated = 0, True
            if n_found == len(block.offsets) - 1:  # it stopped there and has not looked at what follows
                block.n_docs = n_whole
                self._limit = max(2 * n_consumed, MIN_FILL_BYTES)
                return n_consumed, n_bytes - n_consumed
        begin, end = int(block.offsets[n_whole]), int(block.offsets[n_whole + 1])
        if self._stream.at_end:
            return self._finish(block, n_whole, end)

        size = 0  # of the piece that goes out now
        if n_whole == 0 or (end - begin) * CARRY_SHARE > len(block.data):
            usable = end - begin - hold
            size = self._split(block.data[begin : begin + usable].data) if usable > 0 else 0
        if size:
            block.offsets[n_whole + 1] = begin + size
            block.open_end = True
            self._inside += size
        block.n_docs = n_whole + (size > 0)
        return begin + size, end - begin - size

    def _finish(self, block: Block, n_whole: int, end: int) -> tuple[int, int]:
        """At the end of the file: decide whether what follows the last separator is a document."""
        is_document = self._separator is None or self._inside > 0 or end > int(block.offsets[n_whole])
        if self._separator is not None:
            self.ends_with_separator = self._separated and not is_document
        block.n_docs = n_whole + is_document
        self._inside = 0
        self.finished = True
        return end, 0
