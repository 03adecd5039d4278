"""Matcher finds which documents of a block contain text of which items, and Match describes one of them.

    block ──▶ C: n-grams in documents (csrc/clean) ──▶ for each item of those n-grams: share and longest run ──▶ Matches
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.grams import Grams
from pyunitok._c.grams import Hits as GramHits
from pyunitok.clean.benchmarks import Items
from pyunitok.clean.rules import Rule
from pyunitok.corpus.words import word_rules
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Bytes, Offsets, Packed

Int64s = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Match:
    """A text of an item in a document.

    text         its number in Items
    share        the share of its units that n-grams of the document cover
    longest_run  the most consecutive units of it that they cover
    ranges       int64[n, 2]: the bytes of these n-grams in the document, joined where they overlap
    """

    text: int
    share: float
    longest_run: int
    ranges: Int64s


class Matcher:
    """Finds items in documents; threads may share it.

    grams        the n-grams of all items
    sizes        int64[texts]: units in the n-grams of each text; 0: it is too short to be tested
    """

    def __init__(self, items: Items, rule: Rule, tokenizer: Tokenizer | None) -> None:
        self._rule, self._tokenizer = rule, tokenizer
        data: Any = items.texts.data
        offsets = items.texts.offsets
        if rule.unit == "tokens":
            assert tokenizer is not None
            ids = tokenizer.encode_batch(items.texts)
            data, offsets = ids.data.astype(np.uint32), ids.offsets
        rules = word_rules() if rule.unit == "words" else None
        self.grams = Grams(data, offsets, rule.n, rule.least_units, rules)
        self._starts = self.grams.starts
        n_units = np.diff(self._starts)
        self.sizes = np.where(n_units >= rule.n, rule.n, np.where(n_units >= rule.least_units, n_units, 0))
        order = np.argsort(self.grams.repeats[:, 0], kind="stable")
        self._repeats = self.grams.repeats[order]

    def find(self, data: Bytes, offsets: Offsets) -> GramHits:
        """The n-grams in documents, ordered by document."""
        if self._tokenizer is None or self._rule.unit != "tokens":
            return self.grams.find(data, offsets)
        documents = Packed(data, offsets)
        ids = self._tokenizer.encode_batch(documents, threads=1)
        hits = self.grams.find(ids.data.astype(np.uint32), ids.offsets)
        for document in np.unique(hits["document"]).tolist():
            here = hits["document"] == document
            text = documents[document].tobytes()
            spans = self._tokenizer.encode_with_offsets(text)[1]
            hits["begin"][here], last = spans[hits["begin"][here], 0], hits["end"][here] - 1
            hits["end"][here] = spans[last, 1]
        return hits

    def matches_of(self, grams: GramHits) -> list[Match]:
        """The items in one document, by their numbers. grams: the n-grams in it."""
        which, places = self._places(grams["gram"])
        texts = np.searchsorted(self._starts, places, side="right") - 1
        matches = []
        for text in np.unique(texts).tolist():
            here = texts == text
            n_units = int(self._starts[text + 1] - self._starts[text])
            covered = np.zeros(n_units + 1, np.int64)
            begins = np.unique(places[here] - self._starts[text])
            covered[begins] += 1
            np.subtract.at(covered, begins + self.sizes[text], 1)
            is_covered = np.cumsum(covered[:-1]) > 0
            found = grams[np.unique(which[here])]
            matches.append(
                Match(text, float(np.count_nonzero(is_covered)) / n_units, _longest_run(is_covered),
                    joined_ranges(np.stack((found["begin"], found["end"]), axis=1)))
            )  # fmt: skip
        return matches

    def places_of(self, gram: int) -> Iterator[int]:
        """All units where an n-gram of this number begins."""
        yield from self._places(np.array([gram]))[1].tolist()

    def _places(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """Every place of these n-grams: the index in `numbers`, and the unit where it begins."""
        begin = np.searchsorted(self._repeats[:, 0], numbers, side="left")
        n = np.searchsorted(self._repeats[:, 0], numbers, side="right") - begin
        which = np.repeat(np.arange(len(numbers)), n)
        within = np.arange(len(which)) - np.repeat(np.cumsum(n) - n, n)
        repeats = self._repeats[begin[which] + within, 1]
        return np.concatenate((np.arange(len(numbers)), which)), np.concatenate((numbers, repeats))


def _longest_run(flags: np.ndarray[Any, np.dtype[np.bool_]]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False]))))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def joined_ranges(ranges: Int64s) -> Int64s:
    """int64[n, 2]: ranges in ascending order, joined where they overlap or touch."""
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    if not len(ranges):
        return ranges
    ends = np.maximum.accumulate(ranges[:, 1])
    first = np.concatenate(([True], ranges[1:, 0] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return np.stack((ranges[first, 0], ends[last]), axis=1)


def pieces_outside(text: bytes, ranges: Int64s, around: int, min_piece: int) -> list[str]:
    """What remains of a document if these byte ranges and `around` characters on each side are removed: the pieces of
    at least min_piece characters."""
    characters = text.decode("utf-8", "surrogateescape")
    kept, at = [], 0
    for begin, end in ranges.tolist():
        first = len(text[:begin].decode("utf-8", "surrogateescape"))
        last = first + len(text[begin:end].decode("utf-8", "surrogateescape"))
        kept.append(characters[at : max(at, first - around)])
        at = max(at, last + around)
    kept.append(characters[at:])
    return [piece for piece in kept if len(piece) >= max(min_piece, 1)]
