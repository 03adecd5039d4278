"""Computes psi, which the lists of a compact index store, from a sorted list of suffixes."""

from __future__ import annotations

from collections.abc import Sequence


def psi(sa: Sequence[int]) -> list[int]:
    """For each row, 1 plus the row of the suffix that begins one position later, or 0 if there is no such suffix."""
    row = {position: r for r, position in enumerate(sa)}
    return [row[position + 1] + 1 if position + 1 < len(sa) else 0 for position in sa]


def before(ids: Sequence[int], sa: Sequence[int], symbol: int, lo: int, hi: int) -> list[int]:
    """The rows that begin with `symbol` and continue with one of rows lo to hi - 1."""
    successors = psi(sa)
    return [r for r, position in enumerate(sa) if ids[position] == symbol and lo < successors[r] <= hi]
