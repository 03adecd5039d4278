"""Matcher finds the documents of a block that contain text of items; Matches describes the matches.

    block ──▶ C: n-grams in documents (csrc/clean) ──▶ for each document and item: share and longest run ──▶ Matches
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.grams import Grams
from pyunitok._c.grams import Hits as GramHits
from pyunitok.clean.benchmarks import Items
from pyunitok.clean.folding import folded
from pyunitok.clean.rules import Rule
from pyunitok.corpus.block import Block
from pyunitok.corpus.words import word_rules
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Bytes, Offsets, Packed

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Shares = np.ndarray[Any, np.dtype[np.float64]]
Ids = np.ndarray[Any, np.dtype[np.uint32]]

LEAST_IDF = 1e-9  # the weight of n-grams that are in all texts; positive, so that the weights of a text never sum to 0
ROUNDING = 1e-12  # the rounding error allowed in a sum of weights


@dataclass(frozen=True)
class Matches:
    """The texts of items that were found in the documents of a block. Each of the first four arrays has one value for
    each match; matches are ordered by document and then by text.

    documents, texts  the number of the document in the block, and of the text in Items
    shares            the share of the text, in the rule's measure, that n-grams in the document make up
    longest_runs      the largest number of consecutive units in the text that these n-grams cover
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
        """int64[n, 2]: the ranges of matches first..end-1, which must be in one document; ascending, and joined."""
        part = slice(int(self.offsets[first]), int(self.offsets[end]))
        return joined_ranges(np.stack((self.begins[part], self.ends[part]), axis=1))


