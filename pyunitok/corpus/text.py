"""TextReader reads a text file as one document, or divides it at a separator such as a newline.

A block after fill(), with the separator "|":

    returned earlier    read from the stream
    [ o u t | f o x | b r o w n | l a z y |  j u m p s  o v e r ]
      doc 0   doc 1   doc 2       doc 3      unfinished: returned to the stream or, if long, divided

Separators are matched from left to right, without overlap, over the complete file. Matches do not depend on block
boundaries, because the last len(separator) - 1 bytes of an unfinished document are returned: a separator may begin in
them.
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

MAX_DOCS = 1 << 16  # the maximum per block; limits its offsets to 512 KiB even if all lines are empty
CARRY_SHARE = 4  # an unfinished document of at most 1/4 of a block is not divided
MIN_FILL_BYTES = 1 << 16


class TextReader:
    """Reads the documents of a text into blocks.

    stream       the bytes of the text
    separator    the bytes (at least one) between documents, which do not contain it; None: the file is one document
    split        where a piece of a document may end: see block.Split
    start        position of the stream; by default the beginning of the file
    metadata     put the position of each document into block.metadata
    check_start  called with the first SNIFF_BYTES bytes of a file that is read from its beginning

    Without a separator, an empty file is one empty document. With a separator, an empty file has no documents,
    documents between two separators may be empty, and no document follows a separator at the end of the file
    (ends_with_separator is True).

    A document may be split across several blocks; its last piece may be empty. Memory: one block.
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
        self._limit: int | None = None  # how many bytes to read into the next block if offsets ran out
        self._inside = start.inside  # bytes of the current document that are in earlier blocks
        self._separated = separator is not None and start.documents > 0  # whether a separator precedes the document
        self._position = start
        self._file = json.dumps(stream.name).encode() if metadata else None
        self.finished = False

    def fill(self, block: Block) -> bool:
        """Put the next documents into `block`. Returns False, with block.n_docs == 0, if no documents are left."""
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
            # The unfinished document cannot be divided here: read more of it into the block.
            if n_bytes == len(block.data):
                block.grow(max(n_bytes, 1))
        block.source_bytes = n_bytes - n_rest
        self._stream.unread(block.data[rest_at : rest_at + n_rest].data)
        self._advance(block)
        return block.n_docs > 0

    def _advance(self, block: Block) -> None:
        """Set the position of the block and advance past the block."""
        before = self._position
        block.first_document, block.inside = before.documents, before.inside
        block.after = self._position = replace(
            before, bytes=before.bytes + block.source_bytes, inside=self._inside,
            documents=before.documents + block.n_docs - block.open_end,
        )  # fmt: skip
        if self._file is not None:
            block.metadata = [self._metadata_of(*place) for place in self._places(block, before)]

    def _places(self, block: Block, before: Position) -> Iterator[tuple[int, int]]:
        """(number, offset in the input) of each document that ends in the block."""
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
        """Divide block.data[:n_bytes] into documents. Returns where the rest begins, and its length."""
        self._limit = None
        if self._separator is None:
            n_whole, hold = 0, 0
            block.offsets[1] = n_bytes
        else:
            n_found, n_consumed = c_text.split_documents(block.data, n_bytes, self._separator, block.offsets)
            n_whole, hold = n_found - 1, len(self._separator) - 1
            if n_whole:
                self._inside, self._separated = 0, True
            if n_found == len(block.offsets) - 1:  # the offsets ran out, and the rest has not been searched
                block.n_docs = n_whole
                self._limit = max(2 * n_consumed, MIN_FILL_BYTES)
                return n_consumed, n_bytes - n_consumed
        begin, end = int(block.offsets[n_whole]), int(block.offsets[n_whole + 1])
        if self._stream.at_end:
            return self._finish(block, n_whole, end)

        size = 0  # bytes of the unfinished document that end up in this block
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
        """At the end of the file: decide whether a document follows the last separator."""
        is_document = self._separator is None or self._inside > 0 or end > int(block.offsets[n_whole])
        if self._separator is not None:
            self.ends_with_separator = self._separated and not is_document
        block.n_docs = n_whole + is_document
        self._inside = 0
        self.finished = True
        return end, 0
