"""Index: sequences of tokens and comparisons of texts with the corpus, compared with linear searches."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import search as oracle
from toys import indexes

from pyunitok import Packed, Tokenizer
from pyunitok.corpus.words import character_bounds, word_bounds
from pyunitok.errors import LimitError

pytestmark = pytest.mark.usefixtures("both_kinds")

PIECES = ["a", "b", "c", "ab", "ba", "abc", "aa", " ", " a", " b", *(bytes([byte]) for byte in range(128, 256))]
EOD = 300


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    rest = [bytes([byte]) for byte in range(128) if chr(byte) not in "abc "]
    return Tokenizer.from_pieces([*(p.encode() if isinstance(p, str) else p for p in PIECES), *rest])


@pytest.fixture(scope="module", params=[1, 2, 3, 4])
def case(
    request: Any, tokenizer: Tokenizer, tmp_path_factory: Any, both_kinds: str
) -> tuple[Any, list[list[int]], random.Random]:
    """An index, the ids of its shards, and a random number generator."""
    rng = random.Random(request.param)
    texts = ["".join(rng.choices("abc a", k=rng.choice([0, 3, 20, 60]))).encode() for _ in range(12)]
    ids = indexes.encode(tokenizer, [*texts, texts[3] * 2])
    index = indexes.make(
        tmp_path_factory.mktemp("tokens"), tokenizer, [ids[:7], ids[7:]], eod=EOD, order=rng.choice(["id", "bytes"]),
        left=rng.random() < 0.5, documents_per_shard=rng.choice([2, 100]),
    )  # fmt: skip
    return index, [shard.ids[:].tolist() for shard in index.shards], rng


def queries(rng: random.Random, shards: list[list[int]], n: int = 30) -> list[list[int]]:
    ret = []
    for _ in range(n):
        ids = rng.choice(shards)
        at = rng.randrange(len(ids))
        ret.append(ids[at : at + rng.randrange(1, 7)])
    return [*ret, [0] * 9, [65535], [EOD], []]


def test_counts_places_and_neighbours(case: Any) -> None:
    index, shards, rng = case
    asked = queries(rng, shards)
    counts = index.count_tokens_batch(asked)
    for query, count in zip(asked, counts.tolist(), strict=True):
        places = [(s, p) for s, ids in enumerate(shards) for p in oracle.positions(ids, query) if p < len(ids)]
        assert index.count_tokens(query) == count == len(places)
        hits = index.find_tokens(query, limit=10_000, order="text")
        assert list(zip(hits.shards.tolist(), hits.tokens.tolist(), strict=True)) == places
        if not query:
            continue
        for oracle_of, method in ((oracle.next_tokens, index.next), (oracle.previous_tokens, index.previous)):
            expected = sum((oracle_of(ids, query) for ids in shards), Counter())
            found = method(query)
            assert dict(zip(found.ids.tolist(), found.counts.tolist(), strict=True)) == expected
            assert found.total == expected.total() and sorted(found.counts, reverse=True) == list(found.counts)
            assert [index.tables.text_of(id_) for id_ in found.ids.tolist()] == found.texts
            assert len(method(query, limit=2)) == min(2, len(expected))


def test_probabilities_follow_from_counts(case: Any) -> None:
    index, shards, rng = case
    for query in queries(rng, shards):
        token = rng.choice([*range(11), EOD])
        following = sum((oracle.next_tokens(ids, query) for ids in shards), Counter()) if query else None
        found = index.prob(query, token)
        if following is None:
            following = Counter(id_ for ids in shards for id_ in ids)
        assert (found.count, found.total, found.context) == (following[token], following.total(), len(query))
        if found.total:
            assert found.p == found.count / found.total
        else:
            assert np.isnan(found.p)
        prompt = [rng.randrange(11) for _ in range(3)] + query
        best = max(
            n for n in range(len(prompt) + 1) if n == 0 or any(oracle.next_tokens(ids, prompt[-n:]) for ids in shards)
        )
        assert index.infgram_prob(prompt, token).context == index.longest_context(prompt) == best
        n, distribution = index.infgram_next(prompt)
        assert n == best and distribution.total == index.infgram_prob(prompt, token).total


def test_ngrams_are_all_frequent_ones(case: Any) -> None:
    index, _, _ = case
    documents = [shard.ids[a:b].tolist() for shard in index.shards for a, b in bounds(shard)]
    for n in (1, 2, 3, 5):
        for min_count in (1, 2, 5):
            grams = sum((Counter(oracle.ngrams(document[:-1], n, 1)) for document in documents), Counter())
            found = index.ngrams(n, min_count)
            pairs = zip(map(tuple, found.ids.tolist()), found.counts.tolist(), strict=True)
            assert dict(pairs) == {gram: count for gram, count in grams.items() if count >= min_count}
            assert index.ngrams(n, min_count, limit=3).counts.tolist() == found.counts.tolist()[:3]


def bounds(shard: Any) -> list[tuple[int, int]]:
    ends = (shard.ends.astype(int) - shard.begin).tolist()
    return list(zip([0, *ends], ends, strict=False))


def test_samples_are_parts_of_the_corpus(case: Any) -> None:
    index, shards, rng = case
    prompt = rng.choice(shards)[:2]
    drawn = index.sample(prompt, 12, seed=3)
    assert np.array_equal(drawn, index.sample(prompt, 12, seed=3))
    whole = [*prompt, *drawn.tolist()]
    assert (drawn.dtype == index.dtype and len(drawn) == 12) or drawn[-1] == EOD
    pairs = {pair for ids in shards for pair in pairwise(ids)}
    assert all(pair in pairs for pair in pairwise(whole[1:]))
    bigrams = index.sample([0], 40, context=1, seed=1).tolist()
    assert all(pair in pairs for pair in pairwise([0, *bigrams]))


def test_the_text_after_a_text_does_not_depend_on_its_tokens(case: Any) -> None:
    index, _, rng = case
    texts = [index.text_bytes(d) for d in range(index.n_documents)]
    for _ in range(30):
        text = rng.choice([t for t in texts if t])
        at = rng.randrange(len(text))
        query = text[at : at + rng.randrange(1, 5)]
        n = index.count(query)
        for method, is_next in ((index.next, True), (index.previous, False)):
            found = method(query)
            assert found.total == n == found.counts.sum() and not found.approx and found.ids is None
            for item, count in zip(found.texts, found.counts.tolist(), strict=True):
                if item:
                    assert index.count(query + item if is_next else item + query) >= count
                else:
                    assert sum(t.endswith(query) if is_next else t.startswith(query) for t in texts) == count
            # The bytes of the continuations that adjoin the query have the same counts as in the documents.
            bytes_there = Counter()
            for t in texts:
                for p in oracle.starts(t, query):
                    bytes_there[t[p + len(query) : p + len(query) + 1] if is_next else t[max(0, p - 1) : p]] += 1
            got = Counter()
            for item, count in zip(found.texts, found.counts.tolist(), strict=True):
                got[item[:1] if is_next else item[-1:]] += count
            assert got == bytes_there


def test_count_of_clauses_near_each_other(case: Any) -> None:
    index, shards, rng = case
    for _ in range(20):
        clauses = [[rng.choice([[0], [1], [3, 0], [2], [8], [4]]) for _ in range(rng.choice([1, 2]))] for _ in range(2)]
        clauses = [[list(term) for term in {tuple(term) for term in clause}] for clause in clauses]
        within = rng.choice([None, 1, 3, 10])
        places = [[[p for term in clause for p in oracle.positions(ids, term)] for ids in shards] for clause in clauses]
        totals = [sum(map(len, place)) for place in places]
        rare, other = (places[0], places[1]) if totals[0] <= totals[1] else (places[1], places[0])
        expected = 0
        for s, shard in enumerate(index.shards):
            documents = np.searchsorted(shard.ends.astype(int) - shard.begin, np.arange(len(shard)), "right")
            for p in rare[s]:
                expected += any(
                    documents[p] == documents[q] and (within is None or abs(p - q) <= within) for q in other[s]
                )
        assert index.count(all_of=clauses, within=within) == expected
    assert index.count(all_of=[["ab"]]) == index.count("ab")


def test_overlap_does_not_depend_on_tokens(case: Any, tokenizer: Tokenizer) -> None:
    """Regression: when compared by tokens, 205 of 206 texts of 13 tokens from the corpus shared no window with the
    corpus, because a word has different tokens at the start of a text and inside a document."""
    index, _, rng = case
    for _ in range(30):
        document = index.text_bytes(rng.randrange(index.n_documents))
        begin = rng.randrange(max(1, len(document)))
        text = document[begin : begin + rng.randrange(1, 60)]
        if not text:
            continue
        n = len(word_bounds(text))
        found = index.overlap([text], max(1, n))
        assert found.is_short[0] == (n == 0) and found.share[0] == (n > 0)
        characters = len(character_bounds(text))
        spans = index.spans(text, min_bytes=1)
        assert characters and spans.begins.tolist() == [0] and spans.ends.tolist() == [len(text)]
        assert spans.counts[0] == index.count(text) > 0


def test_a_text_that_fully_occurs_takes_few_searches(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: searching took quadratic time: 16.6 s for 800 KB."""
    index = case[0]
    document = max((index.text_bytes(k) for k in range(index.n_documents)), key=len)
    searched = []
    count = type(index).count
    monkeypatch.setattr(type(index), "count", lambda self, text, **options: searched.append(1) or count(self, text))
    assert len(index.spans(document, min_bytes=1)) == 1
    assert len(searched) <= 2 * len(document).bit_length() + 2


