"""The sources of training text: batches supplied by the caller, or a corpus that several threads read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pyunitok._c.sharing import share_out
from pyunitok.corpus.block import Block, Split
from pyunitok.corpus.reading import InputBlocks, Reading
from pyunitok.corpus.source import Source as InputSource
from pyunitok.corpus.workers import Workers
from pyunitok.disk.url import is_url
from pyunitok.packed import Offsets
from pyunitok.train.lines import Batch

NOTED_BYTES = 1 << 15  # a document from a batch is truncated to this size in the sample
HELD_SHARE = 32  # at most 1 / HELD_SHARE of a block is held out
HELD_BYTES = 1 << 20  # at least this many bytes are held out in total, if the text is large enough
HELD_INTERVAL = 16  # if the size is unknown, lines of one block in 16 are held out, after the first HELD_SHARE blocks
FEW_INPUTS = 64  # if there are at most this many inputs, the sample contains lines from each
Progress = Callable[[int, int], None]  # bytes done, total (0: unknown)


class Adder(Protocol):
    """Counts packed documents. add() may be called from any thread."""

    def add(self, data: Any, offsets: Any) -> None: ...


class TextSource(Protocol):
    """Texts to train on. whole: each document is one line; sample: after feed(), the lines that were held out or, if
    is_held_out is false, copies of some lines that were counted."""

    whole: bool
    sample: list[bytes]

    def batches(self) -> Iterator[Batch]:
        """All documents in order, in this thread."""

    def feed(self, counter: Adder, progress: Progress, threads: int = 1) -> None:
        """Count all documents. threads: ignored by sources that start their own threads."""

    @property
    def may_reread(self) -> bool:
        """Whether feed() can be called again."""

    @property
    def is_held_out(self) -> bool:
        """Whether the sample is left out of the counts."""


@dataclass
class SuppliedBatches:
    """Batches supplied by the caller."""

    items: Iterable[Batch]
    whole: bool
    sample: list[bytes] = field(default_factory=list)

    def batches(self) -> Iterator[Batch]:
        """All batches. Adds the first document of each, up to NOTED_BYTES, to the sample until it has 1,000."""
        for data, offsets in self.items:
            if len(offsets) > 1 and len(self.sample) < 1000:
                self.sample.append(data[offsets[0] : min(offsets[1], offsets[0] + NOTED_BYTES)].tobytes())
            yield data, offsets

    may_reread = is_held_out = False

    def feed(self, counter: Adder, progress: Progress, threads: int = 1) -> None:
        def batches() -> Iterator[Batch]:
            n_bytes = 0
            for data, offsets in self.batches():
                yield data, offsets
                n_bytes += int(offsets[-1] - offsets[0])
                progress(n_bytes, 0)

        share_out(batches(), threads, lambda _, batch: counter.add(*batch))


def after_newline(text: memoryview) -> int:
    """A Split that divides a document after its last newline."""
    return bytes(text).rfind(b"\n") + 1


def _may_reread(source: InputSource) -> bool:
    """Whether the source is neither stdin nor a pipe, which have no size."""
    return source.opened is None and (source.size_bytes is not None or is_url(source.path))


@dataclass
class Corpus:
    """Files, read as `tokenize` reads them. hold: leave the sample out of the counts."""

    reading: Reading
    hold: bool = True
    whole: bool = False
    sample: list[bytes] = field(default_factory=list)
    split: Split = after_newline

    def __post_init__(self) -> None:
        self.reading = replace(self.reading, split=self.split)

    @property
    def is_held_out(self) -> bool:
        return self.hold

    @property
    def may_reread(self) -> bool:
        return all(map(_may_reread, self.reading.sources))

    def batches(self) -> Iterator[Batch]:
        return ((block.data, offsets) for block, offsets in self.blocks())

    def blocks(self) -> Iterator[tuple[Block, Offsets]]:
        """All blocks in order, in this thread, with the offsets of the documents that are not held out."""
        with closing(InputBlocks(self.reading)) as corpus:
            for number, block in enumerate(corpus.blocks()):
                block.number = number
                offsets, held = self._divide(block)
                self.sample += [held] if held else []
                yield block, offsets

    def feed(self, counter: Adder, progress: Progress, threads: int = 1) -> None:
        self.sample = []

        def work(block: Block) -> bytes:
            offsets, held = self._divide(block)
            counter.add(block.data, offsets)
            return held

        with Workers(self.reading, work) as workers:
            for result in workers.results():
                self.sample += [result.value] if result.value else []
                progress(result.compressed, self._n_bytes)

    def _is_held(self, block: Block) -> bool:
        """Whether part of this block is held out. In a small text, part of every block is held out; otherwise, part of
        one block in several."""
        is_first = block.first_document == 0 and block.inside == 0
        if is_first and len(self.reading.sources) <= FEW_INPUTS:
            return True
        if self._n_bytes:
            return block.number % max(1, self._n_bytes // (HELD_SHARE * HELD_BYTES)) == 0
        return block.number < HELD_SHARE or block.number % HELD_INTERVAL == 0

    @cached_property
    def _n_bytes(self) -> int:
        """The compressed size of all inputs; 0: unknown."""
        sizes = [source.size_bytes for source in self.reading.sources]
        return 0 if None in sizes else sum(size or 0 for size in sizes)

    def _divide(self, block: Block) -> tuple[Offsets, bytes]:
        """The offsets of the documents to count, and the text of the sample: the last documents or lines of the
        block, or b"" if none are held out."""
        offsets = block.offsets[: block.n_docs + 1].copy()
        if block.n_docs == 0 or not self._is_held(block):
            return offsets, b""
        end = int(offsets[-1])
        begin = end - (end - int(offsets[0])) // HELD_SHARE
        n_kept = int(np.searchsorted(offsets, begin))  # documents that begin before `begin`
        if n_kept < block.n_docs:
            held = b"\n".join(block.data[a:b].tobytes() for a, b in pairwise(offsets[n_kept:].tolist()))
            return offsets[: n_kept + 1] if self.hold else offsets, held
        text = block.data[begin:end].tobytes()
        held = text[text.find(b"\n") + 1 :] if b"\n" in text[:-1] else b""
        if self.hold:
            offsets[-1] -= len(held)
        return offsets, held
