"""Repeats, slow and obvious: every window of every document, and every part of a text, looked for everywhere."""

from __future__ import annotations

from collections.abc import Sequence

Document = Sequence[int]


def windows(documents: Sequence[Document], n: int) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    """Where each window of n tokens begins: (document, token), in the order of the documents."""
    ret: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for d, ids in enumerate(documents):
        for i in range(len(ids) - n + 1):
            ret.setdefault(tuple(ids[i : i + n]), []).append((d, i))
    return ret


def joined(starts: Sequence[tuple[int, int]], n: int) -> list[tuple[int, int, int]]:
    """(document, begin, end) of windows that overlap or touch."""
    ret: list[tuple[int, int, int]] = []
    for d, i in sorted(starts):
        if ret and ret[-1][0] == d and i <= ret[-1][2]:
            ret[-1] = (d, ret[-1][1], i + n)
        else:
            ret.append((d, i, i + n))
    return ret


def later_starts(documents: Sequence[Document], n: int) -> list[tuple[int, int]]:
    """Windows that have occurred before, without overlap."""
    return [
        (d, i) for places in windows(documents, n).values() for d, i in places
        if d != places[0][0] or i >= places[0][1] + n
    ]  # fmt: skip


def without_repeats(documents: Sequence[Document], n: int, is_inner: Sequence[bool]) -> list[list[int]]:
    """The documents without the windows that have occurred before. is_inner[id]: begins within a character; what is
    dropped begins and ends between two characters, and is as long as that allows."""
    kept = [list(ids) for ids in documents]
    for d, begin, end in reversed(joined(later_starts(documents, n), n)):
        ids = documents[d]
        cuts = [k for k in range(begin, end + 1) if k == len(ids) or not is_inner[ids[k]]]
        if cuts:
            del kept[d][cuts[0] : cuts[-1]]
    return kept


def count(documents: Sequence[Document], part: Document) -> int:
    """How often a sequence of tokens occurs within documents."""
    n = len(part)
    return sum(list(ids[i : i + n]) == list(part) for ids in documents for i in range(len(ids) - n + 1))


def overlap(documents: Sequence[Document], ids: Document, n: int) -> tuple[list[int], float]:
    """(how often each window of n tokens of a text occurs, the share of its tokens in windows that do)."""
    counts = [count(documents, ids[i : i + n]) for i in range(len(ids) - n + 1)]
    inside = {i + j for i, found in enumerate(counts) if found for j in range(n)}
    return counts, len(inside) / len(ids) if ids else 0


def longest_spans(documents: Sequence[Document], ids: Document, min_tokens: int) -> list[tuple[int, int, int]]:
    """(begin, end, count) of the parts of a text that occur, are long enough, and lie in no longer such part."""
    n = len(ids)
    found = {
        (i, j): times for i in range(n) for j in range(i + min_tokens, n + 1) if (times := count(documents, ids[i:j]))
    }
    return sorted(
        (*span, times) for span, times in found.items()
        if not any(other != span and other[0] <= span[0] and span[1] <= other[1] for other in found)
    )  # fmt: skip
