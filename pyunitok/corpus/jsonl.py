"""JsonlReader reads one string field of each line of a JSON lines file. Each string is a document.

The thread with the reading turn collects and counts complete lines. The worker of the block then parses them
(json_text.py):

    stream ──▶ block.lines: complete lines │ incomplete: returned      block.finish(): lines ──▶ block.data: documents

A line longer than a block is parsed during the turn, and its text is split across separate blocks.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np

from pyunitok.corpus.block import BadDocument, Block, ByteStream, Split
from pyunitok.corpus.json_rest import RestOfLine
from pyunitok.corpus.json_text import BLANK, BOM, TextField, key_path
from pyunitok.corpus.pending import PendingDocuments
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.pushback import Pushback
from pyunitok.corpus.text import MAX_DOCS
from pyunitok.errors import InputError

LINE_BYTES = 1 << 20  # the maximum number of bytes read from the first line to infer the format
BATCH_BYTES = 1 << 18  # bytes read at a time from a line longer than a block


def sniff(start: bytes, text_key: str) -> tuple[bool, str]:
    """Whether a file is JSON lines, and the reason. `start` is its first non-blank line, or LINE_BYTES of it.

    A longer first line is assumed to be JSON if it begins with "{" and contains the last name of text_key as the name
    of a string field. If the guess is wrong, the reader reports an error.
    """
    line, newline, _ = start.removeprefix(BOM).lstrip(BLANK).partition(b"\n")
    if len(start) >= LINE_BYTES and not newline:
        name = re.escape(key_path(text_key)[-1].encode())
        if line.startswith(b"{") and re.search(b'"' + name + rb'"\s*:\s*"', line):
            return True, f"its first line is longer than 1 MiB and begins an object with {text_key!r}"
        return False, f"the first 1 MiB of its first line contains no object with {text_key!r}"
    try:
        TextField(text_key).of_line(line)
    except ValueError:
        return False, f"its first line is not a JSON object with a string under {text_key!r}"
    return True, f"its first line is a JSON object with {text_key!r}"


class JsonlReader:
    """Reads the texts of a JSON lines file into blocks.

    stream          the bytes of the file; lines end in LF or CRLF, which the last line may lack; a BOM is skipped
    text_key        the field with the text: see key_path
    split           where a piece of a document may end: see block.Split
    max_line_bytes  a longer line, not counting its newline, is bad
    start           position of the stream; by default the beginning of the file
    skip            skip bad lines and list them in block.bad; otherwise they raise InputError
    metadata        put each document's line number and other fields into block.metadata

    Blank lines are skipped; the call of fill() that returns False counts the blank lines at the end of the file in
    source_bytes. A line is bad if it is invalid JSON, has no string under the key, or is too long.
    Memory: twice the lines of a block or, if a line is longer than a block, the line and its text.
    """

    ends_with_separator: bool | None = None

    def __init__(
        self, stream: ByteStream, text_key: str, split: Split, max_line_bytes: int, start: Position = BEGINNING, *,
        skip: bool = False, metadata: bool = False,
    ) -> None:  # fmt: skip
        self._stream = Pushback(stream)
        self._split = split
        self._max_line_bytes = max_line_bytes
        self._field = TextField(text_key, max_line_bytes)
        self._skip = skip
        self._rest = RestOfLine(self._field.path) if metadata else None
        self._name = stream.name
        self._file = json.dumps(stream.name).encode()
        self._position = start
        self._inside = start.inside  # bytes of the first line's text that are in earlier blocks
        self._long: PendingDocuments | None = None  # the text of a line longer than a block
        self._long_metadata = self._long_line = b""
        self._long_bytes = 0  # the size of the long line

    @property
    def finished(self) -> bool:
        """Whether no lines are left."""
        return self._stream.at_end and self._long is None

    def fill(self, block: Block) -> bool:
        """Put the next lines into `block`, which block.finish() turns into documents. Returns False if none are left.

        Raises InputError.
        """
        block.clear()
        block.first_document, block.inside = self._position.documents, self._position.inside
        while self._long is None and not self.finished and block.work is None and not block.bad:
            if len(block.lines) < len(block.data):
                block.lines = np.empty(len(block.data), np.uint8).data
            n_bytes = self._stream.readinto(block.lines)
            lines = self._field.count(block.lines[:n_bytes], at_end=self._stream.at_end)
            if n_bytes and (lines.at == 0 or self._inside):
                self._stream.unread(block.lines[:n_bytes])
                self._take_long_line(block)
            else:
                self._take_lines(block, n_bytes, lines)
        if self._long is not None:
            self._put_piece(block)
        block.after = self._position
        return block.work is not None or block.n_docs > 0 or bool(block.bad)

    def _advance(self, block: Block, n_bytes: int, n_lines: int, n_docs: int) -> None:
        """Advance the position past these lines."""
        block.source_bytes += n_bytes
        before = self._position
        self._position = replace(
            before, inside=0,
            bytes=before.bytes + n_bytes, lines=before.lines + n_lines, documents=before.documents + n_docs,
        )  # fmt: skip

    # ----------------------------------------------------------------------------------------- stream → lines

    def _take_lines(self, block: Block, n_bytes: int, lines: Any) -> None:
        """Give these lines to the block, unless all are blank."""
        end, n_lines, n_docs = int(lines.at), int(lines.n_lines), int(lines.n_docs)
        self._stream.unread(block.lines[end:n_bytes])
        if end == 0:
            return
        text = block.lines[:end]
        if self._position.bytes == 0 and text[: len(BOM)].tobytes() == BOM:
            text = text[len(BOM) :]
            n_docs = int(self._field.count(text, at_end=True).n_docs)  # the first line may now be blank
        if n_docs:
            first_line = self._position.lines + 1
            block.n_docs, block.raw = n_docs, text
            block.work = lambda block: self._parse(block, text, n_docs, first_line)
        self._advance(block, end, n_lines, n_docs)

    # ------------------------------------------------------------------------------------ lines → documents

    def _parse(self, block: Block, lines: memoryview, n_docs: int, first_line: int) -> None:
        """Parse a part of block.lines. Several threads may call this method at once, so it must not change the reader.
        """
        if len(block.data) < len(lines):
            block.grow(len(lines) - len(block.data))
        if len(block.offsets) <= n_docs:
            block.have_offsets(max(n_docs, MAX_DOCS) + 1)
        place = self._field.new_place()
        bad: list[int] = []  # indexes of documents
        while not self._field.read(lines, block.data, block.offsets, place):
            bad.append(int(place.n_docs) + len(bad))
            self._note(block, first_line + int(place.n_lines), self._field.message(lines, place))
        block.n_docs = int(place.n_docs)
        if bad:
            block.numbers = block.first_document + np.delete(np.arange(n_docs), bad)
        if self._rest is not None:
            self._add_metadata(block, lines, first_line)

    def _add_metadata(self, block: Block, lines: memoryview, first_line: int) -> None:
        bad = {one.line for one in block.bad}
        for number, line in enumerate(lines.tobytes().split(b"\n"), first_line):
            stripped = line.strip(BLANK)
            if stripped and number not in bad:
                block.metadata.append(self._metadata_of(number, stripped))

    def _note(self, block: Block, number: int, error: str) -> None:
        if not self._skip:
            raise InputError(f"{self._name}: line {number}: {error}; --on-error skip skips such lines")
        block.bad.append(BadDocument(number, error))

    def _metadata_of(self, number: int, line: bytes) -> bytes:
        assert self._rest is not None
        return b'{"file":%b,"line":%d,"metadata":%b}' % (self._file, number, self._rest.of_line(line))

    # ------------------------------------------------------------------------------------ a line longer than a block

    def _take_long_line(self, block: Block) -> None:
        """Read a long line, whose text then fills the next blocks. A blank or bad line is only counted."""
        line, n_bytes = self._read_line()
        number = self._position.lines + 1
        if self._position.bytes == 0:
            line = line.removeprefix(BOM)
        stripped = line.strip(BLANK)
        if not stripped and n_bytes <= self._max_line_bytes:
            self._advance(block, n_bytes, 1, 0)
            return
        try:
            text = self._field.of_line(line)
        except ValueError as error:
            self._note(block, number, str(error))
            self._advance(block, n_bytes, 1, 1)
            return
        self._long = PendingDocuments(np.frombuffer(text, np.uint8), np.array([0, len(text)]), self._inside)
        self._long_bytes, self._inside, self._long_line = n_bytes, 0, line
        self._long_metadata = self._metadata_of(number, stripped) if self._rest is not None else b""

    def _read_line(self) -> tuple[bytes, int]:
        """The next line without its newline, and its size with the newline. A line that is too long is truncated."""
        line, n_bytes, limit, piece = bytearray(), 0, self._max_line_bytes + 1, bytearray(BATCH_BYTES)
        while n := self._stream.readinto(memoryview(piece)):
            end = piece.find(b"\n", 0, n)
            n_line = n if end < 0 else end
            line += memoryview(piece)[: min(n_line, limit - len(line))]
            n_bytes += n_line + (end >= 0)
            if end >= 0:
                self._stream.unread(memoryview(piece)[end + 1 : n])
            if end >= 0 or (len(line) == limit and not self._skip):
                break
        return bytes(line), n_bytes

    def _put_piece(self, block: Block) -> None:
        """Put the next piece of the long line's text into the block."""
        assert self._long is not None
        while self._long.put(block, self._split):
            pass
        block.raw = self._long_line
        if block.open_end:
            self._position = replace(self._position, inside=self._long.inside)
            return
        if self._rest is not None:
            block.metadata.append(self._long_metadata)
        self._long, self._long_line = None, b""
        self._advance(block, self._long_bytes, 1, 1)
