"""JsonlReader: one string field of each line of a JSON lines file, as documents.

msgspec parses, into a Struct that knows the wanted key alone, so that all other fields are skipped over.
Lines are taken in batches of some 256 KiB:

    stream ──▶ _buffer: whole lines │ part of a line      batch ──▶ documents (UTF-8) ──▶ blocks

What parses is what RFC 8259 allows; a lone surrogate escape (\\ud800) is an error in the text, where it has
no UTF-8, and ignored elsewhere.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from pyunitok.corpus.block import Block, ByteStream, Split
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.text import CARRY_SHARE, MAX_DOCS
from pyunitok.errors import InputError

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"  # JSON's white space
BATCH_BYTES = 1 << 18
_NEWLINE, _OPEN, _CLOSE = b"\n{}"


def key_path(text_key: str) -> list[str]:
    r"""The names that lead to the text: "a.b" is b inside a; "a\.b" is the one name "a.b"."""
    return [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", text_key)]


def _struct(path: list[str]) -> Any:
    """A msgspec decoder's type for an object with a string at `path`."""
    kind: Any = str
    for name in reversed(path):
        kind = msgspec.defstruct("Line", [("value", kind)], rename={"value": name}, gc=False)
    return kind


def line_decoder(text_key: str) -> Callable[[bytes], bytes]:
    """A function from a line to its document; its ValueError says what is wrong. For the slow path."""
    path = key_path(text_key)
    decode = msgspec.json.Decoder(_struct(path)).decode
    text_of = operator.attrgetter(".".join(["value"] * len(path)))

    def document(line: bytes) -> bytes:
        try:
            text: str = text_of(decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            text = _with_surrogates(line, path, error)
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            raise ValueError(
                f"the text has a lone surrogate (\\u{code:04x}) at character {error.start}"
            ) from error

    return document


def _with_surrogates(line: bytes, path: list[str], error: Exception) -> str:
    """What Python's parser finds in a line that msgspec refuses for a lone surrogate; ValueError(error) if it
    was refused for anything else."""
    if not isinstance(error, msgspec.DecodeError) or isinstance(error, msgspec.ValidationError):
        raise ValueError(str(error)) from error
    if re.search(rb"\\u[dD][89a-fA-F]", line) is None:
        raise ValueError(str(error)) from error
    try:
        # Bytes that are no UTF-8 pass here, as in msgspec's skipped fields; in the text they fail later.
        value = json.loads(
            line.decode("utf-8", "surrogateescape"), parse_constant=_refuse, parse_int=str, parse_float=str
        )
        for name in path:
            value = value[name]
    except (ValueError, KeyError, TypeError, RecursionError) as second:
        raise ValueError(str(error)) from second
    if not isinstance(value, str):
        raise ValueError(str(error)) from error
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


class JsonlReader:
    """Cuts the texts of a JSON lines file into blocks.

    stream          its bytes; lines end in LF or CRLF, the last one perhaps in neither; a BOM may precede
    text_key        which string of each object: see key_path
    split           where a piece of a document may end: see block.Split
    max_line_bytes  a longer line, its newline not counted, is an error
    start           where the stream stands, and what came before; the beginning of a file by default

    Blank lines are skipped. A line that does not parse, or has no string there, is an InputError with file
    and line. A document that goes on after a block has pieces in several. Blank lines at the end of the file
    are accounted for in source_bytes of the call that returns False.
    Memory: a batch of lines, or one line if that is longer, and its text.
    """

    ends_with_separator: bool | None = None

    def __init__(
        self, stream: ByteStream, text_key: str, split: Split, max_line_bytes: int, start: Position = BEGINNING
    ) -> None:
        path = key_path(text_key)
        self._stream = stream
        self._split = split
        self._max_line_bytes = max_line_bytes
        self._document = line_decoder(text_key)
        self._decode_lines = msgspec.json.Decoder(_struct(path)).decode_lines
        self._text_of = operator.attrgetter(".".join(["value"] * len(path)))
        # The file's bytes _buffer[_begin:_end] wait to be parsed; no newline is in _buffer[_begin:_searched].
        self._buffer = bytearray(min(2 * BATCH_BYTES, max_line_bytes + 1))
        self._begin = 0
        self._end = 0
        self._searched = 0
        self._at_start = start.bytes == 0
        self._at_end = False
        self._n_lines = start.lines  # read so far
        self._position = start
        self.finished = False
        # The batch: documents not all of which have gone out, and bounds in two measures.
        self._docs: list[bytes] = []
        self._doc_ends = np.zeros(1, np.int64)  # [n + 1]: of documents laid end to end, from 0
        self._line_ends = np.zeros(1, np.int64)  # [n + 1]: of their lines, from the batch's start
        self._line_numbers = np.full(1, start.lines, np.int64)  # [n + 1]: lines of the file up to there
        self._next = 0  # the document that goes out next
        self._next_at = 0  # how much of it has gone out
        self._inside = start.inside  # how much of the first document has gone out before

    def fill(self, block: Block) -> bool:
        """Put the next documents into `block`; False (and block.n_docs == 0) once there are none left.

        Raises InputError.
        """
        block.n_docs, block.open_end, block.source_bytes = 0, False, 0
        block.offsets[0] = 0
        if len(block.offsets) <= MAX_DOCS:
            block.offsets = np.zeros(MAX_DOCS + 1, np.int64)
        while block.n_docs < MAX_DOCS:
            if self._next == len(self._docs):
                n_blank = self._next_batch()
                if n_blank is None:
                    self.finished = True
                    break
                block.source_bytes += n_blank
            elif not self._put_whole(block) and not self._put_piece(block):
                break
        self._advance(block)
        return block.n_docs > 0

    def _advance(self, block: Block) -> None:
        """Say where the block stands, and step over it."""
        before = self._position
        block.first_document = before.documents
        block.after = self._position = replace(
            before,
            bytes=before.bytes + block.source_bytes,
            documents=before.documents + block.n_docs - block.open_end,
            lines=int(self._line_numbers[self._next]) if self._docs else self._n_lines,
            inside=self._next_at,
        )

    # ------------------------------------------------------------------------------------ documents → block

    def _put_whole(self, block: Block) -> bool:
        """Put the next documents that fit whole, or the rest of the one under way; whether there was any."""
        first, at = self._next, int(block.offsets[block.n_docs])
        base = int(self._doc_ends[first]) + self._next_at
        behind = int(np.searchsorted(self._doc_ends, base + len(block.data) - at, side="right")) - 1
        behind = min(behind, first + MAX_DOCS - block.n_docs)
        if behind <= first:
            return False
        docs = self._docs[first:behind]
        docs[0] = docs[0][self._next_at :]
        joined = b"".join(docs)
        block.data[at : at + len(joined)] = np.frombuffer(joined, np.uint8)
        ends = self._doc_ends[first + 1 : behind + 1] - (base - at)
        block.offsets[block.n_docs + 1 : block.n_docs + 1 + len(ends)] = ends
        block.n_docs += len(ends)
        block.source_bytes += int(self._line_ends[behind] - self._line_ends[first])
        self._next, self._next_at = behind, 0
        if behind == len(self._docs):
            self._docs, self._next = [], 0
        return True

    def _put_piece(self, block: Block) -> bool:
        """Put a piece of the next document, which does not fit whole; False if the block is then complete."""
        doc = memoryview(self._docs[self._next])[self._next_at :]
        at = int(block.offsets[block.n_docs])
        room = len(block.data) - at
        if block.n_docs and len(doc) * CARRY_SHARE <= len(block.data):
            return False
        block.data[at:] = np.frombuffer(doc[:room], np.uint8)
        size = self._split(block.data.data[at:]) if room else 0
        if size:
            block.n_docs += 1
            block.offsets[block.n_docs] = at + size
            block.open_end = True
            self._next_at += size
        elif block.n_docs == 0:
            block.data = np.concatenate((block.data, np.empty(max(room, 1), np.uint8)))
            return True
        return False

    # ------------------------------------------------------------------------------------ lines → documents

    def _next_batch(self) -> int | None:
        """Parse the next lines. Returns its size if it has no document, else 0; None at the end."""
        end = self._find_lines()
        if end is None:
            return None
        batch = memoryview(self._buffer)[self._begin : end]
        bom_bytes = len(BOM) if self._at_start and batch[: len(BOM)] == BOM else 0
        self._at_start = False
        self._begin = end
        self._parse(batch[bom_bytes:])
        if not self._docs:
            return len(batch)
        self._line_ends[1:] += bom_bytes
        self._line_ends[-1] = len(batch)  # blank lines behind the last document go with it
        self._line_numbers[-1] = self._n_lines
        self._doc_ends = np.zeros(len(self._docs) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, self._docs), np.int64, len(self._docs)), out=self._doc_ends[1:])
        self._next_at, self._inside = self._inside, 0
        return 0

    def _parse(self, batch: memoryview) -> None:
        """Set _docs and _line_ends from whole lines.

        decode_lines is fast, but takes a value that spans lines, and several in one line. Where each line
        begins with "{" and ends with "}" the first cannot be: inside a value no "{" follows a "}" and white
        space, and a string holds no newline. So each line then has at least one value, and as many values as
        lines means one each.
        """
        text = np.frombuffer(batch, np.uint8)
        ends = np.flatnonzero(text == _NEWLINE) + 1
        closes = ends - 2
        if len(text) and (len(ends) == 0 or ends[-1] < len(text)):
            ends, closes = np.append(ends, len(text)), np.append(closes, len(text) - 1)
        self._next = self._next_at = 0
        plain = (
            len(text)
            and text[0] == _OPEN
            and (text[ends[:-1]] == _OPEN).all()
            and (text[closes] == _CLOSE).all()
        )
        if plain and self._parse_plain(batch, len(ends)):
            self._line_ends = np.concatenate((np.zeros(1, np.int64), ends))
            self._line_numbers = np.arange(self._n_lines, self._n_lines + len(ends) + 1)
        else:
            self._parse_slowly(batch, ends)
        self._n_lines += len(ends)

    def _parse_plain(self, batch: memoryview, n_lines: int) -> bool:
        """Set _docs from lines that each go from "{" to "}"; False if they need a closer look."""
        try:
            lines = self._decode_lines(batch)
            if len(lines) != n_lines:
                return False
            self._docs = [text.encode() for text in map(self._text_of, lines)]
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return False
        return True

    def _parse_slowly(self, batch: memoryview, ends: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Set _docs and _line_ends from any lines, one by one."""
        self._docs = []
        line_ends, line_numbers = [0], [self._n_lines]
        begin = 0
        for number, end in enumerate(ends.tolist(), self._n_lines + 1):
            line = bytes(batch[begin:end]).strip(BLANK)
            begin = end
            if not line:
                continue
            try:
                self._docs.append(self._document(line))
            except ValueError as error:
                raise InputError(f"{self._stream.name}: line {number}: {error}") from error
            line_ends.append(end)
            line_numbers.append(number)
        self._line_ends = np.array(line_ends, np.int64)
        self._line_numbers = np.array(line_numbers, np.int64)

    # --------------------------------------------------------------------------------------- stream → lines

    def _find_lines(self) -> int | None:
        """Where in _buffer the next batch of whole lines ends, read as needed; None at the end."""
        while True:
            stop = min(self._end, self._begin + BATCH_BYTES)
            newline = self._buffer.rfind(b"\n", self._begin, stop)
            if newline < 0:
                newline = self._buffer.find(b"\n", max(self._searched, stop), self._end)
            if newline >= 0:
                return newline + 1
            self._searched = self._end
            if self._end - self._begin > self._max_line_bytes:
                raise InputError(
                    f"{self._stream.name}: line {self._n_lines + 1}: longer than {self._max_line_bytes}"
                    " bytes; raise the limit (--max-line) if that is no mistake"
                )
            if self._at_end:
                return self._end if self._end > self._begin else None
            self._read()

    def _read(self) -> None:
        """Append to the part of a line that is all _buffer holds, doubling that if it is long."""
        n_held = self._end - self._begin
        wanted = max(BATCH_BYTES, n_held)
        size = min(n_held + wanted, self._max_line_bytes + 1)
        if not size <= len(self._buffer) <= 4 * max(size, 2 * BATCH_BYTES):
            new = bytearray(size)
            new[:n_held] = memoryview(self._buffer)[self._begin : self._end]
            self._buffer = new
        else:
            self._buffer[:n_held] = self._buffer[self._begin : self._end]
        self._begin, self._end, self._searched = 0, n_held, n_held
        n_read = self._stream.readinto(memoryview(self._buffer)[n_held:size])
        self._end += n_read
        self._at_end = n_read < size - n_held
