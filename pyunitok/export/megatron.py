"""Exports Megatron's indexed dataset (MMIDIDX), also known as RWKV's binidx: NAME.bin, the tokens, and NAME.idx.

    NAME.idx   0  "MMIDIDX\\0\\0"     9  u64 version = 1     17  u8 dtype: 8 uint16, 4 int32
              18  u64 n sequences   26  u64 n + 1          34  i32[n] lengths in tokens, including the eod
               …  i64[n] offsets in NAME.bin, in bytes                 …  i64[n + 1] 0, 1, …, n: one document each
"""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pyunitok.errors import OutputError
from pyunitok.export.files import Folder
from pyunitok.export.options import Options
from pyunitok.export.separated import CHUNK_TOKENS
from pyunitok.model.batch import available_cores
from pyunitok.tokens.array import RUN_DOCS, TokenArray

TAKES = ()
DTYPE_CODES = {2: 8, 4: 4}
INT32_MAX = (1 << 31) - 1


def names(options: Options) -> list[str]:
    return [f"{options.name}.bin", f"{options.name}.idx"]


def export(array: TokenArray, folder: Folder, options: Options) -> list[str]:
    """Raises OutputError, naming the document, if it has 2^31 tokens or more, or an id above the maximum of int32."""
    width, n_docs = array.ids.dtype.itemsize, len(array)
    bin_name, idx_name = names(options)
    with folder.write(idx_name) as file:
        file.write(struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, DTYPE_CODES[width], n_docs, n_docs + 1))
        for first, b in array.runs():
            lengths = np.diff(b)
            if lengths.max() > INT32_MAX:
                k = int(lengths.argmax())
                raise OutputError(
                    f"{array.path}: document {first + k} has {lengths[k]} tokens; Megatron's limit is 2^31 - 1"
                )
            file.write(lengths.astype("<i4"))
        for _, b in array.runs():
            file.write((b[:-1] * width).astype("<i8"))
        for d in range(0, n_docs + 1, RUN_DOCS):
            file.write(np.arange(d, min(d + RUN_DOCS, n_docs + 1), dtype="<i8"))
    if width == 4:
        _check_int32(array)
    folder.share(bin_name, array.path)
    return [f"pass this path to Megatron: {folder.path / options.name}"]


def _check_int32(array: TokenArray) -> None:
    def check(begin: int) -> None:
        part: np.ndarray[Any, Any] = array.ids[begin : begin + CHUNK_TOKENS]
        if part.max() > INT32_MAX:
            k = int(np.argmax(part > INT32_MAX))
            document = int(np.searchsorted(array.ends, np.uint64(begin + k), "right"))
            raise OutputError(
                f"{array.path}: id {part[k]} at token {begin + k}, in document {document}: Megatron stores int32, "
                f"whose maximum is {INT32_MAX}"
            )

    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(check, range(0, len(array.ids), CHUNK_TOKENS)))
