"""The page on cleaning: its five commands turn a small crawl into a clean token file, and near-duplicates are found."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
from commands import run

import pyunitok
from pyunitok.corpus.reading import ReadingOptions

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "Which of the following rivers flows through the largest number of capital cities in the whole of Europe?"
REPEATED = " ".join(f"This notice number {k} appears on every page of the site." for k in range(12))


def text(i: int) -> str:
    return " ".join(f"Sentence {k} of page {i} says something about topic {(i * 7 + k) % 101}." for k in range(12))


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Two files that contain a benchmark item, a repeated page and paragraph, a near-duplicate and an invalid line."""
    pages = {i: text(i) for i in range(60)}
    pages[7] += " Quiz: " + QUESTION.upper() + " The Danube."
    pages[11] += " " + REPEATED
    pages[45] += " " + REPEATED
    pages[55] = pages[5]
    pages[50] = text(20).replace("Sentence 3", "Line 3")
    (tmp_path / "crawl/b").mkdir(parents=True)
    lines = [json.dumps({"id": i, "text": page}).encode() for i, page in pages.items()]
    (tmp_path / "crawl/a.jsonl").write_bytes(b"\n".join([*lines[:30], b"{broken"]) + b"\n")
    (tmp_path / "crawl/b/c.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines[30:])))
    (tmp_path / "questions.jsonl").write_text(json.dumps({"id": "q7", "question": QUESTION, "answer": "The Danube"}))
    return tmp_path


def test_five_commands(crawl):
    page = (ROOT / "tools/docs/clean.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\n(.*?)```", page, re.S)
    assert block
    lines = block[1].replace("\\\n", " ").splitlines()
    assert len(lines) == 5
    for line in lines:
        done = run(crawl, *shlex.split(line)[1:])
        assert done.returncode in (0, 3), (line, done.stderr.decode())
    hits = pyunitok.decontaminate(crawl / "crawl", None, crawl / "questions.jsonl", field="question", action="report",
                                  report=crawl / "again.jsonl", reading=ReadingOptions(on_error="skip"))  # fmt: skip
    assert (hits.documents_read, hits.documents_affected, hits.skipped) == (60, 1, 1)
    tokens = pyunitok.open(crawl / "ids.u16")
    texts = [tokens.text_bytes(k).decode() for k in range(len(tokens))]
    assert len(texts) == 58
    assert sum("Sentence 0 of page 5 " in one for one in texts) == 1
    assert not any("capital cities" in one for one in texts)
    assert sum("This notice number 5 appears" in one for one in texts) == 1
    assert any("Sentence 0 of page 59" in one for one in texts)


def test_near_duplicates(crawl, monkeypatch):
    pytest.importorskip("datasketch")
    page = (ROOT / "tools/docs/clean.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", page, re.S)
    assert block
    (crawl / "crawl").rename(crawl / "clean")
    (crawl / "clean/a.jsonl").write_bytes((crawl / "clean/a.jsonl").read_bytes().replace(b"{broken\n", b""))
    monkeypatch.chdir(crawl)
    exec(compile(block[1], "clean.md", "exec"), {})
    assert (crawl / "near.txt").read_text() == "50\n55\n"
