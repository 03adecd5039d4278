"""The compact index compared with a suffix array built by sorting: building, locating, extracting and searching."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import compact as compact_oracle
from oracle import search as search_oracle
from oracle import suffix as oracle

from pyunitok._c.compact import MAX_SYMBOLS, SECTIONS, Compact, build_parts
from pyunitok.errors import ModelFormatError
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.plan import bytes_per_token
from pyunitok.index.suffix import suffix_array, symbols_before

DTYPES = [np.uint8, np.uint16, np.uint32]


def image(ids: Any, n_symbols: int, sa: Any = None, **options: Any) -> np.ndarray:
    """The file of a compact index. The arguments are not changed."""
    text = np.array(ids)
    rows = np.array(suffix_array(text) if sa is None else sa, np.uint32)
    parts = [part.data.tobytes() for part in build_parts(text, rows, n_symbols, **options)]
    return np.frombuffer(b"".join(parts), np.uint8)


@st.composite
def texts(draw: st.DrawFn) -> tuple[list[int], int]:
    """Random and repetitive texts that span several blocks, and the number of symbols."""
    n_symbols = draw(st.sampled_from([1, 2, 3, 9, 256]))
    part = draw(st.lists(st.integers(0, n_symbols - 1), max_size=60))
    tail = draw(st.lists(st.integers(0, n_symbols - 1), max_size=20))
    return part * draw(st.sampled_from([1, 1, 2, 7])) + tail, n_symbols


@given(
    texts(), st.sampled_from(DTYPES), st.sampled_from([64, 128]), st.sampled_from([1, 2, 4, 32, 1024]),
    st.sampled_from([1, 3, 64, 1000]), st.integers(1, 400), st.randoms(),
)  # fmt: skip
def test_answers_equal_those_of_a_suffix_array(
    text: tuple[list[int], int], dtype: Any, block: int, locate: int, extract: int, budget: int, rng: random.Random
) -> None:
    ids, n_symbols = text
    sa, n = oracle.suffix_array(ids), len(ids)
    options = {"block": block, "locate_every": locate, "extract_every": extract, "budget": budget}
    compact = Compact(image(np.array(ids, dtype), n_symbols, sa, **options))
    assert len(compact) == n and compact.first_row == (sa.index(0) if n else 0)
    assert compact.locate(np.arange(-1, n + 1)).tolist() == [-1, *sa, -1]
    bounds = np.sort(np.array([[rng.randrange(n + 1), rng.randrange(n + 1)] for _ in range(5)]), axis=1).reshape(-1, 2)
    expected = [id_ for begin, end in bounds.tolist() for id_ in ids[begin:end]]
    assert compact.extract(bounds[:, 0].copy(), bounds[:, 1].copy()).tolist() == expected
    queries = [[], [n_symbols], [rng.randrange(n_symbols)]]
    for _ in range(40):
        at = rng.randrange(n + 1)
        queries.append([*ids[at : at + rng.randrange(5)], *rng.choices(range(n_symbols), k=rng.randrange(2))])
    offsets = np.cumsum([0, *map(len, queries)])
    symbols = np.array(list(itertools.chain(*queries)), np.uint32)
    los, his = compact.tokens(symbols, offsets[:-1].copy(), offsets[1:].copy())
    for query, lo, hi in zip(queries, los.tolist(), his.tolist(), strict=True):
        assert list(range(lo, hi)) == search_oracle.interval(ids, sa, query)
        symbols, counts = compact.next(lo, hi, len(query))
        found = dict(zip(symbols.tolist(), counts.tolist(), strict=True))
        assert found == search_oracle.next_tokens(ids, query) and sorted(found) == list(found)
        before = compact.previous(lo, hi)  # symbols before the suffixes in these rows; the empty suffix has no row
        nonzero = {symbol: n for symbol, n in enumerate(before.tolist()) if n}
        assert not query or nonzero == search_oracle.previous_tokens(ids, query)


@given(texts())
def test_rows_before_rows_are_found_in_one_list(text: tuple[list[int], int]) -> None:
    """Backward search matches its definition: the rows of (symbol, query) are those whose psi is a row of the query."""
    ids, n_symbols = text
    sa = oracle.suffix_array(ids)
    compact = Compact(image(np.array(ids, np.uint16), n_symbols, sa))
    for symbol in range(min(n_symbols, 4)):
        for query in (ids[:1], ids[2:4]):
            sequence = np.array([symbol, *query], np.uint32)
            ends = np.array([len(sequence)])
            (lo,), (hi,) = compact.tokens(sequence, np.array([0]), ends)
            (below,), (above,) = compact.tokens(sequence, np.array([1]), ends)
            if query:
                assert list(range(lo, hi)) == compact_oracle.before(ids, sa, symbol, int(below), int(above))


@pytest.mark.parametrize("block", [64, 128])
def test_every_symbol_and_equal_symbols(block: int) -> None:
    rng = np.random.default_rng(1)
    texts = {
        "every symbol": rng.permutation(65536).astype(np.uint16),
        "every symbol twice": np.concatenate([rng.permutation(65536), rng.permutation(65536)]).astype(np.uint16),
        "equal symbols": np.full(3000, 65535, np.uint16),
        "wide symbols": rng.integers(0, MAX_SYMBOLS, 5000).astype(np.uint32),
        "frequent and rare symbols": np.minimum(rng.zipf(1.3, 40_000), 60_000).astype(np.uint16),
        "a period of 32": np.tile(np.arange(32, dtype=np.uint16), 300),
        "short lists": np.repeat(np.arange(3000, dtype=np.uint16), 3),
    }
    for name, ids in texts.items():
        sa = suffix_array(ids)
        compact = Compact(image(ids, MAX_SYMBOLS if ids.dtype == np.uint32 else 65536, sa, block=block))
        assert (compact.locate(np.arange(len(ids))) == sa).all(), name
        assert (compact.extract(np.array([0]), np.array([len(ids)])) == ids).all(), name
        begins = rng.integers(0, len(ids) - 3, 200)
        query = np.ascontiguousarray(ids[begins[:, None] + np.arange(3)].reshape(-1).astype(np.uint32))
        lo, hi = compact.tokens(query, np.arange(200) * 3, np.arange(200) * 3 + 3)
        rows = np.empty(len(ids), np.int64)
        rows[sa] = np.arange(len(ids))
        assert ((lo <= rows[begins]) & (rows[begins] < hi)).all(), name


def test_without_samples() -> None:
    ids = np.array([2, 1, 2, 1, 0] * 50, np.uint16)
    pairs = [(0, 0), (4, 0), (4, 4)]
    sizes = [len(image(ids, 3, locate_every=locate, extract_every=extract)) for locate, extract in pairs]
    assert sizes == sorted(set(sizes))
    compact = Compact(image(ids, 3, locate_every=0, extract_every=0))
    assert np.diff(compact.tokens(np.array([2, 1], np.uint32), np.array([0]), np.array([2])), axis=0).item() == 100
    with pytest.raises(ValueError, match="no samples for locating"):
        compact.locate(np.array([0]))
    with pytest.raises(ValueError, match="no samples for extracting"):
        compact.extract(np.array([0]), np.array([1]))


def test_the_file_depends_on_the_text_alone() -> None:
    ids = np.random.default_rng(1).integers(0, 300, 20_000).astype(np.uint16)
    files = {image(ids, 300, budget=budget).tobytes() for budget in (77, 5000, 1 << 20)}
    assert len(files) == 1
    assert len(image(ids, 300)) < 2 * 20_000 + 4096  # if symbols are uniform, the file is little larger than the text


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("locate_every", "extract_every", "every"), [(32, 64, 32), (1, 5, 1), (8, 12, 4), (0, 0, 64)])
def test_symbols_before_suffixes_give_the_same_file(
    dtype: type, locate_every: int, extract_every: int, every: int
) -> None:
    rng, options = np.random.default_rng(1), {"locate_every": locate_every, "extract_every": extract_every}
    for n in (0, 1, 2, 31, 33, 1000, 20_000):
        ids = rng.integers(0, 3 if n % 2 else 200, n).astype(dtype)
        before, rows = symbols_before(ids, every, 200)
        given = image(ids, 200, before, rows=rows, rows_every=every, **options)
        assert given.tobytes() == image(ids, 200, **options).tobytes()
    for wrong in (0, 3, every * 2 if locate_every else 1 << 32):
        with pytest.raises(ValueError, match="rows_every"):
            image(ids, 200, before, rows=rows, rows_every=wrong, **options)


@pytest.mark.parametrize(
    "options", [(128, 32, 64), (64, 1, 1), (64, 4, 9), (128, 1024, 1000), (64, 1, 1024), (128, 0, 0)]
)
def test_the_memory_budget_covers_the_tables(options: tuple[int, int, int]) -> None:
    """Only the bundles are written while they are made; all tables are in memory until then. The plan once assumed 10.3
    bytes per token if every position is a sample, but 14.8 are needed."""
    n, (block, locate_every, extract_every) = 200_000, options
    ids = np.random.default_rng(1).integers(0, 9, n).astype(np.uint16)
    parts = build_parts(ids, suffix_array(ids), 9, block=block, locate_every=locate_every, extract_every=extract_every)
    tables = sum(len(part.data) for part in parts if 0 < part.section < SECTIONS)
    planned = CompactOptions(*options)
    rows = 4 * -(-n // planned.rows_every)
    assert (2 + 4) * n + tables + rows <= bytes_per_token(ids.dtype, planned) * n + 4096


def test_sections_are_complete_and_in_order() -> None:
    ids = np.random.default_rng(1).integers(0, 9, 5000).astype(np.uint16)
    parts = [(part.section, len(part.data)) for part in build_parts(ids, suffix_array(ids), 9)]
    numbers = [section for section, _ in parts if _]
    assert numbers == sorted(numbers) and set(numbers) == {-1, *range(SECTIONS), SECTIONS}
    assert parts[-1][0] == SECTIONS


def test_a_wrong_suffix_array_is_refused_or_safe() -> None:
    ids = np.random.default_rng(2).integers(0, 5, 300).astype(np.uint16)
    sa = suffix_array(ids)
    wrong = sa.copy()
    wrong[7] = 300
    with pytest.raises(ValueError, match="out of range"):
        image(ids, 5, wrong)
    with pytest.raises(ValueError, match="not the suffix array"):
        image(ids, 5, np.full(300, 9))
    compact = Compact(image(ids, 5, np.random.default_rng(3).permutation(sa)))
    compact.locate(np.arange(300))
    compact.extract(np.array([0]), np.array([300]))


def test_wrong_arguments() -> None:
    ids, sa = np.zeros(5, np.uint16), np.zeros(5, np.uint32)
    for options in ({"block": 32}, {"locate_every": 3}, {"locate_every": 2048}, {"extract_every": 1025}):
        with pytest.raises(ValueError, match="out of range"):
            image(ids, 5, sa, **options)
    for n_symbols in (0, MAX_SYMBOLS + 1):
        with pytest.raises(ValueError, match="out of range"):
            image(ids, n_symbols, sa)
    with pytest.raises(ValueError, match="n_symbols"):
        image(np.array([0, 7], np.uint16), 7)
    with pytest.raises(ValueError, match="cannot index"):
        image(ids.astype(np.int64), 5, sa)
    compact = Compact(image(np.array([1, 2], np.uint16), 3))
    for begin, end in ((-1, 1), (0, 3), (2, 1)):
        with pytest.raises(ValueError, match="range"):
            compact.extract(np.array([begin]), np.array([end]))
    with pytest.raises(ValueError, match="past the end"):
        compact.tokens(np.zeros(2, np.uint32), np.array([0]), np.array([3]))


@given(texts(), st.data())
def test_damaged_files_are_refused_or_safe(text: tuple[list[int], int], data: st.DataObject) -> None:
    ids, n_symbols = text
    good = image(np.array(ids, np.uint16), n_symbols, extract_every=7, locate_every=4)
    bad = good.copy()
    for _ in range(data.draw(st.integers(1, 4))):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    bad = bad[: len(bad) - 8 * data.draw(st.sampled_from([0, 0, 0, 1, 99]))].copy()
    try:
        compact = Compact(bad)
    except ModelFormatError:
        return
    n = len(compact)
    found = compact.locate(np.arange(n))
    assert ((found >= -1) & (found < n)).all()
    lo, hi = compact.tokens(np.array([0, 1, 0], np.uint32), np.array([0, 1]), np.array([3, 3]))
    assert ((lo >= 0) & (lo <= hi) & (hi <= n)).all()
    if compact.extract_every:
        assert (compact.extract(np.array([0]), np.array([n])) < max(1, compact.n_symbols)).all()
