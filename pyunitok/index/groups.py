"""count_by() and facets() count hits and documents by the values of a field; find_where() filters hits.

A query is text, which matches anywhere, or, if WordOptions are given, a query about words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyunitok.index.fields import Mask
from pyunitok.index.hits import MAX_SORTED, SIDE_ORDERS, Hits, Int64s, Occurrences, Places, shuffled
from pyunitok.index.opened import Index
from pyunitok.index.search import SORT_CHARS, DocumentHits, Order
from pyunitok.index.word_query import WordOptions
from pyunitok.index.words import WordMatches
from pyunitok.packed import as_bytes

MILLION = 1_000_000


@dataclass(frozen=True)
class GroupCount:
    """The number of hits and the number of documents with hits, among the documents that have this value. If value is
    None, these are the documents that have no value.

    words        the number of words in all documents of the group; None if the index has no words
    per_million  hits per million words; None if the group has no words
    """

    value: str | None
    hits: int
    documents: int
    words: int | None
    per_million: float | None


@dataclass(frozen=True)
class FacetCount:
    """The most frequent values of a field among the hits, and the number of distinct values."""

    field: str
    distinct: int
    rows: list[GroupCount]


def documents_where(
    index: Index, query: str | bytes, where: Sequence[str] = (), words: WordOptions | None = None
) -> DocumentHits:
    """The documents with hits that satisfy all conditions; see FieldIndex.where."""
    found = index.documents(query) if words is None else index.words.documents(_text(query), words)
    if not where:
        return found
    chosen = index.fields.where(where)[found.documents]
    return DocumentHits(found.documents[chosen], found.counts[chosen], found.approx)


def count_by(
    index: Index, query: str | bytes, by: str, *, where: Sequence[str] = (), words: WordOptions | None = None,
) -> list[GroupCount]:  # fmt: skip
    """The hits for each value of a field, or of "@file", in the order of the values; documents without a value come
    last."""
    return groups_of(index, documents_where(index, query, where, words), by, where)


def groups_of(index: Index, found: DocumentHits, by: str, where: Sequence[str]) -> list[GroupCount]:
    """Like count_by, for the documents that documents_where() found."""
    field = index.fields.field(by)
    n_words = _words_by(index, field.codes, len(field.values), where)
    rows = _grouped(found, field.codes, field.values, n_words)
    return sorted(rows, key=lambda row: (row.value is None, _key(row.value or "")))


def facets(
    index: Index, query: str | bytes, fields: Sequence[str] = (), *, where: Sequence[str] = (), limit: int = 10,
    words: WordOptions | None = None,
) -> list[FacetCount]:  # fmt: skip
    """The most frequent values of fields (by default, of all stored fields) among the hits of a query."""
    return facets_of(index, documents_where(index, query, where, words), fields, limit)


def facets_of(index: Index, found: DocumentHits, fields: Sequence[str], limit: int) -> list[FacetCount]:
    """Like facets, for the documents that documents_where() found."""
    ret = []
    for name in fields or index.fields.names:
        field = index.fields.field(name)
        rows = [row for row in _grouped(found, field.codes, field.values, None) if row.value is not None]
        rows.sort(key=lambda row: (-row.hits, row.value))
        ret.append(FacetCount(name, len(rows), rows[:limit]))
    return ret


def _grouped(found: DocumentHits, codes: Int64s, values: list[str], n_words: Int64s | None) -> list[GroupCount]:
    own = codes[found.documents]
    hits = np.bincount(own, found.counts, len(values) + 1).astype(np.int64)
    documents = np.bincount(own, minlength=len(values) + 1)
    rows = []
    for k in np.flatnonzero(hits).tolist():
        n = None if n_words is None else int(n_words[k])
        rate = float(hits[k]) * MILLION / n if n else None
        rows.append(GroupCount(values[k - 1] if k else None, int(hits[k]), int(documents[k]), n, rate))
    return rows


def _words_by(index: Index, codes: Int64s, n_values: int, where: Sequence[str]) -> Int64s | None:
    if not index.has_words:
        return None
    sizes = index.words.document_sizes.copy()
    if where:
        sizes[~index.fields.where(where)] = 0
    ret: Int64s = np.bincount(codes, sizes, n_values + 1).astype(np.int64)
    return ret


def _key(value: str) -> tuple[bool, float, str]:
    """A sort key: numbers in numerical order, then all other values."""
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value


def _text(query: str | bytes) -> str:
    return query if isinstance(query, str) else query.decode("utf-8", "surrogateescape")


# ------------------------------------------------------------------------------------------------- filtered hits ---


def find_where(
    index: Index, query: str | bytes, where: Sequence[str], limit: int = 10, offset: int = 0, order: Order = "rank",
    seed: int = 0, words: WordOptions | None = None,
) -> Hits:  # fmt: skip
    """Like Index.find, or Index.words.find if `words` is given, but only in documents that satisfy all conditions.
    Reads all hits of the query."""
    index.check_page(limit, offset, order)
    chosen = index.fields.where(where)
    found = index.find_all(query) if words is None else index.words.matches(_text(query), words)
    numbers, documents = _numbers_in(index, found, chosen)
    total = len(numbers)
    if order == "text":
        numbers = numbers[_in_text_order(found, numbers, documents)]
    elif order == "random" and total:
        numbers = numbers[shuffled(np.arange(offset, max(offset, min(offset + limit, total))), total, seed)]
        return _hits(index, found, query, numbers, total)
    elif order in SIDE_ORDERS:
        hits = _hits(index, found, query, numbers[:MAX_SORTED], total)
        keys = [context.words(order) for context in index.context_batch(hits, SORT_CHARS, SORT_CHARS)]
        numbers = numbers[sorted(range(len(keys)), key=keys.__getitem__)]
    return _hits(index, found, query, numbers[offset : offset + limit], total)


def _numbers_in(index: Index, found: Occurrences | WordMatches, chosen: Mask) -> tuple[Int64s, Int64s]:
    """The numbers of the hits in chosen documents, and the document of each hit."""
    numbers, documents, at = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for shard in range(len(index.shards)):
        first = index.first_document(shard)
        if isinstance(found, Occurrences):
            parts = (index.documents_at(shard, tokens) for tokens, _ in found.chunks(shard))
        else:
            parts = (index.words.shards[shard].documents(begins) for begins, _ in found.parts[shard].chunks())
        for part in parts:
            mask = chosen[part + first]
            numbers.append(np.flatnonzero(mask) + at)
            documents.append(part[mask] + first)
            at += len(part)
    return np.concatenate(numbers), np.concatenate(documents)


def _in_text_order(found: Occurrences | WordMatches, numbers: Int64s, documents: Int64s) -> Int64s:
    if isinstance(found, Occurrences):
        places = found.places(numbers)
        return np.lexsort((places.skips, places.tokens, documents))
    return np.lexsort((found.take(numbers)[1], documents))


def _hits(index: Index, found: Occurrences | WordMatches, query: str | bytes, numbers: Int64s, total: int) -> Hits:
    if isinstance(found, WordMatches):
        return index.words.hits_at(*found.take(numbers), total, found.approx)
    places: Places = found.places(numbers)
    return index.hits_at(places, len(as_bytes(query)), total, found.approx)
