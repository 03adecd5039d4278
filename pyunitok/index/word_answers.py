"""Makes the answers about words, as JSON objects, for the command and the page."""

from __future__ import annotations

from typing import Any

from pyunitok.index.concordance import Line, as_record
from pyunitok.index.hit_metadata import metadata_of
from pyunitok.index.opened import Index
from pyunitok.index.search import Order
from pyunitok.index.word_query import WordOptions

Answer = dict[str, Any]


def hits(
    index: Index, text: str, options: WordOptions, *, limit: int = 20, offset: int = 0, sort: Order = "rank",
    seed: int = 0, before: int = 40, after: int = 40,
) -> Answer:  # fmt: skip
    """A page of the concordance of a query."""
    found = index.words.find(text, limit, offset, sort, seed, options)
    contexts = index.context_batch(found, before, after)
    lines = [Line(hit, *context.shown()) for hit, context in zip(found, contexts, strict=True)]
    answer: Answer = {"count": found.total, "approx": found.approx, "hits": [as_record(index, one) for one in lines]}
    metadata = metadata_of(index, found.documents.tolist())
    return answer | ({"metadata": metadata} if metadata else {})


def count(index: Index, text: str, options: WordOptions) -> Answer:
    found = index.words.count(text, options)
    return {"count": int(found), "approx": found.approx}


def documents(index: Index, text: str, options: WordOptions, offset: int, limit: int) -> Answer:
    found = index.words.documents(text, options).most_frequent()
    pairs = list(zip(found.documents.tolist(), found.counts.tolist(), strict=True))[offset : offset + limit]
    rows = [{"document": d, "count": n, "source": index.source(d)} for d, n in pairs]
    return {"count": int(found.counts.sum()), "approx": found.approx, "n_documents": len(found), "documents": rows}


def by_source(
    index: Index, text: str, options: WordOptions, offset: int, limit: int, max_hits: int | None = None
) -> Answer:
    found = index.words.by_source(text, options, max_hits=max_hits)
    rows = [{"source": source.path, "count": source.hits, "documents": source.documents} for source in found]
    total = sum(source.hits for source in found)
    return {"count": total, "approx": found.approx, "sources": rows[offset : offset + limit]}


def lists(index: Index, name: str, text: str | None, options: WordOptions, offset: int, limit: int) -> Answer:
    """A list of words: "word_list", or the "next_words" or "previous_words" of a query."""
    if name == "word_list":
        found = index.words.frequencies(text, offset + limit, options)
    else:
        method = index.words.next if name == "next_words" else index.words.previous
        found = method(text or "", offset + limit, options)
    rows = [{"text": row.text, "count": row.count, "share": row.share} for row in found.rows[offset:]]
    return {"count": found.total, "approx": found.approx, "distinct": found.distinct, name: rows}


def ngrams(index: Index, n: int, min_count: int, offset: int, limit: int) -> Answer:
    found = index.words.ngrams(n, min_count, limit)
    rows = [{"text": row.text, "count": row.count, "share": row.share} for row in found.rows[offset:]]
    return {"distinct": found.distinct, "word_ngrams": rows}
