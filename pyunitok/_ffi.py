"""The only module that touches the compiled library."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok._lib import ffi, lib  # type: ignore[import-not-found]


def split_documents(
    text: np.ndarray[Any, np.dtype[np.uint8]],
    n_bytes: int,
    separator: bytes,
    offsets: np.ndarray[Any, np.dtype[np.int64]],
) -> tuple[int, int]:
    """Cut text[:n_bytes] at `separator`, in place: unitok_split_documents.

    text     uint8[>= n_bytes], C-contiguous, writable
    offsets  int64[>= 3]; takes the bounds of at most len(offsets) - 1 documents

    Returns (number of documents, bytes of the input consumed). Raises ValueError on anything else.
    """
    for name, array, dtype in (("text", text, np.uint8), ("offsets", offsets, np.int64)):
        flags = array.flags
        if array.dtype != dtype or array.ndim != 1 or not (flags.c_contiguous and flags.writeable):
            raise ValueError(f"{name} must be a writable, contiguous array of {np.dtype(dtype).name}")
    if not 0 <= n_bytes <= len(text) or not separator or len(offsets) < 3:
        raise ValueError("n_bytes, separator or offsets out of range")
    consumed = ffi.new("int64_t *")
    n_docs = lib.unitok_split_documents(
        ffi.from_buffer("uint8_t[]", text),
        n_bytes,
        separator,
        len(separator),
        ffi.from_buffer("int64_t[]", offsets),
        len(offsets) - 1,
        consumed,
    )
    return n_docs, consumed[0]
