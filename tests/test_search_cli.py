"""Tests every kind of query of `pyunitok search`, with results as tables, JSON and CSV."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from toys import indexes

from pyunitok import Tokenizer
from pyunitok.cli import cli
from pyunitok.index import concordance
from pyunitok.index.search import SourceCounts

TEXTS = [
    "the cat sat on the mat.\nthe end", "a dog and a cat", "猫は吾輩である。名前はまだ無い。",
    "the <script>alert(1)</script>", "", "one the the the two",
]  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, both_kinds: str) -> Any:
    words = ["the", " cat", " the", "猫", "。", " sat"]
    tokenizer = Tokenizer.from_pieces([*words, *(bytes([byte]) for byte in range(256))], eod=300)
    folder = tmp_path_factory.mktemp("index")
    ids = indexes.encode(tokenizer, [text.encode() for text in TEXTS])
    return indexes.make(folder, tokenizer, [ids], eod=300, inputs=[("a.txt", 2), ("b.txt", 4)])


@pytest.fixture
def run(index: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setattr("pyunitok.cli.search.open_index", lambda *_, **__: index)

    def call(*arguments: str, fails: bool = False) -> Result:
        result = CliRunner().invoke(cli, ["search", str(tmp_path), *arguments])
        assert (result.exit_code != 0) == fails, result.output
        return result

    return call


def answer(run: Any, *arguments: str) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


def test_a_concordance_is_aligned(run: Any) -> None:
    lines = run("the", "--sort", "text", "--before", "6").stdout.splitlines()
    assert lines[0] == " 0:0" + 8 * " " + "the cat sat on the mat.⏎the end"
    assert lines[1] == "0:15  at on the mat.⏎the end" and len(lines) == 7
    assert run("the").stderr == "7 occurrences\n" and run("zebra").stderr == "0 occurrences\n"


def test_lines_fit_the_terminal(index: Any) -> None:
    lines = concordance.concordance(index, "猫", before=4, after=40)[0]
    for width, expected in ((80, "は吾輩である。名前はまだ無い。"), (13, "は吾輩"), (12, "は吾"), (3, "")):
        assert [right for *_, right in concordance.aligned(lines, 4, width)] == [expected]


def test_wide_characters_take_two_columns(run: Any) -> None:
    assert run("輩", "--before", "3").stdout.splitlines()[0] == "2:9   吾輩である。名前はまだ無い。"
    assert concordance._columns("é\u0301") == 1


@pytest.mark.parametrize("question", ["", "--documents", "--by-source", "--next", "--previous"])
def test_csv_has_its_header_without_rows(run: Any, question: str) -> None:
    full, empty = (run(text, *question.split(), "--csv").stdout.splitlines() for text in ("cat", "zebra"))
    assert empty == full[:1]


@pytest.mark.parametrize("arguments", [["--by-source"], ["--documents"], ["--documents", "--csv"], ["--csv"], []])
def test_control_characters_are_escaped(run: Any, index: Any, arguments: list[str], monkeypatch: Any) -> None:
    """Control characters in file names and texts are not printed."""
    name = "a\x1b]0;owned\x07\x9b31m\u202etxt"
    monkeypatch.setattr(type(index), "source", lambda _, document: name)
    found = SourceCounts((dataclasses.replace(row, path=name) for row in index.by_source(b"cat")), False)
    monkeypatch.setattr(type(index), "by_source", lambda *_: found)
    shown = run("cat", *arguments).stdout
    assert not set(shown) & {"\x1b", "\x07", "\x9b"}
    assert ("\\x1b]0;owned\\x07\\x9b31m" in shown) == bool(arguments)


def test_csv_has_no_formulas(run: Any, index: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(type(index), "source", lambda _, document: "=HYPERLINK(1)")
    row = next(csv.DictReader(io.StringIO(run("cat", "--csv").stdout)))
    assert row["source"] == "'=HYPERLINK(1)"


def test_csv_of_documents_with_and_without_metadata(run: Any, index: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(type(index), "metadata", lambda _, document: {"n": document} if document else None)
    rows = list(csv.DictReader(io.StringIO(run("cat", "--sort", "text", "--csv").stdout)))
    assert [(row["document"], row["metadata"]) for row in rows] == [("0", ""), ("1", '{"n": 1}')]


def test_hits_as_json_and_csv(run: Any) -> None:
    found = answer(run, "cat", "--sort", "text")
    assert (found["count"], found["approx"]) == (2, False)
    assert found["hits"][0] == {
        "document": 0, "begin": 4, "end": 7, "source": "a.txt", "before": "the ", "match": "cat",
        "after": " sat on the mat.\nthe end",
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(run("cat", "--sort", "text", "--csv").stdout)))
    assert rows[1]["before"] == "a dog and a " and rows[1]["source"] == "a.txt"
    assert len(answer(run, "the", "--limit", "2", "--offset", "6")["hits"]) == 1


def test_sorted_by_either_side(run: Any) -> None:
    rights = [hit["after"] for hit in answer(run, "the", "--sort", "R1")["hits"]]
    assert [text.split()[0] for text in rights][:3] == ["<script>alert(1)</script>", "cat", "end"]
    lefts = [hit["before"].split()[-1:] for hit in answer(run, "the", "--sort", "L1")["hits"]]
    assert lefts == sorted(lefts)
    shuffled = answer(run, "the", "--sort", "random", "--seed", "4")["hits"]
    assert len({(hit["document"], hit["begin"]) for hit in shuffled}) == 7


def test_counts(run: Any) -> None:
    assert run("the", "--count").stdout == "7\n"
    assert answer(run, "the", "--count") == {"count": 7, "approx": False}
    assert answer(run, "0", "--ids", "--count") == {"count": 3, "approx": False}
    assert answer(run, r"mat.\nthe", "--escapes", "--count")["count"] == 1
    assert answer(run, r"\xe7\x8c", "--escapes", "--count")["count"] == 1


def test_documents_and_sources(run: Any) -> None:
    found = answer(run, "the", "--documents")
    assert [(row["document"], row["count"], row["source"]) for row in found["documents"]] == [
        (0, 3, "a.txt"), (5, 3, "b.txt"), (3, 1, "b.txt"),
    ]  # fmt: skip
    assert answer(run, "the", "--by-source")["sources"] == [
        {"source": "a.txt", "count": 3, "documents": 1}, {"source": "b.txt", "count": 4, "documents": 2},
    ]  # fmt: skip
    assert run("the", "--by-source").stdout.splitlines()[1].split() == ["a.txt", "3", "1"]


def test_neighbours_and_probabilities(run: Any) -> None:
    found = answer(run, " the", "--next")
    assert found["count"] == 4 and sum(row["count"] for row in found["next"]) == 4
    assert {"text": " the", "count": 2, "share": 0.5} in found["next"]
    assert answer(run, "2", "--ids", "--previous")["previous"][0]["id"] == 2
    assert answer(run, "2", "--ids", "--prob", "2") == {"p": 0.5, "count": 2, "total": 4, "context": 1}
    assert answer(run, "5 5 5 2", "--ids", "--infgram", "2") == {"p": 0.5, "count": 2, "total": 4, "context": 1}
    assert answer(run, "5 5", "--ids", "--prob", "2")["p"] is None
    found = answer(run, "5 5 5 2", "--ids", "--infgram-next")
    assert (found["context"], found["count"]) == (1, 4)
    assert {"id": 2, "text": " the", "count": 2, "share": 0.5} in found["infgram_next"]
    assert answer(run, "2", "--ids", "--sample", "3", "--seed", "1")["text"]


def test_questions_without_a_text(run: Any, tmp_path: Path) -> None:
    assert answer(run, "--all-of", "cat|dog", "--all-of", "sat")["count"] == 1
    assert answer(run, "--all-of", "cat", "--all-of", "sat", "--within", "0")["count"] == 0
    grams = answer(run, "--ngrams", "1", "--limit", "3")["ngrams"]
    assert [row["count"] for row in grams] == sorted((row["count"] for row in grams), reverse=True)
    (tmp_path / "lines").write_text("the cat sat on the mat, surely\nzebra\n")
    found = answer(run, "--overlap", str(tmp_path / "lines"), "--window", "4")
    assert found["lines_found"] == 1 and found["overlap"][0]["document"] == 0 and not found["overlap"][1]["found"]
    assert found["lines_short"] == 1 and found["overlap"][1]["short"] and not found["overlap"][0]["short"]
    shown = run("--overlap", str(tmp_path / "lines"), "--window", "4").stderr
    assert "1 of 2 lines shares 4 words with the corpus; skipped 1 line shorter than 4 words" in shown
    spans = answer(run, "--spans", str(tmp_path / "lines"), "--span-bytes", "20")["spans"]
    assert spans[0]["text"] == "the cat sat on the mat" and spans[0]["source"] == "a.txt"
    (tmp_path / "part").write_text("xcat sat on the matx")
    assert answer(run, "--spans", str(tmp_path / "part"), "--whole-words", "--span-bytes", "9")["spans"] == [
        {"begin": 5, "end": 15, "count": 1, "document": 0, "source": "a.txt", "text": "sat on the"}
    ]
    assert "cat sat on the mat" in run("--spans", str(tmp_path / "part"), "--span-bytes", "9").stdout


def test_options_of_all_of(run: Any) -> None:
    assert answer(run, "--all-of", "cat", "--all-of", "sat", "--count")["count"] == 1
    assert "--within requires --all-of" in run("cat", "--within", "3", fails=True).stderr


def test_a_query_for_each_line_of_a_file(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "queries"
    path.write_bytes(b"the\ncat\r\n\nzebra\n\xbc\xa9\n")
    lines = [json.loads(line) for line in run("--queries", str(path), "--count").stdout.splitlines()]
    assert [line["count"] for line in lines] == [7, 2, 0, 0, 1]
    path.write_text("the\n猫\n", encoding="utf-8")
    lines = [json.loads(line) for line in run("--queries", str(path), "--sort", "text", "--json").stdout.splitlines()]
    assert [(line["query"], len(line["hits"])) for line in lines] == [("the", 7), ("猫", 1)]
    lines = run("--queries", str(path), "--next").stdout.splitlines()
    assert json.loads(lines[1])["next"] == answer(run, "猫", "--next")["next"]
    for wrong in (["x"], ["--csv"], ["--ngrams", "2"]):
        assert "--queries" in run("--queries", str(path), *wrong, fails=True).output


@pytest.mark.parametrize(
    "arguments",
    [(), ("a", "--count", "--next"), ("a", "--json", "--csv"), ("a", "--ngrams", "2"), ("x", "--ids"),
     ("1", "--ids", "--documents")],
)  # fmt: skip
def test_conflicting_options(run: Any, arguments: tuple[str, ...]) -> None:
    assert "Error" in run(*arguments, fails=True).output


def test_a_folder_without_an_index_is_an_error(tmp_path: Path) -> None:
    assert CliRunner().invoke(cli, ["search", str(tmp_path), "a"]).exit_code != 0


def test_help_has_an_example() -> None:
    assert "pyunitok search idx" in CliRunner().invoke(cli, ["search", "--help"]).output
