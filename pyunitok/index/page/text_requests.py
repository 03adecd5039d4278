"""The requests of the search page that count terms that occur together, list n-grams of tokens, and compare texts with
the corpus."""

from __future__ import annotations

from collections.abc import Callable

from pyunitok.errors import LimitError
from pyunitok.index import text_answers
from pyunitok.index.hits import MAX_SORTED
from pyunitok.index.opened import Index
from pyunitok.index.overlap import UNITS
from pyunitok.index.page.parameters import (
    MAX_LIMIT,
    MAX_QUERY_BYTES,
    Answer,
    BadRequest,
    Parameters,
    check_hits,
    number,
    share_of_work,
    text_of,
    with_name,
)  # fmt: skip
from pyunitok.vocab.utf8 import readable

MAX_CLAUSES, MAX_TERMS = 10, 20
MAX_GRAM_TOKENS = 20_000_000  # the size of the largest index whose n-grams are counted while the user waits


def all_of(index: Index, parameters: Parameters) -> Answer:
    """The number of places where every q matches, at most `within` tokens apart or, by default, in the same document.
    Each q is one term or several alternatives: cat|dog."""
    clauses = [[term.encode("utf-8", "surrogatepass") for term in q.split("|")] for q in parameters.get("q", [])]
    if not 0 < len(clauses) <= MAX_CLAUSES or not all(0 < len(clause) <= MAX_TERMS for clause in clauses):
        raise BadRequest(f"expected 1 to {MAX_CLAUSES} q parameters with at most {MAX_TERMS} terms each")
    if sum(len(term) for clause in clauses for term in clause) > MAX_QUERY_BYTES:
        raise BadRequest(f"the terms have more than {MAX_QUERY_BYTES:,} bytes")
    work = share_of_work(index, sum(map(len, clauses)))
    found = [[index.count(term, max_work=work) for term in clause] for clause in clauses]
    counts = [sum(map(int, clause)) for clause in found]
    check_hits(index, sum(counts))
    within = number(parameters, "within", 0, 1 << 40) if "within" in parameters else None
    answer = text_answers.all_of(index, clauses, within, work)
    approx = answer["approx"] or any(count.approx for clause in found for count in clause)
    return answer | {"approx": approx, "within": within, "clauses": parameters["q"], "counts": counts}


def ngrams(index: Index, parameters: Parameters) -> Answer:
    """The most frequent sequences of n tokens, at least `min` times each."""
    if index.n_tokens > MAX_GRAM_TOKENS:
        raise LimitError(f"n-grams of over {MAX_GRAM_TOKENS:,} tokens take too long here; use `search --ngrams`")
    n, least = number(parameters, "n", 2, 16, 1), number(parameters, "min", 2, 1 << 40, 1)
    offset, limit = number(parameters, "offset", 0, MAX_SORTED), number(parameters, "limit", 30, MAX_LIMIT)
    return text_answers.ngrams(index, n, least, offset, limit)


def overlap(index: Index, parameters: Parameters) -> Answer:
    """For each line of a text, how many of its windows of n words, bytes or tokens occur in the corpus."""
    text, n = text_of(parameters), number(parameters, "n", 13, MAX_QUERY_BYTES, 1)
    unit = (parameters.get("unit") or ["words"])[-1]
    if unit not in UNITS:
        raise BadRequest(f"unit must be one of {', '.join(UNITS)}")
    lines = text.splitlines()
    normalize = bool(number(parameters, "normalize", 0, 1))
    answer = text_answers.overlap(index, lines, n, unit, normalize, share_of_work(index, len(text)))
    for row, line in zip(answer["overlap"], lines, strict=True):
        row["text"] = readable(line)
    return answer


def spans(index: Index, parameters: Parameters) -> Answer:
    """The longest parts of a text, of at least `min` bytes, that occur in the corpus."""
    text, least = text_of(parameters), number(parameters, "min", 24, MAX_QUERY_BYTES, 1)
    offset, limit = number(parameters, "offset", 0, MAX_SORTED), number(parameters, "limit", 200, MAX_LIMIT)
    whole_words, normalize = bool(number(parameters, "whole_words", 1, 1)), bool(number(parameters, "normalize", 0, 1))
    chosen = (least, whole_words, normalize, offset, limit)
    answer = text_answers.spans(index, text, *chosen, share_of_work(index, len(text)))
    return answer | {"spans": [with_name(index, span) for span in answer["spans"]]}


TEXT_REQUESTS: dict[str, Callable[[Index, Parameters], Answer]] = {
    "all_of": all_of, "ngrams": ngrams, "overlap": overlap, "spans": spans,
}  # fmt: skip
