r"""parse_words() turns a query about words into the words that each place of the query accepts.

    the [0-3] quick|lazy fox        places   the │ quick, lazy │ fox
                                    gaps         0-3           0

A query consists of items separated by white space. Between two items, [n] or [m-n] stands for that many other words.
Alternatives are separated by |. Without wildcards or a regular expression, an item is divided into words like any text,
so that "don't" is don followed by t.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.words import MAX_PLACES, MAX_SPAN
from pyunitok.corpus.words import word_bounds
from pyunitok.errors import LimitError
from pyunitok.index.hits import Int64s
from pyunitok.index.lexicon import Folding, WordLexicon
from pyunitok.index.work import Work

BYTE_COST = 8  # units of Work per byte of the lexicon for matching a pattern
_GAP = re.compile(r"\[(\d{1,9})(?:-(\d{1,9}))?\]")


@dataclass(frozen=True)
class WordOptions:
    """How the words of a query match the words of texts.

    ignore_case, ignore_accents  ignore case, or accents, when comparing words
    wildcards                    * matches any text, ? any character
    regex                        each item is a regular expression that matches complete words, in the dialect of
                                 tokenizer.json files, without look-behind and back-references
    max_work    the budget of a query in each shard, in units of about a nanosecond; a search that exceeds it stops, and
                its count is a lower bound. None: no limit
    """

    ignore_case: bool = False
    ignore_accents: bool = False
    wildcards: bool = False
    regex: bool = False
    max_work: int | None = None

    @property
    def folding(self) -> Folding:
        return Folding(self.ignore_case, self.ignore_accents)


EXACT = WordOptions()


@dataclass
class WordQuery:
    """A parsed query. places[k]: the ids that place k accepts, ascending; gaps[k]: the minimum and the maximum number
    of words between places k and k + 1."""

    places: list[Int64s]
    gaps: list[tuple[int, int]]

    @property
    def span(self) -> int:
        """The maximum number of words in a match."""
        return len(self.places) + sum(most for _, most in self.gaps)


def parse_words(text: str, lexicon: WordLexicon, options: WordOptions, work: Work | None = None) -> WordQuery:
    """Raises LimitError if the query has no words, gaps at its ends, or more than MAX_PLACES places or MAX_SPAN
    words, or if matching its patterns against the lexicon takes more than `work`."""
    work = work or Work(None)
    if options.wildcards and options.regex:
        raise LimitError("wildcards and regex cannot be combined")
    places, gaps = list[Int64s](), list[tuple[int, int]]()
    gap: tuple[int, int] | None = None
    for item in text.split():
        found = _GAP.fullmatch(item)
        if found:
            if not places or gap is not None:
                raise LimitError(f"{item}: a gap must be between two words")
            gap = int(found[1]), int(found[2] or found[1])
            if gap[0] > gap[1]:
                raise LimitError(f"{item}: the maximum is below the minimum")
            continue
        for place in _places(item, lexicon, options, work):
            if places:
                gaps.append(gap or (0, 0))
            places.append(place)
            gap = None
    if gap is not None or not places:
        raise LimitError("a gap must be between two words" if places else f"{text!r} contains no words")
    query = WordQuery(places, gaps)
    if len(places) > MAX_PLACES or query.span > MAX_SPAN:
        spans = f"this one has {len(places)} and spans {query.span}"
        raise LimitError(f"a query may have at most {MAX_PLACES} words and span at most {MAX_SPAN}; {spans}")
    return query


def _places(item: str, lexicon: WordLexicon, options: WordOptions, work: Work) -> list[Int64s]:
    """The ids that each place of an item accepts; an item usually has one place."""
    if options.regex:
        _pay(work, lexicon)
        return [lexicon.regex(item, options.folding)]
    alternatives = item.split("|")
    if len(alternatives) == 1:
        return _words(item, lexicon, options, work)
    ids: list[Any] = []
    for alternative in alternatives:
        places = _words(alternative, lexicon, options, work)
        if len(places) != 1:
            raise LimitError(f"{item}: each alternative must be one word")
        ids += places
    return [np.unique(np.concatenate(ids))]


def _words(item: str, lexicon: WordLexicon, options: WordOptions, work: Work) -> list[Int64s]:
    if options.wildcards and ("*" in item or "?" in item):
        _pay(work, lexicon)
        return [lexicon.wildcard(item, options.folding)]
    data = item.encode("utf-8", "surrogateescape")
    words = [data[begin:end].decode() for begin, end in word_bounds(data).tolist()]
    return [lexicon.ids(word, options.folding) for word in words]


def _pay(work: Work, lexicon: WordLexicon) -> None:
    """Deduct the cost of matching a pattern against all words."""
    if not work.take(1, BYTE_COST * lexicon.n_bytes):
        raise LimitError(f"matching these patterns against {len(lexicon):,} words takes too long; use fewer patterns")
