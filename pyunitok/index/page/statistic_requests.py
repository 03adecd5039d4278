"""The requests of the search page for word statistics; see also word_requests.py."""

from __future__ import annotations

from collections.abc import Callable

from pyunitok.errors import LimitError
from pyunitok.index import statistic_answers
from pyunitok.index.hits import MAX_SORTED
from pyunitok.index.opened import Index
from pyunitok.index.page.parameters import (
    MAX_LIMIT,
    Answer,
    Parameters,
    check_hits,
    conditions_of,
    number,
    text_of,
)  # fmt: skip
from pyunitok.index.page.word_requests import options_of

MAX_SAMPLED = 100_000  # the maximum number of hits whose neighbours a request reads
MAX_SIDE = 25
MAX_COUNTED = 1_000_000_000  # the size, in words, of the largest index whose keywords are computed while the user waits


def _range(parameters: Parameters) -> tuple[int, int, int]:
    """Returns (min, offset, limit)."""
    least, offset = number(parameters, "min", 3, 1 << 40, 1), number(parameters, "offset", 0, MAX_SORTED)
    return least, offset, number(parameters, "limit", 30, MAX_LIMIT)


def _query(parameters: Parameters) -> str:
    return text_of(parameters).decode("utf-8", "surrogateescape")


def collocations(index: Index, parameters: Parameters) -> Answer:
    """The words that occur up to `left` words before or `right` words after a query."""
    left, right = (number(parameters, name, 5, MAX_SIDE) for name in ("left", "right"))
    measure = (parameters.get("measure") or ["log_dice"])[-1]
    return statistic_answers.collocates(
        index, _query(parameters), options_of(index, parameters), left, right, measure, *_range(parameters), MAX_SAMPLED
    )


def keyness(index: Index, parameters: Parameters) -> Answer:
    """The words of documents that satisfy the conditions `where`, compared with `against` or all other documents."""
    measure = (parameters.get("measure") or ["log_likelihood"])[-1]
    if index.words.n_words > MAX_COUNTED:
        raise LimitError(f"keywords of over {MAX_COUNTED:,} words take too long here; use `search --keyness`")
    where, against = conditions_of(parameters), conditions_of(parameters, "against") or None
    return statistic_answers.keys(index, where, against, options_of(index, parameters), measure, *_range(parameters))


def dispersion(index: Index, parameters: Parameters) -> Answer:
    """How evenly a query is distributed over `parts`, a number or a field."""
    query, options = _query(parameters), options_of(index, parameters)
    check_hits(index, index.words.count(query, options), samples=True)  # words have suffix arrays
    return statistic_answers.spread(index, query, options, (parameters.get("parts") or ["100"])[-1])


STATISTIC_REQUESTS: dict[str, Callable[[Index, Parameters], Answer]] = {
    "collocations": collocations, "keyness": keyness, "dispersion": dispersion,
}  # fmt: skip
