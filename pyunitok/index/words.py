"""Word boundaries by Unicode properties, for comparing texts rather than tokenizing them.

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
from typing import Any

import numpy as np

Int64s = np.ndarray[Any, np.dtype[np.int64]]

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


def character_bounds(text: bytes) -> Int64s:
    """int64[n, 2]: the byte ranges of the characters of a text. Each byte of invalid UTF-8 counts as a character."""
    places = byte_places(text.decode("utf-8", "surrogateescape"))
    return np.stack((places[:-1], places[1:]), axis=1)


def byte_places(characters: str) -> Int64s:
    """int64[len + 1]: the byte offset of each character and of the end. A surrogate is one invalid byte."""
    codes = np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), "<u4")
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xDC80) & (codes <= 0xDCFF)] = 1
    return np.concatenate(([0], np.cumsum(sizes)))


@cache
def _words() -> re.Pattern[str]:
    by_class: dict[str, list[int]] = {"alone": [], "mark": [], "joined": []}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        if category in _MARKS:
            by_class["mark"].append(code)
        elif category in _LETTERS:
            alone = code > 0xE00 and unicodedata.name(character, "").startswith(_WITHOUT_SPACES)
            by_class["alone" if alone else "joined"].append(code)
        elif category in _DIGITS:
            by_class["joined"].append(code)
    classes = {name: "".join(_ranges(codes)) for name, codes in by_class.items()}
    return re.compile("[{alone}][{mark}]*|[{joined}{mark}]+".format_map(classes))


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
