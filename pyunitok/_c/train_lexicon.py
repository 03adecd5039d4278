"""Bindings for the section "Unigram" of csrc/unitok_train.h."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyunitok._c.library import allocate, create, ffi, lib, pointer
from pyunitok._c.sharing import share_out
from pyunitok._c.train import Counts, Units
from pyunitok.packed import Bytes

LEXICON_PARTS = 4  # parts per thread
MIN_LEXICON_PART = 1 << 10  # pieces per part
Floats = np.ndarray[Any, np.dtype[np.float32]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]


def _call(name: str, *arguments: Any) -> None:
    if getattr(lib, f"unitok_unigram_{name}")(*arguments):
        raise MemoryError("not enough memory for the lattice")


def _width(array: Floats | Doubles) -> str:
    return "f32" if array.dtype == np.float32 else "f64"


class Lattice:
    """Working memory for the lattices of one thread."""

    def __init__(self) -> None:
        self.handle: Any = allocate("lattice")


class KeptEdges:
    """A cache of at most max_bytes for repeated calls with the same units; see unitok_edges."""

    def __init__(self, max_bytes: int) -> None:
        self.handle: Any = allocate("edges", max_bytes)

    @property
    def memory_bytes(self) -> int:
        return int(lib.unitok_edges_memory_bytes(self.handle))

    def renumber(self, numbers: Numbers) -> None:
        """Tell the cache that piece i now has number numbers[i]; -1 if it was dropped."""
        lib.unitok_edges_renumber(self.handle, pointer(numbers))


@dataclass(frozen=True, eq=False)
class Scored:
    """A Unigram model during training. The arrays have one entry per piece.

    unknown_score  the score of an unknown character
    unknown_piece  the piece whose count includes unknown characters; -1: none
    """

    lattice: Lattice
    alive: Bytes
    scores: Floats | Doubles
    unknown_score: float
    unknown_piece: int = -1
    live_scores: Floats | Doubles = field(init=False)

    def __post_init__(self) -> None:
        dropped = self.scores.dtype.type(-np.inf)
        object.__setattr__(self, "live_scores", np.where(self.alive == 1, self.scores, dropped))


def _parts(pieces: Units, n: int) -> list[tuple[int, int]]:
    """Divide the pieces into about n ranges. Pieces with the same first byte are in the same range. Returns no ranges
    if they would be too small."""
    size = len(pieces) / n
    if size < MIN_LEXICON_PART:
        return []
    ret, begin = [], 0
    for end in [*(np.flatnonzero(np.diff(pieces.data[pieces.offsets[:-1]])) + 1).tolist(), len(pieces)]:
        if end - begin >= size or end == len(pieces):
            ret.append((begin, end))
            begin = end
    return ret


def _lexicon_parts(pieces: Units, parts: list[tuple[int, int]], threads: int) -> list[Any]:
    """The lexicon of each part."""
    made: list[Any] = [None] * len(parts)

    def work(_: int, k: int) -> None:
        made[k] = create("lexicon", pointer(pieces.data), pointer(pieces.offsets), *parts[k], True)

    share_out(range(len(parts)), threads, work)
    return made


class Lexicon:
    """The pieces of a Unigram model during training. All arrays have one entry per piece.

    pieces   sorted by bytes, all distinct; their counts are ignored
    threads  the number of threads to use if there are many pieces
    """

    def __init__(self, pieces: Units, threads: int = 1) -> None:
        self.pieces = pieces
        self.handle: Any
        parts = [] if threads == 1 else _parts(pieces, LEXICON_PARTS * threads)
        if len(parts) < 2:
            self.handle = create("lexicon", *self._list(), 0, len(pieces), False)
        else:
            made = _lexicon_parts(pieces, parts, threads)
            self.handle = create("lexicon", ffi.new("unitok_lexicon *[]", made), len(made), how="join")

    def expect(
        self, model: Scored, p: Doubles, p_unknown: float, units: Units, begin: int, end: int, unit: float,
        expected: Counts, kept: KeptEdges | None = None,
    ) -> float:  # fmt: skip
        """Add the expected counts of the pieces in units begin..end-1 to `expected`. Returns the log-likelihood.

        p  the probability of each piece; 0 if it is dropped
        """
        total, part = ffi.new("double *"), units.part(begin, end)
        head = self._scored(model, kept)[:3]
        _call("expect", *head, pointer(p), p_unknown, part, unit, pointer(expected), total)
        return float(total[0])

    def expect_exact(
        self, model: Scored, units: Units, begin: int, end: int, expected: Floats, kept: KeptEdges | None = None
    ) -> None:
        """Like expect, but with the same rounding as sentencepiece."""
        _call("expect_exact", *self._scored(model, kept), units.part(begin, end), pointer(expected))

    def paths(
        self, model: Scored, units: Units, begin: int, end: int, used: Floats | Doubles, kept: KeptEdges | None = None
    ) -> tuple[float, int]:
        """Count in `used` the pieces on the best paths of units begin..end-1. Returns the total score of the paths and
        the number of pieces."""
        score, tokens, part = ffi.new("double *"), ffi.new("int64_t *"), units.part(begin, end)
        _call("paths_" + _width(used), *self._scored(model, kept), part, pointer(used), score, tokens)
        return float(score[0]), int(tokens[0])

    def losses(
        self, model: Scored, begin: int, end: int, used: Floats | Doubles, total: float, losses: Floats | Doubles
    ) -> None:
        """For each of the pieces begin..end-1, compute the likelihood that is lost if the piece is removed."""
        lexicon, lattice, _, *scores = self._scored(model, None)
        _call(
            "losses_" + _width(used), lexicon, lattice, *scores, *self._list(), begin, end, pointer(used), total,
            pointer(losses),
        )  # fmt: skip

    def parts(self, model: Scored, begin: int, end: int, parts: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        """For each of the pieces begin..end-1, count the pieces on the best path that spells it from other pieces."""
        lexicon, lattice, _, *scores = self._scored(model, None)
        _call(
            "parts_" + _width(model.scores), lexicon, lattice, *scores[:2], *self._list(), begin, end, pointer(parts)
        )

    def recount(
        self, lattice: Lattice, alive: Bytes, scores: Doubles, units: Units, begin: int, end: int, used: Counts
    ) -> None:
        """Add to used[i] how often the best paths of units begin..end-1 use piece i. All single bytes must be alive."""
        part = units.part(begin, end)
        _call("recount", self.handle, lattice.handle, pointer(alive), pointer(scores), part, pointer(used))

    def _scored(self, model: Scored, kept: KeptEdges | None) -> tuple[Any, ...]:
        scores = (pointer(model.live_scores), model.unknown_score, model.unknown_piece)
        return self.handle, model.lattice.handle, ffi.NULL if kept is None else kept.handle, *scores

    def _list(self) -> tuple[Any, Any]:
        return pointer(self.pieces.data), pointer(self.pieces.offsets)


def maximize_exact(expected: Floats, order: Numbers, alive: Bytes, scores: Floats) -> None:
    """Compute new scores from expected counts, as in sentencepiece. Drops pieces with a count below 0.5."""
    lib.unitok_unigram_maximize_f32(pointer(expected), pointer(order), len(order), pointer(alive), pointer(scores))


def maximize(expected: Doubles, min_count: float, prior: str, alive: Bytes, scores: Doubles) -> None:
    """Compute new scores from expected counts. Drops pieces with a count below min_count."""
    number = lib.UNITOK_PRIOR_DIGAMMA if prior == "digamma" else lib.UNITOK_PRIOR_NONE
    lib.unitok_unigram_maximize_f64(
        pointer(expected), len(expected), min_count, number, pointer(alive), pointer(scores)
    )
