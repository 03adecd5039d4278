"""The benchmarks run and verify what they time; no time is looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(find_spec("pyrwkv_tokenizer") is None, reason="needs pyrwkv-tokenizer")


def bench(*arguments: str) -> Any:
    argv = [sys.executable, ROOT / "tools" / "bench.py", *arguments, "--corpora", "sample", "-n", "1", "--json"]
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
