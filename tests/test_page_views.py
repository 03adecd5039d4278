"""Tests the search page's views of fields, words and texts: their API requests, and the views in a browser."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import commands
import pytest
from test_serve import served

import pyunitok
from pyunitok import open_index
from pyunitok._c.search import TextCounter
from pyunitok.index.build import build_index
from pyunitok.index.field_build import add_fields
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.word_build import add_words

pytest.importorskip("starlette", reason="pip install 'pyunitok[serve]'")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from pyunitok.index.opened import Index
from pyunitok.index.page import parameters, statistic_requests, text_requests
from pyunitok.index.page.answers import ACCEPTED, ANSWERS, ask
from pyunitok.index.page.app import make_app
from pyunitok.index.page.parameters import BadRequest

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
    by_lang = answer(client, "groups", q="fox", by="lang", order="count", limit=1)["groups"]
    assert (by_lang[0]["value"], by_lang[0]["count"]) == ("en", n_of("fox", lambda row: row["lang"] == "en"))
    assert "order must be" in error(client, "groups", q="fox", order="up")


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


TEXT = "the quick brown fox jumps over a lazy dog, and the Fuchs Nummer 2 springt, und the fox bleibt"
TEXT_QUERIES = [{"q": q} for q in ("fox", "the lazy dog", "e", "ל", "brown fox jumps over the", "absent")]
WORD_QUERIES: list[dict[str, Any]] = [
    {"q": "fox"}, {"q": "the lazy dog"}, {"q": "THE [0-3] dog", "ignore_case": 1}, {"q": "dog [1-2] the"},
    {"q": "the|der f*", "ignore_case": 1, "wildcards": 1}, {"q": "[a-z]+ dog", "ignore_accents": 1, "regex": 1},
]  # fmt: skip
SORTED = [{"sort": sort} for sort in ("rank", "text", "random", "R1", "L1")]
FIELD_QUERIES: list[dict[str, Any]] = [
    {**query, **where, **words}
    for where in ({}, {"where": ["lang=de", "year>1991"]})
    for words, queries in (({}, TEXT_QUERIES[::2]), ({"words": 1}, WORD_QUERIES[::2]))
    for query in queries
]
NORMALIZED: list[dict[str, Any]] = [{"q": TEXT, "normalize": k} for k in (0, 1)]
# For each function of the API: requests, and whether a budget of 0 cuts some of them short.
REQUESTS: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "info": ([{}], False), "document": ([{"n": 3}], False), "values": ([{}], False),
    "ngrams": ([{"n": 3}], False), "word_ngrams": ([{"n": 3}], False),
    "keyness": ([{"where": "lang=de", "ignore_case": 1}], False),
    "word_list": ([{}, {"q": "fox"}, {"q": "f*", "wildcards": 1}], False),
    **dict.fromkeys(("next", "previous", "sources"), (TEXT_QUERIES, True)),
    "count": ([{"q": [query["q"] for query in TEXT_QUERIES]}, *TEXT_QUERIES], True),
    "hits": ([query | sort for query in TEXT_QUERIES for sort in SORTED], True),
    "all_of": ([{"q": ["fox|dog", "lazy"], "within": 5}, {"q": ["brown fox", "jumps over"]}], True),
    "overlap": ([{"q": TEXT, "n": 3, "unit": unit} for unit in ("words", "bytes", "tokens")] + NORMALIZED, True),
    "spans": (NORMALIZED, True), "trace": ([*NORMALIZED, {"q": TEXT, "min": 2}], True),
    **dict.fromkeys(("word_count", "next_words", "previous_words", "word_sources"), (WORD_QUERIES, True)),
    "word_hits": ([query | sort for query in WORD_QUERIES for sort in SORTED], True),
    "collocations": ([query | {"min": 1} for query in WORD_QUERIES], True),
    "dispersion": ([query | {"parts": parts} for query in WORD_QUERIES for parts in ("10", "lang")], True),
    "filtered": ([query | sort for query in FIELD_QUERIES for sort in SORTED[::3]], True),
    "groups": ([query | {"by": by} for query in FIELD_QUERIES for by in ("lang", "@file")], True),
    "facets": (FIELD_QUERIES, True),
}  # fmt: skip


@pytest.fixture(scope="module", params=["suffix array", "compact"])
def kind(request: pytest.FixtureRequest, folder: Path) -> Path:
    """The index of DOCUMENTS, as suffix arrays or compact."""
    if request.param == "suffix array":
        return folder / "idx"
    build_index([folder / "idx"], folder / "compact", compact=CompactOptions())
    add_words(folder / "compact")
    add_fields(folder / "compact", ["lang", "year", "title"])
    return folder / "compact"


def asked(index: Index, name: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a request; None if it is rejected because it takes too long."""
    values = {key: value if isinstance(value, list) else [value] for key, value in given.items()}
    try:
        return ask(index, name, {key: list(map(str, value)) for key, value in values.items()})
    except BadRequest as problem:
        assert "takes too long" in str(problem) and ("wildcards" in given or "regex" in given)
        return None


