"""Regular expressions in linear time: backtracking that never tries the same state at the same place twice.

Python's `re` backtracks, as Oniguruma does: (?:a|aa)+b takes 1.6^n steps on n a's, \\s+$ takes n * n on n spaces
before a letter. The matches found here are the same: alternatives are tried in the same order, the first that leads to
the end counts. But a state that failed at a place fails there whatever led to it, and so it is remembered:

    program of (?:a|aa)*b      0 split 1 7   1 split 2 4   2 char a   3 jump 6   4 char a   5 char a   6 jump 0
                               7 char b      8 match

At most (states * characters) steps for all matches of a text together, each of a microsecond: `re` is used for patterns
of which syntax.is_cheap() can tell that they do not backtrack much.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyunitok.vocab.huggingface import syntax
from pyunitok.vocab.huggingface.syntax import Node

CHAR, SPLIT, JUMP, LOOK, MATCH = range(5)


class Program:
    """The instructions of a pattern, each (kind, argument, argument).

    CHAR test      a character that passes comes next
    SPLIT a b      continue at a; if that fails, at b
    JUMP a
    LOOK test ok   test(text, place) must be `ok`; takes no characters
    """

    def __init__(self, node: Node) -> None:
        self.code: list[tuple[int, Any, Any]] = []
        self._tests: dict[str, Callable[[str], bool]] = {}
        self._emit(node)
        self.code.append((MATCH, None, None))

    def _emit(self, node: Node) -> None:
        if isinstance(node, syntax.Character):
            self.code.append((CHAR, self._test(node.pattern), None))
        elif isinstance(node, syntax.Sequence):
            for item in node.items:
                self._emit(item)
        elif isinstance(node, syntax.Choice):
            self._emit_choice(list(node.items))
        elif isinstance(node, syntax.Repeat):
            self._emit_repeat(node)
        elif isinstance(node, syntax.Edge):
            regex = re.compile(node.pattern)
            self.code.append((LOOK, lambda run: lambda at: regex.match(run.text, at) is not None, True))
        else:
            program, width = Program(node.item), syntax.width(node.item) if node.is_behind else 0
            self.code.append((LOOK, lambda run: Run(program, run.text).looker(width), not node.is_negative))

    def _test(self, pattern: str) -> Callable[[str], bool]:
        if pattern not in self._tests:
            match, known = re.compile(pattern).match, dict[str, bool]()

            def test(character: str) -> bool:
                found = known.get(character)
                if found is None:
                    found = known[character] = match(character) is not None
                return found

            self._tests[pattern] = test
        return self._tests[pattern]

    def _emit_choice(self, items: list[Node]) -> None:
        jumps = []
        for item in items[:-1]:
            split = self._hole()
            self._emit(item)
            jumps.append(self._hole())
            self.code[split] = (SPLIT, split + 1, len(self.code))
        self._emit(items[-1])
        for jump in jumps:
            self.code[jump] = (JUMP, len(self.code), None)

    def _emit_repeat(self, node: syntax.Repeat) -> None:
        for _ in range(node.least):
            self._emit(node.item)
        if node.most is None:
            split = self._hole()
            self._emit(node.item)
            self.code.append((JUMP, split, None))
            self._fill(split, node.is_lazy)
            return
        splits = []
        for _ in range(node.most - node.least):
            splits.append(self._hole())
            self._emit(node.item)
        for split in splits:
            self._fill(split, node.is_lazy)

    def _hole(self) -> int:
        self.code.append((JUMP, 0, None))
        return len(self.code) - 1

    def _fill(self, split: int, is_lazy: bool) -> None:
        inside, behind = split + 1, len(self.code)
        self.code[split] = (SPLIT, behind, inside) if is_lazy else (SPLIT, inside, behind)


class Run:
    """A program and a text: what was found out about its places stays with it."""

    def __init__(self, program: Program, text: str) -> None:
        self.text = text
        self._code = program.code
        self._looks = {k: test(self) for k, (kind, test, _) in enumerate(program.code) if kind == LOOK}
        self._failed: dict[int, int] = {}  # place: a bit for each state that fails there
        self._succeeded: dict[int, int] = {}  # the same of states that lead to a match; for looks alone

    def search(self, at: int) -> tuple[int, int] | None:
        """The leftmost match from `at` on; calls come from left to right."""
        for begin in range(at, len(self.text) + 1):
            end = self._match(begin)
            if end is not None:
                return begin, end
            self._failed.pop(begin, None)
        return None

    def looker(self, width: int) -> Callable[[int], bool]:
        """Whether it matches here, or `width` characters before."""
        known: dict[int, bool] = {}

        def look(at: int) -> bool:
            if at not in known:
                known[at] = at >= width and self._can_match(at - width)
            return known[at]

        return look

    def _match(self, begin: int) -> int | None:
        """Where a match ends that begins here."""
        code, failed = self._code, self._failed
        waiting = [(0, begin)]
        while waiting:
            state, at = waiting.pop()
            if failed.get(at, 0) >> state & 1:
                continue
            failed[at] = failed.get(at, 0) | 1 << state
            if code[state][0] == MATCH:
                self._forget(begin, at)
                return at
            waiting += self._after(state, at)
        return None

    def _after(self, state: int, at: int) -> tuple[tuple[int, int], ...]:
        """The states that it leads to, the one to be tried first at last."""
        kind, first, second = self._code[state]
        if kind == CHAR:
            return ((state + 1, at + 1),) if at < len(self.text) and first(self.text[at]) else ()
        if kind == SPLIT:
            return (second, at), (first, at)
        if kind == JUMP:
            return ((first, at),)
        return ((state + 1, at),) if self._looks[state](at) == second else ()

    def _can_match(self, begin: int) -> bool:
        """Whether there is a match that begins here; remembers what led to one, too."""
        led_to: dict[tuple[int, int], tuple[int, int] | None] = {(0, begin): None}
        waiting = [(0, begin)]
        while waiting:
            step = waiting.pop()
            state, at = step
            if self._succeeded.get(at, 0) >> state & 1 or self._code[state][0] == MATCH:
                here: tuple[int, int] | None = step
                while here is not None:
                    self._succeeded[here[1]] = self._succeeded.get(here[1], 0) | 1 << here[0]
                    here = led_to[here]
                return True
            if self._failed.get(at, 0) >> state & 1:
                continue
            self._failed[at] = self._failed.get(at, 0) | 1 << state
            for following in self._after(state, at):
                led_to.setdefault(following, step)
                waiting.append(following)
        return False

    def _forget(self, begin: int, end: int) -> None:
        """The states on the way to a match have not failed; all of them are between its ends."""
        for place in range(begin, end + 1):
            self._failed.pop(place, None)
