"""ParquetRewriter writes Parquet files from the rows of other files, with the same schema and compressions.

    input    │ row group          │ row group │          pyarrow writes each row group as a separate file, whose pages
    blocks   │ rows │ rows │ rows │ rows      │          are appended, and whose offsets in the footer are increased
    output   PAR1 │ row group     │ row group │ footer PAR1

A row group of the output contains the remaining rows of one row group of the input, however the input is divided into
blocks, so a resumed run writes the same bytes. A row group must fit in memory.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from typing import Any, BinaryIO

import zstandard

from pyunitok.corpus.block import Block
from pyunitok.corpus.json_text import key_path
from pyunitok.corpus.range_cache import RangeCache
from pyunitok.corpus.rewriting import Edits, Written
from pyunitok.corpus.thrift import ThriftReader
from pyunitok.corpus.thrift_tree import EncodedValue, Struct, read_struct, write_struct
from pyunitok.errors import InputError, OutputError

MAGIC = b"PAR1"
N_TAIL = 8  # the size of the footer, u32, and the magic
# Fields of the structs in a footer.
N_ROWS, ROW_GROUPS = 3, 4  # FileMetaData
COLUMNS, GROUP_AT, ORDINAL = 1, 5, 7  # RowGroup
CHUNK_AT, CHUNK = 2, 3  # ColumnChunk
CHUNK_OFFSETS = (9, 10, 11)  # ColumnMetaData: data, index and dictionary pages


class ParquetRewriter:
    """Writes the rows of a Parquet file.

    file, name  the input; its schema and compressions are read
    field       the name of the string column that receives the values of edits as JSON; None: no column is added
    """

    def __init__(self, file: BinaryIO | RangeCache, name: str, text_key: str, field: str | None) -> None:
        import pyarrow
        import pyarrow.parquet

        self._name, self._path, self._field = name, key_path(text_key), field
        try:
            opened = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
            self._schema, self._compressions = _without_views(opened.schema_arrow), _compressions_of(opened)
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"{name}: cannot be read as Parquet: {str(error).partition(chr(10))[0]}") from error
        if field is not None:
            if field in self._schema.names:
                raise InputError(f"{name}: already has a column {field!r}")
            self._schema = self._schema.append(pyarrow.field(field, pyarrow.string()))

    def rewritten(self, block: Block, edits: Edits) -> Written:
        import pyarrow

        table = pyarrow.Table.from_batches(block.raw) if block.raw else self._schema.empty_table()
        table = table.cast(_without_views(table.schema))
        if self._field is not None:
            values = [edits.values.get(number) for number in range(block.n_docs)]
            column = [None if value is None else json.dumps(value) for value in values]
            table = table.append_column(self._schema.field(self._field), pyarrow.array(column, pyarrow.string()))
        if edits.texts:
            rows, texts = list[int](), list[bytes]()
            for number, text in enumerate(block.texts()):
                new = edits.texts.get(number)
                added = [text] if new is None else [one.encode("utf-8", "surrogateescape") for one in new]
                rows += [number] * len(added)
                texts += added
            table = table.take(pyarrow.array(rows, pyarrow.int64()))
            if any(edits.texts.values()):
                table = _with_texts(table, self._path, texts)
        return Written(table, len(table), block.ends_group)

    def ids_of(self, block: Block, documents: Sequence[int]) -> list[Any]:
        import pyarrow

        if "id" not in self._schema.names:
            return [None] * len(documents)
        column = pyarrow.chunked_array([batch.column("id") for batch in block.raw])
        return [column[document].as_py() for document in documents]

    def file_writer(self, state: str | None = None) -> ParquetFileWriter:
        return ParquetFileWriter(self._name, self._schema, self._compressions, state)


class ParquetFileWriter:
    """A FileWriter of a Parquet file. Raises ValueError or LookupError if the state is invalid.

    name  the name of the input, for messages
    """

    def __init__(self, name: str, schema: Any, compressions: dict[str, str], state: str | None = None) -> None:
        self._name = name
        self._schema, self._compressions = schema, compressions
        self._tables: list[Any] = []
        self._groups: list[EncodedValue] = []
        self._n_rows = 0
        if state is not None:
            packed = ThriftReader(zstandard.decompress(base64.b64decode(state)))
            values = read_struct(packed)
            self._n_rows = values[N_ROWS][1]
            self._groups = [write_struct(group) for group in values[ROW_GROUPS][1][1]]

    def add(self, written: Written, at: int) -> bytes:
        if len(written.data):
            self._tables.append(written.data)
        if not written.is_end or not self._tables:
            return b""
        import pyarrow

        table = pyarrow.concat_tables(self._tables).combine_chunks()
        self._tables = []
        magic = b"" if at else MAGIC
        pages, footer = self._file_of(table)
        for group in footer[ROW_GROUPS][1][1]:
            self._groups.append(_moved(group, at + len(magic) - len(MAGIC), len(self._groups)))
        self._n_rows += len(table)
        return magic + pages

    def end(self, at: int) -> bytes:
        _, footer = self._file_of(self._schema.empty_table())
        data = write_struct(footer | self._counts())
        return (b"" if at else MAGIC) + data + len(data).to_bytes(4, "little") + MAGIC

    def state(self) -> str:
        return base64.b64encode(zstandard.compress(write_struct(self._counts()))).decode()

    def _counts(self) -> Struct:
        return {N_ROWS: (6, self._n_rows), ROW_GROUPS: (9, (12, self._groups))}

    def _file_of(self, table: Any) -> tuple[bytes, Struct]:
        """The pages and the footer of a file with these rows in one row group; without row groups if there are none."""
        import pyarrow.parquet

        for k, column in enumerate(table.columns):
            table = table.set_column(k, self._schema.field(k), _encoded(column))
        into = io.BytesIO()
        try:
            with pyarrow.parquet.ParquetWriter(into, self._schema, compression=self._compressions) as writer:
                if len(table):
                    writer.write_table(table, row_group_size=len(table))
        except (pyarrow.ArrowException, OSError) as error:
            raise OutputError(f"{self._name}: its columns cannot be written as Parquet: {error}") from error
        data = into.getvalue()
        at = len(data) - N_TAIL - int.from_bytes(data[-N_TAIL : -len(MAGIC)], "little")
        return data[len(MAGIC) : at], read_struct(ThriftReader(data, at))


def _compressions_of(opened: Any) -> dict[str, str]:
    """The compression of each column in the first row group, by the column's path."""
    names = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}
    metadata = opened.metadata
    if not metadata.num_row_groups:
        return {opened.schema.column(k).path: "zstd" for k in range(len(opened.schema.names))}
    columns = [metadata.row_group(0).column(k) for k in range(metadata.num_columns)]
    return {column.path_in_schema: names.get(column.compression, column.compression) for column in columns}


