"""Indexes in tests/golden/index: every later version must read them, give the same answers, and build the same bytes.

    arrays        suffix arrays of tests/golden/run/whole/ids, with --left, --words and --fields n
    compact       a compact index of the same token file, built with --drop-tokens
    wide          the same text as uint32 ids, with smaller blocks, and with samples at smaller distances
    old           a shard of a compact index of version 1, which is refused
    answers.json  the answers of arrays, compact and wide; only arrays has words and fields

The files of an index are compressed with xz. `PYTHONPATH=.:tests python tests/test_golden_index.py` recreates the
folder. Use it only if a format has changed on purpose; then increase the version of the format, move the old files to
a separate folder, and test how they are rejected.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

from pyunitok.errors import OutputError
from pyunitok.index import search
from pyunitok.index.build import build_index
from pyunitok.index.field_build import add_fields
from pyunitok.index.groups import count_by, find_where
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.opened import open_index
from pyunitok.index.opening import open_shards
from pyunitok.index.verify import verify_index
from pyunitok.index.word_build import add_words
from pyunitok.index.word_query import WordOptions
from pyunitok.tokens.manifest import Manifest

RUN = Path(__file__).parent / "golden/run"
GOLDEN = Path(__file__).parent / "golden/index"
KINDS = ("arrays", "compact", "wide")
ONLY_ARRAYS = ("words", "fields", "where")
FILTERS = [{"id": lzma.FILTER_DELTA, "dist": 4}, {"id": lzma.FILTER_LZMA2, "preset": 9}]  # delta: for ascending numbers
SHARD_TOKENS = 9500  # the long document has a separate shard
TEXTS = ["t", "the", " the", "n", "eth te", "である", "\u3067", "nettheseen", "absent", ""]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of tests/golden/run, which becomes the current folder."""
    shutil.copytree(RUN, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    return tmp_path / "run"


def unpacked(kind: str) -> Path:
    path = Path("index") / kind
    path.mkdir(parents=True)
    for packed in (GOLDEN / kind).iterdir():
        (path / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def build(kind: str) -> Path:
    """Build the index in the current folder, a copy of tests/golden/run. Compact indexes are built with drop_tokens."""
    path = Path("index") / kind
    if kind == "arrays":
        build_index("whole/ids", path, left=True, shard_tokens=SHARD_TOKENS, model="model.utk", threads=1)
        add_words(path, model="model.utk")
        add_fields(path, ["n"], model="model.utk")
        return path
    options = CompactOptions() if kind == "compact" else CompactOptions(block=64, locate_every=8, extract_every=5)
    if kind == "wide":
        widen(Path("whole/ids"))
    build_index(
        "whole/ids", path, compact=options, shard_tokens=SHARD_TOKENS, drop_tokens=True, model="model.utk", threads=1
    )
    return path


def widen(path: Path) -> None:
    """Rewrite a token file with uint32 ids."""
    ids = np.fromfile(path, "<u2").astype("<u4")
    ids.tofile(path)
    manifest = Manifest.read(Path(f"{path}.json"))
    manifest.dtype, manifest.hash["tokens"] = "<u4", [xxhash.xxh64_hexdigest(ids.tobytes())]
    Path(f"{path}.json").write_bytes(manifest.to_json())


def answers(path: Path) -> dict[str, Any]:
    index = open_index(path, model="model.utk")
    spans = index.spans("then the tenths", min_bytes=3)
    found: dict[str, Any] = {
        "tokens": index.n_tokens, "documents": [index.text_bytes(k) for k in (0, 1, 55)], "texts": {},
        "spans": [spans.begins.tolist(), spans.ends.tolist(), spans.counts.tolist()],
        "overlap": index.overlap(["the ten net tens"], n=2).counts.tolist(),
    }  # fmt: skip
    for text in TEXTS:
        hits = index.find(text, 7, 30, "text")
        sides = [(side(text, 5).texts, side(text, 5).counts.tolist()) for side in (index.next, index.previous)]
        found["texts"][text] = {
            "count": int(index.count(text)), "hits": [(hit.document, hit.begin, hit.end) for hit in hits],
            "contexts": [context.shown() for context in index.context_batch(hits, 5, 5)], "sides": sides,
            "documents": index.documents(text).counts.tolist(), "tokens": index.count_tokens(index.ids(text)),
        }  # fmt: skip
    if index.has_words:
        words, folded = index.words, WordOptions(ignore_case=True)
        found["words"] = [row.text for row in words.frequencies("t*").rows], words.count("t* the", folded)
        found["fields"] = [[group.value, group.hits] for group in count_by(index, "the", "n", where=["n<20"])]
        found["where"] = find_where(index, "seen", ["n>=50"], 5, 0, "text", 0, None).begins.tolist()
    return json.loads(json.dumps(found, default=bytes.decode))


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_is_read(folder: Path, kind: str) -> None:
    path = unpacked(kind)
    assert verify_index(open_shards(path, model="model.utk")) == []
    expected = json.loads((GOLDEN / "answers.json").read_text(encoding="utf-8"))
    assert answers(path) == {name: expected[name] for name in expected if name not in ONLY_ARRAYS or kind == "arrays"}


def test_an_old_version_is_refused(folder: Path) -> None:
    path = unpacked("compact") / "00000.compact"
    path.write_bytes(lzma.decompress((GOLDEN / "old/00000.compact.xz").read_bytes()))
    with pytest.raises(OutputError, match="build the index again"):
        open_shards(path.parent, model="model.utk")


@pytest.mark.slow
def test_threads_give_the_same_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = unpacked("compact")
    expected, queries = answers(path), [text.encode() for text in TEXTS]
    index = open_index(path, model="model.utk")
    counts = index.count_batch(queries)
    monkeypatch.setattr(search, "PARALLEL_TOKENS", 0)
    parallel = open_index(path, model="model.utk")
    assert parallel._threads == len(parallel.shards) == 2 and index._threads == 1
    assert answers(path) == expected
    assert [part.tolist() for part in parallel.count_batch(queries)] == [part.tolist() for part in counts]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_index_is_byte_identical(folder: Path, kind: str) -> None:
    expected = contents(unpacked(kind))
    shutil.rmtree("index")
    assert contents(build(kind)) == expected


def contents(path: Path) -> dict[str, bytes]:
    """The files of an index, without the date and the release in the manifest."""
    files = {file.name: file.read_bytes() for file in path.iterdir() if file.suffix != ".lock"}
    manifest = json.loads(files.pop("index.json"))
    return files | {"index.json": json.dumps(manifest | {"created": "", "pyunitok": ""}).encode()}


def make() -> None:
    """Recreate the folder."""
    for kind in KINDS:
        shutil.rmtree(GOLDEN / kind, ignore_errors=True)
        with tempfile.TemporaryDirectory() as name:
            shutil.copytree(RUN, Path(name) / "run")
            os.chdir(Path(name) / "run")
            path = build(kind)
            (GOLDEN / kind).mkdir(parents=True)
            for file in path.iterdir():
                (GOLDEN / kind / f"{file.name}.xz").write_bytes(lzma.compress(file.read_bytes(), filters=FILTERS))
            if kind == "arrays":
                text = json.dumps(answers(path), ensure_ascii=False)
                (GOLDEN / "answers.json").write_text(text + "\n", encoding="utf-8")
            os.chdir(GOLDEN)


if __name__ == "__main__":
    make()
