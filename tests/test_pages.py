"""Reading Parquet takes limited memory, even if pages, dictionaries, lists or delta-encoded lengths expand."""

import io
import random

import numpy as np
import pytest

from pyunitok.corpus.block import Block
from pyunitok.corpus.parquet import ParquetReader
from pyunitok.corpus.range_cache import RangeCache
from pyunitok.corpus.thrift import ThriftReader
from pyunitok.errors import InputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MIB = 1 << 20


def file_of(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **{"compression": "zstd", "row_group_size": 1 << 30, **options})
    return file


def read(file, limit=None, **options):
    """Read a file; return the number of texts, the sum of their bytes, and pyarrow's peak memory."""
    pool = pa.default_memory_pool()
    before, most, n_docs, n_bytes = pool.bytes_allocated(), 0, 0, 0
    file = file if isinstance(file, RangeCache) else io.BytesIO(file.getvalue())  # a copy, because the reader closes it
    reader = ParquetReader(file, "test", "text", len, **options)
    block = Block(np.empty(1 << 16, np.uint8))
    while reader.fill(block) and (limit is None or n_docs < limit):
        n_docs += block.n_docs
        n_bytes += int(block.offsets[block.n_docs])
        most = max(most, pool.bytes_allocated() - before)
    reader.close()
    return n_docs, n_bytes, most


def test_late_values_that_expand():
    """Regression: 100 rows that share a dictionary value of 1 MB, after 5,000 short rows, were read in one batch."""
    values = pa.array([f"t{k}" for k in range(5000)] + ["x" * 1_000_000])
    rows = pa.array([*range(5000), *[5000] * 100], pa.int32())
    table = pa.table({"text": pa.DictionaryArray.from_arrays(rows, values)})
    file = file_of(table, dictionary_pagesize_limit=1 << 30)
    assert len(file.getvalue()) < 50_000
    n_docs, n_bytes, most = read(file, budget_bytes=16 * MIB)
    assert n_docs >= 5100 and n_bytes == sum(len(f"t{k}") for k in range(5000)) + 100_000_000
    assert most < 16 * MIB


def test_pages_that_expand():
    file = file_of(pa.table({"text": ["a", "x" * 30_000_000]}), use_dictionary=False)
    with pytest.raises(InputError, match=r"test: row group 1: .*30000\d+ bytes.* --max-memory.*raise it to \d+M"):
        read(file, budget_bytes=16 * MIB, max_memory_bytes=32 * MIB)
    assert read(file, budget_bytes=70 * MIB)[1] == 30_000_001
    file = file_of(pa.table({"text": ["x" * 30_000_000] * 3}), dictionary_pagesize_limit=1 << 30)
    with pytest.raises(InputError, match="decompressing a page of 'text' takes"):
        read(file, budget_bytes=16 * MIB)


def test_many_pages_that_expand():
    """A batch spans several pages."""
    texts = ["t"] * 6000 + ["x" * 1_000_000] * 30
    file = file_of(pa.table({"text": texts}), use_dictionary=False, data_page_size=1000, write_batch_size=1)
    _, n_bytes, most = read(file, budget_bytes=16 * MIB)
    assert n_bytes == 30_006_000 and most < 16 * MIB


def test_lists_that_expand():
    """A value in another column may be a list of a million nulls, which take no space in the file."""
    long = pa.ListArray.from_arrays(pa.array([0, 0, 1_000_000], pa.int32()), pa.nulls(1_000_000, pa.string()))
    file = file_of(pa.table({"text": ["a", "b"], "others": long}))
    assert read(file, budget_bytes=16 * MIB)[0] == 2  # other columns are not read
    with pytest.raises(InputError, match="row group 1: a single row may hold"):
        read(file, budget_bytes=16 * MIB, metadata=True)