def counts_of(found: dict[str, Any]) -> list[int]:
    """The counts in an answer that is not divided into rows."""
    return [found["count"]] if "count" in found else [row["count"] for row in found.get("counts", [])]


@pytest.mark.parametrize("max_work", [0, 3_000, 100_000])
def test_every_request_obeys_the_budget(kind: Path, max_work: int) -> None:
    """The answer of a search cut short says so, and its count is a lower bound; all other answers are complete."""
    assert set(REQUESTS) == set(ANSWERS)
    complete, cut = open_index(kind), open_index(kind, max_work=max_work)
    for name, (requests, is_cut) in REQUESTS.items():
        n_approx = 0
        for request in requests:
            expected, found = asked(complete, name, request), asked(cut, name, request)
            assert expected is not None and not expected.get("approx"), (name, request)
            if found is None:
                continue
            marks = [row["approx"] for row in (found["counts"] if name == "count" else [found]) if "approx" in row]
            n_approx += any(marks)
            if any(marks):
                for some, every in zip(counts_of(found), counts_of(expected), strict=True):
                    assert some <= every, (name, request)
            else:
                assert found == expected, (name, request)
        if max_work == 0:
            assert bool(n_approx) == is_cut, name


LONG_TEXT = "\n".join(str(row["text"]) for row in DOCUMENTS)[:5_000]


@pytest.mark.parametrize(
    ("name", "queries"),
    [("trace", [LONG_TEXT]), ("spans", [LONG_TEXT]), ("overlap", [LONG_TEXT]), ("count", list("abcdefghij")),
     ("all_of", ["|".join("abcdefghij")] * 10)],
)  # fmt: skip
def test_the_searches_of_a_request_share_a_budget(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, queries: list[str]
) -> None:  # fmt: skip
    """Regression: a long text takes thousands of searches, each of which had the budget of a whole request."""
    index, budgets = open_index(folder / "idx", max_work=100_000_000), [0]
    for method in ("count_one", "count_text", "find_text"):
        function = getattr(TextCounter, method)

        def counted(*arguments: Any, function: Any = function) -> Any:
            n = len(arguments[3]) - 1 if function.__name__ == "count_text" else 1
            budgets[0] += n * arguments[-1]
            return function(*arguments)

        monkeypatch.setattr(TextCounter, method, counted)
    monkeypatch.setattr(parameters, "LEAST_WORK", 0)
    given = {"q": queries, "min": ["4"], "n": ["2"]}
    ask(index, name, {key: given[key] for key in given if key in ACCEPTED[name].split()})
    assert 0 < budgets[0] < 3 * index.max_work


def test_many_patterns_share_a_budget(folder: Path) -> None:
    """Regression: a query of thousands of patterns, each of which was compared with all words, took minutes."""
    index = open_index(folder / "idx", max_work=100_000)
    assert ask(index, "word_count", {"q": ["f*"], "wildcards": ["1"]})["count"]
    with pytest.raises(BadRequest, match="takes too long"):
        ask(index, "word_count", {"q": ["|".join(["f*"] * 1000)], "wildcards": ["1"]})


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
    assert (span["document"], span["source"]) == (None, None)


# ------------------------------------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def address(folder: Path) -> Any:
    with commands.serving(folder / "idx") as ret:
        yield ret


def open_view(page: Any, address: str, query: str, selector: str) -> None:
    page.goto(f"{address}?{query}")
    page.wait_for_selector("#view:not(.loading)", state="attached")
    page.wait_for_selector(selector)


def cells(page: Any, row: int = 1) -> list[str]:
    """The texts of the cells in a row of the table; rows are numbered from 1."""
    selector = f"#view tbody tr:nth-child({row}) td"
    found: list[str] = page.eval_on_selector_all(selector, "all => all.map(x => x.innerText)")
    return found


