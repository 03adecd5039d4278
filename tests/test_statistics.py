"""Compares word statistics to published worked examples, and to counts over the words of the documents."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fields import make

from pyunitok import open_index
from pyunitok.cli import cli
from pyunitok.errors import LimitError
from pyunitok.index import statistics
from pyunitok.index.field_build import add_fields
from pyunitok.index.page.answers import ask
from pyunitok.index.word_build import add_words
from pyunitok.index.word_query import WordOptions
from pyunitok.index.word_statistics import collocations, counts_in, dispersion, key_words

N = 14_307_668  # number of words in the New York Times corpus of Manning and Schütze (1999), chapter 5


def one(value: float) -> Any:
    return np.array([value], np.float64)


def test_worked_examples_of_association() -> None:
    """Manning and Schütze (1999): tables 5.6 (t), 5.12 (log-likelihood, within 2 % of the printed values) and 5.14
    (mutual information); and the values of likelihood_ratio, pmi and student_t in nltk 3.10.4 for the words of table
    5.12."""
    new_companies = statistics.association(one(8), 15828, one(4675), N)
    assert new_companies["t"][0] == pytest.approx(0.999932, abs=1e-4)
    ayatollah = statistics.association(one(20), 42, one(20), N)
    assert ayatollah["mi"][0] == pytest.approx(18.38, abs=0.005)
    for printed, f_x, f_y, together, *nltk in (
        (1291.42, 12593, 932, 150, 1291.3190571274106, 7.51458336379126, 12.180470951883276),
        (99.31, 379, 932, 10, 100.50188350438333, 8.661973123320738, 3.1544706226179837),
        (82.96, 932, 934, 10, 82.37586049891962, 7.360748421782169, 3.143038153381916),
        (80.39, 932, 3424, 13, 80.36914783666121, 5.865071798344413, 3.5436913862148236),
    ):
        found = statistics.association(one(together), f_x, one(f_y), N)
        assert [found[name][0] for name in ("log_likelihood", "mi", "t")] == pytest.approx(nltk, rel=1e-9)
        assert found["log_likelihood"][0] == pytest.approx(printed, rel=0.02)
    always = statistics.association(one(50), 50, one(50), N)  # Rychlý (2008): the maximum is 14
    assert always["log_dice"][0] == 14 and statistics.association(one(1), 50, one(14), N)["log_dice"][0] == 9
    assert always["mi3"][0] == pytest.approx(always["mi"][0] + 2 * math.log2(50))


def test_worked_examples_of_keyness() -> None:
    """A word that occurs 20 times in 10,000 words and 5 times in 20,000: E = 25/3 and 50/3."""
    found = statistics.keyness(one(20), one(5), 10_000, 20_000, 100)
    expected = 2 * (20 * math.log(20 / (25 / 3)) + 5 * math.log(5 / (50 / 3)))
    assert found["log_likelihood"][0] == pytest.approx(expected)
    assert found["diff"][0] == pytest.approx(700) and found["log_ratio"][0] == pytest.approx(3)
    assert found["simple_maths"][0] == pytest.approx(2100 / 350)
    assert statistics.keyness(one(5), one(20), 20_000, 10_000)["log_likelihood"][0] == pytest.approx(-expected)
    assert statistics.keyness(one(5), one(0), 10, 10)["diff"][0] == math.inf


def test_worked_examples_of_dispersion() -> None:
    """Gries (2008): the word a in five parts of 9, 10, 10, 10 and 11 words."""
    parts = ["bamnibeupp"[:9], "basatbewqn", "bcagabesta", "baghabeaat", "bahaabeaxat"]
    sizes, hits = np.array([len(part) for part in parts]), np.array([part.count("a") for part in parts])
    assert sizes.tolist() == [9, 10, 10, 10, 11] and hits.tolist() == [1, 2, 3, 4, 5]
    dp, norm = statistics.deviation_of_proportions(sizes, hits)
    assert dp == pytest.approx(0.18) and norm == pytest.approx(0.2195, abs=1e-4)
    assert statistics.juilland_d(sizes, hits) == pytest.approx(0.785, abs=5e-4)
    # Savický and Hlaváčová (2002): the value is f for evenly spaced occurrences, and about 1 for adjacent ones.
    assert statistics.average_reduced_frequency(np.arange(0, 100, 10), 100) == 10
    assert statistics.average_reduced_frequency(np.arange(10), 1000) == pytest.approx(1.09)
    assert math.isnan(statistics.juilland_d(sizes[:1], hits[:1]))
    assert statistics.average_reduced_frequency(sizes[:0], 9) == 0


# ------------------------------------------------------------------------------------------------------- indexes ---


def rows(seed: int) -> list[list[dict[str, Any]]]:
    rng = random.Random(seed)
    return [
        [
            {"text": " ".join(rng.choices(["the", "The", "fox", "a", "ox", "den"], k=rng.randrange(25))), "year": k % 3}
            for k in range(n)
        ]
        for n in (30, 20)
    ]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = make(tmp_path_factory.mktemp("statistics"), rows(1))
    add_fields(folder, ["year"])
    add_words(folder)
    return open_index(folder)


@pytest.fixture(scope="module")
def documents() -> list[list[str]]:
    return [row["text"].split() for part in rows(1) for row in part]


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(["the", "fox", "a ox"]), st.integers(0, 4), st.integers(1, 4), st.booleans())
def test_collocations_equal_a_count(
    index: Any, documents: list[list[str]], query: str, left: int, right: int, case: bool
) -> None:  # fmt: skip
    fold = str.casefold if case else str
    wanted, together = query.split(), Counter[str]()
    texts, f_x = [[fold(word) for word in words] for words in documents], 0
    for words in texts:
        for at in range(len(words) - len(wanted) + 1):
            if words[at : at + len(wanted)] == wanted:
                f_x += 1
                together.update(words[max(0, at - left) : at])
                together.update(words[at + len(wanted) : at + len(wanted) + right])
    totals = Counter(word for words in texts for word in words)
    options = WordOptions(ignore_case=case)
    found = collocations(index, query, left, right, min_count=1, options=options)
    assert {fold(row["text"]): row["count"] for row in found.rows} == together and not found.approx
    n, w = totals.total(), left + right
    for row in found.rows:
        o, f_y = row["count"], totals[fold(row["text"])]
        e = f_x * f_y * w / n
        assert row["total"] == f_y
        expected = {
            "log_dice": 14 + math.log2(2 * o / (f_x + f_y)), "mi": math.log2(o / e), "mi3": math.log2(o**3 / e),
            "t": (o - e) / math.sqrt(o),
        }  # fmt: skip
        assert {name: row[name] for name in expected} == pytest.approx(expected)
        forms = Counter(word for words in documents for word in words if fold(word) == fold(row["text"]))
        assert forms[row["text"]] == max(forms.values())
    scores = [row["log_dice"] for row in found.rows]
    assert scores == sorted(scores, reverse=True)
    assert collocations(index, query, left, right, min_count=1, limit=2, options=options).rows == found.rows[:2]


def test_a_sample_estimates_collocations(index: Any) -> None:
    exact = {row["text"]: row["count"] for row in collocations(index, "the", min_count=1).rows}
    sampled = collocations(index, "the", min_count=1, max_hits=60)
    assert sampled.approx
    for row in sampled.rows:
        assert row["count"] == pytest.approx(exact[row["text"]], rel=0.5)


def test_keyness_equals_a_count(index: Any, documents: list[list[str]], tmp_path: Path) -> None:
    years = [row["year"] for part in rows(1) for row in part]
    own = Counter(word for words, year in zip(documents, years, strict=True) for word in words if year == 1)
    rest = Counter(word for words, year in zip(documents, years, strict=True) for word in words if year != 1)
    counts = counts_in(index, index.fields.where(["year=1"]))
    assert {index.words.lexicon.word(k): n for k, n in enumerate(counts.tolist()) if n} == own
    for against in (None, ["year!=1"]):
        found = key_words(index, ["year=1"], against=against, min_count=1)
        assert {row["text"]: (row["count"], row["reference"]) for row in found.rows} == {
            word: (n, rest[word]) for word, n in own.items()
        }
        for row in found.rows:
            a, b, n_a, n_b = row["count"], row["reference"], own.total(), rest.total()
            assert row["log_ratio"] == pytest.approx(math.log2(a / n_a / (b / n_b)))
    other = make(tmp_path, [[{"text": "the the wolf fox"}]])
    add_words(other)
    found = key_words(index, against=open_index(other), min_count=1, options=WordOptions(ignore_case=True))
    reference = {row["text"].casefold(): row["reference"] for row in found.rows}
    assert reference["the"] == 2 and reference["fox"] == 1 and reference["ox"] == 0
    for wrong in ({}, {"where": ["year=1"], "measure": "mi"}, {"where": ["year=9"]}):
        with pytest.raises(LimitError):
            key_words(index, **wrong)


def test_dispersion_equals_a_count(index: Any, documents: list[list[str]]) -> None:
    words = [word for words in documents for word in words]
    places = np.array([k for k, word in enumerate(words) if word == "fox"])
    found = dispersion(index, "fox", 7)
    edges = [len(words) * k // 7 for k in range(8)]
    assert found.sizes.tolist() == [b - a for a, b in pairwise(edges)]
    expected = [words[a:b].count("fox") for a, b in pairwise(edges)]
    assert found.hits.tolist() == expected and found.count == len(places)
    v = len(words) / len(places)
    gaps = [b - a for a, b in zip(places, [*places[1:], places[0] + len(words)], strict=True)]
    assert found.arf == pytest.approx(sum(min(gap, v) for gap in gaps) / v)
    by_year = dispersion(index, "fox", "year")
    assert by_year.parts == ["0", "1", "2"] and by_year.hits.sum() == len(places)
    assert dispersion(index, "zebra").count == 0
    with pytest.raises(LimitError):
        dispersion(index, "fox", 0)


def test_command_and_page(index: Any) -> None:
    idx = str(index.folder)

    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(cli, ["search", idx, *arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    found = run("-i", "the", "--collocations", "--near", "2", "--limit", "3", "--measure", "t")
    expected = collocations(index, "the", 2, 2, measure="t", limit=3, options=WordOptions(ignore_case=True))
    assert found["collocations"] == expected.rows
    parameters = {"q": ["the"], "ignore_case": ["1"], "left": ["2"], "right": ["2"], "limit": ["3"], "measure": ["t"]}
    assert ask(index, "collocations", parameters)["collocations"] == found["collocations"]
    keys = run("--keyness", "year!=1", "--where", "year=1", "--limit", "2")
    assert keys["keyness"] == key_words(index, ["year=1"], limit=2).rows
    assert ask(index, "keyness", {"where": ["year=1"], "limit": ["2"]})["keyness"] == keys["keyness"]
    spread = run("fox", "--dispersion", "--parts", "year")
    assert [row["part"] for row in spread["parts"]] == ["0", "1", "2"] and spread["count"] > 0
    assert ask(index, "dispersion", {"q": ["fox"], "parts": ["year"]}) == spread
    same = run("fox", "--dispersion", "--parts", "5")
    assert len(same["parts"]) == 5 and same["dp"] == dispersion(index, "fox", 5).dp
