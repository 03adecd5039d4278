"""The lattice of the Unigram trainer keeps edges between calls, which does not change the results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyunitok._c import train_lexicon as c_train_lexicon
from pyunitok._c.train import Units
from pyunitok._c.train_lexicon import KeptEdges, Lattice, Lexicon, Scored

WORDS = st.text("abé▁語😀", min_size=1, max_size=9).map(str.encode)


def packed(words: set[bytes]) -> Units:
    return Units.pack(sorted(words), np.arange(1, len(words) + 1, dtype=np.uint64))


def results(lexicon: Lexicon, scores: np.ndarray, alive: np.ndarray, units: Units, kept: KeptEdges | None) -> list:
    """The results of the three functions that use kept edges."""
    n, found = len(alive), []
    for dtype in (np.float32, np.float64):
        model = Scored(Lattice(), alive, scores.astype(dtype), -20.0, 0)
        used = np.zeros(n, dtype)
        found.append(lexicon.paths(model, units, 0, len(units), used, kept))
        found.append(used.tolist())
    exact = np.zeros(n, np.float32)
    lexicon.expect_exact(Scored(Lattice(), alive, scores, -20.0, 0), units, 0, len(units), exact, kept)
    sums, p = np.zeros(n, np.uint64), np.where(alive == 1, np.exp(scores.astype(np.float64)), 0.0)
    likelihood = lexicon.expect(
        Scored(Lattice(), alive, scores.astype(np.float64), -20.0), p, 1e-9, units, 0, len(units), 1e6, sums, kept
    )
    return [*found, exact.tolist(), likelihood, sums.tolist()]


@pytest.mark.parametrize("max_bytes", [0, 2500, 1 << 20])
@given(st.sets(WORDS, min_size=1, max_size=30), st.sets(WORDS, min_size=1, max_size=60), st.randoms())
def test_kept_edges(max_bytes: int, words: set[bytes], pieces: set[bytes], random) -> None:
    units, names = packed(words), packed(pieces)
    kept, lexicon = KeptEdges(max_bytes), Lexicon(names)
    scores = np.array([random.uniform(-9, -1) for _ in range(len(names))], np.float32)
    alive = np.ones(len(names), np.uint8)
    for _ in range(3):
        assert results(lexicon, scores, alive, units, kept) == results(lexicon, scores, alive, units, None)
        alive[random.randrange(len(names))] = 0
    left = np.flatnonzero(alive)
    numbers = np.where(alive == 1, np.cumsum(alive, dtype=np.int64) - 1, -1)
    kept.renumber(numbers)
    fewer = Lexicon(names.take(left))
    if len(left):
        ones = np.ones(len(left), np.uint8)
        assert results(fewer, scores[left], ones, units, kept) == results(fewer, scores[left], ones, units, None)
    assert kept.memory_bytes <= max_bytes


@given(st.sets(WORDS, max_size=60), st.sets(WORDS, min_size=1, max_size=30), st.randoms(), st.integers(2, 3))
def test_a_lexicon_built_by_threads(pieces: set[bytes], words: set[bytes], random, threads: int) -> None:
    units, names = packed(words), packed(pieces | {b"z"})
    scores = np.array([random.uniform(-9, -1) for _ in range(len(names))], np.float32)
    alive = np.ones(len(names), np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c_train_lexicon, "MIN_LEXICON_PART", 0)
        shared = Lexicon(names, threads)
    assert results(shared, scores, alive, units, None) == results(Lexicon(names), scores, alive, units, None)


def test_edges_of_long_pieces_are_not_kept() -> None:
    units, names = packed({b"ab" * 200}), packed({b"a", b"b", b"ab" * 150})
    kept, scores, alive = KeptEdges(1 << 20), np.full(3, -1, np.float32), np.ones(3, np.uint8)
    lexicon = Lexicon(names)
    assert results(lexicon, scores, alive, units, kept) == results(lexicon, scores, alive, units, None)
    assert kept.memory_bytes == 0
