"""Finds the matches of a word query in a shard.

There are two methods. If places follow each other without gaps and few combinations of words are possible, each
combination is found by binary search in the suffix array. Otherwise all occurrences of the rarest place's words are
read, and the words around them are compared with the other places; if there are many occurrences, it is faster to read
all words in order:

    the [0-1] fox     the ─┬─ fox              starts = places of the rarest word, minus the possible distances
                           └─ any ─ fox        reached[k, d]: a match of the first words can end d words after start k
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.words import find_gapped
from pyunitok.index.hits import CHUNK, Int64s
from pyunitok.index.word_query import WordQuery
from pyunitok.index.word_shard import WordShard
from pyunitok.index.work import Work

MAX_COMBINATIONS = 1 << 18
SCAN_SHARE = 1 / 1024  # if the rarest place accepts a larger share of the words, all words are read
READ_COST = 4  # reading an occurrence costs a quarter as much as searching for a combination
# Units of Work, that is, about a nanosecond each:
SEARCH_WORK = 1000  # per combination
COMPARE_WORK = 3  # per word compared around the rarest place
# per word read; per word that the first place accepts; per such word and word of the span
SCAN_WORK, START_WORK, SPAN_WORK = 2, 40, 6


@dataclass
class ShardMatches:
    """The matches in a shard: the first `span` words of suffixes lo[k]:hi[k] of its suffix array; or, if lo is None,
    words begins[k]:ends[k], ascending. approx: the search was cut short, so that matches may be missing."""

    shard: WordShard
    lo: Int64s | None
    hi: Int64s
    span: int
    begins: Int64s
    ends: Int64s
    approx: bool = False

    def __len__(self) -> int:
        return len(self.begins) if self.lo is None else int((self.hi - self.lo).sum())

    def take(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """(begins, ends) of the matches with these numbers."""
        if self.lo is None:
            return self.begins[numbers], self.ends[numbers]
        bounds: Int64s = np.cumsum(self.hi - self.lo)
        k = np.searchsorted(bounds, numbers, "right")
        ranks: Int64s = self.hi[k] - (bounds[k] - numbers)
        begins = self.shard.positions(ranks)
        return begins, begins + self.span

    def chunks(self) -> Iterator[tuple[Int64s, Int64s]]:
        """Yields (begins, ends) of all matches, at most CHUNK at a time."""
        n = len(self)
        for at in range(0, n, CHUNK):
            yield self.take(np.arange(at, min(n, at + CHUNK), dtype=np.int64))

    def in_order(self) -> tuple[Int64s, Int64s]:
        """(begins, ends) of all matches, in the order of the text."""
        parts = list(self.chunks())
        empty = np.empty(0, np.int64)
        begins = np.concatenate([empty, *(part[0] for part in parts)])
        ends = np.concatenate([empty, *(part[1] for part in parts)])
        order = np.argsort(begins, kind="stable")
        return begins[order], ends[order]


_NONE = np.empty(0, np.int64)
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def find_words(shard: WordShard, query: WordQuery, max_work: int | None = None) -> ShardMatches:
    """All matches in a shard, or those found within max_work. Each match begins at a different word, and is the
    shortest that begins there."""
    work = Work(max_work)
    intervals = [shard.interval(ids) for ids in query.places]
    occurring = [np.flatnonzero(hi > lo) for lo, hi in intervals]
    sizes = [int((hi - lo).sum()) for lo, hi in intervals]
    rarest = int(np.argmin(sizes))
    if sizes[rarest] == 0:
        return ShardMatches(shard, _NONE, _NONE, query.span, _NONE, _NONE)
    if all(most == 0 for _, most in query.gaps):
        lo, hi = (bound[occurring[0]] for bound in intervals[0])
        limit = min(MAX_COMBINATIONS, max(256, READ_COST * sizes[rarest]))
        for depth in range(1, len(query.places)):
            ids = query.places[depth][occurring[depth]]
            if len(lo) * len(ids) > limit:
                break
            n = work.take(len(lo) * len(ids), SEARCH_WORK)
            following = np.tile(ids, len(lo))[:n]
            lo, hi = np.repeat(lo, len(ids))[:n], np.repeat(hi, len(ids))[:n]
            lo, hi = shard.narrowed(lo, hi, depth, following)
            lo, hi = lo[hi > lo], hi[hi > lo]
        else:
            return ShardMatches(shard, lo, hi, len(query.places), _NONE, _NONE, work.is_spent)
    if sizes[rarest] > SCAN_SHARE * len(shard):
        return _scanned(shard, query, sizes[0], work)
    parts = list(_around(shard, query, rarest, work))
    begins = np.concatenate([_NONE, *(part[0] for part in parts)])
    ends = np.concatenate([_NONE, *(part[1] for part in parts)])
    begins, first = np.unique(begins, return_index=True)  # a start can be near two occurrences of the rarest word
    return ShardMatches(shard, None, _NONE, 0, begins, ends[first], work.is_spent)


def _scanned(shard: WordShard, query: WordQuery, n_starts: int, work: Work) -> ShardMatches:
    """The matches among as many words as `work` allows us to read. The first place accepts n_starts of all words."""
    parts = [(_NONE, _NONE)]
    cost = SCAN_WORK + n_starts * (START_WORK + SPAN_WORK * query.span) // len(shard)
    words = shard.words[: work.take(len(shard), cost)]
    for found in find_gapped(words, query.places, query.gaps, shard.n_words):
        if found is None:
            raise shard.damaged()
        parts.append(found)
    begins, ends = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return ShardMatches(shard, None, _NONE, 0, begins, ends, work.is_spent)


def _around(shard: WordShard, query: WordQuery, rarest: int, work: Work) -> Iterator[tuple[Int64s, Int64s]]:
    """Yields (begins, ends) of matches around the occurrences of a place, as far as `work` allows."""
    accepted = []
    for ids in query.places:
        mask = np.zeros(shard.n_words, np.bool_)
        mask[ids] = True
        mask[0] = False
        accepted.append(mask)
    least = rarest + sum(gap[0] for gap in query.gaps[:rarest])
    most = rarest + sum(gap[1] for gap in query.gaps[:rarest])
    lo, hi = shard.interval(query.places[rarest])
    n_compared = query.span * (most - least + 1)
    step = max(1, CHUNK // n_compared)
    for places in ShardMatches(shard, lo, hi, 1, _NONE, _NONE).chunks():
        for at in range(0, len(places[0]), step):
            chosen = places[0][at : at + step]
            part = np.unique(chosen[: work.take(len(chosen), COMPARE_WORK * n_compared)])
            starts = np.unique((part[:, None] - np.arange(least, most + 1)).ravel())
            yield _matching(shard, starts[starts >= 0], accepted, query.gaps)
            if work.is_spent:
                return


def _matching(
    shard: WordShard, starts: Int64s, accepted: Sequence[Mask], gaps: Sequence[tuple[int, int]]
) -> tuple[Int64s, Int64s]:
    """The starts at which a match begins, and the smallest end of each."""
    starts = starts[accepted[0][shard.at(starts)]]
    span = len(accepted) + sum(most for _, most in gaps)
    reached: dict[int, Mask] = {0: np.ones(len(starts), np.bool_)}  # distance: whether the latest place can match there
    words = [shard.at(starts + distance) for distance in range(span)]
    inside: list[Mask] = [np.ones(len(starts), np.bool_)]  # by distance: whether the document is that long
    for distance in range(1, span):
        inside.append(inside[-1] & (words[distance] != 0))
    for mask, (least, most) in zip(accepted[1:], gaps, strict=True):
        following: dict[int, Mask] = {}
        for distance, before in reached.items():
            for further in range(distance + 1 + least, distance + 2 + most):
                hit = before & inside[further] & mask[words[further]]
                following[further] = following[further] | hit if further in following else hit
        reached = {distance: hit for distance, hit in following.items() if hit.any()}
    ends = np.full(len(starts), -1, np.int64)
    for distance in sorted(reached, reverse=True):
        ends[reached[distance]] = distance
    found = ends >= 0
    return starts[found], starts[found] + ends[found] + 1
