"""Pre-tokenizers of a tokenizer.json: each makes of every piece of a text a list of pieces, none empty."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pyunitok.vocab.huggingface import patterns
from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface.characters import WHITESPACE, members
from pyunitok.vocab.huggingface.fields import Fields, flatten

Spans = list[tuple[int, int, bool]]  # begin, end, whether the pattern matched there
Leading = list[tuple[str, int]]  # pieces, and how many of their characters are first: see first.py

SPACE = "\u2581"
_BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_PYTHON_ONLY = re.compile("[\x1c-\x1f]")  # str.split() takes these for whitespace, too


class PreTokenizer(Protocol):
    def __call__(self, piece: str) -> list[str]:
        """Pieces of a piece of which no character is first."""

    def leading(self, piece: str, first: int) -> Leading:
        """Pieces of a piece whose first characters, so many, are first."""


class Metaspace(NamedTuple):
    replacement: str
    scheme: str  # "always", "first" or "never"
    split: bool

    def __call__(self, piece: str) -> list[str]:
        return self._pieces(piece, self.scheme == "always")[0]

    def leading(self, piece: str, first: int) -> Leading:
        pieces, is_prefixed = self._pieces(piece, self.scheme != "never")
        return _shared(pieces, first + is_prefixed)

    def _pieces(self, piece: str, wants_prefix: bool) -> tuple[list[str], bool]:
        """And whether a space was put before them."""
        space = self.replacement
        piece = piece.replace(" ", space)
        is_prefixed = wants_prefix and not piece.startswith(space)
        if is_prefixed:
            piece = space + piece
        if not self.split:
            return [piece], is_prefixed
        begin, *others = piece.split(space)
        return ([begin] if begin else []) + [space + other for other in others], is_prefixed


def _shared(pieces: list[str], first: int) -> Leading:
    """Pieces that lie one behind the other, and the share of each in the characters that are first."""
    ret, at = [], 0
    for piece in pieces:
        ret.append((piece, min(max(first - at, 0), len(piece))))
        at += len(piece)
    return ret


@dataclass(frozen=True)
class _Splitter:
    """Takes pieces out of a piece; `spans` gives where they lie."""

    spans: Callable[[str], Iterable[tuple[int, int]]]

    def __call__(self, piece: str) -> list[str]:
        return [piece[begin:end] for begin, end in self.spans(piece) if begin < end]

    def leading(self, piece: str, first: int) -> Leading:
        return [
            (piece[begin:end], min(max(first - begin, 0), end - begin))
            for begin, end in self.spans(piece)
            if begin < end
        ]


class _WhitespaceSplit(_Splitter):
    def __call__(self, piece: str) -> list[str]:
        return whitespace_split(piece)


def read_metaspace(fields: Fields) -> Metaspace:
    scheme = fields.choice("prepend_scheme", ("always", "first", "never"), "always")
    if fields.has("add_prefix_space") and not fields.boolean("add_prefix_space") and scheme != "never":
        if fields.has("prepend_scheme"):
            fields.refuse("it contradicts prepend_scheme", "add_prefix_space")
        fields.refuse("false needs a prepend_scheme of never", "add_prefix_space")
    return Metaspace(fields.character("replacement"), scheme, fields.boolean("split", True))


def read(fields: Fields | None) -> list[PreTokenizer]:
    """In their order; VocabularyError names one that is not supported."""
    return [_read_one(part) for part in flatten(fields, "pretokenizers")]


def _read_one(fields: Fields) -> PreTokenizer:
    kind = fields.string("type")
    if kind == "Metaspace":
        return read_metaspace(fields)
    if kind == "WhitespaceSplit":
        return _WhitespaceSplit(_class_finder(f"[^{WHITESPACE}]+"))
    if kind == "Digits":
        behavior = "Isolated" if fields.boolean("individual_digits") else "Contiguous"
        return _splitter(_class_finder(f"[{members(tables.NUMERIC)}]"), behavior)
    if kind == "Punctuation":
        punctuation = _class_finder(f"[{members(tables.PUNCTUATION)}]")
        return _splitter(punctuation, fields.choice("behavior", _BEHAVIORS, "Isolated"))
    if kind == "CharDelimiterSplit":
        return _Splitter(_class_finder(f"[^{re.escape(fields.character('delimiter'))}]+"))
    if kind == "Split":
        finder = patterns.read(fields).find
        invert = fields.boolean("invert")
        return _splitter(finder, fields.choice("behavior", _BEHAVIORS), invert)
    return fields.refuse(f"the pre-tokenizer {kind[:40]!r} is not supported", "type")


def whitespace_split(piece: str) -> list[str]:
    if _PYTHON_ONLY.search(piece) is None:
        return piece.split()
    return [part for part in re.split(f"[{WHITESPACE}]", piece) if part]


_Finder = Callable[[str], Iterator[tuple[int, int]]]


def _class_finder(pattern: str) -> _Finder:
    regex = re.compile(pattern)
    return lambda piece: (match.span() for match in regex.finditer(piece))


def _splitter(find: _Finder, behavior: str, invert: bool = False) -> _Splitter:
    def split(piece: str) -> list[tuple[int, int]]:
        spans, done = [], 0
        for begin, end in find(piece):
            if done != begin:
                spans.append((done, begin, invert))
            spans.append((begin, end, not invert))
            done = end
        if done != len(piece):
            spans.append((done, len(piece), invert))
        return _arranged(spans, behavior)

    return _Splitter(split)


def _arranged(spans: Spans, behavior: str) -> list[tuple[int, int]]:
    """What becomes of matches and what lies between, as NormalizedString::split does it."""
    if behavior == "Removed":
        return [(begin, end) for begin, end, is_match in spans if not is_match]
    if behavior == "Isolated":
        return [(begin, end) for begin, end, _ in spans]
    if behavior == "MergedWithNext":
        turned = _arranged([(-end, -begin, is_match) for begin, end, is_match in reversed(spans)], "MergedWithPrevious")
        return [(-end, -begin) for begin, end in reversed(turned)]
    ret: list[tuple[int, int]] = []
    before = False
    for begin, end, is_match in spans:
        joins = is_match == before if behavior == "Contiguous" else is_match and not before
        if joins and ret:
            ret[-1] = (ret[-1][0], end)
        else:
            ret.append((begin, end))
        before = is_match
    return ret
