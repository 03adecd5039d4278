"""Threads share a Tokenizer, a TokenArray and an Index; on free-threaded CPython they run in parallel."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyunitok

N_THREADS, N_ROUNDS = 8, 25
TEXTS = [f"{k % 5} café 日本語 the quick brown fox — {'x' * k} \U0001f600\n" * (1 + k % 3) for k in range(60)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ret: Path = tmp_path_factory.mktemp("sharing")
    (ret / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    pyunitok.tokenize(ret / "a.jsonl", ret / "ids", metadata=True)
    pyunitok.build_index([ret / "ids"], ret / "idx")
    return ret


def same_in_all_threads(work: Callable[[int], Any]) -> None:
    """Assert that work(k) returns the same value in threads that start together as in one thread, in any order of k."""
    expected = [work(k) for k in range(N_ROUNDS)]
    start = threading.Barrier(N_THREADS)

    def rounds(thread: int) -> list[int]:
        start.wait()
        order = np.random.default_rng(thread).permutation(N_ROUNDS).tolist()
        return [k for k in order if not equal(work(k), expected[k])]

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert list(pool.map(rounds, range(N_THREADS))) == [[]] * N_THREADS


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(np.array_equal(a, b))


def test_tokenizer() -> None:
    tok = pyunitok.Tokenizer.default()

    def work(k: int) -> Any:
        ids = tok.encode(TEXTS[k])
        batch = tok.encode_batch(TEXTS[: k + 1], threads=1 + k % 3)
        return ids, tok.decode(ids), batch.data, batch.offsets, tok.count(TEXTS[k]), tok.encode_with_offsets(TEXTS[k])

    same_in_all_threads(work)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "bytepiece", "longest"])
def test_fresh_tokenizers(kind: str, tmp_path: Path) -> None:
    """All threads at once make the first calls to a fresh tokenizer, which build its encoder."""
    name = tmp_path / ("m.txt" if kind == "longest" else "m.model")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the text has too few repeated substrings
        pyunitok.train(iter(TEXTS), kind=kind, vocab_size=300, out=name)
    tok = pyunitok.Tokenizer.from_file(name)
    other = pyunitok.Tokenizer.from_file(name)
    expected = [tok.encode(text) for text in TEXTS]
    start = threading.Barrier(N_THREADS)

    def work(thread: int) -> bool:
        start.wait()
        return all(equal(other.encode(text), ids) for text, ids in zip(TEXTS, expected, strict=True))

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert all(pool.map(work, range(N_THREADS)))


def test_token_array(folder: Path) -> None:
    docs = pyunitok.open(folder / "ids")
    same_in_all_threads(lambda k: (docs[k], docs.text(k), docs.locate([k, 3 * k]), str(docs.metadata(k))))


def test_index(folder: Path) -> None:
    index = pyunitok.open_index(folder / "idx")
    queries = ["fox", "café", "quick brown", "語 the", "zebra", "x" * 9, "\U0001f600", "the"]

    def work(k: int) -> Any:
        query = queries[k % len(queries)]
        hits = index.find(query, limit=5)
        after = index.next(query, 3).texts if index.count(query) else []
        return index.count(query), [str(index.context(hit, 20, 20).shown()) for hit in hits], after

    same_in_all_threads(work)
