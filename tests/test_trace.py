"""Compares the spans and counts of trace to a naive search of the raw text; the documents contain the spans."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from oracle.repeats import longest_spans
from toys import models

import pyunitok
from pyunitok.cli import cli
from pyunitok.corpus.words import character_bounds, word_bounds
from pyunitok.errors import LimitError
from pyunitok.index.build import build_index
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.opened import open_index
from pyunitok.index.trace import as_json, trace
from pyunitok.job import tokenize

WORDS = [
    "the", "cat", "sat", "on", "a", "mat", "and", "saw", "the", "old", "grey", "dog", "run", "past", "the", "house",
    "日本語", "café", "naïve", "42", "x",
]  # fmt: skip


def texts() -> list[str]:
    rng = random.Random(3)
    return [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 60))) for _ in range(40)]


@pytest.fixture(scope="module", params=[None, CompactOptions()], ids=["suffix array", "compact"])
def index(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("trace")
    lines = [json.dumps({"text": text, "title": f"Title {k}"}) for k, text in enumerate(texts())]
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n")
    models.greedy(" the", " cat", "sat", "日", name="toy").save(folder / "toy.utk")
    tokenize(folder / "a.jsonl", folder / "ids", folder / "toy.utk", metadata=True)
    build_index([folder / "ids"], folder / "idx", shard_tokens=700, compact=request.param)
    return open_index(folder / "idx")


def occurrences(part: bytes) -> int:
    return sum(len(re.findall(b"(?=" + re.escape(part) + b")", text.encode())) for text in texts())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("whole_words", [False, True])
def test_spans_and_documents(index: Any, seed: int, whole_words: bool) -> None:
    rng = random.Random(seed)
    parts = [text[rng.randrange(len(text)) :][: rng.randrange(1, 40)] for text in rng.choices(texts(), k=3)]
    text = " unseen ".join(parts).encode()
    found = trace(index, text, min_bytes=5, whole_words=whole_words, max_spans=1000, max_documents=3, context=7)
    spans = [(span.begin, span.end) for span in found.spans]
    units = word_bounds(text) if whole_words else character_bounds(text)
    expected = longest_spans([one.encode() for one in texts()], text, units.tolist(), 5)
    assert [(*span, times.count) for span, times in zip(spans, found.spans, strict=True)] == expected
    assert found.n_found == len(spans) and not found.approx and found.text == text
    for span in found.spans:
        assert span.count == occurrences(span.text) > 0 and text[span.begin : span.end] == span.text
        holding = {k for k, one in enumerate(texts()) if span.text in one.encode()}
        assert len(span.lines) == min(3, len(holding)) or span.count > 12  # random occurrences can share a document
        for line in span.lines:
            document = texts()[line.hit.document].encode()
            assert document[line.hit.begin : line.hit.end] == span.text
            assert document.decode().count(line.before + line.match + line.after) > 0
        assert len({line.hit.document for line in span.lines}) == len(span.lines)
        covered = [k for k, (a, b) in enumerate(found.bounds.tolist()) if a < span.end and b > span.begin]
        assert covered == list(range(span.left, span.right))


def test_the_rarest_spans_are_kept(index: Any) -> None:
    text = " unseen ".join(["the cat", "日本語 café", "naïve 42 x", "a", "mat and"])
    every = trace(index, text, min_bytes=1, max_spans=1000, max_documents=0)
    kept = trace(index, text, min_bytes=1, max_spans=2, max_documents=0)
    lowest = sorted(span.log_probability for span in every.spans)[:2]
    assert sorted(span.log_probability for span in kept.spans) == lowest and kept.n_found == len(every.spans)
    assert [span.begin for span in kept.spans] == sorted(span.begin for span in kept.spans)
    span = kept.spans[0]
    total = sum(math.log(max(1, int(index.count_tokens([int(id_)]))) / index.n_tokens) for id_ in span.ids)
    assert span.log_probability == pytest.approx(total)
    long = " ".join(WORDS) * 40
    kept = trace(index, long, min_bytes=1, max_documents=0)
    assert len(kept.spans) == min(math.ceil(len(index.tokenizer.encode(long)) / 20), kept.n_found)


def test_hostile_texts(index: Any) -> None:
    for text in (b"", b"\x00", b"\xff" * 50, bytes(range(256)), b"the cat\xff\xfe the cat", "日本語".encode()[:-1]):
        found = trace(index, text, min_bytes=1)
        assert found.text == text and all(occurrences(span.text) == span.count for span in found.spans)
        json.dumps(as_json(index, found))
    for wrong in ({"max_documents": -1}, {"context": -1}, {"max_spans": -1}, {"min_bytes": 0}):
        with pytest.raises(LimitError):
            trace(index, "a", **wrong)  # type: ignore[arg-type]


def test_json(index: Any) -> None:
    found = trace(index, "xx the cat sat on a yy", min_bytes=4, max_documents=2, context=30)
    answer = as_json(index, found)
    assert "".join(answer["inputTokens"]) == answer["text"] == "xx the cat sat on a yy" or found.spans == []
    for span in answer["spans"]:
        assert span["length"] == span["right"] - span["left"]
        assert span["endByte"] - span["beginByte"] == len(span["text"].encode())
        for one in span["documents"]:
            assert one["text"][one["needleOffset"] :].startswith(span["text"]) and span["text"] in one["textSnippet"]
            assert one["metadata"]["metadata"] == {"title": f"Title {one['documentIndex']}"}
            assert one["source"].endswith("a.jsonl") and one["documentLength"] > 0
    assert answer["spans"]


def test_the_same_seed_gives_the_same_documents(index: Any) -> None:
    first, again, other = (trace(index, "the", min_bytes=1, max_documents=3, seed=seed) for seed in (1, 1, 2))
    assert repr(first.spans[0].lines) == repr(again.spans[0].lines) != repr(other.spans[0].lines)


def test_command(index: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff the cat sat \x1b[31m unseen the old grey dog\n")
    arguments = ["trace", str(index.folder), str(tmp_path / "a.txt"), "--span-bytes", "5"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0 and "the cat" in result.stdout and "\x1b" not in result.stdout, result.output
    assert re.search(r"\d+ spans?", result.stderr)
    result = CliRunner().invoke(cli, [*arguments, "--json", "--max-documents", "1", "--context", "5"])
    spans = json.loads(result.stdout)["spans"]
    assert spans and all(len(span["documents"]) == 1 for span in spans)
    result = CliRunner().invoke(cli, [*arguments[:2], "-"], input=b"zzzz")
    assert result.exit_code == 0 and result.stdout == "" and "0 spans" in result.stderr
    assert CliRunner().invoke(cli, [*arguments, "--max-spans", "-1"]).exit_code == 2


def test_models_that_normalize(tmp_path: Path) -> None:
    """Spans refer to the normalized text, which the result includes."""
    (tmp_path / "a.txt").write_text("The quick brown fox\njumps over the dog\n" * 3)
    pyunitok.train(tmp_path / "a.txt", kind="char", vocab_size=40, out=tmp_path / "m.model", hard_vocab_limit=False)
    tokenize(tmp_path / "a.txt", tmp_path / "ids", tmp_path / "m.model", separator="\n")
    build_index([tmp_path / "ids"], tmp_path / "idx")
    index = open_index(tmp_path / "idx")
    found = trace(index, "ｑｕｉｃｋ   brown fox", min_bytes=5)
    assert found.text == b"quick brown fox" and [span.text for span in found.spans] == [b"quick brown fox"]
    assert isinstance(found.bounds, np.ndarray) and found.spans[0].count == 3
