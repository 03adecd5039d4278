"""Finds words by Unicode properties, to compare texts rather than to tokenize them.

A word is a run of letters, marks and digits. In scripts written without spaces (Han, kana, Thai, Lao, Khmer and
Burmese), each letter with the marks that follow it is a word. The set of letters depends on the Unicode version of
Python (unicodedata.unidata_version).
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from pyunitok._c.grams import ALONE, JOINED, MARK, WordRules
from pyunitok.packed import Bytes

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Codes = np.ndarray[Any, np.dtype[np.uint32]]

# All code points outside these ranges are reserved or for private use.
_ASSIGNED = (range(0x40000), range(0xE0000, 0xE1000))
_LETTERS, _MARKS, _DIGITS = ("Lu", "Ll", "Lt", "Lm", "Lo"), ("Mn", "Mc", "Me"), ("Nd",)
_WITHOUT_SPACES = (
    "CJK ", "IDEOGRAPHIC ", "HIRAGANA ", "KATAKANA", "HALFWIDTH KATAKANA", "HENTAIGANA ", "THAI ", "LAO ", "KHMER ",
    "MYANMAR ",
)  # fmt: skip


def word_bounds(text: bytes) -> Int64s:
    """int64[n, 2]: the byte ranges of the words of a text. Invalid UTF-8 is not part of any word."""
    characters = text.decode("utf-8", "surrogateescape")
    found = [match.span() for match in _words().finditer(characters)]
    return byte_places(characters)[np.array(found, np.int64).reshape(-1, 2)]


def words_of(text: bytes) -> list[str]:
    """The words of a text."""
    ret: list[str] = _words().findall(text.decode("utf-8", "surrogateescape"))
    return ret


def character_bounds(text: bytes) -> Int64s:
    """int64[n, 2]: the byte ranges of the characters of a text. Each byte of invalid UTF-8 counts as a character."""
    places = byte_places(text.decode("utf-8", "surrogateescape"))
    return np.stack((places[:-1], places[1:]), axis=1)


@cache
def word_classes() -> Bytes:
    """uint8[0x110000]: the role of each character in words: JOINED, MARK, ALONE, or 0."""
    classes = np.zeros(sys.maxunicode + 1, np.uint8)
    for code in chain(*_ASSIGNED):
        category = unicodedata.category(chr(code))
        if category in _MARKS:
            classes[code] = MARK
        elif category in _LETTERS:
            alone = code > 0xE00 and unicodedata.name(chr(code), "").startswith(_WITHOUT_SPACES)
            classes[code] = ALONE if alone else JOINED
        elif category in _DIGITS:
            classes[code] = JOINED
    return classes


@cache
def case_folds() -> tuple[Codes, Codes]:
    """The case folding of each character, as in str.casefold().

    uint32[0x110000]: a code point, or 0x110000 + k for row k of the second array, uint32[n, 3], padded with zeros.
    """
    folds, longer = np.arange(sys.maxunicode + 1, dtype=np.uint32), list[list[int]]()
    for code in np.flatnonzero(word_classes()).tolist():
        folded = chr(code).casefold()
        if len(folded) > 1:
            folds[code] = sys.maxunicode + 1 + len(longer)
            longer.append([ord(character) for character in folded.ljust(3, "\0")])
        elif ord(folded) != code:
            folds[code] = ord(folded)
    return folds, np.array(longer, np.uint32).reshape(-1, 3)


@cache
def word_rules() -> WordRules:
    """The rules in C's format, for finding words that are equal except for case."""
    return WordRules(word_classes(), *case_folds())


def byte_places(characters: str) -> Int64s:
    """int64[len + 1]: the byte offset of each character and of the end. A surrogate is one invalid byte."""
    codes = np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), "<u4")
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xDC80) & (codes <= 0xDCFF)] = 1
    return np.concatenate(([0], np.cumsum(sizes)))


@cache
def _words() -> re.Pattern[str]:
    classes = word_classes()
    alone, mark, joined = ("".join(_ranges(np.flatnonzero(classes == kind).tolist())) for kind in (ALONE, MARK, JOINED))
    return re.compile(f"[{alone}][{mark}]*|[{joined}{mark}]+")


def _ranges(codes: Iterable[int]) -> Iterator[str]:
    """The ranges of a regex character class for ascending code points."""
    begin = end = -1
    for code in codes:
        if code != end:
            if begin >= 0:
                yield f"{re.escape(chr(begin))}-{re.escape(chr(end - 1))}"
            begin = code
        end = code + 1
    if begin >= 0:
        yield f"{re.escape(chr(begin))}-{re.escape(chr(end - 1))}"
