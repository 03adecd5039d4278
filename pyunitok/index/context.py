"""Context and Contexts contain the text around hits, cut at character boundaries."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok.index.hits import Int64s
from pyunitok.vocab.utf8 import readable


@dataclass(frozen=True)
class Context:
    """The bytes of a document around a hit, cut at character boundaries. The hit itself can begin or end inside a
    character."""

    before: bytes
    match: bytes
    after: bytes

    def shown(self) -> tuple[str, str, str]:
        """The three parts as text, with \\xNN for invalid UTF-8."""
        parts = (self.before, self.match, self.after)
        before, match, after = map(readable, parts)
        return before, match, after

    def words(self, order: str) -> list[str]:
        """The sort key for the orders "R1" and "L1": the words after or before the hit, nearest word first."""
        side, step = (self.after, 1) if order == "R1" else (self.before, -1)
        return readable(side).casefold().split()[::step]


@dataclass
class Contexts:
    """The text around many hits, as arrays and as a sequence of Context.

    data    uint8: the text of all hits
    bounds  int64[n, 4]: with a, b, c, d = bounds[k], hit k is data[b:c], between data[a:b] and data[c:d]
    """

    data: np.ndarray[Any, np.dtype[np.uint8]]
    bounds: Int64s

    def __len__(self) -> int:
        return len(self.bounds)

    def __getitem__(self, i: int) -> Context:
        a, b, c, d = self.bounds[operator.index(i)].tolist()
        return Context(self.data[a:b].tobytes(), self.data[b:c].tobytes(), self.data[c:d].tobytes())

    def __iter__(self) -> Iterator[Context]:
        data = self.data.tobytes()
        return (Context(data[a:b], data[b:c], data[c:d]) for a, b, c, d in self.bounds.tolist())