@pytest.mark.slow
def test_filters_and_facets_in_a_browser(page: Any, address: str) -> None:
    open_view(page, address, "q=fox", ".hits a")
    assert "Title" in page.inner_text(".hits .place >> nth=0")
    box = page.locator(".facets details")
    if page.viewport_size["width"] < 900:
        assert box.get_attribute("open") is None
        page.click(".facets summary")
    assert [text.split() for text in page.inner_text(".facets ul >> nth=0").splitlines()[:1]]
    assert "title" not in page.inner_text(".facets")  # every title belongs to a single document
    page.click(".facets li a >> text=de")
    page.wait_for_selector(".chip")
    n = n_of("fox", lambda row: row["lang"] == "de")
    commands.wait_for_count(page, f"{n} occurrences")
    assert "with lang=de" in page.inner_text("#count") and "where=lang%3Dde" in page.url
    condition = "import('/static/base.js').then((base) => base.condition('lang', {}))"
    assert page.evaluate(condition.format("'de'")) == "lang=de"
    assert page.evaluate(condition.format("'=de'")) == "lang= =de"  # lang==de is the same as lang=de
    page.fill("#where-form input", "year>=1995")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip >> nth=1")
    n = n_of("fox", lambda row: row["lang"] == "de" and row["year"] >= 1995)
    page.wait_for_function(f"() => document.querySelector('#count').innerText.startsWith('{n} occurrence')")
    page.click("text=After")
    page.wait_for_selector("text=apply only to Hits")
    page.go_back()
    page.wait_for_selector(".hits a")
    page.click(".chip >> nth=0")
    page.wait_for_function("() => document.querySelectorAll('.chip').length === 1")
    page.fill("#where-form input", "no condition")
    page.keyboard.press("Enter")
    page.wait_for_selector("#problem:not([hidden])")
    assert "is not a condition" in page.inner_text("#problem")


@pytest.mark.slow
def test_the_count_of_a_filtered_view_does_not_wait_for_the_facets(page: Any, address: str) -> None:
    waiting: list[Any] = []
    page.route("**/api/facets.json**", lambda route: waiting.append(route))
    page.goto(f"{address}?q=fox&where=lang%3Dde")
    commands.wait_for_count(page, f"{n_of('fox', lambda row: row['lang'] == 'de')} occurrences")
    while not waiting:
        page.wait_for_timeout(10)
    assert page.locator("#view.loading").count()
    waiting[0].continue_()
    page.wait_for_selector("#view:not(.loading)")


@pytest.fixture(scope="module")
def cut_short(folder: Path) -> Any:
    """A server whose searches stop immediately."""
    uvicorn = pytest.importorskip("uvicorn")
    app = make_app(open_index(folder / "idx", max_work=0), {"127.0.0.1"})
    for host, port in served(uvicorn.Config(app, log_level="error")):
        yield f"http://{host}:{port}/"


@pytest.mark.slow
@pytest.mark.parametrize("view", ["sources", "next", "near", "dispersion", "trace", "spans", "overlap", "groups"])
def test_views_of_a_search_that_was_cut_short_say_so(page: Any, cut_short: str, view: str) -> None:
    query = f"q=the+[0-1]+lazy+dog&text={TEXT}&window=3&mode=case&by=lang&view={view}"
    open_view(page, cut_short, query, "#view:not(.loading)")
    page.wait_for_selector("#view >> text=cut short")
    assert "No words match" not in page.inner_text("#view")


@pytest.mark.slow
def test_groups_in_a_browser(page: Any, address: str) -> None:
    open_view(page, address, "q=FOX&mode=case&view=groups&by=year", ".columns a")
    assert page.locator(".columns a").count() == 7 and page.inner_text(".axis").split() == ["1990", "1993", "1996"]
    tallest = page.eval_on_selector_all(".columns span", "all => Math.max(...all.map(x => x.offsetHeight))")
    assert tallest > 60 and cells(page)[:3] == ["1990", "", str(n_of("fox", lambda row: row["year"] == 1990))]
    page.select_option("#by", "lang")
    page.wait_for_url("**by=lang**")
    page.wait_for_function("() => document.querySelector('#view tbody td')?.innerText === 'en'")
    assert page.locator(".columns").count() == 0
    page.click("#view tbody a >> text=he")
    page.wait_for_selector(".hits a")
    commands.wait_for_count(page, f"{n_of('fox', lambda row: row['lang'] == 'he')} occurrences")
    assert page.get_attribute(".hits a", "dir") == "rtl"


