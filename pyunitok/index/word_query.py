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

_GAP = re.compile(r"\[(\d{1,3})(?:-(\d{1,3}))?\]")


@dataclass(frozen=True)
class WordOptions:
    """How the words of a query match the words of texts.

    ignore_case, ignore_accents  ignore case, or accents, when comparing words
    wildcards                    * matches any text, ? any character
    regex                        each item is a regular expression that matches complete words, in the dialect of
                                 tokenizer.json files, without look-around and back-references
    """

    ignore_case: bool = False
    ignore_accents: bool = False
    wildcards: bool = False
    regex: bool = False

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


def parse_words(text: str, lexicon: WordLexicon, options: WordOptions) -> WordQuery:
    """Raises LimitError if the query has no words, gaps at its ends, or more than MAX_PLACES places or MAX_SPAN
    words."""
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
        for place in _places(item, lexicon, options):
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


def _places(item: str, lexicon: WordLexicon, options: WordOptions) -> list[Int64s]:
    """The ids that each place of an item accepts; an item usually has one place."""
    if options.regex:
        return [lexicon.regex(item, options.folding)]
    alternatives = item.split("|")
    if len(alternatives) == 1:
        return _words(item, lexicon, options)
    ids: list[Any] = []
    for alternative in alternatives:
        places = _words(alternative, lexicon, options)
        if len(places) != 1:
            raise LimitError(f"{item}: each alternative must be one word")
        ids += places
    return [np.unique(np.concatenate(ids))]


def _words(item: str, lexicon: WordLexicon, options: WordOptions) -> list[Int64s]:
    if options.wildcards and ("*" in item or "?" in item):
        return [lexicon.wildcard(item, options.folding)]
    data = item.encode("utf-8", "surrogateescape")
    words = [data[begin:end].decode() for begin, end in word_bounds(data).tolist()]
    return [lexicon.ids(word, options.folding) for word in words]
