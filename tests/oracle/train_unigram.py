"""The steps of a Unigram trainer in their slow, obvious form: all segmentations of a word are listed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

Scores = Mapping[str, float]
Path = tuple[str | None, ...]  # None: an unknown character


def paths(scores: Scores, word: str, without: str = "") -> Iterator[Path]:
    """Every way to make up the word. A character that is no piece of its own is also an unknown one."""
    if not word:
        yield ()
        return
    for n in range(1, len(word) + 1):
        piece = word[:n]
        if piece in scores and piece != without:
            for rest in paths(scores, word[n:], without):
                yield (piece, *rest)
    if word[0] not in scores:
        for rest in paths(scores, word[1:], without):
            yield (None, *rest)


def score_of(scores: Scores, unknown: float, path: Path) -> float:
    return sum(unknown if piece is None else scores[piece] for piece in path)


def expect(scores: Scores, unknown: float, words: Mapping[str, int]) -> tuple[Counter[str], float]:
    """(how often each piece is expected, the log-likelihood)."""
    expected: Counter[str] = Counter()
    total = 0.0
    for word, count in words.items():
        every = [(path, score_of(scores, unknown, path)) for path in paths(scores, word)]
        highest = max(score for _, score in every)
        whole = highest + math.log(math.fsum(math.exp(score - highest) for _, score in every))
        total += count * whole
        for path, score in every:
            for piece in path:
                if piece is not None:
                    expected[piece] += count * math.exp(score - whole)  # type: ignore[assignment]
    return expected, total


def best(scores: Scores, unknown: float, word: str, without: str = "") -> Path | None:
    """The best path; of several the one with the longest last piece, then the longest before it, and so on."""
    every = list(paths(scores, word, without))
    if not every:
        return None
    highest = max(score_of(scores, unknown, path) for path in every)
    close = [path for path in every if score_of(scores, unknown, path) >= highest - 1e-9]
    return max(close, key=lambda path: [1 if piece is None else len(piece) for piece in reversed(path)])


def uses(scores: Scores, unknown: float, words: Mapping[str, int]) -> Counter[str]:
    """How often each piece is in the best paths."""
    found: Counter[str] = Counter()
    for word, count in words.items():
        for piece in best(scores, unknown, word) or ():
            if piece is not None:
                found[piece] += count
    return found


def loss(scores: Scores, unknown: float, used: Counter[str], piece: str) -> float:
    """What the likelihood loses when the best path through the piece takes its place everywhere."""
    if not used[piece]:
        return -math.inf
    instead = best(scores, unknown, piece, without=piece)
    if instead is None:
        return math.inf
    if score_of(scores, unknown, instead) > scores[piece]:
        return -math.inf
    total, n = sum(used.values()), used[piece]
    after = math.log(total + n * (len(instead) - 1))
    new = sum(math.log((0 if part is None else used[part]) + n) - after for part in instead)
    return n / total * (math.log(n) - math.log(total) - new)