class Matcher:
    """Finds items in documents; threads may share it.

    grams         the n-grams of all items
    sizes         int64[texts]: the number of units in an n-gram of each text; 0: the text has no n-grams
    is_tested     bool[texts]: whether a text is compared
    least_shares  float64[texts]: the smallest share that contaminates a document
    """

    def __init__(self, items: Items, rule: Rule, tokenizer: Tokenizer | None) -> None:
        self._rule, self._tokenizer = rule, tokenizer
        data: Any = items.texts.data
        offsets = items.texts.offsets
        if tokenizer is not None:
            data, offsets = self._tokens(data, offsets)
        self._ids: Ids = data if rule.mismatches else np.empty(0, np.uint32)
        rules = word_rules() if rule.unit == "words" else None
        self.grams = Grams(data, offsets, rule.n, rule.least_units, rules)
        self._starts = self.grams.starts
        n_units = np.diff(self._starts)
        self.sizes = np.where(n_units >= rule.n, rule.n, np.where(n_units >= rule.least_units, n_units, 0))
        has_field = np.isin(items.fields, rule.fields)
        self.is_tested = (self.sizes > 0) & (n_units >= rule.min_item) & (has_field | (not has_field.any()))
        self.least_shares = np.where(self.is_tested, rule.least_shares(n_units), np.inf)
        order = np.argsort(self.grams.repeats[:, 0], kind="stable")
        self._repeats = self.grams.repeats[order]
        self._weights: Shares | None = None
        self._totals: Shares = n_units.astype(np.float64)
        if rule.measure != "units":
            self._weights, self._totals = self._weighted(n_units)

    def _tokens(self, data: Bytes, offsets: Offsets) -> tuple[Ids, Offsets]:
        """The tokens of some texts, and the offset at which each text begins in the tokens."""
        assert self._tokenizer is not None
        if self._rule.folded:
            data, offsets, _ = folded(data, offsets)
        ids = self._tokenizer.encode_batch(Packed(data, offsets), threads=1)
        return ids.data.astype(np.uint32), ids.offsets

    def _weighted(self, n_units: Int64s) -> tuple[Shares, Shares]:
        """The weight of each n-gram, indexed by number, and the sum of the weights of each text's distinct n-grams."""
        n_texts, n_all = len(n_units), self.grams.n_units
        gram_at = np.arange(n_all)
        gram_at[self._repeats[:, 1]] = self._repeats[:, 0]
        text_at = np.repeat(np.arange(n_texts), n_units)
        sizes = self.sizes[text_at]
        is_begin = (sizes > 0) & (np.arange(n_all) + sizes <= self._starts[text_at + 1])
        texts, grams = np.divmod(np.unique(text_at[is_begin] * n_all + gram_at[is_begin]), max(n_all, 1))
        weights = np.ones(n_all)
        if self._rule.measure == "idf":
            found_in = np.maximum(np.bincount(grams, minlength=n_all), 1)
            weights = np.maximum(np.log(n_texts / found_in), LEAST_IDF)
        return weights, np.bincount(texts, weights[grams], minlength=n_texts).astype(np.float64)

    def find(self, data: Bytes, offsets: Offsets) -> GramHits:
        """The hits of n-grams in documents, ordered by document."""
        if self._tokenizer is None:
            return self.grams.find(data, offsets)
        hits = self.grams.find(*self._tokens(data, offsets))
        documents, firsts = np.unique(hits["document"], return_index=True)
        for document, here in zip(documents.tolist(), np.split(hits, firsts[1:]), strict=False):
            text = data[int(offsets[document]) : int(offsets[document + 1])]
            places = np.arange(len(text))
            if self._rule.folded:
                text, _, places = folded(text, np.array([0, len(text)]))
            spans = self._tokenizer.encode_with_offsets(text.tobytes())[1]
            begins, ends = spans[here["begin"], 0], spans[here["end"] - 1, 1]
            here["begin"], here["end"] = places[begins], places[ends - 1] + 1
        return hits

    def find_in(self, block: Block) -> GramHits:
        """The hits of n-grams in the documents of a block."""
        return self.find(block.data, block.offsets[: block.n_docs + 1])

    def continued(self, data: Bytes, offsets: Offsets, hits: GramHits) -> Int64s:
        """The units of items that count as found because the rule allows mismatches, once for each document.

        After each hit, document and item are compared unit by unit until more units than allowed differ. A comparison
        also ends as soon as n units in a row are equal, because they are the next hit, which has its own comparison.
        """
        rule = self._rule
        steps: list[Int64s] = [np.empty((2, 0), np.int64)]
        if not rule.mismatches or not len(hits):
            return np.empty(0, np.int64)
        documents, document_of = np.unique(hits["document"], return_inverse=True)
        texts = Packed.from_documents(data[int(offsets[k]) : int(offsets[k + 1])].tobytes() for k in documents.tolist())
        ids, starts = self._tokens(texts.data, texts.offsets)
        which, places = self._places(hits["gram"])
        items, document = np.searchsorted(self._starts, places, side="right") - 1, document_of[which]
        size = self.sizes[items]
        at, in_item = starts[document] + hits["unit"][which] + size, places + size
        end, item_end = starts[document + 1], self._starts[items + 1]
        left, n_equal = np.full(len(at), rule.mismatches), np.full(len(at), rule.n - 1)
        while len(at):
            going = (at < end) & (in_item < item_end) & (left >= 0) & (n_equal < rule.n)
            at, in_item, end, item_end, left, n_equal, document = (
                values[going] for values in (at, in_item, end, item_end, left, n_equal, document)
            )
            is_equal = ids[at] == self._ids[in_item]
            steps.append(np.stack((document[is_equal], in_item[is_equal])))
            left, n_equal = left - ~is_equal, np.where(is_equal, n_equal + 1, 0)
            at, in_item = at + 1, in_item + 1
        ret: Int64s = np.unique(np.concatenate(steps, axis=1), axis=1)[1]
        return ret

    def matches(self, hits: GramHits, least_shares: Shares) -> Matches:
        """The texts that contaminate documents. hits: the n-grams in the documents. least_shares: for each text, the
        smallest share that contaminates a document."""
        which, places = self._places(hits["gram"])
        documents, texts = hits["document"][which], np.searchsorted(self._starts, places, side="right") - 1
        order = np.lexsort((places, texts, documents))
        which, places, documents, texts = which[order], places[order], documents[order], texts[order]
        is_first = _changes(documents) | _changes(texts)
        firsts = np.flatnonzero(is_first)
        n_grams = np.diff(firsts, append=len(places))
        sizes = self.sizes[texts]
        ends = places + sizes
        if self._weights is None:
            steps = np.where(np.append(is_first[1:], True), sizes, np.diff(places, append=0))
            parts = np.minimum(steps, sizes)  # the number of units that an n-gram covers but the next one does not
        else:
            grams = hits["gram"][which]
            parts = np.where(_first_of_each(documents, texts, grams), self._weights[grams], 0)
        shares = _sums(parts, firsts) / self._totals[texts[firsts]]
        is_run = is_first.copy()  # whether a run of consecutive units begins here
        is_run[1:] |= places[1:] > ends[:-1]
        runs = np.flatnonzero(is_run)
        lengths = ends[np.append(runs[1:], len(ends))[: len(runs)] - 1] - places[runs]
        longest = _maxima(lengths, np.searchsorted(runs, firsts))
        kept = shares >= least_shares[texts[firsts]] - ROUNDING
        in_kept = np.repeat(kept, n_grams)
        match = np.repeat(np.cumsum(kept) - 1, n_grams)[in_kept]
        joined = _joined(match, hits["begin"][which][in_kept], hits["end"][which][in_kept])
        return Matches(documents[firsts][kept], texts[firsts][kept], shares[kept], longest[kept], *joined)

    def shares_found(self, counts: Int64s, continued: Int64s) -> Shares:
        """The share of each text that n-grams in the corpus make up, or -1 if the text is not tested. counts[k]: the
        number of documents that contain n-gram k; continued[k]: the number of documents in which unit k follows an
        n-gram (see continued())."""
        occurs = np.zeros(self.grams.n_units + 1, np.int64)
        places, n_units = self._places(np.flatnonzero(counts))[1], np.diff(self._starts)
        np.add.at(occurs, places, 1)
        n_parts = n_units - self.sizes + 1
        if self._rule.measure == "units":
            text_of = np.searchsorted(self._starts, places, side="right") - 1
            np.subtract.at(occurs, places + self.sizes[text_of], 1)
            occurs, n_parts = np.cumsum(occurs), n_units
            occurs[:-1] += continued
        before = np.concatenate(([0], np.cumsum(occurs[:-1] > 0)))
        shares = (before[self._starts[1:]] - before[self._starts[:-1]]) / np.maximum(n_parts, 1)
        return np.where(self.is_tested, shares, -1.0)

    def _places(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """Every occurrence of these n-grams: the index of the n-gram in `numbers`, and the unit where the occurrence
        begins."""
        begin = np.searchsorted(self._repeats[:, 0], numbers, side="left")
        n = np.searchsorted(self._repeats[:, 0], numbers, side="right") - begin
        which = np.repeat(np.arange(len(numbers)), n)
        within = np.arange(len(which)) - np.repeat(np.cumsum(n) - n, n)
        repeats = self._repeats[begin[which] + within, 1]
        return np.concatenate((np.arange(len(numbers)), which)), np.concatenate((numbers, repeats))


def _changes(numbers: Int64s) -> Bools:
    """Whether each number differs from its predecessor; True for the first."""
    ret = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=ret[1:])
    return ret


