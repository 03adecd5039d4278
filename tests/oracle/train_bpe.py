"""Trains BPE as SentencePiece does, but counts all pairs again before every merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

SPACE = "\u2581"


def split_words(text: str) -> list[str]:
    """Split the text before each space symbol."""
    words: list[str] = []
    for i, c in enumerate(text):
        if i == 0 or c == SPACE:
            words.append("")
        words[-1] += c
    return words


def is_piece(piece: str, max_chars: int = 16) -> bool:
    return 1 <= len(piece) <= max_chars and SPACE not in piece[1:]


def train(
    words: Counter[str], n_pieces: int, *, min_count: int = 0, allowed: Callable[[str], bool] = is_piece
) -> list[tuple[str, int]]:
    """The merged pieces with the counts of their pairs.

    Each step merges the most frequent pair. Ties go to the pair with fewer characters, then to the smaller bytes. A
    pair that would create an existing piece is never merged.
    """
    texts: list[list[str]] = [list(word) for word in words]
    counts = list(words.values())
    merged: list[tuple[str, int]] = []
    # All pairs that ever occurred remain candidates, even if they existed only while a merge was being applied.
    known: set[tuple[str, str]] = set()
    banned: set[tuple[str, str]] = set()
    while len(merged) < n_pieces:
        found: Counter[tuple[str, str]] = Counter()
        for text, count in zip(texts, counts, strict=True):
            for pair in pairwise(text):
                if allowed("".join(pair)):
                    found[pair] += count
        known |= found.keys()
        candidates = [pair for pair in known - banned if found[pair] >= min_count]
        if not candidates:
            break
        best = min(candidates, key=lambda pair: rank(pair, found[pair]))
        banned.add(best)
        if any(piece == "".join(best) for piece, _ in merged):
            continue
        merged.append(("".join(best), found[best]))
        for text in texts:
            known |= {pair for pair in merge(text, best) if allowed("".join(pair))}
    return merged


def rank(pair: Sequence[str], count: int) -> tuple[int, int, bytes, int]:
    piece = "".join(pair)
    return -count, len(piece), piece.encode(), len(pair[0])


def merge(text: list[str], pair: tuple[str, str]) -> set[tuple[str, str]]:
    """Merge every occurrence of the pair, from the left. Returns the pairs that each merge created."""
    made: set[tuple[str, str]] = set()
    i = 0
    while i + 1 < len(text):
        if (text[i], text[i + 1]) == pair:
            text[i : i + 2] = ["".join(pair)]
            made |= {(text[k], text[k + 1]) for k in (i - 1, i) if 0 <= k < len(text) - 1}
        i += 1
    return made
