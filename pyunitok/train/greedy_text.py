"""The text that a greedy vocabulary is trained on: all of it in memory, in Sources of equal size, each with its weight.

Where the text is more than the memory allows, it is a sample of documents. Which ones depends on the seed, the order of
the documents and the limit alone: each has a random number made of the seed and its own number, and those below a bound
stay. The bound is halved whenever they grow too many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyunitok.corpus.raw_file import STDIN
from pyunitok.corpus.source import Source as File
from pyunitok.errors import OptionError
from pyunitok.packed import Bytes, Offsets, Packed
from pyunitok.train.longest import Source

SOURCE_BYTES = 16 << 20  # of one Source: small enough for threads to share the work of one file
MAX_RATIO = 1 << 20  # of the weights of two inputs
Marks = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Files:
    """Inputs as they were named, the files found there, and the number of the input of each."""

    arguments: Sequence[str]
    sources: list[File]
    groups: list[int]


def files_of(
    arguments: Sequence[str], weights: Mapping[str, float], find: Callable[[Sequence[str]], list[File]]
) -> Files:
    """find: the files that arguments name. OptionError for a weight of no argument."""
    if arguments.count(STDIN) > 1:
        find(arguments)  # raises
    for name, weight in weights.items():
        if name not in arguments:
            raise OptionError(f"the weight {name}={weight:g} is of no input; the inputs are {', '.join(arguments)}")
        if not (math.isfinite(weight) and weight > 0):
            raise OptionError(f"the weight of {name} is {weight:g}; it must be above 0")
    found = [find([argument]) for argument in arguments]
    groups = [i for i, files in enumerate(found) for _ in files]
    return Files(arguments, [file for files in found for file in files], groups)


@dataclass
class _Chunk:
    """Documents of one group; marks: their random numbers."""

    group: int
    data: Bytes
    offsets: Offsets
    marks: Marks

    def below(self, bound: int) -> _Chunk:
        kept = self.marks < np.uint64(bound)
        sizes = np.diff(self.offsets)
        offsets = np.zeros(int(kept.sum()) + 1, np.int64)
        np.cumsum(sizes[kept], out=offsets[1:])
        return _Chunk(self.group, self.data[np.repeat(kept, sizes)], offsets, self.marks[kept])


@dataclass
class Text:
    """Grows by add(). max_bytes: of all documents that are kept."""

    max_bytes: int
    seed: int = 0
    n_bytes: int = 0
    n_documents: int = 0
    n_kept_bytes: int = 0
    _bound: int = 1 << 63
    _chunks: list[_Chunk] = field(default_factory=list)
    _open: list[_Chunk] = field(default_factory=list)
    _open_bytes: int = 0

    def add(self, group: int, data: Bytes, offsets: Offsets) -> None:
        """Documents of the input of this number; copied."""
        n = len(offsets) - 1
        marks = _marks(self.seed, self.n_documents, n)
        self.n_documents += n
        self.n_bytes += int(offsets[-1] - offsets[0])
        if self._open and (self._open[0].group != group or self._open_bytes >= SOURCE_BYTES):
            self._close()
        chunk = _Chunk(group, data[offsets[0] : offsets[-1]].copy(), offsets - offsets[0], marks)
        chunk = chunk if self._bound == 1 << 63 else chunk.below(self._bound)
        self._open.append(chunk)
        self._open_bytes += len(chunk.data)
        self.n_kept_bytes += len(chunk.data)
        while self.n_kept_bytes > self.max_bytes:
            self._bound //= 2
            self._chunks = [chunk.below(self._bound) for chunk in self._chunks]
            self._open = [chunk.below(self._bound) for chunk in self._open]
            self._open_bytes = sum(len(chunk.data) for chunk in self._open)
            self.n_kept_bytes = self._open_bytes + sum(len(chunk.data) for chunk in self._chunks)

    def _close(self) -> None:
        sizes = np.concatenate([np.diff(chunk.offsets) for chunk in self._open])
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        data = np.concatenate([chunk.data for chunk in self._open])
        marks = np.concatenate([chunk.marks for chunk in self._open])
        self._chunks.append(_Chunk(self._open[0].group, data, offsets, marks))
        self._open, self._open_bytes = [], 0

    def sources(self, weights: Sequence[float], *, equal: bool, damping: int) -> list[Source]:
        """All of it. weights: of each group; equal: as if every group had as many bytes, before its weight counts;
        damping: of each Source.
        """
        if self._open:
            self._close()
        sizes = [0] * len(weights)
        for chunk in self._chunks:
            sizes[chunk.group] += len(chunk.data)
        scaled = [weight / (max(size, 1) if equal else 1) for weight, size in zip(weights, sizes, strict=True)]
        least = min((weight for weight, size in zip(scaled, sizes, strict=True) if size), default=1.0)
        return [
            Source(Packed(chunk.data, chunk.offsets), min(scaled[chunk.group] / least, MAX_RATIO), damping)
            for chunk in self._chunks if len(chunk.data)
        ]  # fmt: skip


def _marks(seed: int, first: int, n: int) -> Marks:
    """Random numbers below 2^63 of documents first..first+n-1: SplitMix64, see csrc/ground/rng.h."""
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + first + 1) & (1 << 64) - 1)
    z = np.arange(n, dtype=np.uint64) + start
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    marks: Marks = (z ^ z >> np.uint64(31)) >> np.uint64(1)
    return marks


def collect(text: Text, items: Iterable[tuple[int, Bytes, Offsets]], progress: Callable[[int], None]) -> None:
    """Add all texts; progress gets the bytes so far."""
    for group, data, offsets in items:
        text.add(group, data, offsets)
        progress(text.n_bytes)
