"""Unicode's normal forms by this Python's unicodedata, in linear time.

unicodedata sorts the marks after a character by insertion: n marks of two classes in turn take n * n steps. Here, long
runs of marks are sorted before it sees them. That changes no result: texts that differ in the order of marks of
different classes alone have the same normal forms.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_RUN_MIN = 64  # marks that are sorted here; shorter runs are cheap


def normalize(form: Form, text: str) -> str:
    """unicodedata.normalize(form, text), the same but for its time."""
    if len(text) >= _RUN_MIN and not text.isascii():
        text = _with_sorted_marks(form, text)
    return unicodedata.normalize(form, text)


def _with_sorted_marks(form: Form, text: str) -> str:
    decomposed: Form = "NFKD" if form in ("NFKC", "NFKD") else "NFD"
    marks = [c for c in set(text) if not c.isascii() and _is_mark(unicodedata.normalize(decomposed, c))]
    if not marks:
        return text

    def in_order(match: re.Match[str]) -> str:
        parts = {c: unicodedata.normalize(decomposed, c) for c in set(match[0])}
        return "".join(sorted("".join(parts[c] for c in match[0]), key=unicodedata.combining))

    return re.sub(f"[{re.escape(''.join(sorted(marks)))}]{{{_RUN_MIN},}}", in_order, text)


def _is_mark(decomposed: str) -> bool:
    """Whether it begins with a character that marks can move over."""
    return unicodedata.combining(decomposed[0]) != 0
