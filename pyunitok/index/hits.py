"""Hits contains the occurrences that a search returns, as arrays. They can be listed in several orders."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok._c.search import Runs
from pyunitok.index.shard import Shard

Int64s = np.ndarray[Any, np.dtype[np.int64]]

ORDERS = ("rank", "text", "random", "R1", "L1")
SIDE_ORDERS = ("R1", "L1")  # sort by the words next to the hits
MAX_SORTED = 10_000  # the number of hits that SIDE_ORDERS sort
SKIP_BITS = 24  # the sort key of a hit is (token << SKIP_BITS) + the byte offset in the token
CHUNK = 1 << 20


class Count(int):
    """A number of occurrences. approx is True if the search was cut short; the number is then a lower bound."""

    approx: bool

    def __new__(cls, value: int, approx: bool = False) -> Count:
        ret = super().__new__(cls, value)
        ret.approx = approx
        return ret

    def __repr__(self) -> str:
        return f"Count({int(self)}{', approx=True' if self.approx else ''})"


@dataclass(frozen=True)
class Hit:
    """One occurrence.

    shard     the number of the shard
    token     the index in IndexShard.ids of the token in which the occurrence begins
    skip      the byte offset within that token
    document  the document's number in the index
    begin     the first byte in the decoded document
    end       the end byte, exclusive: text_bytes(document)[begin:end] is the query
    """

    shard: int
    token: int
    skip: int
    document: int
    begin: int
    end: int


@dataclass
class Hits:
    """A page of occurrences: a sequence of Hit, and an int64[n] array for each field of Hit.

    total   the number of occurrences in the index
    approx  True if the search was cut short; total is then a lower bound
    """

    shards: Int64s
    tokens: Int64s
    skips: Int64s
    documents: Int64s
    begins: Int64s
    ends: Int64s
    total: int
    approx: bool

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, i: int) -> Hit:
        i = operator.index(i)
        columns = (self.shards, self.tokens, self.skips, self.documents, self.begins, self.ends)
        return Hit(*(int(column[i]) for column in columns))

    def __iter__(self) -> Iterator[Hit]:
        return (self[i] for i in range(len(self)))


@dataclass
class Places:
    """Positions of occurrences, int64[n] each: the shard, the token within the shard, and the byte offset within the
    token."""

    shards: Int64s
    tokens: Int64s
    skips: Int64s


class Occurrences:
    """All occurrences of a query, stored as runs for each shard, with random access by number."""

    def __init__(self, runs: list[Runs], shards: list[Shard], approx: bool = False) -> None:
        self.runs = runs
        self.approx = approx
        self._shards = shards
        self.bounds = np.cumsum([0, *(int((part["hi"] - part["lo"]).sum()) for part in runs)], dtype=np.int64)

    @property
    def total(self) -> int:
        return int(self.bounds[-1])

    def places(self, numbers: Int64s) -> Places:
        """The places of the occurrences with these numbers, 0 to total - 1. Occurrences are numbered in run order."""
        shards = np.searchsorted(self.bounds, numbers, "right") - 1
        tokens, skips = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
        for shard in np.unique(shards).tolist():
            mask = shards == shard
            tokens[mask], skips[mask] = self._in_shard(shard, numbers[mask] - self.bounds[shard])
        return Places(shards.astype(np.int64), tokens, skips)

    def _in_shard(self, shard: int, numbers: Int64s) -> tuple[Int64s, Int64s]:
        runs = self.runs[shard]
        ends = np.cumsum(runs["hi"] - runs["lo"])
        k = np.searchsorted(ends, numbers, "right")
        ranks = runs["hi"][k] - (ends[k] - numbers)
        tokens = self._shards[shard].positions(ranks) - runs["back"][k]
        return self._shards[shard].checked(tokens), runs["skip"][k].astype(np.int64)

    def chunks(self, shard: int) -> Iterator[tuple[Int64s, Int64s]]:
        """Yields (tokens, skips) of all occurrences in a shard, at most CHUNK at a time."""
        n = int(self.bounds[shard + 1] - self.bounds[shard])
        for at in range(0, n, CHUNK):
            yield self._in_shard(shard, np.arange(at, min(at + CHUNK, n), dtype=np.int64))

    def spaced(self, n: int) -> Int64s:
        """The numbers of n occurrences at equal distances."""
        return np.arange(n, dtype=np.int64) * self.total // max(1, n)

    def sampled(self, most: int) -> Iterator[tuple[int, Int64s, Int64s]]:
        """Yields (shard, tokens, skips) of all occurrences or, if there are more than `most`, of that many at equal
        distances."""
        numbers = self.spaced(min(most, self.total))
        for shard, (begin, end) in enumerate(pairwise(np.searchsorted(numbers, self.bounds).tolist())):
            if end > begin:
                yield shard, *self._in_shard(shard, numbers[begin:end] - self.bounds[shard])

    def first_in_text(self, offset: int, limit: int) -> Places:
        """Occurrences offset to offset + limit - 1 in text order, in O(total) time and O(offset + limit) memory."""
        columns: list[tuple[Int64s, Int64s]] = []
        for shard in range(len(self.runs)):
            n = int(self.bounds[shard + 1] - self.bounds[shard])
            if offset >= n or limit == 0:
                offset -= min(offset, n)
                continue
            wanted = offset + limit
            kept = np.empty(0, np.int64)
            for tokens, skips in self.chunks(shard):
                kept = np.concatenate((kept, (tokens << SKIP_BITS) + skips))
                if len(kept) > wanted:
                    kept = np.partition(kept, wanted - 1)[:wanted]
            kept = np.sort(kept)[offset:wanted]
            columns.append((np.full(len(kept), shard, np.int64), kept))
            offset, limit = 0, limit - len(kept)
        shards = np.concatenate([shards for shards, _ in columns]) if columns else np.empty(0, np.int64)
        keys = np.concatenate([keys for _, keys in columns]) if columns else np.empty(0, np.int64)
        return Places(shards, keys >> SKIP_BITS, keys & ((1 << SKIP_BITS) - 1))


def in_text_order(tokens: Int64s, skips: Int64s) -> tuple[Int64s, Int64s]:
    """The places in a shard, sorted; reading the documents of sorted places is faster."""
    keys = np.sort((tokens << SKIP_BITS) + skips)
    return keys >> SKIP_BITS, keys & ((1 << SKIP_BITS) - 1)


def shuffled(numbers: Int64s, n: int, seed: int) -> Int64s:
    """The entries at `numbers` in a permutation of 0..n-1 that `seed` determines; other entries are not computed.

    A Feistel network permutes the numbers below a power of four that exceeds n. It is applied again to each result
    until the result is below n.
    """
    half = max(1, (n - 1).bit_length() + 1) // 2 + 1
    mask = np.uint64((1 << half) - 1)
    keys = np.random.default_rng(seed).integers(0, 1 << 63, 6, np.uint64)
    ret = numbers.astype(np.uint64)
    pending = np.arange(len(ret))
    while len(pending):
        x = ret[pending]
        left, right = x >> np.uint64(half), x & mask
        for key in keys:
            mixed = (right ^ key) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            left, right = right, left ^ (mixed >> np.uint64(32) & mask)
        ret[pending] = left << np.uint64(half) | right
        pending = pending[ret[pending] >= np.uint64(n)]
    return ret.astype(np.int64)
