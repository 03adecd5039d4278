"""Patterns and strings of a tokenizer.json in linear time: the matches of `re`, of the slow way, and of tokenizers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyunitok.errors import VocabularyError
from pyunitok.vocab import limits
from pyunitok.vocab.huggingface import matcher, patterns, syntax
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.strings import Strings
from pyunitok.vocab.huggingface.syntax import Character, Choice, Look, Node, Repeat, Sequence

LETTERS = st.sampled_from([Character("a"), Character("b"), Character("[ab]"), Character("[^a]"), Character(r"\n")])
EDGES = st.sampled_from([patterns._BEGIN_LINE, patterns._END_LINE])
COUNTS = st.sampled_from(
    [(0, None, "*"), (1, None, "+"), (0, 1, "?"), (2, 2, "{2}"), (0, 3, "{0,3}"), (1, None, "{1,}")]
)


def repeated(item: Node, count: tuple[int, int | None, str], is_lazy: bool) -> Node:
    least, most, spelled = count
    return item if syntax.can_be_empty(item) else Repeat(item, least, most, is_lazy, spelled + "?" * is_lazy)


def larger(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    some = st.lists(nodes, max_size=3).map(tuple)
    behind = LETTERS.map(lambda item: Look(item, True, False)) | LETTERS.map(lambda item: Look(item, True, True))
    ahead = st.builds(Look, nodes, st.just(False), st.booleans())
    loops = st.builds(repeated, nodes, COUNTS, st.booleans())
    return some.map(Sequence) | some.filter(bool).map(Choice) | loops | ahead | behind | EDGES


NODES: st.SearchStrategy[Node] = st.recursive(LETTERS, larger, max_leaves=6)


@given(NODES, st.text("ab\n", max_size=9))
def test_the_matches_of_re(node: Node, text: str) -> None:
    regex = re.compile(syntax.spell(node))
    run = matcher.Run(matcher.Program(node), text)
    at = 0
    while at <= len(text):
        match = regex.search(text, at)
        assert run.search(at) == (match.span() if match else None)
        if match is None:
            break
        at = match.end() + (match.end() == match.start())


@given(NODES, st.integers(1, 60))
def test_cheap_patterns_are_cheap(node: Node, n: int) -> None:
    """What `re` is trusted with ends at once, whatever the text; this would not come back."""
    if syntax.is_cheap(node):
        for text in ("a" * n * 50, "b" * n * 50 + "a", "ab" * n * 25, "\n" * n * 50):
            list(re.finditer(syntax.spell(node), text))


@pytest.mark.parametrize(("pattern", "text", "expected"), [
    ("(a|aa)+b", "a" * 30_000, []),
    ("(a|aa)+b", "a" * 30_000 + "b", [(0, 30_001)]),
    ("(?:a*b*)c|x", "ab" * 20_000 + "x", [(40_000, 40_001)]),
    (r"\s+$", " " * 50_000 + "a", []),
    (r"\s+$", " " * 50_000 + "\n", [(0, 50_001)]),
    (r"a(?=[^c]*c)", "a" * 20_000, []),
    (r"a(?=[^c]*c)", "a" * 9_999 + "c", [(k, k + 1) for k in range(9_999)]),
    ("(?:(?:a{0,9}){0,9}){0,9}b", "a" * 999, None),
])  # fmt: skip
def test_patterns_that_backtrack(pattern: str, text: str, expected: Any) -> None:
    """With `re`, each of these takes minutes, or forever."""
    if expected is None:
        with pytest.raises(VocabularyError, match="may match nothing"):
            patterns.read(Fields({"pattern": {"Regex": pattern}}, "t"))
        return
    found = patterns.read(Fields({"pattern": {"Regex": pattern}}, "t"))
    assert found.program is not None and list(found.find(text)) == expected
    assert found.replacer("-")(text).count("-") == len(expected)


@pytest.mark.parametrize("pattern", [" {2,}", r"\s+", "^", r"(?<!\n)^", r"[^\s]+", r"\d{1,3}", "a|b+", r"(?!a)."])
def test_usual_patterns_are_left_to_re(pattern: str) -> None:
    assert patterns.read(Fields({"pattern": {"Regex": pattern}}, "t")).program is None


def test_a_pattern_with_too_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = Fields({"pattern": {"Regex": "((a{1,20}b){1,20}c){1,30}"}}, "t")
    with pytest.raises(VocabularyError, match=r"states; at most 10000 are allowed \(pyunitok.vocab.limits"):
        patterns.read(fields)
    monkeypatch.setattr(limits, "pattern_states", 10**5)
    assert list(patterns.read(fields).find("abcabx")) == [(0, 3)]


def slow_find(strings: list[str], text: str) -> list[tuple[int, int]]:
    ret, at = [], 0
    while at < len(text):
        sizes = [len(s) for s in strings if text.startswith(s, at)]
        if sizes:
            ret.append((at, at + max(sizes)))
        at += max(sizes, default=1)
    return ret


STRINGS = st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=8, unique=True)


@given(STRINGS, st.text("abc", max_size=30), st.booleans())
def test_strings(strings: list[str], text: str, are_many: bool) -> None:
    more = ["x" * 65] if are_many else []
    found = Strings(strings + more)
    assert list(found.find(text)) == slow_find(strings, text)
    assert found.any_in(text.encode()) == bool(slow_find(strings, text))
    assert not Strings([]).any_in(text.encode())


def test_many_strings_and_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was tried at every place."""
    many = Strings([f"<{k}>" for k in range(50_000)])
    assert list(many.find("<" * 100_000 + "<49999>")) == [(100_000, 100_007)]
    long = Strings(["a" * 50_000 + "b", "c"])
    assert list(long.find("a" * 100_000 + "c")) == [(100_000, 100_001)]
    both = Strings(["a", "a" * 50_000 + "b"])  # at each place, the longer one may still come
    assert list(both.find("a" * 100_000)) == [(k, k + 1) for k in range(100_000)]
    assert list(both.find("a" * 50_001 + "b")) == [(0, 1), (1, 50_002)]
    monkeypatch.setattr(limits, "added_token_characters", 9)
    with pytest.raises(VocabularyError, match="10 characters in all; at most 9 are allowed"):
        Strings(["a" * 10])
