"""Positions: reading resumes from any position with the same result, whatever the block sizes."""

import itertools
import json

import numpy as np
import pytest
import streams
from hypothesis import given
from hypothesis import strategies as st
from oracle import longest as oracle
from toys.plans import make_plan

from pyunitok.corpus import inputs, jsonl, stream
from pyunitok.corpus import text as text_module
from pyunitok.corpus.block import Block
from pyunitok.corpus.jsonl import JsonlReader
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.text import TextReader
from pyunitok.corpus.workers import Workers
from pyunitok.errors import InputError
from pyunitok.run.encoding import Encoder

SEEDS = st.integers(0, 2**30)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for module in (text_module, jsonl):
        monkeypatch.setattr(module, "MAX_DOCS", 4)
    monkeypatch.setattr(text_module, "MIN_FILL_BYTES", 3)
    monkeypatch.setattr(jsonl, "BATCH_BYTES", 50)


def reader_at(data, kind, separator, position, seed):
    """A reader of the remaining bytes that starts at this position."""
    rest, split = streams.Bytes(data[position.bytes :]), streams.split_sometimes(seed)
    if kind == "jsonl":
        return JsonlReader(rest, "text", split, 1 << 20, position)
    return TextReader(rest, separator, split, position)


def read_some(reader, block_bytes, n_blocks, docs, position):
    """Append the documents of some blocks to `docs`; return the position after them."""
    block = Block(np.zeros(block_bytes, np.uint8), np.zeros(5, np.int64))
    for _ in range(n_blocks):
        if reader.finished or not reader.fill(block):
            break
        block.finish()
        assert block.first_document == position.documents == len(docs) - (position.inside > 0)
        for i in range(block.n_docs):
            piece = block.data[block.offsets[i] : block.offsets[i + 1]].tobytes()
            if i == 0 and position.inside:
                docs[-1] += piece
            else:
                docs.append(piece)
        assert block.after.bytes == position.bytes + block.source_bytes
        position = Position.from_json(json.loads(json.dumps(block.after.to_json())))
        assert (position.inside > 0) == block.open_end
        assert position.inside == (len(docs[-1]) if block.open_end else 0)
        assert position.documents == len(docs) - block.open_end
    return position


def read_with_interruptions(data, kind, separator, sizes):
    """The documents, and the last reader's ends_with_separator; each reader stops after some blocks."""
    docs, position = [], BEGINNING
    for block_bytes, n_blocks, seed in sizes:
        reader = reader_at(data, kind, separator, position, seed)
        position = read_some(reader, block_bytes, n_blocks, docs, position)
        if reader.finished:
            return docs, reader.ends_with_separator
        if kind == "jsonl":
            assert position.lines == len(data[: position.bytes].removesuffix(b"\n").split(b"\n")) * (position.bytes > 0)
    reader = reader_at(data, kind, separator, position, 0)
    read_some(reader, 1000, 10**9, docs, position)
    return docs, reader.ends_with_separator


SIZES = st.lists(st.tuples(st.integers(1, 70), st.integers(1, 4), SEEDS), max_size=12)
TEXTS = st.text("ab\n", max_size=90).map(str.encode)
SEPARATORS = st.none() | st.text("ab\n", min_size=1, max_size=4).map(str.encode)


@given(TEXTS, SEPARATORS, SIZES)
def test_text(data, separator, sizes):
    docs, ends = read_with_interruptions(data, "text", separator, sizes)
    assert (docs, ends) == oracle.documents_of_text(data, separator)


ENDS = ["", " ", "\r", "\n", "\n\r\n", "  \n\n"]
LINES = st.lists(st.tuples(st.text(max_size=60), st.sampled_from(ENDS), st.booleans()), max_size=9)


@given(LINES, st.sampled_from([b"", b"\xef\xbb\xbf"]), SIZES)
def test_jsonl(lines, bom, sizes):
    data = (
        bom
        + "\n".join(json.dumps({"a": 1, "text": text}, ensure_ascii=plain) + end for text, end, plain in lines).encode()
    )
    docs, _ = read_with_interruptions(data, "jsonl", None, sizes)
    assert docs == [text.encode() for text, _, _ in lines]


