"""Trains as BytePiece does, with n-grams in dictionaries and all states of every byte in memory."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

import numpy as np

NEVER = -math.inf


def chunks(text: str, isolate_digits: bool) -> list[bytes]:
    """The parts of a text: up to 10,000 characters of a line and up to 100 newlines, or optionally, single digits."""
    text, ret = unicodedata.normalize("NFC", text), []
    while text:
        line = re.match(r"[^\n\d]*" if isolate_digits else r"[^\n]*", text)
        assert line is not None
        end = min(line.end(), 10000)
        if end == 0 and text[0] != "\n":
            end = 1  # a digit
        else:
            newlines = 0
            while text[end + newlines : end + newlines + 1] == "\n" and newlines < 100:
                newlines += 1
            end += newlines
        ret.append(text[:end].encode())
        text = text[end:]
    return ret


def log(count: int) -> float:
    return float(np.log(count))


def model(texts: list[bytes], order: int, min_count: int) -> dict[bytes, float]:
    """log P(last byte | preceding bytes) of single bytes and of n-grams that occur at least min_count times."""
    counts: Counter[bytes] = Counter()
    for text in texts:
        counts.update(text[i : i + n] for n in range(1, order + 1) for i in range(len(text) - n + 1))
    for byte in range(256):
        counts[bytes([byte])] = counts[bytes([byte])] or 1
    total = sum(count for ngram, count in counts.items() if len(ngram) == 1)
    common = {ngram: log(count) for ngram, count in counts.items() if len(ngram) == 1 or count >= min_count}
    common[b""] = log(total)
    return {ngram: common[ngram] - common[ngram[:-1]] for ngram in common if ngram}


def cut(text: bytes, ngrams: dict[bytes, float], order: int, *, ensure_unicode: bool, lenient: bool) -> list[bytes]:
    """The most probable pieces. State j at a byte means that j bytes of the same piece precede the byte (at
    least j in the last state, order - 1)."""
    best, routes = [0.0] + [NEVER] * (order - 1), []
    for i, byte in enumerate(text):
        values = [ngrams.get(text[i - j : i + 1], NEVER) if j <= i else NEVER for j in range(order)]
        sources = [list(range(order)), *([j - 1] for j in range(1, order))]
        if order > 1:
            sources[-1] = [order - 2, order - 1]
        first = NEVER if ensure_unicode and 0x80 <= byte < 0xC0 else values[0]
        before = best
        for value in (first, values[0]):
            row = [value, *values[1:]]
            scores = [[before[k] + row[j] for k in sources[j]] for j in range(order)]
            best = [max(states) for states in scores]
            if max(best) > NEVER or not lenient:
                break
        routes.append([ks[states.index(max(states))] for ks, states in zip(sources, scores, strict=True)])
        if max(best) == NEVER:
            routes[-1][0] = 0
    pieces, end, state = [], len(text), best.index(max(best))
    for i in reversed(range(len(text))):
        if state == 0:
            pieces.append(text[i:end])
            end = i
        state = routes[i][state]
    return pieces[::-1]


def unigram(text: bytes, scores: dict[bytes, float]) -> list[bytes]:
    """The best path; ties go to the path with the longest last piece."""
    paths: list[tuple[float, list[bytes]]] = [(0.0, [])]
    for end in range(1, len(text) + 1):
        best: tuple[float, list[bytes]] = (NEVER, [])
        for begin in range(end):
            piece = text[begin:end]
            if piece in scores:
                score = paths[begin][0] + scores[piece]
                if score > best[0]:
                    best = (score, [*paths[begin][1], piece])
        paths.append(best)
    return paths[-1][1]


def recount(counts: dict[bytes, int], texts: dict[bytes, int]) -> Counter[bytes]:
    log_total = log(sum(counts.values()))
    scores = {piece: log(count) - log_total for piece, count in counts.items()}
    ret: Counter[bytes] = Counter()
    for text, count in texts.items():
        for piece in unigram(text, scores):
            ret[piece] += count
    return ret


def until_all_are_used(counts: dict[bytes, int]) -> dict[bytes, int]:
    while len(after := recount(counts, counts)) < len(counts):
        counts = dict(after)
    return dict(after)


def train(
    texts: Iterable[str], *, order: int = 6, max_vocab_size: Iterable[int] = (10000,), max_piece_length: int = 36,
    min_count: int = 2, isolate_digits: bool = False, ensure_unicode: bool = True, lenient: bool = False,
) -> list[dict[bytes, int]]:  # fmt: skip
    """The pieces and counts of each vocabulary size, largest size first."""
    parts = [chunk for text in texts for chunk in chunks(text, isolate_digits)]
    ngrams = model(parts, order, min_count)
    cuts = (cut(part, ngrams, order, ensure_unicode=ensure_unicode, lenient=lenient) for part in parts)
    counts = Counter(piece for pieces in cuts for piece in pieces)
    for byte in range(256):
        counts[bytes([byte])] = counts[bytes([byte])] or 1
    kept = {
        piece: count for piece, count in counts.items()
        if len(piece) == 1 or (len(piece) <= max_piece_length and count >= min_count)
    }  # fmt: skip
    rest = recount(kept, {piece: count for piece, count in counts.items() if piece not in kept})
    kept = until_all_are_used({piece: count + rest[piece] for piece, count in kept.items()})
    ret = []
    for size in sorted(max_vocab_size, reverse=True):
        if len(kept) > size - 3:
            ranked = sorted(kept, key=lambda piece: (len(piece) > 1, -kept[piece], -len(piece), piece))
            chosen = {piece: kept[piece] for piece in ranked[: size - 3]}
            rest = recount(chosen, {piece: kept[piece] for piece in ranked[size - 3 :]})
            kept = until_all_are_used({piece: count + rest[piece] for piece, count in chosen.items()})
        ret.append(kept)
    return ret
