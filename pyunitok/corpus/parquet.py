"""ParquetReader reads one column of strings or bytes of a Parquet file as documents.

pyarrow reads only this column, a few rows at a time, whatever the size of the row groups:

    row group 0        row group 1
    │ batch │ batch │  │ batch │ …       batch ──▶ PendingDocuments ──▶ blocks

Bytes are not changed, because a column of strings may contain invalid UTF-8.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, BinaryIO

import msgspec
import numpy as np

from pyunitok.corpus.block import BadDocument, Block, Split
from pyunitok.corpus.json_text import key_path
from pyunitok.corpus.pages import Column, Pages
from pyunitok.corpus.pending import PendingDocuments
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.range_cache import RangeCache
from pyunitok.corpus.text import MAX_DOCS
from pyunitok.corpus.unchanged import Unchanged
from pyunitok.errors import InputError
from pyunitok.packed import Bytes, Offsets

NEEDS_PYARROW = "Parquet requires pyarrow: pip install 'pyunitok[parquet]'"
BATCH_BYTES = 1 << 18
MAX_ROWS = 4096  # the maximum number of rows in a batch
FIRST_ROWS = 1  # the number of rows in the first batch, because rows may be huge
GROWTH = 8  # the maximum factor by which the number of rows grows from one batch to the next
SKIPPED_ROWS = 16  # the number of rows in the first batch if rows are skipped before it
READ_BYTES = 1 << 20
BUDGET_BYTES = 256 << 20
MAX_BAD = 4096  # the maximum number of nulls listed in one block
_NOTHING = PendingDocuments(np.empty(0, np.uint8), np.zeros(1, np.int64))


@dataclass
class _Batch:
    """Rows begin..end-1 of the file, as pending documents.

    rows    int64[n], the row number of each document; other rows are bad
    others  n lines of JSON, if metadata was requested
    whole   the record batch with all columns, if whole rows were requested
    is_last whether the row group ends with these rows
    """

    pending: PendingDocuments
    rows: Offsets
    begin: int
    end: int
    others: list[bytes]
    whole: Any = None
    is_last: bool = False

    @property
    def n_rows_out(self) -> int:
        """The number of rows of the file before the current or next document."""
        n_out = self.pending.next
        if n_out == len(self.rows):
            return self.end
        return int(self.rows[n_out - 1]) + 1 if n_out else self.begin


class ParquetReader:
    """Reads the texts of a Parquet file into blocks.

    file              a seekable binary file; close() closes it
    name              the name of the file, for messages
    text_key          the column: see json_text.key_path; a.b is the field b of the struct a
    split             where a piece of a document may end: see block.Split
    start             where to begin (only `documents` and `inside` are used); by default the beginning of the file
    skip              skip nulls and list them in block.bad; otherwise they raise InputError
    metadata          put each document's row number and other columns into block.metadata
    whole_rows        put rows with all columns into block.raw; all rows of a block are in one row group
    budget_bytes      memory budget for a page, a dictionary and a batch, which is a share of max_memory_bytes
    max_memory_bytes  for messages

    Each row is a document. Rows are counted from 1, like lines. Raises InputError if the column is missing or is not
    text, if a value is null, if reading may exceed budget_bytes, and for all errors of pyarrow. The message names the
    file and, if known, the row. Memory: a batch, and its pages and dictionaries.
    """

    ends_with_separator: bool | None = None

    def __init__(
        self, file: BinaryIO | RangeCache, name: str, text_key: str, split: Split, start: Position = BEGINNING, *,
        skip: bool = False, metadata: bool = False, whole_rows: bool = False,
        budget_bytes: int = BUDGET_BYTES, max_memory_bytes: int = 2 * BUDGET_BYTES,
    ) -> None:  # fmt: skip
        self.name = name
        self.finished = False
        self._unchanged = Unchanged(file, name)
        self._split = split
        self._key = text_key
        self._path = key_path(text_key)
        self._skip, self._metadata, self._whole_rows = skip, metadata, whole_rows
        self._all_columns = metadata or whole_rows
        self._bad: deque[int] = deque()  # skipped rows that no block lists yet; numbered from 0 here
        self._position = start
        self._inside = start.inside  # bytes of the first document that are in earlier blocks
        self._batch = _Batch(_NOTHING, np.empty(0, np.int64), start.documents, start.documents, [])
        self._file = file
        self._pages = Pages(file, name, budget_bytes, max_memory_bytes, metadata=self._all_columns)
        with self._errors("cannot be read as Parquet"):
            import pyarrow.parquet

            self._parquet = pyarrow.parquet.ParquetFile(
                file, buffer_size=READ_BYTES, pre_buffer=False, page_checksum_verification=True
            )
            schema = self._parquet.schema_arrow
            self._columns = self._columns_read()
        try:
            _check_column(schema, self._path, self._key)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from error
        metadata_ = self._parquet.metadata
        self._group_ends = set(accumulate(metadata_.row_group(k).num_rows for k in range(metadata_.num_row_groups)))
        self._size_bytes = file.seek(0, 2)
        self._batches = self._read_batches(start.documents)

    def fill(self, block: Block) -> bool:
        """Put the next documents into `block`. Returns False if no documents are left."""
        block.clear()
        block.have_offsets(MAX_DOCS + 1)
        block.raw = []
        rows: list[int] = []
        n_bad = len(self._bad)
        most_bad = n_bad + MAX_BAD
        while block.n_docs < MAX_DOCS and len(self._bad) < most_bad:
            if self._batch.pending:
                if not self._put(block, rows):
                    break
            elif self._whole_rows and self._batch.is_last and (rows or len(self._bad) > n_bad):
                break
            elif not self._next_batch():
                self._unchanged.check()
                self.finished = True
                break
        block.source_bytes = int(block.offsets[block.n_docs])
        block.ends_group = self._batch.is_last and not self._batch.pending
        self._advance(block)
        if rows != list(range(block.first_document, block.first_document + len(rows))):
            block.numbers = np.array(rows, np.int64)
        return block.n_docs > 0 or bool(block.bad)

    def compressed_position(self) -> int:
        return self._size_bytes * self._batch.end // max(int(self._parquet.metadata.num_rows), 1)

    def close(self) -> None:
        self._batches.close()
        self._file.close()

    def _put(self, block: Block, rows: list[int]) -> bool:
        """Put the documents that fit, and append their rows to `rows`. Returns False if the block is complete."""
        batch, first, n_before = self._batch, self._batch.pending.next, block.n_docs
        more = batch.pending.put(block, self._split)
        added = batch.rows[first : first + block.n_docs - n_before]
        rows += added.tolist()
        if batch.whole is not None and len(added):
            block.raw.append(_rows(batch.whole, added - batch.begin))
        block.metadata += batch.others[first : batch.pending.next]
        return more

    def _advance(self, block: Block) -> None:
        """Set the position of the block and advance past the block."""
        before, n_rows = self._position, self._batch.n_rows_out
        block.first_document, block.inside = before.documents, before.inside
        block.after = self._position = replace(
            before, bytes=before.bytes + block.source_bytes, documents=n_rows, inside=self._batch.pending.inside
        )
        while self._bad and self._bad[0] < n_rows:
            block.bad.append(BadDocument(self._bad.popleft() + 1, f"{self._key!r} is null"))

    def _next_batch(self) -> bool:
        """Take the next batch, which may have no documents. Returns False at the end."""
        begin = self._batch.end
        with self._errors(f"row {begin + 1} or a later row: cannot be read"):
            batch = next(self._batches, None)
            if batch is None:
                return False
            column = _column(batch, self._path)
            rows, is_last = np.arange(begin, begin + len(column)), begin + len(column) in self._group_ends
            others = self._metadata_of(batch, begin) if self._metadata else []
            if column.null_count:
                is_null = column.is_null().to_numpy(zero_copy_only=False)
                self._bad.extend(rows[is_null].tolist())
                if not self._skip:
                    raise InputError(f"{self.name}: row {self._bad[0] + 1}: {self._key!r} is null")
                column, rows = column.drop_null(), rows[~is_null]
                others = [other for other, null in zip(others, is_null, strict=False) if not null]
            data, ends = _packed(column)
        inside = self._inside if len(rows) else 0
        self._inside -= inside
        whole = batch if self._whole_rows else None
        self._batch = _Batch(
            PendingDocuments(data, ends, inside), rows, begin, begin + len(batch), others, whole, is_last
        )
        return True

    def _metadata_of(self, batch: Any, begin: int) -> list[bytes]:
        """One line per row for block.metadata."""
        file = json.dumps(self.name).encode()
        others = enumerate(_other_columns(batch, self._path), begin + 1)
        return [b'{"file":%b,"line":%d,"metadata":%b}' % (file, row, other) for row, other in others]

    def _read_batches(self, first_row: int) -> Generator[Any, None, None]:
        """Yield record batches, starting at first_row.

        The number of rows per batch is estimated from previous batches, because the sizes in the file are useless if
        values are stored once and repeated, and pyarrow crashes on some damaged column metadata. If rows are much
        longer than expected, the row group is read again from the same row with fewer rows at a time.
        """
        metadata, begin, n_rows = self._parquet.metadata, 0, SKIPPED_ROWS if first_row else FIRST_ROWS
        for group in range(metadata.num_row_groups):
            end = begin + metadata.row_group(group).num_rows
            row = max(begin, first_row)
            most = self._pages.most_rows(group, self._columns, MAX_ROWS) if row < end else MAX_ROWS
            fitting = n_rows = min(n_rows, most)
            while row < end:
                for batch in self._read_group(group, n_rows, row - begin):
                    yield batch
                    row += len(batch)
                    fitting = min(self._rows_that_fit(batch), GROWTH * n_rows, most)
                    if fitting * 8 < n_rows or (row < first_row + MAX_ROWS and fitting > 2 * n_rows):
                        break
                else:
                    if row != end:
                        raise InputError(f"{self.name}: row {row}: row group {group} ends here, not at row {end}")
                n_rows = fitting
            begin = end

    def _columns_read(self) -> list[Column]:
        schema, wanted = self._parquet.schema, ".".join(self._path)
        of = [schema.column(k) for k in range(len(schema.names))]
        return [
            Column(k, c.path, c.max_repetition_level, c.max_definition_level) for k, c in enumerate(of)
            if self._all_columns or c.path == wanted or c.path.startswith(f"{wanted}.")
        ]  # fmt: skip

    def _read_group(self, group: int, n_rows: int, n_skipped: int) -> Iterator[Any]:
        """The rows of a row group after its first n_skipped rows, n_rows at a time."""
        columns = None if self._all_columns else [".".join(self._path)]
        for batch in self._parquet.iter_batches(n_rows, [group], columns, use_threads=False):
            if len(batch) > n_skipped:
                yield batch[n_skipped:]
            n_skipped = max(0, n_skipped - len(batch))

    def _rows_that_fit(self, batch: Any) -> int:
        """The number of rows of this size in a batch of BATCH_BYTES."""
        n_bytes = int(_column(batch, self._path).nbytes) + (int(batch.nbytes) if self._all_columns else 0)
        return max(1, min(MAX_ROWS, BATCH_BYTES * len(batch) // max(1, n_bytes)))

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Convert pyarrow's errors to InputError with the name of the file."""
        try:
            yield
        except (InputError, MemoryError):
            raise
        except ImportError as error:
            raise InputError(f"{self.name}: {NEEDS_PYARROW}") from error
        except Exception as error:  # ArrowException, OSError, ValueError or TypeError
            raise InputError(f"{self.name}: {what}: {str(error).partition(chr(10))[0]}") from error


