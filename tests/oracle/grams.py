"""Finds the n-grams of items, and their occurrences in documents, by comparing lists of units."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterator, Sequence

Unit = tuple[Hashable, int, int]  # the value to compare, and its begin and end in bytes

WITHOUT_SPACES = re.compile(
    "CJK |IDEOGRAPHIC |HIRAGANA |(HALFWIDTH )?KATAKANA|HENTAIGANA |THAI |LAO |KHMER |MYANMAR "
)  # fmt: skip


def words(text: bytes) -> list[Unit]:
    """The words of a text, found character by character."""
    found: list[list[int]] = []
    at, state = 0, ""  # "" outside words; inside, "joined" or "alone"
    for char in text.decode("utf-8", "surrogateescape"):
        n_bytes = 1 if 0xDC80 <= ord(char) <= 0xDCFF else len(char.encode())
        kind = unicodedata.category(char)
        name = unicodedata.name(char, "") if kind[0] == "L" and ord(char) > 0xE00 else ""
        if kind[0] == "M" and state:
            found[-1][1] = at + n_bytes
        elif kind[0] == "L" and WITHOUT_SPACES.match(name):
            found.append([at, at + n_bytes])
            state = "alone"
        elif kind[0] in "LM" or kind == "Nd":
            if state != "joined":
                found.append([at, at])
            found[-1][1] = at + n_bytes
            state = "joined"
        else:
            state = ""
        at += n_bytes
    return [(text[begin:end].decode().casefold(), begin, end) for begin, end in found]


def characters(text: bytes) -> list[Unit]:
    """The bytes of a text."""
    return [(byte, i, i + 1) for i, byte in enumerate(text)]


def grams(items: Sequence[list[Unit]], n: int, min_units: int) -> Iterator[tuple[tuple[Hashable, ...], int]]:
    """Each n-gram of the items, and the position of its first unit among the units of all items."""
    start = 0
    for units in items:
        size = n if len(units) >= n else len(units)
        if size >= min_units:
            for k in range(len(units) - size + 1):
                yield tuple(unit[0] for unit in units[k : k + size]), start + k
        start += len(units)


def continued(item: Sequence[Hashable], document: Sequence[Hashable], n: int, mismatches: int) -> set[int]:
    """The units of an item that matches with the document cover. A match begins with n equal units and ends before
    difference number `mismatches` + 1; the units that differ are not covered."""
    return {
        i + k
        for i in range(len(item))
        for j in range(len(document))
        if len(item) - i >= n and item[i : i + n] == document[j : j + n]
        for k in range(min(len(item) - i, len(document) - j))
        if item[i + k] == document[j + k]
        and sum(item[i + m] != document[j + m] for m in range(k)) <= mismatches
    }


def find(
    items: Sequence[list[Unit]], documents: Sequence[list[Unit]], n: int, min_units: int
) -> list[tuple[int, int, int, int, int]]:
    """(document, first unit, begin, end, number) for each occurrence of an n-gram in the documents. The number of an
    n-gram is the position at which it first begins in the items."""
    first: dict[tuple[Hashable, ...], int] = {}
    for gram, place in grams(items, n, min_units):
        first.setdefault(gram, place)
    sizes = sorted({len(gram) for gram in first})
    return [
        (number, k, units[k][1], units[k + size - 1][2], first[gram])
        for number, units in enumerate(documents)
        for size in sizes
        for k in range(len(units) - size + 1)
        if (gram := tuple(unit[0] for unit in units[k : k + size])) in first
    ]
