"""Finding any of some strings in a text: of those that begin leftmost, the longest.

A few short strings are found by a regular expression. It tries them one by one wherever a text may begin one: too
slow for thousands of them, or for long ones. Those are found by an automaton of Aho and Corasick, which reads a text
once, from its end, and so knows for each place the longest string that begins there:

    strings abcd, bc, c     0 ─d─▶ 1 ─c─▶ 2 ─b─▶ 3 ─a─▶ 4*      * a string begins here
                            0 ─c─▶ 5* ─b─▶ 6*

Where a node has no edge for a character, its failure link leads to the node of its longest suffix: from 3 (dcb) to 6
(cb), where the string bc has been found. Read from the beginning, what follows a string would be read again: it may be
the beginning of a longer one.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterator

from pyunitok.errors import VocabularyError
from pyunitok.vocab import limits

_FEW, _SHORT = 32, 64  # strings, and characters of each, that go to a regular expression


class Strings:
    """`texts` are different and not empty. VocabularyError if they have too many characters in all."""

    def __init__(self, texts: list[str]) -> None:
        self._regex: re.Pattern[str] | None = None
        self._bytes: re.Pattern[bytes] | None = None
        self._automaton: _Automaton | None = None
        n_characters = sum(map(len, texts))
        if n_characters > limits.added_token_characters:
            raise VocabularyError(
                f"the added tokens have {n_characters} characters in all; at most {limits.added_token_characters} are"
                " allowed (pyunitok.vocab.limits.added_token_characters, which may be raised)"
            )
        if len(texts) > _FEW or any(len(text) > _SHORT for text in texts):
            self._automaton = _Automaton(texts)
        elif texts:
            self._regex = _alternatives(texts)
            self._bytes = re.compile(self._regex.pattern.encode())

    def any_in(self, data: bytes) -> bool:
        """Whether UTF-8, broken or not, contains one of them."""
        if self._bytes is not None:
            return self._bytes.search(data) is not None
        return next(self.find(data.decode("utf-8", "replace")), None) is not None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """(begin, end) of all that do not overlap, from left to right."""
        if self._regex is not None:
            return (match.span() for match in self._regex.finditer(text))
        return iter(()) if self._automaton is None else self._automaton.find(text)


def _alternatives(texts: list[str]) -> re.Pattern[str]:
    """What all begin with stands before: then the search is one for a string."""
    first, last = min(texts), max(texts)  # what these two begin with, all do
    n = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    rests = sorted((text[n:] for text in texts), key=len, reverse=True)
    return re.compile(re.escape(first[:n]) + f"(?:{'|'.join(map(re.escape, rests))})")


class _Automaton:
    """Node 0 is the root. Strings are in it backwards.

    edges     of a node: {character: node}
    failures  the node of its longest suffix that is one
    found     characters of the longest string that ends here; 0: none does
    """

    def __init__(self, texts: list[str]) -> None:
        self._edges: list[dict[str, int]] = [{}]
        self._found = [0]
        for text in texts:
            self._insert(text[::-1])
        self._failures = [0] * len(self._edges)
        self._link()
        self._lasts = re.compile(f"[{re.escape(''.join(self._edges[0]))}]")

    def _insert(self, text: str) -> None:
        at = 0
        for character in text:
            node = self._edges[at].get(character)
            if node is None:
                node = self._edges[at][character] = len(self._edges)
                self._edges.append({})
                self._found.append(0)
            at = node
        self._found[at] = len(text)

    def _link(self) -> None:
        """Breadth first: the failure links of shorter nodes are known."""
        waiting = deque(self._edges[0].values())
        while waiting:
            at = waiting.popleft()
            self._found[at] = self._found[at] or self._found[self._failures[at]]
            for character, node in self._edges[at].items():
                shorter = self._failures[at]
                while shorter and character not in self._edges[shorter]:
                    shorter = self._failures[shorter]
                self._failures[node] = self._edges[shorter].get(character, 0)
                waiting.append(node)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """From the longest string that begins at each place, if any does: those are found from the end."""
        at = 0
        begins, sizes = self._all(text)
        for begin, size in zip(reversed(begins), reversed(sizes), strict=True):
            if begin >= at:
                at = begin + size
                yield begin, at

    def _all(self, text: str) -> tuple[array[int], array[int]]:
        """Where strings begin, from right to left, and the length of the longest there."""
        begins, sizes = array("q"), array("q")
        edges, failures, found = self._edges, self._failures, self._found
        backwards = text[::-1]
        node, at, n = 0, 0, len(text)
        while at < n:
            if node == 0:
                match = self._lasts.search(backwards, at)
                if match is None:
                    break
                at = match.start()
            character = backwards[at]
            while node and character not in edges[node]:
                node = failures[node]
            node = edges[node].get(character, 0)
            at += 1
            if found[node]:
                begins.append(n - at)
                sizes.append(found[node])
        return begins, sizes
