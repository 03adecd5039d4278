"""The Unigram trainer of sentencepiece 0.2.3 with one thread, bit for bit: in float32 and in its order.

Pieces are numbered by their bytes. `order` lists the numbers of the pieces alive in sentencepiece's order, which
determines sums and ties. As in sentencepiece, unknown characters count as the first piece in that order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pyunitok._c.train import Units
from pyunitok._c.train_lexicon import Floats, KeptEdges, Lattice, Lexicon, Numbers, Scored, maximize_exact
from pyunitok.packed import Bytes
from pyunitok.train.alphabet import Alphabet
from pyunitok.train.modelfile import Piece

UNITS_AT_ONCE = 1 << 14
KEPT_BYTES = 1 << 25  # the maximum for the edges of UNITS_AT_ONCE units; the edges of words take about 2 MB
UNKNOWN_PENALTY = np.float32(10)
Progress = Callable[[str, int, int], None]


@dataclass
class ExactState:
    """The model between rounds. pieces: sorted by bytes, with their scores; order: the numbers of the pieces
    alive; sizes: how many were alive at the start and after each step."""

    pieces: Units
    scores: Floats
    order: Numbers
    sizes: list[int] = field(default_factory=list)


class ExactTrainer:
    """Trains a model on `units`, which are in sentencepiece's order."""

    def __init__(self, state: ExactState, units: Units, progress: Progress) -> None:
        self._units, self._progress, self._lattice = units, progress, Lattice()
        n = len(units)
        self._ranges = [(begin, min(begin + UNITS_AT_ONCE, n)) for begin in range(0, n, UNITS_AT_ONCE)]
        self._kept: list[KeptEdges | None] = [None for _ in self._ranges]
        self._use(state.pieces, state.scores, state.order)
        self.sizes = state.sizes or [len(state.order)]

    def _use(self, pieces: Units, scores: Floats, order: Numbers) -> None:
        self._lexicon = Lexicon(pieces)
        self._scores, self._order = scores, order
        self._alive: Bytes = np.zeros(len(pieces), np.uint8)
        self._alive[order] = 1

    def _keep(self, order: Numbers) -> None:
        """Keep only these pieces alive. The trie is rebuilt if few of its pieces are left."""
        self._order = order
        self._alive = np.zeros(len(self._alive), np.uint8)
        self._alive[order] = 1
        if 2 * len(order) > len(self._alive):
            return
        left = np.flatnonzero(self._alive)
        number = np.cumsum(self._alive, dtype=np.int64) - 1
        for kept in self._kept:
            if kept is not None:
                kept.renumber(np.where(self._alive == 1, number, -1))
        self._use(self._lexicon.pieces.take(left), self._scores[left], number[order])

    @property
    def min_score(self) -> np.float32:
        ret: np.float32 = self._scores[self._order].min()
        return ret

    @property
    def _model(self) -> Scored:
        unknown = float(self.min_score - UNKNOWN_PENALTY)
        return Scored(self._lattice, self._alive, self._scores, unknown, int(self._order[0]))

    def train(
        self, vocab_size: int, shrinking_factor: float, n_iterations: int, after_round: Callable[[ExactState], None]
    ) -> None:
        """Shrink the model until it has 1.1 * vocab_size pieces, then drop those that can never be used."""
        wanted = int(vocab_size * 1.1)
        while len(self.sizes) == 1 or (self.sizes[-1] > wanted and self.sizes[-1] != self.sizes[-2]):
            for _ in range(n_iterations):
                self._step()
            self._prune(wanted, shrinking_factor)
            self.sizes.append(len(self._order))
            after_round(ExactState(self._lexicon.pieces, self._scores, self._order, self.sizes))
        parts = np.zeros(len(self._alive), np.int32)
        self._lexicon.parts(self._model, 0, len(parts), parts)
        self._keep(self._order[parts[self._order] != -1])

    def _step(self) -> None:
        expected: Floats = np.zeros(len(self._alive), np.float32)
        n, model = len(self._units), self._model
        for (begin, end), kept in zip(self._ranges, self._kept, strict=True):
            self._lexicon.expect_exact(model, self._units, begin, end, expected, kept)
            self._progress(f"expectation, {len(self._order)} pieces", begin, n)
        maximize_exact(expected, self._order, self._alive, self._scores)
        self._keep(self._order[self._alive[self._order] == 1])
        self.sizes.append(len(self._order))
        if None in self._kept:  # not before the first step, in which most pieces disappear
            self._kept = [KeptEdges(KEPT_BYTES) for _ in self._ranges]

    def _prune(self, wanted: int, shrinking_factor: float) -> None:
        used: Floats = np.zeros(len(self._alive), np.float32)
        n, model = len(self._units), self._model
        for (begin, end), kept in zip(self._ranges, self._kept, strict=True):
            self._lexicon.paths(model, self._units, begin, end, used, kept)
            self._progress(f"best paths, {len(self._order)} pieces", begin, n)
        total = np.float32(used.sum(dtype=np.float64))
        losses: Floats = np.empty(len(self._alive), np.float32)
        for begin in range(0, len(losses), UNITS_AT_ONCE):
            end = min(begin + UNITS_AT_ONCE, len(losses))
            self._lexicon.losses(model, begin, end, used, float(total), losses)
        of_order = losses[self._order]
        needed, others = self._order[of_order == np.inf], self._order[np.isfinite(of_order)]
        others = others[np.argsort(-losses[others], kind="stable")]
        size = max(wanted, int(np.float32(shrinking_factor) * np.float32(len(self._order))))
        if len(needed) <= size:  # otherwise sentencepiece never reaches its limit, and keeps all pieces
            others = others[: size - len(needed)]
        self._keep(np.concatenate((needed, others)))

    def pieces(self) -> dict[bytes, np.float32]:
        """The pieces alive, in sentencepiece's order, with their scores."""
        names = self._lexicon.pieces.take(self._order).items()
        return dict(zip(names, self._scores[self._order], strict=True))


def initial_scores(values: Floats) -> Floats:
    """log(value / sum), with the sum taken in order."""
    log_sum = math.log(float(np.cumsum(values, dtype=np.float64)[-1]))
    return np.array([math.log(value) - log_sum for value in values.tolist()], np.float32)


def finalize(pieces: dict[bytes, np.float32], min_score: np.float32, alphabet: Alphabet, n_pieces: int) -> list[Piece]:
    """The characters and the best other pieces, n_pieces in total. A dropped character gets the lowest score plus
    0.0001 for each character dropped before it."""
    final: dict[bytes, float | np.float32] = {}
    more = np.float32(0)
    for piece in alphabet.pieces():
        if piece in pieces:
            final[piece] = pieces[piece]
        else:
            final[piece] = np.float32(min_score + more)
            more = np.float32(more + np.float32(0.0001))
    for piece, score in best_first(pieces):
        if piece not in final:
            if len(final) == n_pieces:
                break
            final[piece] = score
    return best_first(final)


def best_first(pieces: Mapping[bytes, float | np.float32]) -> list[Piece]:
    names = sorted(pieces)
    scores = np.fromiter(map(pieces.__getitem__, names), np.float32, len(names))
    order = np.argsort(-scores, kind="stable")
    return list(zip(map(names.__getitem__, order.tolist()), scores[order].tolist(), strict=True))
