"""detokenize(): a token file back into the text it was made from, a few MiB at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec
import numpy as np

from pyunitok.corpus.jsonl import key_path
from pyunitok.errors import OutputError
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import InputRecord

BATCH_IDS = 1 << 20


class Sink(Protocol):
    """An unbuffered file, stdout, an OutFile: write() says how much it took."""

    def write(self, data: memoryview, /) -> int | None: ...


def detokenize(array: TokenArray, tokenizer: Tokenizer, out: Sink, on_bytes: Callable[[int], None]) -> int:
    """Write the inputs, one after another, as the manifest describes them; returns how many bytes.

    Text inputs come back byte for byte, separators included. A JSONL input comes back as one object a line that holds
    the text under its key, escaped as JSON asks; its other fields are not in the token file. A Parquet input comes
    back the same way, bytes that are no UTF-8 replaced. A file without a manifest is one text. The eod of each document
    is left out by its position. on_bytes is told after each batch.
    """
    if array.manifest is None:
        records = [InputRecord("", "text", "none", documents=len(array))]
    else:
        records = array.manifest.inputs
    first = written = 0
    for record in records:
        for part in _input_parts(array, tokenizer, record, first):
            view = memoryview(part)
            while len(view):  # an unbuffered write may be partial
                view = view[out.write(view) or 0 :]
            written += len(part)
            on_bytes(len(part))
        first += record.documents
    if first != len(array):
        raise OutputError(f"{array.path}: the inputs of the manifest have {first} documents, the file {len(array)}")
    return written


def _input_parts(array: TokenArray, tokenizer: Tokenizer, record: InputRecord, first: int) -> Iterator[Any]:
    """The bytes of one input, whose documents begin at `first`."""
    end = first + record.documents
    if record.format in ("jsonl", "parquet"):
        for begin, stop in _batches(array, first, end):
            yield _json_lines(array, tokenizer, "text" if record.text_key is None else record.text_key, begin, stop)
        return
    separator = (record.separator or "").encode("utf-8", "surrogateescape")
    # What a separator follows: all but the last document of an input that does not end with one.
    closed = end if record.ends_with_separator else max(end - 1, first)
    for begin, stop in _batches(array, first, closed):
        yield from _decode(array, tokenizer, begin, stop, separator)
    if closed < end:
        yield from _decode(array, tokenizer, end - 1, end, b"")


def _batches(array: TokenArray, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of documents of about BATCH_IDS; a longer document is a run of its own."""
    while first < end:
        start = int(array.ends[first - 1]) if first else 0
        stop = int(np.searchsorted(array.ends[first:end], np.uint64(start + BATCH_IDS), "right")) + first
        stop = max(stop, first + 1)
        yield first, stop
        first = stop


def _bounds(array: TokenArray, first: int, stop: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    start = array.ends[first - 1] if first else np.uint64(0)
    bounds = np.concatenate(([start], array.ends[first:stop]))
    if np.any(bounds[1:] < bounds[:-1] + np.uint64(array.eod_id is not None)) or bounds[-1] > len(array.ids):
        raise OutputError(f"{array.path}: the ends of documents {first} to {stop - 1} do not fit: a damaged .ends")
    return bounds.astype(np.int64)


def _decode(array: TokenArray, tokenizer: Tokenizer, first: int, stop: int, separator: bytes) -> Iterator[Any]:
    """Documents first..stop-1, each with its separator; one long document in several parts."""
    bounds = _bounds(array, first, stop)
    eod = array.eod_id is not None
    if stop - first == 1 and not tokenizer.decodes_whole:
        begin, end = int(bounds[0]), int(bounds[1]) - eod
        for at in range(begin, end, BATCH_IDS):
            yield tokenizer.decode_bytes(array.ids[at : min(at + BATCH_IDS, end)])
        yield separator
        return
    ids = np.asarray(array.ids[bounds[0] : bounds[-1]])
    yield tokenizer.decode_documents(ids, bounds - bounds[0], drop_last=eod, separator=separator)[0]


def _json_lines(array: TokenArray, tokenizer: Tokenizer, key: str, first: int, stop: int) -> bytes:
    bounds = _bounds(array, first, stop)
    ids = np.asarray(array.ids[bounds[0] : bounds[-1]])
    data, offsets = tokenizer.decode_documents(ids, bounds - bounds[0], drop_last=array.eod_id is not None)
    text, names = data.tobytes(), key_path(key)[::-1]
    lines = []
    for begin, end in zip(offsets.tolist(), offsets.tolist()[1:], strict=False):
        value: Any = text[begin:end].decode("utf-8", "replace")
        for name in names:
            value = {name: value}
        lines.append(msgspec.json.encode(value))
    return b"\n".join([*lines, b""])
