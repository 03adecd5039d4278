"""The suffix sorter compared with sorted(), on all short strings, random strings, and strings that are hard to sort."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import suffix as oracle

from pyunitok._c import suffix as c_suffix
from pyunitok.index.suffix import check_suffix_array, lcp_array, suffix_array

DTYPES = [np.uint8, np.uint16, np.uint32]


def check_before(ids: np.ndarray, sa: list[int], every: int, budget: int) -> None:
    """Compare the symbols before suffixes, and the rows of every `every`-th position, with the suffix array."""
    before, rows = np.full(len(ids), 0xA5A5A5A5, np.uint32), np.full(-(-len(ids) // every), 7, np.uint32)
    sorter = c_suffix.SuffixSorter(ids, before, int(ids.max()) + 1 if len(ids) else 1)
    sorter.take_before(rows, every)
    while sorter.step(budget) < 1:
        pass
    assert before.tolist() == [int(ids[at - 1]) if at else 0 for at in sa]
    assert rows.tolist() == [sa.index(at) for at in range(0, len(sa), every)]


def sort(ids: np.ndarray, positions: type = np.uint32, budget: int = 1000) -> list[int]:
    """Sort with the C library; each step handles `budget` suffixes."""
    sa = np.full(len(ids), 0xA5A5A5A5, positions)
    sorter = c_suffix.SuffixSorter(ids, sa, int(ids.max()) + 1 if len(ids) else 1)
    done = 0.0
    while done < 1:
        done, before = sorter.step(budget), done
        assert before <= done
    return sa.tolist()


@pytest.mark.parametrize("n", range(11))
def test_every_string_over_three_symbols(n: int) -> None:
    for text in itertools.product(range(3), repeat=n):
        expected = oracle.suffix_array(text)
        assert sort(np.array(text, np.uint8)) == expected, text
        if n < 7:
            assert sort(np.array(text, np.uint32), np.uint64, budget=1) == expected, text
            check_before(np.array(text, np.uint32), expected, every=2, budget=1)
            # With uint16, each of the 65,536 possible symbols counts as a unit of work.
            check_before(np.array(text, np.uint16), expected, every=2, budget=1 << 14)


@st.composite
def texts(draw: st.DrawFn) -> list[int]:
    """Random texts and repetitive texts, with few and with many symbols."""
    symbols = st.integers(0, draw(st.sampled_from([0, 1, 2, 9, 255])))
    part = draw(st.lists(symbols, max_size=40))
    shape = draw(st.sampled_from(["once", "twice", "many", "sawtooth"]))
    if shape == "sawtooth":  # nearly every other suffix is LMS
        part = [symbol // 2 + (128 if k % 2 else 0) for k, symbol in enumerate(part)]
    return part * {"once": 1, "twice": 2, "many": draw(st.integers(3, 12)), "sawtooth": 2}[shape] + draw(
        st.lists(symbols, max_size=10)
    )


@given(texts(), st.sampled_from(DTYPES), st.sampled_from([np.uint32, np.uint64]), st.integers(1, 50))
def test_sorts_like_python(ids: list[int], dtype: type, positions: type, budget: int) -> None:
    expected = oracle.suffix_array(ids)
    assert sort(np.array(ids, dtype), positions, budget * 7) == expected
    check_before(np.array(ids, dtype), expected, 4, budget * 7)


@given(texts(), st.randoms())
def test_by_rank(ids: list[int], random: object) -> None:
    rank = list(range(256))
    random.shuffle(rank)  # type: ignore[attr-defined]
    for dtype in DTYPES:
        assert suffix_array(np.array(ids, dtype), rank=rank).tolist() == oracle.suffix_array(ids, rank)


def fibonacci(n: int) -> list[int]:
    a, b = [0], [0, 1]
    while len(b) < n:
        a, b = b, b + a
    return b[:n]


HARD: dict[str, Callable[[int], list[int]]] = {
    "equal": lambda n: [7] * n,
    "period 2": lambda n: [k % 2 for k in range(n)],
    "fibonacci": fibonacci,
    "thue-morse": lambda n: [bin(k).count("1") % 2 for k in range(n)],
    "repeated document": lambda n: [*range(30, 60), 5, 1, 5, 2, 5, 3] * (n // 36),
    "rising": lambda n: list(range(n)),
    "falling": lambda n: list(range(n))[::-1],
    "skyline": lambda n: [(k & -k).bit_length() for k in range(1, n + 1)],
    "alternating twice": lambda n: [
        int(x) + 3000 * (k % 2) for k, x in enumerate(np.random.default_rng(1).integers(0, 3000, n // 2))
    ] * 2,
}  # fmt: skip


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 100, 1500])
def test_texts_that_are_hard_to_sort(name: str, n: int) -> None:
    ids = HARD[name](n)
    for positions in (np.uint32, np.uint64):
        assert sort(np.array(ids, np.uint16), positions, 333) == oracle.suffix_array(ids)
    check_before(np.array(ids, np.uint16), oracle.suffix_array(ids), 1, 333)


def test_wide_ids_and_other_integers() -> None:
    ids = [1 << 31, 5, (1 << 32) - 1, 5, 0, 1 << 31]
    assert suffix_array(np.array(ids, np.uint32)).tolist() == oracle.suffix_array(ids)
    assert suffix_array(ids).tolist() == oracle.suffix_array(ids)
    assert suffix_array([]).dtype == np.uint32
    for wrong in ([-1], [1 << 32], [[1, 2]], [0.5]):
        with pytest.raises(ValueError):
            suffix_array(wrong)


def test_a_symbol_out_of_range_is_an_error() -> None:
    for at in (0, 7, 19):
        text = np.zeros(20, np.uint32)
        text[at] = 3
        with pytest.raises(ValueError, match="n_symbols") as caught:
            c_suffix.SuffixSorter(text, np.empty(20, np.uint32), 3).step(1000)
        assert caught.value.position == at  # type: ignore[attr-defined]


def test_progress_reaches_one_and_can_be_interrupted() -> None:
    seen: list[float] = []
    ids = np.random.default_rng(0).integers(0, 9, 5000).astype(np.uint16)
    suffix_array(ids, on_progress=seen.append)
    assert seen[-1] == 1.0

    def interrupt(done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        suffix_array(ids, on_progress=interrupt)


@given(texts(), st.sampled_from(DTYPES), st.sampled_from([np.uint32, np.uint64]))
def test_common_prefixes(ids: list[int], dtype: type, positions: type) -> None:
    sa = oracle.suffix_array(ids)
    found = lcp_array(np.array(ids, dtype), np.array(sa, positions))
    assert found.tolist() == oracle.lcp_array(ids, sa)


@given(texts(), st.sampled_from(DTYPES), st.sampled_from([np.uint32, np.uint64]), st.booleans(), st.data())
def test_check_accepts_only_the_suffix_array(
    ids: list[int], dtype: type, positions: type, by_rank: bool, data: st.DataObject
) -> None:
    rank = [255 - k for k in range(256)] if by_rank else None
    text, sa = np.array(ids, dtype), np.array(oracle.suffix_array(ids, rank), positions)
    assert check_suffix_array(text, sa, rank=rank)
    if len(sa) == 0:
        return
    r, other = data.draw(st.integers(0, len(sa) - 1)), data.draw(st.integers(0, len(sa) + 2))
    was = sa[r]
    sa[r] = other
    assert check_suffix_array(text, sa, rank=rank) == (was == other)
    sa[r] = was
    q = data.draw(st.integers(0, len(sa) - 1))
    sa[r], sa[q] = sa[q], sa[r]
    assert check_suffix_array(text, sa, rank=rank) == (q == r)


def test_invalid_positions() -> None:
    ids = np.array([1, 2, 1], np.uint16)
    with pytest.raises(ValueError, match="out of range"):
        lcp_array(ids, np.array([0, 3, 1], np.uint32))
    assert lcp_array(ids, np.array([0, 0, 0], np.uint32)).shape == (3,)  # meaningless, but safe
    for wrong in (np.zeros(2, np.uint32), np.zeros(3, np.int32)):
        with pytest.raises(ValueError, match=r"expected a suffix array uint32\[3\]"):
            check_suffix_array(ids, wrong)
