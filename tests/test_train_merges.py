"""The BPE trainer resumes after any number of merges, with rare pairs and with pairs that no longer occur."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import partial

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle import train_bpe as oracle

from pyunitok._c import train as c_train
from pyunitok._c.train import Counts, Rules, Units
from pyunitok._c.train_bpe import BpeTrainer
from pyunitok.packed import Bytes

RULES = Rules({"split_by_whitespace", "split_by_script"}, 8)
N_PIECES = 1000  # more than any text yields
WORDS = st.dictionaries(
    st.text("ab\u2581é東", min_size=1, max_size=24), st.integers(1, 1 << 40) | st.integers(1, 3), min_size=1, max_size=9
)


def trained(
    units: Units, *, min_count: int, n_pieces: int = N_PIECES, resume: BpeTrainer | None = None, threads: int = 1,
    keep: Bytes | None = None,
) -> BpeTrainer:  # fmt: skip
    trainer = BpeTrainer(RULES, units, keep, threads)
    if resume is not None:
        trainer.resume(*resume.merges())
    while trainer.step(n_pieces, min_count=min_count, max_work=20):
        pass
    return trainer


def units_of(words: dict[str, int]) -> Units:
    return Units.pack([word.encode() for word in words], list(words.values()))


@given(WORDS, st.sampled_from([0, 2]), st.integers(0, 40))
@fewer(1)
def test_resuming_after_any_number_of_merges(words: dict[str, int], min_count: int, n_merges: int) -> None:
    """A trainer that resumes after the merges of another yields the same pieces and counts as an uninterrupted one."""
    expected = trained(units_of(words), min_count=min_count)
    first = trained(units_of(words), min_count=min_count, n_pieces=n_merges)
    got = trained(units_of(words), min_count=min_count, resume=first)
    assert got.pieces().items() == expected.pieces().items()
    assert got.pieces().counts.tolist() == expected.pieces().counts.tolist()
    assert got.done == expected.done


WITHOUT = st.sampled_from(["", "a", "\u6771b"])  # characters outside the alphabet


@pytest.mark.slow
@given(WORDS, st.sampled_from([0, 2]), st.sampled_from([1, 2, 3, 8]), st.randoms(), WITHOUT)
@fewer(1)
def test_order_of_units(words: dict[str, int], min_count: int, threads: int, rng: random.Random, without: str) -> None:
    """The merges match the oracle with any number of threads, for units in any order and for repeated units, whether
    the trainer or the caller cuts units at characters outside the alphabet."""
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for part in re.split(f"[{without}]", word) if without else [word]:
            parts[part] += count
    allowed = partial(c_train.allowed, RULES)
    expected = oracle.train(parts, N_PIECES, min_count=min_count, allowed=lambda piece: allowed(piece.encode()))
    pieces = [(word, count - count // 2) for word, count in words.items()]
    pieces += [(word, count // 2) for word, count in words.items()]
    rng.shuffle(pieces)
    units = Units.pack([word.encode() for word, _ in pieces], [count for _, count in pieces])
    keep = np.ones(c_train.CODE_POINTS, np.uint8)
    keep[[ord(c) for c in without]] = 0
    got = trained(units, min_count=min_count, threads=threads, keep=keep)
    counts = got.pieces().counts.tolist()
    assert list(zip([piece.decode() for piece in got.pieces().items()], counts, strict=True)) == expected
    in_order = trained(units_of(words), min_count=min_count, keep=keep)
    assert got.merges()[0].tolist() == in_order.merges()[0].tolist()
    half = trained(units, min_count=min_count, n_pieces=got.n_pieces // 2, keep=keep)
    resumed = trained(units, min_count=min_count, resume=half, threads=threads, keep=keep)
    assert resumed.merges()[0].tolist() == got.merges()[0].tolist()
    assert resumed.pieces().counts.tolist() == counts


def test_invalid_and_empty_units() -> None:
    """Invalid UTF-8 is an error in any thread's share; no units, and units with count 0, are valid."""
    units = Units.pack([b"ab", b"ab", b"b\xff"], [9, 9, 9])
    for threads in (1, 2, 8):
        with pytest.raises(ValueError, match="invalid UTF-8"):
            BpeTrainer(RULES, units, None, threads)
        assert trained(Units.pack([], []), min_count=0, threads=threads).n_pieces == 0
        unseen = Units.pack([b"ab", b"b\xff"], [0, 0])
        assert trained(unseen, min_count=0, threads=threads).n_pieces == 0
    with pytest.raises(ValueError, match="workers"):
        BpeTrainer(RULES, units, None, 0)


def test_a_long_unit() -> None:
    """Training can resume after any merge even in long repetitions, in which pairs overlap."""
    for unit in ("a" * 1000, "ab" * 500, "aab" * 400):
        units = units_of({unit: 5, "ab": 3})
        expected = trained(units, min_count=2)
        for n_merges in range(1, expected.n_pieces):
            first = trained(units, min_count=2, n_pieces=n_merges)
            got = trained(units, min_count=2, resume=first)
            assert got.pieces().items() == expected.pieces().items()
            assert got.pieces().counts.tolist() == expected.pieces().counts.tolist()


@pytest.mark.parametrize("symbols, why", [
    ([[0, 2]], "not contain"), ([[0, 1], [0, 1]], "occurs twice"), ([[0, 1], [2, 2], [3, 3], [4, 4]], "not contain"),
])  # fmt: skip
def test_invalid_merges(symbols: list[list[int]], why: str) -> None:
    """Rejects merges that use the symbol of a later merge, repeat a merge, or create a piece that the rules forbid."""
    trainer = BpeTrainer(RULES, units_of({"ab": 9}))
    counts: Counts = np.ones(len(symbols), np.uint64)
    with pytest.raises(ValueError, match=why):
        trainer.resume(np.array(symbols, np.uint32), counts)
