"""Patterns of tokenizer.json as Python's regular expressions: only what is known to mean the same in both.

tokenizers uses Oniguruma with Ruby's syntax: ^ and $ are of lines, and ^ not after a newline that ends the text; . is
anything but a newline; \\s and \\d are Unicode's, of its own version. What may differ is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from pyunitok.vocab import limits
from pyunitok.vocab.huggingface import matcher, syntax
from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface.characters import members
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.syntax import Character, Choice, Edge, Look, Node, Repeat, Sequence

_BEGIN_LINE, _END_LINE = Edge(r"(?:\A|(?<=\n)(?!\Z))"), Edge(r"(?=\n|\Z)")
_GROUPS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_REPEAT = re.compile(r"([*+?])|\{(\d{1,3})(?:(,)(\d{1,3})?)?\}")
_DEPTH_MAX = 50


@dataclass(frozen=True)
class Pattern:
    """`program` is for patterns on which `re` may take too long."""

    regex: re.Pattern[str]
    can_be_empty: bool
    program: matcher.Program | None = None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it matches, from left to right. An empty match right after the one before does not count."""
        if not self.can_be_empty and self.program is None:
            yield from (match.span() for match in self.regex.finditer(text))
            return
        search = matcher.Run(self.program, text).search if self.program else self._searcher(text)
        at, last_end = 0, -1
        while at <= len(text):
            span = search(at)
            if span is None:
                return
            if span == (last_end, last_end):
                at += 1
                continue
            at = last_end = span[1]
            yield span

    def _searcher(self, text: str) -> Callable[[int], tuple[int, int] | None]:
        def search(at: int) -> tuple[int, int] | None:
            match = self.regex.search(text, at)
            return match.span() if match else None

        return search

    def replacer(self, content: str) -> Callable[[str], str]:
        """What puts `content` where it matches. An empty text has no matches."""
        if not self.can_be_empty and self.program is None:
            return lambda text: self.regex.sub(lambda _: content, text)

        def replace(text: str) -> str:
            parts, done = [], 0
            for begin, end in self.find(text) if text else ():
                parts += [text[done:begin], content]
                done = end
            return "".join(parts) + text[done:]

        return replace


def read(fields: Fields, key: str = "pattern") -> Pattern:
    """Of a field {"String": "..."} or {"Regex": "..."}."""
    pattern = fields.child(key)
    if pattern.has("Regex"):
        return _Parser(pattern.string("Regex"), pattern).pattern()
    text = pattern.string("String")
    if not text:
        pattern.refuse("an empty string is not supported", "String")
    return Pattern(re.compile(re.escape(text)), False)


def literal(fields: Fields, key: str = "pattern") -> str | None:
    """The string that it looks for, if it is one: "Regex" counts if nothing in it is special."""
    pattern = fields.child(key)
    text = pattern.string("Regex" if pattern.has("Regex") else "String")
    return text if not pattern.has("Regex") or not set(text) & set(r"\^$.|?*+()[]{}") else None


