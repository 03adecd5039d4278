"""Normalization to NFC by Python's unicodedata, as BytePiece does it.

Invalid bytes are left unchanged, and the texts before and after them are normalized separately.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from itertools import pairwise
from operator import is_
from typing import Any

import numpy as np

from pyunitok._c import scratch as c_scratch
from pyunitok.packed import Bytes, Ids, Offsets
from pyunitok.vocab import forms


def normalize(text: bytes) -> bytes:
    """The text in NFC, by this Python's Unicode version; `text` itself if it is in NFC. O(n)."""
    if text.isascii():
        return text
    before = _unescape(text)
    after = forms.normalize("NFC", before)
    return text if after is before else _escape(after)


def normalize_packed(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets]:
    """Packed texts in NFC; the arrays themselves if all texts are in NFC."""
    texts = [data[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())]
    parts = [normalize(text) for text in texts]
    if all(map(is_, parts, texts)):
        return data, offsets
    return np.frombuffer(b"".join(parts), np.uint8), np.concatenate(([0], np.cumsum([len(part) for part in parts])))


def _unescape(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")  # invalid bytes become U+DC80..U+DCFF, which NFC never combines


def _escape(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def normalize_with_offsets(text: bytes) -> tuple[bytes, Offsets, Offsets]:
    """(the text in NFC, begins, ends): normalized byte i comes from text[begins[i]:ends[i]]. Both are int64[n + 1].

    Characters that change together, such as a letter and its marks, all map to the same range. Slow, because it
    handles the text character by character.
    """
    out: list[bytes] = []
    begins: list[int] = []
    ends: list[int] = []
    at = 0
    for part in _parts(_unescape(text)):
        source, result = _escape(part), _escape(forms.normalize("NFC", part))
        if source == result:
            begins += range(at, at + len(source))
            ends += range(at + 1, at + len(source) + 1)
        else:
            begins += [at] * len(result)
            ends += [at + len(source)] * len(result)
        out.append(result)
        at += len(source)
    return b"".join(out), np.array([*begins, at], np.int64), np.array([*ends, at], np.int64)


def _parts(text: str) -> list[str]:
    """The text in parts that can be normalized independently."""
    cuts = [i for i, character in enumerate(text) if i == 0 or character.isascii() or _begins_anew(character)]
    return [text[begin:end] for begin, end in pairwise([*cuts, len(text)])]


def _begins_anew(character: str) -> bool:
    """Whether the character never combines with the text before it, and marks never move across it."""
    return (
        unicodedata.combining(character) == 0
        and character not in _joining()
        and unicodedata.is_normalized("NFC", character)
    )


@cache
def _joining() -> frozenset[str]:
    """The second character of every pair that NFC composes: from decompositions, and the vowels and final consonants
    of Hangul."""
    parts = (unicodedata.decomposition(chr(code)).split() for code in range(sys.maxunicode + 1))
    seconds = {chr(int(pair[1], 16)) for pair in parts if len(pair) == 2 and not pair[0].startswith("<")}
    return frozenset(seconds | set(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)])))


class NfcScratch(c_scratch.Scratch):
    """A c_scratch.Scratch that normalizes texts to NFC first."""

    __slots__ = ()

    def encode(self, text: bytes) -> Any:
        return super().encode(normalize(text))

    def encode_list(self, text: bytes) -> list[int]:
        return super().encode_list(normalize(text))

    def count(self, text: bytes) -> int:
        return super().count(normalize(text))

    def encode_spans(self, text: bytes) -> Offsets:
        if normalize(text) is text:
            return super().encode_spans(text)
        normalized, begins, ends = normalize_with_offsets(text)
        spans = super().encode_spans(normalized)
        spans[:, 1] = begins[spans[:, 1]]
        spans[:, 2] = ends[spans[:, 2] - 1]
        return spans

    def encode_each(self, texts: list[bytes], ids: Ids) -> Offsets:
        return super().encode_each([normalize(text) for text in texts], ids)

    def encode_batch(self, data: Bytes, offsets: Offsets, ids: Ids, id_offsets: Offsets, **options: Any) -> int:
        data, offsets = normalize_packed(data, offsets)
        return super().encode_batch(data, offsets, ids, id_offsets, **options)


def split(text: bytes | bytearray | memoryview) -> int:
    """The length of the prefix of an unfinished text that can be normalized and encoded now; may be 0.

    The prefix ends after the last run of newlines that is followed by the first byte of a character. NFC never combines
    or moves a newline, and BytePiece restarts after it, so both sides can be processed independently.
    """
    view = np.frombuffer(text, np.uint8)
    is_newline = view == ord("\n")
    places = np.flatnonzero(is_newline[:-1] & ~is_newline[1:] & (view[1:] & 0xC0 != 0x80))
    return int(places[-1]) + 1 if len(places) else 0