def _check_column(schema: Any, path: list[str], key: str) -> None:
    """Raise ValueError unless there is exactly one text column at `path`."""
    import pyarrow

    fields, kind = list(schema), None
    for name in path:
        if kind is not None and not pyarrow.types.is_struct(kind):
            raise ValueError(f"no column {key!r}: the parent of {name!r} holds {kind}, which has no fields")
        if kind is not None:
            fields = [kind.field(k) for k in range(kind.num_fields)]
        found = [field.type for field in fields if field.name == name]
        if len(found) != 1:
            names = ", ".join(field.name for field in fields)
            raise ValueError(f"{'several columns' if found else 'no column'} {name!r} (of {key!r}); found: {names}")
        kind = found[0]
    types = pyarrow.types
    stored: Any = getattr(kind, "storage_type", kind)  # the storage of an extension type such as arrow.json
    value = stored.value_type if types.is_dictionary(stored) else stored
    if not any(test(value) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_binary,
                                        types.is_large_binary, types.is_binary_view)):  # fmt: skip
        raise ValueError(f"the column {key!r} holds {kind}, not strings or bytes")


def _column(batch: Any, path: list[str]) -> Any:
    """The array at `path` of a record batch; null where an enclosing struct is null."""
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


def _other_columns(batch: Any, path: list[str]) -> list[bytes]:
    """Each row, without the value at `path`, as a JSON object. Values that JSON cannot represent become strings."""
    import pyarrow

    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if [name] != path:
            has_ns = getattr(column.type, "unit", None) == "ns"  # Python's datetime does not support nanoseconds
            columns.append((name, (column.cast(pyarrow.string()) if has_ns else column).to_pylist()))
    others = []
    for k in range(len(batch)):
        row = {name: values[k] for name, values in columns}
        _remove(row, path)
        others.append(msgspec.json.encode(row, enc_hook=str))
    return others


def _remove(row: Any, path: list[str]) -> None:
    for name in path[:-1]:
        row = row.get(name)
        if row is None:
            return
    row.pop(path[-1], None)


def _rows(batch: Any, numbers: Offsets) -> Any:
    """The rows of a record batch with these ascending numbers."""
    first, last = int(numbers[0]), int(numbers[-1])
    return batch.slice(first, len(numbers)) if last - first + 1 == len(numbers) else batch.take(numbers)


def _packed(column: Any) -> tuple[Bytes, Offsets]:
    """The bytes of an array of strings without nulls, not copied, and the offsets of the strings."""
    import pyarrow

    if len(column) == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    large = pyarrow.types.is_large_string(column.type) or pyarrow.types.is_large_binary(column.type)
    _, ends, data = column.buffers()
    offsets = np.frombuffer(ends, np.int64 if large else np.int32)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8), offsets.astype(np.int64)