def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_forged_lengths(encoding):
    """Regression: a page of one value claimed 100 million lengths, and pyarrow decoded all of them."""
    schema = pa.schema([pa.field("text", pa.string(), nullable=False)])
    options = {"compression": "none", "use_dictionary": False, "column_encoding": {"text": encoding}}
    data = bytearray(file_of(pa.table({"text": ["q" * 500]}, schema), **options).getvalue())
    assert read(io.BytesIO(data))[1] == 500
    forged = b"".join(map(varint, (1 << 20, 1, 100_000_000, 0))) + bytes(200)
    at = data.index(varint(128) + varint(4) + varint(1))
    data[at : at + len(forged)] = forged
    with pytest.raises(InputError, match="100000000 delta-encoded lengths in a page of 1 values"):
        read(io.BytesIO(data))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_delta_encodings(encoding, version):
    chance = random.Random(1)
    for n, codec in ((0, "zstd"), (1, "none"), (2, "snappy"), (33, "gzip"), (129, "brotli"), (3000, "lz4")):
        texts = [chance.choice([None, "", "pre" * chance.randrange(40) + str(k)]) for k in range(n)]
        schema = pa.schema([("text", pa.string()), ("tags", pa.list_(pa.string()))])
        table = pa.table({"text": texts, "tags": [[text, text] for text in texts]}, schema)
        encodings = {"text": encoding, "tags.list.element": encoding}
        file = file_of(table, compression=codec, use_dictionary=False, column_encoding=encodings, data_page_size=500,
                       data_page_version=version)  # fmt: skip
        _, n_bytes, _ = read(file, skip=True, metadata=True)
        assert n_bytes == sum(len(text or "") for text in texts)


def test_large_footer():
    table = pa.table({"text": ["a"]}).replace_schema_metadata({"key": "x" * 1_000_000})
    with pytest.raises(InputError, match=r"test: reading the footer of \d+ bytes takes more"):
        read(file_of(table), budget_bytes=16 * MIB)
    assert read(file_of(table), budget_bytes=128 * MIB)[0] == 1


def test_damaged_footers_and_pages():
    """Random bytes cause an InputError or yield texts."""
    chance = random.Random(1)
    table = pa.table({"text": ["a", "bb"] * 20, "tags": [["x"], ["y", "z"]] * 20})
    good = file_of(table, compression="none", row_group_size=15).getvalue()
    n_bad = 0
    for _ in range(400):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            byte = chance.choice([0, 1, 21, 25, 28, 127, 255, chance.randrange(256)])
            data[chance.randrange(4, len(data) - 8)] = byte
        try:
            read(io.BytesIO(data), metadata=chance.random() < 0.5, limit=1 << 20)
        except InputError:
            n_bad += 1
    assert 50 < n_bad < 400


def test_compact():
    assert ThriftReader(b"\x15\x02\x11\x2c\x15\x01\x00\x00").struct() == {1: 1, 2: True, 4: {1: -1}}
    for data, kind in ((b"\x15", IndexError), (b"\x15\x02\x05\x02\x02\x00", ValueError), (b"\x18\x05ab", IndexError),
                       (b"\x15" + b"\xff" * 11, ValueError), (b"\x1f", ValueError), (b"\x1c" * 40, ValueError),
                       (b"\x15\xff\xff\xff\xff\x7f\x00", ValueError)):  # fmt: skip
        with pytest.raises(kind):
            ThriftReader(data).struct()


def test_range_cache():
    """The cache returns the same bytes as the file, and cached bytes are read only once."""
    reads = []

    class Noting(io.BytesIO):
        def read(self, n=-1):
            reads.append((self.tell(), n))
            return super().read(n)

    file = file_of(pa.table({"text": [f"text {k}" for k in range(5000)]}), row_group_size=1000)
    size = len(file.getvalue())
    far = RangeCache(Noting(file.getvalue()))
    assert read(far)[0] == 5000
    assert sum(n for _, n in reads) < 2 * size
    far = RangeCache(Noting(b"0123456789"))
    far.load(2, 5)
    assert [far.read(3), far.read(4), far.seek(-1, 2), far.read(9), far.read(1)] == [b"012", b"3456", 9, b"9", b""]
