"""Splitting text into documents: the C search, and TextReader at every block size compared with bytes.split."""

import json

import numpy as np
import pytest
import streams
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import longest as oracle

from pyunitok._c import text as c_text
from pyunitok.corpus import text as text_module
from pyunitok.corpus.text import TextReader

FEW_LETTERS = st.text("ab\n", max_size=60).map(str.encode)
SEPARATORS = st.text("ab\n", min_size=1, max_size=5).map(str.encode)


@given(FEW_LETTERS, SEPARATORS, st.integers(2, 70))
def test_split_documents(data, separator, max_docs):
    text = np.frombuffer(data + b"\xff", np.uint8).copy()
    offsets = np.full(max_docs + 1, -1, np.int64)
    n_docs, n_consumed = c_text.split_documents(text, len(data), separator, offsets)
    want = data.split(separator, max_docs - 1)
    if len(want) == max_docs:
        assert n_consumed == len(data) - len(want[-1])
        assert text[n_consumed:].tobytes() == want[-1] + b"\xff"
        want[-1] = b""
    else:
        assert n_consumed == len(data)
    assert n_docs == len(want)
    assert [text[offsets[i] : offsets[i + 1]].tobytes() for i in range(n_docs)] == want


def test_split_documents_checks_its_arrays():
    text, offsets = np.zeros(4, np.uint8), np.zeros(4, np.int64)
    for arguments in (
        (text, 5, b"x", offsets), (text, 4, b"", offsets), (text, 4, b"x", offsets[:2]), (text[::2], 2, b"x", offsets),
        (text.astype(np.int8), 4, b"x", offsets), (text, 4, b"x", offsets.astype(np.int32)),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            c_text.split_documents(*arguments)


def check(data, separator, block_bytes, split, n_offsets=5):
    reader = TextReader(streams.Bytes(data), separator, split)
    docs, n_bytes = streams.read_documents(reader, block_bytes, n_offsets)
    want, ends = oracle.documents_of_text(data, separator)
    assert docs == want
    assert reader.ends_with_separator is ends
    assert n_bytes == len(data)


@pytest.fixture(autouse=True)
def few_docs(monkeypatch):
    monkeypatch.setattr(text_module, "MAX_DOCS", 4)
    monkeypatch.setattr(text_module, "MIN_FILL_BYTES", 3)


@pytest.mark.parametrize("separator", [None, b"\n", b"\n\n", b"aa", b"aba", b"abaab", b"<|end|>"])
@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\n", b"\n\n", b"\n\n\n", b"a", b"aa", b"aaa", b"x\ny", b"x\ny\n", b"\nx"),
        b"aabaabaaabaababaab" * 3,
        b"one<|end|>two<|en<|end|><|end|>",
        b"long document " * 9 + b"\n\n" + b"b\n" * 9,
        b"\n" * 40 + b"a" * 40,
    ],
)
def test_every_block_size(separator, data):
    for block_bytes in range(1, len(data) + 3):
        for k in (1, 2, 5):
            check(data, separator, block_bytes, streams.split_at_multiples(k))


@settings(max_examples=300)
@given(FEW_LETTERS, st.none() | SEPARATORS, st.integers(1, 70), st.integers(0, 9), st.integers(5, 9))
def test_any(data, separator, block_bytes, seed, n_offsets):
    check(data, separator, block_bytes, streams.split_sometimes(seed), n_offsets)


def test_real_limits(monkeypatch):
    monkeypatch.undo()
    for data in (b"\n" * 300_000, b"ab\n" * 100_000 + b"x" * 500_000 + b"\ny" * 70_000):
        check(data, b"\n", 1 << 16, streams.split_at_multiples(7))


def test_without_a_cut_the_block_grows():
    sizes = []

    def split(text):
        sizes.append(len(text))
        return 0

    check(b"a" * 1000, None, 10, split)
    assert sizes == [10, 20, 40, 80, 160, 320, 640]


def test_short_documents_are_not_divided():
    def check_pieces(block):
        begin, end = block.offsets[block.n_docs - 1], block.offsets[block.n_docs]
        assert end - begin > 10

    reader = TextReader(streams.Bytes(b"x" * 24 + b"\n" + (b"y" * 24 + b"\n") * 30), b"\n", len)
    docs, _ = streams.read_documents(reader, 100, 5, check_pieces)
    assert docs == [b"x" * 24] + [b"y" * 24] * 30


def test_empty_separator():
    with pytest.raises(ValueError):
        TextReader(streams.Bytes(b""), b"", len)


@given(FEW_LETTERS, st.none() | SEPARATORS, st.integers(1, 70), st.integers(0, 9))
def test_metadata_contains_the_beginnings_of_documents(data, separator, block_bytes, seed):
    reader = TextReader(streams.Bytes(data), separator, streams.split_sometimes(seed), metadata=True)
    got = streams.read_documents(reader, block_bytes)
    where = [json.loads(line) for line in got.metadata]
    assert len(where) == len(got.documents)
    for number, (place, document) in enumerate(zip(where, got.documents, strict=True)):
        assert place["file"] == "test"
        assert data[place["byte"] :].startswith(document + (separator or b"") if number + 1 < len(where) else document)
        assert place["line"] == number + 1 if separator == b"\n" else place["document"] == number
    begins = [place["byte"] for place in where]
    assert begins == sorted(begins) and begins[:1] in ([], [0])
