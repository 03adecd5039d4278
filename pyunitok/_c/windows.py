"""Bindings for the functions of csrc/unitok_clean.h that find repeated windows of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok._c.anchors import RECORD, Int64s, Records
from pyunitok._c.library import create, ffi, lib, pointer

Ids = np.ndarray[Any, Any]  # uint16 or uint32


class TokenWindows:
    """Finds the windows of n_tokens tokens that may occur more than once; see csrc/unitok_clean.h.

    ids      the tokens of all documents
    ends     int64[documents]: the end of each document in `ids`, ascending
    n_after  the number of tokens at the end of each document that belong to no window
    """

    def __init__(self, n_tokens: int, ids: Ids, ends: Int64s, n_after: int, seed: int, counter_bytes: int) -> None:
        if len(ends) and int(ends[-1]) > len(ids):
            raise ValueError("the documents reach past the tokens")
        self._handle: Any = create("windows", n_tokens, ids.itemsize, seed, counter_bytes)
        self._ids, self._keep = ids, (ids, ends)
        self._arguments = ffi.from_buffer(ids), pointer(ends), len(ends), n_after

    def count(self, begin: int, end: int) -> None:
        """Count the windows that begin with tokens begin..end - 1."""
        lib.unitok_windows_count(self._handle, *self._arguments, begin, end)

    def find(self, begin: int, end: int) -> Records:
        """The records of the windows that begin with tokens begin..end - 1 and may occur more than once. All windows
        must have been counted."""
        ret = np.empty(end - begin + 1, RECORD)
        buffer = ffi.from_buffer("unitok_anchor[]", ret, require_writable=True)
        n = lib.unitok_windows_find(self._handle, *self._arguments, begin, end, buffer)
        return ret[:n]

    def are_equal(self, pairs: Records) -> bool:
        """Whether, in each of the pairs, the windows that begin at `key` and at `place` are equal."""
        buffer = ffi.from_buffer("unitok_anchor[]", pairs)
        n: int = lib.unitok_windows_differ(self._handle, self._arguments[0], len(self._ids), buffer, len(pairs))
        return n == len(pairs)
