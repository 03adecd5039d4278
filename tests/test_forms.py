"""NFC takes linear time and matches unicodedata, even for long runs of marks."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyunitok.vocab import nfc

MARKS = [
    c
    for c in map(chr, range(0x300, sys.maxunicode + 1))
    if not "\ud800" <= c <= "\udfff" and unicodedata.combining(unicodedata.normalize("NFKD", c)[0])
]
RUNS = st.lists(st.sampled_from(MARKS), min_size=1, max_size=6).flatmap(
    lambda marks: st.lists(st.sampled_from(marks), min_size=1, max_size=90).map("".join)
)
BASES = st.sampled_from(["", "a", "\u00e9", "\u0915", "\uac01", "\udc80", "\u1100\u1161"])


@given(st.lists(st.tuples(BASES, RUNS), max_size=4))
def test_nfc_matches_unicodedata(parts: list[tuple[str, str]]) -> None:
    text = "".join(base + run for base, run in parts)
    assert nfc.normalize_text(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("unit", ["\u0301\u0323", "\u0f73", "\u0344\u0323"])
def test_marks_of_two_classes_take_linear_time(unit: str) -> None:
    """A million marks take a second; with insertion sort, they would take an hour."""
    text = "a" + unit * 500_000
    found = nfc.normalize(text.encode()).decode()
    classes = [unicodedata.combining(c) for c in found[1:]]
    assert classes == sorted(classes) and len(found) > 500_000
