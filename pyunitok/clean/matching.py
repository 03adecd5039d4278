"""Matcher finds which documents of a block contain text of which items; Matches describes them.

    block ──▶ C: n-grams in documents (csrc/clean) ──▶ for each document and item: share and longest run ──▶ Matches
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.grams import Grams
from pyunitok._c.grams import Hits as GramHits
from pyunitok.clean.benchmarks import Items
from pyunitok.clean.rules import Rule
from pyunitok.corpus.block import Block
from pyunitok.corpus.words import word_rules
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Bytes, Offsets, Packed

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Shares = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Matches:
    """Texts of items in documents of a block, ordered by document and then by text; one value for each match.

    documents, texts  the numbers of the document in the block, and of the text in Items
    shares            the share of the text's units that n-grams of the document cover
    longest_runs      the most consecutive units of it that they cover
    offsets           int64[matches + 1]: match k has the ranges offsets[k]..offsets[k + 1] - 1
    begins, ends      int64[ranges]: the bytes of these n-grams in the document, joined where they overlap or touch
    """

    documents: Int64s
    texts: Int64s
    shares: Shares
    longest_runs: Int64s
    offsets: Int64s
    begins: Int64s
    ends: Int64s

    def __len__(self) -> int:
        return len(self.documents)

    def ranges_of(self, first: int, end: int) -> Int64s:
        """int64[n, 2]: the ranges of matches first..end-1 of one document, in ascending order and joined."""
        part = slice(int(self.offsets[first]), int(self.offsets[end]))
        return joined_ranges(np.stack((self.begins[part], self.ends[part]), axis=1))


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

    def find_in(self, block: Block) -> GramHits:
        """The n-grams in the documents of a block."""
        return self.find(block.data, block.offsets[: block.n_docs + 1])

    def matches(self, hits: GramHits, is_kept: Callable[[Int64s, Shares], Bools]) -> Matches:
        """The items in documents. hits: the n-grams in them. is_kept(texts, shares): which matches to return."""
        which, places = self._places(hits["gram"])
        documents, texts = hits["document"][which], np.searchsorted(self._starts, places, side="right") - 1
        order = np.lexsort((places, texts, documents))
        which, places, documents, texts = which[order], places[order], documents[order], texts[order]
        is_first = _changes(documents) | _changes(texts)
        firsts = np.flatnonzero(is_first)
        n_grams = np.diff(firsts, append=len(places))
        sizes = self.sizes[texts]
        ends = places + sizes
        steps = np.where(np.append(is_first[1:], True), sizes, np.diff(places, append=0))
        covered = _sums(np.minimum(steps, sizes), firsts)
        shares = covered / np.diff(self._starts)[texts[firsts]]
        is_run = is_first.copy()  # a run of consecutive units begins
        is_run[1:] |= places[1:] > ends[:-1]
        runs = np.flatnonzero(is_run)
        lengths = ends[np.append(runs[1:], len(ends))[: len(runs)] - 1] - places[runs]
        longest = _maxima(lengths, np.searchsorted(runs, firsts))
        kept = is_kept(texts[firsts], shares)
        in_kept = np.repeat(kept, n_grams)
        match = np.repeat(np.cumsum(kept) - 1, n_grams)[in_kept]
        joined = _joined(match, hits["begin"][which][in_kept], hits["end"][which][in_kept])
        return Matches(documents[firsts][kept], texts[firsts][kept], shares[kept], longest[kept], *joined)

    def shares_found(self, counts: Int64s) -> Shares:
        """The share of each text's n-grams that occur. counts[k]: how often n-gram k does. -1 for texts that are too
        short to be tested."""
        occurs = np.zeros(self.grams.n_units, np.bool_)
        occurs[self._places(np.flatnonzero(counts))[1]] = True
        before = np.concatenate(([0], np.cumsum(occurs)))
        n_grams = np.diff(self._starts) - self.sizes + 1
        shares = (before[self._starts[1:]] - before[self._starts[:-1]]) / np.maximum(n_grams, 1)
        return np.where(self.sizes > 0, shares, -1.0)

    def _places(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """Every place of these n-grams: the index in `numbers`, and the unit where it begins."""
        begin = np.searchsorted(self._repeats[:, 0], numbers, side="left")
        n = np.searchsorted(self._repeats[:, 0], numbers, side="right") - begin
        which = np.repeat(np.arange(len(numbers)), n)
        within = np.arange(len(which)) - np.repeat(np.cumsum(n) - n, n)
        repeats = self._repeats[begin[which] + within, 1]
        return np.concatenate((np.arange(len(numbers)), which)), np.concatenate((numbers, repeats))


def _changes(numbers: Int64s) -> Bools:
    """Whether each number differs from the one before it; True for the first."""
    ret = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=ret[1:])
    return ret


def _sums(values: Int64s, firsts: Int64s) -> Int64s:
    """The sums of the groups that begin at `firsts`."""
    return np.add.reduceat(values, firsts) if len(firsts) else values


def _maxima(values: Int64s, firsts: Int64s) -> Int64s:
    return np.maximum.reduceat(values, firsts) if len(firsts) else values


def _joined(match: Int64s, begins: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The ranges of each match, joined where they overlap or touch: offsets, begins and ends. The n-grams of a match
    have the same number of units, so in the order of their begins, their ends ascend too."""
    order = np.lexsort((begins, match))
    match, begins, ends = match[order], begins[order], ends[order]
    is_first = _changes(match)
    is_first[1:] |= begins[1:] > ends[:-1]
    firsts = np.flatnonzero(is_first)
    n_matches = int(match[-1]) + 1 if len(match) else 0
    return np.searchsorted(match[firsts], np.arange(n_matches + 1)), begins[firsts], _maxima(ends, firsts)


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
