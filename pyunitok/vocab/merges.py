"""Finds the last merges of the pieces of a byte-level BPE model, from a list of merges or from ranks. Two models are
equivalent if they have the same last merges.

The last merge of a piece is the one that creates it when its bytes are encoded in isolation:

    hello   h e l l o ─▶ h e ll o ─▶ h ell o ─▶ h ello ─▶ hello      the last merge is (h, ello)

In any text, a piece can only be created by its last merge: before that merge, no merge joins a byte of the piece with a
byte outside it, so the merges inside the piece do not depend on the surrounding text. Other merges with the same result
never happen. A piece without a last merge is never created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

Pair = tuple[bytes, bytes]
_NEVER = 1 << 62


def by_rank(ranks: Mapping[bytes, int], pieces: Iterable[bytes]) -> dict[bytes, Pair]:
    """The last merges of the pieces, in order of rank. The pair that forms the piece of lowest rank merges first."""
    found = _last_merges(pieces, lambda left, right: ranks.get(left + right, _NEVER))
    return {left + right: (left, right) for _, left, right in sorted(found, key=lambda merge: merge[0])}


def by_list(merges: Mapping[Pair, int], pieces: Iterable[bytes]) -> dict[bytes, Pair]:
    """The last merges of the pieces, in the order of the list. The pair that is first in the list merges first."""
    found = _last_merges(pieces, lambda left, right: merges.get((left, right), _NEVER))
    return {left + right: (left, right) for _, left, right in sorted(found, key=lambda merge: merge[0])}


def _last_merges(pieces: Iterable[bytes], rank: Callable[[bytes, bytes], int]) -> list[tuple[int, bytes, bytes]]:
    found = (_last_merge(piece, rank) for piece in pieces if len(piece) > 1)
    return [merge for merge in found if merge is not None]


def _last_merge(piece: bytes, rank: Callable[[bytes, bytes], int]) -> tuple[int, bytes, bytes] | None:
    parts = [piece[k : k + 1] for k in range(len(piece))]
    ranks = [rank(left, right) for left, right in pairwise(parts)]
    while True:
        best = min(ranks)
        if best == _NEVER:
            return None
        if len(parts) == 2:
            return best, parts[0], parts[1]
        at = ranks.index(best)
        joined = parts[at] + parts[at + 1]
        parts[at : at + 2] = [joined]
        del ranks[at]
        if at > 0:
            ranks[at - 1] = rank(parts[at - 1], joined)
        if at < len(ranks):
            ranks[at] = rank(joined, parts[at + 1])
