"""Finds repeats by searching all documents for every window of every document and for every part of a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from oracle import search

Document = Sequence[int]
SPACELESS = {"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HENTAIGANA", "THAI", "LAO", "KHMER", "MYANMAR"}


def windows(documents: Sequence[Document], n: int) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    """The places (document, token) at which each window of n tokens begins, in the order of the documents."""
    ret: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for d, ids in enumerate(documents):
        for i in range(len(ids) - n + 1):
            ret.setdefault(tuple(ids[i : i + n]), []).append((d, i))
    return ret


def joined(starts: Sequence[tuple[int, int]], n: int) -> list[tuple[int, int, int]]:
    """The spans (document, begin, end) that windows of n tokens cover. Windows that overlap or touch are joined."""
    ret: list[tuple[int, int, int]] = []
    for d, i in sorted(starts):
        if ret and ret[-1][0] == d and i <= ret[-1][2]:
            ret[-1] = (d, ret[-1][1], i + n)
        else:
            ret.append((d, i, i + n))
    return ret


def later_starts(documents: Sequence[Document], n: int) -> list[tuple[int, int]]:
    """The windows that come after the first occurrence of the same tokens and do not overlap it."""
    return [
        (d, i) for places in windows(documents, n).values() for d, i in places
        if d != places[0][0] or i >= places[0][1] + n
    ]  # fmt: skip


def without_repeats(documents: Sequence[Document], n: int, is_inner: Sequence[bool]) -> list[list[int]]:
    """The documents without the windows that have occurred before.

    is_inner[id] says whether a token begins inside a character. Each dropped part begins and ends between
    characters, and is the longest such part of its range.
    """
    kept = [list(ids) for ids in documents]
    for d, begin, end in reversed(joined(later_starts(documents, n), n)):
        ids = documents[d]
        cuts = [k for k in range(begin, end + 1) if k == len(ids) or not is_inner[ids[k]]]
        if cuts:
            del kept[d][cuts[0] : cuts[-1]]
    return kept


def count(documents: Sequence[Document], part: Document) -> int:
    """How often a sequence of tokens occurs within documents."""
    return sum(len(search.positions(ids, part)) for ids in documents)


def words(text: str) -> list[tuple[int, int]]:
    """The (begin, end) of the words of a text, in characters: runs of letters, marks and digits. In scripts without
    spaces, each letter with its marks is a word."""
    ret: list[tuple[int, int]] = []
    is_open = is_alone = False  # whether the last word may grow, and whether only by marks
    for k, character in enumerate(text):
        category, name = unicodedata.category(character), unicodedata.name(character, "")
        is_mark, is_letter = category[0] == "M", category[0] == "L"
        script = name.removeprefix("HALFWIDTH ").split(" ")[0].split("-")[0]
        alone = is_letter and script in SPACELESS and not name.startswith("HALFWIDTH CJK")
        if not (is_mark or is_letter or category == "Nd"):
            is_open = False
        elif is_open and (is_mark or not (alone or is_alone)):
            ret[-1] = (ret[-1][0], k + 1)
        else:
            ret.append((k, k + 1))
            is_open, is_alone = True, alone
    return ret


def overlap(
    documents: Sequence[bytes], text: bytes, units: Sequence[tuple[int, int]], n: int
) -> tuple[list[int], float]:
    """How often each window of n units of a text occurs, and the share of the text's units in such windows."""
    windows = [(units[i][0], units[i + n - 1][1]) for i in range(len(units) - n + 1)]
    counts = [search.count(documents, text[begin:end]) for begin, end in windows]
    inside = {i + j for i, found in enumerate(counts) if found for j in range(n)}
    return counts, len(inside) / max(1, len(units))


def longest_spans(
    documents: Sequence[bytes], text: bytes, units: Sequence[tuple[int, int]], min_bytes: int
) -> list[tuple[int, int, int]]:
    """The (begin, end, count) of the parts of a text that occur in the documents. A part begins and ends with a unit,
    has at least min_bytes, and is not inside a longer part of this kind."""
    found = {
        (begin, end): times for begin, _ in units for _, end in units
        if end - begin >= min_bytes and (times := search.count(documents, text[begin:end]))
    }  # fmt: skip
    return sorted(
        (*span, times) for span, times in found.items()
        if not any(other != span and other[0] <= span[0] and span[1] <= other[1] for other in found)
    )  # fmt: skip