@pytest.mark.slow
def test_a_title_and_an_address_of_a_document(page: Any, address: str) -> None:
    open_view(page, address, "document=3&begin=0&end=3", ".document")
    assert "Title 3" in page.inner_text("#view .tools >> nth=1")


@pytest.mark.slow
def test_terms_together_in_a_browser(page: Any, address: str) -> None:
    open_view(page, address, "q=Fuchs|dog&view=together", "#together")
    assert "Add a second term" in page.inner_text("#together")
    page.fill("#other", "fox")
    page.keyboard.press("Enter")
    page.wait_for_selector("tbody tr:nth-child(2)")
    n = n_of("fox", lambda row: row["lang"] != "he")
    assert f"occurs {n} times with all others in the same document" in page.inner_text("#together")
    page.fill("#within", "1")
    page.keyboard.press("Enter")
    page.wait_for_url("**within=1**")
    page.wait_for_function("() => document.querySelector('#together')?.innerText.includes('within 1 tokens')")
    assert page.inner_text("#view tbody").split()[:1] == ["Fuchs|dog"]


@pytest.mark.slow
def test_comparing_words_in_a_browser(page: Any, address: str, client: TestClient) -> None:
    """Regression: in the modes for words, Compare showed the counts of the exact texts."""
    open_view(page, address, "q=FOX&q=DOG&mode=case&view=compare", "tbody tr:nth-child(2)")
    n_words = answer(client, "word_list", limit=0)["count"]
    for row, word in ((1, "fox"), (2, "dog")):
        assert cells(page, row)[2] == str(n_of(word))
        assert float(cells(page, row)[3].replace(",", "")) == round(1e6 * n_of(word) / n_words)


@pytest.mark.slow
def test_dispersion_in_a_browser(page: Any, address: str, client: TestClient) -> None:
    expected = answer(client, "dispersion", q="fox", parts="10")
    open_view(page, address, "q=fox&view=dispersion&parts=10", ".numbers")
    assert page.locator(".columns > *").count() == 10 and "whole words" in page.inner_text("#view")
    shown = [float(text) for text in page.locator(".numbers b").all_inner_texts()]
    assert shown == [float(f"{expected[key]:.4g}") for key in ("dp", "dp_norm", "juilland_d", "arf")]
    page.select_option("#parts", "lang")
    page.wait_for_selector("#view tbody")
    assert cells(page)[0] == "en" and cells(page)[2] == str(n_of("fox", lambda row: row["lang"] == "en"))
    open_view(page, address, "q=absent&view=dispersion", "text=No words match")


@pytest.mark.slow
def test_lists_of_the_corpus_in_a_browser(page: Any, address: str, client: TestClient) -> None:
    page.goto(address)
    page.click("#areas >> text=Corpus")
    page.wait_for_selector("#view tbody")
    first = answer(client, "word_list", limit=1)["word_list"][0]
    assert cells(page)[0] == first["text"] and cells(page)[2] == str(first["count"])
    page.select_option("#mode", "wildcards")
    page.fill("#q", "f*")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=words that match")
    page.wait_for_function("() => document.querySelectorAll('#view tbody tr').length === 2")
    page.click("#view tbody a >> text=Fuchs")
    page.wait_for_selector(".hits a")
    commands.wait_for_count(page, f"{n_of('Fuchs')} occurrences")
    assert "mode=words" in page.url
    open_view(page, address, "view=ngrams&n=4&least=20", "#view tbody")
    gram = answer(client, "word_ngrams", n=4, min=20, limit=1)["word_ngrams"][0]
    assert cells(page)[0] == gram["text"] and cells(page)[2] == str(gram["count"])
    page.select_option("#unit", "tokens")
    page.wait_for_url("**unit=tokens**")
    page.wait_for_function("() => document.querySelector('#view tbody a')?.innerText.includes('␣')")
    page.fill("#least", "100000")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=No sequence occurs that often")


@pytest.mark.slow
def test_keywords_in_a_browser(page: Any, address: str, client: TestClient) -> None:
    open_view(page, address, "view=keyness", "text=Add a condition")
    assert page.locator("#conditions option[value='lang=he']").count() == 1
    page.fill("#where-form input", "lang=de")
    page.keyboard.press("Enter")
    page.wait_for_selector("#view tbody")
    first = answer(client, "keyness", where="lang=de", limit=1)["keyness"][0]
    assert cells(page)[0] == first["text"] and cells(page)[-1] == f"{first['log_likelihood']:.1f}"
    page.fill("#against-form input", "lang=en")
    page.keyboard.press("Enter")
    page.wait_for_url("**against=lang**")
    page.select_option("#measure", "diff")
    page.wait_for_function("() => document.querySelector('#view th:last-child')?.innerText === '%DIFF'")
    assert cells(page)[-1] == "∞"  # words that the reference lacks


