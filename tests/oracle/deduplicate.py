"""Finds and removes repeated text by definition: looks up every window of every document in all documents."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.repeats import words as word_places

Window = tuple[int, int, int]  # document, begin, end
Range = tuple[int, int]


def windows(documents: Sequence[bytes], n: int, unit: str) -> list[Window]:
    """All windows of n bytes or words, in the order of the documents."""
    ret = []
    for d, text in enumerate(documents):
        if unit == "bytes":
            ret += [(d, i, i + n) for i in range(len(text) - n + 1)]
        else:
            places = words_of(text)
            ret += [(d, places[i][0], places[i + n - 1][1]) for i in range(len(places) - n + 1)]
    return ret


def words_of(text: bytes) -> list[Range]:
    """The (begin, end) of the words of a text, in bytes. Invalid UTF-8 is not part of any word."""
    characters = text.decode("utf-8", "surrogateescape")
    sizes = [len(c.encode("utf-8", "surrogateescape")) for c in characters]
    at = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    return [(at[begin], at[end]) for begin, end in word_places(characters)]


def repeated(documents: Sequence[bytes], n: int, unit: str, keep: str, n_before: int = 0) -> list[Window]:
    """The repeated windows that are not in the first n_before documents. `keep` determines which windows are repeated:

    none   those that also occur elsewhere (Lee et al. 2021, "Deduplicating training data makes language models better")
    first  those that come after the first occurrence of the same text and do not overlap it
    """
    places: dict[bytes, list[Window]] = {}
    for window in windows(documents, n, unit):
        places.setdefault(documents[window[0]][window[1] : window[2]], []).append(window)
    if keep == "none":
        found = [one for equal in places.values() if len(equal) > 1 for one in equal]
    else:
        found = [
            one for equal in places.values() for one in equal if one[0] != equal[0][0] or one[1] >= equal[0][2]
        ]
    return sorted(one for one in found if one[0] >= n_before)


def joined(found: Sequence[Window], n_documents: int) -> list[list[Range]]:
    """For each document, the ranges that the windows cover. Windows that overlap or touch are joined."""
    ret: list[list[Range]] = [[] for _ in range(n_documents)]
    for d, begin, end in sorted(found):
        if ret[d] and begin <= ret[d][-1][1]:
            ret[d][-1] = (ret[d][-1][0], max(end, ret[d][-1][1]))
        else:
            ret[d].append((begin, end))
    return ret


def bounds(text: bytes, cut: str) -> list[int]:
    """The positions, in bytes, at which a text may be cut."""
    if cut == "line":
        return sorted({0, len(text)} | {k + 1 for k, byte in enumerate(text) if byte == 10})
    characters = text.decode("utf-8", "surrogateescape")
    at, ret = 0, [0]
    for character in characters:
        at += len(character.encode("utf-8", "surrogateescape"))
        ret.append(at)
    if cut == "word":
        inside = {k for begin, end in words_of(text) for k in range(begin + 1, end)}
        ret = [k for k in ret if k not in inside]
    return ret


def removed(
    text: bytes, ranges: Sequence[Range], cut: str = "word", max_share: float = 2.0, min_left: int = 0
) -> list[Range]:
    """The ranges that are removed from a document."""
    places, ret = bounds(text, cut), []
    for begin, end in ranges:
        begins, ends = [k for k in places if begin <= k], [k for k in places if k <= end]
        if begins and ends and begins[0] < ends[-1]:
            begin, end = begins[0], ends[-1]
            if cut == "word" and joins_words(text, begin, end):  # the first character remains
                begin = bounds(text, "char")[bounds(text, "char").index(begin) + 1]
            if begin < end:
                ret.append((begin, end))
    n_removed = sum(end - begin for begin, end in ret)
    is_dropped = sum(end - begin for begin, end in ranges) > max_share * len(text)
    if is_dropped or (n_removed and len(text) - n_removed < min_left):
        return [(0, len(text))] if text else []
    return ret


def joins_words(text: bytes, begin: int, end: int) -> bool:
    """Whether removing a range would join the characters before and after it into one word."""
    places = bounds(text, "char")
    if begin == 0 or end == len(text):
        return False
    before = text[places[places.index(begin) - 1] : begin]
    after = text[end : places[places.index(end) + 1]]
    return any(a < len(before) < b for a, b in words_of(before + after))


def without(text: bytes, ranges: Sequence[Range]) -> bytes:
    gone = {k for begin, end in ranges for k in range(begin, end)}
    return bytes(byte for k, byte in enumerate(text) if k not in gone)


def clean(
    documents: Sequence[bytes], n: int, unit: str = "bytes", keep: str = "first", cut: str = "word", *,
    max_share: float = 2.0, min_left: int = 0, whole: bool = False, n_before: int = 0, repeat: bool = False,
) -> tuple[list[bytes], int]:  # fmt: skip
    """The remaining text of each document after the first n_before, and the number of windows that still repeat."""
    texts = list(documents)
    if whole:
        seen: set[bytes] = set()
        for k, text in enumerate(texts):
            if text in seen and k >= n_before:
                texts[k] = b""
            seen.add(text)
    while True:
        ranges = joined(repeated(texts, n, unit, keep, n_before), len(texts))
        cuts = [removed(text, found, cut, max_share, min_left) for text, found in zip(texts, ranges, strict=True)]
        texts = [without(text, found) for text, found in zip(texts, cuts, strict=True)]
        n_left = len(repeated(texts, n, unit, keep, n_before))
        if not repeat or not n_left or not any(cuts):
            return texts[n_before:], n_left
