"""The search page's views of fields, words and texts: their requests, and the views in a browser."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import commands
import pytest

import pyunitok
from pyunitok import open_index
from pyunitok.index.build import build_index
from pyunitok.index.field_build import add_fields
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.word_build import add_words

pytest.importorskip("starlette", reason="pip install 'pyunitok[serve]'")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from pyunitok.index.page import parameters, statistic_requests, text_requests
from pyunitok.index.page.app import make_app

SENTENCES = {
    "en": "The quick brown fox jumps over the lazy dog number {}, and the dog sleeps.",
    "de": "Der Fuchs Nummer {} springt, und the fox bleibt ein Fuchs.",
    "he": "השועל המהיר fox מספר {} קופץ מעל הכלב העצלן.",
}
DOCUMENTS = [
    {"text": SENTENCES[lang].format(k), "lang": lang, "year": 1990 + k % 7, "title": f"Title {k}"}
    for k in range(60)
    for lang in [("en", "en", "de", "he")[k % 4]]
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of DOCUMENTS with words and the fields lang, year and title."""
    ret = tmp_path_factory.mktemp("views")
    (ret / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS))
    pyunitok.tokenize(ret / "a.jsonl", ret / "ids.u16", metadata=True)
    build_index([ret / "ids.u16"], ret / "idx")
    add_words(ret / "idx")
    add_fields(ret / "idx", ["lang", "year", "title"])
    return ret


@pytest.fixture(scope="module")
def client(folder: Path) -> TestClient:
    return TestClient(make_app(open_index(folder / "idx"), {"localhost"}), base_url="http://localhost:8765")


def answer(client: TestClient, name: str, **given: Any) -> Any:
    response = client.get(f"/api/{name}.json", params=given)
    assert response.status_code == 200, response.text
    return response.json()


def error(client: TestClient, name: str, **given: Any) -> str:
    response = client.get(f"/api/{name}.json", params=given)
    assert response.status_code == 400
    return str(response.json()["error"])


def rows(client: TestClient, name: str, **given: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(f"/api/{name}.csv", params=given).text)))


def n_of(text: str, chosen: Any = lambda row: True) -> int:
    return sum(row["text"].count(text) for row in DOCUMENTS if chosen(row))  # type: ignore[attr-defined]


def test_fields(client: TestClient) -> None:
    assert answer(client, "info")["fields"] == ["lang", "year", "title"]
    values = answer(client, "values", field=["lang", "year"], limit=2)["values"]
    counts = Counter(row["lang"] for row in DOCUMENTS)
    assert values[:2] == [{"field": "lang", "value": v, "documents": counts[v]} for v in ("en", "de")]
    assert [row["field"] for row in values] == ["lang"] * 2 + ["year"] * 2
    facets = answer(client, "facets", q="fox", where="lang=de", field=["lang", "year"], limit=1)
    n = n_of("fox", lambda row: row["lang"] == "de")
    assert facets["facets"][0] == {"field": "lang", "value": "de", "count": n, "documents": counts["de"]}
    assert not facets["approx"]
    found = answer(client, "filtered", q="fox", where=["lang=de", "year>=1995"], limit=5)
    assert found["count"] == n_of("fox", lambda row: row["lang"] == "de" and row["year"] >= 1995)
    assert all(hit["fields"]["lang"] == "de" and hit["fields"]["title"] for hit in found["hits"])
    by_year = rows(client, "groups", q="fox", by="year", words=1)
    assert [row["value"] for row in by_year] == [str(1990 + k) for k in range(7)]
    assert sum(int(row["count"]) for row in by_year) == n_of("fox")


def test_terms_together(client: TestClient) -> None:
    found = answer(client, "all_of", q=["Fuchs|dog", "fox"], within=100)
    clause = n_of("Fuchs") + n_of("dog")
    assert (found["clauses"], found["counts"]) == (["Fuchs|dog", "fox"], [clause, n_of("fox")])
    assert found["count"] == n_of("fox", lambda row: row["lang"] != "he") and not found["approx"]
    assert answer(client, "all_of", q=["brown", "lazy"])["count"] == n_of("brown")
    assert answer(client, "all_of", q=["brown", "lazy"], within=1)["count"] == 0
    assert rows(client, "all_of", q=["brown", "lazy"])[0]["count"] == str(n_of("brown"))
    for bad in ([], ["a"] * 11, ["|".join("a" * 21)]):
        assert "q parameters" in error(client, "all_of", q=bad)


