"""Encodes with Unigram models: finds the best path over a complete text, summed in the order of the references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from oracle.bpe import NORMAL, USER_DEFINED, character_bytes

UNKNOWN = -1
RESTART_ABOVE = 100_000  # sentencepiece 0.2.3


def character(text: bytes, at: int) -> int:
    """The length of the character at `at`, inferred from its first byte alone but never past the end of the text."""
    return min(character_bytes(text[at]), len(text) - at)


def one_byte(text: bytes, at: int) -> int:
    return 1


def best_path(
    pieces: Mapping[bytes, tuple[int, Any]], unknown: Any, text: bytes, *, restart_above: float | None = None,
    step: Callable[[bytes, int], int] = character,
) -> list[tuple[int, bytes]]:  # fmt: skip
    """The ids and bytes of the tokens. Sums are computed in the type of the scores in `pieces`.

    Candidates are tried in ascending order of start. A candidate replaces the best one that ends at the same position
    only if its sum is larger. If the absolute value of the sum at a position exceeds restart_above, the sum is
    subtracted there and at all later positions that a piece has reached.
    """
    number = type(unknown)
    sums, starts, ids = [number(0)] * (len(text) + 1), [-1] * (len(text) + 1), [UNKNOWN] * (len(text) + 1)
    longest = max(map(len, pieces), default=0)
    at = 0
    while at < len(text):
        offset = sums[at]
        if restart_above is not None and abs(offset) > restart_above:
            for i in range(at, len(text) + 1):
                if i == at or starts[i] >= 0:
                    sums[i] = sums[i] - offset
        n_character = step(text, at)
        found = [n for n in range(1, min(longest, len(text) - at) + 1) if text[at : at + n] in pieces]
        offers = [(n, *pieces[text[at : at + n]]) for n in found]
        if n_character not in found:
            offers.append((n_character, UNKNOWN, unknown))
        for n, id_, score in offers:
            if starts[at + n] < 0 or score + sums[at] > sums[at + n]:
                sums[at + n], starts[at + n], ids[at + n] = score + sums[at], at, id_
        at += n_character
    tokens = []
    while at:
        tokens.append((ids[at], text[starts[at] : at]))
        at = starts[at]
    return tokens[::-1]


def sentencepiece(pieces: list[tuple[str, float, int]], text: str) -> list[tuple[int, bytes]]:
    """Encode normalized text as sentencepiece 0.2.3 does. The pieces are (text, score, type), indexed by id."""
    number = np.float32
    matching = {}
    for id_, (piece, score, kind) in enumerate(pieces):
        n_bytes = len(piece.encode())
        if kind in (NORMAL, USER_DEFINED):
            matching[piece.encode()] = (id_, number(0.1 * (n_bytes - 1)) if kind == USER_DEFINED else number(score))
    least = min((number(score) for _, score, kind in pieces if kind == NORMAL), default=np.finfo(number).max)
    return best_path(matching, number(least) - number(10), text.encode(), restart_above=RESTART_ABOVE)


def tokenizers(pieces: list[tuple[str, float]], text: str) -> list[tuple[int, bytes]]:
    """Encode one pre-token as the Unigram model of tokenizers 0.23.3 does. Pieces are (text, score), indexed by id."""
    matching = {piece.encode(): (id_, float(score)) for id_, (piece, score) in enumerate(pieces)}
    return best_path(matching, float(min(score for _, score in pieces) - 10), text.encode())


def bytepiece(pieces: Mapping[bytes, tuple[int, float]], text: bytes) -> list[tuple[int, bytes]]:
    """Encode one part of a text as bytepiece 0.6.3 does. Every byte is a piece."""
    return best_path(pieces, float("-inf"), text, step=one_byte)
