"""Writes the origins of documents as rows of CSV (dolma) or as lines of JSON (infini-gram).

The metadata file (tokenize --metadata) contains a document's line and fields. Without this file, only the document's
input and its number in that input are known; a single formatting operation then produces the rows of many documents, a
million in a fraction of a second.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import numpy as np

from pyunitok.errors import OutputError
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.documents import Ints
from pyunitok.tokens.manifest import InputRecord
from pyunitok.tokens.metadata import Metadata, metadata_path

PART_BYTES = 1 << 20  # the size of the parts yielded


def kept_metadata(array: TokenArray) -> Metadata | None:
    """The metadata file, if there is one. Raises OutputError if it describes a different number of documents."""
    path = metadata_path(array.path)
    if not path.exists():
        return None
    kept = Metadata(path)
    if len(kept) != len(array):
        raise OutputError(f"{path} describes {len(kept)} documents, but {array.path} has {len(array)}")
    return kept


def by_input(array: TokenArray, first: int, stop: int) -> Iterator[tuple[str, int, int, int]]:
    """For each input of documents first..stop-1: (path, its first document, d, e). Documents d..e-1 come from the
    input."""
    if array.manifest is None:
        records = [InputRecord(str(array.path), "text", "none", documents=len(array))]
    else:
        records = array.manifest.inputs
    at = 0
    for record in records:
        d, e = max(first, at), min(stop, at + record.documents)
        if d < e:
            yield record.path, at, d, e
        at += record.documents


def csv_rows(array: TokenArray, first: int, b: Ints) -> Iterator[bytes]:
    """start, end, id, src, loc for documents whose bounds are b; loc counts from 1.

    id is the "id" in the metadata or, if there is none, the document's number.
    """
    kept = kept_metadata(array)
    if kept is not None:
        out = io.StringIO()
        rows = csv.writer(out)
        for d in range(first, first + len(b) - 1):
            of = kept[d]
            own = of.get("metadata") or {}
            rows.writerow([int(b[d - first]), int(b[d - first + 1]), own.get("id", d), of["file"], of.get("line", 1)])
            if out.tell() > PART_BYTES:
                yield out.getvalue().encode("utf-8", "surrogateescape")
                out.seek(0)
                out.truncate()
        yield out.getvalue().encode("utf-8", "surrogateescape")
        return
    for path, at, d, e in by_input(array, first, first + len(b) - 1):
        columns = np.stack((b[d - first : e - first], b[d - first + 1 : e - first + 1], np.arange(d, e),
                            np.arange(d - at + 1, e - at + 1)), axis=1)  # fmt: skip
        yield _format(f"%d,%d,%d,{_csv_field(path)},%d\r\n", columns)


def json_lines(array: TokenArray, first: int, stop: int) -> Iterator[bytes]:
    """{"path", "linenum", "metadata"}, as infini-gram's indexing script writes it; linenum counts from 0."""
    kept = kept_metadata(array)
    if kept is not None:
        waiting = bytearray()
        for d in range(first, stop):
            of = kept[d]
            row = {"path": of["file"], "linenum": of.get("line", 1) - 1, "metadata": of.get("metadata") or {}}
            waiting += json.dumps(row).encode() + b"\n"
            if len(waiting) > PART_BYTES:
                yield bytes(waiting)
                waiting.clear()
        if waiting:
            yield bytes(waiting)
        return
    for path, at, d, e in by_input(array, first, stop):
        name = json.dumps(path).replace("%", "%%")
        yield _format(f'{{"path": {name}, "linenum": %d, "metadata": {{}}}}\n', np.arange(d - at, e - at))


def _format(row: str, numbers: Ints) -> bytes:
    return (row * len(numbers) % tuple(numbers.ravel().tolist())).encode("utf-8", "surrogateescape")


def _csv_field(text: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([text])
    return out.getvalue().replace("%", "%%")
