"""index --drop-tokens stores token files in a compact index and removes them; export and detokenize restore them."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from toys import models

import pyunitok
from pyunitok.cli import cli
from pyunitok.errors import OutputError
from pyunitok.index.build import build_index
from pyunitok.index.manifest import CompactOptions, IndexManifest
from pyunitok.index.opened import open_index
from pyunitok.index.opening import open_shards
from pyunitok.index.verify import verify_index

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "then", "it", "ate", "\n", "caté", "日本"]
COMPACT: dict[str, Any] = {"compact": CompactOptions(64, 4, 9), "shard_tokens": 900}


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, (result.output, result.exception)
    return result.output + (str(result.exception) if code else "")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "toy.model"
    models.greedy(eod=300).save(path)
    return path


def write_tokens(folder: Path, name: str, model: Path, dtype: str, seed: int = 1) -> dict[str, bytes]:
    """Tokenizes JSON lines with metadata, one of them invalid. Returns the contents of the files."""
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, random.integers(0, 60))) for _ in range(30)]
    lines = [json.dumps({"text": text, "url": f"u{k}"}) for k, text in enumerate(texts)]
    (folder / f"{name}.jsonl").write_text("\n".join([*lines[:7], "{", *lines[7:], ""]))
    options = ["--dtype", dtype, "--metadata", "--on-error", "skip"]
    run("tokenize", str(folder / f"{name}.jsonl"), "-o", str(folder / name), "-m", str(model), *options, code=3)
    return files_of(folder, name)


def files_of(folder: Path, name: str) -> dict[str, bytes]:
    paths = [path for path in folder.glob(f"{name}*") if path.name != f"{name}.jsonl"]
    return {path.name.removeprefix(name): path.read_bytes() for path in paths}


@pytest.fixture(params=["uint16", "uint32"])
def whole(request: Any, tmp_path: Path, model: Path) -> dict[str, bytes]:
    """The files of tmp_path/ids."""
    files = write_tokens(tmp_path, "ids", model, request.param)
    assert set(files) == {"", ".ends", ".json", ".meta.jsonl.zst", ".errors.jsonl"}
    return files


def documents(array: Any) -> list[list[int]]:
    return [array[k].tolist() for k in range(len(array))]


def test_the_token_files_are_restored_byte_for_byte(tmp_path: Path, model: Path, whole: dict[str, bytes]) -> None:
    dtype = str(pyunitok.open(tmp_path / "ids").ids.dtype)
    more = write_tokens(tmp_path, "two", model, dtype, seed=2)
    before = [pyunitok.open(tmp_path / name) for name in ("ids", "two")]
    expected = [documents(array) for array in before]
    text = b"".join(run_bytes("detokenize", str(tmp_path / name), "-o", "-") for name in ("ids", "two"))
    idx = str(tmp_path / "idx")
    arguments = ["index", str(tmp_path / "ids"), str(tmp_path / "two"), "-o", idx, "--compact", "--shard-tokens", "900"]
    run(*arguments)
    kept = open_index(idx)
    metadata = kept.metadata(9)
    answers = [(query, int(kept.count(query)), kept.find(query, 50, order="text")) for query in ("the", "é", " c")]
    assert "removed" in run(*arguments, "--drop-tokens")
    assert not files_of(tmp_path, "ids") and not files_of(tmp_path, "two")
    index = open_index(idx)
    assert [documents(array) for array in index.arrays] == expected and "intact" in run("verify", idx)
    assert index.metadata(9) == metadata and "u9" in str(metadata)
    for query, count, hits in answers:
        found = index.find(query, 50, order="text")
        assert index.count(query) == count and found.begins.tolist() == hits.begins.tolist()
        assert [index.context(hit).match for hit in found] == [query.encode()] * len(found)
    array = index.arrays[0]
    assert documents(pickle.loads(pickle.dumps(array))) == expected[0]
    at = np.array([0, len(array.ids) - 1, 901, -1])
    assert array.ids[at].tolist() == before[0].ids[at].tolist() and array.ids[5] == before[0].ids[5]
    with pytest.raises(IndexError):
        array.ids[len(array.ids)]
    assert run_bytes("detokenize", idx, "-o", "-") == text
    run(*arguments, "--drop-tokens")  # has no effect
    run("index", idx, "-o", idx, "--drop-tokens")
    assert "only copy" in run(*arguments, "--overwrite", code=1)
    run("export", idx, "--to", "tokens", "-o", str(tmp_path / "again"))
    assert files_of(tmp_path / "again", "ids") == whole and files_of(tmp_path / "again", "two") == more
    assert "exists" in run("export", idx, "--to", "tokens", "-o", str(tmp_path / "again"), code=1)
    assert "does not apply" in run("export", idx, "--to", "tokens", "-o", str(tmp_path / "x"), "--shards", "2", code=1)


def run_bytes(*arguments: str) -> bytes:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def test_one_file_gets_its_name(tmp_path: Path, whole: dict[str, bytes]) -> None:
    seen: list[float] = []
    build_index(tmp_path / "ids", tmp_path / "idx", **COMPACT)
    build_index(
        tmp_path / "ids", tmp_path / "idx", drop_tokens=True, on_progress=lambda p: seen.append(p.tokens), **COMPACT
    )
    assert seen == sorted(seen) and seen[-1] == open_index(tmp_path / "idx").n_tokens
    run("export", str(tmp_path / "idx"), "--to", "tokens", "-o", str(tmp_path / "new.u16"))
    assert files_of(tmp_path, "new.u16") == whole
    run("export", str(tmp_path / "idx"), "--to", "tokens", "-o", str(tmp_path / "new.u16"), "--overwrite")
    assert "intact" in run("verify", str(tmp_path / "new.u16"))
    run("export", str(tmp_path / "idx"), "--to", "tokens", "-o", str(tmp_path / "ids"))
    assert files_of(tmp_path, "ids") == whole
    build_index(tmp_path / "ids", tmp_path / "idx", **COMPACT)  # already complete; keeps the restored file
    assert files_of(tmp_path, "ids") == whole
    shutil.move(tmp_path / "idx", tmp_path / "elsewhere")  # the index needs no other file
    assert verify_index(open_shards(tmp_path / "elsewhere")) == []


def test_files_can_be_added_to_an_index_with_stored_ones(tmp_path: Path, model: Path, whole: dict[str, bytes]) -> None:
    build_index(tmp_path / "ids", tmp_path / "idx", drop_tokens=True, **COMPACT)
    dtype = str(open_shards(tmp_path / "idx").arrays[0].ids.dtype)
    more = write_tokens(tmp_path, "more", model, dtype, seed=3)
    for _ in range(2):
        build_index(tmp_path / "more", tmp_path / "idx", add=True, shard_tokens=900)
    assert [file.stored for file in IndexManifest.read(tmp_path / "idx").files] == [True, False]
    n = open_index(tmp_path / "idx").count("the")
    run("index", str(tmp_path / "more"), "-o", str(tmp_path / "idx"), "--add", "--shard-tokens", "900", "--drop-tokens")
    assert open_index(tmp_path / "idx").count("the") == n and not files_of(tmp_path, "more")
    run("export", str(tmp_path / "idx"), "--to", "tokens", "-o", str(tmp_path / "out"))
    assert files_of(tmp_path / "out", "ids") == whole and files_of(tmp_path / "out", "more") == more


def test_what_is_refused(tmp_path: Path, whole: dict[str, bytes]) -> None:
    build_index(tmp_path / "ids", tmp_path / "arrays", shard_tokens=900)
    for options in ({}, {"compact": CompactOptions(locate_every=0, extract_every=0)}):
        with pytest.raises(OutputError, match="only a compact index"):
            build_index(tmp_path / "ids", tmp_path / f"idx{len(options)}", drop_tokens=True, **options)
        shutil.rmtree(tmp_path / f"idx{len(options)}")
    with pytest.raises(OutputError, match=r"arrays is an index of .*ids, too"):
        build_index(tmp_path / "arrays", tmp_path / "idx", drop_tokens=True, compact=CompactOptions())
    with pytest.raises(OutputError, match="not a compact index"):
        open_index(tmp_path / "arrays").restore_tokens(tmp_path / "out")
    assert files_of(tmp_path, "ids") == whole
    shutil.rmtree(tmp_path / "arrays")
    path = tmp_path / "idx" / "00000.compact"
    good = path.read_bytes()
    path.write_bytes(good[:600] + bytes([good[600] ^ 1]) + good[601:])
    with pytest.raises(OutputError, match="does not contain the tokens"):
        build_index(tmp_path / "idx", tmp_path / "idx", drop_tokens=True)
    assert files_of(tmp_path, "ids") == whole
    path.write_bytes(good)
    build_index(tmp_path / "idx", tmp_path / "idx", drop_tokens=True)
    assert not files_of(tmp_path, "ids") and verify_index(open_shards(tmp_path / "idx")) == []
    for name in ("00000.compact", "00000.tokens.ends"):
        path = tmp_path / "idx" / name
        good = path.read_bytes()
        path.write_bytes(good[:600] + bytes([good[600] ^ 1]) + good[601:] if len(good) > 600 else b"\1" + good[1:])
        try:
            problems = verify_index(open_shards(tmp_path / "idx"))
        except OutputError as error:
            problems = [str(error)]
        assert name in problems[0]
        path.write_bytes(good)


def test_a_bare_file_is_kept(tmp_path: Path, model: Path) -> None:
    (tmp_path / "bare").write_bytes(np.arange(97, 120, dtype="<u2").tobytes())
    with pytest.raises(OutputError, match="no manifest"):
        build_index(tmp_path / "bare", tmp_path / "idx", drop_tokens=True, model=model, compact=CompactOptions())
    assert (tmp_path / "bare").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forked")
def test_nothing_is_lost_at_any_moment(tmp_path: Path, whole: dict[str, bytes]) -> None:
    """Kills the process before its k-th operation on a file, for every k, and then repeats the command."""
    original, folder = tmp_path / "original", tmp_path / "work"
    expected = documents(pyunitok.open(tmp_path / "ids"))
    build_index(tmp_path / "ids", tmp_path / "idx", **COMPACT)
    original.mkdir()
    for path in [*tmp_path.glob("ids*"), tmp_path / "idx"]:
        shutil.move(path, original)
    k, n_killed = 0, 0
    while n_killed == k:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(original, folder)
        k += 1
        n_killed += _killed_at(k, folder)
        index = open_shards(folder / "idx")
        assert documents(index.arrays[0]) == expected
        if not index.manifest.files[0].stored:
            assert files_of(folder, "ids") == whole
        if n_killed == k:
            build_index(folder / "ids", folder / "idx", drop_tokens=True, **COMPACT)
        assert not files_of(folder, "ids") and not list((folder / "idx").glob("*.partial"))
        run("export", str(folder / "idx"), "--to", "tokens", "-o", str(folder / "ids"))
        assert files_of(folder, "ids") == whole
    assert k > 40


def _killed_at(k: int, folder: Path) -> bool:
    pid = os.fork()
    if pid == 0:
        n = 0

        def hook(event: str, arguments: Any) -> None:
            nonlocal n
            if event in ("os.rename", "os.remove") or (event == "open" and str(folder) in str(arguments[0])):
                n += 1
                if n == k:
                    os._exit(9)

        sys.addaudithook(hook)
        try:
            build_index(folder / "ids", folder / "idx", drop_tokens=True, **COMPACT)
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, 9)
    return code == 9