def _without_views(kind: Any) -> Any:
    """A schema or type without string views, which pyarrow can neither slice nor take rows from."""
    import pyarrow

    if isinstance(kind, pyarrow.Schema):
        return pyarrow.schema([field.with_type(_without_views(field.type)) for field in kind], kind.metadata)
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([field.with_type(_without_views(field.type)) for field in kind])
    if pyarrow.types.is_map(kind):
        return pyarrow.map_(_without_views(kind.key_type), _without_views(kind.item_type), kind.keys_sorted)
    for is_list, list_of in ((pyarrow.types.is_list, pyarrow.list_), (pyarrow.types.is_large_list, pyarrow.large_list)):
        if is_list(kind):
            return list_of(kind.value_field.with_type(_without_views(kind.value_type)))
    return {"string_view": pyarrow.large_string(), "binary_view": pyarrow.large_binary()}.get(str(kind), kind)


def _moved(group: Struct, by: int, number: int) -> EncodedValue:
    """The row group with its offsets increased by `by`, because its pages have moved."""
    for chunk in group[COLUMNS][1][1]:
        _move(chunk, (CHUNK_AT,), by)
        _move(chunk[CHUNK][1], CHUNK_OFFSETS, by)
    _move(group, (GROUP_AT,), by)
    group.pop(ORDINAL, None)  # a 16-bit number, for encryption only
    return write_struct(group)


def _move(struct: Struct, numbers: tuple[int, ...], by: int) -> None:
    for number in numbers:
        kind, offset = struct.get(number, (0, 0))
        if offset:  # 0: not set
            struct[number] = kind, offset + by


def _encoded(column: Any) -> Any:
    """The column with a new dictionary that depends only on the values, and not on how the input was divided."""
    import pyarrow

    kind = column.type
    if not pyarrow.types.is_dictionary(kind):
        return column
    dense = column.cast(kind.value_type).combine_chunks().dictionary_encode()
    arrays = dense.chunks if isinstance(dense, pyarrow.ChunkedArray) else [dense]
    made = pyarrow.DictionaryArray.from_arrays
    indices = [array.indices.cast(kind.index_type) for array in arrays]
    return pyarrow.chunked_array(
        [made(some, array.dictionary, ordered=kind.ordered) for some, array in zip(indices, arrays, strict=True)], kind
    )


def _with_texts(table: Any, path: list[str], texts: list[bytes]) -> Any:
    """A table with these texts at `path`."""
    k = table.schema.get_field_index(path[0])
    column = table.column(k).combine_chunks()
    (array,) = column.chunks if hasattr(column, "chunks") else [column]
    return table.set_column(k, table.schema.field(k), _replaced(array, path[1:], texts))


def _replaced(array: Any, path: list[str], texts: list[bytes]) -> Any:
    import pyarrow
    import pyarrow.compute

    kind = array.type
    if path:
        children = array.flatten()
        k = kind.get_field_index(path[0])
        children[k] = _replaced(children[k], path[1:], texts)
        return pyarrow.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    storage = getattr(kind, "storage_type", kind)
    value = storage.value_type if pyarrow.types.is_dictionary(storage) else storage
    options = pyarrow.compute.CastOptions(value, allow_invalid_utf8=True)
    ret = pyarrow.compute.cast(pyarrow.array(texts, pyarrow.large_binary()), options=options)
    ret = ret.dictionary_encode().cast(storage) if storage is not value else ret
    return pyarrow.ExtensionArray.from_storage(kind, ret) if storage is not kind else ret
