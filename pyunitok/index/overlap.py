"""Overlaps, the part of Index that finds which windows and spans of a text occur in the corpus.

As in count, bytes are compared, so the token boundaries of the text and of the corpus do not matter. With normalize,
words are compared as in decontaminate(), ignoring case and everything between words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from pyunitok.corpus.words import character_bounds, word_bounds
from pyunitok.errors import LimitError
from pyunitok.index.hits import Int64s
from pyunitok.index.search import Text
from pyunitok.index.sequences import TokenSearch
from pyunitok.index.word_sequences import SequenceSearch, SuffixRuns, WordSequences
from pyunitok.index.word_shard import LEXICON_NAME
from pyunitok.index.words import WordIndex, WordMatches
from pyunitok.packed import Packed, as_bytes

Unit = Literal["words", "bytes", "tokens"]
UNITS: tuple[Unit, ...] = ("words", "bytes", "tokens")
BATCH_BYTES = 1 << 19  # the size of the texts whose words are searched together


@dataclass
class Overlap:
    """How often each window of n units in some texts occurs in the corpus.

    n, unit       the size of a window
    offsets       int64[texts + 1]: text k has windows offsets[k] to offsets[k + 1] - 1
    begins, ends  int64[windows]: the byte range of a window in its text, which is normalized if the model normalizes
    counts        int64[windows]: how often each window occurs
    documents     int64[texts]: a document of the index that contains the text's most frequent window; -1 if none occurs
    share         float64[texts]: the share of the text's units that are covered by windows that occur
    is_short      bool[texts]: True if the text has fewer than n units, so that nothing was compared
    approx        True if max_work cut a search short; the count of that window is a lower bound and can be 0
    """

    n: int
    unit: Unit
    offsets: Int64s
    begins: Int64s
    ends: Int64s
    counts: Int64s
    documents: Int64s
    share: np.ndarray[tuple[int], np.dtype[np.float64]]
    is_short: np.ndarray[Any, np.dtype[np.bool_]]
    approx: bool

    def __len__(self) -> int:
        return len(self.share)

    def hits(self) -> Int64s:
        """int64[texts]: how many windows of each text occur in the corpus."""
        found = np.concatenate(([0], np.cumsum(self.counts > 0)))
        ret: Int64s = found[self.offsets[1:]] - found[self.offsets[:-1]]
        return ret


@dataclass
class Spans:
    """The longest parts of a text that occur in the corpus, none of them within a longer one. Columns are int64[n].

    begins, ends  byte ranges in `text`
    counts        how often each span occurs
    documents     a document of the index that contains the span
    text          the given text, which is normalized if the model normalizes
    approx        True if max_work cut a search short; spans can be missing or too short
    matches       the occurrences of each span, which can be spelled differently; only with normalize
    """

    begins: Int64s
    ends: Int64s
    counts: Int64s
    documents: Int64s
    text: bytes
    approx: bool
    matches: list[WordMatches] | None = None

    def __len__(self) -> int:
        return len(self.begins)


class Overlaps(TokenSearch):
    """Compares texts with the corpus. For models that normalize, the normalized text is compared, as in count."""

    @property
    def has_words(self) -> bool:
        """Whether words are stored in the index, so that `words` can be used."""
        return (self.folder / LEXICON_NAME).exists()

    @cached_property
    def words(self) -> WordIndex:
        """Queries about words: complete words, ignoring case or accents, with wildcards, gaps and regular expressions.
        Raises LimitError if the index has no words."""
        if not self.has_words:
            command = f"pyunitok index {self.folder} -o {self.folder} --words"
            raise LimitError(f"{self.folder} has no words; add them with `{command}`")
        return WordIndex(self)

    def overlap(
        self, texts: Iterable[Text], n: int = 13, unit: Unit = "words", *, normalize: bool = False,
        max_work: int | None = None,
    ) -> Overlap:  # fmt: skip
        """Count every window of n words, bytes or tokens of each text in the corpus, for example to measure the
        contamination of a test set.

        A window extends from the first byte of its first unit to the last byte of its last unit, including the
        punctuation and spaces between them. It occurs if these bytes occur within one document. See corpus/words.py
        for the definition of a word. A window typically takes 2 to 20 µs per shard.

        normalize  a window of words occurs if a document contains the same words in succession, ignoring case and
                   everything between words; requires `index --words`
        max_work   the budget of each window; with normalize, the windows of a batch share the sum of their budgets
        """
        if n < 1:
            raise LimitError(f"n must be at least 1, not {n}")
        if unit not in UNITS:
            raise LimitError(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
        if normalize and unit != "words":
            raise LimitError(f"only words can be normalized, not {unit}")
        given = (self._as_indexed(as_bytes(text)) for text in texts)
        if normalize:
            parts = list(self._word_windows(given, n, max_work))
        else:
            parts = [self._windows(text, n, unit, max_work) for text in given]
        return Overlap(
            n,
            unit,
            offsets=np.cumsum([0, *(len(part.begins) for part in parts)]),
            begins=joined(part.begins for part in parts),
            ends=joined(part.ends for part in parts),
            counts=joined(part.counts for part in parts),
            documents=np.array([part.document for part in parts], np.int64),
            share=np.array([part.share for part in parts], np.float64),
            is_short=np.array([part.is_short for part in parts], np.bool_),
            approx=any(part.approx for part in parts),
        )

    def spans(
        self, text: Text, min_bytes: int = 24, max_count: int | None = None, *, whole_words: bool = False,
        normalize: bool = False, max_work: int | None = None,
    ) -> Spans:  # fmt: skip
        """Find the parts of a text that occur in the corpus and are not within a longer such part.

        min_bytes    omit shorter parts
        max_count    omit parts that occur more often
        whole_words  parts begin and end at word boundaries; otherwise at character boundaries
        normalize    parts are sequences of words, and occur if a document contains the same words in succession,
                     ignoring case and everything between words; requires `index --words`
        max_work     the budget of each search; with normalize, of each word; all words share the sum of their budgets

        This takes about 20 to 50 searches per span, and 6 to 8 for every 10 to 20 bytes of text between spans. A search
        takes a few µs, and 1 to 10 ns per byte.
        """
        if min_bytes < 1:
            raise LimitError(f"min_bytes must be at least 1, not {min_bytes}")
        data = self._as_indexed(as_bytes(text))
        if normalize:
            return self._word_spans(data, min_bytes, max_count, max_work)
        bounds = word_bounds(data) if whole_words else character_bounds(data)
        search = _Occurrence(self, data, bounds, max_work)
        found = _longest_ranges(bounds, min_bytes, search)
        begins, ends = bounds[found[:, 0], 0], bounds[found[:, 1] - 1, 1]
        parts = [data[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        counts, is_cut = self.count_batch(parts, max_work=max_work)
        kept = np.ones(len(counts), np.bool_) if max_count is None else counts <= max_count
        begins, ends, counts = begins[kept], ends[kept], counts[kept]
        pairs = zip(begins.tolist(), ends.tolist(), strict=True)
        documents = [self._document_with(data[a:b], max_work) for a, b in pairs]
        approx = search.approx or bool(is_cut.any())
        return Spans(begins, ends, counts, np.array(documents, np.int64), data, approx)

    def _as_indexed(self, text: bytes) -> bytes:
        """The text as the index contains it: after encoding and decoding."""
        return self.tokenizer.decode_bytes(self.tokenizer.encode(text)) if self.normalizes else text

    def _windows(self, text: bytes, n: int, unit: Unit, max_work: int | None) -> _Windows:
        bounds = self._units(text, unit)
        begins, ends = _window_bounds(bounds, n)
        counts, is_cut = self.count_batch(
            Packed.from_documents(text[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)),
            max_work=max_work,
        )
        return _summarized(
            bounds, n, counts, bool(is_cut.any()),
            lambda best: self._document_with(text[begins[best] : ends[best]], max_work),
        )  # fmt: skip

    def _word_windows(self, texts: Iterable[bytes], n: int, max_work: int | None) -> Iterator[_Windows]:
        for batch in _batches(texts):
            found = WordSequences(self.words, batch, max_work)
            offsets, counts, runs = found.windows(n)
            for k, (first, last) in enumerate(pairwise(offsets.tolist())):
                bounds = found.bounds[found.starts[k] : found.starts[k + 1]]
                yield _summarized(bounds, n, counts[first:last], found.approx, partial(self._document_of, runs, first))

    def _document_of(self, runs: list[SuffixRuns], first: int, best: int) -> int:
        """A document that contains sequence first + best, which must occur."""
        found = [part.of(first + best).lo for part in runs]
        number = next(k for k, lo in enumerate(found) if len(lo))
        begin = self.words.shards[number].positions(found[number][:1])
        return int(self.words.documents_at(np.array([number]), begin)[0])

    def _word_spans(self, text: bytes, min_bytes: int, max_count: int | None, max_work: int | None) -> Spans:
        words = WordSequences(self.words, [text], max_work)
        found = _longest_ranges(words.bounds, min_bytes, SequenceSearch(words))
        matches = words.matches(found)
        counts = np.array([one.total for one in matches], np.int64)
        kept = np.flatnonzero((counts > 0) & (counts <= (counts if max_count is None else max_count)))
        matches = [matches[k] for k in kept.tolist()]
        begins, ends = words.bounds[found[kept, 0], 0], words.bounds[found[kept, 1] - 1, 1]
        documents = [int(self.words.documents_at(*one.take(np.zeros(1, np.int64))[:2])[0]) for one in matches]
        return Spans(begins, ends, counts[kept], np.array(documents, np.int64), text, words.approx, matches)

    def _units(self, text: bytes, unit: Unit) -> Int64s:
        """int64[n, 2]: where the units of a text begin and end, in bytes."""
        if unit == "words":
            return word_bounds(text)
        if unit == "bytes":
            places = np.arange(len(text) + 1, dtype=np.int64)
            return np.stack((places[:-1], places[1:]), axis=1)
        return self.tokenizer.encode_with_offsets(text)[1].astype(np.int64)

    def _document_with(self, text: bytes, max_work: int | None) -> int:
        """A document of the index that contains the text; -1 if none is found, or if the index only counts."""
        if self.only_counts:
            return -1
        found = self.find_all(text, max_hits=1, max_work=max_work)
        if not found.total:
            return -1
        place = found.places(np.zeros(1, np.int64))
        shard = int(place.shards[0])
        return int(self.documents_at(shard, place.tokens)[0]) + self.first_document(shard)


@dataclass
class _Windows:
    """The part of an Overlap for one text."""

    begins: Int64s
    ends: Int64s
    counts: Int64s
    document: int
    share: float
    is_short: bool
    approx: bool


def _window_bounds(bounds: Int64s, n: int) -> tuple[Int64s, Int64s]:
    """The bytes at which windows of n units begin and end."""
    n_windows = max(0, len(bounds) - n + 1)
    return bounds[:n_windows, 0], bounds[len(bounds) - n_windows :, 1]


def _summarized(
    bounds: Int64s, n: int, counts: Int64s, approx: bool, document_with: Callable[[int], int]
) -> _Windows:  # fmt: skip
    """The windows of n units in a text. document_with(k) returns a document that contains window k, which occurs."""
    begins, ends = _window_bounds(bounds, n)
    inside = np.zeros(len(bounds) + 1, np.int64)  # +1 where a window that occurs begins, -1 where it ends
    inside[: len(counts)] += counts > 0
    inside[n : n + len(counts)] -= counts > 0
    share = float(np.count_nonzero(np.cumsum(inside[:-1]))) / max(1, len(bounds))
    document = document_with(int(counts.argmax())) if len(counts) and counts.any() else -1
    return _Windows(begins, ends, counts, document, share, len(bounds) < n, approx)


def _batches(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch, n_bytes = list[bytes](), 0
    for text in texts:
        batch.append(text)
        n_bytes += len(text)
        if n_bytes >= BATCH_BYTES:
            yield batch
            batch, n_bytes = [], 0
    yield batch


def joined(columns: Iterable[Int64s]) -> Int64s:
    """The concatenation, which is int64 even if there are no columns."""
    return np.concatenate([np.empty(0, np.int64), *columns])


class _Occurrence:
    """A predicate: whether units [first, last) of a text occur in the corpus."""

    def __init__(self, index: Overlaps, text: bytes, bounds: Int64s, max_work: int | None) -> None:
        self.index, self.text, self.max_work = index, text, max_work
        self.begins, self.ends = bounds[:, 0].tolist(), bounds[:, 1].tolist()
        self.approx = False

    def __call__(self, first: int, last: int) -> bool:
        count = self.index.count(self.text[self.begins[first] : self.ends[last - 1]], max_work=self.max_work)
        self.approx |= count.approx
        return count > 0


def _longest_ranges(bounds: Int64s, min_bytes: int, occurs: Callable[[int, int], bool]) -> Int64s:
    """int64[n, 2]: the ranges [first, last) of units, at least min_bytes long, that occur and are not within a longer
    range that occurs.

    If a range occurs, so does every part of it, so an exponential search finds the last unit of the range that begins
    at `first`. The next range must contain the unit after that one; an exponential search backwards finds its first
    unit. If the complete text occurs, this takes a few searches, not one per unit.
    """
    n, found = len(bounds), []
    begins, ends = bounds[:, 0], bounds[:, 1]
    first = done = 0  # `done` is the end of the previous range
    while first < n:
        shortest = int(np.searchsorted(ends, begins[first] + min_bytes)) + 1
        least = max(shortest, done + 1)
        if least > n:
            break
        if not occurs(first, least):
            first = _first_start(first, least, occurs)
            continue
        done = _last_end(first, least, n, occurs)
        found.append((first, done))
        if done < n:
            first = _first_start(first, done + 1, occurs)
        else:
            break
    return np.array(found, np.int64).reshape(-1, 2)


def _last_end(first: int, last: int, n: int, occurs: Callable[[int, int], bool]) -> int:
    """The largest end for which the range from `first` to this end occurs. The range from `first` to `last` must
    occur."""
    return last + _farthest(n - last, lambda step: occurs(first, last + step))


def _first_start(first: int, last: int, occurs: Callable[[int, int], bool]) -> int:
    """The smallest start for which the range from this start to `last` occurs; `last` if there is none. The range from
    `first` to `last` must not occur."""
    return last - _farthest(last - first - 1, lambda step: occurs(last - step, last))


def _farthest(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number in 0..most for which `holds` is true. `holds` must be true up to that number and false after
    it. Searches exponentially from 0, then by bisection."""
    good, step = 0, 1
    while good + step <= most and holds(good + step):
        good += step
        step *= 2
    bad = min(good + step, most + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        if holds(middle):
            good = middle
        else:
            bad = middle
    return good
