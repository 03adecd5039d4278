"""Counts with a regular expression, finds intervals by sorting, and finds sequences of tokens by a linear search."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from oracle.bpe import character_bytes


def count(documents: Sequence[bytes], query: bytes) -> int:
    """The number of occurrences in all documents, including overlapping ones; 0 for an empty query."""
    return sum(len(starts(document, query)) for document in documents)


def starts(document: bytes, query: bytes) -> list[int]:
    """The positions, in bytes, at which the query begins in a document."""
    pattern = re.compile(b"(?=" + re.escape(query) + b")", re.DOTALL)
    return [match.start() for match in pattern.finditer(document)] if query else []


def interval(ids: Sequence[int], sa: Sequence[int], query: Sequence[int]) -> list[int]:
    """The ranks of the suffixes that begin with the query."""
    return [r for r, i in enumerate(sa) if list(ids[i : i + len(query)]) == list(query)]


def positions(ids: Sequence[int], query: Sequence[int]) -> list[int]:
    """The positions at which the query begins in ids."""
    n = len(query)
    return [i for i in range(len(ids) - n + 1) if list(ids[i : i + n]) == list(query)]


def next_tokens(ids: Sequence[int], query: Sequence[int]) -> Counter[int]:
    n = len(query)
    return Counter(int(ids[i + n]) for i in positions(ids, query) if i + n < len(ids))


def previous_tokens(ids: Sequence[int], query: Sequence[int]) -> Counter[int]:
    return Counter(int(ids[i - 1]) for i in positions(ids, query) if i > 0)


def ngrams(ids: Sequence[int], n: int, min_count: int) -> dict[tuple[int, ...], int]:
    counts = Counter(tuple(int(x) for x in ids[i : i + n]) for i in range(len(ids) - n + 1))
    return {gram: count for gram, count in counts.items() if count >= min_count}


def suffix_array_of(keys: np.ndarray) -> np.ndarray:
    """Like suffix_array(), but for larger inputs: sorts by the first 1, 2, 4, 8, ... symbols."""
    n, step = len(keys), 1
    rank = np.unique(keys, return_inverse=True)[1].astype(np.int64) + 1
    while True:
        behind = np.zeros(n, np.int64)
        behind[: max(0, n - step)] = rank[step:]
        pairs = rank * (n + 2) + behind
        order = np.argsort(pairs, kind="stable")
        rank = np.unique(pairs, return_inverse=True)[1].astype(np.int64) + 1
        if n == 0 or rank.max() == n:
            return order
        step *= 2


def character_end(text: bytes, at: int) -> int:
    """The end of the character that begins at byte `at`; at + 1 if no character begins there."""
    n = character_bytes(text[at])
    rest = text[at + 1 : at + n]
    return at + n if len(rest) == n - 1 and all(byte & 0xC0 == 0x80 for byte in rest) else at + 1


def first_characters(text: bytes, n: int) -> bytes:
    """The first n characters. A byte that is not part of a character counts as one."""
    at = 0
    for _ in range(n):
        if at < len(text):
            at = character_end(text, at)
    return text[:at]


def last_characters(text: bytes, n: int) -> bytes:
    """The last n characters, counted from the end."""
    at = len(text)
    for _ in range(n):
        sizes = [size for size in range(min(at, 4), 0, -1) if character_end(text, at - size) == at]
        inner = [size for size in sizes if size == 1 or text[at - size] >= 0xC0]
        at = max(0, at - (inner[0] if inner else 1))
    return text[at:]
