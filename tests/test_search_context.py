"""The text around hits, compared with the decoded documents; the inputs of documents; damaged indexes."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import search as oracle
from toys import indexes
from toys.models import BYTES

import pyunitok
from pyunitok import Tokenizer
from pyunitok.errors import LimitError, UnitokError
from pyunitok.index import duplicates
from pyunitok.index.build import build_index
from pyunitok.index.hits import Hits
from pyunitok.index.opened import Index

pytestmark = pytest.mark.usefixtures("both_kinds")

EOD = 300
PIECES = [*BYTES, b"the", b" the", "日本".encode(), b"\xe6\x97", b"\xa5\xe6x"]
TEXTS = [
    "the cat of the 日本語の日本, é and 👍🏽!".encode(), b"", b"\xff\xfe the \xe6\x97 \x80\x80\x80\x80\x80 the",
    b"\x80" * 9 + "日".encode() * 9, b"the", b" the the",
]  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, both_kinds: str) -> Any:
    tokenizer = Tokenizer.from_pieces(PIECES)
    ids = indexes.encode(tokenizer, TEXTS)
    return indexes.make(
        tmp_path_factory.mktemp("context"), tokenizer, [ids[:4], ids[4:]], eod=EOD, documents_per_shard=3,
        inputs=None,
    )  # fmt: skip


@given(st.binary(max_size=40) | st.text("aé日👍", max_size=12).map(str.encode), st.integers(0, 50), st.integers(0, 9))
def test_text_is_cut_between_characters(text: bytes, at: int, n: int) -> None:
    from pyunitok._c import search as c_search

    at = min(at, len(text))
    ids = np.frombuffer(text, np.uint8).astype(np.uint16)
    offsets = np.minimum(np.arange(65537), 256).astype(np.int64)
    hits = np.array([(at, 0, 0, 0, len(ids), 0)], c_search.HIT)
    found, bounds = c_search.contexts(ids, np.arange(256, dtype=np.uint8), offsets, hits, n, n)
    before, match, after = (found[a:b].tobytes() for a, b in pairwise(bounds))
    assert match == b"" and before == oracle.last_characters(text[:at], n)
    assert after == oracle.first_characters(text[at:], n)


@pytest.mark.parametrize("query", ["the", " the", "日本", "", b"\x80", b"\xa5", "cat of the 日", "👍"])
@pytest.mark.parametrize("before, after", [(0, 0), (1, 1), (3, 100), (100, 2)])
def test_contexts_are_parts_of_the_documents(index: Any, query: Any, before: int, after: int) -> None:
    hits = index.find(query, limit=100, order="random")
    found = index.context_batch(hits, before, after)
    assert len(found) == len(hits) and list(found) == [found[k] for k in range(len(hits))]
    for hit, context in zip(hits, found, strict=True):
        text = TEXTS[hit.document]
        assert context == index.context(hit, before, after)
        assert context.before == oracle.last_characters(text[: hit.begin], before)
        assert context.match == text[hit.begin : hit.end]
        assert context.after == oracle.first_characters(text[hit.end :], after)


def test_contexts_do_not_contain_the_space_that_decoding_drops(tmp_path: Path, shared: Path) -> None:
    tokenizer = Tokenizer.from_file(shared / "models/spm/llama2.model")
    index = indexes.make(tmp_path, tokenizer, [indexes.encode(tokenizer, [b"Hello there", b"the Hello"])], eod=2)
    ids = tokenizer.encode("Hello")
    for hit in index.find_tokens(ids, order="text"):
        context, text = index.context(hit, 50, 50), index.text_bytes(hit.document)
        assert context.before + context.match + context.after == text
        assert context.match == text[hit.begin : hit.end] and context.match.strip() == b"Hello"


def test_invalid_contexts(index: Any) -> None:
    with pytest.raises(LimitError):
        index.context_batch(index.find("the"), -1, 0)
    nowhere = np.array([99])
    with pytest.raises(UnitokError, match="damaged"):
        index.context_batch(Hits(np.array([0]), nowhere, nowhere, nowhere, nowhere, nowhere, 1, False))


def test_documents_name_their_inputs(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_pieces(PIECES)
    documents = indexes.encode(tokenizer, [b"a"] * 6)
    inputs = [("empty", 0), ("one", 1), ("none", 0), ("four", 4), ("last", 1), ("end", 0)]
    index = indexes.make(tmp_path, tokenizer, [documents, documents], eod=EOD, inputs=inputs, documents_per_shard=2)
    expected = ["one", "four", "four", "four", "four", "last"] * 2
    assert [index.source(d) for d in range(12)] == expected
    found = [(source.file, source.path, source.hits, source.documents) for source in index.by_source("a")]
    assert found == [(file, name, n, n) for file in (0, 1) for name, n in inputs if n]
    sampled = index.by_source("a", max_hits=11)  # of 12 hits
    assert all(source.approx for source in sampled) and abs(sum(source.hits for source in sampled) - 12) <= 3
    assert index.by_source("a", max_hits=12) == index.by_source("a")
    for wrong in (-1, 12):
        with pytest.raises(IndexError):
            index.source(wrong)
    index.arrays[0].manifest.inputs.pop(0)
    index.arrays[0].manifest.inputs.pop(0)  # the inputs no longer add up to the documents, so the source is unknown
    assert Index(index_of(index)).source(0) is None


def index_of(index: Any) -> Any:
    from pyunitok.index.opening import OpenIndex

    return OpenIndex(index.folder, index.manifest, index.arrays, index.shards)


def test_an_index_without_tokens_has_empty_answers(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_pieces(PIECES)
    for files in ([[]], [[[], []]]):
        index = indexes.make(tmp_path, tokenizer, files, eod=None)
        for name, arguments in CALLS:
            getattr(index, name)(*arguments)
        assert index.count("a") == 0 == len(index.find("a")) == len(index.by_source("a")) == len(index.next("a"))


# ---------------------------------------------------------------------------------------------- damaged indexes ---

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("count", ("the",)), ("count", (b"\x97",)), ("count_batch", (["a", "he", " "],)), ("documents", ("the",)),
    ("by_source", ("e",)), ("next", ("the",)), ("previous", ("the",)), ("next", ([256],)), ("previous", ([256],)),
    ("find", ("the", 20, 0, "text")), ("find", ("e", 20, 0, "random")), ("find_tokens", ([256],)), ("ngrams", (2, 1)),
    ("count_tokens", ([256, 32],)), ("prob", ([256], 32)), ("infgram_prob", ([1, 256], 32)),
    ("infgram_next", ([1, 256],)), ("sample", ([256], 5)), ("overlap", (["the cat of"], 2)), ("spans", ("the cat", 1)),
    ("count_all_of", ([["the"], ["e"]], 5)),
]  # fmt: skip


def ask_everything(index: Any) -> None:
    for name, arguments in CALLS:
        with suppress(UnitokError):
            found = getattr(index, name)(*arguments)
            if isinstance(found, Hits):
                index.context_batch(found)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a token file and an index of three shards."""
    folder = tmp_path_factory.mktemp("damaged")
    rng = random.Random(5)
    for k in range(30):
        (folder / f"{k:02}.txt").write_text(" ".join(rng.choices(["the", "cat", "of", "日本"], k=30)))
    model = Tokenizer.from_pieces([*PIECES, b"<eod>"], eod=len(PIECES), name="toy")
    model.save(folder / "toy.utk")
    pyunitok.tokenize(sorted(folder.glob("*.txt")), folder / "ids.u16", str(folder / "toy.utk"))
    build_index([folder / "ids.u16"], folder / "idx", left=True, shard_tokens=900)
    assert len(list(folder.glob("idx/*.sa"))) == 3
    return folder


