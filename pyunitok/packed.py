"""Packed is a list of byte strings or id sequences, stored as one array with offsets. C, Python and files share this
layout."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Ids = np.ndarray[Any, np.dtype[np.uint16]] | np.ndarray[Any, np.dtype[np.uint32]]  # the width depends on the model
Offsets = np.ndarray[Any, np.dtype[np.int64]]
Scores = np.ndarray[Any, np.dtype[np.float64]]


class Packed:
    """A packed list: item i is data[offsets[i]:offsets[i + 1]].

    data     uint8[...] (documents) or uint16[...] or uint32[...] (ids)
    offsets  int64[n + 1], non-decreasing, offsets[0] >= 0, offsets[n] <= len(data)
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any]) -> None:
        self.data = np.ascontiguousarray(data)
        self.offsets: Offsets = np.ascontiguousarray(offsets, np.int64)
        bounds = self.offsets
        if self.data.ndim != 1 or bounds.ndim != 1 or len(bounds) == 0:
            raise ValueError("Packed requires a vector of data and a vector of at least one offset")
        if bounds[0] < 0 or bounds[-1] > len(self.data) or np.any(bounds[1:] < bounds[:-1]):
            raise ValueError("offsets must not decrease and must lie within the data")

    @classmethod
    def from_documents(cls, documents: Iterable[str | bytes]) -> Packed:
        """Pack documents as bytes; str is encoded as UTF-8. Raises UnicodeEncodeError if a str contains a lone
        surrogate."""
        items = [document.encode() if isinstance(document, str) else document for document in documents]
        offsets = np.fromiter(accumulate(map(len, items), initial=0), np.int64, len(items) + 1)
        return cls(np.frombuffer(b"".join(items), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        n, index = len(self), operator.index(index)
        if not -n <= index < n:
            raise IndexError(f"item {index} is out of range: there are {n}")
        index %= n
        return self.data[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        bounds = self.offsets.tolist()
        return (self.data[begin:end] for begin, end in pairwise(bounds))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Packed):
            return NotImplemented
        return len(self) == len(other) and all(np.array_equal(a, b) for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Packed({len(self)} items, {self.data.dtype}[{self.offsets[-1] - self.offsets[0]}])"


def ranges(offsets: Offsets, n_bytes: int) -> Iterator[tuple[int, int]]:
    """Divide items into ranges (begin, end) of at most n_bytes, or of one longer item."""
    begin, n = 0, len(offsets) - 1
    while begin < n:
        end = int(np.searchsorted(offsets, offsets[begin] + n_bytes, "right")) - 1
        end = min(max(end, begin + 1), n)
        yield begin, end
        begin = end


def as_bytes(text: str | bytes) -> bytes:
    """Text as bytes; str is encoded as UTF-8. Raises UnicodeEncodeError for a lone surrogate, TypeError for other
    types."""
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, bytes):
        return text
    if isinstance(text, np.ndarray) and text.dtype != np.uint8:
        raise TypeError(f"expected str, bytes or an array of uint8, not an array of {text.dtype}")
    if isinstance(text, bytearray | memoryview | np.ndarray):
        return bytes(text)
    raise TypeError(f"expected str or bytes, not {type(text).__name__}")
