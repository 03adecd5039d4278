"""Pre-tokenizer patterns, slow and obvious: a backtracking matcher that tries one alternative after another.

Only the structure of a regex is parsed here. Whether a character is in a class is decided by the regex engine of
tokenizers, which receives the class as written.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tokenizers import Regex, pre_tokenizers

# Yields the positions at which a match from text[i] can end, in the order in which they are tried.
Matcher = Callable[[str, int], Iterator[int]]

CLASS = re.compile(r"\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\u.{4}|\\x..|\\.|[^\\]", re.S)


@functools.cache
def is_in(regex: str, char: str) -> bool:
    """Whether a regex that consists of one class matches this character."""
    return not pre_tokenizers.Split(Regex(regex), "removed").pre_tokenize_str(char)


class Parser:
    def __init__(self, regex: str, dialect: str) -> None:
        self.regex, self.at, self.dialect, self.ignore_case = regex, 0, dialect, False

    def take(self, *texts: str) -> str:
        """Skip and return the first of `texts` that comes next in the regex; return "" if none does."""
        for text in texts:
            if self.regex.startswith(text, self.at):
                self.at += len(text)
                return text
        return ""

    def choice(self) -> Matcher:
        choices = [self.sequence()]
        while self.take("|"):
            choices.append(self.sequence())
        return lambda text, i: (end for match in choices for end in match(text, i))

    def sequence(self) -> Matcher:
        ret: Matcher = nothing
        while self.at < len(self.regex) and self.regex[self.at] not in "|)":
            ret = followed(ret, self.quantified())
        return ret

    def quantified(self) -> Matcher:
        atom = self.atom()
        found = re.compile(r"([*+?]|\{(\d+)(,?)(\d*)\})([?+]?)").match(self.regex, self.at)
        if not found:
            return atom
        self.at = found.end()
        sign, low, comma, high, greed = found.groups()
        least = int(low) if low else int(sign == "+")
        most = (int(high) if high else None if comma else least) if low else 1 if sign == "?" else None
        if low and greed == "+" and self.dialect == "o":
            return repeated(repeated(atom, least, most, ""), 1, None, "")
        return repeated(atom, least, most, greed)

    def atom(self) -> Matcher:
        if self.take("$"):
            return end_of_line if self.dialect == "o" else end_of_text
        if self.take(r"\z"):
            return end_of_text
        if self.take("("):
            return self.group()
        return self.one_character()

    def group(self) -> Matcher:
        kind, outer = self.take("?:", "?i:", "?-i:", "?i)", "?=", "?!", "?>"), self.ignore_case
        self.ignore_case = outer if "i" not in kind else "-" not in kind
        if kind == "?i)":
            if self.dialect == "t":
                return nothing
            body = self.choice()
            self.ignore_case = outer
            return body
        body = self.choice()
        assert self.take(")")
        self.ignore_case = outer
        if kind == "?=":
            return lambda text, i: iter([i] if any(True for _ in body(text, i)) else [])
        if kind == "?!":
            return lambda text, i: iter([] if any(True for _ in body(text, i)) else [i])
        return first_of(body) if kind == "?>" else body

    def one_character(self) -> Matcher:
        start = self.at
        depth = 0
        while True:
            found = CLASS.match(self.regex, self.at)
            assert found
            self.at = found.end()
            depth += {"[": 1, "]": -1}.get(found[0], 0)
            if depth <= 0:
                break
        written = self.regex[start : self.at]
        regex = f"(?i:{written})" if self.ignore_case else written
        return lambda text, i: iter([i + 1] if i < len(text) and is_in(regex, text[i]) else [])


def nothing(text: str, i: int) -> Iterator[int]:
    return iter([i])


def end_of_text(text: str, i: int) -> Iterator[int]:
    return iter([i] if i == len(text) else [])


def end_of_line(text: str, i: int) -> Iterator[int]:
    return iter([i] if text[i : i + 1] in ("", "\n") else [])


def followed(first: Matcher, second: Matcher) -> Matcher:
    return lambda text, i: (end for middle in first(text, i) for end in second(text, middle))


def first_of(body: Matcher) -> Matcher:
    return lambda text, i: (end for end, _ in zip(body(text, i), range(1), strict=False))


def repeated(body: Matcher, least: int, most: int | None, greed: str) -> Matcher:
    """`greed` is "" (greedy), "?" (lazy) or "+" (possessive)."""

    def match(text: str, i: int, n: int = 0) -> Iterator[int]:
        more = (
            end
            for middle in (body(text, i) if most is None or n < most else ())
            if middle > i or n < least
            for end in match(text, middle, n + 1)
        )
        here = [i] if n >= least else []
        if greed == "?":
            yield from here
        yield from more
        if greed != "?":
            yield from here

    return first_of(match) if greed == "+" else match


def characters(text: bytes) -> list[tuple[str, int]]:
    """Characters and their lengths in bytes. Each byte outside a valid character counts as U+FFFD."""
    ret = []
    while text:
        for n in range(1, 5):
            try:
                ret.append((text[:n].decode(), n))
                break
            except UnicodeDecodeError:
                continue
        else:
            ret.append(("\ufffd", 1))
        text = text[ret[-1][1] :]
    return ret


def split(match: Matcher, text: str) -> list[int]:
    """The lengths of the matches and of the gaps between them, in text order."""
    ends, at, gap = [0], 0, 0
    while at < len(text):
        end = next(match(text, at), at)
        assert end > at or not any(True for _ in match(text, at)), "an empty match"
        if end > at:
            ends += [at] * (gap < at) + [end]
            at = gap = end
        else:
            at += 1
    ends += [at] * (gap < at)
    return [b - a for a, b in pairwise(ends)]


def pieces(parts: Sequence[str], text: bytes) -> list[bytes]:
    """Split the text with each part in turn. A part is a dialect ("o": onig, "t": tiktoken) followed by a regex."""
    ret = [characters(text)]
    for part in parts:
        match = Parser(part[1:], part[0]).choice()
        divided = []
        for piece in ret:
            at = 0
            for n in split(match, "".join(char for char, _ in piece)):
                divided.append(piece[at : at + n])
                at += n
        ret = divided
    out, at = [], 0
    for piece in ret:
        n = sum(length for _, length in piece)
        out.append(text[at : at + n])
        at += n
    return out