def _first_of_each(documents: Int64s, texts: Int64s, grams: Int64s) -> Bools:
    """Whether each hit is the first hit of its n-gram for its document and text."""
    order = np.lexsort((grams, texts, documents))
    ret = np.empty(len(order), np.bool_)
    ret[order] = _changes(documents[order]) | _changes(texts[order]) | _changes(grams[order])
    return ret


def _sums(values: np.ndarray[Any, Any], firsts: Int64s) -> np.ndarray[Any, Any]:
    """The sum of each group of values; groups begin at `firsts`."""
    return np.add.reduceat(values, firsts) if len(firsts) else values


def _maxima(values: Int64s, firsts: Int64s) -> Int64s:
    return np.maximum.reduceat(values, firsts) if len(firsts) else values


def _joined(match: Int64s, begins: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The ranges of each match, joined where they overlap or touch: offsets, begins and ends. The n-grams of a match
    have the same number of units, so ascending begins imply ascending ends."""
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
    """The pieces of at least min_piece characters that remain in a document after these byte ranges and `around`
    characters on each side of them have been removed."""
    characters = text.decode("utf-8", "surrogateescape")
    kept, at = [], 0
    for begin, end in ranges.tolist():
        first = len(text[:begin].decode("utf-8", "surrogateescape"))
        last = first + len(text[begin:end].decode("utf-8", "surrogateescape"))
        kept.append(characters[at : max(at, first - around)])
        at = max(at, last + around)
    kept.append(characters[at:])
    return [piece for piece in kept if len(piece) >= max(min_piece, 1)]
