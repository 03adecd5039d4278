"""Bindings for the section "Greedy vocabularies" of csrc/unitok_train.h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.library import call, copied, create, ffi, lib, pointer
from pyunitok.packed import Bytes, Offsets, Packed

Array = np.ndarray[Any, Any]
MAX_PIECE_BYTES: int = lib.UNITOK_GREEDY_MAX_BYTES
VALUES: int = lib.UNITOK_GREEDY_VALUES
PAIRS: int = lib.UNITOK_GREEDY_PAIRS


class GreedyRules(NamedTuple):
    """The rules that decide which strings may be pieces."""

    max_piece_bytes: int = 32
    max_run_bytes: int = 128  # for a piece that repeats one byte
    max_words: int = 4  # 1: white space occurs only at the start of a piece
    max_digits: int = 3
    closed_words: int = 0  # 1: a piece ends where a word or number ends, which makes encoding faster
    leading_spaces: int = 0  # 1: a piece that ends with a space is all white space, so each word has only one form

    def allow(self, piece: bytes) -> bool:
        return bool(lib.unitok_greedy_allows(self._pointer(), piece, len(piece)))

    def _pointer(self) -> Any:
        return ffi.new("unitok_greedy_rules *", self)


class GreedyRound:
    """The pieces of a round, sorted by bytes, including all 256 single bytes. Shared by threads."""

    def __init__(self, pieces: Sequence[bytes], rules: GreedyRules) -> None:
        self.pieces = sorted(pieces)
        self._packed = Packed.from_documents(self.pieces)
        data, offsets = pointer(self._packed.data), pointer(self._packed.offsets)
        self.handle: Any = create("greedy", data, offsets, len(self.pieces), rules._pointer())


class GreedyCounts:
    """The counts of one thread in a round."""

    def __init__(self, round_: GreedyRound) -> None:
        self._round = round_  # C borrows it
        self._handle: Any = create("greedy_counts", round_.handle)

    @property
    def round_pieces(self) -> list[bytes]:
        return self._round.pieces

    def count(self, data: Bytes, offsets: Offsets, flags: int) -> None:
        """Count the tokens in documents from one source."""
        call(lib.unitok_greedy_count, self._handle, pointer(data), pointer(offsets), len(offsets) - 1, flags)

    def end_source(self, weight: int, damping: int) -> None:
        call(lib.unitok_greedy_end_source, self._handle, weight, damping)

    def merge(self, other: GreedyCounts) -> None:
        call(lib.unitok_greedy_merge, self._handle, other._handle)

    @property
    def totals(self) -> tuple[int, int]:
        """The unweighted numbers of tokens and bytes counted."""
        sums = self._sums()
        return int(sums.n_tokens), int(sums.n_bytes)

    def pieces(self) -> tuple[Array, Array, Array]:
        """Three int64[pieces] arrays: the weighted uses of each piece, the weighted tokens that it saves, and the
        number of sources that use it."""
        sums, n = self._sums(), len(self._round.pieces)
        return copied(sums.uses, n, np.int64), copied(sums.values, n, np.int64), copied(sums.n_sources, n, np.int64)

    def _sums(self) -> Any:
        ret = ffi.new("unitok_greedy_sums *")
        lib.unitok_greedy_get_sums(self._handle, ret)
        return ret

    def pairs(self) -> tuple[Array, Array, Array, Array]:
        """The pairs that may be joined, in any order: uint32 left, uint32 right, int64 weighted uses, int64 sources."""
        pieces, numbers = np.empty((2, 0), np.uint32), np.empty((2, 0), np.int64)
        while True:
            rows = [pointer(row) for row in (*pieces, *numbers)]
            n = lib.unitok_greedy_pairs(self._handle, *rows, pieces.shape[1])
            if n <= pieces.shape[1]:
                return pieces[0], pieces[1], numbers[0], numbers[1]
            pieces, numbers = np.empty((2, n), np.uint32), np.empty((2, n), np.int64)
