"""Counts and hits of text in shards with random pieces, compared with regular expressions over the documents."""

from __future__ import annotations

import random

import numpy as np
import pytest
from oracle import search as oracle
from oracle.suffix import suffix_array

from pyunitok._c import search as c_search
from pyunitok.index.shard import IndexShard, n_ids

MAX_WORK = 1 << 40
ALPHABETS = [b"a", b"ab", b"abc ", " aé日".encode(), bytes([0, 255, 128]), b"ab\n  "]


def random_pieces(rng: random.Random, *, twins: bool = True) -> list[bytes]:
    """The bytes of ids 0, 1, ...; some are empty, and some are duplicates."""
    alphabet = rng.choice(ALPHABETS)
    ret = [bytes([byte]) for byte in set(alphabet)]
    for _ in range(rng.choice([0, 2, 5, 12, 40])):
        piece = bytes(rng.choice(alphabet) for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 6])))
        if rng.random() < 0.5:
            piece = rng.choice(ret) + rng.choice(ret)
        ret.append(piece[:20])
    if not twins:
        ret = list(dict.fromkeys(ret))
    ret += [b""] * rng.randrange(3)
    rng.shuffle(ret)
    return ret


def random_documents(rng: random.Random, pieces: list[bytes]) -> list[list[int]]:
    """Documents of ids; an id may have no bytes."""
    n_ids = len(pieces)
    docs = []
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        n = rng.choice([0, 1, 2, 5, 20, 60])
        chosen = [rng.randrange(n_ids) for _ in range(rng.choice([1, 2, 5, n_ids]))]
        docs.append([rng.choice(chosen) for _ in range(n)])
    if rng.random() < 0.2:
        docs.append(docs[0] * 3)
    return docs


def spell(pieces: list[bytes], document: list[int]) -> list[bytes]:
    """The text of a document, split at the ids that have no bytes."""
    parts = [b""]
    for id_ in document:
        if pieces[id_]:
            parts[-1] += pieces[id_]
        else:
            parts.append(b"")
    return parts


