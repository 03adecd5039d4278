"""Batches of queries: each answer equals that of the single query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from toys import indexes
from toys.models import BYTES

from pyunitok import Packed, Tokenizer
from pyunitok.index.hits import Hits

pytestmark = pytest.mark.usefixtures("both_kinds")

EOD = 300
TEXTS = ["the cat sat", "", "the the cat, the end", "日本語の日本", "a cat", "sat"]
QUERIES = ["the", "cat", "absent", "", " ", "日", b"\xe6", "t"]
SEQUENCES = [[256], [], [32, 99], [1, 2], [259, 259], [EOD], [97]]
PIECES = [*BYTES, b"the", b" the", b"at", b" cat", "日本".encode()]


@pytest.fixture(scope="module", params=[EOD, None])
def index(request: Any, tmp_path_factory: pytest.TempPathFactory, both_kinds: str) -> Any:
    ids = indexes.encode(tokenizer := Tokenizer.from_pieces(PIECES), [text.encode() for text in TEXTS])
    return indexes.make(
        tmp_path_factory.mktemp("batches"), tokenizer, [ids[:3], ids[3:]], eod=request.param, documents_per_shard=2
    )


def columns(hits: Hits) -> list[list[int]]:
    names = ("shards", "tokens", "skips", "documents", "begins", "ends")
    return [getattr(hits, name).tolist() for name in names]


def packed(queries: Any) -> list[Any]:
    """The queries as a list and as a Packed."""
    if isinstance(queries[0], list):
        data = np.array([id_ for query in queries for id_ in query], indexes.dtype)
        return [queries, Packed(data, np.cumsum([0, *map(len, queries)]))]
    return [queries, Packed.from_documents(queries)]


@pytest.mark.parametrize("order", ["rank", "text", "random"])
def test_hits(index: Any, order: Any) -> None:
    for name, queries in (("find", QUERIES), ("find_tokens", SEQUENCES)):
        for asked in packed(queries):
            found = getattr(index, f"{name}_batch")(asked, limit=3, order=order, seed=2)
            alone = [getattr(index, name)(query, 3, 0, order, 2) for query in queries]
            assert len(found) == len(queries) and len(found.hits) == found.offsets[-1] == sum(map(len, alone))
            for k, one in enumerate(alone):
                assert columns(found[k]) == columns(one)
                assert (found[k].total, found[k].approx) == (one.total, one.approx)
                assert (found.totals[k], found.approx[k]) == (one.total, one.approx)
            contexts = list(index.context_batch(found.hits, 3, 3))
            assert contexts == [index.context(hit, 3, 3) for one in alone for hit in one]


def test_documents_and_sources(index: Any) -> None:
    for asked in packed(QUERIES):
        found, sources = index.documents_batch(asked), index.by_source_batch(asked)
        assert len(found) == len(QUERIES) == len(sources.offsets) - 1
        for k, query in enumerate(QUERIES):
            one, part = index.documents(query), slice(sources.offsets[k], sources.offsets[k + 1])
            assert found[k].documents.tolist() == one.documents.tolist()
            assert found[k].counts.tolist() == one.counts.tolist() and found[k].approx == one.approx
            rows = zip(sources.inputs[part], sources.hits[part], sources.documents[part], strict=True)
            assert [(index.inputs.files[i], index.inputs.paths[i], hits, n) for i, hits, n in rows] == [
                (one.file, one.path, one.hits, one.documents) for one in index.by_source(query)
            ]


@pytest.mark.parametrize("queries", [QUERIES, SEQUENCES], ids=["text", "ids"])
def test_neighbours(index: Any, queries: Any) -> None:
    for name in ("next", "previous"):
        for asked in packed(queries):
            found = getattr(index, f"{name}_batch")(asked, 2)
            for k, query in enumerate(queries):
                one = getattr(index, name)(query, 2)
                assert (found[k].texts, found[k].total, found[k].approx) == (one.texts, one.total, one.approx)
                assert found[k].counts.tolist() == one.counts.tolist()
                assert (found[k].ids is None) == (one.ids is None)
                assert one.ids is None or found[k].ids.tolist() == one.ids.tolist()
    with pytest.raises(TypeError, match="mixes text and ids"):
        index.next_batch(["the", [1]])


def test_probabilities(index: Any) -> None:
    tokens = [32, 256, 97, EOD, 0, 256, 99]
    for name in ("prob", "infgram_prob"):
        for asked in packed(SEQUENCES):
            found = getattr(index, f"{name}_batch")(asked, tokens)
            for k, (prompt, token) in enumerate(zip(SEQUENCES, tokens, strict=True)):
                one = getattr(index, name)(prompt, token)
                assert repr(found[k]) == repr(one)  # nan != nan
    with pytest.raises(ValueError, match="got 1 tokens for 7 prompts"):
        index.prob_batch(SEQUENCES, [1])
    contexts, found = index.infgram_next_batch(SEQUENCES)
    for k, prompt in enumerate(SEQUENCES):
        n, one = index.infgram_next(prompt)
        assert contexts[k] == n and found[k].texts == one.texts and found[k].counts.tolist() == one.counts.tolist()


def test_samples_clauses_and_spans(index: Any) -> None:
    drawn = index.sample_batch(SEQUENCES, 4, seed=3)
    assert [ids.tolist() for ids in drawn] == [
        index.sample(prompt, 4, seed=(3, k)).tolist() for k, prompt in enumerate(SEQUENCES)
    ]
    clauses = [[["the"], ["cat"]], [["absent"]], [["t", [97]], [" "]]]
    counts, approx = index.count_all_of_batch(clauses, within=4)
    assert counts.tolist() == [index.count(all_of=one, within=4) for one in clauses] and not approx.any()
    texts = ["xx the cat sat", "", "日本語"]
    for text, spans in zip(texts, index.spans_batch(texts, 2), strict=True):
        assert repr(spans) == repr(index.spans(text, 2))


def test_no_queries(index: Any) -> None:
    names = ("find", "find_tokens", "documents", "by_source", "next", "previous", "sample", "count_all_of", "spans")
    for name in names:
        getattr(index, f"{name}_batch")([])
    assert len(index.prob_batch([], [])) == len(index.infgram_prob_batch([], [])) == 0
    assert len(index.context_batch(index.find("absent"))) == 0
