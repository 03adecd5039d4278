"""The requests of the search page about fields. q is text or, with words=1, a query about words (word_requests.py);
`where` is a condition and may be repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyunitok.index import field_answers
from pyunitok.index.hits import MAX_SORTED, ORDERS
from pyunitok.index.opened import Index
from pyunitok.index.page.parameters import (
    MAX_CONTEXT,
    MAX_LIMIT,
    Answer,
    BadRequest,
    Parameters,
    check_hits,
    conditions_of,
    number,
    text_of,
    with_name,
)
from pyunitok.index.page.word_requests import options_of


def _query(index: Index, parameters: Parameters, samples: bool) -> tuple[Any, Any, Any]:
    """Returns (query, conditions, options for words or None). Raises BadRequest if the query has too many hits to read.
    samples: see check_hits."""
    where, text = conditions_of(parameters), text_of(parameters)
    if not number(parameters, "words", 0, 1):
        check_hits(index, index.count(text), samples=samples)
        return text, where, None
    words, query = options_of(index, parameters), text.decode("utf-8", "surrogateescape")
    check_hits(index, index.words.count(query, words), samples=True)  # words have suffix arrays
    return query, where, words


def filtered(index: Index, parameters: Parameters) -> Answer:
    """A page of the concordance of documents that satisfy all conditions."""
    sort: Any = (parameters.get("sort") or ["rank"])[-1]
    if sort not in ORDERS:
        raise BadRequest(f"sort must be one of {', '.join(ORDERS)}")
    answer = field_answers.filtered_hits(
        index, *_query(index, parameters, samples=False), limit=number(parameters, "limit", 50, MAX_LIMIT),
        offset=number(parameters, "offset", 0, MAX_SORTED), sort=sort, seed=number(parameters, "seed", 0, 1 << 32),
        before=number(parameters, "before", 60, MAX_CONTEXT), after=number(parameters, "after", 60, MAX_CONTEXT),
    )  # fmt: skip
    answer["hits"] = [with_name(index, record) for record in answer["hits"]]
    for key, value in answer.get("metadata", {}).items():
        answer["metadata"][key] = with_name(index, value, "file")
    return answer


def groups(index: Index, parameters: Parameters) -> Answer:
    """Hits, documents and rates by the values of the field `by`, which can be @file; `order` is value or count."""
    by, order = ((parameters.get(name) or [default])[-1] for name, default in (("by", "@file"), ("order", "value")))
    if order not in ("value", "count"):
        raise BadRequest("order must be value or count")
    query, where, words = _query(index, parameters, samples=True)
    answer = field_answers.groups(index, query, by, where, words)
    if order == "count":
        answer["groups"].sort(key=lambda group: -group["count"])
    answer["groups"] = answer["groups"][: number(parameters, "limit", 200, MAX_LIMIT)]
    return answer


def facets(index: Index, parameters: Parameters) -> Answer:
    """The most frequent values of all stored fields, or of those named by `field`."""
    query, where, words = _query(index, parameters, samples=True)
    limit = number(parameters, "limit", 10, MAX_LIMIT)
    return field_answers.most_frequent(index, query, parameters.get("field", []), where, words, limit)


def values(index: Index, parameters: Parameters) -> Answer:
    """The values of all stored fields, or of those named by `field`, that occur in the most documents of the index."""
    return field_answers.values(index, parameters.get("field", []), number(parameters, "limit", 10, MAX_LIMIT))


FIELD_REQUESTS: dict[str, Callable[[Index, Parameters], Answer]] = {
    "filtered": filtered, "groups": groups, "facets": facets, "values": values,
}  # fmt: skip
