"""Folds texts as allenai/decon does before it tokenizes them: lower-case words, each preceded by one space.

    data      "The cat",  sat.
    folded     the cat sat              punctuation and white space separate words
    places    012345678 …               the origin of each folded byte; a space added at the start has the word's origin
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok.packed import Bytes, Offsets

_PUNCTUATION = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_QUOTES = ("\u2018", "\u2019", "\u201c", "\u201d", "\u2014")  # quotation marks and the em dash, three bytes each
_TABLE = bytes(
    32 if byte in _PUNCTUATION + b" \t\n\v\f\r" else byte + 32 if 65 <= byte <= 90 else byte for byte in range(256)
)


def folded(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets, np.ndarray[Any, np.dtype[np.int64]]]:
    """The folded texts, their offsets, and for each folded byte its position in `data`. Only ASCII letters change
    case."""
    end = int(offsets[-1])
    text = np.frombuffer(data[:end].tobytes().translate(_TABLE), np.uint8).copy()
    for quote in _QUOTES:
        codes = quote.encode()
        found = np.flatnonzero((text[:-2] == codes[0]) & (text[1:-1] == codes[1]) & (text[2:] == codes[2]))
        for k in range(3):
            text[found + k] = 32
    is_kept = text != 32
    is_kept[:-1] |= text[1:] != 32  # keeps the last space before a word
    ends = offsets[1:]
    last = ends[ends > offsets[:-1]] - 1
    is_kept[last] = text[last] != 32
    places = np.flatnonzero(is_kept)
    first = np.searchsorted(places, offsets[:-1][ends > offsets[:-1]])
    first = np.unique(first[first < len(places)])
    first = first[text[places[first]] != 32]
    places, kept = np.insert(places, first, places[first]), np.insert(text[places], first, np.uint8(32))
    return kept, np.searchsorted(places, offsets), places
