"""Unicode's form NFC, into which BytePiece puts texts, by Python's unicodedata.

Invalid bytes stay as they are; the text before and after each is normalized by itself.
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
    """The text in NFC, by this Python's Unicode version; the same object if it is in NFC. O(n)."""
    if text.isascii():
        return text
    before = _unescape(text)
    after = forms.normalize("NFC", before)
    return text if after is before else _escape(after)


def normalize_packed(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets]:
    """Packed texts in NFC; the same arrays if all of them are."""
    texts = [data[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())]
    parts = [normalize(text) for text in texts]
    if all(map(is_, parts, texts)):
        return data, offsets
    return np.frombuffer(b"".join(parts), np.uint8), np.concatenate(([0], np.cumsum([len(part) for part in parts])))


def _unescape(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")  # U+DC80..U+DCFF for other bytes: starters that join with nothing


def _escape(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def normalize_with_offsets(text: bytes) -> tuple[bytes, Offsets, Offsets]:
    """The text in NFC, and where each byte of it comes from: int64[n + 1] begins and ends in the text.

    What changes together (a character and its marks) has all of it as its source. Slow: a step for each character.
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
    """The text, cut before each character that starts a new part: NFC of the whole is the NFC of the parts."""
    cuts = [i for i, character in enumerate(text) if i == 0 or character.isascii() or _begins_anew(character)]
    return [text[begin:end] for begin, end in pairwise([*cuts, len(text)])]


def _begins_anew(character: str) -> bool:
    """Whether it joins nothing before it, and no mark moves over it."""
    return (
        unicodedata.combining(character) == 0
        and character not in _joining()
        and unicodedata.is_normalized("NFC", character)
    )


@cache
def _joining() -> frozenset[str]:
    """The second character of every pair that NFC can compose: those of decompositions, and vowels and final consonants
    of Hangul."""
    parts = (unicodedata.decomposition(chr(code)).split() for code in range(sys.maxunicode + 1))
    seconds = {chr(int(pair[1], 16)) for pair in parts if len(pair) == 2 and not pair[0].startswith("<")}
    return frozenset(seconds | set(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)])))


class NfcScratch(c_scratch.Scratch):
    """A c_scratch.Scratch that puts texts in NFC before C sees them."""

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

    def encode_batch(
        self,
        data: Bytes,
        offsets: Offsets,
        ids: Ids,
        id_offsets: Offsets,
        **options: Any,
    ) -> int:
        data, offsets = normalize_packed(data, offsets)
        return super().encode_batch(data, offsets, ids, id_offsets, **options)


def split(text: bytes | bytearray | memoryview) -> int:
    """How much of an unfinished text can be put in form and encoded now: up to the last run of newlines that something
    follows that is not a continuation byte. 0 if there is none yet: the caller holds the text until there is.

    A newline joins nothing and stays, so NFC of the whole is that of both sides; and BytePiece begins anew there.
    """
    view = np.frombuffer(text, np.uint8)
    is_newline = view == _NEWLINE
    places = np.flatnonzero(is_newline[:-1] & ~is_newline[1:] & (view[1:] & 0xC0 != 0x80))
    return int(places[-1]) + 1 if len(places) else 0


_NEWLINE = ord("\n")
