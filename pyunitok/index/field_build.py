"""add_fields() stores fields of the documents of an index; fields.py shows the layout of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.outfile import OutputLock
from pyunitok.errors import LimitError
from pyunitok.index.columns import write_columns
from pyunitok.index.fields import FIELDS_NAME, INPUT, KIND, value_of
from pyunitok.index.opened import open_index
from pyunitok.index.word_shard import state_of
from pyunitok.tokens.manifest import StrPath

DOCUMENTS = 4096  # documents between calls of on_progress


def add_fields(
    folder: StrPath, names: Sequence[str], *, model: Any = None, on_progress: Callable[[float], None] = lambda _: None
) -> None:
    """Store fields of the metadata that `tokenize --metadata` saved, in addition to those already stored.

    names        the names of fields; "a.b" is also field b of the object a
    on_progress  called with the completed share, 0 to 1

    Does nothing if the fields are stored and up to date. Raises OutputError if a token file has no metadata.
    """
    folder = Path(folder)
    lock = OutputLock(folder / FIELDS_NAME)
    try:
        index = open_index(folder, model=model)
        stored = index.fields
        wanted = list(dict.fromkeys([*stored.names, *names]))
        if INPUT in wanted or not all(wanted):
            raise LimitError(f"{INPUT} needs no stored field" if INPUT in wanted else "the name of a field is empty")
        if stored.is_current and wanted == stored.names:
            return
        codes, numbers = _read(index, wanted, on_progress)
        columns = {}
        for k, (column, values) in enumerate(zip(codes, numbers, strict=True)):
            order = sorted(values)
            final = np.zeros(len(order) + 1, np.uint32)
            final[[values[value] for value in order]] = np.arange(1, len(order) + 1, dtype=np.uint32)
            data = [value.encode() for value in order]
            columns[f"{k}.codes"] = final[column]
            columns[f"{k}.offsets"] = np.cumsum([0, *map(len, data)], dtype=np.uint64)
            columns[f"{k}.text"] = np.frombuffer(b"".join(data), np.uint8)
        about = {"version": 1, "index": state_of(index.manifest), "fields": wanted}
        write_columns(folder / FIELDS_NAME, KIND, columns, about)
    finally:
        lock.release()


def _read(index: Any, names: Sequence[str], on_progress: Callable[[float], None]) -> tuple[Any, list[dict[str, int]]]:
    """Returns uint32[fields, documents] provisional codes, and the code of each value of each field."""
    codes = np.zeros((len(names), index.n_documents), np.uint32)
    numbers: list[dict[str, int]] = [{} for _ in names]
    document = 0
    for array in index.arrays:
        for record in array.all_metadata:
            fields = record.get("metadata") or {}
            for k, name in enumerate(names):
                value = value_of(fields, name)
                if value is not None:
                    codes[k, document] = numbers[k].setdefault(value, len(numbers[k]) + 1)
            document += 1
            if document % DOCUMENTS == 0:
                on_progress(document / index.n_documents)
    return codes, numbers
