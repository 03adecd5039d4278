"""Searching for text in compact indexes: the same counts and places as in suffix arrays, for every kind of model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import find_shared
from test_search import random_text, toy_tokenizers
from toys import indexes

from pyunitok import Tokenizer
from pyunitok._c.compact import CompactSearch
from pyunitok.index.compact import compacted

EVERYTHING = 1 << 40


def compact_of(index: Any, number: int, **options: Any) -> CompactSearch:
    """A shard of an index as a compact index in memory."""
    return compacted(index.shards[number], **options).searcher(index.eod)


def places(runs: Any, positions: Any) -> list[tuple[int, int]]:
    """The (token, skip) of every occurrence, sorted."""
    ret = []
    for run in runs:
        tokens = positions(np.arange(run["lo"], run["hi"])).astype(np.int64) - run["back"]
        ret += [(token, int(run["skip"])) for token in tokens.tolist()]
    return sorted(ret)


def check(index: Any, queries: list[bytes], **options: Any) -> None:
    tables = index.tables.c
    for number, suffix_array in enumerate(index.c):
        found = compact_of(index, number, **options)
        for query in queries:
            count, approx = found.count_one(tables, query, EVERYTHING)
            assert (count, approx) == suffix_array.count_one(tables, query, EVERYTHING), query
            runs, approx = found.find_text(tables, query, EVERYTHING, EVERYTHING)
            expected, _ = suffix_array.find_text(tables, query, EVERYTHING, EVERYTHING)
            wanted = places(expected, index.shards[number].positions)
            assert places(runs, found.compact.locate) == wanted and not approx, query
            for work in (0, 3000, 100_000):
                bound, is_bound = found.count_one(tables, query, work)
                assert bound <= count and (is_bound or bound == count)
            if count:
                some, _ = found.find_text(tables, query, 1, EVERYTHING)
                assert int((some["hi"] - some["lo"]).sum()) >= 1


@pytest.mark.parametrize("seed", [*range(25), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(25, 250))])
def test_toy_models_of_every_kind(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    tokenizer, alphabet = toy_tokenizers(rng)
    documents = [random_text(rng, alphabet) for _ in range(8)]
    eods = [None, tokenizer.vocab_size, rng.randrange(tokenizer.vocab_size)]
    index = indexes.make(
        tmp_path, tokenizer, [indexes.encode(tokenizer, documents)], eod=rng.choice(eods),
        order=rng.choice(["id", "bytes"]), documents_per_shard=rng.choice([1, 3, 100]),
    )  # fmt: skip
    queries = [documents[0] + documents[1], b" ", b"", random_text(rng, alphabet), *(doc[:3] for doc in documents)]
    for _ in range(25):
        text = rng.choice(documents)
        at = rng.randrange(len(text) + 1)
        queries.append(text[at : at + rng.choice([1, 2, 3, 7, 20])])
    locate, extract = rng.choice([1, 4, 32]), rng.choice([1, 5])
    check(index, queries, block=rng.choice([64, 128]), locate_every=locate, extract_every=extract)


@pytest.mark.parametrize("path", [None, "spm/llama2.model", "bytepiece/bytepiece.plus.40k.model"])
def test_real_models(path: str | None, tmp_path: Path, rwkv: Tokenizer) -> None:
    tokenizer = Tokenizer.from_file(find_shared(f"models/{path}")) if path else rwkv
    rng = random.Random(3)
    text = find_shared("README.md").read_bytes()
    documents = [*(text[at : at + 700] for at in range(0, len(text), 700)), b" lead", b""]
    index = indexes.make(
        tmp_path, tokenizer, [indexes.encode(tokenizer, documents)], eod=tokenizer.eos_id or 0, documents_per_shard=50
    )
    queries = [b" ", b"e", b"the", b" the"]
    for _ in range(150):
        at = rng.randrange(len(text))
        queries.append(text[at : at + rng.randrange(1, 40)])
    check(index, queries)


def test_without_samples_documents_need_an_eod(tmp_path: Path, rwkv: Tokenizer) -> None:
    documents = [b"a cat sat", b"on a mat"]
    for eod in (0, None):
        (tmp_path / str(eod)).mkdir()
        index = indexes.make(tmp_path / str(eod), rwkv, [indexes.encode(rwkv, documents)], eod=eod)
        found = compact_of(index, 0, locate_every=0, extract_every=0)
        if eod is None:
            with pytest.raises(ValueError, match="documents must end with an eod"):
                found.count_one(index.tables.c, b"a cat", EVERYTHING)
        else:
            assert found.count_one(index.tables.c, b"at", EVERYTHING) == (3, False)


def test_runs_of_a_letter_take_bounded_work(tmp_path: Path) -> None:
    """A run of "a" has very many tokenizations, only a few of which occur."""
    tokenizer = Tokenizer.from_pieces(["aa", "aaaa", "a b", *(bytes([byte]) for byte in range(256))])
    documents = [b"a" * 5000, b"ab" * 3000, b" " * 5000, b"x" + b"a" * 999, b"a b" * 900]
    index = indexes.make(tmp_path, tokenizer, [indexes.encode(tokenizer, documents)], eod=300)
    queries = [b"a" * 1000, b" ", b"a", b"aa", b"a" * 10_000, b"ab" * 2999, b"b" * 9, b" " * 499]
    check(index, [*queries, bytes(range(256)) * 40])
