"""ParquetReader: one column of strings or bytes of a Parquet file, as documents.

pyarrow reads the wanted column alone, a few rows at a time, whatever the size of the row groups:

    row group 0        row group 1
    │ batch │ batch │  │ batch │ …       batch ──▶ Waiting ──▶ blocks

Bytes go out as they lie there: what a column of
strings holds that is no UTF-8 is not refused.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from pyunitok.corpus.block import Block, Split
from pyunitok.corpus.jsonl import key_path
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.text import MAX_DOCS
from pyunitok.corpus.waiting import Waiting
from pyunitok.errors import InputError

BATCH_BYTES = 1 << 18
MAX_ROWS = 4096  # in a batch, where rows are tiny
FIRST_ROWS = 16  # in the first batch
READ_BYTES = 1 << 20


class ParquetReader:
    """Cuts the texts of a Parquet file into blocks.

    file      seekable, opened for reading in binary; close() closes it
    name      of it, for messages
    text_key  the column: see jsonl.key_path; a.b is the field b of the struct a
    split     where a piece of a document may end: see block.Split
    start     where to begin, by documents and inside; the beginning of the file by default
    on_bad    is told row and reason of each null, which is then left out; None makes the first one an error

    Each row is a document. Rows are counted from 0, over the whole file. InputError names the file and, as far as it
    is known, the row: for a column that is missing or holds no text, a null, and whatever pyarrow refuses.
    Memory: a batch, and the page and the dictionary that it comes from.
    """

    ends_with_separator: bool | None = None

    def __init__(
        self, file: BinaryIO, name: str, text_key: str, split: Split, start: Position = BEGINNING,
        on_bad: Callable[[int, str], None] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.finished = False
        self._file = file
        self._split = split
        self._key = text_key
        self._path = key_path(text_key)
        self._on_bad = on_bad
        self._position = start
        self._n_read = start.documents  # rows, in the batches so far
        self._waiting = Waiting(np.empty(0, np.uint8), np.zeros(1, np.int64))
        self._rows = np.array([start.documents])  # [n + 1]: rows of the file up to the end of each document there
        with self._errors("cannot be read as Parquet"):
            import pyarrow.parquet

            self._parquet = pyarrow.parquet.ParquetFile(
                file, buffer_size=READ_BYTES, pre_buffer=False, page_checksum_verification=True
            )
            schema = self._parquet.schema_arrow
        try:
            _check_column(schema, self._path, self._key)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from error
        self._size_bytes = file.seek(0, 2)
        self._batches = self._read_batches(start.documents)

    def fill(self, block: Block) -> bool:
        """Put the next documents into `block`; False (and block.n_docs == 0) once there are none left."""
        block.n_docs, block.open_end, block.source_bytes = 0, False, 0
        block.offsets[0] = 0
        if len(block.offsets) <= MAX_DOCS:
            block.offsets = np.zeros(MAX_DOCS + 1, np.int64)
        while block.n_docs < MAX_DOCS:
            if not self._waiting:
                if not self._next_batch():
                    self.finished = True
                    break
            elif not self._waiting.put(block, self._split):
                break
        block.source_bytes = int(block.offsets[block.n_docs])
        self._advance(block)
        return block.n_docs > 0

    def compressed_position(self) -> int:
        return self._size_bytes * self._n_read // max(int(self._parquet.metadata.num_rows), 1)

    def close(self) -> None:
        self._batches.close()
        self._file.close()

    def _advance(self, block: Block) -> None:
        """Say where the block stands, and step over it."""
        before = self._position
        block.first_document = before.documents
        block.after = self._position = replace(
            before,
            bytes=before.bytes + block.source_bytes,
            documents=int(self._rows[self._waiting.next]),
            inside=self._waiting.inside,
        )

    def _next_batch(self) -> bool:
        """Take the next batch; False at the end. It may have no documents."""
        with self._errors(f"row {self._n_read}: cannot be read, here or further on"):
            column = next(self._batches, None)
            if column is None:
                return False
            first, n_rows = self._n_read, len(column)
            rows = np.arange(first, first + n_rows + 1)
            if column.null_count:
                rows = self._without_nulls(column, rows)
                column = column.drop_null()
            data, ends = _packed(column)
        inside = self._position.inside if first == self._position.documents else 0
        self._waiting, self._rows = Waiting(data, ends, inside), rows
        self._n_read += n_rows
        return True

    def _without_nulls(self, column: Any, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Report the nulls; `rows` for the documents that are left, those behind the last one going with it."""
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        for row in rows[:-1][is_null].tolist():
            if self._on_bad is None:
                raise InputError(f"{self.name}: row {row}: {self._key!r} is null")
            self._on_bad(row, f"{self._key!r} is null")
        kept = np.append(rows[0], rows[1:][~is_null])
        kept[-1] = rows[-1]
        return kept

    def _read_batches(self, first_row: int) -> Generator[Any, None, None]:
        """The column, from that row on, in arrays of binary or large_binary.

        How many rows make a batch is learnt from those before: what the file itself says of its sizes means little
        where values are stored once and repeated, and pyarrow crashes on some damaged descriptions of columns. Where
        rows turn out far longer than thought, the row group is begun again with fewer at a time.
        """
        metadata, begin, n_rows = self._parquet.metadata, 0, FIRST_ROWS
        for group in range(metadata.num_row_groups):
            end = begin + metadata.row_group(group).num_rows
            row, fitting = max(begin, first_row), n_rows
            while row < end:
                for column in self._read_group(group, n_rows, row - begin):
                    yield column
                    row += len(column)
                    fitting = _rows_that_fit(column)
                    if fitting * 8 < n_rows or (row == first_row + FIRST_ROWS and fitting > 2 * n_rows):
                        break
                else:
                    if row != end:
                        raise InputError(f"{self.name}: row {row}: row group {group} ends here, not at row {end}")
                n_rows = fitting
            begin = end

    def _read_group(self, group: int, n_rows: int, n_skipped: int) -> Iterator[Any]:
        """A row group's column without its first rows, so many at a time."""
        for batch in self._parquet.iter_batches(n_rows, [group], [".".join(self._path)], use_threads=False):
            column = _column(batch, self._path)[n_skipped:]
            n_skipped = max(0, n_skipped - len(batch))
            if len(column):
                yield column

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """pyarrow's errors as InputError with the file's name."""
        try:
            yield
        except (InputError, MemoryError):
            raise
        except ImportError as error:
            raise InputError(f"{self.name}: Parquet needs pyarrow: pip install 'pyunitok[parquet]'") from error
        except Exception as error:  # ArrowException, OSError, ValueError, TypeError: as pyarrow likes
            raise InputError(f"{self.name}: {what}: {str(error).partition(chr(10))[0]}") from error


