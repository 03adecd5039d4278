"""Windows: equally long pieces of a token stream, what a language model is trained on.

    tokens     a b c d e f g h i j k          windows(4, stride=3)    a b c d    windows[0]
                                                                            d e f g    windows[1]
                                                                                  g h i j    windows[2]
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from pyunitok.tokens.documents import Documents, Ids, Ints, Which, checked, counted_from_end


class Windows:
    """The windows of n tokens that begin every `stride` tokens; the tokens after the last whole window are left out.

    windows[i]             dtype[n]: a view, nothing is read yet
    windows[[5, 2, 9]]     dtype[3, n]: a batch, copied
    windows[10:20]         dtype[10, n]

    Windows ignore where documents begin and end; the eods in them show it. With several token files, none spans two.
    To predict each next token, take n one larger than the context: x = batch[:, :-1], y = batch[:, 1:] and
    stride = n - 1. Pickles are small, so data loaders may send it to their workers.
    """

    def __init__(self, docs: Documents, n: int, stride: int) -> None:
        if n < 1 or stride < 1:
            raise ValueError(f"a window and a stride must have at least one token, not {n} and {stride}")
        self.n, self.stride = operator.index(n), operator.index(stride)
        self._docs = docs

    def __reduce__(self) -> tuple[Any, ...]:
        return Windows, (self._docs, self.n, self.stride)

    @cached_property
    def _views(self) -> list[Ids]:
        """For each file, its windows as one array [windows, n] over the same memory."""
        views = []
        for ids in self._docs._token_parts():
            shape = (max(0, (len(ids) - self.n) // self.stride + 1), self.n)
            strides = (self.stride * ids.itemsize, ids.itemsize)
            views.append(np.lib.stride_tricks.as_strided(ids, shape, strides, writeable=False))
        return views

    @cached_property
    def _firsts(self) -> Ints:
        """The number of the first window of each file, and of all windows."""
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
