"""suffix_array(), lcp_array() and check_suffix_array() process arrays of tokens, report progress and stop at Ctrl-C.

The algorithms are in csrc/suffix; each call to C takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyunitok._c.suffix import SUFFIX_MAX_32, SuffixSorter, suffix_check, suffix_phi, suffix_plcp

STEP = 4 << 20  # suffixes between checks for Ctrl-C
CHUNK = 1 << 20
DENSE_SYMBOLS = 1 << 22  # the sorter allocates 32 bytes per possible symbol

Array = np.ndarray[Any, Any]


def suffix_array(
    ids: Any, *, rank: Any = None, out: Array | None = None, on_progress: Callable[[float], None] | None = None
) -> Array:
    """The starts of the suffixes of `ids`, smallest suffix first.

    ids          a vector of uint8, uint16 or uint32 (other integers are converted); it must not change during the call
    rank         a vector of distinct ranks: suffixes compare by rank[id] instead of by id
    out          the array to fill, uint32 or uint64; by default uint32 for up to 2**31 - 1 tokens, otherwise uint64
    on_progress  called after each step with the completed share, 0 to 1

    Suffixes compare token by token; a prefix of another suffix is smaller. Takes linear time for every input, and
    memory for the text (and a copy of it if `rank` is given), the result, and 2 to 4 % more.
    """
    text, n_symbols = _text(ids, rank)
    if out is None:
        out = np.empty(len(text), np.uint32 if len(text) <= SUFFIX_MAX_32 else np.uint64)
    _sort(SuffixSorter(text, out, n_symbols), on_progress)
    return out


def symbols_before(
    text: Array, every: int, n_symbols: int = 0, on_progress: Callable[[float], None] | None = None
) -> tuple[Array, Array]:
    """Returns what a compact index is built from, in less time than from a suffix array: (the symbol before each suffix
    in sorted order, or 0 for the suffix at position 0; the rank of the suffix at every `every`-th position). Both are
    uint32.

    text, n_symbols  see SuffixSorter; at most 2**31 - 1 symbols
    every            a power of two
    """
    before, rows = np.empty(len(text), np.uint32), np.empty(-(-len(text) // every), np.uint32)
    sorter = SuffixSorter(text, before, n_symbols)
    sorter.take_before(rows, every)
    _sort(sorter, on_progress)
    return before, rows


def _sort(sorter: SuffixSorter, on_progress: Callable[[float], None] | None) -> None:
    done = 0.0
    while done < 1:
        done = sorter.step(STEP)
        if on_progress:
            on_progress(done)


def _text(ids: Any, rank: Any) -> tuple[Array, int]:
    """Returns the symbols to sort by, contiguous and of a dtype that C accepts, and an exclusive upper bound on them
    (0 means the bound of the dtype)."""
    text = np.asarray(ids)
    if text.ndim != 1 or (text.dtype.kind not in "ui" and len(text)):
        raise ValueError(f"expected a vector of integers, not {text.dtype}{text.shape}")
    if text.dtype not in (np.uint8, np.uint16, np.uint32):
        if len(text) and not 0 <= int(text.min()) <= int(text.max()) < 1 << 32:
            raise ValueError("ids must be within 0 to 2**32 - 1")
        text = text.astype(np.uint32)
    if rank is not None:
        text = ranked(text, np.asarray(rank))
    text = np.ascontiguousarray(text)
    if text.dtype != np.uint32:
        return text, 0
    n_symbols = int(text.max()) + 1 if len(text) else 1
    if n_symbols > DENSE_SYMBOLS:
        values, text = np.unique(text, return_inverse=True)
        text, n_symbols = text.astype(np.uint32), len(values)
    return text, n_symbols


def lcp_array(ids: Any, sa: Array) -> Array:
    """lcp[r] is the length of the longest common prefix of suffixes sa[r] and sa[r - 1], and 0 for r = 0.

    ids, sa  the argument and the result of suffix_array(), with any rank

    Raises ValueError if a position in sa is out of range. Takes linear time, and memory for two arrays of the size of
    sa.
    """
    text, _ = _text(ids, None)
    sa = _positions(sa, len(text))
    n = len(text)
    phi = np.full(n, n, sa.dtype)
    for at in range(0, n, STEP):
        if suffix_phi(sa, phi, at, min(at + STEP, n)) >= 0:
            raise ValueError("not a suffix array: a position is out of range")
    common = 0
    for at in range(0, n, STEP):
        common = suffix_plcp(text, phi, at, min(at + STEP, n), common)
    return ranked(sa, phi, np.empty_like(phi))


def check_suffix_array(
    ids: Any, sa: Array, *, rank: Any = None, on_progress: Callable[[float], None] | None = None
) -> bool:
    """Whether `sa` equals suffix_array(ids, rank=rank)."""
    text, n_symbols = _text(ids, rank)
    n_symbols = n_symbols or 1 << 8 * text.itemsize
    sa = _positions(sa, len(text))
    counts = np.zeros(n_symbols, np.int64)
    for at in range(0, len(text), CHUNK):
        counts += np.bincount(text[at : at + CHUNK], minlength=n_symbols)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.uint64)
    return first_mismatch(text, None, sa, starts, on_progress=on_progress) is None


def first_mismatch(
    text: Array, rank: Array | None, sa: Array, starts: Array, *, on_progress: Callable[[float], None] | None = None
) -> int | None:
    """The first r at which the check of `sa` as the suffix array of `text` fails; None if it passes.

    rank    uint32[symbols] to compare the text by rank, or None
    starts  uint64: for each symbol or rank, the number of suffixes that begin with a smaller one
    """
    heads, n = np.array(starts[:-1]), len(text)
    for at in range(0, n, STEP):
        mismatch = suffix_check(text, rank, sa, starts, heads, at, min(at + STEP, n))
        if mismatch >= 0:
            return mismatch
        if on_progress:
            on_progress(min(at + STEP, n) / n)
    return None


def _positions(sa: Array, n: int) -> Array:
    sa = np.ascontiguousarray(sa)
    if sa.dtype not in (np.uint32, np.uint64) or sa.shape != (n,):
        raise ValueError(f"expected a suffix array uint32[{n}] or uint64[{n}], not {sa.dtype}{sa.shape}")
    return sa


def ranked(ids: Array, rank: Array, out: Array | None = None) -> Array:
    """rank[ids], computed in chunks."""
    if out is None:
        out = np.empty(len(ids), np.uint16 if len(rank) <= 1 << 16 else np.uint32)
    for at in range(0, len(ids), CHUNK):
        out[at : at + CHUNK] = rank[ids[at : at + CHUNK]]
    return out
