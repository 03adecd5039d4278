"""Computes the NFC and NFKC of Unicode 9, which `tokenizers` uses, with the unicodedata of a later Unicode version.

Unicode never changes the normal form of a character, but it adds characters. In Unicode 9, characters that were added
later are inert: nothing combines with them, and no mark moves across them. Therefore, added characters that later
versions decompose, compose or reorder are left unchanged, and the texts between them are normalized separately.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

import numpy as np

from pyunitok._c.text import is_normal
from pyunitok.packed import Bytes, Offsets
from pyunitok.vocab import nfc, utf8

# Ranges of these characters, up to Unicode 18. tests/test_unicode9.py compares them with tokenizers.
_LATER = """
    0558 058B-058C 05C8-05C9 07FD 0897-089F 08CA-08D3 09FE 0C3C 0D3B-0D3C 0EBA 1715 1ABF-1AF0 1DF6-1DFA 209D-209F 32FF
    A7F1-A7F4 A82C AB69 105C9 105E4 10781-10785 10787-107B0 107B2-107BF 10D24-10D27 10D69-10D6D 10EAB-10EAC 10ECB-10ECF
    10EF0-10EFB 10EFD-10EFF 10F46-10F50 10F82-10F85 11070 1133B 11383 11385 1138E 11391 113C5 113C7-113C8 113CE-113D0
    1145E 11839-1183A 11938 1193D-1193E 11943 119E0 11A34 11A47 11A99 11D42 11D44-11D45 11D97 11F41-11F42 16121-16128
    1612F 16D68-16D6A 16FF0-16FF1 1B123-1B126 1CCD6-1CCF9 1D127-1D128 1D250-1D252 1D25B-1D25C 1D25F 1D280-1D281 1D6A6
    1DF95 1DFCD-1DFFF 1E030-1E06D 1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF
    1E6F5 1F16C 1FBF0-1FBF9
"""
_RANGES = [(int(word.split("-")[0], 16), int(word.split("-")[-1], 16)) for word in _LATER.split()]
_SPLIT = re.compile(f"([{''.join(f'{chr(first)}-{chr(last)}' for first, last in _RANGES)}]+)")


def is_later(code_point: int) -> bool:
    return _SPLIT.match(chr(code_point)) is not None


def normalize(text: bytes, form: str) -> bytes:
    """The text in the form "NFC" or "NFKC" of Unicode 9; `text` itself if it is in that form. Invalid bytes are left
    unchanged, and the texts before and after them are normalized separately. O(n)."""
    if is_normal(text, form):
        return text
    before = utf8.escaped(text)  # invalid bytes become U+DC80..U+DCFF, which are inert
    parts = _SPLIT.split(before)
    parts[::2] = [nfc.normalize_text(_without_compat(part) if form == "NFKC" else part) for part in parts[::2]]
    after = "".join(parts)
    return text if after == before else utf8.unescaped(after)


def _without_compat(text: str) -> str:
    """The text with every compatibility character decomposed. The NFC of the result is the NFKC of the text."""
    found = {character: _decomposed(character) for character in set(text) if not character.isascii()}
    return text.translate({ord(key): value for key, value in found.items() if key != value})


@cache
def _decomposed(character: str) -> str:
    canonical, compatible = (unicodedata.normalize(form, character) for form in ("NFD", "NFKD"))
    return character if canonical == compatible else compatible


def normalize_packed(data: Bytes, offsets: Offsets, form: str) -> tuple[Bytes, Offsets]:
    """The packed texts in this normalization form; the given arrays if all texts already have it."""
    bounds = offsets.tolist()
    if is_normal(data[bounds[0] : bounds[-1]], form):
        return data, offsets
    texts = [data[begin:end].tobytes() for begin, end in pairwise(bounds)]
    parts = [normalize(text, form) for text in texts]
    return np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)])
