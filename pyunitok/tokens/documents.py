"""Documents is the base class of TokenArray and TokenArrays: a sequence of documents, each an array of ids.

    ids    a b c eod d e eod f g h eod ...        positions   0 1 2 3 | 4 5 6 | 7 8 9 10      locate(5) is 1
    ends         4       7         11                                                         bounds(1) is (4, 7)

A position is the index of a token among all tokens. Methods accept and return positions and document numbers as ints or
as arrays, which cost far less per item.

locate() avoids a trap: `numpy.searchsorted(docs.ends, position)` with an int or an int64 array first converts all ends
from uint64 to float64. This takes 0.4 s for 50 million documents, whereas locate() takes microseconds.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Packed

Ints = np.ndarray[Any, np.dtype[np.int64]]
Ids = np.ndarray[Any, Any]
Which = slice | Sequence[int] | np.ndarray[Any, Any]  # many documents, by number or by a mask


class Documents(ABC):
    """A sequence of documents. docs[3] is a view of the ids of document 3 and its eod; creating it reads nothing.

    docs[10:20], docs[[5, 2, 7]] and docs[mask] are the ids of many documents as one Packed: `.data` dtype[tokens],
    `.offsets` int64[n + 1]. Slices with step 1 are views, too.
    """

    n_tokens: int
    dtype: np.dtype[Any]  # the type of the ids: uint16 or uint32

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer:
        """The model that made the tokens."""

    @property
    @abstractmethod
    def eod_id(self) -> int | None:
        """The id at the end of every document, or None."""

    @property
    @abstractmethod
    def lengths(self) -> Ints:
        """int64[documents]: the number of tokens in each document, including its eod. Computed anew on each access."""

    @overload
    def locate(self, positions: int | np.integer[Any]) -> int: ...
    @overload
    def locate(self, positions: Sequence[int] | np.ndarray[Any, Any]) -> Ints: ...
    @abstractmethod
    def locate(self, positions: Any) -> Any:
        """The number of the document that contains the token at a position; for an array of positions, int64[...].

        Raises IndexError if there is no such token. A single position takes a few microseconds; arrays take less per
        item, and sorted arrays least.
        """

    @overload
    def bounds(self, documents: int | np.integer[Any]) -> tuple[int, int]: ...
    @overload
    def bounds(self, documents: Which) -> tuple[Ints, Ints]: ...
    @abstractmethod
    def bounds(self, documents: Any) -> Any:
        """(begin, end): the positions at which a document, with its eod, begins and ends; two int64[n] for many
        documents."""

    @abstractmethod
    def chunks(self, n_tokens: int = 1 << 20) -> Iterator[tuple[int, Packed]]:
        """All documents in order, in chunks: (number of the first document, a Packed of their ids).

        A chunk has at most n_tokens tokens; a longer document is a chunk by itself. The ids are read on demand.
        """

    @abstractmethod
    def metadata(self, document: int) -> dict[str, Any]:
        """The source of a document and its fields except the text; see Metadata. Raises OutputError if there is no
        metadata."""

    @abstractmethod
    def _one(self, document: int) -> Ids: ...

    @abstractmethod
    def _many(self, documents: Ints) -> Packed: ...

    @abstractmethod
    def _token_parts(self) -> list[Ids]:
        """The tokens, one array per file."""

    @overload
    def __getitem__(self, documents: int) -> Ids: ...
    @overload
    def __getitem__(self, documents: Which) -> Packed: ...
    def __getitem__(self, documents: Any) -> Any:
        if isinstance(documents, slice) or np.ndim(documents):
            return self._many(self._numbers(documents))
        return self._one(operator.index(documents))

    def __iter__(self) -> Iterator[Ids]:
        for _, chunk in self.chunks():
            yield from chunk

    def texts(self, documents: Which = slice(None), errors: str = "strict") -> list[str]:
        """text() of many documents, decoded together at a fraction of the cost."""
        return [item.tobytes().decode("utf-8", errors) for item in self.texts_bytes(documents)]

    def texts_bytes(self, documents: Which = slice(None)) -> Packed:
        """text_bytes() of many documents: a Packed of uint8."""
        ids = self[documents]
        data, offsets = self.tokenizer.codec.decode_documents(ids.data, ids.offsets, drop_last=self.eod_id is not None)
        return Packed(data, offsets)

    def text_bytes(self, document: int) -> bytes:
        """The text of a document. If the file has an eod, the document's last token is dropped, whatever its id."""
        ids = self._one(operator.index(document))
        return self.tokenizer.decode_bytes(ids[: len(ids) - (self.eod_id is not None)])

    def text(self, document: int, errors: str = "strict") -> str:
        """text_bytes() as str; `errors` as in bytes.decode()."""
        return self.text_bytes(document).decode("utf-8", errors)

    def windows(self, n: int, stride: int | None = None) -> Windows:
        """All windows of n tokens, one every `stride` tokens (by default n), for training; see Windows."""
        return Windows(self, n, n if stride is None else stride)

    def _numbers(self, documents: Any) -> Ints:
        """int64[n] document numbers in 0..len - 1 from a slice, a mask or numbers."""
        n_docs = len(self)
        if isinstance(documents, slice):
            return np.arange(*documents.indices(n_docs), dtype=np.int64)
        numbers = np.asarray(documents)
        if not numbers.size:
            return np.empty(0, np.int64)
        if numbers.dtype == bool:
            if numbers.shape != (n_docs,):
                raise IndexError(f"the mask has the shape {numbers.shape}, but there are {n_docs} documents")
            return np.flatnonzero(numbers)
        return counted_from_end(checked(numbers, -n_docs, n_docs, "document"), n_docs)


