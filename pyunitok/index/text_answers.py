"""Makes the answers about texts and sequences of tokens, as JSON objects, for the command and the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyunitok.index.opened import Index
from pyunitok.index.overlap import Unit
from pyunitok.index.sequences import Query
from pyunitok.vocab.utf8 import readable

Answer = dict[str, Any]


def all_of(
    index: Index, clauses: Sequence[Sequence[Query]], within: int | None, max_work: int | None = None
) -> Answer:
    """The number of places where all clauses match. max_work is the budget of each term."""
    count = index.count(all_of=clauses, within=within, max_work=max_work)
    return {"count": int(count), "approx": count.approx}


def ngrams(index: Index, n: int, min_count: int, offset: int, limit: int) -> Answer:
    """The most frequent sequences of n tokens."""
    found = index.ngrams(n, min_count, offset + limit)
    rows = []
    for gram, count in list(zip(found.ids.tolist(), found.counts.tolist(), strict=True))[offset:]:
        rows.append({"text": readable(b"".join(map(index.tables.text_of, gram))), "count": count, "ids": gram})
    return {"ngrams": rows}


def overlap(
    index: Index, lines: Sequence[bytes], window: int, unit: Unit, normalize: bool, max_work: int | None = None
) -> Answer:
    """For each line, how many of its windows occur in the corpus. max_work is the budget of each window."""
    found = index.overlap(lines, window, unit, normalize=normalize, max_work=max_work)
    rows: list[dict[str, Any]] = []
    n_hits = found.hits().tolist()
    for k, hits in enumerate(n_hits):
        part = slice(int(found.offsets[k]), int(found.offsets[k + 1]))
        row: dict[str, Any] = {"line": k + 1, "short": bool(found.is_short[k]), "windows": part.stop - part.start}
        row |= {"found": hits, "share": round(float(found.share[k]), 4)}
        row["most_frequent"] = int(found.counts[part].max()) if hits else 0
        rows.append(row | {"document": int(found.documents[k]) if found.documents[k] >= 0 else None})
    return {
        "window": window, "unit": unit, "lines": len(rows), "approx": found.approx,
        "lines_found": sum(map(bool, n_hits)), "lines_short": int(found.is_short.sum()), "overlap": rows,
    }  # fmt: skip


def spans(
    index: Index, text: bytes, min_bytes: int, whole_words: bool, normalize: bool, offset: int, limit: int,
    max_work: int | None = None,
) -> Answer:  # fmt: skip
    """The longest parts of a text that occur in the corpus. max_work is the budget of each search."""
    found = index.spans(text, min_bytes, whole_words=whole_words, normalize=normalize, max_work=max_work)
    columns = (found.begins, found.ends, found.counts, found.documents)
    rows = []
    for begin, end, count, document in zip(*(column.tolist() for column in columns), strict=True):
        known = None if document < 0 else document  # an index that only counts returns no document
        row = {"begin": begin, "end": end, "count": count, "document": known}
        row["source"] = None if known is None else index.source(known)
        rows.append(row | {"text": readable(found.text[begin:end])})
    return {"approx": found.approx, "spans": rows[offset : offset + limit]}
