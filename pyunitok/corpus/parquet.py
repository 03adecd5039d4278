"""ParquetReader: one column of strings or bytes of a Parquet file, as documents.

pyarrow reads the wanted column alone, a few rows at a time, whatever the size of the row groups:

    row group 0        row group 1
    │ batch │ batch │  │ batch │ …       batch ──▶ Waiting ──▶ blocks

A batch is some BATCH_BYTES of text by the row group's own account. Bytes go out as they lie there: what a column of
strings holds that is no UTF-8 is not refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from pyunitok.corpus.block import Block, Split
from pyunitok.corpus.jsonl import key_path
from pyunitok.corpus.text import MAX_DOCS
from pyunitok.corpus.waiting import Waiting
from pyunitok.errors import InputError

MAGICS = (b"PAR1", b"PARE")  # at both ends of a file; PARE: its footer is encrypted
BATCH_BYTES = 1 << 18
MAX_ROWS = 4096  # in a batch, where rows are tiny
MAX_DICTIONARY_ROWS = 256  # in a batch, where the row group's size says little: its values are stored once each
READ_BYTES = 1 << 20


def import_pyarrow() -> Any:
    """The module; InputError with the way to get it where it is not installed."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(f"Parquet files need pyarrow: pip install 'pyunitok[parquet]' ({error})") from error
    return pyarrow


class ParquetReader:
    """Cuts the texts of a Parquet file into blocks.

    file      seekable, opened for reading; closed with close()
    name      of it, for messages
    size_bytes  of it, for progress
    text_key  the column: see jsonl.key_path; a.b is the field b of the struct a
    split     where a piece of a document may end: see block.Split

    Each row is a document. Rows are counted from 0, over the whole file. A null is an InputError with file and row; so
    is a column that is missing or holds no strings, with those that there are, and whatever pyarrow refuses.
    Memory: a batch, and the page and the dictionary of the column that it comes from.
    """

    ends_with_separator: bool | None = None

    def __init__(self, file: IO[bytes], name: str, size_bytes: int, text_key: str, split: Split) -> None:
        self._pyarrow = import_pyarrow()
        self.name = name
        self._file = file
        self._size_bytes = size_bytes
        self._split = split
        self._path = key_path(text_key)
        self._n_read = 0  # rows in the batches so far
        self._waiting = Waiting(np.empty(0, np.uint8), np.zeros(1, np.int64))
        with self._errors("cannot be read as Parquet"):
            self._parquet = self._pyarrow.parquet.ParquetFile(
                file, buffer_size=READ_BYTES, pre_buffer=False, page_checksum_verification=True
            )
            self._check_column(text_key)
        self._batches = self._read_batches()

    def fill(self, block: Block) -> bool:
        """Put the next documents into `block`; False (and block.n_docs == 0) once there are none left."""
        block.n_docs, block.open_end, block.source_bytes = 0, False, 0
        block.offsets[0] = 0
        if len(block.offsets) <= MAX_DOCS:
            block.offsets = np.zeros(MAX_DOCS + 1, np.int64)
        while block.n_docs < MAX_DOCS:
            if not self._waiting:
                waiting = next(self._batches, None)
                if waiting is None:
                    break
                self._waiting = waiting
            elif not self._waiting.put(block, self._split):
                break
        block.source_bytes = int(block.offsets[block.n_docs])
        return block.n_docs > 0

    def compressed_position(self) -> int:
        return self._size_bytes * self._n_read // max(self._parquet.metadata.num_rows, 1)

    def close(self) -> None:
        self._parquet.close()
        self._file.close()
