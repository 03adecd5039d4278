"""Computes collocations, keyness and dispersion of the words of an index; statistics.py contains the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok.errors import LimitError
from pyunitok.index.fields import Mask
from pyunitok.index.hits import Int64s
from pyunitok.index.lexicon import Folding
from pyunitok.index.opened import Index
from pyunitok.index.statistics import (
    MEASURES,
    association,
    average_reduced_frequency,
    deviation_of_proportions,
    juilland_d,
    keyness,
)
from pyunitok.index.word_query import EXACT, WordOptions
from pyunitok.index.words import WordMatches

MAX_WINDOW = 50
MAX_PARTS = 10_000
RANGES = 1 << 12  # ranges of documents counted per call
KEYNESS = ("log_likelihood", "simple_maths", "diff", "log_ratio")


@dataclass(frozen=True)
class StatisticsTable:
    """A table of words.

    rows      {"text": word, "count": ..., measure: value, ...} for each word, in the order of a measure
    distinct  the number of rows before the limit is applied
    approx    True if counts are scaled from a sample, or the search was cut short
    """

    rows: list[dict[str, Any]]
    distinct: int
    approx: bool = False


@dataclass(frozen=True)
class Dispersion:
    """How evenly the matches of a query are distributed; see statistics.py.

    parts, sizes, hits  the name, the number of words, and the number of matches of each part
    approx              True if the search was cut short
    """

    count: int
    dp: float
    dp_norm: float
    juilland_d: float
    arf: float
    parts: list[str]
    sizes: Int64s
    hits: Int64s
    approx: bool = False


def collocations(
    index: Index, query: str, left: int = 5, right: int = 5, *, measure: str = "log_dice", min_count: int = 3,
    limit: int | None = None, options: WordOptions = EXACT, max_hits: int | None = None,
) -> StatisticsTable:  # fmt: skip
    """The words that occur up to `left` words before or `right` words after the matches of a query, in the same
    document, with their frequency in these windows and the measures of statistics.MEASURES.

    max_hits  if there are more matches, this many at equal distances are read, and counts are scaled

    With ignore_case or ignore_accents, words that differ only in case or accents are counted as one.
    """
    if measure not in MEASURES or min(left, right) < 0 or not 0 < left + right <= MAX_WINDOW:
        raise LimitError(f"the measure must be one of {', '.join(MEASURES)}, and the window 1 to {MAX_WINDOW} words")
    words, found = index.words, index.words.matches(query, options)
    together, n_read = np.zeros(len(words.lexicon), np.int64), 0
    for number, begins, ends in found.sampled(found.total if max_hits is None else max_hits):
        shard, n_read = words.shards[number], n_read + len(begins)
        for first, step, distance in ((begins - 1, -1, left), (ends, 1, right)):
            places = first.copy()
            for _ in range(distance):
                near = shard.at(places)
                together += np.bincount(near, minlength=len(together))
                places = places[near > 0] + step  # 0 marks the end of a document
    together[0] = 0
    scale = found.total / max(1, n_read)
    counts, together = _folded(index, options.folding, np.asarray(words.lexicon.counts), together)
    chosen = np.flatnonzero(together * scale >= min_count)
    o: Any = together[chosen] * scale
    f_y = counts[chosen].astype(np.float64)
    values = association(o, found.total, f_y, words.n_words, left + right)
    columns = {"count": np.rint(o).astype(np.int64), "total": counts[chosen], **values}
    approx = found.approx or (scale != 1 and n_read > 0)
    return _table(index, chosen, columns, values[measure], limit, approx, options.folding)


def key_words(
    index: Index, where: Sequence[str] = (), *, against: Index | Sequence[str] | None = None,
    measure: str = "log_likelihood", k: float = 1, min_count: int = 3, limit: int | None = None,
    options: WordOptions = EXACT,
) -> StatisticsTable:  # fmt: skip
    """The words that are more frequent in the documents that satisfy `where` than in a reference.

    against  another index, or conditions on the documents of the reference; None: all other documents
    measure  one of KEYNESS
    k        the constant of simple maths
    """
    if measure not in KEYNESS:
        raise LimitError(f"the measure must be one of {', '.join(KEYNESS)}")
    if against is None and not where:
        raise LimitError("keyness requires conditions or a reference")
    chosen = index.fields.where(where)
    own = counts_in(index, chosen)
    if isinstance(against, Index):
        others = _counts_elsewhere(index, against)
        n_others = against.words.n_words
    else:
        others = _all_counts(index) - own if against is None else counts_in(index, index.fields.where(against))
        n_others = int(others.sum())
    own, others = _folded(index, options.folding, own, others)
    n_own = int(own.sum())
    if not n_own or not n_others:
        raise LimitError("the chosen documents, or those they are compared with, contain no words")
    ids = np.flatnonzero(own >= min_count)
    values = keyness(own[ids].astype(np.float64), others[ids].astype(np.float64), n_own, n_others, k)
    columns = {"count": own[ids], "reference": others[ids], **values}
    return _table(index, ids, columns, values[measure], limit, False, options.folding)


def counts_in(index: Index, chosen: Mask) -> Int64s:
    """How often each word occurs in the chosen documents."""
    index.words.document_sizes  # noqa: B018 - checks that the words are up to date
    if 2 * np.count_nonzero(chosen) > len(chosen):
        return _all_counts(index) - counts_in(index, ~chosen)
    counts = np.zeros(len(index.words.lexicon), np.int64)
    for number, shard in enumerate(index.words.shards):
        first = index.first_document(number)
        inside = chosen[first : first + len(shard.ends)]
        edges = np.flatnonzero(np.diff(np.concatenate(([False], inside, [False])).astype(np.int8)))
        starts = np.concatenate(([0], shard.ends.astype(np.int64) + 1))
        begins, ends = starts[edges[::2]], starts[edges[1::2]]
        for at in range(0, len(begins), RANGES):
            shard.add_counts(begins[at : at + RANGES], ends[at : at + RANGES], counts)
    counts[0] = 0
    return counts


def _all_counts(index: Index) -> Int64s:
    """How often each word occurs in all documents."""
    counts = np.array(index.words.lexicon.counts)
    counts[0] = 0
    return counts


def _counts_elsewhere(index: Index, other: Index) -> Int64s:
    """How often each word of an index occurs in another index."""
    lexicon = other.words.lexicon
    numbers = {word: id_ for id_, word in enumerate(lexicon.words(range(len(lexicon)))) if id_}
    ids = np.array([numbers.get(word, 0) for word in index.words.lexicon.words(range(len(index.words.lexicon)))])
    ret: Int64s = _all_counts(other)[ids]
    return ret


def _folded(index: Index, folding: Folding, *counts: Int64s) -> list[Int64s]:
    """Adds up the counts of words that are equal under this folding. The first gets the sum, the others get 0."""
    if folding == Folding():
        return list(counts)
    first = index.words.lexicon.first_equal(folding)
    return [np.bincount(first, column, len(column)).astype(np.int64) for column in counts]


def _table(
    index: Index, ids: Int64s, columns: dict[str, Any], by: Any, limit: int | None, approx: bool, folding: Folding
) -> StatisticsTable:  # fmt: skip
    """Make the table. Words that were counted as one appear in their most frequent form."""
    order = np.lexsort((ids, -by))[:limit]
    lexicon, texts = index.words.lexicon, index.words.lexicon.words(ids[order])
    if folding != Folding():
        similar = [lexicon.ids(text, folding) for text in texts]
        texts = [lexicon.word(int(some[np.argmax(lexicon.counts[some])])) for some in similar]
    values = {name: column[order].tolist() for name, column in columns.items()}
    rows = [{"text": text, **{name: values[name][k] for name in values}} for k, text in enumerate(texts)]
    return StatisticsTable(rows, len(ids), approx)


def dispersion(
    index: Index, query: str, parts: int | str = 100, *, options: WordOptions = EXACT
) -> Dispersion:
    """How evenly the matches of a query are distributed over the parts of the corpus. Reads all matches.

    parts  a number of parts of equal size, or the name of a field or "@file": its values are the parts
    """
    sizes, found = index.words.document_sizes, index.words.matches(query, options)
    places, documents = _places(index, found)
    n = int(sizes.sum())
    if isinstance(parts, int):
        if not 1 <= parts <= MAX_PARTS:
            raise LimitError(f"expected 1 to {MAX_PARTS} parts, not {parts}")
        edges = np.arange(parts + 1, dtype=np.int64) * n // parts
        hits = np.bincount(np.searchsorted(edges, places, "right") - 1, minlength=parts)[:parts]
        part_sizes, names = np.diff(edges), [str(k) for k in range(parts)]
    else:
        field = index.fields.field(parts)
        hits = np.bincount(field.codes[documents], minlength=len(field.values) + 1)[1:]
        part_sizes = np.bincount(field.codes, sizes, len(field.values) + 1).astype(np.int64)[1:]
        names = field.values
    dp, dp_norm = deviation_of_proportions(part_sizes, hits)
    arf = average_reduced_frequency(places, n)
    evenness = juilland_d(part_sizes, hits)
    return Dispersion(len(places), dp, dp_norm, evenness, arf, names, part_sizes, hits, found.approx)


def _places(index: Index, found: WordMatches) -> tuple[Int64s, Int64s]:
    """For each match, the place of its first word among all words of the index, ascending, and its document."""
    words = index.words
    before = np.cumsum(np.append(0, words.document_sizes))
    places, documents = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, part in enumerate(found.parts):
        shard, first = words.shards[number], index.first_document(number)
        for begins, _ in part.chunks():
            begins = np.sort(begins)
            inside = shard.documents(begins)
            starts = np.concatenate(([0], shard.ends.astype(np.int64) + 1))
            places.append(before[inside + first] + begins - starts[inside])
            documents.append(inside + first)
    order = np.argsort(np.concatenate(places), kind="stable")
    return np.concatenate(places)[order], np.concatenate(documents)[order]
