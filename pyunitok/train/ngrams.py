"""Counts n-grams and pieces for the BytePiece trainer: readers normalize documents to NFC and pass them to C."""

from __future__ import annotations

import re

import numpy as np

from pyunitok._c.train import Counter, SegmentStats
from pyunitok._c.train_ngrams import NgramCutter, NgramModel, NgramTable
from pyunitok.packed import Bytes, Offsets
from pyunitok.train.counting import Table
from pyunitok.vocab import nfc


def decimal_digits() -> Bytes:
    r"""uint8[0x110000]: 1 for each character that \d matches in this Python."""
    table = np.zeros(0x110000, np.uint8)
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    table[[ord(digit) for digit in re.findall(r"\d", every)]] = 1
    return table


class _Reader:
    """Normalizes packed documents to NFC and passes them to `sink`, which counts in `counter`."""

    counter: Table

    def __init__(self, sink: NgramTable | NgramCutter) -> None:
        self._sink, self._stats = sink, SegmentStats()

    def add(self, data: Bytes, offsets: Offsets) -> None:
        self._stats.n_bytes += int(offsets[-1] - offsets[0])
        self._stats.n_lines += len(offsets) - 1
        self._sink.add(*nfc.normalize_packed(data, offsets))

    def stats(self) -> SegmentStats:
        """Only n_bytes and n_lines are set; n_lines counts documents and parts of documents."""
        return self._stats

    @property
    def memory_bytes(self) -> int:
        return self.counter.memory_bytes


class NgramReader(_Reader):
    """Counts n-grams in `counter`."""

    def __init__(self, order: int, is_digit: Bytes | None) -> None:
        self.counter = NgramTable(order, is_digit)
        super().__init__(self.counter)


class PieceReader(_Reader):
    """Cuts texts into pieces with a model and counts the pieces in `counter`."""

    def __init__(
        self, model: NgramModel, is_digit: Bytes | None, counter: Counter, *, ensure_unicode: bool, lenient: bool
    ) -> None:
        super().__init__(NgramCutter(model, is_digit, counter, ensure_unicode=ensure_unicode, lenient=lenient))
        self.counter = counter
