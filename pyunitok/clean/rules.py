"""Rules define which documents or items are contaminated, and what to do with the documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.grams import MAX_LENGTHS, MAX_UNITS
from pyunitok.errors import OptionError

UNITS = ("words", "bytes", "tokens")
ACTIONS = ("drop", "cut", "mark", "report")
MEASURES = ("units", "grams", "idf")
OVER_HALF = 0.5 + 2**-30  # above 1/2, but below every larger share k / n with n < 2^29 units


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When and how a corpus is decontaminated.

    unit, n      compare n-grams of `n` words, bytes or tokens; corpus/words.py defines words, which are compared after
                 str.casefold()
    folded       compare tokens of lower-case (ASCII) words without punctuation, each preceded by one space
    paragraphs   compare each line of an item separately
    fields       compare only these fields of a benchmark, if it has any of them
    min_item     a text with fewer units than this is not tested
    min_units    a text with fewer than n units is compared in full if it has at least min_units; shorter texts are not
                 tested. None: the smaller of n and 8
    min_share    a document is contaminated if n-grams that it contains make up at least this share of a text; 0: any
                 n-gram suffices
    measure      how shares are measured. units: in units that n-grams cover. grams: in n-grams. idf: in n-grams, each
                 weighted by the logarithm of the number of texts divided by the number of texts with this n-gram
    perfect      (a, b): texts of up to `a` units require a share of 1; for longer texts, the share falls to min_share
                 at `b` units
    max_common   ignore n-grams that occur in more documents than this; this requires a second pass. None: ignore none
    set_share    act only on benchmarks with more than this share of contaminated items; this requires a second pass
    action       drop: drop contaminated documents. cut: remove the n-grams and cut_around characters on each side,
                 and write the remaining pieces of at least min_piece characters as documents; drop documents with more
                 than max_pieces. mark: add the field "contamination". report: write no corpus
    item_share   an item is contaminated if n-grams that occur anywhere in the corpus make up at least this share of the
                 item; None: an item is contaminated if it contaminates a document
    mismatches   with item_share, a match continues after its n-gram until more than this many tokens differ; equal
                 tokens after the n-gram also count
    """

    unit: str = "words"
    n: int = 13
    folded: bool = False
    paragraphs: bool = False
    fields: tuple[str, ...] = ()
    min_item: int = 0
    min_units: int | None = None
    min_share: float = 0.0
    measure: str = "units"
    perfect: tuple[int, int] | None = None
    max_common: int | None = 10
    set_share: float | None = None
    action: str = "drop"
    cut_around: int = 200
    min_piece: int = 200
    max_pieces: int = 10
    item_share: float | None = None
    mismatches: int = 0

    @property
    def least_units(self) -> int:
        return min(self.n, 8) if self.min_units is None else self.min_units

    @property
    def passes(self) -> int:
        """The number of times that the corpus is read."""
        return 1 if self.max_common is None and self.set_share is None else 2

    def least_shares(self, n_units: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """For texts of these sizes, the smallest share that contaminates a document."""
        if self.perfect is None:
            return np.full(len(n_units), self.min_share)
        ret: np.ndarray[Any, Any] = np.interp(n_units, self.perfect, (1.0, self.min_share))
        return ret

    def check(self) -> None:
        """Raise OptionError if a value is out of range."""
        for name, value, values in (
            ("unit", self.unit, UNITS), ("action", self.action, ACTIONS), ("measure", self.measure, MEASURES)
        ):  # fmt: skip
            if value not in values:
                raise OptionError(f"{name} must be one of {', '.join(values)}, not {value!r}")
        if not 1 <= self.n <= MAX_UNITS:
            raise OptionError(f"n must be 1 to {MAX_UNITS}, not {self.n}")
        if not max(1, self.n - MAX_LENGTHS + 1) <= self.least_units <= self.n:
            raise OptionError(
                f"items of {self.least_units} {self.unit} cannot be compared in full with n = {self.n}; min_units"
                f" must be {max(1, self.n - MAX_LENGTHS + 1)} to {self.n}"
            )
        for name, share in (("min_share", self.min_share), ("set_share", self.set_share)):
            if share is not None and not 0 <= share <= 1:
                raise OptionError(f"{name} must be 0 to 1, not {share}")
        if self.max_common is not None and self.max_common < 1:
            raise OptionError(f"max_common must be at least 1 or None, not {self.max_common}")
        if self.max_common is not None and self.set_share is not None:
            raise OptionError("set_share and max_common cannot be combined; pass max_common None (--max-common none)")
        if self.folded and self.unit != "tokens":
            raise OptionError("folded requires unit tokens; words are always compared case-folded")
        if self.mismatches < 0:
            raise OptionError(f"mismatches must be at least 0, not {self.mismatches}")
        is_simple = self.unit == "tokens" and self.measure == "units" and self.max_common is None
        if self.mismatches and (self.item_share is None or not is_simple):
            raise OptionError(
                "mismatches (preset llama2) requires item_share, unit tokens, measure units and max_common None"
            )


# gpt3: Brown et al. 2020 (arXiv 2005.14165), appendix C: 13-grams of lower-case words without punctuation are removed,
# with 200 characters on each side; pieces of fewer than 200 characters are dropped, as are documents split into more
# than 10 pieces; n-grams in more than 10 documents are ignored.
# decon: github.com/allenai/decon, config/default.yaml and doc/simple-details.md: 5-grams of cl100k tokens of the folded
# text, weighted by IDF; questions of 50 tokens or more require a share of 0.8, and questions of 20 tokens a share of 1;
# shorter questions are ignored. Not implemented: sampling, limiting a match to one place in the document, and weighting
# answers and passages.
# olmo: Magnusson et al. 2023 (Paloma, arXiv 2312.10523) and Soldaini et al. 2024 (Dolma, 2402.00159): documents that
# contain a paragraph of the evaluation data, of at least 13 words, are removed.
# tulu3: Lambert et al. 2024 (arXiv 2411.15124) and decontamination/ of github.com/allenai/open-instruct: documents are
# removed if their 8-grams cover more than half of an item, for evaluations with more than 2 % of their items matched.
# palm: Chowdhery et al. 2022 (arXiv 2204.02311), section 8: items are contaminated if the corpus contains at least 70 %
# of their 8-grams.
# llama2: Touvron et al. 2023 (arXiv 2307.09288), appendix A.6: items are contaminated if at least 80 % of their tokens
# are in n-grams of 10 or more tokens that the corpus contains; up to 4 tokens after the first 10 may differ.
PRESETS: dict[str, dict[str, Any]] = {
    "gpt3": {"unit": "words", "n": 13, "min_units": 13, "max_common": 10, "action": "cut", "cut_around": 200,
             "min_piece": 200, "max_pieces": 10},
    "decon": {"unit": "tokens", "folded": True, "n": 5, "min_item": 20, "min_share": 0.8, "measure": "idf",
              "perfect": (20, 50), "fields": ("question",), "max_common": None, "action": "drop"},
    "olmo": {"unit": "words", "n": 13, "min_units": 13, "paragraphs": True, "min_share": 1.0, "max_common": None,
             "action": "drop"},
    "tulu3": {"unit": "words", "n": 8, "min_share": OVER_HALF, "set_share": 0.02, "max_common": None,
              "action": "drop"},
    "palm": {"unit": "words", "n": 8, "min_units": 8, "max_common": None, "measure": "grams", "action": "report",
             "item_share": 0.7},
    "llama2": {"unit": "tokens", "n": 10, "max_common": None, "action": "report", "item_share": 0.8,
               "mismatches": 4},
}  # fmt: skip
