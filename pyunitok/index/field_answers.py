"""Builds the JSON answers to queries that use document fields, for the command and the web page.

A query is text or, if `words` is given, a query about words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pyunitok.index.concordance import Line, as_record
from pyunitok.index.groups import documents_where, facets_of, find_where, groups_of
from pyunitok.index.hit_metadata import metadata_of
from pyunitok.index.opened import Index
from pyunitok.index.search import Order
from pyunitok.index.word_query import WordOptions

Answer = dict[str, Any]
Query = str | bytes


def filtered_hits(
    index: Index, query: Query, where: Sequence[str], words: WordOptions | None, *, limit: int = 20, offset: int = 0,
    sort: Order = "rank", seed: int = 0, before: int = 40, after: int = 40,
) -> Answer:  # fmt: skip
    """A page of the concordance of the documents that satisfy all conditions."""
    found = find_where(index, query, where, limit, offset, sort, seed, words)
    contexts = index.context_batch(found, before, after)
    lines = [Line(hit, *context.shown()) for hit, context in zip(found, contexts, strict=True)]
    answer: Answer = {"count": found.total, "approx": found.approx, "hits": [as_record(index, one) for one in lines]}
    metadata = metadata_of(index, found.documents.tolist())
    return answer | ({"metadata": metadata} if metadata else {})


def filtered_count(index: Index, query: Query, where: Sequence[str], words: WordOptions | None) -> Answer:
    found = documents_where(index, query, where, words)
    return {"count": int(found.counts.sum()), "approx": found.approx}


def filtered_documents(
    index: Index, query: Query, where: Sequence[str], words: WordOptions | None, offset: int, limit: int
) -> Answer:
    found = documents_where(index, query, where, words).most_frequent()
    pairs = list(zip(found.documents.tolist(), found.counts.tolist(), strict=True))[offset : offset + limit]
    rows = [{"document": d, "count": n, "source": index.source(d)} for d, n in pairs]
    return {"count": int(found.counts.sum()), "approx": found.approx, "n_documents": len(found), "documents": rows}


def groups(index: Index, query: Query, by: str, where: Sequence[str], words: WordOptions | None) -> Answer:
    """The number of hits for each value of a field, in the order of the values."""
    found = documents_where(index, query, where, words)
    rows = [_renamed(asdict(group)) for group in groups_of(index, found, by, where)]
    return {"count": sum(row["count"] for row in rows), "approx": found.approx, "by": by, "groups": rows}


def most_frequent(
    index: Index, query: Query, fields: Sequence[str], where: Sequence[str], words: WordOptions | None, limit: int
) -> Answer:
    """The most frequent values of fields among the hits."""
    found = documents_where(index, query, where, words)
    rows = [
        {"field": facet.field, "value": row.value, "count": row.hits, "documents": row.documents}
        for facet in facets_of(index, found, fields, limit)
        for row in facet.rows
    ]
    return {"approx": found.approx, "facets": rows}


def values(index: Index, fields: Sequence[str], limit: int) -> Answer:
    """For each field, the values that occur in the most documents of the index."""
    rows = []
    for name in fields or index.fields.names:
        field = index.fields.field(name)
        documents = np.bincount(field.codes, minlength=len(field.values) + 1)[1:]
        for k in np.argsort(-documents, kind="stable")[:limit].tolist():
            rows.append({"field": name, "value": field.values[k], "documents": int(documents[k])})
    return {"values": rows}


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    """A group as a JSON object; `hits` is renamed to `count`, as in other answers."""
    return {"count" if name == "hits" else name: value for name, value in row.items()}