def test_sampling_from_a_damaged_index_terminates(written: Path, tmp_path: Path) -> None:
    """Regression: sampling never terminated if no occurrence was followed by a token."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "idx").glob("*.sa"):
        suffixes = np.fromfile(path, "<u4")
        suffixes[:] = len(suffixes) - 1
        suffixes.tofile(path)
    index = pyunitok.open_index(tmp_path / "idx", model=tmp_path / "toy.utk")
    with pytest.raises(UnitokError, match="damaged"):
        index.sample([index.eod], 5)


FILES = ["idx/00000.sa", "idx/00001.first", "idx/00001.top", "idx/00002.left", "ids.u16", "ids.u16.ends"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_give_wrong_answers_or_errors(written: Path, tmp_path: Path, name: str, seed: int) -> None:
    """Whatever the files contain, a search returns an answer or raises a UnitokError."""
    rng = np.random.default_rng(seed)
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    data = np.fromfile(tmp_path / name, np.uint8)
    if seed == 0:
        data[:] = 255
    elif seed == 1:
        data[:] = rng.integers(0, 256, len(data))
    else:
        where = rng.integers(0, len(data), 200 if seed == 2 else 12)
        data[where] = rng.integers(0, 256, len(where))
    data.tofile(tmp_path / name)
    try:
        index = pyunitok.open_index(tmp_path / "idx")
    except UnitokError:
        return
    ask_everything(index)
    with suppress(UnitokError):
        list(duplicates.repeated_spans(index, 3))
    with suppress(UnitokError):
        duplicates.drop_repeats(index, tmp_path / "out.u16", 3)
