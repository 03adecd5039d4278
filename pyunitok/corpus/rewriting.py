"""Writes parts of corpus files: compressed frames, and JSON lines with another text or an added field.

Compressed files are written in frames (zstd), members (gzip) or streams (bzip2, xz) that each hold one block of the
input, so the bytes do not depend on threads, and workers compress in parallel. Any decompressor reads them as one file.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from pyunitok.corpus.block import Block
from pyunitok.corpus.compressions import COMPRESSIONS
from pyunitok.corpus.json_text import BLANK
from pyunitok.errors import OutputError

MAX_DIGITS = 4000  # of an integer that Python parses


def compressed(text: bytes, compression: str) -> bytes:
    """The text as a complete frame of this compression; nothing if the text is empty."""
    compress = COMPRESSIONS[compression].compress
    if compress is None:
        raise OutputError(f"cannot write {compression} files")
    return compress(text) if text else b""


def lines_of(block: Block, max_line_bytes: int) -> list[bytes]:
    """The JSON lines of a block's documents, without newlines. Blank and skipped lines are left out.

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
    """A JSON line, which has at least one field, with another one at its end."""
    end = line.rindex(b"}")
    return line[:end] + b"," + json.dumps(name).encode() + b":" + json.dumps(value).encode() + line[end:]
