"""Finding any of some strings in a text: of those that begin leftmost, the longest.

A few short strings are found by a regular expression. It tries them one by one wherever a text may begin one: too
slow for thousands of them. Those are found by an automaton of Aho and Corasick, which reads a text once:

    strings abcd, bc, c     0 ─a─▶ 1 ─b─▶ 2 ─c─▶ 3 ─d─▶ 4*      * a string ends here
                            0 ─b─▶ 5 ─c─▶ 6*
                            0 ─c─▶ 7*

Where a node has no edge for a character, its failure link leads to the node of its longest suffix: from 3 (abc) to 6
(bc). At 3, the string bc has been found; but abcd, which would begin further left, is still possible.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from pyunitok.errors import VocabularyError
from pyunitok.vocab import limits

_FEW, _SHORT = 32, 64  # strings, and characters of each, that go to a regular expression


class Strings:
    """`texts` are different and not empty. VocabularyError where they have too many characters in all."""

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
    """Node 0 is the root.

    edges   of a node: {character: node}
    depths  characters on the way to it; failures: the node of its longest suffix that is one
    found   characters of the longest string that ends here; 0: none does
    """

    def __init__(self, texts: list[str]) -> None:
        self._edges: list[dict[str, int]] = [{}]
        self._depths, self._found = [0], [0]
        for text in texts:
            self._insert(text)
        self._failures = [0] * len(self._edges)
        self._link()
        self._firsts = re.compile(f"[{re.escape(''.join(self._edges[0]))}]")

    def _insert(self, text: str) -> None:
        at = 0
        for character in text:
            node = self._edges[at].get(character)
            if node is None:
                node = self._edges[at][character] = len(self._edges)
                self._edges.append({})
                self._depths.append(self._depths[at] + 1)
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
        at = 0
        while (match := self._firsts.search(text, at)) is not None:
            found = self._leftmost(text, match.start())
            if found is None:
                return
            yield found
            at = found[1]

    def _leftmost(self, text: str, at: int) -> tuple[int, int] | None:
        """The first one from `at` on."""
        best: tuple[int, int] | None = None
        node = 0
        for end in range(at + 1, len(text) + 1):
            character = text[end - 1]
            while node and character not in self._edges[node]:
                node = self._failures[node]
            node = self._edges[node].get(character, 0)
            if best is not None and end - self._depths[node] > best[0]:
                return best  # whatever comes begins further right
            begin = end - self._found[node]
            if begin < end and (best is None or begin <= best[0]):
                best = begin, end
        return best
