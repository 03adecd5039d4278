"""Index and TokenArray as Python objects: pickles, reprs, notebook tables, and pandas tables."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Sequence
from dataclasses import astuple, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import pyunitok
from pyunitok import Index, Tokenizer
from pyunitok.errors import LimitError
from pyunitok.index.build import build_index

TEXTS = [
    "the cat sat on the mat", "a cat and the dog", "no animal", "The end of the cat's tale", "the Zebra and the bat",
]  # fmt: skip


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("".join(text + "\n" for text in TEXTS))
    pyunitok.tokenize("a.txt", "a.u16", separator="\n")
    build_index(["a.u16"], "idx")
    return pyunitok.open_index("idx")


def _count(index: Index) -> int:
    return int(index.count("cat"))


def test_an_index_is_pickled_by_its_path(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: DataLoader pickles the index to start workers, and raised "cannot pickle '_thread.lock' object"."""
    assert index.count("cat") == 3  # builds the tables, which are not pickled
    pickled = pickle.dumps(index)
    assert len(pickled) < 1000
    monkeypatch.chdir(tmp_path.parent)  # the path is absolute
    copy = pickle.loads(pickled)
    assert copy.count("cat") == 3 and copy.max_work == index.max_work
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_count, [index]) == [3]


def test_a_pickle_keeps_the_options(index: Index) -> None:
    model = Tokenizer.from_file("unitok-v1")
    copy = pickle.loads(pickle.dumps(pyunitok.open_index("idx", model=model, max_work=7)))
    assert copy.max_work == 7 and copy.tokenizer == model


def test_notebook_tables(index: Index) -> None:
    n = index.n_tokens
    assert repr(index) == f"Index('idx', 5 documents, {n} tokens, 1 shard, 1 token file)"
    shown = index._repr_html_()
    assert "<caption>Index idx</caption>" in shown and f"<th>tokens</th><td>{n}</td>" in shown and "unitok-v1" in shown
    array = pyunitok.open("a.u16")
    assert f"<th>tokens</th><td>{n} (uint16)</td>" in array._repr_html_()
    array.manifest.model["name"] = "<script>"  # type: ignore[union-attr]
    assert "<script>" not in array._repr_html_()
    assert f"{2 * n} tokens (uint16)" in pyunitok.open(["a.u16", "a.u16"])._repr_html_()
    assert "bytes per token" not in pyunitok.open("a.u16.ends", dtype="uint16")._repr_html_()  # without a manifest


def rows_of(value: Any) -> list[tuple[Any, ...]]:
    """The rows that pandas.DataFrame(value) creates from an iterable of dataclasses."""
    items = value if isinstance(value, Sequence) else list(value)
    assert len(items) == len(value) and is_dataclass(items[0]) and items[0] == value[0]
    return [astuple(item) for item in items]


def test_documents_are_a_table(index: Index) -> None:
    found = index.documents("the ")
    assert rows_of(found) == list(zip(found.documents.tolist(), found.counts.tolist(), strict=True))
    assert rows_of(found)[0] == (0, 2) and list(index.documents("nothing")) == []
    with pytest.raises(IndexError):
        found[len(found)]
    assert rows_of(index.find("the")) and rows_of(index.by_source("the"))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(found)
    assert frame.columns.tolist() == ["document", "count"] and frame["count"].tolist() == found.counts.tolist()


def around(index: Index, hits: Any) -> list[tuple[str, str]]:
    return [(context.before.decode(), context.after.decode()) for context in index.context_batch(hits)]


@pytest.mark.parametrize("page", [1, 2, 100])
def test_hits_in_the_order_of_their_neighbours(index: Index, page: int) -> None:
    """order= accepts R1 and L1, as --sort does."""
    tokens = index.ids("the")
    for find, query in ((index.find, "the"), (index.find_tokens, tokens)):
        hits = around(index, find(query, 100))
        n = len(hits)
        for order, key in (
            ("R1", lambda pair: pair[1].casefold().split()), ("L1", lambda pair: pair[0].casefold().split()[::-1]),
        ):  # fmt: skip
            pages = [find(query, page, at, order) for at in range(0, n + page, page)]
            assert [pair for hits in pages for pair in around(index, hits)] == sorted(hits, key=key)
            assert {len(one) for one in pages[:-2]} <= {page} and {one.total for one in pages} == {n}
    batch = index.find_batch(["the", "cat"], 2, "R1")
    assert [hit.begin for hit in batch.hits] == [
        hit.begin for query in ("the", "cat") for hit in index.find(query, 2, 0, "R1")
    ]
    with pytest.raises(LimitError, match="R1, L1"):
        index.find("the", order="R2")  # type: ignore[arg-type]
