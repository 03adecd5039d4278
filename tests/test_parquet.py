"""ParquetReader compared with pyarrow: types, row groups, nulls, nesting, damage, memory."""

import datetime
import decimal
import io
import json
import random

import numpy as np
import pytest
import streams
from conftest import decompressed
from hypothesis import given
from hypothesis import strategies as st
from test_position import read_some
from toys import models
from toys.plans import make_plan

import pyunitok
from pyunitok.corpus import inputs, parquet
from pyunitok.corpus.block import BadDocument, Block
from pyunitok.corpus.parquet import ParquetReader
from pyunitok.corpus.position import BEGINNING
from pyunitok.errors import InputError
from pyunitok.run.pipeline import tokenize
from pyunitok.run.plan import Callbacks
from pyunitok.tokens.detokenize import detokenize

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXTS = ["", "a", "two\nlines", "吾輩は猫である。", "😀" * 9, "long " * 30, "é", "", "x" * 700]
TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()]
TYPES += [pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.binary())]


def array_of(texts, kind=None):
    kind = kind or pa.string()
    if pa.types.is_dictionary(kind):
        return array_of(texts, kind.value_type).dictionary_encode().cast(kind)
    return pa.array([text if text is None else text.encode() for text in texts], pa.binary()).cast(kind)


