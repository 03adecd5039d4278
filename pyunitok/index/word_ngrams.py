"""frequent_ngrams() finds the most frequent sequences of n words.

Equal sequences are neighbours in a suffix array. With several shards, a sequence that occurs min_count times in total
occurs at least min_count / shards times in one of them; such sequences are then counted in every shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pyunitok.index.hits import CHUNK, Int64s
from pyunitok.index.word_shard import WordShard

READ = CHUNK // 4  # the number of suffixes read at a time


def frequent_ngrams(shards: Sequence[WordShard], n: int, min_count: int) -> tuple[Int64s, Int64s]:
    """Returns ids[k, n] and counts[k] of all sequences of n words that occur at least min_count times."""
    least = -(-min_count // max(1, len(shards)))
    grams = np.concatenate([np.empty((0, n), np.int64), *(_frequent(shard, n, least) for shard in shards)])
    grams = np.unique(grams, axis=0) if len(shards) > 1 else grams
    counts = np.zeros(len(grams), np.int64)
    for shard in shards:
        lo, hi = shard.interval(grams[:, 0])
        for depth in range(1, n):
            lo, hi = shard.narrowed(lo, hi, depth, grams[:, depth])
        counts += hi - lo
    chosen = counts >= min_count
    return grams[chosen], counts[chosen]


def _frequent(shard: WordShard, n: int, least: int) -> Int64s:
    """The sequences that occur at least `least` times in a shard."""
    grams, last, count = [np.empty((0, n), np.int64)], np.zeros((1, n), np.int64), 0
    for rows in _rows(shard, n):
        rows = np.concatenate((last, rows))
        is_new = np.concatenate(([False], (rows[1:] != rows[:-1]).any(axis=1)))
        begins = np.flatnonzero(is_new)
        bounds = np.concatenate(([0], begins, [len(rows)]))
        sizes = np.diff(bounds)
        sizes[0] += count - 1  # `last` was counted before
        done = np.flatnonzero(sizes[:-1] >= least)
        grams.append(rows[bounds[done]])
        last, count = rows[-1:], int(sizes[-1])
    if count >= least:
        grams.append(last)
    found = np.concatenate(grams)
    ret: Int64s = found[(found != 0).all(axis=1)]
    return ret


def _rows(shard: WordShard, n: int) -> Iterator[Int64s]:
    """Yields the first n words of suffixes, in suffix order; words after the end of a document are 0."""
    for at in range(int(shard.starts[1]), len(shard), READ):
        places = shard.positions(np.arange(at, min(len(shard), at + READ)))
        columns = [shard.at(places)]
        for depth in range(1, n):
            columns.append(np.where(columns[-1] == 0, 0, shard.at(places + depth)))
        yield np.stack(columns, axis=1)