class _Parser:
    """A recursive descent to a syntax tree, whose characters are spelled as in Python."""

    def __init__(self, text: str, fields: Fields) -> None:
        self.text, self.at, self._fields, self._depth = text, 0, fields, 0

    def refuse(self, what: str) -> NoReturn:
        self._fields.refuse(f"{what} is not supported (character {self.at} of {self.text[:60]!r})", "Regex")

    def pattern(self) -> Pattern:
        tree = self._alternatives()
        if self.at < len(self.text):
            self.refuse("a closing bracket without its opening one")
        n_states = syntax.size(tree)
        if n_states > limits.pattern_states:
            self._fields.refuse(
                f"{self.text[:60]!r} has {n_states} states; at most {limits.pattern_states} are allowed"
                " (pyunitok.vocab.limits.pattern_states, which may be raised)", "Regex",
            )  # fmt: skip
        try:
            regex = re.compile(syntax.spell(tree))
        except (re.error, OverflowError, RecursionError) as error:
            self._fields.refuse(f"{error}, in {self.text[:60]!r}: not supported", "Regex")
        return Pattern(regex, syntax.can_be_empty(tree), None if syntax.is_cheap(tree) else matcher.Program(tree))

    def _alternatives(self) -> Node:
        parts = [self._sequence()]
        while self.text[self.at : self.at + 1] == "|":
            self.at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Node:
        items: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            item = self._item()
            repeat = _REPEAT.match(self.text, self.at)
            items.append(self._repeated(item, repeat) if repeat else item)
        return Sequence(tuple(items))

    def _repeated(self, item: Node, repeat: re.Match[str]) -> Node:
        if isinstance(item, Edge | Look) or syntax.can_be_empty(item):
            self.refuse("repeating what may match nothing")
        self.at = repeat.end()
        following = self.text[self.at : self.at + 1]
        is_lazy = following == "?" and bool(repeat[1] or repeat[3])
        if following and following in "*+?{" and not is_lazy:
            self.refuse("a repetition of a repetition")
        self.at += is_lazy
        if is_lazy and self.text[self.at : self.at + 1] in ("*", "+", "?", "{"):
            self.refuse("a repetition of a repetition")
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(repeat[1] or "", (0, None))
        if not repeat[1]:
            least = int(repeat[2])
            most = least if not repeat[3] else int(repeat[4]) if repeat[4] else None
        return Repeat(item, least, most, is_lazy, repeat[0] + "?" * is_lazy)

    def _item(self) -> Node:
        c = self.text[self.at]
        if c == "(":
            return self._group()
        if c == "[":
            return Character(self._class())
        self.at += 1
        if c == "\\":
            return Character(self._escape())
        if c in "^$":
            return _BEGIN_LINE if c == "^" else _END_LINE
        if c in "*+?{":
            self.refuse(f"{c!r} here")
        return Character("[^\\n]" if c == "." else re.escape(c))

    def _group(self) -> Node:
        opening = next((group for group in reversed(_GROUPS) if self.text.startswith(group, self.at)), "(")
        self.at += len(opening)
        self._depth += 1
        if self._depth > _DEPTH_MAX or (opening == "(" and self.text[self.at : self.at + 1] in ("?", "*")):
            self.refuse("such a group")
        inside = self._alternatives()
        if self.at >= len(self.text):
            self.refuse("a bracket that is not closed")
        self.at += 1
        self._depth -= 1
        return Look(inside, "<" in opening, "!" in opening) if opening not in ("(", "(?:") else inside

    def _code(self, digits: re.Match[str] | None) -> str:
        if digits is None or not 0 < int(digits[1], 16) < 0x80 + 0x10FF80 or 0xD800 <= int(digits[1], 16) < 0xE000:
            self.refuse("such an escape")
        self.at = digits.end()
        return f"\\U{int(digits[1], 16):08x}"

    def _escaped_character(self) -> str:
        """One character after a backslash, for inside and outside of classes."""
        c = self.text[self.at : self.at + 1]
        if c == "x" and self.text[self.at + 1 : self.at + 2] == "{":
            ret = self._code(re.compile(r"x\{([0-9a-fA-F]{1,6})").match(self.text, self.at))
            if self.text[self.at : self.at + 1] != "}":
                self.refuse("such an escape")
            self.at += 1
            return ret
        if c == "x":
            return self._code(re.compile(r"x([0-7][0-9a-fA-F])").match(self.text, self.at))
        if c == "u":
            return self._code(re.compile(r"u([0-9a-fA-F]{4})").match(self.text, self.at))
        if not c or not c.isascii() or (c.isalnum() and c not in _CONTROLS) or c == "_":
            self.refuse(f"\\{c}")
        self.at += 1
        return re.escape(_CONTROLS.get(c, c))

    def _escape(self) -> str:
        c = self.text[self.at : self.at + 1]
        sets = {"s": tables.ONIG_SPACE, "d": tables.ONIG_DIGITS}
        if c and c.lower() in sets and c in "sSdD":
            self.at += 1
            return f"[{'^' if c.isupper() else ''}{members(sets[c.lower()])}]"
        return self._escaped_character()

    def _class(self) -> str:
        self.at += 1
        out = "["
        if self.text[self.at : self.at + 1] == "^":
            self.at += 1
            out += "^"
        begin = self.at
        while self.at < len(self.text) and self.text[self.at] != "]":
            out += self._class_item()
        if self.at >= len(self.text) or self.at == begin:
            self.refuse("such a class of characters")
        self.at += 1
        return out + "]"

    def _class_item(self) -> str:
        if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in ("s", "d"):
            self.at += 2
            return members(tables.ONIG_SPACE if self.text[self.at - 1] == "s" else tables.ONIG_DIGITS)
        first = self._class_character()
        if self.text[self.at : self.at + 1] != "-":
            return first
        self.at += 1
        if self.text[self.at : self.at + 1] in ("]", ""):
            return first + r"\-"
        return f"{first}-{self._class_character()}"

    def _class_character(self) -> str:
        c = self.text[self.at : self.at + 1]
        if not c or c in "[&-":
            self.refuse(f"{c!r} in a class of characters")
        self.at += 1
        return self._escaped_character() if c == "\\" else re.escape(c)
