"""suffix_array(): the sorted suffixes of an array of tokens, with progress and Ctrl-C.

The work is done in C (csrc/suffix); each step takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyunitok._ffi import SUFFIX_MAX_32, SuffixSorter

STEP = 4 << 20  # suffixes looked at between two looks at the keyboard
CHUNK = 1 << 20
DENSE_SYMBOLS = 1 << 22  # the sorter keeps 32 bytes for each possible symbol

Array = np.ndarray[Any, Any]


def suffix_array(
    ids: Any, *, rank: Any = None, out: Array | None = None, on_progress: Callable[[float], None] | None = None
) -> Array:
    """Where the suffixes of `ids` begin, smallest first.

    ids          a vector of uint8, uint16 or uint32 (other integers are converted); it must not change meanwhile
    rank         suffixes compare by rank[id] instead of by id: a vector that maps every id that occurs, one to one
    out          the array to fill: uint32, or uint64; by default uint32 up to 2**31 - 1 tokens, else uint64
    on_progress  called after each step with the share that is done, 0 to 1

    Suffixes compare token by token; one that begins another is the smaller. Linear time for every input. Memory: the
    text (a copy of it with `rank`), the result, and about 2 % more.
    """
    text, n_symbols = _text(ids, rank)
    if out is None:
        out = np.empty(len(text), np.uint32 if len(text) <= SUFFIX_MAX_32 else np.uint64)
    sorter = SuffixSorter(text, out, n_symbols)
    done = 0.0
    while done < 1:
        done = sorter.step(STEP)
        if on_progress:
            on_progress(done)
    return out


def _text(ids: Any, rank: Any) -> tuple[Array, int]:
    """The symbols to sort by: contiguous, of a dtype that C knows; and what all of them are below."""
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


def ranked(ids: Array, rank: Array, out: Array | None = None) -> Array:
    """rank[ids], a chunk at a time."""
    if out is None:
        out = np.empty(len(ids), np.uint16 if len(rank) <= 1 << 16 else np.uint32)
    for at in range(0, len(ids), CHUNK):
        np.take(rank, ids[at : at + CHUNK], out=out[at : at + CHUNK])
    return out
