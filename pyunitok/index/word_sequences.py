r"""WordSequences finds the word sequences of a text that occur in an index, ignoring case and the text between words.

Spellings of a word that differ in case have consecutive ids (lexicon.py), so each word of the text is a range of ids.
The suffixes that begin with a sequence of such ranges are several runs of a suffix array, one for each spelling:

    "the fox"    ranges  [the, The, THE] [fox, Fox]     runs  the fox │ the Fox │ The fox …

The runs of many sequences are extended together, word by word. Long sequences have few occurrences, so
after the first words, each occurrence is compared with the text instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pyunitok.corpus.words import word_bounds
from pyunitok.index.hits import Int64s
from pyunitok.index.lexicon import CASE, WordLexicon
from pyunitok.index.word_matches import ShardMatches
from pyunitok.index.words import WordIndex, WordMatches
from pyunitok.index.work import Work

N_EXTENDED = 12  # runs are extended to this many words; the other words of longer sequences are compared
MAX_COMPARED = 4096  # if the first words of a sequence have more occurrences than this, runs are extended further
BLOCK = 64  # the number of words compared at a time
SEARCH_WORK, COMPARE_WORK = 1000, 20  # units of Work for extending a run, and for comparing a word
NONE = np.empty(0, np.int64)


class SuffixRuns(NamedTuple):
    """Runs of suffixes, ordered by owner: suffixes lo[k]:hi[k] of a shard begin with the word sequence owners[k]."""

    owners: Int64s
    lo: Int64s
    hi: Int64s

    def of(self, owner: int) -> SuffixRuns:
        begin, end = np.searchsorted(self.owners, (owner, owner + 1)).tolist()
        return SuffixRuns(*(column[begin:end] for column in self))

    def at(self, chosen: Int64s) -> SuffixRuns:
        return SuffixRuns(*(column[chosen] for column in self))


class WordSequences:
    """The words of some texts. Finds where sequences of these words occur in the index.

    max_work  the budget for each word of the texts in each shard; the words share the sum of these budgets

    bounds  int64[n, 2]: the byte ranges of the words in their text
    starts  int64[texts + 1]: text k has words starts[k] to starts[k + 1] - 1
    """

    def __init__(self, index: WordIndex, texts: Sequence[bytes], max_work: int | None = None) -> None:
        index.check()
        bounds = [word_bounds(text) for text in texts]
        self.bounds = np.concatenate([np.empty((0, 2), np.int64), *bounds])
        self.starts = np.cumsum([0, *map(len, bounds)], dtype=np.int64)
        self.shards = index.shards
        words = [text[a:b].decode() for text, part in zip(texts, bounds, strict=True) for a, b in part.tolist()]
        self._first, self._last = _ranges(words, index.lexicon)
        self._work = [Work(None if max_work is None else max_work * len(words)) for _ in self.shards]

    @property
    def approx(self) -> bool:
        """Whether a search was cut short, so that occurrences may be missing."""
        return any(work.is_spent for work in self._work)

    def windows(self, n: int) -> tuple[Int64s, Int64s, list[SuffixRuns]]:
        """Look up all sequences of n words. Returns (offsets, counts, runs): sequences offsets[k]..offsets[k + 1] - 1
        are in text k, counts are by sequence, and runs are by shard."""
        sizes = np.maximum(0, np.diff(self.starts) - n + 1)
        offsets = np.cumsum(np.append(0, sizes))
        firsts = np.arange(offsets[-1]) + np.repeat(self.starts[:-1] - offsets[:-1], sizes)
        runs = [self.extended(k, firsts, np.full(len(firsts), n))[1] for k in range(len(self.shards))]
        counts = np.zeros(len(firsts), np.int64)
        for part in runs:
            counts += np.bincount(part.owners, part.hi - part.lo, len(firsts)).astype(np.int64)
        return offsets, counts, runs

    def matches(self, ranges: Int64s) -> list[WordMatches]:
        """The occurrences of words ranges[k, 0] to ranges[k, 1] - 1, for each k."""
        lengths = np.minimum(ranges[:, 1] - ranges[:, 0], N_EXTENDED)
        runs = [self.extended(k, ranges[:, 0], lengths)[1] for k in range(len(self.shards))]
        return [
            WordMatches([self.compared(number, part.of(k), first, last) for number, part in enumerate(runs)])
            for k, (first, last) in enumerate(ranges.tolist())
        ]

    def extended(self, number: int, firsts: Int64s, lengths: Int64s) -> tuple[Int64s, SuffixRuns]:
        """Look up sequences of lengths[k] words that begin at word firsts[k] in a shard. Returns the length of
        the longest prefix of each sequence that occurs, and the runs of the sequences that occur completely."""
        shard = self.shards[number]
        reached, done = np.zeros(len(firsts), np.int64), [SuffixRuns(NONE, NONE, NONE)]
        owners = np.flatnonzero((lengths > 0) & (self._last[firsts] >= self._first[firsts]))
        sizes = self._last[firsts[owners]] - self._first[firsts[owners]] + 1
        owners = np.repeat(owners, sizes)
        steps = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        lo, hi = shard.interval(self._first[firsts[owners]] + steps)
        depth = 0
        runs = SuffixRuns(owners, lo, hi).at(np.flatnonzero(hi > lo))
        while len(runs.owners):
            depth += 1
            reached[runs.owners] = depth
            is_done = lengths[runs.owners] == depth
            done.append(runs.at(np.flatnonzero(is_done)))
            runs = self._next(number, runs.at(np.flatnonzero(~is_done)), firsts, depth)
        owners, lo, hi = (np.concatenate(columns) for columns in zip(*done, strict=True))
        return reached, SuffixRuns(owners, lo, hi).at(np.argsort(owners, kind="stable"))

    def _next(self, number: int, runs: SuffixRuns, firsts: Int64s, depth: int) -> SuffixRuns:
        """The runs extended by one word, as far as the budget allows."""
        shard, work = self.shards[number], self._work[number]
        runs = runs.at(np.arange(work.take(len(runs.owners), SEARCH_WORK)))
        at = firsts[runs.owners] + depth
        first, last = self._first[at], self._last[at]
        lo, hi = shard.narrowed(runs.lo, runs.hi, depth, first, last)
        found = SuffixRuns(runs.owners, lo, hi)
        is_mixed = (hi - lo > 1) & (last > first)  # these runs may contain several spellings
        parts = [found.at(np.flatnonzero((hi > lo) & ~is_mixed))]
        mixed = found.at(np.flatnonzero(is_mixed))
        while len(mixed.owners):
            mixed = mixed.at(np.arange(work.take(len(mixed.owners), SEARCH_WORK)))
            word = shard.at(shard.positions(mixed.lo) + depth)
            ends = shard.narrowed(mixed.lo, mixed.hi, depth, word)[1]
            parts.append(SuffixRuns(mixed.owners, mixed.lo, ends))
            mixed = SuffixRuns(mixed.owners, ends, mixed.hi).at(np.flatnonzero(mixed.hi > ends))
        return SuffixRuns(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def compared(self, number: int, runs: SuffixRuns, first: int, last: int) -> ShardMatches:
        """The occurrences of words first to last - 1 in a shard. `runs`: those of the first N_EXTENDED words."""
        shard, depth = self.shards[number], min(last - first, N_EXTENDED)
        firsts = np.array([first])
        runs = SuffixRuns(np.zeros_like(runs.owners), runs.lo, runs.hi)
        while depth < last - first and int((runs.hi - runs.lo).sum()) > MAX_COMPARED:
            runs, depth = self._next(number, runs, firsts, depth), depth + 1
        found = ShardMatches(shard, runs.lo, runs.hi, depth, NONE, NONE)
        if depth == last - first:
            return found
        begins = found.in_order()[0]
        for distance in range(depth, last - first, BLOCK):
            begins = begins[: self._work[number].take(len(begins), COMPARE_WORK * BLOCK)]
            near = np.arange(distance, min(distance + BLOCK, last - first))
            words = shard.at((begins[:, None] + near).ravel()).reshape(-1, len(near))
            inside = (words >= self._first[first + near]) & (words <= self._last[first + near])
            begins = begins[inside.all(axis=1)]
        return ShardMatches(shard, None, NONE, 0, begins, begins + last - first)


class SequenceSearch:
    """A predicate: whether words first to last - 1 of a text occur in the index. Short sequences use a table."""

    def __init__(self, text: WordSequences) -> None:
        n = len(text.bounds)
        self._text, firsts = text, np.arange(n)
        lengths = np.minimum(N_EXTENDED, n - firsts)
        found = [text.extended(k, firsts, lengths) for k in range(len(text.shards))]
        self._reached = np.max([np.zeros(n, np.int64), *(reached for reached, _ in found)], axis=0).tolist()
        self._runs = [runs for _, runs in found]

    def __call__(self, first: int, last: int) -> bool:
        if last - first <= N_EXTENDED or self._reached[first] < N_EXTENDED:
            return bool(self._reached[first] >= last - first)
        parts = enumerate(runs.of(first) for runs in self._runs)
        return any(len(self._text.compared(number, runs, first, last)) > 0 for number, runs in parts)


def _ranges(words: list[str], lexicon: WordLexicon) -> tuple[Int64s, Int64s]:
    """For each word, the first and last id of the words that equal it if case is ignored; 1 and 0 if there are none."""
    known: dict[str, tuple[int, int]] = {}
    for word in words:
        form = CASE.of(word)
        if form not in known:
            ids = lexicon.ids(form, CASE)
            known[form] = (int(ids[0]), int(ids[-1])) if len(ids) else (1, 0)
    ranges = np.array([known[CASE.of(word)] for word in words], np.int64).reshape(-1, 2)
    return ranges[:, 0], ranges[:, 1]