def test_last_line_longer_than_a_block():
    """The reader is not finished until all parts of the text have been read. Regression: the other parts were lost."""
    data = b'{"text":"%b"}' % (b"ab" * 100)
    reader = reader_at(data, "jsonl", None, BEGINNING, 1)
    docs = []
    read_some(reader, 10, 10**9, docs, BEGINNING)
    assert docs == [b"ab" * 100]
    assert reader.finished


@given(SIZES)
def test_bad_lines_keep_their_numbers(sizes):
    data = b'{"text":"a"}\n\n{"text":"bcdefghijklmnopqrstuvw"}\n' * 5 + b"no\n"
    with pytest.raises(InputError, match="test: line 16: "):
        read_with_interruptions(data, "jsonl", None, sizes)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "a.txt").write_bytes(b"the cat\n\n the dog" + b"a" * 900 + b"ab" * 300 + "である\n".encode() * 70)
    (folder / "b.txt").write_bytes(b"")
    (folder / "c.txt").write_bytes(b"\n\n\n")
    lines = [json.dumps({"text": "the aaa " * k}) + "\n\n" for k in range(40)]
    (folder / "d.jsonl").write_text("".join(lines))
    (folder / "e.txt").write_bytes(b"the end")
    return folder


def blocks_of(plan, start=None):
    """For each block: its ids, the ends of its documents, the inputs that ended in it, and the position after it."""
    encoder = Encoder(plan, start or BEGINNING)
    with Workers(plan.reading, encoder, start, encoder.carry) as workers:
        return [
            (r.value.ids[: r.value.n_ids].tolist(), r.value.ends.tolist(), r.endings, r.after)
            for r in workers.results()
        ]


def joined(blocks):
    ids, ends, endings = [], [], []
    for block_ids, block_ends, block_endings, _ in blocks:
        ends += [len(ids) + end for end in block_ends]
        ids += block_ids
        endings += block_endings
    return ids, ends, endings


@pytest.mark.parametrize("separator", [None, b"\n", b"\n\n"])
def test_inputs_resume_from_every_position(toy, corpus, separator, monkeypatch, tmp_path):
    sources = inputs.find([str(corpus)])
    plans = [
        make_plan(sources, tmp_path / "ids", toy, 300, separator, threads=threads, block_bytes=block_bytes)
        for threads, block_bytes in ((1, 1 << 20), (2, 100), (1, 37))
    ]
    opened, original = [], stream.open_readahead
    monkeypatch.setattr(stream, "open_readahead", lambda *source: (opened.append(source[0]), original(*source))[1])
    whole = joined(blocks_of(plans[0]))
    assert whole[0] and [ending.source for ending in whole[2]] == list(range(5))
    for plan, other in itertools.permutations(plans, 2):
        blocks = blocks_of(plan)
        assert joined(blocks)[:2] == whole[:2]
        assert blocks[-1][3] == Position(5)
        for k in range(1, len(blocks), 7):
            opened.clear()
            start = blocks[k - 1][3]
            ids, ends, endings = joined(blocks[:k] + blocks_of(other, start))
            assert opened == sources[start.source :]
            assert (ids, ends) == whole[:2]
            assert [e.ends_with_separator for e in endings] == [e.ends_with_separator for e in whole[2]]


def test_an_input_that_shrank(toy, corpus, tmp_path):
    sources = inputs.find([str(corpus / "e.txt")])
    plan = make_plan(sources, tmp_path / "ids", toy, 300)
    with pytest.raises(InputError, match=r"e\.txt: the text ends before byte 8"):
        blocks_of(plan, Position(0, bytes=8, inside=8))


def test_positions_from_json():
    for values in ({}, {"source": 0}, BEGINNING.to_json() | {"bytes": -1}, BEGINNING.to_json() | {"bytes": "1"}):
        with pytest.raises(ValueError):
            Position.from_json(values)
