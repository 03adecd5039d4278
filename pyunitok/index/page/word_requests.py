"""The requests of the search page about words. They take all parameters of text queries, and ignore_case,
ignore_accents, wildcards and regex, each of which is 0 or 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyunitok.errors import LimitError
from pyunitok.index import word_answers
from pyunitok.index.hits import MAX_SORTED, ORDERS, SIDE_ORDERS
from pyunitok.index.opened import Index
from pyunitok.index.page.parameters import (
    MAX_CONTEXT,
    MAX_LIMIT,
    MAX_SCANNED,
    Answer,
    BadRequest,
    Parameters,
    number,
    text_of,
    with_name,
)  # fmt: skip
from pyunitok.index.word_query import WordOptions

MAX_GRAM_WORDS = 20_000_000  # the size of the largest index whose n-grams are counted while the user waits
MAX_REACHED = 1 << 40


def options_of(index: Index, parameters: Parameters) -> WordOptions:
    names = ("ignore_case", "ignore_accents", "wildcards", "regex")
    flags = {name: bool(number(parameters, name, 0, 1)) for name in names}
    return WordOptions(**flags, max_work=index.max_work)


def _query(parameters: Parameters) -> str:
    return text_of(parameters).decode("utf-8", "surrogateescape")


def word_count(index: Index, parameters: Parameters) -> Answer:
    """How often a query matches."""
    return word_answers.count(index, _query(parameters), options_of(index, parameters))


def word_hits(index: Index, parameters: Parameters) -> Answer:
    """A page of the concordance."""
    sort: Any = (parameters.get("sort") or ["rank"])[-1]
    if sort not in ORDERS:
        raise BadRequest(f"sort must be one of {', '.join(ORDERS)}")
    query, options = _query(parameters), options_of(index, parameters)
    if sort == "text" and index.words.count(query, options) > MAX_SCANNED:
        raise BadRequest(f"this query has over {MAX_SCANNED:,} hits, too many to sort; choose another order")
    most = MAX_SORTED if sort in (*SIDE_ORDERS, "text") else MAX_REACHED
    answer = word_answers.hits(
        index, query, options, limit=number(parameters, "limit", 50, MAX_LIMIT),
        offset=number(parameters, "offset", 0, most), sort=sort, seed=number(parameters, "seed", 0, 1 << 32),
        before=number(parameters, "before", 60, MAX_CONTEXT), after=number(parameters, "after", 60, MAX_CONTEXT),
    )  # fmt: skip
    answer["hits"] = [with_name(index, record) for record in answer["hits"]]
    for key, value in answer.get("metadata", {}).items():
        answer["metadata"][key] = with_name(index, value, "file")
    return answer


def word_sources(index: Index, parameters: Parameters) -> Answer:
    """How often a query matches in each input."""
    limit = number(parameters, "limit", 200, MAX_LIMIT)
    answer = word_answers.by_source(index, _query(parameters), options_of(index, parameters), 0, limit, MAX_SCANNED)
    return answer | {"sources": [with_name(index, row) for row in answer["sources"]]}


def _list(name: str) -> Callable[[Index, Parameters], Answer]:
    def answer(index: Index, parameters: Parameters) -> Answer:
        query = None if name == "word_list" and "q" not in parameters else _query(parameters)
        offset, limit = number(parameters, "offset", 0, MAX_SORTED), number(parameters, "limit", 30, MAX_LIMIT)
        return word_answers.lists(index, name, query, options_of(index, parameters), offset, limit)

    return answer


def word_ngrams(index: Index, parameters: Parameters) -> Answer:
    """The most frequent sequences of n words, at least `min` times each."""
    if index.words.n_words > MAX_GRAM_WORDS:
        raise LimitError(f"n-grams of over {MAX_GRAM_WORDS:,} words take too long here; use `search --word-ngrams`")
    n, least = number(parameters, "n", 2, 16, 1), number(parameters, "min", 2, 1 << 40, 1)
    offset, limit = number(parameters, "offset", 0, MAX_SORTED), number(parameters, "limit", 30, MAX_LIMIT)
    return word_answers.ngrams(index, n, least, offset, offset + limit)


WORD_REQUESTS: dict[str, Callable[[Index, Parameters], Answer]] = {
    "word_count": word_count, "word_hits": word_hits, "word_sources": word_sources, "word_ngrams": word_ngrams,
    **{name: _list(name) for name in ("word_list", "next_words", "previous_words")},
}  # fmt: skip