class Windows:
    """The windows of n tokens that begin every `stride` tokens; tokens after the last complete window are omitted.

    tokens     a b c d e f g h i j k          windows(4, stride=3)    a b c d    windows[0]
                                                                            d e f g    windows[1]
                                                                                  g h i j    windows[2]

    windows[i]             dtype[n]: a view; creating it reads nothing
    windows[[5, 2, 9]]     dtype[3, n]: a batch, copied
    windows[10:20]         dtype[10, n]

    Windows ignore document boundaries, which eods mark. No window spans two token files. To predict each next
    token, use n = context + 1, stride = n - 1, x = batch[:, :-1] and y = batch[:, 1:]. Pickles are small, so data
    loaders can send a Windows object to their workers.
    """

    def __init__(self, docs: Documents, n: int, stride: int) -> None:
        if n < 1 or stride < 1:
            raise ValueError(f"n and stride must be at least 1, not {n} and {stride}")
        self.n, self.stride = operator.index(n), operator.index(stride)
        self._docs = docs

    def __reduce__(self) -> tuple[Any, ...]:
        return Windows, (self._docs, self.n, self.stride)

    @cached_property
    def _views(self) -> list[Ids]:
        """The windows of each file as one array [windows, n] that shares the file's memory."""
        views = []
        for ids in self._docs._token_parts():
            shape = (max(0, (len(ids) - self.n) // self.stride + 1), self.n)
            strides = (self.stride * ids.itemsize, ids.itemsize)
            views.append(np.lib.stride_tricks.as_strided(ids, shape, strides, writeable=False))
        return views

    @cached_property
    def _firsts(self) -> Ints:
        """The number of the first window of each file, and the total number of windows."""
        return np.cumsum([0, *map(len, self._views)])

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def __iter__(self) -> Iterator[Ids]:
        for view in self._views:
            yield from view

    def __getitem__(self, which: int | Which) -> Ids:
        if isinstance(which, slice):
            which = np.arange(*which.indices(len(self)), dtype=np.int64)
        single = np.ndim(which) == 0
        numbers = checked([which] if single else which, -len(self), len(self), "window")
        numbers = counted_from_end(numbers, len(self))
        files = np.searchsorted(self._firsts, numbers, "right") - 1
        if single:
            view: Ids = self._views[files[0]][numbers[0] - self._firsts[files[0]]]
            return view
        ret = np.empty((*numbers.shape, self.n), self._docs.dtype)
        for k in np.unique(files):
            here = files == k
            ret[here] = self._views[k][numbers[here] - self._firsts[k]]
        return ret

    def __repr__(self) -> str:
        return f"Windows({len(self)} of {self.n} tokens, stride {self.stride})"


def checked(numbers: Any, low: int, high: int, what: str) -> Ints:
    """The numbers as int64[...]. Raises IndexError if one is not in low..high - 1, TypeError if they are not
    integers."""
    numbers = np.asarray(numbers)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError(f"{what}s must be ints, not {numbers.dtype}")
    wrong = (numbers < low) | (numbers >= high)
    if wrong.any():
        raise IndexError(f"{what} {numbers[wrong].flat[0]} is out of range: there are {high}")
    ret: Ints = numbers.astype(np.int64)
    return ret


def counted_from_end(numbers: Ints, n: int) -> Ints:
    """Resolve negative numbers as Python does: -1 is the last of n."""
    return numbers + n * (numbers < 0)
