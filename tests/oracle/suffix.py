"""Builds suffix arrays by sorting the suffixes as Python sequences."""

from __future__ import annotations

from collections.abc import Sequence


def suffix_array(ids: Sequence[int], rank: Sequence[int] | None = None) -> list[int]:
    """The starts of the suffixes of `ids`, smallest suffix first. A prefix sorts before longer suffixes."""
    keys = [id_ if rank is None else rank[id_] for id_ in ids]
    return sorted(range(len(keys)), key=lambda i: keys[i:])


def lcp_array(ids: Sequence[int], sa: Sequence[int]) -> list[int]:
    """The number of tokens that suffix r shares with suffix r - 1; 0 for r = 0."""

    def common(i: int, j: int) -> int:
        n = 0
        while max(i, j) + n < len(ids) and ids[i + n] == ids[j + n]:
            n += 1
        return n

    return [common(sa[r - 1], sa[r]) if r else 0 for r in range(len(sa))]