class Case:
    """A random vocabulary, random documents, and their shard."""

    def __init__(
        self, rng: random.Random, *, order: str | None = None, eod: str | None = None, left: bool | None = None,
        n_tokens: int = 0,
    ) -> None:  # fmt: skip
        self.pieces = random_pieces(rng)
        self.documents = random_documents(rng, self.pieces)
        if n_tokens:
            weights = [rng.random() ** 3 for _ in self.pieces]
            self.documents += [
                rng.choices(range(len(self.pieces)), weights, k=n_tokens // 50) for _ in range(rng.choice([1, 50]))
            ]
        eod = eod or rng.choice(["separator", "piece", "none"])
        if eod == "separator":
            self.pieces.append(b"")
        self.eod = {"separator": len(self.pieces) - 1, "piece": rng.randrange(len(self.pieces)), "none": None}[eod]
        if eod == "separator":
            self.documents = [[id_ for id_ in doc if id_ != self.eod] for doc in self.documents]
        ends = np.cumsum([len(doc) + (self.eod is not None) for doc in self.documents])
        self.ids = [id_ for doc in self.documents for id_ in [*doc, *([] if self.eod is None else [self.eod])]]
        order, dtype = order or rng.choice(["id", "bytes"]), np.dtype(rng.choice(["<u2", "<u4"]))
        rank = None
        if order == "bytes":
            by_bytes = sorted(range(len(self.pieces)), key=lambda id_: (self.pieces[id_], id_))
            rank = np.empty(n_ids(dtype), np.uint32)
            rank[by_bytes + list(range(len(self.pieces), len(rank)))] = np.arange(len(rank))
        keys = np.array(self.ids, np.int64) if rank is None else rank[np.array(self.ids, np.int64)]
        self.sa = oracle.suffix_array_of(keys) if n_tokens else suffix_array(self.ids, rank)
        keep_left = rng.random() < 0.5 if left is None else left
        self.shard = IndexShard.from_arrays(np.array(self.ids, dtype), self.sa, rank=rank, ends=ends, left=keep_left)
        self.drops = np.array([piece[:1] == b" " and rng.random() < 0.7 for piece in self.pieces], np.uint8)
        if rng.random() < 0.5:
            self.drops[:] = 0
        s = self.shard
        self.c = c_search.SearchShard(
            ids=s.ids, sa=s.sa, first=s.first, top=s.top if rng.random() < 0.7 else s.top[:0], left=s.left,
            rank=s.ranks, ends=s.ends, begin=0, eod=self.eod,
        )  # fmt: skip
        self.tables = tables(self.pieces, self.drops, s.ranks)
        if rng.random() < 0.5:
            self.c.attach_inside(self.tables)

    def texts(self) -> list[bytes]:
        """The parts of the documents in which a query can occur."""
        ret = []
        for doc in self.documents:
            parts = spell(self.pieces, doc)
            if doc and self.drops[doc[0]]:
                parts[0] = parts[0][1:]
            ret += parts
        return ret

    def query(self, rng: random.Random) -> bytes:
        kind = rng.choice(["part", "part", "part", "across", "random", "piece"])
        whole = b"".join(self.pieces[id_] for id_ in self.ids)
        text = whole if kind == "across" else rng.choice(self.texts())
        at = rng.randrange(len(text) + 1)
        n = rng.choice([1, 1, 2, 3, 4, 6, 10, 30])
        if kind == "random":
            return bytes(rng.choice(whole or b"x") for _ in range(n))
        if kind == "piece":
            return rng.choice(self.pieces) + rng.choice(self.pieces)
        return text[at : at + n]


def tables(pieces: list[bytes], drops: np.ndarray, rank: np.ndarray) -> c_search.SearchPieces:
    symbols = [symbol for piece in pieces for symbol in [*(byte + 1 for byte in piece), 0]]
    order = np.array(suffix_array(symbols), np.uint32)
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return c_search.SearchPieces(np.frombuffer(b"".join(pieces), np.uint8), offsets, drops, rank, order)


def hits(case: Case, runs: np.ndarray) -> list[tuple[int, int]]:
    """The (token, byte inside the token) of each hit."""
    return [
        (case.sa[r] - int(run["back"]), int(run["skip"])) for run in runs for r in range(int(run["lo"]), int(run["hi"]))
    ]


SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 100))]


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_and_hits_match_a_regular_expression(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        check(rng, Case(rng), 25)


@pytest.mark.parametrize("seed", SEEDS)
def test_large_intervals(seed: int) -> None:
    rng = random.Random(seed)
    check(rng, Case(rng, n_tokens=rng.choice([3000, 30_000])), 25)


def check(rng: random.Random, case: Case, n_queries: int) -> None:
    texts = case.texts()
    queries = [case.query(rng) for _ in range(n_queries)]
    data = np.frombuffer(b"".join(queries), np.uint8)
    offsets = np.cumsum([0, *map(len, queries)], dtype=np.int64)
    counts, approx = case.c.count_text(case.tables, data, offsets, MAX_WORK)
    assert not approx.any()
    for query, found in zip(queries, counts.tolist(), strict=True):
        expected = oracle.count(texts, query)
        assert found == expected, (query, case.pieces, case.documents[:10], case.eod)
        assert case.c.count_one(case.tables, query, MAX_WORK) == (expected, False)
        runs, _ = case.c.find_text(case.tables, query, 1 << 60, MAX_WORK)
        places = hits(case, runs)
        assert len(places) == len(set(places)) == expected
        for token, skip in places:
            rest = b"".join(case.pieces[id_] for id_ in case.ids[token : token + len(query) + 1])
            assert skip < len(case.pieces[case.ids[token]]) and rest[skip:].startswith(query)
