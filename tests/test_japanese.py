"""Japanese words: endings belong to a word, particles do not, and no text is lost or counted twice."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st

from pyunitok.vocab import japanese, scripts

NOUNS = ["日本語", "図書館", "手紙", "データ", "コンピュータ", "世界", "テキスト", "名前", "父", "手"]
PARTICLES = ["の", "を", "が", "は", "に", "で", "と", "も", "から", "まで", "という"]
VERBS = {
    "食": ["べる", "べた", "べて", "べない", "べました", "べられる"], "静": ["かに", "かな"],
    "書": ["く", "いた", "いて", "かない", "きました"], "曲": ["がる", "がった", "がって", "がります"],
    "美": ["しい", "しく", "しかった"],
}  # fmt: skip
AFTER_VERBS = ["", "こと", "から", "と", "ので", "が"]


def corpus() -> Counter[str]:
    """Runs of letters as they occur in text: nouns with particles, verbs in all forms with following words, adverbs."""
    runs = Counter({noun + particle: 20 for noun, particle in product(NOUNS, PARTICLES)})
    runs += Counter(dict.fromkeys(NOUNS, 30))
    for stem, endings in VERBS.items():
        runs += Counter({stem + ending + after: 6 for ending, after in product(endings, AFTER_VERBS)})
    return runs + Counter({"特に": 40, "既に": 30, "特": 1})


def words() -> Counter[str]:
    found = Counter[str]()
    for word, times in japanese.divide(corpus().items()):
        found[word] += times
    return found


def test_endings_belong_to_the_word() -> None:
    found = words()
    for stem, endings in VERBS.items():
        if stem != "静":
            assert {stem + ending for ending in endings} <= found.keys()
    assert found["静か"] >= 36 and found["特に"] == 40 and found["既に"] == 30


def test_particles_do_not_belong_to_the_word() -> None:
    found = words()
    for noun in NOUNS:
        assert found[noun] == 30 + 20 * len(PARTICLES)
        assert not found.keys() & {noun + particle for particle in PARTICLES}
    for stem, endings in VERBS.items():
        for ending, after in product(endings, ["こと", "から", "ので"]):
            assert stem + ending + after not in found
    assert {"を", "から", "という", "こと"} <= found.keys()


RUN = st.tuples(st.text("日本ベ語食べのはがでんいるた" + "ー", min_size=1, max_size=8), st.integers(1, 9))
RUNS = st.lists(RUN, max_size=12)


@given(RUNS)
@fewer(1)
def test_words_are_parts_of_runs(runs: list[tuple[str, int]]) -> None:
    """Each run yields a word at its beginning, and possibly the rest as another word, in the order of the runs."""
    divided = list(japanese.divide(runs))
    found = iter(divided)
    word, n = next(found, ("", 0))
    for run, times in runs:
        assert word and n == times and run.startswith(word)
        begun, (word, n) = word, next(found, ("", 0))
        if begun != run and begun + word == run and n == times:
            word, n = next(found, ("", 0))
    assert word == ""
    assert Counter(japanese.divide(runs[::-1])) == Counter(divided)


@pytest.mark.parametrize("text, runs", [
    ("今日は、コーヒーを飲みました。", ["今日は", "コーヒーを", "飲みました"]),
    ("ここから人々が", ["ここから", "人々が"]),
    ("a 日本 b", ["日本"]),
    ("か\u3099き", ["か\u3099き"]),
])  # fmt: skip
def test_runs(text: str, runs: list[str]) -> None:
    pytest.importorskip("regex")
    assert scripts.words(["Japanese"]).findall(text) == runs


def test_nothing() -> None:
    assert list(japanese.divide([])) == []
    assert list(japanese.divide([("the", 3), (" кот", 2), ("한국", 1)])) == [("the", 3), (" кот", 2), ("한국", 1)]
