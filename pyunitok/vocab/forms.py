"""Unicode normalization by this Python's unicodedata, in linear time.

unicodedata sorts combining marks by insertion, so n marks of alternating classes take O(n * n) time. This module sorts
long runs of marks first. The result is the same, because normal forms do not depend on the order of marks of different
classes.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_RUN_MIN = 64  # shorter runs of marks are sorted by unicodedata
_UNCLASSED_MARKS = frozenset("\u0f73\u0f75\u0f81\uff9e\uff9f")  # class 0, but they decompose into marks


def normalize(form: Form, text: str) -> str:
    """Like unicodedata.normalize(form, text), but in linear time. Returns `text` itself if it is normalized."""
    if _has_long_run(text):
        text = _with_sorted_marks(form, text)
    return unicodedata.normalize(form, text)


def _has_long_run(text: str) -> bool:
    """Whether the text has a run of _RUN_MIN marks. A run covers a multiple of _RUN_MIN, so sampling finds it."""
    sample = set(text[::_RUN_MIN])
    if not any(map(unicodedata.combining, sample)) and sample.isdisjoint(_UNCLASSED_MARKS):
        return False
    for at in range(0, len(text), _RUN_MIN):
        around = text[max(0, at - _RUN_MIN + 1) : at + _RUN_MIN]
        if _is_mark(text[at]) and max(sum(run) for _, run in groupby(map(_is_mark, around))) >= _RUN_MIN:
            return True
    return False


def _is_mark(character: str) -> bool:
    """Whether its canonical or compatibility decomposition begins with a character that normalization may reorder."""
    return unicodedata.combining(character) != 0 or character in _UNCLASSED_MARKS


def _with_sorted_marks(form: Form, text: str) -> str:
    decomposed: Form = "NFKD" if form in ("NFKC", "NFKD") else "NFD"
    marks = [c for c in set(text) if unicodedata.combining(unicodedata.normalize(decomposed, c)[0])]
    if not marks:
        return text

    def in_order(match: re.Match[str]) -> str:
        parts = {c: unicodedata.normalize(decomposed, c) for c in set(match[0])}
        return "".join(sorted("".join(parts[c] for c in match[0]), key=unicodedata.combining))

    return re.sub(f"[{re.escape(''.join(sorted(marks)))}]{{{_RUN_MIN},}}", in_order, text)
