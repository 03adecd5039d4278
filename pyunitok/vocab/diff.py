"""diff() compares two vocabularies of any kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyunitok.packed import Packed
from pyunitok.vocab.lists import escape
from pyunitok.vocab.vocabulary import split


@dataclass(frozen=True)
class Difference:
    """The difference between vocabularies A and B, ordered by id.

    only_a   (piece, id in A)
    only_b   (piece, id in B)
    changed  (piece, ids in A, ids in B). A SentencePiece byte piece and a text piece may spell the same byte, so a
             piece can have two ids
    n_same   the number of pieces with equal ids
    """

    only_a: list[tuple[bytes, int]]
    only_b: list[tuple[bytes, int]]
    changed: list[tuple[bytes, list[int], list[int]]]
    n_same: int

    def to_json(self) -> dict[str, Any]:
        """Pieces are escaped by lists.escape()."""
        return {
            "same": self.n_same,
            "only_a": [{"id": id_, "piece": escape(piece)} for piece, id_ in self.only_a],
            "only_b": [{"id": id_, "piece": escape(piece)} for piece, id_ in self.only_b],
            "changed": [
                {"piece": escape(piece), "ids_a": ids_a, "ids_b": ids_b} for piece, ids_a, ids_b in self.changed
            ],
        }


def diff(a: Packed, b: Packed) -> Difference:
    """Compare the Tokenizer.pieces() of two models."""
    ids_a, ids_b = _ids_by_piece(a), _ids_by_piece(b)
    changed = [(piece, ids, ids_b[piece]) for piece, ids in ids_a.items() if ids_b.get(piece, ids) != ids]
    n_same = sum(ids_b.get(piece) == ids for piece, ids in ids_a.items())
    return Difference(_only(ids_a, ids_b), _only(ids_b, ids_a), changed, n_same)


def _only(these: dict[bytes, list[int]], others: Iterable[bytes]) -> list[tuple[bytes, int]]:
    return sorted(
        ((piece, id_) for piece in these.keys() - set(others) for id_ in these[piece]), key=lambda pair: pair[1]
    )


def _ids_by_piece(pieces: Packed) -> dict[bytes, list[int]]:
    ret: dict[bytes, list[int]] = {}
    for id_, piece in enumerate(split(pieces.data, pieces.offsets)):
        if piece:
            ret.setdefault(piece, []).append(id_)
    return ret
