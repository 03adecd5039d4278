"""One round of training a greedy vocabulary: the tokens that each piece saves, and the counts of adjacent pairs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise


def encode(pieces: Collection[bytes], text: bytes, begin: int = 0, forbidden: bytes = b"") -> list[bytes]:
    """The greedy longest-prefix tokens of text[begin:], without the piece `forbidden` unless it is a single byte."""
    longest = max(map(len, pieces))
    tokens, at = [], begin
    while at < len(text):
        size = next(
            n for n in range(min(longest, len(text) - at), 0, -1)
            if text[at : at + n] in pieces and (text[at : at + n] != forbidden or n == 1)
        )  # fmt: skip
        tokens.append(text[at : at + size])
        at += size
    return tokens


def boundaries(tokens: Iterable[bytes], begin: int = 0) -> list[int]:
    ends, at = [], begin
    for token in tokens:
        at += len(token)
        ends.append(at)
    return ends


def value(pieces: Collection[bytes], text: bytes, tokens: Sequence[bytes], k: int) -> int:
    """How many more tokens the text up to the next common boundary needs if the piece of token k is forbidden."""
    if len(tokens[k]) == 1:
        return 0
    ends = boundaries(tokens)
    begin = ends[k] - len(tokens[k])
    other = boundaries(encode(pieces, text, begin, tokens[k]), begin)
    meeting = min(set(other) & set(ends[k:]))
    return (other.index(meeting) + 1) - (ends.index(meeting) - k + 1)


def damped(count: int, weight: int, damping: int) -> int:
    size = abs(count)
    smooth = damping * (1 + math.log(size / damping)) if damping and size > damping else size
    return int(math.copysign(math.floor(smooth * weight + 0.5), count))


def count(pieces: Collection[bytes], sources: Iterable[tuple[Sequence[bytes], int]], damping: int = 0) -> tuple[
    Counter[bytes], Counter[bytes], Counter[tuple[bytes, bytes]]
]:  # fmt: skip
    """The uses and values of pieces, and the uses of adjacent pairs. A source is (documents, weight)."""
    uses: Counter[bytes] = Counter()
    values: Counter[bytes] = Counter()
    pairs: Counter[tuple[bytes, bytes]] = Counter()
    for documents, weight in sources:
        own: tuple[Counter[bytes], Counter[bytes], Counter[tuple[bytes, bytes]]] = (Counter(), Counter(), Counter())
        for text in documents:
            tokens = encode(pieces, text)
            own[0].update(tokens)
            for k, token in enumerate(tokens):
                own[1][token] += value(pieces, text, tokens, k)
            own[2].update(pairwise(tokens))
        for piece, n in own[0].items():
            uses[piece] += damped(n, weight, damping)
            values[piece] += damped(own[1][piece], weight, damping)
        for pair, n in own[2].items():
            if n > 1:
                pairs[pair] += damped(n, weight, damping)
    return uses, values, pairs


def allows(
    piece: bytes, max_piece_bytes: int, max_run_bytes: int, max_words: int, max_digits: int, closed_words: int,
    leading_spaces: int,
) -> bool:  # fmt: skip
    """Whether a string may be a piece."""
    if len(piece) <= 1:
        return len(piece) == 1
    if len(piece) > (max_run_bytes if len(set(piece)) == 1 else max_piece_bytes):
        return False
    try:
        piece.decode()
    except UnicodeDecodeError:
        if not any((head + piece + tail).decode("utf-8", "ignore") and _is_character(head + piece + tail)
                   for head in HEADS for tail in TAILS):  # fmt: skip
            return False
    if leading_spaces and piece.endswith(b" ") and piece.strip(b" \t\n\v\f\r"):
        return False
    if closed_words and re.search(
        rb"[A-Za-z\x80-\xff][^A-Za-z\x80-\xff]|[0-9][^0-9\x80-\xff]|[^0-9\s\x80-\xff][0-9]", piece
    ):
        return False
    words, digits, spaces = 0, 0, b""
    for k, byte in enumerate(piece):
        digits = digits + 1 if 48 <= byte <= 57 else 0
        if digits > max_digits:
            return False
        if byte in b" \t\n\v\f\r":
            if max_words == 1 and words:
                return False
            spaces += bytes([byte])
        else:
            if spaces.count(b"\n") > 1:
                return False
            words += k == 0 or bool(spaces)
            if words > max_words:
                return False
            spaces = b""
    return True


HEADS = [b"", b"\xc3", b"\xe2", b"\xe2\x82", b"\xf0", b"\xf1", b"\xf0\x9f", b"\xf0\x9f\x98"]
TAILS = [b"", b"\x80", b"\x82\x80", b"\x9f\x98\x80"]


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False
