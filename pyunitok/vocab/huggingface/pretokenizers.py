"""Pre-tokenizers of a tokenizer.json: each makes of every piece of a text a list of pieces, none empty."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pyunitok.vocab.huggingface import patterns
from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface.characters import WHITESPACE, members
from pyunitok.vocab.huggingface.fields import Fields, flatten
from pyunitok.vocab.huggingface.normalizers import KEEPS_FIRST

Spans = list[tuple[int, int, bool]]  # begin, end, whether the pattern matched there
PreTokenizer = Callable[[str, bool], list[str]]  # (piece, whether the text begins with it)

SPACE = "\u2581"
_BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_PYTHON_ONLY = re.compile("[\x1c-\x1f]")  # str.split() takes these for whitespace, too


class Metaspace(NamedTuple):
    replacement: str
    scheme: str  # "always", "first" or "never"
    split: bool

    def pieces(self, piece: str, is_first: bool) -> list[str]:
        space = self.replacement
        piece = piece.replace(" ", space)
        wanted = self.scheme == "always" or (self.scheme == "first" and is_first)
        if wanted and not piece.startswith(space):
            piece = space + piece
        if not self.split:
            return [piece]
        first, *others = piece.split(space)
        return ([first] if first else []) + [space + other for other in others]


def read_metaspace(fields: Fields) -> Metaspace:
    scheme = fields.choice("prepend_scheme", ("always", "first", "never"), "always")
    if fields.has("add_prefix_space") and not fields.boolean("add_prefix_space") and scheme != "never":
        if fields.has("prepend_scheme"):
            fields.refuse("it contradicts prepend_scheme", "add_prefix_space")
        fields.refuse("false needs a prepend_scheme of never", "add_prefix_space")
    return Metaspace(fields.character("replacement"), scheme, fields.boolean("split", True))


def read(fields: Fields | None, normalizer: Fields | None) -> list[PreTokenizer]:
    """In their order; VocabularyError names one that is not known here."""
    parts = flatten(fields, "pretokenizers")
    ret = [_read_one(part) for part in parts]
    for k, part in enumerate(parts):
        if part.string("type") == "Metaspace" and read_metaspace(part).scheme == "first":
            _check_first(part, k, normalizer)
    return ret


def _check_first(fields: Fields, place: int, normalizer: Fields | None) -> None:
    """Which piece is the first, tokenizers tells by where it begins in the text as it was: all that keeps the first
    character where it is can be done here."""
    if place:
        fields.refuse("'first' behind another pre-tokenizer is not done here", "prepend_scheme")
    for part in flatten(normalizer, "normalizers"):
        replaces = part.string("type") == "Replace" and bool(patterns.literal(part)) and part.string("content")
        if part.string("type") not in KEEPS_FIRST and not replaces:
            fields.refuse(f"'first' beside the normalizer {part.string('type')} is not done here", "prepend_scheme")


def _read_one(fields: Fields) -> PreTokenizer:
    kind = fields.string("type")
    if kind == "Metaspace":
        return read_metaspace(fields).pieces
    if kind == "WhitespaceSplit":
        return lambda piece, is_first: whitespace_split(piece)
    if kind == "Digits":
        behavior = "Isolated" if fields.boolean("individual_digits") else "Contiguous"
        return _splitter(_class_finder(tables.NUMERIC), behavior)
    if kind == "Punctuation":
        return _splitter(_class_finder(tables.PUNCTUATION), fields.choice("behavior", _BEHAVIORS, "Isolated"))
    if kind == "CharDelimiterSplit":
        delimiter = fields.character("delimiter")
        return lambda piece, is_first: [part for part in piece.split(delimiter) if part]
    if kind == "Split":
        finder = patterns.read(fields).find
        invert = fields.boolean("invert")
        return _splitter(finder, fields.choice("behavior", _BEHAVIORS), invert)
    return fields.refuse(f"the pre-tokenizer {kind[:40]!r} is not done here", "type")


def whitespace_split(piece: str) -> list[str]:
    if _PYTHON_ONLY.search(piece) is None:
        return piece.split()
    return [part for part in re.split(f"[{WHITESPACE}]", piece) if part]


_Finder = Callable[[str], Iterator[tuple[int, int]]]


def _class_finder(table: str) -> _Finder:
    regex = re.compile(f"[{members(table)}]")
    return lambda piece: (match.span() for match in regex.finditer(piece))


def _splitter(find: _Finder, behavior: str, invert: bool = False) -> PreTokenizer:
    def split(piece: str, is_first: bool) -> list[str]:
        spans, done = [], 0
        for begin, end in find(piece):
            if done != begin:
                spans.append((done, begin, invert))
            spans.append((begin, end, not invert))
            done = end
        if done != len(piece):
            spans.append((done, len(piece), invert))
        return [piece[begin:end] for begin, end in _arranged(spans, behavior) if begin < end]

    return split


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