def test_invalid_queries(case: Any) -> None:
    index = case[0]
    for wrong in ({"limit": -1}, {"offset": -1}, {"order": "size"}):
        with pytest.raises(LimitError):
            index.find("a", **wrong)
    with pytest.raises(LimitError):
        index.count()
    with pytest.raises(LimitError):
        index.count("a", all_of=[["b"]])
    with pytest.raises(LimitError):
        index.count(all_of=[[]])
    with pytest.raises(LimitError):
        index.ngrams(0)
    with pytest.raises(LimitError):
        index.overlap(["a"], 0)
    with pytest.raises(LimitError, match="unit must be one of words, bytes, tokens"):
        index.overlap(["a"], 1, "lines")
    with pytest.raises(LimitError):
        index.spans("a", 0)
    with pytest.raises(TypeError):
        index.count_tokens_batch(Packed(np.zeros(2, np.int64), np.array([0, 2])))
    with pytest.raises(IndexError):
        index.count_tokens([70_000 if index.dtype == np.uint16 else 300_000])
    with pytest.raises(IndexError):
        index.text_bytes(99)


def test_a_folder_without_an_index_is_an_error(tmp_path: Path) -> None:
    from pyunitok import open_index
    from pyunitok.errors import OutputError

    with pytest.raises(OutputError, match="not an index"):
        open_index(tmp_path)
