"""Separated presents the documents of a token file with a separator before each one, as some formats require."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Any

import numpy as np

from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.documents import Ints

CHUNK_TOKENS = 2 << 20


class Separated:
    """A stream of the documents, with a separator before each one instead of an eod after it.

    with an eod      ids    a b c eod d e eod                without    ids    a b c d e
                     here   sep a b c sep d e                           here   sep a b c sep d e

    len(self) counts its tokens. A document begins at its separator.
    """

    def __init__(self, array: TokenArray, separator: int) -> None:
        self._array, self.separator = array, separator
        self._inserted = int(array.eod_id is None)
        self._n_docs = len(array)

    def __len__(self) -> int:
        return len(self._array.ids) + self._inserted * self._n_docs

    def starts(self, i: int, j: int) -> Ints:
        """int64[j - i]: where documents i..j-1 begin; document number len(documents) begins at the end."""
        ret = np.zeros(j - i, np.int64)
        k = int(i == 0 and j > 0)
        ret[k:] = self._array.ends[i - 1 + k : j - 1].astype(np.int64)
        return ret + self._inserted * np.arange(i, j)

    def first_at(self, position: int) -> int:
        """The first document that begins at or after `position`; len(documents) if there is none."""
        n = self._n_docs
        return bisect.bisect_left(range(n), position, key=lambda i: int(self.starts(i, i + 1)[0]))

    def read(self, begin: int, end: int, dtype: np.dtype[Any]) -> tuple[np.ndarray[Any, Any], Ints]:
        """(dtype[end - begin], the indices of the separators in it)."""
        i, j = self.first_at(begin), self.first_at(end)
        at = self.starts(i, j) - begin
        if self._inserted:
            tokens = self._array.ids[begin - i : end - j].astype(dtype)
            return np.insert(tokens, at - np.arange(j - i), self.separator), at
        out = np.empty(end - begin, dtype)
        skipped = int(begin == 0 and end > 0)
        out[skipped:] = self._array.ids[begin + skipped - 1 : end - 1]
        out[at] = self.separator
        return out, at

    def chunks(self, begin: int, end: int, dtype: np.dtype[Any]) -> Iterator[tuple[int, np.ndarray[Any, Any], Ints]]:
        """(position, *read()) for all of begin..end-1, a few MiB at a time."""
        for at in range(begin, end, CHUNK_TOKENS):
            yield at, *self.read(at, min(at + CHUNK_TOKENS, end), dtype)
