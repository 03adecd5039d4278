"""Where documents came from, as rows of CSV (dolma) and as lines of JSON (infini-gram).

Without a metadata sidecar what is known is the input and the document's number in it; with one, its line and fields.
The text of a run of documents is made by one formatting operation: a million rows in a fraction of a second.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import numpy as np

from pyunitok.export.documents import Ints
from pyunitok.tokens import InputRecord, TokenArray


def by_input(array: TokenArray, first: int, stop: int) -> Iterator[tuple[str, int, int, int]]:
    """(path, its first document, d, e) for the parts d..e-1 of first..stop-1 that come from one input."""
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
    """start, end, id, src, loc for documents whose bounds are b; id is the document's number, loc counts from 1."""
    for path, at, d, e in by_input(array, first, first + len(b) - 1):
        columns = np.stack((b[d - first : e - first], b[d - first + 1 : e - first + 1], np.arange(d, e),
                            np.arange(d - at + 1, e - at + 1)), axis=1)  # fmt: skip
        yield _format(f"%d,%d,%d,{_csv_field(path)},%d\r\n", columns)


def json_lines(array: TokenArray, first: int, stop: int) -> Iterator[bytes]:
    """{"path", "linenum", "metadata"}, as infini-gram's own indexing writes it; linenum counts from 0."""
    for path, at, d, e in by_input(array, first, stop):
        name = json.dumps(path).replace("%", "%%")
        yield _format(f'{{"path": {name}, "linenum": %d, "metadata": {{}}}}\n', np.arange(d - at, e - at))


def _format(row: str, numbers: Ints) -> bytes:
    return (row * len(numbers) % tuple(numbers.ravel().tolist())).encode("utf-8", "surrogateescape")


def _csv_field(text: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([text])
    return out.getvalue().replace("%", "%%")
