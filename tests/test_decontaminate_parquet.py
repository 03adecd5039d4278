"""decontaminate reads and writes Parquet: columns, row groups, compressions, actions, and resuming in row groups."""

from __future__ import annotations

import datetime
import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
from test_decontaminate import FILLER, QUESTION

from pyunitok import InputError
from pyunitok import decontaminate as run_decontaminate
from pyunitok.clean import output
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.corpus.thrift import ThriftReader
from pyunitok.corpus.thrift_tree import read_struct, write_struct

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

GROUPS = [50, 1, 200, 7, 300]
SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("kind", pa.dictionary(pa.int8(), pa.string())), ("text", pa.large_string()),
        ("when", pa.timestamp("ns", "UTC")),
        ("tags", pa.list_(pa.struct([("name", pa.string()), ("p", pa.float32())]))),
        pa.field("key", pa.binary(3), nullable=False), ("empty", pa.null()),
    ],
    metadata={"made by": "a test"},
)  # fmt: skip


def row(i: int) -> dict[str, Any]:
    text = FILLER.format(i) * (1 + i % 30)
    return {
        "id": i, "kind": random.Random(i).choice(["book", "page", None]),
        "text": text + QUESTION.upper() + FILLER.format(i) * 10 if i % 9 == 4 else text,
        "when": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), "key": b"%03d" % i,
        "tags": [{"name": "é" * (i % 4), "p": i / 8}] * (i % 3) if i % 5 else None, "empty": None,
    }  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "bench.jsonl").write_text(json.dumps({"question": QUESTION}) + "\n")
    (tmp_path / "in").mkdir()
    rows = [row(i) for i in range(sum(GROUPS))]
    compressions = {"id": "none", "text": "zstd", "key": "gzip", "tags.list.element.name": "snappy"}
    with pq.ParquetWriter(tmp_path / "in/a.parquet", SCHEMA, compression=compressions) as writer:
        for n in GROUPS:
            writer.write_table(pa.Table.from_pylist(rows[:n], SCHEMA))
            rows = rows[n:]
    pq.write_table(SCHEMA.empty_table(), tmp_path / "in/b.parquet")
    return tmp_path


def clean(corpus: Path, out: str | None = "clean", name: str = "in", **options: Any) -> Any:
    options = {"field": "question", "max_common": None, "reading": ReadingOptions(block_bytes=1 << 14)} | options
    return run_decontaminate(corpus / name, out and corpus / out, corpus / "bench.jsonl", **options)


def test_drop(corpus):
    found = clean(corpus, report=corpus / "h.jsonl")
    expected = [row(i) for i in range(sum(GROUPS)) if i % 9 != 4]
    assert (found.documents_read, found.documents_written) == (sum(GROUPS), len(expected))
    table = pq.read_table(corpus / "clean/a.parquet")
    assert table.schema.equals(pq.read_schema(corpus / "in/a.parquet"), check_metadata=True)
    assert table.schema.equals(SCHEMA)
    assert table.schema.metadata[b"made by"] == b"a test"
    assert table.to_pylist() == pa.Table.from_pylist(expected, SCHEMA).to_pylist()
    before, after = (pq.ParquetFile(corpus / name / "a.parquet").metadata for name in ("in", "clean"))
    sizes = [[i % 9 != 4 for i in range(sum(GROUPS[:k]), sum(GROUPS[: k + 1]))].count(True) for k in range(5)]
    assert [after.row_group(k).num_rows for k in range(after.num_row_groups)] == [n for n in sizes if n]
    for k in range(before.num_columns):
        assert after.row_group(0).column(k).compression == before.row_group(0).column(k).compression
    with pq.ParquetFile(corpus / "clean/a.parquet", page_checksum_verification=True) as file:
        assert [file.read_row_group(k).num_rows for k in range(file.num_row_groups)] == [n for n in sizes if n]
    assert pq.read_table(corpus / "clean/b.parquet").equals(SCHEMA.empty_table())
    hits = [json.loads(line) for line in (corpus / "h.jsonl").read_bytes().splitlines()]
    assert [hit["id"] for hit in hits] == [hit["document"] for hit in hits] == list(range(4, sum(GROUPS), 9))
    assert {hit["text"] for hit in hits} == {QUESTION.upper()[:-1]}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())])
def test_cut_and_mark_nested_texts(corpus, kind):
    """Each piece becomes a row with the other fields of the document; marks are JSON in a separate column."""
    schema = pa.schema([("a", pa.struct([("n", pa.int32()), ("text", kind)])), ("b", pa.string())])
    texts = ["x " * 200 + QUESTION + " y" * 200, "clean\xff", None, QUESTION]
    rows = [{"a": {"n": k, "text": text.encode("latin-1") if text and kind == pa.large_binary() else text}, "b": str(k)}
            for k, text in enumerate(texts)]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, schema), corpus / "n.parquet", row_group_size=2)
    options = {"name": "n.parquet", "reading": ReadingOptions(text_key="a.text", on_error="skip")}
    assert clean(corpus, "cut.parquet", action="cut", cut_around=10, min_piece=100, **options).skipped == 1
    table = pq.read_table(corpus / "cut.parquet")
    assert table.schema.equals(schema)
    found = table.to_pylist()
    assert [(one["a"]["n"], one["b"]) for one in found] == [(0, "0"), (0, "0"), (1, "1")]
    pieces = [one["a"]["text"] for one in found]
    assert [len(piece) for piece in pieces] == [390, 391, len(rows[1]["a"]["text"])]
    assert pieces[2] == rows[1]["a"]["text"]
    clean(corpus, "marked.parquet", action="mark", **options)
    marked = pq.read_table(corpus / "marked.parquet")
    assert marked.schema.equals(schema.append(pa.field("contamination", pa.string())))
    assert marked.column("a").to_pylist() == [rows[k]["a"] for k in (0, 1, 3)]
    marks = [mark and json.loads(mark)[0]["item"] for mark in marked.column("contamination").to_pylist()]
    assert marks == ["1", None, "1"]
    with pytest.raises(InputError, match="already has a column 'contamination'"):
        clean(corpus, "again.parquet", action="mark", **options | {"name": "marked.parquet"})
    assert clean(corpus, None, action="report", report=corpus / "h.jsonl", **options).documents_affected == 2


