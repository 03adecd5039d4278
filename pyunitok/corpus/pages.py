"""Pages uses the page headers of a Parquet file to bound the memory needed to read its rows.

    column chunk   │ header │ dictionary │ header │ page │ header │ page │ …
                     └ sizes, number of values    └ sizes, number of values

The footer contains only the sizes that the writer claims. The page headers contain the sizes that pyarrow allocates:
2.5 KB can become a page of 2.5 GB, and a value stored once in the dictionary can be the value of every row. This module
does not use pyarrow, which aborts the process on some damaged column metadata.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pyunitok.corpus.delta import check_lengths
from pyunitok.corpus.range_cache import RangeCache
from pyunitok.corpus.thrift import LIST, STRUCT, ThriftReader
from pyunitok.errors import InputError

FOOTER_SHARE = 32  # pyarrow's objects for the footer take up to about 30 times its size
CACHE_BYTES = 64 << 20
HEADER_BYTES = 1 << 10  # bytes of a header read first; headers with statistics may be longer
MAX_HEADER_BYTES = 16 << 20  # as in pyarrow
FIXED_BYTES = 16  # memory of a fixed-size value in pyarrow
VALUE_BYTES = 16  # memory of a value in addition to its bytes: its offset, null bit and levels
OBJECT_BYTES = 128  # memory of a value as a Python object and as JSON, without its text
PAGE_BYTES = 256  # memory of a page's entry in Leaf.pages while the array is built
COPIES = 3  # copies of a batch in memory: pyarrow's own, one while it grows, and a cast
COPIES_METADATA = 12  # the same, plus copies as Python objects and as JSON
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_HEADERS = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}  # page type: the field with the header of this type
_PLAIN_DICTIONARY, _RLE, _DELTA_LENGTH, _DELTA, _RLE_DICTIONARY = 2, 3, 6, 7, 8  # encodings of values
_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_BYTE_ARRAY, _FIXED_LEN = 6, 7  # physical types

_unpack_size = struct.Struct("<I").unpack_from


class Column(NamedTuple):
    """A leaf of the schema. Its levels count the lists and optional fields that enclose a value."""

    number: int
    name: str
    max_repetition: int
    max_definition: int


@dataclass
class ColumnChunk:
    """A column chunk as described in the footer."""

    begin: int
    n_values: int
    codec: int
    kind: int  # physical type
    n_bytes: int


@dataclass
class Leaf:
    """Bounds on the pages of a column chunk.

    largest     bytes of the largest dictionary value: an upper bound, exact after _measure_dictionary
    page_bytes  bytes of the dictionary and of the largest page, each both compressed and decompressed
    dictionary  (offset, compressed bytes, bytes, codec) of a dictionary of variable-length values
    pages       float64[5, n]: for each page the index of its first value, the number of values, upper bounds on the
                bytes of all values and of one value, and whether values are indexes into the dictionary
    """

    name: str
    is_flat: bool
    largest: int = 0
    page_bytes: int = 0
    dictionary: tuple[int, int, int, int] | None = None
    pages: Any = None

    def bound(self, n_rows: int, per_value: int) -> int:
        """An upper bound on the bytes of n_rows consecutive rows; for lists, of all rows, because one row may hold all
        values."""
        starts, counts, totals, each, is_index = self.pages
        in_window = np.minimum(counts, n_rows) if self.is_flat else counts
        most = in_window * (np.where(is_index, self.largest, each) + per_value)
        most = np.where(is_index, most, np.minimum(most, totals + in_window * per_value))
        if not self.is_flat:
            return int(most.sum())
        # Of all windows that begin in page i, the one that begins at its last row covers the most pages.
        behind = np.searchsorted(starts, starts + counts - 1 + n_rows, side="left")
        sums = np.concatenate(([0.0], np.cumsum(most)))
        first = np.arange(len(starts))
        return int((sums[np.maximum(behind, first + 1)] - sums[first]).max(initial=0))


class Pages:
    """The pages of one Parquet file.

    file              a seekable file; a RangeCache caches small row groups, so that each is fetched once
    name              for messages
    budget_bytes      memory budget for reading, which is a share of max_memory_bytes
    max_memory_bytes  for messages
    metadata          whether rows are also converted to Python objects and JSON
    """

    def __init__(
        self, file: BinaryIO | RangeCache, name: str, budget_bytes: int, max_memory_bytes: int, *, metadata: bool
    ) -> None:
        """Raise InputError if the footer is too large or damaged."""
        self._file, self._name = file, name
        self._budget_bytes, self._max_memory_bytes = budget_bytes, max_memory_bytes
        self._metadata = metadata
        self._n_bytes = file.seek(0, 2)
        footer = self._footer()
        try:
            self._groups = _row_groups(ThriftReader(footer))
        except (IndexError, ValueError) as error:
            raise InputError(f"{name}: the footer is damaged: {error}") from error

    def most_rows(self, group: int, columns: list[Column], n_rows: int) -> int:
        """The number of rows, at most n_rows, that may be read at once from these columns of a row group.

        Raises InputError if one row or one page may exceed the budget.
        """
        cached = self._load(group, [column.number for column in columns])
        found = [self._leaf(group, column) for column in columns]
        pages = cached + sum(leaf.page_bytes for leaf in found)
        if pages > self._budget_bytes:
            worst = max(found, key=lambda leaf: leaf.page_bytes)
            raise self._too_large(group, f"decompressing a page of {worst.name!r} takes", worst.page_bytes, pages)
        left, copies = self._budget_bytes - pages, COPIES_METADATA if self._metadata else COPIES
        while n_rows > 1 and self._bound(found, n_rows, left // copies) > left // copies:
            n_rows //= 2
        most = self._bound(found, n_rows, left)
        if most > left:
            raise self._too_large(group, "a single row may hold", most, pages + most)
        return n_rows

    def _load(self, group: int, numbers: list[int]) -> int:
        """Load the columns into the RangeCache if they are small. Returns the number of bytes loaded."""
        if not isinstance(self._file, RangeCache) or group >= len(self._groups):
            return 0
        chunks = [self._groups[group][k] for k in numbers if k < len(self._groups[group])]
        begin = min((chunk.begin for chunk in chunks), default=0)
        end = min(self._n_bytes, max((chunk.begin + chunk.n_bytes for chunk in chunks), default=0))
        if end - begin > min(CACHE_BYTES, self._budget_bytes // 4):
            end = begin
        self._file.load(begin, end)
        return end - begin

    def _bound(self, leaves: list[Leaf], n_rows: int, enough: int) -> int:
        """An upper bound on the bytes of n_rows rows. Reads dictionaries only while the bound exceeds `enough`."""
        per_value = VALUE_BYTES + (OBJECT_BYTES if self._metadata else 0)
        most = sum(leaf.bound(n_rows, per_value) for leaf in leaves)
        for leaf in leaves:
            if most <= enough:
                break
            if leaf.dictionary is not None:
                most -= leaf.bound(n_rows, per_value)
                self._measure_dictionary(leaf)
                most += leaf.bound(n_rows, per_value)
        return most

    def _too_large(self, group: int, what: str, n_bytes: int, needed: int) -> InputError:
        return InputError(
            f"{self._name}: row group {group + 1}: {what} {n_bytes} bytes, which exceeds --max-memory;"
            f" {self._advice(needed)}"
        )

    def _advice(self, needed: int) -> str:
        raised = -(-self._max_memory_bytes * needed // max(1, self._budget_bytes) >> 20) + 1
        return f"raise it to {raised}M if you trust the file"

    def _read(self, at: int, n_bytes: int) -> bytes:
        self._file.seek(at)
        return self._file.read(n_bytes)

    def _footer(self) -> bytes:
        tail = self._read(max(0, self._n_bytes - 8), 8)
        n = int.from_bytes(tail[:4], "little")
        if tail[4:] != b"PAR1" or n > self._n_bytes - 8:
            return b"\0"  # pyarrow reports a better error
        if n > self._budget_bytes // FOOTER_SHARE:
            raise InputError(
                f"{self._name}: reading the footer of {n} bytes takes more than --max-memory;"
                f" {self._advice(n * FOOTER_SHARE)}"
            )
        return self._read(self._n_bytes - 8 - n, n)

    def _leaf(self, group: int, column: Column) -> Leaf:
        where = f"{self._name}: row group {group + 1}: column {column.name!r}"
        try:
            chunk = self._groups[group][column.number]
        except IndexError:
            raise InputError(f"{where}: missing from the footer") from None
        try:
            return self._walk(chunk, column)
        except (IndexError, ValueError) as error:
            raise InputError(f"{where}: a page is damaged: {error}") from error

    def _walk(self, chunk: ColumnChunk, column: Column) -> Leaf:
        """Read all page headers of a chunk."""
        leaf = Leaf(column.name, column.max_repetition == 0)
        at, n_seen, largest_page, of_dictionary, pages = chunk.begin, 0, 0, 0, list[tuple[int, ...]]()
        any_length = chunk.kind in (_BYTE_ARRAY, _FIXED_LEN)
        while n_seen < chunk.n_values and at < self._n_bytes:
            header, size = self._header(at)
            kind, n_bytes, compressed = (ThriftReader.get_integer(header, k) for k in (1, 2, 3))
            own = ThriftReader.get_struct(header, _HEADERS[kind]) if kind in _HEADERS else {1: 0, 2: 0}
            n_values, encoding = (ThriftReader.get_integer(own, k) for k in (1, 4 if kind == _DATA_2 else 2))
            if min(n_bytes, compressed, n_values) < 0:
                raise ValueError(f"byte {at}: a negative size")
            if kind == _DICTIONARY:
                of_dictionary = compressed + 2 * n_bytes + 16 * n_values
                leaf.largest = n_bytes if any_length else FIXED_BYTES
                if chunk.kind == _BYTE_ARRAY:
                    leaf.dictionary = (at + size, compressed, n_bytes, chunk.codec)
            elif kind in _HEADERS:
                # pyarrow decodes all lengths of these encodings at once.
                lengths = 8 * n_values if any_length and encoding in (_DELTA_LENGTH, _DELTA) else 0
                if lengths and compressed + n_bytes <= self._budget_bytes:
                    self._check_delta(header, at + size, chunk.codec, column)
                largest_page = max(largest_page, compressed + n_bytes + lengths)
                # A delta-encoded value shares a prefix with the previous one, so each may be as long as the page.
                total = n_bytes * n_values if encoding == _DELTA else n_bytes
                is_index = encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY)
                pages.append((n_seen, n_values, total, n_bytes if any_length else FIXED_BYTES, is_index))
                n_seen += n_values
                if len(pages) * PAGE_BYTES > self._budget_bytes:
                    raise ValueError(f"more than {len(pages)} pages; raise --max-memory if you trust the file")
            else:
                largest_page = max(largest_page, compressed + n_bytes)
            at += size + compressed
        leaf.page_bytes, leaf.pages = of_dictionary + largest_page, np.array(pages, np.float64).reshape(-1, 5).T
        return leaf

    def _check_delta(self, header: dict[int, Any], at: int, codec: int, column: Column) -> None:
        """Raise ValueError if a page has more lengths than values."""
        kind, n_bytes, compressed = (ThriftReader.get_integer(header, k) for k in (1, 2, 3))
        own, data = ThriftReader.get_struct(header, _HEADERS[kind]), self._read(at, compressed)
        if kind == _DATA_2:
            levels = ThriftReader.get_integer(own, 5) + ThriftReader.get_integer(own, 6)
            if not 0 <= levels <= min(n_bytes, len(data)):
                raise ValueError("levels are longer than their page")
            data, at = data[levels:], 0
            if own.get(7, True):
                data = _decompress(data, n_bytes - levels, codec)
            encoding = ThriftReader.get_integer(own, 4)
        else:
            data, at = _decompress(data, n_bytes, codec), 0
            for level, how in ((column.max_repetition, 4), (column.max_definition, 3)):
                if level and ThriftReader.get_integer(own, how) != _RLE:
                    raise ValueError("levels have an obsolete encoding")
                at += 4 + int.from_bytes(data[at : at + 4], "little") if level else 0
            encoding = ThriftReader.get_integer(own, 2)
        if at < len(data):
            check_lengths(data, at, ThriftReader.get_integer(own, 1), with_prefixes=encoding == _DELTA)

    def _header(self, at: int) -> tuple[dict[int, Any], int]:
        """The header of a page, and its size."""
        n_bytes = HEADER_BYTES
        while True:
            reader = ThriftReader(self._read(at, n_bytes))
            try:
                return reader.struct(), reader.at
            except IndexError:
                if len(reader.data) < n_bytes or n_bytes >= MAX_HEADER_BYTES:
                    raise ValueError(f"byte {at}: the page header is truncated or too long") from None
            n_bytes *= 8

    def _measure_dictionary(self, leaf: Leaf) -> None:
        """Find the largest value of a dictionary, which is n × (u32 length, text)."""
        assert leaf.dictionary is not None
        (at, compressed, n_bytes, codec), leaf.dictionary = leaf.dictionary, None
        try:
            data = _decompress(self._read(at, compressed), n_bytes, codec)
        except ValueError:
            return  # keep the bound; pyarrow will report the error
        at, largest, end = 0, 0, len(data) - 4
        while at <= end:
            (size,) = _unpack_size(data, at)
            if size > largest:
                largest = size
            at += 4 + size
        leaf.largest = min(leaf.largest, largest)


def _decompress(data: bytes, n_bytes: int, codec: int) -> bytes:
    """Decompress a page. Raises ValueError if it is damaged or the codec is not supported."""
    import pyarrow

    if codec not in _CODECS:
        raise ValueError(f"compression codec {codec} is not supported")
    name = _CODECS[codec]
    try:
        ret: bytes = data if name is None else pyarrow.Codec(name).decompress(data, n_bytes, asbytes=True)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(str(error)) from error
    return ret


def _structs(reader: ThriftReader, field: int, what: str) -> Iterator[ThriftReader]:
    """Yield the reader once per struct of the list in this field; the caller must then read the struct."""
    for number, kind in reader.fields():
        if (number, kind) != (field, LIST):
            reader.skip(kind)
            continue
        n, inner = reader.items()
        for _ in range(n):
            if inner != STRUCT:
                raise ValueError(f"{what} are not structs")
            yield reader


def _row_groups(reader: ThriftReader) -> list[list[ColumnChunk]]:
    """Parse FileMetaData: field 4 is a list of row groups, and field 1 of each is a list of column chunks."""
    return [
        [_chunk(ThriftReader.get_struct(chunk.struct(), 3)) for chunk in _structs(group, 1, "column chunks")]
        for group in _structs(reader, 4, "row groups")
    ]


def _chunk(of: dict[int, Any]) -> ColumnChunk:
    """Parse ColumnMetaData: 1 type, 4 codec, 5 values, 7 compressed bytes, 9 first page, 11 dictionary."""
    kind, codec, n_values, n_bytes, begin = (ThriftReader.get_integer(of, k) for k in (1, 4, 5, 7, 9))
    dictionary = ThriftReader.get_integer(of, 11, 0)
    if 0 < dictionary < begin:
        begin = dictionary
    if min(begin, n_values, n_bytes) < 0:
        raise ValueError("a column chunk has a negative size or offset")
    return ColumnChunk(begin, n_values, codec, kind, n_bytes)
