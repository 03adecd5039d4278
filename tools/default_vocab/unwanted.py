"""Finds unwanted words in pieces. unwanted.txt lists the words and describes its format."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("unwanted.txt")
# Marks that are part of a word, such as the vowel signs of Indic scripts and Thai, which `\w` does not match.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0903\u093a-\u094f\u0955-\u0957\u0962-\u0963"
    "\u0981-\u0983\u09bc-\u09d7\u09e2-\u09e3\u0a01-\u0a03\u0a3c-\u0a51\u0a70-\u0a75\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03"
    "\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d"
    "\u0d57\u0d81-\u0d83\u0dca-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3"
)
_WORD = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+")


@cache
def _patterns() -> tuple[frozenset[str], re.Pattern[str], re.Pattern[str]]:
    """The complete words, the stems at the beginning of words, and the stems anywhere in words."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    entries = [entry.lower() for line in lines if not line.startswith("#") for entry in line.split()]
    words = frozenset(entry for entry in entries if "*" not in entry)
    begin = sorted(entry[:-1] for entry in entries if entry.endswith("*") and not entry.startswith("*"))
    inside = sorted(entry[1:-1] for entry in entries if entry.startswith("*"))
    return words, re.compile("|".join(map(re.escape, begin))), re.compile("|".join(map(re.escape, inside)))


def is_unwanted(piece: bytes) -> bool:
    """Whether a piece contains a word from the list, ignoring case. Fragments of such words are allowed."""
    words, begin, inside = _patterns()
    return any(
        word in words or begin.match(word) or inside.search(word)
        for word in _WORD.findall(piece.decode("utf-8", "replace").lower())
    )