@pytest.mark.slow
def test_texts_in_a_browser(page: Any, address: str) -> None:
    page.goto(address)
    page.click("#areas >> text=Texts")
    page.fill("#text", "quick brown fox jumps over it\nthe lazy dog number 1, and the dog sleeps.")
    page.click("text=Compare with the corpus")
    page.wait_for_selector(".traced mark")
    assert page.locator(".traced mark").count() == 2 and page.input_value("#q") == ""
    page.click("#views >> text=Overlap")
    page.wait_for_selector("#view tbody")
    page.fill("#window", "4")
    page.keyboard.press("Enter")
    page.wait_for_url("**window=4**")
    page.wait_for_function("() => document.querySelector('#view tbody')?.innerText.includes('100.0 %')")
    assert page.locator("#view tbody tr").count() == 2
    assert "2 of 2 lines share 4 successive words" in page.inner_text("#view")
    page.click("#views >> text=Spans")
    page.wait_for_selector("#view tbody")
    assert cells(page)[0] == "quick brown fox jumps over" and int(cells(page)[2]) == n_of("quick")
    page.fill("#text", "QUICK brown -- fox jumps over")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("text=No part of at least")
    page.check("#normalize")
    page.wait_for_selector("#view tbody")
    page.click("#view tbody a >> nth=0")
    page.wait_for_selector(".hits a")
    assert "mode=case" in page.url


@pytest.mark.slow
def test_a_saved_query_and_a_sample(page: Any, address: str) -> None:
    query = "q=fox&view=groups&by=lang&mode=words&where=year%3E%3D1993"
    open_view(page, address, query, "#view tbody")
    shown = page.inner_text("#view")
    page.goto(page.url)
    page.wait_for_selector("#view tbody")
    page.wait_for_selector("#view:not(.loading)")
    assert page.inner_text("#view") == shown
    page.click("#views >> text=Hits")
    page.wait_for_selector(".hits a")
    with page.expect_download() as download:
        page.click("text=random sample (CSV)")
    lines = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert len(lines) == n_of("fox", lambda row: row["year"] >= 1993) and {line["match"] for line in lines} == {"fox"}
    assert [line["begin"] for line in lines] != sorted(line["begin"] for line in lines)


@pytest.mark.slow
def test_the_current_view_is_visible(page: Any, address: str) -> None:
    open_view(page, address, "q=fox&view=together", "#together")
    box = page.locator("#views [aria-current]").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= page.viewport_size["width"]


@pytest.mark.slow
def test_sorted_hits_that_are_too_many(page: Any, address: str) -> None:
    def many(route: Any) -> None:
        found = route.fetch().json()
        route.fulfill(json=found | {"count": 20_000})

    page.route("**/api/filtered.json*", many)
    open_view(page, address, "q=fox&where=lang%3Den&sort=R1", ".hits a")
    assert "only the first 10,000 hits are sorted" in page.inner_text("#view .tools >> nth=1")


@pytest.mark.slow
def test_a_slow_answer_does_not_remove_what_was_typed(page: Any, address: str) -> None:
    held: list[Any] = []
    page.route("**/api/info.json*", lambda route: held.append(route))
    page.goto(address)
    page.fill("#q", "fox")
    for route in held:
        route.continue_()
    page.wait_for_selector("#welcome:not([hidden])")
    assert page.input_value("#q") == "fox"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_new_views_have_readable_colours(browser: Any, address: str, scheme: str) -> None:
    """The text of links and conditions has a contrast of at least 4.5 with the page."""
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        open_view(page, address, "q=fox&where=lang%3Dde", ".chip")
        for selector in (".chip", ".facets li a", "#areas a"):
            assert page.evaluate(CONTRAST, selector) >= 4.5, selector


CONTRAST = """selector => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const brightness = (...colours) => {
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(x => x / 255);
    const [r, g, b] = parts.map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(document.querySelector(selector));
  const paper = getComputedStyle(document.body).backgroundColor;
  const below = brightness(paper, style.backgroundColor), above = brightness(paper, style.backgroundColor, style.color);
  return (Math.max(below, above) + 0.05) / (Math.min(below, above) + 0.05);
}"""
