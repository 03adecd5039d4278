"""Rewriters write corpus files from the blocks of other files: documents are dropped, replaced, marked or copied.

    block, edits ──▶ rewritten(), in any thread ──▶ Written ──▶ FileWriter.add(), in order ──▶ the bytes of the file

formats.py lists the rewriter of each format; this module defines those for text and JSON lines. Compressed files are
written in frames (zstd), members (gzip) or streams (bzip2, xz) that each contain one block of the input, so the bytes
do not depend on the number of threads, and workers compress in parallel. Any decompressor reads them as one file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from pyunitok.corpus.block import Block
from pyunitok.corpus.compressions import COMPRESSIONS
from pyunitok.corpus.json_text import BLANK, key_path
from pyunitok.errors import OutputError


@dataclass(frozen=True)
class Edits:
    """How to change documents of a block, by their numbers in the block. All others are copied.

    texts   {number: the texts of the documents that replace this one; each keeps its other fields}; if the sequence is
            empty, the document is dropped. Texts are str, with surrogates for invalid UTF-8
    values  {number: the value of the rewriter's field, which is added to the document}
    """

    texts: Mapping[int, Sequence[str]] = field(default_factory=dict)
    values: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """A block in the form that its FileWriter accepts. Must not refer to the Block.

    data        bytes, or rows of a Parquet file
    n_docs      the number of documents in `data`
    is_end      whether a different process may continue the file after this block
    """

    data: Any = b""
    n_docs: int = 0
    is_end: bool = True


class FileWriter(Protocol):
    """Turns the blocks of one input, in order, into the bytes of a file."""

    def add(self, written: Written, at: int) -> bytes:
        """The next bytes of the file, which has `at` bytes so far. The result may be empty until a block has is_end."""

    def end(self, at: int) -> bytes:
        """The last bytes of the file."""

    def state(self) -> str | None:
        """After a block with is_end, the state with which file_writer() can write the rest of the file."""


class Rewriter(Protocol):
    """Converts the blocks of one input. Threads may share it."""

    def rewritten(self, block: Block, edits: Edits) -> Written: ...

    def ids_of(self, block: Block, documents: Sequence[int]) -> list[Any]:
        """The values of the "id" fields of documents; None for a document without one."""

    def file_writer(self, state: str | None = None) -> FileWriter:
        """Returns a writer for a new file or, given a state(), for the rest of a file."""


class Plain:
    """The FileWriter of formats whose files may be concatenated."""

    def __init__(self, compression: str = "none") -> None:
        self._compression = compression

    def add(self, written: Written, _: int) -> bytes:
        data: bytes = written.data
        return data

    def end(self, at: int) -> bytes:
        return b"" if at else empty(self._compression)

    def state(self) -> None:
        return None


class TextRewriter:
    """The Rewriter for text. Writes the separator after every document.

    separator, compression  those of the input
    """

    def __init__(self, separator: bytes | None, compression: str) -> None:
        self._end, self._compression = separator or b"", compression

    def rewritten(self, block: Block, edits: Edits) -> Written:
        if edits.values:
            raise OutputError("plain-text documents cannot be marked, because they have no fields")
        texts = list[bytes]()
        for number, text in enumerate(block.texts()):
            new = edits.texts.get(number)
            texts += [text] if new is None else [one.encode("utf-8", "surrogateescape") for one in new]
        return Written(compressed(b"".join(part for text in texts for part in (text, self._end)), self._compression),
                       len(texts))  # fmt: skip

    def ids_of(self, _: Block, documents: Sequence[int]) -> list[Any]:
        return [None] * len(documents)

    def file_writer(self, _: str | None = None) -> Plain:
        return Plain(self._compression)


class JsonlRewriter:
    """The Rewriter for JSON lines. Copies unchanged lines byte for byte, and drops blank lines and a BOM.

    field           the name of the field that edits add; None: edits add no field
    text_key        see json_text.key_path
    max_line_bytes  as for the reader
    """

    def __init__(self, text_key: str, max_line_bytes: int, compression: str, field: str | None) -> None:
        self._path, self._max_line_bytes = key_path(text_key), max_line_bytes
        self._compression, self._field = compression, field
        self._ids = msgspec.json.Decoder(_WithId)

    def rewritten(self, block: Block, edits: Edits) -> Written:
        if not edits.texts and not edits.values and (whole := whole_lines(block)) is not None:
            return Written(compressed(whole, self._compression), block.n_docs)
        lines = list[bytes]()
        for number, line in enumerate(lines_of(block, self._max_line_bytes)):
            new = edits.texts.get(number)
            if number in edits.values:
                assert self._field is not None
                line = with_field(line, self._field, edits.values[number])
            lines += [line] if new is None else [with_text(line, self._path, text) for text in new]
        return Written(compressed(b"".join(part for line in lines for part in (line, b"\n")), self._compression),
                       len(lines))  # fmt: skip

    def ids_of(self, block: Block, documents: Sequence[int]) -> list[Any]:
        lines = lines_of(block, self._max_line_bytes)
        return [self._id_of(lines[document]) for document in documents]

    def _id_of(self, line: bytes) -> Any:
        try:
            return self._ids.decode(line).id
        except (msgspec.DecodeError, UnicodeError):
            return parsed(line).get("id")

    def file_writer(self, _: str | None = None) -> Plain:
        return Plain(self._compression)


class _WithId(msgspec.Struct):
    id: Any = None


MAX_DIGITS = 4000  # longer integers become floats, because Python parses only about this many digits


def compressed(text: bytes, compression: str) -> bytes:
    """The text as a complete frame of this compression; nothing if the text is empty."""
    compress = COMPRESSIONS[compression].compress
    if compress is None:
        raise OutputError(f"cannot write {compression} files")
    return compress(text) if text else b""


def empty(compression: str) -> bytes:
    """A file without text. Decompressors reject a compressed file of 0 bytes."""
    compress = COMPRESSIONS[compression].compress
    return b"" if compress is None else compress(b"")


def lines_of(block: Block, max_line_bytes: int) -> list[bytes]:
    """The JSON lines of a block's documents, without newlines. Blank and skipped lines are omitted.

    max_line_bytes  as for the reader, which counts a longer line as a document even if it is blank
    """
    lines = [line for line in bytes(block.raw).split(b"\n") if line.strip(BLANK) or len(line) > max_line_bytes]
    if block.numbers is None:
        return lines[: block.n_docs]
    return [lines[number] for number in (block.numbers - block.first_document).tolist()]


def whole_lines(block: Block) -> bytes | None:
    """The lines of a block with their newlines, if none is blank or was skipped; otherwise None."""
    lines = bytes(block.raw)
    is_whole = block.numbers is None and lines.endswith(b"\n") and lines.count(b"\n") == block.n_docs
    return lines if is_whole else None


_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def with_text(line: bytes, path: list[str], text: str) -> bytes:
    """A JSON line with this text under `path`. Other values keep their spelling, unless the line has constants or
    escapes that msgspec rejects."""
    try:
        return _replaced(line, path, msgspec.json.encode(text))
    except (msgspec.DecodeError, UnicodeError):
        values: Any = parsed(line)
        inner = values
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = text
        return json.dumps(values, separators=(",", ":")).encode()


def parsed(line: bytes) -> Any:
    """The value of a JSON line that the reader accepted. Invalid UTF-8 is replaced, and huge integers are rounded."""
    return json.loads(line.decode("utf-8", "replace"), parse_int=lambda s: int(s) if len(s) < MAX_DIGITS else float(s))


def _replaced(value: bytes | msgspec.Raw, path: list[str], text: bytes) -> bytes:
    fields = _FIELDS.decode(value)
    fields[path[0]] = msgspec.Raw(text if len(path) == 1 else _replaced(fields[path[0]], path[1:], text))
    return msgspec.json.encode(fields)


def with_field(line: bytes, name: str, value: Any) -> bytes:
    """The JSON line with a field added at its end. The line must have at least one field."""
    end = line.rindex(b"}")
    return line[:end] + b"," + json.dumps(name).encode() + b":" + json.dumps(value).encode() + line[end:]
