"""TokenArrays presents several token files as one sequence of documents, without copying."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pyunitok.errors import OutputError, count
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Packed
from pyunitok.tokens import page
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.documents import Documents, Ids, Ints, checked


class TokenArrays(Documents):
    """Several token files as one sequence of documents, in the order given: pyunitok.open([a, b]).

    files  the TokenArray of each file, with its ids and ends

    Documents and positions are numbered consecutively over all files. Raises OutputError unless all files have the same
    dtype, eod and model.
    """

    def __init__(self, files: Sequence[TokenArray]) -> None:
        if not files:
            raise OutputError("no token file given")
        self.files = tuple(files)
        first = self.files[0]
        for other in self.files[1:]:
            for what, of_first, of_other in zip(("dtype", "eod", "model"), _kind(first), _kind(other), strict=True):
                if of_first != of_other:
                    raise OutputError(
                        f"{other.path} does not match {first.path}: its {what} is {of_other}, not {of_first}"
                    )
        self.dtype = first.dtype
        self._docs_before = np.cumsum([0, *map(len, self.files)])
        self._tokens_before = np.cumsum([0, *(file.n_tokens for file in self.files)])
        self.n_tokens = int(self._tokens_before[-1])

    @property
    def tokenizer(self) -> Tokenizer:
        return self.files[0].tokenizer

    @property
    def eod_id(self) -> int | None:
        return self.files[0].eod_id

    @property
    def lengths(self) -> Ints:
        return np.concatenate([file.lengths for file in self.files])

    def __len__(self) -> int:
        return int(self._docs_before[-1])

    def locate(self, positions: Any) -> Any:
        wanted = checked(positions, 0, self.n_tokens, "token")
        ret = np.empty(wanted.shape, np.int64)
        for k, here in _by_file(self._tokens_before, wanted):
            ret[here] = self.files[k].locate(wanted[here] - self._tokens_before[k]) + self._docs_before[k]
        return ret if np.ndim(positions) else int(ret)

    def bounds(self, documents: Any) -> Any:
        single = isinstance(documents, int | np.integer)
        numbers = self._numbers([documents] if single else documents)
        begins, ends = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
        for k, here in _by_file(self._docs_before, numbers):
            begins[here], ends[here] = self.files[k].bounds(numbers[here] - self._docs_before[k])
            begins[here] += self._tokens_before[k]
            ends[here] += self._tokens_before[k]
        return (int(begins[0]), int(ends[0])) if single else (begins, ends)

    def chunks(self, n_tokens: int = 1 << 20) -> Iterator[tuple[int, Packed]]:
        for file, before in zip(self.files, self._docs_before.tolist(), strict=False):
            for first, packed in file.chunks(n_tokens):
                yield before + first, packed

    def metadata(self, document: int) -> dict[str, Any]:
        file, inside = self._place(document)
        return file.metadata(inside)

    def _one(self, document: int) -> Ids:
        file, inside = self._place(document)
        return file[inside]

    def _many(self, documents: Ints) -> Packed:
        first = int(np.searchsorted(self._docs_before, documents[0], "right")) - 1 if len(documents) else 0
        inside = documents - self._docs_before[first]
        if np.all((inside >= 0) & (inside < len(self.files[first]))):
            return self.files[first]._many(inside)  # may be a view, because all documents are in one file
        items = [self._one(document) for document in documents.tolist()]
        return Packed(np.concatenate(items), np.cumsum([0, *map(len, items)]))

    def _token_parts(self) -> list[Ids]:
        return [part for file in self.files for part in file._token_parts()]

    def _place(self, document: int) -> tuple[TokenArray, int]:
        n, document = len(self), operator.index(document)
        if not -n <= document < n:
            raise IndexError(f"document {document} is out of range: there are {n}")
        document %= n
        k = int(np.searchsorted(self._docs_before, document, "right")) - 1
        return self.files[k], document - int(self._docs_before[k])

    def __repr__(self) -> str:
        return f"TokenArrays({len(self.files)} files, {len(self)} documents, {self.dtype}[{self.n_tokens}])"

    def _repr_html_(self) -> str:
        sizes = [(str(file.path), f"{count(len(file), 'document')}, {file.n_tokens:,} tokens") for file in self.files]
        total = f"{count(len(self), 'document')}, {self.n_tokens:,} tokens ({self.dtype})"
        return page.summary(f"TokenArrays, {count(len(self.files), 'file')}", [*sizes[:20], ("all", total)])


def _kind(file: TokenArray) -> tuple[str, int | None, str | None]:
    """The properties that all files must share."""
    return file.dtype.name, file.eod_id, file.manifest.model.get("sha256") if file.manifest else None


def _by_file(before: Ints, numbers: Ints) -> Iterator[tuple[int, Any]]:
    """(k, mask of the `numbers` in file k) for each file k that contains any of them."""
    files = np.searchsorted(before, numbers, "right") - 1
    for k in np.unique(files).tolist():
        yield k, files == k
