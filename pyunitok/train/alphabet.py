"""Chooses the characters of a model: the most frequent ones up to character_coverage; all others are unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok._c.train import CODE_POINTS, Counts
from pyunitok.errors import NoTextError, TrainingError
from pyunitok.packed import Bytes

UNKNOWN, BOUNDARY = 0x2585, 0x1F


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The characters of a model.

    required  code point -> count, by descending count, then by code point: sentencepiece's required_chars
    keep      uint8[0x110000]: 1 for each required character; None keeps every character
    coverage  the share of the text's characters that are kept
    """

    required: dict[int, int]
    keep: Bytes | None
    coverage: float

    def pieces(self) -> list[bytes]:
        return [chr(c).encode() for c in self.required]


def choose(by_char: Counts, spec: Any, *, may_be_empty: bool = False) -> Alphabet:
    """Choose the characters of a model.

    by_char       the count of each code point
    may_be_empty  accept a text without characters if coverage is automatic
    """
    by_char = by_char.copy()
    by_char[0] = 0
    total = int(by_char.sum())
    if total == 0 and not (may_be_empty and spec.auto_character_coverage):
        raise NoTextError("there is no text to train on: lines are empty, too long, or contain reserved characters")
    if spec.auto_character_coverage:
        return Alphabet({}, None, 1.0)
    wanted = np.zeros(CODE_POINTS, bool)
    wanted[[ord(c) for c in spec.required_chars.decode("utf-8", "replace") if c != "\0"]] = True
    codes = np.flatnonzero(wanted | (by_char > 0))
    counts = by_char[codes].astype(np.int64)
    order = np.lexsort((codes, -counts, ~wanted[codes]))
    codes, counts = codes[order], counts[order]
    before = np.concatenate(([0], np.cumsum(counts)[:-1]))
    if not spec.use_all_vocab:
        covered = (before / total).astype(np.float32) >= np.float32(spec.character_coverage)
        n = int(covered.argmax()) if covered.any() else len(codes)
        codes, counts = codes[:n], counts[:n]
    coverage = float(counts.sum() / total)
    counts, codes = counts[codes != BOUNDARY], codes[codes != BOUNDARY]
    if UNKNOWN in codes:
        raise TrainingError("U+2585 stands for unknown characters and cannot be a character of the model")
    if ord(" ") in codes:
        raise TrainingError("a space cannot be a character of the model: it becomes U+2581")
    order = np.lexsort((codes, -counts))
    keep = np.zeros(CODE_POINTS, np.uint8)
    keep[codes] = 1
    return Alphabet(dict(zip(codes[order].tolist(), counts[order].tolist(), strict=True)), keep, coverage)


def check_capacity(alphabet: Alphabet, n_meta: int, spec: Any) -> None:
    """Raise TrainingError if characters and symbols alone exceed vocab_size."""
    needed = len(alphabet.required) + n_meta
    if needed > spec.vocab_size:
        raise TrainingError(
            f"vocab_size is {spec.vocab_size}, but {len(alphabet.required)} characters and {n_meta} symbols need"
            f" {needed}: raise vocab_size or lower character_coverage"
        )
    if spec.auto_character_coverage and n_meta >= spec.vocab_size:
        raise TrainingError(f"vocab_size is {spec.vocab_size}; it must be above the number of symbols, {n_meta}")
