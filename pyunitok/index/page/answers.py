"""The API of the search page: functions that answer a request to an open index with a JSON object or CSV rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok._c import search as c_search
from pyunitok.errors import LimitError, PatternError
from pyunitok.index.concordance import as_record, concordance
from pyunitok.index.hit_metadata import metadata_of, rows_of_hits
from pyunitok.index.hits import MAX_SORTED, ORDERS, SIDE_ORDERS
from pyunitok.index.opened import Index
from pyunitok.index.page.field_requests import FIELD_REQUESTS
from pyunitok.index.page.parameters import (
    MAX_CONTEXT,
    MAX_LIMIT,
    MAX_QUERY_BYTES,
    MAX_SCANNED,
    Answer,
    BadRequest,
    Parameters,
    number,
    share_of_work,
    text_of,
    with_name,
)  # fmt: skip
from pyunitok.index.page.statistic_requests import STATISTIC_REQUESTS
from pyunitok.index.page.text_requests import TEXT_REQUESTS
from pyunitok.index.page.word_requests import WORD_REQUESTS
from pyunitok.index.trace import as_json
from pyunitok.index.trace import trace as traced
from pyunitok.vocab.utf8 import readable

MAX_QUERIES = 10  # the maximum number of queries that a request compares
N_EXAMPLES, N_TRIED, EXAMPLE_TOKENS = 5, 40, 100
MAX_TRACED = 50  # documents shown for each span of a traced text
WINDOW_BYTES = 20_000  # the maximum bytes of a document per request
TOKENS_PER_STEP = 1 << 16  # C adds up the bytes of each step; Python searches only the step that contains the target


def info(index: Index, _: Parameters) -> Answer:
    """Describe the index."""
    sources = [record for array in index.arrays if array.manifest for record in array.manifest.inputs]
    return {
        "folder": index.folder.name, "tokens": index.n_tokens, "documents": index.n_documents,
        "shards": len(index.shards), "model": index.tokenizer.name, "normalizes": index.normalizes,
        "sources": len(sources), "examples": examples(index), "words": index.has_words,
        "fields": index.fields.names if index.fields.is_current else [],
    }  # fmt: skip


def examples(index: Index) -> list[str]:
    """Phrases to search for: two adjacent words from each of several random documents."""
    ret: dict[str, None] = {}
    rng = np.random.default_rng(0)
    for n in rng.choice(index.n_documents, min(N_TRIED, index.n_documents), replace=False).tolist():
        array, inside = index.locate(n)
        ids = np.asarray(array[inside])[:EXAMPLE_TOKENS]
        text = index.tokenizer.decode_bytes(ids[: len(ids) - (index.eod is not None)]).decode("utf-8", "ignore")
        line = max(text.splitlines(), key=len, default="")
        words = [match.group() for match in re.finditer(r"[^\W\d_]+", line)]
        if len(words) > 4 and (phrase := re.search(rf"{words[1]}\W+{words[2]}", line)) and len(phrase[0]) < 40:
            ret[phrase[0]] = None
    return list(ret)[:N_EXAMPLES]


def count(index: Index, parameters: Parameters) -> Answer:
    """The count of each query."""
    queries = parameters.get("q", [])
    if not 0 < len(queries) <= MAX_QUERIES:
        raise BadRequest(f"expected 1 to {MAX_QUERIES} q parameters")
    rows, work = [], share_of_work(index, len(queries))
    for query in queries:
        found = index.count(text_of({"q": [query]}), max_work=work)
        rows.append({"query": query, "count": int(found), "approx": found.approx})
    return {"counts": rows, "tokens": index.n_tokens}


def hits(index: Index, parameters: Parameters) -> Answer:
    """A page of the concordance."""
    sort: Any = (parameters.get("sort") or ["rank"])[-1]
    if sort not in ORDERS:
        raise BadRequest(f"sort must be one of {', '.join(ORDERS)}")
    limit = number(parameters, "limit", 50, MAX_LIMIT)
    most = MAX_SORTED if sort in (*SIDE_ORDERS, "text") else 1 << 40
    offset = number(parameters, "offset", 0, most)
    text = text_of(parameters)
    if sort == "text" and (n := index.sample_size(index.count(text), MAX_SCANNED)) is not None:
        raise BadRequest(f"this text has over {n:,} hits, too many to sort; choose another order")
    before, after = (number(parameters, name, 60, MAX_CONTEXT) for name in ("before", "after"))
    lines, total, approx = concordance(
        index, text, limit=limit, offset=offset, sort=sort, seed=number(parameters, "seed", 0, 1 << 32),
        before=before, after=after,
    )  # fmt: skip
    answer = {
        "count": total, "approx": approx,
        "reachable": min(total, MAX_SORTED) if sort in SIDE_ORDERS else total,
        "hits": [with_name(index, as_record(index, line)) for line in lines],
    }  # fmt: skip
    if number(parameters, "metadata", 1, 1):
        metadata = metadata_of(index, (line.hit.document for line in lines))
        answer["metadata"] = {key: with_name(index, value, "file") for key, value in metadata.items()}
    return answer


def _neighbours(name: str) -> Callable[[Index, Parameters], Answer]:
    def answer(index: Index, parameters: Parameters) -> Answer:
        found = getattr(index, name)(text_of(parameters))
        first = found.first(number(parameters, "limit", 30, MAX_LIMIT))
        rows = [
            {"text": readable(text), "is_text": _is_utf8(text), "count": n, "share": n / max(1, found.total)}
            for text, n in zip(first.texts, first.counts.tolist(), strict=True)
        ]
        return {"count": found.total, "approx": found.approx, "distinct": len(found), "rows": rows}

    return answer


def _is_utf8(text: bytes) -> bool:
    """Whether a text can be put in the search box: it is valid UTF-8 and, unlike the end of a document, not empty."""
    try:
        return bool(text.decode())
    except UnicodeDecodeError:
        return False


def sources(index: Index, parameters: Parameters) -> Answer:
    """How often the query occurs in each input."""
    found = index.by_source(text_of(parameters), max_hits=MAX_SCANNED)
    found.sort(key=lambda source: -source.hits)
    rows = [
        with_name(index, {"source": source.path, "count": source.hits, "documents": source.documents})
        for source in found
    ]
    total = sum(source.hits for source in found)
    return {"count": total, "approx": found.approx, "rows": rows[: number(parameters, "limit", 200, MAX_LIMIT)]}


def document(index: Index, parameters: Parameters) -> Answer:
    """A window of a document around bytes begin to end - 1, as a list of tokens. A token in which the hit begins or
    ends is split there."""
    if "n" not in parameters:
        raise BadRequest("expected n, the number of the document")
    n = number(parameters, "n", 0, max(0, index.n_documents - 1))
    begin = number(parameters, "begin", 0, 1 << 50)
    end = number(parameters, "end", begin, 1 << 50, begin)
    at = number(parameters, "at", max(0, begin - WINDOW_BYTES // 4), 1 << 50)
    array, inside = index.locate(n)
    ids = np.asarray(array[inside])
    ids = ids if index.eod is None else ids[:-1]
    first, start, size = _seek(index, ids, at)
    parts: list[dict[str, Any]] = []
    place, k = start, first
    while k < len(ids) and place - at < WINDOW_BYTES:
        id_ = int(ids[k])
        text = index.decoded(id_)
        if k == 0 and index.tables.drops_space[id_]:
            text = text[1:]
        parts.append({"id": id_, "begin": place, "bytes": text})
        place += len(text)
        k += 1
    metadata = index.metadata(n)
    answer = {
        "document": n, "size": size, "from": start, "to": place, "begin": begin, "end": end, "source": index.source(n),
        "metadata": metadata and with_name(index, metadata, "file"), "parts": _readable(parts, begin, end),
    }  # fmt: skip
    return with_name(index, answer)


def _seek(index: Index, ids: Any, at: int) -> tuple[int, int, int]:
    """Returns (the token that contains byte `at`, or the last one; the offset of its first byte; the size of the
    document in bytes)."""
    if not len(ids):
        return 0, 0, 0
    sizes, dropped = index.tables.sizes, int(index.tables.drops_space[ids[0]])
    begins = np.arange(0, len(ids), TOKENS_PER_STEP)
    ends = np.minimum(begins + TOKENS_PER_STEP, len(ids))
    step_ends = np.cumsum(c_search.sizes_of(ids, sizes, begins, ends)) - dropped
    n_bytes = max(0, int(step_ends[-1]))
    if at <= 0:
        return 0, 0, n_bytes
    step = min(int(np.searchsorted(step_ends, at, "right")), len(begins) - 1)
    inside = sizes[ids[begins[step] :][:TOKENS_PER_STEP]].astype(np.int64)
    ends = step_ends[step] - int(inside.sum()) + np.cumsum(inside)
    k = min(int(np.searchsorted(ends, at, "right")), len(ends) - 1)
    return int(begins[step]) + k, max(0, int(ends[k] - inside[k])), n_bytes


def _readable(parts: list[dict[str, Any]], begin: int, end: int) -> list[dict[str, Any]]:
    """Tokens as text, split at the hit. A character that spans several tokens is shown in the last of them."""
    ret: list[dict[str, Any]] = []
    incomplete = b""  # the bytes of a character that continues in the next token
    for part in parts:
        size = len(part["bytes"])
        inside = [x - part["begin"] for x in (begin, end) if 0 < x - part["begin"] < size]
        for low, high in pairwise(sorted({0, size, *inside})):
            data, place = part["bytes"][low:high], part["begin"] + low
            is_hit = begin <= place < end
            is_last = part is parts[-1] or is_hit != (begin <= place + len(data) < end)
            text, incomplete = _complete(incomplete, data, is_last)
            ret.append({"id": part["id"], "text": text, "hit": is_hit, "begins": low == 0})
    return ret


def _complete(incomplete: bytes, data: bytes, is_last: bool) -> tuple[str, bytes]:
    """Returns (the text of incomplete + data, the bytes of an incomplete character at its end). The text includes this
    character only if is_last is set."""
    data = incomplete + data
    for n in range(1, 4):
        if not is_last and len(data) >= n and data[-n] >= 0xC0:
            needed = 2 if data[-n] < 0xE0 else 3 if data[-n] < 0xF0 else 4
            if n < needed:
                return readable(data[:-n]), data[-n:]
    return readable(data), b""


def trace(index: Index, parameters: Parameters) -> Answer:
    """The rarest parts of a text that occur in the corpus, with documents that contain them: see index/trace.py."""
    text = text_of(parameters)
    found = traced(
        index, text, min_bytes=number(parameters, "min", 24, MAX_QUERY_BYTES, 1),
        max_documents=number(parameters, "documents", 10, MAX_TRACED), seed=number(parameters, "seed", 42, 1 << 32),
        context=number(parameters, "context", 80, MAX_CONTEXT), normalize=bool(number(parameters, "normalize", 0, 1)),
        max_work=share_of_work(index, len(text)),
    )  # fmt: skip
    answer = as_json(index, found)
    for span in answer["spans"]:
        span["documents"] = [with_name(index, one) for one in span["documents"]]
        for one in span["documents"]:
            one["metadata"] = one["metadata"] and with_name(index, one["metadata"], "file")
    return answer


ANSWERS: dict[str, Callable[[Index, Parameters], Answer]] = {
    "info": info, "count": count, "hits": hits, "next": _neighbours("next"), "previous": _neighbours("previous"),
    "sources": sources, "document": document, "trace": trace, **WORD_REQUESTS,
    **FIELD_REQUESTS, **STATISTIC_REQUESTS, **TEXT_REQUESTS,
}  # fmt: skip

_HITS, _WORDS = "q sort limit offset seed before after", "ignore_case ignore_accents wildcards regex"
_FILTER, _RANGE = f"q where words {_WORDS}", "min offset limit"
# The parameters that each request accepts.
ACCEPTED: dict[str, str] = {
    "info": "", "count": "q", "hits": f"{_HITS} metadata", "next": "q limit", "previous": "q limit",
    "sources": "q limit", "document": "n begin end at", "trace": "q min documents seed context normalize",
    "word_count": f"q {_WORDS}", "word_hits": f"{_HITS} {_WORDS}", "word_sources": f"q limit {_WORDS}",
    "word_ngrams": f"n {_RANGE}", "word_list": f"q offset limit {_WORDS}", "next_words": f"q offset limit {_WORDS}",
    "previous_words": f"q offset limit {_WORDS}", "filtered": f"{_HITS} where words {_WORDS}",
    "groups": f"{_FILTER} by order limit", "facets": f"{_FILTER} field limit", "values": "field limit",
    "collocations": f"q left right measure {_RANGE} {_WORDS}", "keyness": f"where against measure {_RANGE} {_WORDS}",
    "dispersion": f"q parts {_WORDS}", "all_of": "q within", "ngrams": f"n {_RANGE}",
    "overlap": "q n unit normalize", "spans": f"q {_RANGE} whole_words normalize",
}  # fmt: skip

_HIT_COLUMNS = ("document", "begin", "end", "source", "before", "match", "after")
# The CSV columns of answers that have no rows.
COLUMNS: dict[str, tuple[str, ...]] = {
    "hits": _HIT_COLUMNS,
    "next": ("text", "is_text", "count", "share"), "previous": ("text", "is_text", "count", "share"),
    "sources": ("source", "count", "documents"), "filtered": _HIT_COLUMNS, "word_hits": _HIT_COLUMNS,
    "groups": ("value", "count", "documents", "words", "per_million"),
    "facets": ("field", "value", "count", "documents"), "values": ("field", "value", "documents"),
    "ngrams": ("text", "count", "ids"), "spans": ("begin", "end", "count", "document", "source", "text"),
    "overlap": ("line", "short", "windows", "found", "share", "most_frequent", "document", "text"),
}  # fmt: skip


def rows_of(answer: Answer) -> list[dict[str, Any]]:
    """The CSV rows of an answer: its list of records, or the answer itself if it has no list."""
    if "hits" in answer:
        return rows_of_hits(answer)
    for name, value in answer.items():
        if name != "fields" and isinstance(value, list) and all(isinstance(row, dict) for row in value):
            return [dict(row) for row in value]
    return [answer]


def ask(index: Index, name: str, parameters: Parameters) -> Answer:
    """Call an API function by name. Raises BadRequest if a parameter is unknown or invalid."""
    accepted = ACCEPTED[name].split()
    if unknown := [key[:40] for key in parameters if key not in accepted]:
        raise BadRequest(f"{name} does not accept {', '.join(unknown)}; it accepts {', '.join(accepted) or 'nothing'}")
    try:
        return ANSWERS[name](index, parameters)
    except (LimitError, PatternError) as error:
        raise BadRequest(str(error)) from None
