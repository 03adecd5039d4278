"""BatchSearch, the part of Index whose methods answer many queries per call, with arrays as input and output."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.search import Tokens
from pyunitok.index.hits import Hits, Int64s, Places
from pyunitok.index.overlap import Overlaps, Spans, joined
from pyunitok.index.search import DocumentHits, Order, Text
from pyunitok.index.sequences import Distribution, Probability, Query
from pyunitok.packed import Packed, as_bytes

Bools = np.ndarray[Any, np.dtype[np.bool_]]
Queries = Iterable[Query] | Packed


@dataclass
class HitsBatch:
    """The hits of many queries. Query k has hits[offsets[k]:offsets[k + 1]].

    hits     the hits of all queries, in the form that context_batch accepts
    offsets  int64[n + 1]
    totals   int64[n]: the number of occurrences of each query
    approx   bool[n]: True if the search was cut short, as in Hits
    """

    hits: Hits
    offsets: Int64s
    totals: Int64s
    approx: Bools

    def __len__(self) -> int:
        return len(self.totals)

    def __getitem__(self, k: int) -> Hits:
        k = range(len(self))[operator.index(k)]
        part, hits = slice(int(self.offsets[k]), int(self.offsets[k + 1])), self.hits
        columns = (hits.shards, hits.tokens, hits.skips, hits.documents, hits.begins, hits.ends)
        a, b, c, d, e, f = (column[part] for column in columns)
        return Hits(a, b, c, d, e, f, int(self.totals[k]), bool(self.approx[k]))


@dataclass
class DocumentsBatch:
    """For each of many queries, the documents in which it occurs: query k occurs counts[i] times in documents[i], for
    i from offsets[k] to offsets[k + 1] - 1. approx is bool[n], as in DocumentHits."""

    offsets: Int64s
    documents: Int64s
    counts: Int64s
    approx: Bools

    def __len__(self) -> int:
        return len(self.approx)

    def __getitem__(self, k: int) -> DocumentHits:
        k = range(len(self))[operator.index(k)]
        part = slice(int(self.offsets[k]), int(self.offsets[k + 1]))
        return DocumentHits(self.documents[part], self.counts[part], bool(self.approx[k]))


@dataclass
class SourcesBatch:
    """For each of many queries, the inputs in which it occurs. Query k occurs in inputs[offsets[k]:offsets[k + 1]],
    which are indexes into Index.inputs.paths. hits and documents count, for each input, the occurrences and the
    documents that contain them. approx is bool[n]."""

    offsets: Int64s
    inputs: Int64s
    hits: Int64s
    documents: Int64s
    approx: Bools


@dataclass
class DistributionBatch:
    """The distributions of many queries, with the fields of Distribution. texts, ids and counts of query k are at
    offsets[k]:offsets[k + 1]; totals and approx have one entry per query."""

    offsets: Int64s
    texts: Packed
    ids: Tokens | None
    counts: Int64s
    totals: Int64s
    approx: Bools

    def __len__(self) -> int:
        return len(self.totals)

    def __getitem__(self, k: int) -> Distribution:
        k = range(len(self))[operator.index(k)]
        a, b = int(self.offsets[k]), int(self.offsets[k + 1])
        texts = [self.texts[i].tobytes() for i in range(a, b)]
        ids = None if self.ids is None else self.ids[a:b]
        return Distribution(texts, ids, self.counts[a:b], int(self.totals[k]), bool(self.approx[k]))


@dataclass
class ProbabilityBatch:
    """The probabilities of a token after many prompts, with the fields of Probability: p is float64[n], and the others
    are int64[n]."""

    p: np.ndarray[Any, np.dtype[np.float64]]
    count: Int64s
    total: Int64s
    context: Int64s

    def __len__(self) -> int:
        return len(self.p)

    def __getitem__(self, k: int) -> Probability:
        return Probability(float(self.p[k]), int(self.count[k]), int(self.total[k]), int(self.context[k]))


class BatchSearch(Overlaps):
    """The methods of Index for many queries: each works like the method without _batch, which takes one query.
    Queries are an iterable, or a Packed of uint8 (text) or of the index's dtype (ids). See also count_batch,
    count_tokens_batch, context_batch and overlap."""

    def find_batch(
        self, queries: Iterable[Text] | Packed, limit: int = 10, order: Order = "rank", seed: int = 0, *,
        max_work: int | None = None,
    ) -> HitsBatch:  # fmt: skip
        """The first `limit` occurrences of each text."""
        self.check_page(limit, 0, order)
        texts = _texts(queries)
        pages = [self._page(text, limit, 0, order, seed, max_work) for text in texts]
        return self._hits_batch(pages, [len(text) for text in texts])

    def find_tokens_batch(self, queries: Queries, limit: int = 10, order: Order = "rank", seed: int = 0) -> HitsBatch:
        """The first `limit` occurrences of each sequence of tokens."""
        self.check_page(limit, 0, order)
        sequences = [self.ids(query) for query in _each(queries)]
        pages = [self._tokens_page(ids, limit, 0, order, seed) for ids in sequences]
        return self._hits_batch(pages, [int(self.tables.sizes[ids].sum()) for ids in sequences])

    def _hits_batch(self, pages: Sequence[tuple[Places, int, bool]], n_bytes: Sequence[int]) -> HitsBatch:
        sizes = [len(places.tokens) for places, _, _ in pages]
        together = Places(
            joined(places.shards for places, _, _ in pages), joined(places.tokens for places, _, _ in pages),
            joined(places.skips for places, _, _ in pages),
        )  # fmt: skip
        totals, approx = [total for _, total, _ in pages], [some for _, _, some in pages]
        hits = self.hits_at(together, np.repeat(np.array(n_bytes, np.int64), sizes), sum(totals), any(approx))
        return HitsBatch(hits, _offsets(sizes), np.array(totals, np.int64), np.array(approx, np.bool_))

    def documents_batch(self, queries: Iterable[Text] | Packed, *, max_work: int | None = None) -> DocumentsBatch:
        found = [self.documents(text, max_work=max_work) for text in _texts(queries)]
        return DocumentsBatch(
            _offsets(map(len, found)), joined(one.documents for one in found),
            joined(one.counts for one in found), np.array([one.approx for one in found], np.bool_),
        )  # fmt: skip

    def by_source_batch(self, queries: Iterable[Text] | Packed, *, max_work: int | None = None) -> SourcesBatch:
        found = [self._sources(text, max_work) for text in _texts(queries)]
        counted, approx = [one[:3] for one in found], np.array([one[3] for one in found], np.bool_)
        inputs, hits, documents = (joined(one[k] for one in counted) for k in range(3))
        return SourcesBatch(_offsets(len(one[0]) for one in counted), inputs, hits, documents, approx)

    def next_batch(self, queries: Queries, limit: int | None = None) -> DistributionBatch:
        """All queries must be text, or all must be ids."""
        return _distributions([self.next(query, limit) for query in _each(queries)])

    def previous_batch(self, queries: Queries, limit: int | None = None) -> DistributionBatch:
        """All queries must be text, or all must be ids."""
        return _distributions([self.previous(query, limit) for query in _each(queries)])

    def prob_batch(self, prompts: Queries, tokens: Sequence[int] | Tokens) -> ProbabilityBatch:
        """The probability of tokens[k] after prompt k. Takes a few µs per prompt."""
        packed = self._packed(prompts)
        return self._probabilities(packed, tokens, packed.offsets[:-1])

    def infgram_prob_batch(self, prompts: Queries, tokens: Sequence[int] | Tokens) -> ProbabilityBatch:
        """Like prob_batch, but after the longest suffix of each prompt that occurs with a token after it."""
        packed = self._packed(prompts)
        contexts = np.array([self.longest_context(ids) for ids in packed], np.int64)
        return self._probabilities(packed, tokens, packed.offsets[1:] - contexts)

    def _probabilities(self, prompts: Packed, tokens: Any, begins: Int64s) -> ProbabilityBatch:
        """The probability of tokens[k] after the tokens of prompt k from begins[k] on."""
        wanted, ends = self.ids(tokens), prompts.offsets[1:]
        if len(wanted) != len(prompts):
            raise ValueError(f"expected one token per prompt, got {len(wanted)} tokens for {len(prompts)} prompts")
        extended = np.insert(prompts.data, ends - prompts.offsets[0], wanted)  # each prompt followed by its token
        shift = np.arange(len(wanted))
        begins, ends = begins - prompts.offsets[0], ends - prompts.offsets[0]
        count = self._count_windows(extended, begins + shift, ends + shift + 1)
        sequences = [prompts.data[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        total = self._count_windows(prompts.data, begins, ends) - np.array(list(map(self._at_end, sequences)), np.int64)
        p = np.divide(count, total, out=np.full(len(count), np.nan), where=total > 0)
        return ProbabilityBatch(p, count, total, ends - begins)

    def infgram_next_batch(self, prompts: Queries, limit: int | None = None) -> tuple[Int64s, DistributionBatch]:
        """Returns (int64[n] context lengths in tokens, the distribution after each prompt)."""
        found = [self.infgram_next(prompt, limit) for prompt in _each(prompts)]
        return np.array([n for n, _ in found], np.int64), _distributions([one for _, one in found])

    def sample_batch(self, prompts: Queries, n: int = 20, *, context: int | None = None, seed: int = 0) -> Packed:
        """A Packed of ids: one sample per prompt. Prompt k uses the seed (seed, k)."""
        options: dict[str, Any] = {} if context is None else {"context": context}
        drawn = [self.sample(prompt, n, seed=(seed, k), **options) for k, prompt in enumerate(_each(prompts))]
        return Packed(np.concatenate([*drawn, np.empty(0, self.dtype)]), _offsets(map(len, drawn)))

    def count_all_of_batch(
        self, all_of: Iterable[Sequence[Sequence[Query]]], within: int | None = None
    ) -> tuple[Int64s, Bools]:
        """Returns the counts, int64[n], and whether each count is a lower bound, bool[n]."""
        found = [self.count_all_of(clauses, within) for clauses in all_of]
        return np.array(found, np.int64), np.array([count.approx for count in found], np.bool_)

    def spans_batch(
        self, texts: Iterable[Text] | Packed, min_bytes: int = 24, max_count: int | None = None, *,
        whole_words: bool = False,
    ) -> list[Spans]:  # fmt: skip
        """The result of spans() for each text."""
        return [self.spans(text, min_bytes, max_count, whole_words=whole_words) for text in _texts(texts)]


def _texts(queries: Iterable[Text] | Packed) -> list[bytes]:
    return [as_bytes(query) if isinstance(query, str | bytes) else query.tobytes() for query in queries]


def _each(queries: Queries) -> Iterator[Query]:
    """The queries of an iterable or a Packed, each as text or ids."""
    is_text = isinstance(queries, Packed) and queries.data.dtype == np.uint8
    return (query.tobytes() if is_text else query for query in queries)  # type: ignore[union-attr]


def _distributions(found: Sequence[Distribution]) -> DistributionBatch:
    kinds = {one.ids is None for one in found}
    if len(kinds) > 1:
        raise TypeError("a batch mixes text and ids; split it into two batches")
    ids = np.concatenate([*(one.ids for one in found if one.ids is not None), np.empty(0, np.uint16)])
    texts = Packed.from_documents(text for one in found for text in one.texts)
    return DistributionBatch(
        _offsets(map(len, found)), texts, None if kinds == {True} else ids, joined(one.counts for one in found),
        np.array([one.total for one in found], np.int64), np.array([one.approx for one in found], np.bool_),
    )  # fmt: skip


def _offsets(sizes: Iterable[int]) -> Int64s:
    return np.cumsum([0, *sizes], dtype=np.int64)
