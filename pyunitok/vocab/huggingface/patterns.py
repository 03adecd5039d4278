"""Patterns of tokenizer.json as Python's regular expressions: only what is known to mean the same in both.

tokenizers uses Oniguruma with Ruby's syntax: ^ and $ are of lines, and ^ not after a newline that ends the text; . is
anything but a newline; \\s and \\d are Unicode's, of its own version. What may differ is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface.characters import members
from pyunitok.vocab.huggingface.fields import Fields

_BEGIN_LINE, _END_LINE = r"(?:\A|(?<=\n)(?!\Z))", r"(?=\n|\Z)"
_GROUPS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_REPEAT = re.compile(r"([*+?])|\{(\d{1,3})(?:(,)(\d{1,3})?)?\}")
_DEPTH_MAX = 50


@dataclass(frozen=True)
class Pattern:
    regex: re.Pattern[str]
    can_be_empty: bool

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it matches, from left to right. An empty match right behind the one before does not count."""
        if not self.can_be_empty:
            yield from (match.span() for match in self.regex.finditer(text))
            return
        at, last_end = 0, -1
        while at <= len(text):
            match = self.regex.search(text, at)
            if match is None:
                return
            begin, end = match.span()
            if begin == end == last_end:
                at += 1
                continue
            at = last_end = end
            yield begin, end

    def replacer(self, content: str) -> Callable[[str], str]:
        """What puts `content` where it matches. An empty text has no matches."""
        if not self.can_be_empty:
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
        return _Translation(pattern.string("Regex"), pattern).pattern()
    text = pattern.string("String")
    if not text:
        pattern.refuse("an empty string is not done here", "String")
    return Pattern(re.compile(re.escape(text)), False)


def literal(fields: Fields, key: str = "pattern") -> str | None:
    """The string that it looks for, if it is one: "Regex" counts if nothing in it is special."""
    pattern = fields.child(key)
    text = pattern.string("Regex" if pattern.has("Regex") else "String")
    return text if not pattern.has("Regex") or not set(text) & set(r"\^$.|?*+()[]{}") else None


class _Translation:
    """A recursive descent; every part returns its translation and whether it can match nothing."""

    def __init__(self, text: str, fields: Fields) -> None:
        self.text, self.at, self._fields, self._depth = text, 0, fields, 0

    def refuse(self, what: str) -> NoReturn:
        self._fields.refuse(f"{what} is not done here (character {self.at} of {self.text[:60]!r})", "Regex")

    def pattern(self) -> Pattern:
        translated, can_be_empty = self._alternatives()
        if self.at < len(self.text):
            self.refuse("a closing bracket without its opening one")
        try:
            return Pattern(re.compile(translated), can_be_empty)
        except (re.error, OverflowError, RecursionError) as error:
            self._fields.refuse(f"{error}, in {self.text[:60]!r}: it is not done here", "Regex")

    def _alternatives(self) -> tuple[str, bool]:
        parts = [self._sequence()]
        while self.text[self.at : self.at + 1] == "|":
            self.at += 1
            parts.append(self._sequence())
        return "|".join(part for part, _ in parts), any(empty for _, empty in parts)

    def _sequence(self) -> tuple[str, bool]:
        out, can_be_empty = "", True
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            part, empty, repeatable = self._item()
            repeat = _REPEAT.match(self.text, self.at)
            if repeat:
                part, empty = self._repeated(part, empty, repeatable, repeat)
            out += part
            can_be_empty &= empty
        return out, can_be_empty

    def _repeated(self, part: str, empty: bool, repeatable: bool, repeat: re.Match[str]) -> tuple[str, bool]:
        if not repeatable or empty:
            self.refuse("repeating what may match nothing")
        self.at = repeat.end()
        following = self.text[self.at : self.at + 1]
        lazy = following == "?" and (repeat[1] or repeat[3])
        if following and following in "*+?{" and not lazy:
            self.refuse("a repetition of a repetition")
        self.at += bool(lazy)
        if lazy and self.text[self.at : self.at + 1] in ("*", "+", "?", "{"):
            self.refuse("a repetition of a repetition")
        return part + repeat[0] + ("?" if lazy else ""), repeat[1] in ("*", "?") or repeat[2] in ("0", "00", "000")

    def _item(self) -> tuple[str, bool, bool]:
        c = self.text[self.at]
        if c == "(":
            return self._group()
        if c == "[":
            return self._class(), False, True
        self.at += 1
        if c == "\\":
            return self._escape(), False, True
        if c in "^$":
            return _BEGIN_LINE if c == "^" else _END_LINE, True, False
        if c in "*+?{":
            self.refuse(f"{c!r} here")
        return "[^\\n]" if c == "." else re.escape(c), False, True

    def _group(self) -> tuple[str, bool, bool]:
        opening = next((group for group in reversed(_GROUPS) if self.text.startswith(group, self.at)), "(")
        self.at += len(opening)
        self._depth += 1
        if self._depth > _DEPTH_MAX or (opening == "(" and self.text[self.at : self.at + 1] in ("?", "*")):
            self.refuse("such a group")
        inside, empty = self._alternatives()
        if self.at >= len(self.text):
            self.refuse("a bracket that is not closed")
        self.at += 1
        self._depth -= 1
        is_look = opening not in ("(", "(?:")
        return ("(?:" if opening == "(" else opening) + inside + ")", empty or is_look, not is_look

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
