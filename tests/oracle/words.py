"""Answers word queries by a linear search over the words of decoded documents."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from pyunitok.corpus.words import word_bounds

Place = tuple[int, int, int]  # document, first word, end


def words(document: bytes) -> list[str]:
    return [document[begin:end].decode() for begin, end in word_bounds(document).tolist()]


def folded(word: str, case: bool, accents: bool) -> str:
    word = word.casefold() if case else word
    if accents:
        decomposed = unicodedata.normalize("NFD", word)
        word = "".join(c for c in decomposed if unicodedata.category(c) != "Mn" or c == "\u0345")
    return word.casefold() if case else word


def accepts(item: str, case: bool, accents: bool, wildcards: bool) -> Callable[[str], bool]:
    """Whether a word matches an item of a query: alternatives, each with wildcards if these are enabled."""
    patterns = []
    for part in item.split("|"):
        form = folded(part, case, accents)
        translated = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in form) if wildcards else re.escape(form)
        patterns.append(re.compile(translated, re.DOTALL))
    return lambda word: any(pattern.fullmatch(folded(word, case, accents)) for pattern in patterns)


def matches(
    documents: Sequence[Sequence[str]], tests: Sequence[Callable[[str], bool]], gaps: Sequence[tuple[int, int]]
) -> list[Place]:
    """The shortest match for each position at which a match begins."""
    ret = []
    for number, document in enumerate(documents):
        for begin in range(len(document)):
            ends = {begin} if tests[0](document[begin]) else set()
            for test, (least, most) in zip(tests[1:], gaps, strict=True):
                near = {end + 1 + gap for end in ends for gap in range(least, most + 1)}
                ends = {end for end in near if end < len(document) and test(document[end])}
            if ends:
                ret.append((number, begin, min(ends) + 1))
    return ret


def neighbours(documents: Sequence[Sequence[str]], places: Sequence[Place], after: bool) -> Counter[str]:
    """How often each word comes directly after or before a match; "" for the end or start of a document."""
    ret: Counter[str] = Counter()
    for number, begin, end in places:
        document, at = documents[number], end if after else begin - 1
        ret[document[at] if 0 <= at < len(document) else ""] += 1
    return ret


def ngrams(documents: Sequence[Sequence[str]], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for words in documents for i in range(len(words) - n + 1))