@pytest.mark.parametrize("action", ["drop", "cut", "mark"])
def test_string_views(corpus, action):
    """Regression: pyarrow cannot take rows of string views; the command failed as if it had a bug."""
    view, texts = pa.string_view(), ["x " * 200 + QUESTION + " y" * 200, None, "clean", QUESTION]
    nested = pa.struct([("b", pa.binary_view()), ("c", view), ("d", pa.list_(view)), ("e", pa.map_(view, view))])
    schema = pa.schema([("id", view), ("text", view), ("a", nested), ("f", pa.large_list(view))])
    a = {"b": b"\xff", "c": None, "d": ["x", None], "e": [("k", "v")]}
    rows = [{"id": str(k), "text": text, "a": a, "f": [str(k)]} for k, text in enumerate(texts)]
    pq.write_table(pa.Table.from_pylist(rows, schema), corpus / "v.parquet")
    reading = ReadingOptions(on_error="skip")
    clean(corpus, "out.parquet", "v.parquet", action=action, report=corpus / "h.jsonl", reading=reading)
    found = pq.read_table(corpus / "out.parquet").to_pylist()
    assert "".join(one["id"] for one in found) == {"drop": "2", "cut": "002", "mark": "023"}[action]
    assert [one["a"] for one in found] == [a] * len(found) and all(one["f"] == [one["id"]] for one in found)
    if action == "cut":
        assert [len(one["text"]) for one in found] == [200, 201, 5]
    else:
        assert all(one["text"] == texts[int(one["id"])] for one in found)
    assert [json.loads(line)["id"] for line in (corpus / "h.jsonl").read_bytes().splitlines()] == ["0", "3"]


@pytest.mark.parametrize("kill_at", [1, 2, 3, 4, 6])
def test_killed_runs_resume_in_row_groups(corpus, monkeypatch, kill_at):
    options = {"report": corpus / "h.jsonl", "max_common": 1000}
    whole = clean(corpus, "whole", **options | {"report": corpus / "w.jsonl"})
    monkeypatch.setattr(output, "CHECKPOINT_SECONDS", 0)
    checkpoint, n_left = output.CleanOutput.checkpoint, kill_at

    def killed(self, progress):
        nonlocal n_left
        checkpoint(self, progress)
        n_left -= progress["is_counted"]
        if not n_left:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if pid == 0:
        output.CleanOutput.checkpoint = killed
        clean(corpus, **options)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert clean(corpus, **options) == whole
    for name in ("a.parquet", "b.parquet"):
        assert (corpus / "clean" / name).read_bytes() == (corpus / "whole" / name).read_bytes()
    assert (corpus / "h.jsonl").read_bytes() == (corpus / "w.jsonl").read_bytes()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_bytes", [1 << 10, 1 << 20])
def test_blocks_do_not_matter(corpus, threads, block_bytes):
    clean(corpus, "other", reading=ReadingOptions(threads=threads, block_bytes=block_bytes))
    clean(corpus)
    assert (corpus / "other/a.parquet").read_bytes() == (corpus / "clean/a.parquet").read_bytes()


def test_hostile_files(corpus):
    data = (corpus / "in/a.parquet").read_bytes()
    for k in range(40):
        rng = random.Random(k)
        wrong = bytearray(data)
        for _ in range(rng.choice([1, 30])):
            wrong[rng.randrange(4, len(data))] = rng.randrange(256)
        (corpus / "wrong.parquet").write_bytes(wrong)
        try:
            clean(corpus, "wrong-out.parquet", name="wrong.parquet", overwrite=True)
        except InputError as error:
            assert "wrong.parquet" in str(error)
        else:
            assert len(pq.read_table(corpus / "wrong-out.parquet")) > 0


def test_footers_are_written_as_they_were_read(corpus):
    data = (corpus / "in/a.parquet").read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    struct = read_struct(ThriftReader(footer))
    assert write_struct(struct) == footer
    values = {1: (5, -(2**31)), 2: (6, 2**63 - 1), 20: (1, None), 300: (2, None), 301: (9, (8, [b"x"] * 20)),
              302: (12, {1: (7, b"8 bytes."), 40: (3, b"\xff")}), 303: (9, (5, [])),
              304: (9, (1, [b"\1", b"\2"]))}  # fmt: skip
    assert read_struct(ThriftReader(write_struct(values))) == values
    with pytest.raises(ValueError, match="unsupported type 11"):
        read_struct(ThriftReader(b"\x1b\0"))
