"""Bindings for the section "Repeats" of csrc/unitok_search.h."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok._c.library import create, ffi, lib, pointer
from pyunitok._c.search import U32, Runs, SearchShard
from pyunitok.packed import Bytes

REPEAT = np.dtype(
    [("lo", "<i8"), ("hi", "<i8"), ("count", "<i8"), ("shard", "<i4"), ("first_shard", "<i4"),
     ("first_position", "<u4"), ("padding", "<u4")]
)  # fmt: skip


class RepeatFinder:
    """Finds the sequences of n_tokens tokens that occur more than once in the shards; see unitok_repeats_new."""

    def __init__(self, shards: list[SearchShard], n_tokens: int) -> None:
        self._keep = shards, ffi.new("unitok_search_shard *[]", [shard.handle for shard in shards])
        self._capacity = len(shards) + (1 << 16)
        self._handle: Any = create("repeats", self._keep[1], len(shards), n_tokens)

    def step(self, n_suffixes: int) -> tuple[Runs, int]:
        """Visit n_suffixes more. Returns an array of REPEAT, and the number of suffixes visited so far."""
        out, done = np.empty(self._capacity, REPEAT), ffi.new("int64_t *")
        buffer = ffi.from_buffer("unitok_repeat[]", out, require_writable=True)
        n = lib.unitok_repeats_step(self._handle, n_suffixes, buffer, self._capacity, done)
        return out[:n], int(done[0])


def mark_repeats(shard: SearchShard, number: int, n_tokens: int, records: Runs, counts: U32, later: Bytes) -> None:
    """Mark the records of one shard in `counts` and `later`, which have an item per token; see unitok_repeats_mark."""
    assert len(counts) == len(later) == shard.n and records.dtype == REPEAT
    buffer = ffi.from_buffer("unitok_repeat[]", np.ascontiguousarray(records))
    lib.unitok_repeats_mark(
        shard.handle, number, n_tokens, buffer, len(records), pointer(counts, writable=True),
        pointer(later, writable=True),
    )  # fmt: skip
