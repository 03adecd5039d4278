"""The Unigram trainer: sentencepiece's algorithm without its bugs, in float64, on several threads.

    repeat:  EM, EM ──▶ best paths ──▶ drop the pieces that contribute least to the objective
    until 1.1 * vocab_size pieces are left; then take the characters and the best others

Unlike in sentencepiece, unknown characters do not count, sums do not depend on threads, and units are cut wherever no
piece can cross.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyunitok._c.sharing import share_out
from pyunitok._c.train import Units
from pyunitok._c.train_lexicon import Doubles, Lattice, Lexicon, Scored, maximize
from pyunitok.packed import Bytes, ranges
from pyunitok.train.options import option

CHUNK_BYTES = 1 << 16  # bytes of units per call
CHUNK_PIECES = 1 << 13
UNKNOWN_PENALTY = 10.0
MIN_EXPECTED = 0.5
MAX_SPARSE_ROUNDS, SPARSE_SLACK, MIN_SPARSE_COUNT = 50, 1.05, 1e-4  # as in sentencepiece
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class UnigramOptions:
    """Options of Unigram models that are not options of spm_train.

    em          expectation: over all segmentations of a unit; viterbi: only the best one ("hard EM")
    prior       digamma: subtracts about half an occurrence from each piece, so that rare ones fade; mle: no prior
    prune       loss: keep the pieces without which the objective loses most; probability; frequency: the piece's count
                as a seed; sparse: subtract a threshold from all expected counts, and raise it until few counts exceed
                it, as in sentencepiece
    objective   likelihood, or tokens: minimize the number of tokens
    em_tolerance, max_rounds  0: no limit
    """

    em: str = option("expectation", "Count all segmentations or only the best.", type=("expectation", "viterbi"))
    prior: str = option("digamma", "digamma makes rare pieces rarer.", type=("digamma", "mle"))
    prune: str = option(
        "loss", "How to choose the pieces to remove. sparse: sentencepiece's sparse pruning, the fastest.",
        type=("loss", "probability", "frequency", "sparse"),
    )  # fmt: skip
    objective: str = option("likelihood", "tokens: minimize the number of tokens.", type=("likelihood", "tokens"))
    em_iterations: int = option(2, "EM iterations per round.", least=1)
    em_tolerance: float = option(0.0, "End a round's EM once an iteration gains less than this share.")
    max_rounds: int = option(0, "Maximum rounds; the last one drops all surplus pieces.", least=0)
    shrinking_factor: float = 0.75
    threads: int = 1


@dataclass(frozen=True)
class PruningRound:
    """The result of a round: the number of pieces before and after it, and, before pruning, the number of tokens in the
    complete text and the log-likelihood."""

    n_before: int
    n_after: int
    n_tokens: int
    log_likelihood: float


@dataclass
class UnigramState:
    """The model between rounds. Arrays have an item for each piece; pieces are sorted by bytes."""

    pieces: Units
    scores: Doubles
    seed_counts: Doubles
    rounds: list[PruningRound] = field(default_factory=list)
    threshold: float = 0.0  # sparse pruning subtracts it from each count


class UnigramTrainer:
    """Trains a model on `units`, which are sorted by bytes."""

    def __init__(self, state: UnigramState, units: Units, options: UnigramOptions, progress: Progress) -> None:
        self.state, self._units, self._options, self._progress = state, units, options, progress
        self._chunks = list(ranges(units.offsets, CHUNK_BYTES))  # the chunks, and so the sums, do not depend on threads
        self._lattices = [Lattice() for _ in range(options.threads)]
        n_chars = float((units.counts.astype(np.float64) * np.diff(units.offsets)).sum())
        self._unit = 2.0 ** (61 - int(np.ceil(np.log2(max(n_chars, 2.0)))))
        self._use()

    def _use(self) -> None:
        self._lexicon = Lexicon(self.state.pieces, self._options.threads)
        self._alive: Bytes = np.ones(len(self.state.pieces), np.uint8)

    @property
    def n_pieces(self) -> int:
        return int(self._alive.sum())

    def train(self, vocab_size: int, after_round: Callable[[UnigramState], None]) -> None:
        """Prune until 1.1 * vocab_size pieces are left. Calls after_round with the state after each round."""
        options, wanted = self._options, int(vocab_size * 1.1)
        if options.prune == "sparse":
            self._train_sparsely(wanted, after_round)
            return
        while not self._is_done(wanted):
            likelihood = self._maximize()
            before = self.n_pieces
            size = max(wanted, int(options.shrinking_factor * before))
            if options.max_rounds and len(self.state.rounds) + 1 >= options.max_rounds:
                size = wanted
            n_tokens = self._prune(size)
            self._compact()
            self.state.rounds.append(PruningRound(before, self.n_pieces, n_tokens, likelihood))
            after_round(self.state)
        parts = self._parts()
        self._alive[parts == -1] = 0
        self._compact()

    def _train_sparsely(self, wanted: int, after_round: Callable[[UnigramState], None]) -> None:
        """Subtract a threshold from each expected count; raise it until few enough counts are positive. Finally, fit
        the remaining pieces to their full counts."""
        state = self.state
        while self.n_pieces > wanted and len(state.rounds) < MAX_SPARSE_ROUNDS:
            expected, likelihood = self._expected()
            before = self.n_pieces
            if before > SPARSE_SLACK * wanted:
                active = max(wanted, int(self._options.shrinking_factor * before))
                state.threshold = max(state.threshold, float(np.sort(expected)[len(expected) - active]))
            self._alive[expected < state.threshold] = 0
            self._fit(expected - state.threshold)
            self._compact()
            state = self.state
            state.rounds.append(PruningRound(before, self.n_pieces, int(expected.sum()), likelihood))
            after_round(state)
        self._fit(self._expected()[0])

    def _fit(self, counts: Doubles) -> None:
        counts = np.maximum(counts, MIN_SPARSE_COUNT)
        scores: Doubles = np.log(counts) - np.log(counts[self._alive == 1].sum())
        self.state.scores = scores

    def _expected(self) -> tuple[Doubles, float]:
        if self._options.em == "viterbi":
            used, likelihood, _ = self._best_paths()
            return used, likelihood
        return self._expect()

    def _is_done(self, wanted: int) -> bool:
        if not self.state.rounds:
            return False
        last = self.state.rounds[-1]
        return last.n_after <= wanted or last.n_after == last.n_before

    def _compact(self) -> None:
        """Remove dropped pieces from the state."""
        state, left = self.state, np.flatnonzero(self._alive)
        pieces, scores, counts = state.pieces.take(left), state.scores[left], state.seed_counts[left]
        self.state = UnigramState(pieces, scores, counts, state.rounds, state.threshold)
        self._use()

    def _model(self, thread: int) -> Scored:
        lowest = float(self.state.scores[self._alive == 1].min())
        return Scored(self._lattices[thread], self._alive, self.state.scores, lowest - UNKNOWN_PENALTY)

    # ------------------------------------------------------------------------------------------------ Threads ----

    def _all(self, what: str, chunks: list[tuple[int, int]], work: Callable[[int, int, int], Any]) -> list[Any]:
        """Call work(thread, begin, end) for each chunk, on any thread; return the results in the chunks' order."""
        results: list[Any] = [None] * len(chunks)
        done = [0] * self._options.threads
        phase = f"{what}, {self.n_pieces} pieces"

        def run(thread: int, k: int) -> None:
            results[k] = work(thread, *chunks[k])
            done[thread] += 1

        share_out(range(len(chunks)), len(done), run, lambda: self._progress(phase, sum(done), len(chunks)))
        return results

    # ------------------------------------------------------------------------------------------------ Rounds ----

    def _maximize(self) -> float:
        """Run EM; return the log-likelihood before the last step."""
        options, before = self._options, 0.0
        for step in range(options.em_iterations):
            expected, likelihood = self._expected()
            maximize(expected, MIN_EXPECTED, options.prior, self._alive, self.state.scores)
            if step and abs(likelihood - before) < options.em_tolerance * abs(likelihood):
                break
            before = likelihood
        return likelihood

    def _expect(self) -> tuple[Doubles, float]:
        n, models = len(self._alive), [self._model(thread) for thread in range(self._options.threads)]
        p: Doubles = np.where(self._alive == 1, np.exp(self.state.scores), 0.0)
        p_unknown = float(np.exp(models[0].unknown_score))
        sums = [np.zeros(n, np.uint64) for _ in models]

        def work(thread: int, begin: int, end: int) -> float:
            model = models[thread]
            return self._lexicon.expect(model, p, p_unknown, self._units, begin, end, self._unit, sums[thread])

        likelihoods = self._all("expectation", self._chunks, work)
        for other in sums[1:]:
            sums[0] += other
        expected: Doubles = sums[0].astype(np.float64) / self._unit
        return expected, float(sum(likelihoods))

    def _best_paths(self) -> tuple[Doubles, float, int]:
        """(how often the best paths use each piece, sum of the paths' scores, number of tokens)."""
        models = [self._model(thread) for thread in range(self._options.threads)]
        sums = [np.zeros(len(self._alive), np.float64) for _ in models]  # integers, so sums are exact in any order

        def work(thread: int, begin: int, end: int) -> tuple[float, int]:
            return self._lexicon.paths(models[thread], self._units, begin, end, sums[thread])

        results = self._all("best paths", self._chunks, work)
        used: Doubles = sums[0]
        for other in sums[1:]:
            used = used + other
        return used, float(sum(score for score, _ in results)), sum(tokens for _, tokens in results)

    def _prune(self, size: int) -> int:
        """Keep the best `size` pieces and those that nothing can replace. Returns the number of tokens before
        pruning."""
        used, _, n_tokens = self._best_paths()
        worth = self._worth(used)
        needed, others = np.flatnonzero(worth == np.inf), np.flatnonzero(np.isfinite(worth))
        kept = others[np.argsort(-worth[others], kind="stable")][: max(0, size - len(needed))]
        self._alive = np.zeros(len(self._alive), np.uint8)
        self._alive[needed] = self._alive[kept] = 1
        return n_tokens

    def _worth(self, used: Doubles) -> Doubles:
        """The value of each piece; pieces with -inf are dropped, and pieces with +inf are kept."""
        options = self._options
        worth: Doubles = np.empty(len(self._alive), np.float64)
        if options.prune == "loss" and options.objective == "likelihood":
            models = [self._model(thread) for thread in range(options.threads)]
            total = float(used.sum())

            def work(thread: int, begin: int, end: int) -> None:
                self._lexicon.losses(models[thread], begin, end, used, total, worth)

            self._all("losses", _ranges(len(worth)), work)
            return worth
        parts = self._parts()
        if options.prune == "loss":
            worth[:] = used * (parts - 1)  # the number of additional tokens without the piece
        else:
            worth[:] = self.state.scores if options.prune == "probability" else self.state.seed_counts
        worth[(self._alive == 0) | (used == 0) | (parts == -1)] = -np.inf
        worth[(parts == 0) & (used > 0) & (self._alive == 1)] = np.inf
        return worth

    def _parts(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        parts = np.zeros(len(self._alive), np.int32)
        models = [self._model(thread) for thread in range(self._options.threads)]
        self._all("parts", _ranges(len(parts)), lambda thread, a, b: self._lexicon.parts(models[thread], a, b, parts))
        return parts


def _ranges(n: int) -> list[tuple[int, int]]:
    return [(begin, min(begin + CHUNK_PIECES, n)) for begin in range(0, n, CHUNK_PIECES)]


def first_state(pieces: Units, values: Doubles, seed_counts: Doubles) -> UnigramState:
    """The state with the seeds as pieces. A score is the logarithm of the seed's share in the sum of values."""
    return UnigramState(pieces, np.log(values) - np.log(values.sum()), seed_counts)
