"""Rules say which documents or items are contaminated, and what happens to the documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.grams import MAX_LENGTHS, MAX_UNITS
from pyunitok.errors import OptionError

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Shares = np.ndarray[Any, np.dtype[np.float64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]

UNITS = ("words", "bytes", "tokens")
ACTIONS = ("drop", "cut", "mark", "report")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When and how a corpus is decontaminated.

    unit, n      n-grams of `n` words, bytes or tokens are compared; see corpus/words.py for words, which are compared
                 as str.casefold() gives them
    min_units    an item with fewer than n units is compared as a whole if it has at least min_units; a shorter one is
                 not tested. None: n, but at most 8
    min_share    a document is contaminated if n-grams that it contains cover this share of an item's units; 0: any
                 n-gram
    max_common   ignore n-grams that occur in more documents; this takes a second pass. None: ignore none
    action       drop: leave contaminated documents out. cut: remove the n-grams and cut_around characters on each
                 side, and write what remains as documents, unless it is shorter than min_piece characters or there are
                 more than max_pieces. mark: add the field "contamination" to JSON lines. report: write no corpus
    item_share   report items of whose n-grams this share occurs anywhere in the corpus; None: items that some document
                 contaminates
    """

    unit: str = "words"
    n: int = 13
    min_units: int | None = None
    min_share: float = 0.0
    max_common: int | None = 10
    action: str = "drop"
    cut_around: int = 200
    min_piece: int = 200
    max_pieces: int = 10
    item_share: float | None = None

    @property
    def least_units(self) -> int:
        return min(self.n, 8) if self.min_units is None else self.min_units

    def contaminates(self, texts: Int64s, shares: Shares) -> Bools:
        """Which matches make a document contaminated: numbers of texts, and the shares of their units that it has."""
        return shares >= self.min_share

    def check(self) -> None:
        """OptionError for a value that is out of range."""
        for name, value, values in (("unit", self.unit, UNITS), ("action", self.action, ACTIONS)):
            if value not in values:
                raise OptionError(f"{name} must be one of {', '.join(values)}, not {value!r}")
        if not 1 <= self.n <= MAX_UNITS:
            raise OptionError(f"n must be 1 to {MAX_UNITS}, not {self.n}")
        if not max(1, self.n - MAX_LENGTHS + 1) <= self.least_units <= self.n:
            raise OptionError(
                f"items of {self.least_units} {self.unit} cannot be compared as a whole with n = {self.n}; min_units"
                f" must be {max(1, self.n - MAX_LENGTHS + 1)} to {self.n}"
            )
        if not 0 <= self.min_share <= 1:
            raise OptionError(f"min_share must be 0 to 1, not {self.min_share}")
        if self.max_common is not None and self.max_common < 1:
            raise OptionError(f"max_common must be at least 1 or None, not {self.max_common}")


# gpt3: Brown et al. 2020 (arXiv 2005.14165), appendix C: 13 words, 200 characters on each side, pieces below 200
# characters dropped, documents in more than 10 pieces dropped, n-grams in more than 10 documents ignored.
# palm: Chowdhery et al. 2022 (arXiv 2204.02311), section 8: items of whose 8-grams at least 70 % occur.
PRESETS: dict[str, dict[str, object]] = {
    "gpt3": {"unit": "words", "n": 13, "min_units": 8, "max_common": 10, "action": "cut", "cut_around": 200,
             "min_piece": 200, "max_pieces": 10},
    "palm": {"unit": "words", "n": 8, "min_units": 8, "max_common": None, "action": "report", "item_share": 0.7},
}  # fmt: skip
