"""write_columns() writes, and Columns reads, files of named arrays that an index keeps next to its shards.

    column 0 │ zeros to 64 bytes │ column 1 │ … │ JSON │ u64 size of JSON │ u64 XXH64 of JSON │ "UTCOLS1\\n"

    JSON     {"kind", "about", "columns": {name: {"dtype", "offset", "size", "hash": [XXH64 of each 64 MiB]}}}

All numbers are little-endian. Opening a file checks the JSON and the bounds of the columns; `pyunitok verify` checks
their hashes. Code that reads a column must not trust its values.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from pyunitok.disk.hashing import ChunkHash
from pyunitok.disk.outfile import new_file
from pyunitok.errors import InputError

MAGIC = b"UTCOLS1\n"
FOOTER_BYTES = 24
ALIGNMENT = 64
DTYPES = ("|u1", "<u2", "<u4", "<u8", "<f8")
MAX_JSON_BYTES = 64 << 20
WRITE_BYTES = 16 << 20

Array = np.ndarray[Any, Any]


def write_columns(path: Path, kind: str, columns: Mapping[str, Array], about: Mapping[str, Any]) -> str:
    """Write a file of vectors, replacing an existing one. Returns the XXH64 of its JSON, which identifies its contents.

    kind     what the file contains, which Columns checks
    about    further values to store in the JSON
    """
    records: dict[str, Any] = {}
    with new_file(path) as file:
        for name, column in columns.items():
            column = np.ascontiguousarray(column)
            if column.dtype.str not in DTYPES or column.ndim != 1:
                raise ValueError(f"column {name} has dtype {column.dtype.str} and shape {column.shape}")
            file.write(bytes(-file.tell() % ALIGNMENT))
            hashed, data = ChunkHash(), _bytes(column)
            records[name] = {"dtype": column.dtype.str, "offset": file.tell(), "size": len(column)}
            for at in range(0, len(data), WRITE_BYTES):
                hashed.update(data[at : at + WRITE_BYTES])
                file.write(data[at : at + WRITE_BYTES])
            records[name]["hash"] = hashed.state().all_digests()
        text = json.dumps({"kind": kind, "about": dict(about), "columns": records}, ensure_ascii=True).encode()
        digest = xxhash.xxh64(text)
        file.write(text + struct.pack("<QQ", len(text), digest.intdigest()) + MAGIC)
    return digest.hexdigest()


class Columns:
    """An open file of columns; columns[name] is a read-only memory map. Raises InputError if the file is damaged.

    about   the value given to write_columns
    digest  the value returned by write_columns
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        try:
            self._data: Array = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        found = self._footer()
        if found.get("kind") != kind or not isinstance(found.get("about"), dict):
            raise InputError(f"{path}: not a file of {kind}")
        self.about: dict[str, Any] = found["about"]
        self._records: dict[str, Any] = found["columns"]
        for name, record in self._records.items():
            self._check(name, record)

    def _footer(self) -> dict[str, Any]:
        n = len(self._data)
        tail = self._data[max(0, n - FOOTER_BYTES) :].tobytes()
        if len(tail) != FOOTER_BYTES or tail[-8:] != MAGIC:
            raise InputError(f"{self.path}: not a file of columns, or it is truncated")
        size, digest = struct.unpack("<QQ", tail[:16])
        if size > min(n - FOOTER_BYTES, MAX_JSON_BYTES):
            raise InputError(f"{self.path}: its JSON has {size} bytes, which do not fit in the file")
        text = self._data[n - FOOTER_BYTES - size : n - FOOTER_BYTES].tobytes()
        self._end = n - FOOTER_BYTES - size
        if xxhash.xxh64_intdigest(text) != digest:
            raise InputError(f"{self.path}: its JSON is damaged (the XXH64 does not match)")
        self.digest = xxhash.xxh64_hexdigest(text)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path}: its JSON is invalid: {error}") from None
        if not isinstance(found, dict) or not isinstance(found.get("columns"), dict):
            raise InputError(f"{self.path}: its JSON does not describe columns")
        return found

    def _check(self, name: str, record: Any) -> None:
        try:
            dtype, offset, size, hashes = record["dtype"], record["offset"], record["size"], record["hash"]
            is_valid = dtype in DTYPES and type(offset) is type(size) is int and isinstance(hashes, list)
            is_valid = is_valid and min(offset, size) >= 0 and offset % ALIGNMENT == 0
            is_valid = is_valid and offset + size * np.dtype(dtype).itemsize <= self._end
        except (KeyError, TypeError):
            is_valid = False
        if not is_valid:
            raise InputError(f"{self.path}: the record of column {name!r} is invalid")

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def column(self, name: str, dtype: str, size: int | None = None) -> Array:
        """The column `name`. Raises InputError if there is no such column with this dtype and, if given, this size."""
        record = self._records.get(name)
        if record is None or record["dtype"] != dtype or size not in (None, record["size"]):
            wanted = f"{dtype}[{'n' if size is None else size}]"
            raise InputError(f"{self.path}: column {name!r} is missing or is not {wanted}")
        return self._column(name)

    def _column(self, name: str) -> Array:
        record = self._records[name]
        dtype = np.dtype(record["dtype"])
        end = record["offset"] + record["size"] * dtype.itemsize
        return self._data[record["offset"] : end].view(np.ndarray).view(dtype)

    def problems(self) -> list[str]:
        """One sentence for each damaged column."""
        ret = []
        for name, record in self._records.items():
            hashed = ChunkHash()
            data = _bytes(self._column(name))
            for at in range(0, len(data), WRITE_BYTES):
                hashed.update(data[at : at + WRITE_BYTES])
            if hashed.state().all_digests() != record["hash"]:
                ret.append(f"{self.path}: column {name!r} is damaged (its XXH64 does not match)")
        return ret


def _bytes(column: Array) -> memoryview:
    return column.view(np.uint8).data if len(column) else memoryview(b"")