def file_of(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file


def table_of(texts, kind=None):
    column = array_of(texts, kind)
    numbers = pa.array(range(len(texts)))
    return pa.table({"id": numbers, "text": column, "a": pa.StructArray.from_arrays([numbers, column], ["id", "b"])})


def read(file, key="text", block_bytes=1000, split=len, **options):
    reader = ParquetReader(io.BytesIO(file.getvalue()), "test", key, split, **options)
    docs, n_bytes = streams.read_documents(reader, block_bytes)
    assert n_bytes == sum(map(len, docs))
    assert reader.finished
    n_rows = pq.read_metadata(io.BytesIO(file.getvalue())).num_rows
    assert reader.compressed_position() == (len(file.getvalue()) if n_rows else 0)
    reader.close()
    return docs


def read_skipping(file, key, block_bytes, split):
    """(row, text) for each document, and the skipped rows."""
    reader = ParquetReader(io.BytesIO(file.getvalue()), "test", key, split, skip=True)
    docs, bad = [], []
    going_on = False
    for block in fill_all(reader, block_bytes):
        first = block.first_document
        numbers = range(first, first + block.n_docs) if block.numbers is None else block.numbers.tolist()
        for i, number in enumerate(numbers):
            piece = block.data[block.offsets[i] : block.offsets[i + 1]].tobytes()
            if i == 0 and going_on:
                assert docs[-1][0] == number
                docs[-1] = (number, docs[-1][1] + piece)
            else:
                docs.append((number, piece))
        going_on = block.open_end
        bad += block.bad
    return docs, bad


def fill_all(reader, block_bytes):
    block = streams.Block(streams.np.zeros(block_bytes, streams.np.uint8))
    while reader.fill(block):
        yield block
    yield block


def want(file, key="text"):
    """The column as pyarrow reads it, without nulls."""
    column = pq.read_table(io.BytesIO(file.getvalue())).column(key.split(".")[0])
    values = column.to_pylist()
    for name in key.split(".")[1:]:
        values = [value and value[name] for value in values]
    return [value.encode() if isinstance(value, str) else value for value in values if value is not None]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("key", ["text", "a.b"])
def test_types(kind, key):
    try:
        file = file_of(table_of(TEXTS * 3, kind))
    except pa.ArrowNotImplementedError as error:
        pytest.skip(f"pyarrow {pa.__version__} cannot write such a file: {error}")
    assert want(file, key) == [text.encode() for text in TEXTS * 3]
    for block_bytes in [*range(1, 100, 7), 1000, 10_000]:
        assert read(file, key, block_bytes, streams.split_at_multiples(3)) == want(file, key)


@pytest.mark.skipif(not hasattr(pa, "json_"), reason="requires pyarrow 19")
def test_extension_type():
    storage = pa.array(['{"a":1}', "[]"])
    file = file_of(pa.table({"text": pa.ExtensionArray.from_storage(pa.json_(), storage)}))
    assert read(file) == [b'{"a":1}', b"[]"]


FILES = st.fixed_dictionaries(
    {
        "texts": st.lists(st.none() | st.text("ab é世", max_size=60), max_size=40),
        "kind": st.sampled_from([kind for kind in TYPES if "view" not in str(kind)]),  # cannot be written in parts
        "row_group_size": st.integers(1, 50),
        "data_page_size": st.integers(1, 300),
        "use_dictionary": st.booleans(),
        "dictionary_pagesize_limit": st.integers(1, 300),
        "compression": st.sampled_from(["none", "snappy", "zstd", "gzip"]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "write_page_checksum": st.booleans(),
    }
)


@given(FILES, st.integers(0, 2**30), st.integers(1, 90), st.integers(1, 60), st.integers(1, 9))
def test_random_files(options, seed, block_bytes, batch_bytes, most_rows):
    """Random files and blocks, starting from any position; nulls are skipped and listed."""
    options, chance = dict(options), random.Random(seed)
    texts, kind = options.pop("texts"), options.pop("kind")
    column = array_of(texts, kind)
    absent = pa.array([chance.random() < 0.2 for _ in texts], pa.bool_())
    nested = pa.StructArray.from_arrays([column], ["b.c"], mask=absent)
    file = file_of(pa.table({"text": column, "a": nested}), **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "BATCH_BYTES", batch_bytes)
        patch.setattr(parquet, "MAX_ROWS", most_rows)
        patch.setattr(parquet, "FIRST_ROWS", 1 + most_rows // 2)
        for key in ("text", r"a.b\.c"):
            values = texts
            if key != "text":
                values = [None if gone else text for gone, text in zip(absent.to_pylist(), texts, strict=True)]
            rows = [(row, text.encode()) for row, text in enumerate(values) if text is not None]
            nulls = [BadDocument(row + 1, f"{key!r} is null") for row, text in enumerate(values) if text is None]
            docs, bad = read_skipping(file, key, block_bytes, streams.split_sometimes(seed))
            assert docs == rows
            assert bad == nulls
            docs = [text for _, text in docs]
            if key == "text":
                assert docs == want(file)
            if not nulls:
                check_interrupted(file, key, docs, chance, seed)


def check_interrupted(file, key, want_docs, chance, seed):
    docs, position, finished = [], BEGINNING, False
    while not finished:
        split = streams.split_sometimes(seed)
        reader = ParquetReader(io.BytesIO(file.getvalue()), "test", key, split, position)
        position = read_some(reader, chance.randint(1, 90), chance.randint(1, 4), docs, position)
        finished = reader.finished
    assert docs == want_docs


def test_position_counts_bad_rows(monkeypatch):
    """A null is listed when the position moves past it, so a resumed run lists only the remaining nulls."""
    file = file_of(pa.table({"text": [None, "a", None, None, "b", None, "cc", "d", None]}))
    for first_rows in range(1, 10):
        monkeypatch.setattr(parquet, "FIRST_ROWS", first_rows)
        told, places = [], []
        for block in fill_all(ParquetReader(file, "test", "text", len, skip=True), 1):
            told += [bad.line - 1 for bad in block.bad]
            places.append(block.after)
            assert told == [row for row in (0, 2, 3, 5, 8) if row < block.after.documents]
        assert places[-1].documents == 9
        for place in places:
            rest, text = [], b""
            for block in fill_all(ParquetReader(file, "test", "text", len, place, skip=True), 10):
                rest += [bad.line - 1 for bad in block.bad]
                text += block.data[: block.offsets[block.n_docs]].tobytes()
            assert rest == [row for row in told if row >= place.documents]
            assert text == b"abccd"[place.bytes :]


def test_metadata(monkeypatch):
    """The row number and other columns of each document that ends in a block."""
    monkeypatch.setattr(parquet, "MAX_ROWS", 3)
    moment = datetime.datetime(2026, 11, 20, 1, 2, 3, tzinfo=datetime.timezone.utc)
    others = {
        "id": [*range(8)], "when": pa.array([moment] * 8, pa.timestamp("ns", "UTC")), "day": [moment.date()] * 8,
        "price": [decimal.Decimal("1.50")] * 8, "tags": [["x", None]] * 8, "raw": [b"\xff"] * 8,
    }  # fmt: skip
    inner = [{"text": f"text {k} " * k, "n": k} if k != 4 else None for k in range(8)]
    table = pa.table({**others, "a": pa.array(inner), "text": [None if k == 5 else "t" for k in range(8)]})
    for key, gone in (("a.text", 4), ("text", 5)):
        reader = ParquetReader(file_of(table), "test", key, len, skip=True, metadata=True)
        lines = []
        for block in fill_all(reader, 20):
            assert len(block.metadata) == block.n_docs - block.open_end
            lines += map(json.loads, block.metadata)
        assert {line["file"] for line in lines} == {"test"}
        assert [line["line"] for line in lines] == [row + 1 for row in range(8) if row != gone]
        found = [line["metadata"] for line in lines]
        assert [item["id"] for item in found] == [row for row in range(8) if row != gone]
        assert [item["a"] for item in found if item["id"] == 6] == [{"n": 6} if key == "a.text" else inner[6]]
        assert [item["a"] for item in found if item["id"] == 4] == ([None] if key == "text" else [])
        assert "text" not in found[0] if key == "text" else found[0]["text"] == "t"
        first = {name: found[0][name] for name in ("when", "day", "price", "tags", "raw")}
        assert first == {
            "when": "2026-11-20 01:02:03.000000000Z", "day": "2026-11-20", "price": "1.50", "tags": ["x", None],
            "raw": "/w==",
        }  # fmt: skip


def test_a_null_is_an_error():
    file = file_of(table_of(["a", "b", None, "c"]), row_group_size=2)
    with pytest.raises(InputError, match=r"^test: row 3: 'text' is null"):
        read(file)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("txt", r"^test: no column 'txt' \(of 'txt'\); found: id, text, a$"),
        ("a.c", r"^test: no column 'c' \(of 'a.c'\); found: id, b$"),
        ("text.b", "no column 'text.b': the parent of 'b' holds string, which has no fields"),
        ("id", "the column 'id' holds int64, not strings"),
        ("a", "the column 'a' holds struct"),
        ("", "no column ''"),
    ],
)
def test_missing_column(key, message):
    with pytest.raises(InputError, match=message):
        read(file_of(table_of(TEXTS)), key)


def test_two_columns_of_the_same_name():
    file = file_of(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"]))
    with pytest.raises(InputError, match="several columns 'text'"):
        read(file)


def test_names_with_dots():
    inner = pa.StructArray.from_arrays([pa.array(["nested"])], ["b"])
    file = file_of(pa.table({"a.b": ["flat"], "a": inner}))
    assert read(file, "a.b") == [b"nested"]
    assert read(file, r"a\.b") == [b"flat"]


def test_empty():
    for texts in ([], [""], ["", ""]):
        assert read(file_of(table_of(texts))) == [text.encode() for text in texts]
    file = io.BytesIO()
    pq.ParquetWriter(file, pa.schema([("text", pa.string())])).close()
    assert read(file) == []


def test_invalid_utf8():
    assert read(file_of(pa.table({"text": pa.array([b"\xff\xfe"], pa.binary())}))) == [b"\xff\xfe"]


def test_truncated_and_damaged_files():
    """A truncated file raises an error that names the file; a damaged one does so too, or can be read."""
    data = file_of(
        pa.table({"text": [f"{k} bottles of beer" for k in range(50)]}), row_group_size=20, write_page_checksum=True
    ).getvalue()
    for n in range(0, len(data), 7):
        with pytest.raises(InputError, match=r"^test: "):
            read(io.BytesIO(data[:n]))
    chance, n_refused = random.Random(0), 0
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << chance.randrange(8)
        try:
            streams.read_documents(ParquetReader(io.BytesIO(damaged), "test", "text", len), 1000)
        except InputError as error:
            assert str(error).startswith("test: ")
            n_refused += 1
    assert n_refused > len(data) // 2


def test_damaged_page_names_the_row():
    table = pa.table({"text": [f"{k} bottles" for k in range(3000)]})
    data = bytearray(file_of(table, row_group_size=1000, use_dictionary=False, write_page_checksum=True).getvalue())
    at = data.index(b"1500 bottles") if b"1500 bottles" in data else len(data) // 2
    data[at] ^= 1
    with pytest.raises(InputError, match=r"^test: row 1[0-9]{3} or a later row: cannot be read: "):
        read(io.BytesIO(data))


def test_encrypted():
    for data in (b"PARE" + bytes(100) + b"PARE", b"PAR1" + bytes(100) + (92).to_bytes(4, "little") + b"PARE"):
        with pytest.raises(InputError, match=r"^test: cannot be read as Parquet: "):
            read(io.BytesIO(data))


def test_a_huge_row_group_in_bounded_memory():
    """One row group has 60 MB of text; in the other, 2,000 rows repeat a 100 KB dictionary value: 200 MB of text."""
    chance = random.Random(1)
    plain = pa.table({"text": [chance.randbytes(5000).hex() for _ in range(6000)]})
    repeated = pa.table({"text": pa.array(["x" * 100_000, "y"]).take(pa.array([0] * 2000, pa.int32()))})
    for table, options in ((plain, {"use_dictionary": False}), (repeated, {})):
        file = file_of(table, row_group_size=1 << 30, **options)
        del table
        pool = pa.default_memory_pool()
        before, most = pool.bytes_allocated(), 0
        reader = ParquetReader(file, "test", "text", len)
        block = streams.Block(streams.np.zeros(1 << 20, streams.np.uint8))
        while reader.fill(block):
            most = max(most, pool.bytes_allocated() - before)
        assert most < 32 << 20


def test_other_columns_are_not_read():
    """Projection: only a small part of a file with a large second column is read."""

    class Counting(io.BytesIO):
        n_read = 0

        def read(self, n=-1):
            data = super().read(n)
            Counting.n_read += len(data)
            return data

    chance = random.Random(2)
    table = pa.table({"text": ["a"] * 100, "other": [chance.randbytes(100_000) for _ in range(100)]})
    file = Counting(file_of(table, row_group_size=25).getvalue())
    docs, _ = streams.read_documents(ParquetReader(file, "test", "text", len), 1000)
    assert len(docs) == 100
    assert 0 < Counting.n_read < 1_000_000


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    monkeypatch.delattr("pyarrow.parquet", raising=False)
    with pytest.raises(InputError, match=r"test: Parquet requires pyarrow: pip install 'pyunitok\[parquet\]'"):
        ParquetReader(io.BytesIO(), "test", "text", len)


def test_through_the_pipeline(tmp_path):
    """The output does not depend on threads or block sizes; the manifest records the format and the column."""
    tok = models.greedy("the", " the")
    texts = [f"the {k} " * (k % 7 * 50) for k in range(300)]
    (tmp_path / "a.parquet").write_bytes(file_of(table_of(texts), row_group_size=70).getvalue())
    outputs = set()
    for threads, block_bytes in ((1, 1 << 20), (2, 500), (3, 5000)):
        out = tmp_path / "ids"
        sources = inputs.find([str(tmp_path)], text_key="a.b", own=[str(out), f"{out}.ends", f"{out}.json"])
        options = {"text_key": "a.b", "threads": threads, "block_bytes": block_bytes, "overwrite": True}
        plan = make_plan(sources, out, tok, **options)
        manifest = tokenize(plan)
        outputs.add((out.read_bytes(), (tmp_path / "ids.ends").read_bytes()))
        array = pyunitok.open(out, model=tok)
        assert [array.text(k) for k in range(300)] == texts
    assert len(outputs) == 1
    parts = []
    with (tmp_path / "back").open("wb", buffering=0) as back:
        detokenize(array, tok, back, parts.append)
    assert [json.loads(line)["a"]["b"] for line in (tmp_path / "back").read_bytes().splitlines()] == texts
    assert sum(parts) == (tmp_path / "back").stat().st_size
    (record,) = manifest.inputs
    assert (record.format, record.text_key, record.compression) == ("parquet", "a.b", "none")
    assert record.bytes == manifest.bytes == sum(map(len, texts))
    assert record.size_bytes == (tmp_path / "a.parquet").stat().st_size


def test_resumes_after_an_interruption(tmp_path):
    """A run that is interrupted after every 20 progress reports resumes, and no document is lost or changed."""
    tok = models.greedy("the", " the")
    texts = [f"the {k} " * (k % 7 * 50) for k in range(300)]
    (tmp_path / "a.parquet").write_bytes(file_of(table_of(texts), row_group_size=70).getvalue())
    plan = make_plan(inputs.find([str(tmp_path / "a.parquet")]), tmp_path / "ids", tok, 300, threads=1, block_bytes=700)
    n_runs = 0
    while True:
        n_runs += 1
        n_left = 20

        def stop(_):
            nonlocal n_left
            n_left -= 1
            if n_left < 0:
                raise KeyboardInterrupt

        starts = []
        try:
            tokenize(plan, Callbacks(starts.append, stop))
            break
        except KeyboardInterrupt:
            assert starts[0].documents > 0 or n_runs == 1
    assert n_runs > 5
    array = pyunitok.open(tmp_path / "ids", model=tok)
    assert [array.text(k) for k in range(300)] == texts


def test_bad_rows_and_metadata_through_the_pipeline(tmp_path):
    """--on-error skip and --metadata work as they do for JSON Lines."""
    tok = models.greedy()
    path = tmp_path / "a.parquet"
    path.write_bytes(file_of(pa.table({"text": ["a", None, "c"], "id": [1, 2, 3]})).getvalue())
    out = tmp_path / "ids"
    manifest = tokenize(make_plan(inputs.find([str(path)]), out, tok, 300, on_error="skip", metadata=True))
    assert (manifest.documents, manifest.inputs[0].skipped) == (2, 1)
    array = pyunitok.open(out, model=tok)
    assert [array.text(k) for k in range(2)] == ["a", "c"]
    found = [json.loads(line) for line in decompressed(tmp_path / "ids.meta.jsonl.zst").splitlines()]
    assert [(item["line"], item["metadata"]) for item in found] == [(1, {"id": 1}), (3, {"id": 3})]
    (bad,) = map(json.loads, (tmp_path / "ids.errors.jsonl").read_text().splitlines())
    assert (bad["line"], "is null" in bad["error"]) == (2, True)


def test_values_that_expand(monkeypatch):
    """Regression: a repeated value, stored once, expanded from 2.5 KB to 2.5 GB in the 16 rows of a first batch."""
    sizes, column_of = [], parquet._column

    def noting(batch, path):
        sizes.append(column_of(batch, path).nbytes)
        return column_of(batch, path)

    monkeypatch.setattr(parquet, "_column", noting)
    long = "x" * 1_000_000
    file = file_of(table_of([long] * 40), compression="zstd", dictionary_pagesize_limit=1 << 30)
    documents = read(file, block_bytes=1 << 20)
    assert [len(text) for text in documents] == [1_000_000] * 40
    assert max(sizes) < 2_000_000


def test_nulls_in_bounded_memory():
    """Nulls take no space in a file. Regression: a single block listed all the nulls of a long run."""
    import pyarrow as pa

    file = file_of(pa.table({"text": pa.array([None] * 100_000 + ["text"] + [None] * 3, pa.string())}))
    reader = ParquetReader(file, "test", "text", len, skip=True)
    block = Block(np.empty(1000, np.uint8))
    n_bad, documents = 0, []
    while reader.fill(block):
        assert len(block.bad) <= 2 * 4096
        n_bad += len(block.bad)
        documents += [int(number) for number in (block.numbers if block.numbers is not None else [])[: block.n_docs]]
    assert n_bad == 100_003 and documents in ([100_000], [])
