"""Bindings for the section "Suffix sorting" of csrc/unitok_search.h."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok._c.library import call, create, ffi, lib, optional, pointer

_SYMBOLS = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_POSITIONS = (np.dtype(np.uint32), np.dtype(np.uint64))
SUFFIX_MAX_32: int = lib.UNITOK_SUFFIX_MAX_32


class SuffixSorter:
    """Sorts the suffixes of `text` (uint8, uint16 or uint32) into `sa` (uint32 or uint64), step by step.

    n_symbols  for uint32 only: an exclusive upper bound on the symbols
    """

    __slots__ = ("_handle", "_keep")

    def __init__(self, text: np.ndarray[Any, Any], sa: np.ndarray[Any, Any], n_symbols: int = 0) -> None:
        if len(sa) != len(text) or sa.dtype not in _POSITIONS or text.dtype not in _SYMBOLS:
            raise ValueError(f"cannot sort {text.dtype}[{len(text)}] into {sa.dtype}[{len(sa)}]")
        self._keep: tuple[Any, ...] = (pointer(text), pointer(sa, writable=True))
        given = (self._keep[0], len(text), text.itemsize, n_symbols)
        self._handle: Any = create("suffix", *given, self._keep[1], sa.itemsize)

    def take_before(self, rows: np.ndarray[Any, Any], every: int) -> None:
        """See unitok_suffix_before; call this before the first step. rows: uint32[(n - 1) // every + 1]"""
        self._keep = (*self._keep, pointer(rows, writable=True))
        call(lib.unitok_suffix_before, self._handle, self._keep[-1], every)

    def step(self, budget: int) -> float:
        """Visit about `budget` suffixes. Returns the progress, which is 1 at the end."""
        progress = ffi.new("double *")
        call(lib.unitok_suffix_step, self._handle, budget, progress)
        return float(progress[0])


def suffix_rank(text: np.ndarray[Any, Any], rank: np.ndarray[Any, Any] | None, counts: np.ndarray[Any, Any]) -> int:
    """See unitok_suffix_rank. The arguments are uint16[n] or uint32[n], uint32[n_ids] or None, and uint64[n_ids]."""
    ids = (pointer(text, writable=True), len(text), text.itemsize)
    return int(lib.unitok_suffix_rank(*ids, optional(rank), pointer(counts, writable=True)))


def suffix_phi(sa: np.ndarray[Any, Any], phi: np.ndarray[Any, Any], begin: int, end: int) -> int:
    """See unitok_suffix_phi."""
    return int(lib.unitok_suffix_phi(pointer(sa), len(sa), sa.itemsize, pointer(phi, writable=True), begin, end))


def suffix_plcp(text: np.ndarray[Any, Any], phi: np.ndarray[Any, Any], begin: int, end: int, common: int) -> int:
    """See unitok_suffix_plcp."""
    into = pointer(phi, writable=True)
    return int(lib.unitok_suffix_plcp(pointer(text), len(text), text.itemsize, into, phi.itemsize, begin, end, common))


def suffix_check(
    text: np.ndarray[Any, Any], rank: np.ndarray[Any, Any] | None, sa: np.ndarray[Any, Any],
    starts: np.ndarray[Any, Any], heads: np.ndarray[Any, Any], begin: int, end: int,
) -> int:  # fmt: skip
    """See unitok_suffix_check."""
    tables = (pointer(starts), pointer(heads, writable=True))
    head = (pointer(text), len(text), text.itemsize, optional(rank), len(starts) - 1)
    return int(lib.unitok_suffix_check(*head, pointer(sa), sa.itemsize, *tables, begin, end))
