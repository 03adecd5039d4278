"""Exports, loaded by their target tools if installed: pip install 'pyunitok[consumers]', then pytest -m consumers.

dolma requires an older NumPy than the others, so it needs a separate environment: pip install dolma.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from toys import tokenfiles

from pyunitok.export import Options, export

pytestmark = pytest.mark.consumers
EOD = 0


def corpus(path: Path, *, n_docs: int = 3000, high: int = 65530, dtype: str = "<u2", eod: int | None = EOD):
    """A token file and its documents, some of them empty: about 200,000 tokens, most of which have frequent ids."""
    random = np.random.default_rng(1)
    docs = []
    for n in np.minimum(random.geometric(0.015, n_docs) - 1, 1000).tolist():
        ids = np.where(random.random(n) < 0.8, random.integers(1, 40, n), random.integers(1, high, n))
        docs.append(ids.tolist())
    docs[5] = []
    return tokenfiles.write(path, docs, eod=eod, dtype=dtype), docs


def occurrences(docs: list[list[int]], query: list[int]) -> int:
    """How often `query` occurs in the documents."""
    n = len(query)
    return sum(doc[k : k + n] == query for doc in docs for k in range(len(doc) - n + 1))


def queries(docs: list[list[int]]) -> list[list[int]]:
    """Frequent and rare queries, and one that does not occur."""
    long = [doc for doc in docs if len(doc) > 50]
    return [[1], [7, 7], [7, 8, 9], long[0][10:14], long[1][:2], long[2][-3:], [65529, 65528, 65527], [39]]


# -------------------------------------------------------------------------------------------------------- infini-gram


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def build_table(folder: Path, shards: int, dtype: str) -> None:
    """Build the tables with infini-gram's indexer. For uint32, it needs 34 GB per CPU; with less memory, sort here."""
    if dtype == "u32" and memory_bytes() < 80 << 30:
        sort_suffixes(folder, shards)
        return
    command = [sys.executable, "-m", "infini_gram.indexing", "--data_dir", folder, "--save_dir", folder, "--mem", "1"]
    command += ["--cpus", "2", "--shards", str(shards), "--token_dtype", dtype, "--ulimit", "1024"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Skipped. All tokenized files already exist" in done.stdout
    assert all((folder / f"table.{k}").exists() for k in range(shards))


def sort_suffixes(folder: Path, shards: int) -> None:
    """Write table.N as infini-gram does: the byte offsets of all tokens, sorted by the bytes that begin there."""
    for k in range(shards):
        data = (folder / f"tokenized.{k}").read_bytes()
        order = sorted(range(0, len(data), 4), key=lambda at: data[at : at + 400])
        np.array(order, "<u8").tofile(folder / f"table.{k}")


@pytest.mark.parametrize(("shards", "token_dtype"), [(1, None), (2, None), (1, "uint32"), (2, "uint32")])
@pytest.mark.parametrize("eod", [EOD, None])
def test_infini_gram(tmp_path, shards, token_dtype, eod):
    engine = pytest.importorskip("infini_gram.engine")
    array, docs = corpus(tmp_path / "ids", n_docs=6000, eod=eod)
    folder = tmp_path / "engine"
    export(array, "infini-gram", folder, Options("x", shards=shards, token_dtype=token_dtype))
    dtype = "u32" if token_dtype else "u16"
    build_table(folder, shards, dtype)
    index = engine.InfiniGramEngine(str(folder), eos_token_id=EOD, vocab_size=65535, version=4, token_dtype=dtype)
    assert index.get_total_doc_cnt() == len(docs)
    for query in queries(docs):
        assert index.count(query)["count"] == occurrences(docs, query), query
    for d in [0, 4, 5, 6, len(docs) // 2, len(docs) - 1]:
        found = index.get_doc_by_ix(d, max_disp_len=2000)
        assert (found["token_ids"], found["doc_len"]) == (docs[d], len(docs[d]))
        assert f'"linenum": {d},' in found["metadata"]


def test_infini_gram_and_false_separators(tmp_path):
    """AND queries miss hits that contain an id >= 0xFF00, then one with low byte FF, unless ids are renamed or wide."""
    engine = pytest.importorskip("infini_gram.engine")
    docs = [[11, 65283, 511, 12]] * 9 + [[11, 5, 5, 12]] * 20 + [[11], [12]] * 5 + [[k] * 300 for k in range(20, 420)]
    docs = [[*doc, *[9] * 9] for doc in docs]  # so no term is near a term of the next document
    array = tokenfiles.write(tmp_path / "ids", docs, eod=EOD)
    counts = {}
    for way, dtype in (("plain", "u16"), ("renamed", "u16"), ("wide", "u32")):
        folder = tmp_path / way
        options = Options("x", rename_ids=way == "renamed", token_dtype="uint32" if way == "wide" else None)
        exported = export(array, "infini-gram", folder, options)
        assert any("takes 9 pairs" in note for note in exported.notes) == (way == "plain")
        build_table(folder, 1, dtype)
        index = engine.InfiniGramEngine(str(folder), eos_token_id=EOD, token_dtype=dtype)
        rename = np.load(folder / "renamed.npy") if way == "renamed" else np.arange(65536)
        assert index.count(rename[[65283, 511]].tolist())["count"] == 9
        terms = [[rename[[11]].tolist()], [rename[[12]].tolist()]]
        counts[way] = index.count_cnf(terms, max_diff_tokens=3)["count"]
        assert rename[index.get_doc_by_ix(0)["token_ids"]].tolist() == docs[0]
    assert counts == {"plain": 20, "renamed": 29, "wide": 29}


# --------------------------------------------------------------------------------------------------------- tokengrams


@pytest.mark.parametrize("dtype", ["<u2", "<u4"])
def test_tokengrams(tmp_path, dtype):
    tokengrams = pytest.importorskip("tokengrams")
    array, docs = corpus(tmp_path / "ids", dtype=dtype)
    export(array, "tokengrams", tmp_path / "to")
    names = str(tmp_path / "to/ids.bin"), str(tmp_path / "to/ids.idx")
    vocab = {} if dtype == "<u2" else {"vocab": 1 << 17}
    built = tokengrams.MemmapIndex.build(*names, **vocab)
    loaded = tokengrams.MemmapIndex(*names, **vocab)
    stream = [array.ids.tolist()]
    for query in queries(docs):
        assert built.count(query) == loaded.count(query) == occurrences(stream, query), query


# ------------------------------------------------------------------------------------------------- training libraries


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["<u2", "<u4"])
def test_megatron(tmp_path, dtype):
    megatron = pytest.importorskip("megatron.core.datasets.indexed_dataset")
    import torch

    array, docs = corpus(tmp_path / "ids", dtype=dtype, n_docs=300)
    export(array, "megatron", tmp_path / "to")
    prefix = str(tmp_path / "to/ids")
    assert megatron.IndexedDataset.exists(prefix)
    dataset = megatron.IndexedDataset(prefix)
    assert len(dataset) == len(docs) and dataset.document_indices.tolist() == list(range(len(docs) + 1))
    assert [dataset[k].tolist() for k in range(len(docs))] == [[*doc, EOD] for doc in docs]
    assert dataset.sequence_lengths.tolist() == [len(doc) + 1 for doc in docs]
    assert dataset[0].dtype == (np.uint16 if dtype == "<u2" else np.int32)
    kind = np.uint16 if dtype == "<u2" else np.int32
    builder = megatron.IndexedDatasetBuilder(str(tmp_path / "own.bin"), dtype=kind)
    for doc in docs:
        builder.add_item(torch.tensor([*doc, EOD]))
        builder.end_document()
    builder.finalize(str(tmp_path / "own.idx"))
    for suffix in (".bin", ".idx"):
        assert Path(prefix + suffix).read_bytes() == (tmp_path / "own").with_suffix(suffix).read_bytes()


@pytest.mark.parametrize("dtype", ["<u2", "<u4"])
def test_datatrove(tmp_path, dtype):
    dataset = pytest.importorskip("datatrove.utils.dataset")
    tokenizer = pytest.importorskip("datatrove.pipeline.tokens.tokenizer")
    array, docs = corpus(tmp_path / "ids", dtype=dtype, n_docs=300)
    export(array, "datatrove", tmp_path / "to")
    width = array.ids.dtype.itemsize
    stream = array.ids.tolist()
    loaded = dataset.DatatroveFolderDataset(str(tmp_path / "to"), seq_len=63, token_size=width, return_positions=True)
    assert len(loaded) == len(stream) // 64
    starts = {0, *array.ends.tolist()}
    for k in range(len(loaded)):
        item = loaded[k]
        assert item["input_ids"].tolist() == stream[64 * k : 64 * (k + 1)]
        restarts = {64 * k + at for at in np.flatnonzero(item["positions"].numpy() == 0).tolist()}
        assert restarts - {64 * k} == {start for start in starts if 64 * k < start < 64 * (k + 1)}
    own = tokenizer.TokenizedFile(
        str(tmp_path / "own"), "ids_00000_unshuffled.ds", tokenizer_name_or_path="toy", save_final_metadata=True,
        token_size=width,
    )  # fmt: skip
    for doc in docs:
        own.write([*doc, EOD], None)
    own.close()
    own.write_final_metadata()
    for path in (tmp_path / "own").iterdir():
        assert path.read_bytes() == (tmp_path / "to" / path.name).read_bytes(), path.name
    assert len(list((tmp_path / "own").iterdir())) == 3


def test_olmo_core(tmp_path):
    utils = pytest.importorskip("olmo_core.data.utils")
    array, docs = corpus(tmp_path / "ids")
    export(array, "dolma", tmp_path / "to")
    path = tmp_path / "to/ids.npy"
    spans = list(pairwise([0, *array.ends.tolist()]))
    assert list(utils.iter_document_indices(path, use_array_if_local=False, dtype=np.uint16)) == spans
    by_eos = utils.iter_document_indices(path, eos_token_id=EOD, dtype=np.uint16)
    assert [(int(a), int(b)) for a, b in by_eos] == spans
    assert utils.load_array_slice(path, *spans[9], np.uint16).tolist() == [*docs[9], EOD]


def test_dolma(tmp_path):
    writer = pytest.importorskip("dolma.tokenizer.memmap_writer")
    types = pytest.importorskip("dolma.tokenizer.data_types")
    array, docs = corpus(tmp_path / "ids")
    export(array, "dolma", tmp_path / "to")
    with writer.MemmapWriter(str(tmp_path / "own"), np.dtype("<u2")) as own:
        for d, doc in enumerate(docs):
            assert own.write(types.TokenizerOutput.from_tokens(str(d), "a.txt", d + 1, [*doc, EOD]))
    assert (tmp_path / "own.npy").read_bytes() == (tmp_path / "to/ids.npy").read_bytes()
    rows = [gzip.decompress((folder / name).read_bytes()) for folder, name in
            ((tmp_path, "own.csv.gz"), (tmp_path / "to", "ids.csv.gz"))]  # fmt: skip
    assert rows[0] == rows[1]


def test_numpy_reads_npy(tmp_path):
    """This test needs no tool, so the mark always selects at least one test."""
    array, _ = corpus(tmp_path / "ids")
    export(array, "npy", tmp_path / "to")
    loaded = np.load(tmp_path / "to/ids.npy", mmap_mode="r")
    assert np.array_equal(loaded, array.ids) and (tmp_path / "to/ids.npy").stat().st_size == 128 + loaded.nbytes
