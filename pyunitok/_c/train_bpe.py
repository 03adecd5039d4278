"""Bindings for the section "BPE" of csrc/unitok_train.h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyunitok._c.library import call, create, ffi, lib, optional, pointer
from pyunitok._c.sharing import share_out
from pyunitok._c.train import Counts, Rules, Units
from pyunitok.packed import Bytes, Packed

SHARED_WORK = 1 << 22  # the number of characters visited between checks for Ctrl-C


class BpeTrainer:
    """Merges pairs of characters in a copy of the units. A character c with keep[c] == 0 ends a unit.

    rules     None: the units are bytes, and are merged as Hugging Face's BpeTrainer merges them
    reserved  without rules: the pieces that exist before training, which rank before all bytes
    """

    def __init__(
        self, rules: Rules | None, units: Units, keep: Bytes | None = None, threads: int = 1,
        reserved: Sequence[bytes] = (),
    ) -> None:  # fmt: skip
        handle = ffi.NULL if rules is None else rules.handle
        self.handle: Any = create("bpe_trainer", handle, units.part(), optional(keep), threads)
        self._rules, self._threads = rules, threads
        self.n_pieces = 0
        self.done = False
        self._share(units, keep)
        if reserved:
            packed = Packed.from_documents(reserved)
            args = pointer(packed.data), pointer(packed.offsets), len(reserved)
            call(lib.unitok_bpe_trainer_reserve, self.handle, *args)

    def _share(self, *needed: object) -> None:
        """Run the multi-threaded phases. After an interrupt, a thread may continue for a while; its reference to
        `needed` keeps the arrays alive."""

        def work(_: int, worker: int) -> None:
            done, _needed = ffi.new("int32_t *"), (self, needed)
            while not done[0]:
                call(lib.unitok_bpe_trainer_work, self.handle, worker, SHARED_WORK, done)

        while lib.unitok_bpe_trainer_is_shared(self.handle):
            share_out(range(self._threads), self._threads, work)
            call(lib.unitok_bpe_trainer_join, self.handle)

    @property
    def memory_bytes(self) -> int:
        return int(lib.unitok_bpe_trainer_memory_bytes(self.handle))

    def step(self, n_pieces: int, *, min_count: int, max_work: int) -> bool:
        """Continue merging. Returns False once there are n_pieces pieces, or once no pair is left, which sets .done."""
        self._share()
        done = ffi.new("int32_t *")
        n = int(lib.unitok_bpe_trainer_step(self.handle, n_pieces, min_count, max_work, done))
        if n < 0:
            raise MemoryError("not enough memory for the pairs of the BPE trainer")
        self.n_pieces, self.done = n, bool(done[0])
        return not self.done and n < n_pieces

    def merges(self) -> tuple[np.ndarray[Any, np.dtype[np.uint32]], Counts]:
        """The left and right symbol of each merge so far, and the counts of their pairs, for resume()."""
        symbols, counts = np.empty((self.n_pieces, 2), np.uint32), np.empty(self.n_pieces, np.uint64)
        lib.unitok_bpe_trainer_merges(self.handle, 0, self.n_pieces, pointer(symbols.reshape(-1)), pointer(counts))
        return symbols, counts

    def resume(self, symbols: np.ndarray[Any, np.dtype[np.uint32]], counts: Counts) -> None:
        """Continue after the merges() of another trainer with the same units and rules. Call this before the first
        step."""
        flat = np.ascontiguousarray(symbols, np.uint32).reshape(-1)
        if len(flat) != 2 * len(counts):
            raise ValueError("each merge must have two symbols and a count")
        call(lib.unitok_bpe_trainer_resume, self.handle, pointer(flat), pointer(counts), len(counts))
        self.n_pieces = len(counts)

    def pieces(self) -> Units:
        """The pieces in the order of the merges, each with the count of its pair."""
        n = self.n_pieces
        n_bytes = lib.unitok_bpe_trainer_pieces(self.handle, 0, n, ffi.NULL, -1, ffi.NULL, ffi.NULL)
        data = np.empty(int(n_bytes), np.uint8)
        offsets, counts = np.zeros(n + 1, np.int64), np.empty(n, np.uint64)
        lib.unitok_bpe_trainer_pieces(self.handle, 0, n, pointer(data), len(data), pointer(offsets), pointer(counts))
        return Units(data, offsets, counts)
