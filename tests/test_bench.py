"""The benchmarks run and verify what they time; no time is looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(find_spec("pyrwkv_tokenizer") is None, reason="needs pyrwkv-tokenizer")


def bench(*arguments: str, n: bool = True) -> Any:
    argv = [sys.executable, ROOT / "tools" / "bench.py", *arguments, "--corpora", "sample", "--json"]
    argv += ["-n", "1"] if n else []
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["longest", "encode"])
def test_longest(name: str) -> None:
    report = bench(name, "--levels")
    assert {row["corpus"] for row in report["rows"]} == {"sample"}
    assert "portable" in {row["cpu"] for row in report["rows"]}
    assert "0 different" in report["notes"][0]


def test_trie() -> None:
    rows = bench("trie")["rows"]
    assert [row["corpus"] for row in rows if row["corpus"]] == ["sample"]
    assert all(row["trie bytes"] > 0 for row in rows[:1])


def test_single() -> None:
    report = bench("single")
    assert [row["strings"] for row in report["rows"]] == ["sample", "sample, one string"]
    assert "0 different" in report["notes"][0]


def test_reading() -> None:
    rows = bench("reading", "--gigabytes", "0.001", "--files", "7")["rows"]
    assert len(rows) == 10 and {row["threads"] for row in rows} == {1, 2}


def test_stream() -> None:
    for doc in ("line", "file"):
        report = bench("stream", "--gigabytes", "0.15", "--doc", doc, n=False)
        row = report["rows"][0]
        assert row["text GB"] == 0.15 and (row["documents"] == 1) == (doc == "file")
        assert "verified" in report["notes"][0]


MODELS = [SHARED / "data/models" / path for path in ("spm/llama2.model", "hf/kitoken_llama2.json")]


@pytest.mark.skipif(not all(path.exists() for path in MODELS), reason="needs the shared models")
def test_pipelines() -> None:
    """With the peers that PYUNITOK_PEERS names, if it is set."""
    arguments = ["--gigabytes", "0.001", "--megabytes", "0.1", "-m", str(MODELS[0]), "--peer-model", str(MODELS[1])]
    report = bench("pipelines", *arguments)
    peers = [name for name in ("datatrove", "dolma") if not any(f"{name} left out" in note for note in report["notes"])]
    assert [row["pipeline"] for row in report["rows"]] == ["pyunitok", *peers]
    assert report["rows"][0]["Mtokens"] > 0
    assert ("verified" in report["notes"][-1]) == bool(peers)