def test_token_ngrams(client: TestClient, folder: Path) -> None:
    found = answer(client, "ngrams", n=3, limit=4)["ngrams"]
    grams = open_index(folder / "idx").ngrams(3, 2, 4)
    assert [(row["ids"], row["count"]) for row in found] == list(
        zip(grams.ids.tolist(), grams.counts.tolist(), strict=True)
    )
    assert [row["count"] for row in rows(client, "ngrams", n=3, limit=4)] == [str(row["count"]) for row in found]


def test_texts_are_compared(client: TestClient) -> None:
    text = "the quick brown fox jumps over a lazy dog\nof new words\nthe lazy dog number 1, and the dog sleeps."
    found = answer(client, "overlap", q=text, n=4)
    assert [row["windows"] for row in found["overlap"]] == [6, 0, 6] and found["lines_short"] == 1
    assert [row["found"] for row in found["overlap"]] == [2, 0, 6] and found["lines_found"] == 2
    assert rows(client, "overlap", q=text, n=4)[1]["text"] == "of new words"
    spans = answer(client, "spans", q=text, min=10)["spans"]
    expected = ["quick brown fox jumps over", "the lazy dog number 1, and the dog sleeps"]
    assert [span["text"] for span in spans] == expected
    assert all(DOCUMENTS[span["document"]]["text"].count(span["text"]) for span in spans)  # type: ignore[attr-defined]
    assert answer(client, "overlap", q="QUICK: brown, fox", n=3, normalize=1)["lines_found"] == 1
    assert answer(client, "spans", q="QUICK: brown, fox", min=9, normalize=1)["spans"][0]["count"] == n_of("quick")
    assert "unit must be" in error(client, "overlap", q=text, unit="lines")
    assert client.get("/api/spans.csv", params={"q": ""}).text.startswith("begin,end,count")


def test_a_hostile_text_has_one_budget_for_all_searches(folder: Path) -> None:
    opened = open_index(folder / "idx", max_work=0)
    client = TestClient(make_app(opened, {"localhost"}), base_url="http://localhost:8765")
    text = "quick brown fox jumps over the lazy"
    assert answer(client, "overlap", q=text, n=2)["approx"] and answer(client, "spans", q=text)["approx"]


def test_slow_requests_are_rejected(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "MAX_SCANNED", 10)
    for name in ("filtered", "groups", "facets"):
        for words in (0, 1):
            assert "too many to read" in error(client, name, q="fox", words=words)
    assert "too many to read" in error(client, "dispersion", q="fox")
    assert "too many to read" in error(client, "all_of", q=["fox", "dog"])
    assert "at most 10 where" in error(client, "keyness", where=["lang=de"] * 11)
    monkeypatch.setattr(statistic_requests, "MAX_COUNTED", 10)
    assert "--keyness" in error(client, "keyness", where="lang=de")
    monkeypatch.setattr(text_requests, "MAX_GRAM_TOKENS", 10)
    assert "--ngrams" in error(client, "ngrams")


def test_a_compact_index_reads_a_sample(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: groups and facets of a sample were not marked as estimates."""
    build_index([folder / "idx"], folder / "small", compact=CompactOptions())
    add_fields(folder / "small", ["lang"])
    client = TestClient(make_app(open_index(folder / "small"), {"localhost"}), base_url="http://localhost:8765")
    assert not answer(client, "groups", q="fox", by="lang")["approx"]
    monkeypatch.setattr("pyunitok.index.search.MAX_LOCATED", 10)
    assert answer(client, "groups", q="fox", by="lang")["approx"] and answer(client, "facets", q="fox")["approx"]
    assert "over 10 hits" in error(client, "filtered", q="fox")


def test_commands_of_a_compact_index_that_only_counts(folder: Path, tmp_path: Path) -> None:
    """Regression: --spans raised IndexError."""
    build_index([folder / "idx"], tmp_path / "counts", compact=CompactOptions(locate_every=0, extract_every=0))
    (tmp_path / "text").write_text("quick brown fox jumps over")
    done = commands.run(tmp_path, "search", "counts", "--spans", "text", "--json")
    span = json.loads(done.stdout)["spans"][0]
    assert (span["document"], span["source"]) == (-1, None)
