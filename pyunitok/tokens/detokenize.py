"""detokenize() restores the text of a token file, a few MiB at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Protocol

import msgspec
import numpy as np

from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.json_text import key_path
from pyunitok.errors import OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Bytes
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.batches import batches
from pyunitok.tokens.documents import Ints
from pyunitok.tokens.manifest import InputRecord

BATCH_IDS = 1 << 20


class Sink(Protocol):
    """An unbuffered file, stdout or an OutFile, whose write() returns the number of bytes written."""

    def write(self, data: memoryview, /) -> int | None: ...


def detokenize(array: TokenArray, tokenizer: Tokenizer, out: Sink, on_bytes: Callable[[int], None]) -> int:
    """Write the inputs one after another, as the manifest describes them. Returns the number of bytes.

    Text inputs are restored byte for byte, including separators. Inputs with a text key, and documents from another
    program, become JSON Lines with the text under the text key (by default "text"); invalid UTF-8 is replaced, and
    other fields are missing. A file without a manifest is restored as a single text. The eod at the end of each
    document is omitted. After each batch, on_bytes is called with the number of bytes just written.
    """
    if array.manifest is None:
        records = [InputRecord("", "text", "none", documents=len(array))]
    else:
        records = array.manifest.inputs
    first = written = 0
    for record in records:
        for part in _input_parts(array, tokenizer, record, first):
            view = part.data
            while len(view):  # an unbuffered write may be partial
                view = view[out.write(view) or 0 :]
            written += len(part)
            on_bytes(len(part))
        first += record.documents
    if first != len(array):
        raise OutputError(f"{array.path} has {len(array)} documents, but the inputs in its manifest have {first}")
    return written


def _input_parts(array: TokenArray, tokenizer: Tokenizer, record: InputRecord, first: int) -> Iterator[Bytes]:
    """The bytes of one input, whose first document is `first`."""
    end = first + record.documents
    row = FORMATS.get(record.format)  # None: another program supplied the documents
    if row and not row.has_text_key:
        separator = (record.separator or "").encode("utf-8", "surrogateescape")
        # A separator follows every document, except the last one if the input does not end with a separator.
        closed = end if record.ends_with_separator else max(end - 1, first)
        yield from _texts(array, tokenizer, first, closed, separator)
        yield from _texts(array, tokenizer, closed, end, b"")
    else:
        names = key_path("text" if record.text_key is None else record.text_key)[::-1]
        for _, bounds in array.runs(first, end, max_tokens=BATCH_IDS):
            yield _json_lines(array, tokenizer, names, bounds)


def _texts(array: TokenArray, tokenizer: Tokenizer, first: int, stop: int, separator: bytes) -> Iterator[Bytes]:
    """Documents first..stop-1, each with its separator."""
    for bounds, open_end, drop_last in batches(array, first, stop, tokenizer, BATCH_IDS):
        ids = np.asarray(array.ids[bounds[0] : bounds[-1]])
        after = b"" if open_end else separator
        yield tokenizer.codec.decode_documents(ids, bounds - bounds[0], drop_last=drop_last, separator=after)[0]


def _json_lines(array: TokenArray, tokenizer: Tokenizer, names: list[str], bounds: Ints) -> Bytes:
    """One JSON line per document, with its text in nested objects; `names` are ordered from the innermost outwards."""
    ids = np.asarray(array.ids[bounds[0] : bounds[-1]])
    data, offsets = tokenizer.codec.decode_documents(ids, bounds - bounds[0], drop_last=array.eod_id is not None)
    text, lines = data.tobytes(), []
    for begin, end in pairwise(offsets.tolist()):
        value: Any = text[begin:end].decode("utf-8", "replace")
        for name in names:
            value = {name: value}
        lines.append(msgspec.json.encode(value))
    return np.frombuffer(b"\n".join([*lines, b""]), np.uint8)