def _check_column(schema: Any, path: list[str], key: str) -> None:
    """ValueError unless there is one column of text at `path`."""
    import pyarrow

    fields, kind = list(schema), None
    for name in path:
        if kind is not None and not pyarrow.types.is_struct(kind):
            raise ValueError(f"{name!r} of {key!r} is looked for in a column of {kind}, which has no fields")
        if kind is not None:
            fields = [kind.field(k) for k in range(kind.num_fields)]
        found = [field.type for field in fields if field.name == name]
        if len(found) != 1:
            names = ", ".join(field.name for field in fields)
            raise ValueError(f"{'several columns' if found else 'no column'} {name!r} (of {key!r}); there are: {names}")
        kind = found[0]
    types = pyarrow.types
    stored = _stored(kind)
    value = stored.value_type if types.is_dictionary(stored) else stored
    if not any(test(value) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_binary,
                                        types.is_large_binary, types.is_binary_view)):  # fmt: skip
        raise ValueError(f"the column {key!r} holds {kind}, not strings or bytes")


def _stored(kind: Any) -> Any:
    """The type that lies under an extension type such as arrow.json."""
    return getattr(kind, "storage_type", kind)


def _column(batch: Any, path: list[str]) -> Any:
    """The array at `path` of a record batch; null where a struct around it is."""
    import pyarrow
    import pyarrow.compute

    column = batch.column(batch.schema.get_field_index(path[0]))
    for name in path[1:]:
        column = pyarrow.compute.struct_field(column, [column.type.get_field_index(name)])
    column = getattr(column, "storage", column)
    kinds = pyarrow.types
    if kinds.is_dictionary(column.type) or kinds.is_string_view(column.type) or kinds.is_binary_view(column.type):
        column = column.cast(pyarrow.large_binary())
    return column


def _rows_that_fit(column: Any) -> int:
    """How many rows such as these make a batch."""
    return max(1, min(MAX_ROWS, BATCH_BYTES * len(column) // max(1, int(column.nbytes))))


def _packed(column: Any) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], np.ndarray[Any, np.dtype[np.int64]]]:
    """The bytes of an array of strings without nulls, in place, and where each ends."""
    import pyarrow

    if len(column) == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    large = pyarrow.types.is_large_string(column.type) or pyarrow.types.is_large_binary(column.type)
    _, ends, data = column.buffers()
    offsets = np.frombuffer(ends, np.int64 if large else np.int32)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8), offsets.astype(np.int64)
