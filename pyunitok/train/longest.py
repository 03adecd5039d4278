"""train_longest() finds pieces such that greedy longest-prefix encoding of a text needs few tokens.

    bytes ─▶ grow: a pass over the text; join the best pairs; drop useless pieces ─▶ … ─▶ slightly too many
          ─▶ refine: drop the pieces that save the least, join the best pairs, fewer each time ─▶ the vocabulary

Each round encodes the text with the greedy encoder, so the saving of a piece is measured, not modelled: the number of
additional tokens without that piece, including the effect on its neighbours. Tokens are weighted by source, and a count
beyond a source's `damping` grows only by its logarithm, so that a licence header or a template does not look like
language. Memory: the text, and about 200 MB per thread for its pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from pyunitok._c.train_greedy import PAIRS, VALUES, GreedyCounts, GreedyRound, GreedyRules
from pyunitok.model.batch import check_threads
from pyunitok.packed import Packed, ranges

GROWTH = 1.25  # pieces of a round / pieces of the previous round
OVERSHOOT = 1.08  # pieces before refining / pieces requested
FIRST_SWAP, LAST_SWAP = 0.08, 0.002  # the share of pieces that the first and the last round of refining exchange
SWAP_DECAY = 0.75
SETTLE_ROUNDS = 12
REST_ROUNDS = 6  # for this many rounds, a dropped piece is not joined again
WEIGHT_UNIT = 256  # 1.0 in the fixed-point weights of C
CALL_BYTES = 4 << 20  # bytes per call into C, which cannot be interrupted


@dataclass(frozen=True)
class WeightedText:
    """Documents from the same origin, such as a package or a file.

    documents  a packed list of bytes
    weight     the weight of each token in these documents, > 0
    damping    a larger count grows only by its logarithm; 0: no limit
    """

    documents: Packed
    weight: float = 1.0
    damping: int = 0


class Step(NamedTuple):
    """The progress of training after a pass."""

    phase: str  # grow, refine, settle
    number: int
    n_pieces: int
    n_tokens: int  # the number of tokens in the complete text, unweighted
    n_bytes: int


@dataclass
class LongestState:
    """The state of a training run between two rounds.

    pieces     the vocabulary
    dropped    piece → the round in which it was dropped
    phase      grow, refine, settle, done
    swap       the share of pieces that the next round of refining exchanges
    n_settled  rounds of settling so far
    """

    pieces: set[bytes]
    dropped: dict[bytes, int] = field(default_factory=dict)
    phase: str = "grow"
    n_rounds: int = 0
    swap: float = FIRST_SWAP
    n_settled: int = 0


def train_longest(
    sources: Sequence[WeightedText], n_pieces: int, *, rules: GreedyRules | None = None, required: Iterable[bytes] = (),
    min_sources: int = 1, long_bytes: int = 12, allowed: Callable[[bytes], bool] | None = None, threads: int = 1,
    on_step: Callable[[Step], None] | None = None, state: LongestState | None = None,
    after_round: Callable[[LongestState], None] | None = None, progress: Callable[[str, int, int], None] | None = None,
) -> list[bytes]:  # fmt: skip
    """The pieces, sorted by bytes, including all 256 single bytes.

    n_pieces     the number of pieces, with the bytes; fewer are returned only if no more pairs repeat in the text
    rules        which strings may be pieces
    required     pieces that are never dropped
    min_sources  the minimum number of sources that contain a piece of at least long_bytes
    allowed      a condition on pieces in addition to the rules; not called for required pieces
    state        the state of an earlier run over the same sources, which is resumed
    after_round  called with the state after each round
    progress     called during a round with the name of the round, the bytes done, and the total

    The result depends on neither the order of the sources nor the number of threads. Cost: about 50 passes at about
    30 MB/s per core.
    """
    check_threads(threads)
    kept = {*required} | {bytes([byte]) for byte in range(256)}
    if n_pieces < len(kept):
        raise ValueError(f"n_pieces must be at least {len(kept)} (single bytes and required pieces), not {n_pieces}")
    # The largest first, so that no thread begins a large one at the end.
    ordered = sorted(sources, key=lambda source: -len(source.documents.data))
    trainer = _Trainer(
        ordered, rules or GreedyRules(), kept, min_sources, long_bytes, allowed, threads, on_step, after_round,
        progress, state or LongestState(set(kept)),
    )  # fmt: skip
    return trainer.run(n_pieces)


@dataclass
class _Trainer:
    """The arguments of train_longest(). kept: the pieces that are never dropped."""

    sources: Sequence[WeightedText]
    rules: GreedyRules
    kept: set[bytes]
    min_sources: int
    long_bytes: int
    allowed: Callable[[bytes], bool] | None
    threads: int
    on_step: Callable[[Step], None] | None
    after_round: Callable[[LongestState], None] | None
    progress: Callable[[str, int, int], None] | None
    state: LongestState

    def run(self, n_pieces: int) -> list[bytes]:
        rounds = {"grow": self._grow, "refine": self._refine, "settle": self._settle}
        while self.state.phase != "done":
            rounds[self.state.phase](n_pieces)
            if self.after_round:
                self.after_round(self.state)
        return sorted(self.state.pieces)

    def _grow(self, n_pieces: int) -> None:
        """Add pieces until there are slightly too many, or until no more pairs repeat in the text."""
        state, most = self.state, int(n_pieces * OVERSHOOT)
        if len(state.pieces) >= most:
            state.phase = "refine"
            return
        counts = self._pass(state.pieces, "grow")
        wanted = min(most, max(int(len(state.pieces) * GROWTH), len(state.pieces) + 256))
        grown = self._join(self._drop_useless(state.pieces, counts), counts, wanted)
        if len(grown) <= len(state.pieces):
            state.phase = "refine"
        else:
            state.pieces = grown

    def _refine(self, n_pieces: int) -> None:
        state, swap = self.state, self.state.swap
        counts = self._pass(state.pieces, "refine")
        pieces = self._drop_useless(state.pieces, counts)
        pieces = self._drop(pieces, counts, max(0, len(pieces) - int(n_pieces * (1 - swap))))
        state.pieces = self._join(pieces, counts, int(n_pieces * (1 + swap * SWAP_DECAY)))
        state.swap *= SWAP_DECAY
        if state.swap <= LAST_SWAP:
            state.phase = "settle"

    def _settle(self, n_pieces: int) -> None:
        """Drop or add pieces until there are exactly n_pieces, if the text yields as many."""
        state, excess = self.state, len(self.state.pieces) - n_pieces
        before = state.pieces
        if excess > 0:
            counts = self._pass(state.pieces, "settle")
            # Halving the excess lets the remaining pieces save more.
            few = excess <= n_pieces // 1000 or state.n_settled >= SETTLE_ROUNDS
            state.pieces = self._drop(state.pieces, counts, excess if few else excess // 2)
        elif excess < 0 and state.n_settled < SETTLE_ROUNDS:
            state.pieces = self._join(state.pieces, self._pass(state.pieces, "settle"), n_pieces)
        state.n_settled += 1
        if state.pieces == before:
            state.phase = "done"

    def _pass(self, pieces: set[bytes], phase: str) -> GreedyCounts:
        """Encode the text with these pieces, on all threads."""
        round_, threads = GreedyRound(list(pieces), self.rules), self.threads
        waiting: SimpleQueue[WeightedText | None] = SimpleQueue()
        for source in [*self.sources, *[None] * threads]:
            waiting.put(source)
        total, done = sum(len(source.documents.data) for source in self.sources), [0] * threads
        stopped = False

        def work(thread: int) -> GreedyCounts:
            counts = GreedyCounts(round_)
            while source := waiting.get():
                offsets = source.documents.offsets
                for begin, end in ranges(offsets, CALL_BYTES):
                    if stopped:
                        return counts
                    counts.count(source.documents.data, offsets[begin : end + 1], VALUES | PAIRS)
                    done[thread] += int(offsets[end] - offsets[begin])
                    if thread == 0 and self.progress:
                        self.progress(f"{phase}, round {self.state.n_rounds}, {len(pieces)} pieces", sum(done), total)
                counts.end_source(max(1, round(source.weight * WEIGHT_UNIT)), source.damping)
            return counts

        with ThreadPoolExecutor(max(1, threads - 1)) as pool:
            running = [pool.submit(work, thread) for thread in range(1, threads)]
            try:
                first = work(0)
                others = [other.result() for other in running]
            except BaseException:
                stopped = True
                raise
        for other in others:
            first.merge(other)
        self.state.n_rounds += 1
        if self.on_step:
            self.on_step(Step(phase, self.state.n_rounds, len(pieces), *first.totals))
        return first

    def _drop_useless(self, pieces: set[bytes], counts: GreedyCounts) -> set[bytes]:
        """The pieces except those that save no tokens."""
        _, values, _ = counts.pieces()
        return self._without(pieces, {p for p, value in zip(counts.round_pieces, values, strict=True) if value <= 0})

    def _drop(self, pieces: set[bytes], counts: GreedyCounts, n: int) -> set[bytes]:
        """The pieces except the n that save the least."""
        _, values, _ = counts.pieces()
        free = pieces - self.kept
        worst = sorted((int(value), p) for p, value in zip(counts.round_pieces, values, strict=True) if p in free)
        return self._without(pieces, {piece for _, piece in worst[:n]})

    def _without(self, pieces: set[bytes], dropped: set[bytes]) -> set[bytes]:
        dropped -= self.kept
        self.state.dropped |= dict.fromkeys(dropped, self.state.n_rounds)
        return pieces - dropped

    def _join(self, pieces: set[bytes], counts: GreedyCounts, n_pieces: int) -> set[bytes]:
        """The pieces plus the joined pairs that save the most, up to n_pieces in total."""
        room = n_pieces - len(pieces)
        if room <= 0:
            return pieces
        ordered = counts.round_pieces
        lefts, rights, gains, n_sources = counts.pairs()
        sizes = np.array([len(piece) for piece in ordered])
        usable = (n_sources >= self.min_sources) | (sizes[lefts] + sizes[rights] < self.long_bytes)
        lefts, rights, gains = lefts[usable], rights[usable], gains[usable]
        if len(gains) > 8 * room:
            best = gains >= np.partition(gains, -8 * room)[-8 * room]  # keeps all ties, so their order does not matter
            lefts, rights, gains = lefts[best], rights[best], gains[best]
        gain_of: dict[bytes, int] = {}
        for left, right, gain in zip(lefts.tolist(), rights.tolist(), gains.tolist(), strict=True):
            joined = ordered[left] + ordered[right]  # several pairs may spell the same string
            gain_of[joined] = gain_of.get(joined, 0) + gain
        ready, dropped = self.state.n_rounds - REST_ROUNDS, self.state.dropped
        found = [piece for piece in gain_of if piece not in pieces and dropped.get(piece, -REST_ROUNDS) <= ready]
        found.sort(key=lambda piece: (-gain_of[piece], piece))
        return pieces | set(islice(filter(self.allowed, found), room))
