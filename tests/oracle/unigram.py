"""The definition of Unigram: the best path over a whole text, summed as the reference implementations sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

UNKNOWN = -1
NORMAL, USER_DEFINED = 1, 4
RESTART_ABOVE = 100_000  # sentencepiece 0.2.3


def character(text: bytes, at: int) -> int:
    """How many bytes the character at `at` has, by its first byte alone, and no more than are left."""
    n_bytes = 1 if text[at] < 0xC0 else 2 if text[at] < 0xE0 else 3 if text[at] < 0xF0 else 4
    return min(n_bytes, len(text) - at)


def one_byte(text: bytes, at: int) -> int:
    return 1


def best_path(
    pieces: Mapping[bytes, tuple[int, Any]],
    unknown: Any,
    text: bytes,
    *,
    restart_above: float | None = None,
    step: Callable[[bytes, int], int] = character,
) -> list[tuple[int, bytes]]:
    """The ids and bytes of the tokens. pieces: id and score, in the type that sums are made in.

    Candidates come by ascending start; one takes a position if its sum is larger. Where a sum passes restart_above in
    size, it is taken from that position and from all further ones that a piece reaches already.
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
    """As sentencepiece 0.2.3 encodes normalized text; pieces: text, score, type, by id."""
    number = np.float32
    matching = {}
    for id_, (piece, score, kind) in enumerate(pieces):
        n_bytes = len(piece.encode())
        if kind in (NORMAL, USER_DEFINED):
            matching[piece.encode()] = (id_, number(0.1 * (n_bytes - 1)) if kind == USER_DEFINED else number(score))
    least = min((number(score) for _, score, kind in pieces if kind == NORMAL), default=np.finfo(number).max)
    return best_path(matching, number(least) - number(10), text.encode(), restart_above=RESTART_ABOVE)


def tokenizers(pieces: list[tuple[str, float]], text: str) -> list[tuple[int, bytes]]:
    """As the Unigram of tokenizers 0.23.3 encodes what its normalizer and pre-tokenizer leave; pieces by id."""
    matching = {piece.encode(): (id_, float(score)) for id_, (piece, score) in enumerate(pieces)}
    return best_path(matching, float(min(score for _, score in pieces) - 10), text.encode())


def bytepiece(pieces: Mapping[bytes, tuple[int, float]], text: bytes) -> list[tuple[int, bytes]]:
    """As bytepiece 0.6.3 encodes one part of a text; every byte is a piece."""
    return best_path(pieces, float("-inf"), text, step=one_byte)
