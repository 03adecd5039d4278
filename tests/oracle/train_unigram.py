"""Trains Unigram models by enumerating all segmentations of each word."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

Scores = Mapping[str, float]
Path = tuple[str | None, ...]  # None: an unknown character


def paths(scores: Scores, word: str, without: str = "") -> Iterator[Path]:
    """All segmentations of a word. A character that is not a piece is also an unknown character."""
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
    """The expected count of each piece, and the log-likelihood."""
    expected: Counter[str] = Counter()
    total = 0.0
    for word, count in words.items():
        every = [(path, score_of(scores, unknown, path)) for path in paths(scores, word)]
        highest = max(score for _, score in every)
        log_sum = highest + math.log(math.fsum(math.exp(score - highest) for _, score in every))
        total += count * log_sum
        for path, score in every:
            for piece in path:
                if piece is not None:
                    expected[piece] += count * math.exp(score - log_sum)  # type: ignore[assignment]
    return expected, total


def best(scores: Scores, unknown: float, word: str, without: str = "") -> Path | None:
    """The best path. Ties go to the path with the longest last piece, then the longest piece before it, and so on."""
    every = list(paths(scores, word, without))
    if not every:
        return None
    highest = max(score_of(scores, unknown, path) for path in every)
    close = [path for path in every if score_of(scores, unknown, path) >= highest - 1e-9]
    return max(close, key=lambda path: [1 if piece is None else len(piece) for piece in reversed(path)])


def uses(scores: Scores, unknown: float, words: Mapping[str, int]) -> Counter[str]:
    """How often each piece occurs in the best paths."""
    found: Counter[str] = Counter()
    for word, count in words.items():
        for piece in best(scores, unknown, word) or ():
            if piece is not None:
                found[piece] += count
    return found


def loss(scores: Scores, unknown: float, used: Counter[str], piece: str) -> float:
    """The likelihood lost if the piece is replaced everywhere by the best path without it."""
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


# ----------------------------------------------------------------------------------------------- complete training ----


class Unclear(Exception):
    """Two values are so close that rounding decides between them."""


def digamma(x: float) -> float:
    """The digamma function, by its asymptotic series for x >= 7."""
    shift = 0.0
    while x < 7:
        shift, x = shift - 1 / x, x + 1
    x -= 0.5
    return shift + math.log(x) + 1 / 24 / x**2 - 7 / 960 / x**4 + 31 / 8064 / x**6 - 127 / 30720 / x**8


def train(
    words: Mapping[str, int], seeds: Mapping[str, float], seed_counts: Mapping[str, float], wanted: int, *,
    em: str = "expectation", prior: str = "digamma", prune: str = "loss", objective: str = "likelihood",
    em_iterations: int = 2, em_tolerance: float = 0.0, max_rounds: int = 0, shrinking_factor: float = 0.75,
    ties: list[float] | None = None,
) -> tuple[dict[str, float], int]:  # fmt: skip
    """The remaining pieces with their scores, at most `wanted` if possible, and the number of rounds.

    `ties` receives each threshold of sparse pruning that equals several counts: a different order of summation may
    break such ties.
    """
    scores = dict(seeds)
    if prune == "sparse":
        return sparsely(words, scores, wanted, em, shrinking_factor, [] if ties is None else ties)
    n_rounds = 0
    while True:
        n_rounds += 1
        before = 0.0
        for step in range(em_iterations):
            expected, likelihood = counts_of(words, scores, em)
            scores = maximize(scores, expected, prior)
            gain, enough = abs(likelihood - before), em_tolerance * abs(likelihood)
            if step and em_tolerance and abs(gain - enough) < 1e-9 * abs(likelihood):
                raise Unclear
            if step and gain < enough:
                break
            before = likelihood
        n_before = len(scores)
        size = wanted if n_rounds == max_rounds else max(wanted, int(shrinking_factor * n_before))
        scores = pruned(words, scores, seed_counts, size, prune, objective)
        if len(scores) <= wanted or len(scores) == n_before:
            break
    unknown = min(scores.values(), default=0.0) - 10
    return {piece: score for piece, score in scores.items() if not replaceable(scores, unknown, piece)}, n_rounds


def counts_of(words: Mapping[str, int], scores: Scores, em: str) -> tuple[Counter[str], float]:
    unknown = min(scores.values(), default=0.0) - 10
    if em == "expectation":
        return expect(scores, unknown, words)
    for word in words:
        clear(scores, unknown, word)
    found = uses(scores, unknown, words)
    total = sum(count * score_of(scores, unknown, best(scores, unknown, word) or ()) for word, count in words.items())
    return found, total


def maximize(scores: Scores, expected: Counter[str], prior: str) -> dict[str, float]:
    if any(abs(expected[piece] - 0.5) < 1e-9 for piece in scores):
        raise Unclear
    kept = [piece for piece in scores if expected[piece] >= 0.5]
    total = math.fsum(expected[piece] for piece in kept)
    log = digamma if prior == "digamma" else math.log
    return {piece: log(expected[piece]) - log(total) for piece in kept}


def clear(scores: Scores, unknown: float, word: str, without: str = "") -> None:
    """Raise Unclear if the two best paths have nearly the same score."""
    every = sorted((score_of(scores, unknown, path) for path in paths(scores, word, without)), reverse=True)
    if len(every) > 1 and every[0] - every[1] < 1e-7:
        raise Unclear


def replaceable(scores: Scores, unknown: float, piece: str) -> bool:
    """Whether splitting the piece into other pieces gives a better score."""
    instead = best(scores, unknown, piece, without=piece)
    if instead is None:
        return False
    difference = score_of(scores, unknown, instead) - scores[piece]
    if abs(difference) < 1e-7:
        raise Unclear
    return difference > 0


def pruned(
    words: Mapping[str, int], scores: dict[str, float], seed_counts: Mapping[str, float], size: int, prune: str,
    objective: str,
) -> dict[str, float]:  # fmt: skip
    unknown = min(scores.values(), default=0.0) - 10
    for word in [*words, *scores]:
        clear(scores, unknown, word)
        clear(scores, unknown, word, without=word)
    used = uses(scores, unknown, words)
    worth = {}
    for piece in scores:
        instead = best(scores, unknown, piece, without=piece)
        if not used[piece] or replaceable(scores, unknown, piece):
            worth[piece] = -math.inf
        elif instead is None:
            worth[piece] = math.inf
        elif prune != "loss":
            worth[piece] = scores[piece] if prune == "probability" else seed_counts[piece]
        elif objective == "tokens":
            worth[piece] = used[piece] * (len(instead) - 1)
        else:
            worth[piece] = loss(scores, unknown, used, piece)
    needed = [piece for piece in scores if worth[piece] == math.inf]
    others = sorted((p for p in scores if math.isfinite(worth[p])), key=lambda p: (-worth[p], p.encode()))
    n = max(0, size - len(needed))
    if 0 < n < len(others) and 0 < worth[others[n - 1]] - worth[others[n]] < 1e-9:
        raise Unclear
    is_sum = prune == "probability" or (prune == "loss" and objective != "tokens")
    if 0 < n < len(others) and worth[others[n - 1]] == worth[others[n]] and is_sum:
        raise Unclear  # equal here, but perhaps not if the terms are added in another order
    kept = {*needed, *others[:n]}
    return {piece: score for piece, score in scores.items() if piece in kept}


def sparsely(
    words: Mapping[str, int], scores: dict[str, float], wanted: int, em: str, shrinking_factor: float,
    ties: list[float],
) -> tuple[dict[str, float], int]:
    """Subtract a threshold from every count. The threshold grows until at most `wanted` pieces remain."""
    n_rounds, threshold = 0, 0.0
    while len(scores) > wanted and n_rounds < 50:
        n_rounds += 1
        expected, _ = counts_of(words, scores, em)
        if len(scores) > 1.05 * wanted:
            active = max(wanted, int(shrinking_factor * len(scores)))
            threshold = max(threshold, sorted((expected[piece] for piece in scores), reverse=True)[active - 1])
        if any(0 < abs(expected[piece] - threshold) < 1e-7 for piece in scores):
            raise Unclear
        if sum(expected[piece] == threshold for piece in scores) > 1:
            ties.append(threshold)
        scores = shares({p: expected[p] - threshold for p in scores if expected[p] >= threshold})
    expected, _ = counts_of(words, scores, em)
    return shares({piece: expected[piece] for piece in scores}), n_rounds


def shares(counts: Mapping[str, float]) -> dict[str, float]:
    raised = {piece: max(count, 1e-4) for piece, count in counts.items()}
    total = math.fsum(raised.values())
    return {piece: math.log(count / total) for piece, count in raised.items()}
