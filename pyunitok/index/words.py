"""WordIndex answers queries about the words of an index, which add_words() has stored. Index.words returns it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pyunitok.corpus.words import word_bounds
from pyunitok.errors import InputError, LimitError
from pyunitok.index.hits import MAX_SORTED, SIDE_ORDERS, Count, Hits, Int64s, Places, shuffled
from pyunitok.index.inputs import IndexInputs
from pyunitok.index.search import DocumentHits, Order, SourceCounts, TextSearch, sources_of
from pyunitok.index.word_matches import ShardMatches, find_words
from pyunitok.index.word_ngrams import frequent_ngrams
from pyunitok.index.word_query import EXACT, WordOptions, WordQuery, parse_words
from pyunitok.index.word_shard import WordShard, open_words
from pyunitok.index.work import Work

SORT_WORDS = 4  # the number of words next to a hit that "R1" and "L1" compare
MAX_READ = 1_000_000  # the sample size of next, previous and by_source
MIN_TOKENS = 64  # the minimum number of tokens read to find words


@dataclass(frozen=True)
class WordCount:
    """A word, or several words separated by spaces, with its count. share is count / WordCounts.total."""

    text: str
    count: int
    share: float


@dataclass
class WordCounts:
    """The most frequent words or sequences of words; `total` includes those that a limit omits. approx is True if the
    counts are scaled from a sample, or if the search was cut short."""

    rows: list[WordCount]
    total: int
    distinct: int
    approx: bool = False


class WordMatches:
    """All matches of a word query: a ShardMatches for each shard, numbered consecutively. approx is True if max_work
    cut the search short, so that matches may be missing."""

    def __init__(self, parts: Sequence[ShardMatches]) -> None:
        self.parts = parts
        self.approx = any(part.approx for part in parts)
        self.bounds = np.cumsum([0, *map(len, parts)], dtype=np.int64)

    @property
    def total(self) -> int:
        return int(self.bounds[-1])

    def take(self, numbers: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """(shards, begins, ends) of the matches with these numbers."""
        shards = np.searchsorted(self.bounds, numbers, "right") - 1
        begins, ends = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
        for shard in np.unique(shards).tolist():
            mask = shards == shard
            begins[mask], ends[mask] = self.parts[shard].take(numbers[mask] - self.bounds[shard])
        return shards.astype(np.int64), begins, ends

    def sampled(self, most: int) -> Iterator[tuple[int, Int64s, Int64s]]:
        """Yields (shard, begins, ends) of all matches or, if there are more than `most`, of that many at equal
        distances."""
        if self.total > most:
            shards, begins, ends = self.take(np.arange(most) * self.total // most)
            for shard in np.unique(shards).tolist():
                yield shard, begins[shards == shard], ends[shards == shard]
            return
        for number, part in enumerate(self.parts):
            for begins, ends in part.chunks():
                yield number, begins, ends


class WordIndex:
    """Queries about words. Words are runs of letters, marks and digits, as corpus/words.py defines them.

    A query consists of words separated by white space: "the [0-3] quick|lazy fox", where [0-3] stands for up to three
    other words; see WordOptions for the rest. Between words of the corpus there may be any spaces and punctuation. Each
    match begins at a different word and is as short as possible. All methods are thread-safe.
    """

    def __init__(self, index: TextSearch) -> None:
        """Internal: use Index.words."""
        self._index = index
        self.lexicon, self.shards, self.is_current = open_words(index.folder, index.manifest)

    def check(self) -> None:
        """Raise InputError if the index has changed since its words were stored."""
        if not self.is_current:
            raise InputError(
                f"{self._index.folder} has changed since its words were stored; update them with "
                f"`pyunitok index {self._index.folder} -o {self._index.folder} --words`"
            )

    @property
    def n_words(self) -> int:
        """The number of words in all documents."""
        return int(self.lexicon.counts[1:].sum())

    @cached_property
    def document_sizes(self) -> Int64s:
        """int64[documents]: the number of words in each document."""
        self.check()
        sizes = np.zeros(self._index.n_documents, np.int64)
        for number, shard in enumerate(self.shards):
            first = self._index.first_document(number)
            sizes[first : first + len(shard.ends)] = shard.sizes
        return sizes

    # ------------------------------------------------------------------------------------------ counting, finding ---

    def matches(self, query: str, options: WordOptions = EXACT) -> WordMatches:
        """All matches of a query, which other methods turn into hits, documents and neighbours."""
        self.check()
        parsed = self._parsed(query, options)
        return WordMatches([find_words(shard, parsed, options.max_work) for shard in self.shards])

    def _parsed(self, query: str, options: WordOptions) -> WordQuery:
        work = None if options.max_work is None else options.max_work * max(1, len(self.shards))
        return parse_words(query, self.lexicon, options, Work(work))

    def count(self, query: str, options: WordOptions = EXACT) -> Count:
        found = self.matches(query, options)
        return Count(found.total, found.approx)

    def find(
        self, query: str, limit: int = 10, offset: int = 0, order: Order = "rank", seed: int = 0,
        options: WordOptions = EXACT,
    ) -> Hits:  # fmt: skip
        """Like Index.find. "R1" and "L1" sort by the words after or before a match."""
        self._index.check_page(limit, offset, order)
        found = self.matches(query, options)
        numbers = np.arange(offset, max(offset, min(offset + limit, found.total)), dtype=np.int64)
        if order == "random" and len(numbers):
            numbers = shuffled(numbers, found.total, seed)
        elif order == "text":
            return self.hits_at(*self._in_text_order(found, numbers), found.total, found.approx)
        shards, begins, ends = found.take(numbers)
        if order in SIDE_ORDERS:
            shards, begins, ends = found.take(np.arange(min(found.total, MAX_SORTED), dtype=np.int64))
            chosen = np.lexsort(self._beside(shards, begins, ends, order))[offset : offset + limit]
            shards, begins, ends = shards[chosen], begins[chosen], ends[chosen]
        return self.hits_at(shards, begins, ends, found.total, found.approx)

    def _in_text_order(self, found: WordMatches, numbers: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        parts = [(np.full(len(part), k), *part.in_order()) for k, part in enumerate(found.parts)]
        if not parts:
            return numbers, numbers, numbers
        shards, begins, ends = (np.concatenate(columns)[numbers] for columns in zip(*parts, strict=True))
        return shards, begins, ends

    def _beside(self, shards: Int64s, begins: Int64s, ends: Int64s, order: str) -> list[Int64s]:
        """Sort keys for np.lexsort: the ids of the words next to each match, the nearest last. Ids are in alphabetical
        order."""
        keys = []
        alive = np.ones(len(shards), np.bool_)
        for distance in range(SORT_WORDS):
            key = np.zeros(len(shards), np.int64)
            for number in np.unique(shards).tolist():
                mask = shards == number
                at = ends[mask] + distance if order == "R1" else begins[mask] - 1 - distance
                key[mask] = self.shards[number].at(at)
            alive &= key > 0
            keys.append(np.where(alive, key, 0))
        return keys[::-1]

    def documents(self, query: str, options: WordOptions = EXACT) -> DocumentHits:
        """The documents with matches, and the number of matches in each. Reads all matches."""
        return self.documents_of(self.matches(query, options))

    def documents_of(self, found: WordMatches, max_hits: int | None = None) -> DocumentHits:
        """The documents of all matches or, if there are more than max_hits, of a sample of that size."""
        counts = [np.zeros(len(shard.ends), np.int64) for shard in self.shards]
        for number, begins, _ in found.sampled(found.total if max_hits is None else max_hits):
            counts[number] += np.bincount(self.shards[number].documents(np.sort(begins)), minlength=len(counts[number]))
        parts = []
        for number, column in enumerate(counts):
            documents = np.flatnonzero(column)
            parts.append(np.stack((documents + self._index.first_document(number), column[documents])))
        parts.sort(key=lambda part: int(part[0, 0]) if part.size else 0)
        documents, n = np.concatenate([np.empty((2, 0), np.int64), *parts], axis=1)
        return DocumentHits(documents, n, found.approx)

    def by_source(self, query: str, options: WordOptions = EXACT, *, max_hits: int | None = None) -> SourceCounts:
        """How often a query matches in each input, omitting inputs without matches. Like Index.by_source, reads a
        sample of at most a million if there are more than max_hits matches."""
        matches = self.matches(query, options)
        is_sample = max_hits is not None and matches.total > max_hits
        found = self.documents_of(matches, MAX_READ if is_sample else None)
        inputs: IndexInputs = self._index.inputs
        numbers, starts = np.unique(inputs.of(found.documents), return_index=True)
        hits = np.add.reduceat(found.counts, starts) if len(starts) else starts
        if is_sample:
            hits = np.rint(hits * (matches.total / max(1, hits.sum()))).astype(np.int64)
        documents = np.diff(np.append(starts, len(found.documents)))
        return sources_of(inputs, numbers, hits, documents, matches.approx or is_sample)

    # --------------------------------------------------------------------------------------------- lists of words ---

    def next(self, query: str, limit: int | None = None, options: WordOptions = EXACT) -> WordCounts:
        """The words that follow a query, most frequent first; "" stands for the end of the document."""
        return self._neighbours(self.matches(query, options), limit, lambda begins, ends: ends)

    def previous(self, query: str, limit: int | None = None, options: WordOptions = EXACT) -> WordCounts:
        """The words that precede a query, most frequent first; "" stands for the start of the document."""
        return self._neighbours(self.matches(query, options), limit, lambda begins, ends: begins - 1)

    def _neighbours(self, found: WordMatches, limit: int | None, side: Any) -> WordCounts:
        counts = np.zeros(len(self.lexicon), np.int64)
        for number, begins, ends in found.sampled(MAX_READ):
            counts += np.bincount(self.shards[number].at(side(begins, ends)), minlength=len(counts))
        is_sample = found.total > MAX_READ
        if is_sample:
            counts = np.rint(counts * (found.total / MAX_READ)).astype(np.int64)
        return self._counted(counts, found.total, limit, is_sample or found.approx)

    def frequencies(
        self, query: str | None = None, limit: int | None = None, options: WordOptions = EXACT
    ) -> WordCounts:
        """The words of the index, or the words that match a query of one word, most frequent first. With ignore_case or
        ignore_accents, words that differ only in case or accents are counted as one and shown in their most frequent
        form."""
        self.check()
        counts = np.array(self.lexicon.counts)
        counts[0] = 0
        if query is not None:
            places = self._parsed(query, options).places
            if len(places) != 1:
                raise LimitError(f"a list of words takes one word, but {query!r} has {len(places)}")
            others = np.ones(len(counts), np.bool_)
            others[places[0]] = False
            counts[others] = 0
        if options.ignore_case or options.ignore_accents:
            counts = self._merged(counts, options)
        return self._counted(counts, self.n_words, limit, False)

    def ngrams(self, n: int, min_count: int = 2, limit: int | None = None) -> WordCounts:
        """The sequences of n words within documents that occur at least min_count times, most frequent first. Reads the
        suffix arrays, a few million words per second. `total` and `share` count the sequences found."""
        self.check()
        if n < 1 or min_count < 1:
            raise LimitError(f"n and min_count must be at least 1, not {n} and {min_count}")
        grams, counts = frequent_ngrams(self.shards, n, min_count)
        order = np.lexsort((*grams.T[::-1], -counts))[:limit]
        total = int(counts.sum())
        rows = [
            WordCount(" ".join(self.lexicon.words(gram)), count, count / max(1, total))
            for gram, count in zip(grams[order].tolist(), counts[order].tolist(), strict=True)
        ]
        return WordCounts(rows, total, len(counts))

    def _merged(self, counts: Int64s, options: WordOptions) -> Int64s:
        """Adds the counts of equal words to the most frequent of them."""
        ids = np.flatnonzero(counts)
        ids = ids[np.argsort(self.lexicon.first_equal(options.folding)[ids], kind="stable")]
        own, group = counts[ids], self.lexicon.first_equal(options.folding)[ids]
        starts = np.flatnonzero(np.diff(group, prepend=0))
        sums, largest = np.add.reduceat(own, starts), np.maximum.reduceat(own, starts)
        best = np.flatnonzero(own == np.repeat(largest, np.diff(starts, append=len(ids))))
        best = best[np.diff(group[best], prepend=0) > 0]  # if several words tie, the first
        ret = np.zeros_like(counts)
        ret[ids[best]] = sums
        return ret

    def _counted(self, counts: Int64s, total: int, limit: int | None, approx: bool) -> WordCounts:
        ids = np.flatnonzero(counts)
        most = len(ids) if limit is None else min(limit, len(ids))
        if most < len(ids):  # keep all words that tie with the last, so that the order does not depend on the limit
            least = np.partition(counts[ids], len(ids) - most)[len(ids) - most] if most else np.iinfo(np.int64).max
            chosen = ids[counts[ids] >= least]
        else:
            chosen = ids
        chosen = chosen[np.lexsort((chosen, -counts[chosen]))][:most]
        rows = [
            WordCount(self.lexicon.word(id_), n, n / max(1, total))
            for id_, n in zip(chosen.tolist(), counts[chosen].tolist(), strict=True)
        ]
        return WordCounts(rows, total, len(ids), approx)

    # ------------------------------------------------------------------------------------------------------ places ---

    def documents_at(self, shards: Int64s, begins: Int64s) -> Int64s:
        """The document of the index that contains word begins[k] of shards[k], for each k."""
        documents = np.empty(len(begins), np.int64)
        for number in np.unique(shards).tolist():
            mask = shards == number
            documents[mask] = self.shards[number].documents(begins[mask]) + self._index.first_document(number)
        return documents

    def hits_at(self, shards: Int64s, begins: Int64s, ends: Int64s, total: int, approx: bool = False) -> Hits:
        """The hits for words begins[k]:ends[k] of shards[k]. Takes time linear in the distance to the last mark or the
        start of the document, at most 128 words each."""
        tokens, skips, sizes = (np.empty(len(begins), np.int64) for _ in range(3))
        for k, (shard, begin, end) in enumerate(zip(shards.tolist(), begins.tolist(), ends.tolist(), strict=True)):
            tokens[k], skips[k], sizes[k] = self._place(shard, begin, end)
        return self._index.hits_at(Places(shards.astype(np.int64), tokens, skips), sizes, total, approx)

    def _place(self, number: int, begin: int, end: int) -> tuple[int, int, int]:
        """Returns (token, byte in the token, number of bytes) of words begin:end of a shard."""
        words, shard = self.shards[number], self._index.shards[number]
        document = int(words.documents(np.array([begin]))[0])
        first = int(words.ends[document - 1]) + 1 if document else 0
        token = int(shard.ends[document - 1]) - shard.begin if document else 0
        last = int(shard.ends[document]) - shard.begin - (self._index.eod is not None)
        skip = 0
        mark = int(np.searchsorted(words.marks, np.uint32(begin), "right")) - 1  # an int would make NumPy convert marks
        if mark >= 0 and words.marks[mark] >= first:
            first, token, skip = (int(x[mark]) for x in (words.marks, words.mark_tokens, words.mark_skips))
        if not 0 <= token <= last <= len(shard):
            raise words.damaged()
        is_start = first == (int(words.ends[document - 1]) + 1 if document else 0)
        return self._read(words, number, (token, last), skip, (begin - first, end - first), is_start)

    def _read(
        self, words: WordShard, number: int, tokens: tuple[int, int], skip: int, wanted: tuple[int, int], is_start: bool
    ) -> tuple[int, int, int]:
        """Divides the text from a token on into words until words wanted[0]:wanted[1] are complete."""
        shard, tables, (token, last) = self._index.shards[number], self._index.tables, tokens
        n = MIN_TOKENS + 2 * wanted[1]
        while True:
            ids = np.asarray(shard.ids[token : min(last, token + n)])
            text = b"".join(map(self._index.decoded, ids.tolist()))
            dropped = int(is_start and len(ids) > 0 and tables.drops_space[ids[0]])
            bounds = word_bounds(text[skip + dropped :])
            is_whole = token + n >= last
            if len(bounds) > wanted[1] or is_whole:
                break
            n *= 2
        if len(bounds) < wanted[1]:
            raise words.damaged()
        begin, end = int(bounds[wanted[0], 0]) + skip + dropped, int(bounds[wanted[1] - 1, 1]) + skip + dropped
        ends = np.cumsum(tables.sizes[ids], dtype=np.int64)
        at = int(np.searchsorted(ends, begin, "right"))
        return token + at, begin - int(ends[at]) + int(tables.sizes[ids[at]]), end - begin
