"""Both kinds of index over uint32 token files of models with more than 65,536 ids, in commands and on the page."""

from __future__ import annotations

import itertools
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import find_shared
from oracle import search as oracle
from toys import byte_level_files as files

import pyunitok
from pyunitok.cli import cli
from pyunitok.index.page import answers

LETTERS = "abcdefghijklmnopq"
REAL = Path(os.environ.get("PYUNITOK_MODELS", "nowhere"), "llama3.json")


@pytest.fixture(scope="module", params=["toy", "llama3"])
def model(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level model that resembles Llama 3 but has 88,979 ids, and Llama 3 itself."""
    if request.param == "llama3":
        if not REAL.exists():
            pytest.skip("PYUNITOK_MODELS is not a folder with llama3.json")
        return REAL
    words = ["".join(letters) for letters in itertools.product(LETTERS, repeat=4)]
    bpe = files.bpe(words=[*files.WORDS, *words], ignore_merges=True)
    end = files.token(len(bpe["vocab"]), "<|end_of_text|>")
    path = tmp_path_factory.mktemp("model") / "wide.json"
    path.write_text(json.dumps(files.document(bpe, files.sequence(files.split(files.CL100K)), added_tokens=[end])))
    return path


def texts(model: Path) -> list[str]:
    rng = random.Random(5)
    if model == REAL:
        text = find_shared("README.md").read_text(encoding="utf-8")
        return [text[at : at + 900] for at in range(0, len(text), 900)]
    words = ["".join(rng.choices(LETTERS, k=4)) for _ in range(90)] + ["日本", "é", "the", "\n", "  "]
    return [" ".join(rng.choices(words, k=rng.choice([0, 1, 30, 90]))) for _ in range(40)]


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


@pytest.fixture(scope="module")
def folder(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two token files, and an index of each kind over the first one, in several shards."""
    folder, documents = tmp_path_factory.mktemp("wide"), texts(model)
    for name, part in (("a", documents), ("b", documents[::-1])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in part))
        run("tokenize", str(folder / f"{name}.jsonl"), "-o", str(folder / f"{name}.u32"), "-m", str(model))
    for kind in ([], ["--compact"]):
        run("index", str(folder / "a.u32"), "-o", str(folder / f"idx{len(kind)}"), "--shard-tokens", "1500", *kind)
    return folder


@pytest.mark.parametrize("kind", [0, 1], ids=["suffix array", "compact"])
def test_every_query(folder: Path, model: Path, kind: int, tmp_path: Path) -> None:
    index = pyunitok.open_index(folder / f"idx{kind}")
    array = pyunitok.open(folder / "a.u32")
    assert array.ids.dtype == np.uint32 and int(array.ids.max()) > 65535 and len(index.shards) > 1
    documents, rng = [text.encode() for text in texts(model)], random.Random(1)
    queries = [b" ", b"e", b"the", "日本".encode()[1:4], b"absent phrase"]
    for _ in range(200):
        text = rng.choice(documents)
        at = rng.randrange(len(text) + 1)
        queries.append(text[at : at + rng.randrange(1, 25)])
    counts, approx = index.count_batch(queries)
    assert not approx.any()
    for query, count in zip(queries, counts.tolist(), strict=True):
        assert count == oracle.count(documents, query), query
    hits = index.find(queries[9], 5, order="text")
    for hit, context in zip(hits, index.context_batch(hits), strict=True):
        assert context.match == queries[9] == index.text_bytes(hit.document)[hit.begin : hit.end]
    begin = int(array.ends[3])
    sequence = array.ids[begin : begin + 2]
    assert index.count_tokens(sequence) == len(oracle.positions(array.ids.tolist(), sequence.tolist()))
    found = index.next(sequence[:1])
    assert found.ids is not None and found.ids.dtype == np.uint32 and int(sequence[1]) in found.ids.tolist()
    assert index.count_tokens([(1 << 18) - 1]) == 0 == index.count_tokens_batch([[9, (1 << 18) - 1]])[0]
    with pytest.raises(IndexError, match="not within"):
        index.find_tokens([1 << 18])
    assert len(index.spans(b"".join(documents), 8)) >= 1
    assert len(index.ngrams(2, 2).ids) and index.ngrams(2, 2).ids.dtype == np.uint32
    assert answers.ask(index, "count", {"q": ["the"]})["counts"][0]["count"] == oracle.count(documents, b"the")
    assert answers.ask(index, "document", {"n": ["2"]})["size"] == len(documents[2])
    assert "intact" in run("verify", str(folder / f"idx{kind}"))
    unique = tmp_path / "unique.u32"
    run("duplicates", str(folder / f"idx{kind}"), "--min-tokens", "5", "--drop", "-o", str(unique))
    assert pyunitok.open(unique).ids.dtype == np.uint32 and "intact" in run("verify", str(unique))


def test_both_kinds_agree(folder: Path, tmp_path: Path) -> None:
    arguments = ["--min-tokens", "4", "-o"]
    for kind in (0, 1):
        run("duplicates", str(folder / f"idx{kind}"), *arguments, str(tmp_path / f"{kind}.jsonl"))
    assert (tmp_path / "0.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes() != b""


@pytest.mark.parametrize("kind", [[], ["--left"], ["--order", "id"], ["--compact"]], ids=" ".join)
def test_files_can_be_added_and_are_checked(folder: Path, kind: list[str], tmp_path: Path) -> None:
    idx = str(tmp_path / "idx")
    run("index", str(folder / "a.u32"), "-o", idx, "--shard-tokens", "2000", *kind)
    once = int(run("search", idx, "the", "--count"))
    run("index", str(folder / "b.u32"), "-o", idx, "--add")
    assert int(run("search", idx, "the", "--count")) == 2 * once > 0
    assert "intact" in run("verify", idx)
    suffix = ".compact" if "--compact" in kind else ".sa"
    path = Path(idx, f"00000{suffix}")
    data = bytearray(path.read_bytes())
    data[600] ^= 1  # in a suffix, or in the gaps of a compact index
    path.write_bytes(data)
    assert "damaged" in run("verify", idx, code=1)
