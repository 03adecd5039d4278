"""Normalizes texts to NFC with Python's unicodedata, as BytePiece does, but in linear time.

unicodedata sorts combining marks by insertion, so n marks of alternating classes take O(n * n) time. This module sorts
long runs of marks first, which does not change the result. Invalid bytes are left unchanged, and the texts before and
after them are normalized separately.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from itertools import groupby, pairwise
from operator import is_
from typing import Any

import numpy as np

from pyunitok._c import scratch as c_scratch
from pyunitok.packed import Bytes, Ids, Offsets
from pyunitok.vocab import utf8

_MARGIN_BYTES = 8  # at least two characters, one of which may be incomplete
_RUN_MIN = 64  # shorter runs of marks are sorted by unicodedata
_UNCLASSED_MARKS = "\u0f73\u0f75\u0f81"  # their combining class is 0, but they decompose into marks


def normalize(text: bytes) -> bytes:
    """The text in NFC, according to this Python's Unicode version; `text` itself if it is in NFC. O(n)."""
    if text.isascii():
        return text
    before = utf8.escaped(text)  # invalid bytes become U+DC80..U+DCFF, which NFC never combines
    after = normalize_text(before)
    return text if after is before else utf8.unescaped(after)


def normalize_text(text: str) -> str:
    """unicodedata.normalize("NFC", text) in linear time; `text` itself if it is in NFC."""
    if _has_long_run(text):
        marks = "".join(sorted(filter(_is_mark, set(text))))
        text = re.sub(f"[{re.escape(marks)}]{{{_RUN_MIN},}}", _sorted_run, text)
    return unicodedata.normalize("NFC", text)


def _has_long_run(text: str) -> bool:
    """Whether the text has a run of _RUN_MIN marks. Such a run contains a position that is a multiple of _RUN_MIN, so
    only these positions are sampled."""
    if not any(map(_is_mark, set(text[::_RUN_MIN]))):
        return False
    for at in range(0, len(text), _RUN_MIN):
        around = text[max(0, at - _RUN_MIN + 1) : at + _RUN_MIN]
        if _is_mark(text[at]) and max(sum(run) for _, run in groupby(map(_is_mark, around))) >= _RUN_MIN:
            return True
    return False


def _is_mark(character: str) -> bool:
    """Whether the character's canonical decomposition begins with a character that normalization may reorder."""
    return unicodedata.combining(character) != 0 or character in _UNCLASSED_MARKS


def _sorted_run(run: re.Match[str]) -> str:
    parts = {character: unicodedata.normalize("NFD", character) for character in set(run[0])}
    return "".join(sorted("".join(map(parts.__getitem__, run[0])), key=unicodedata.combining))


def normalize_packed(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets]:
    """Packed texts in NFC; the given arrays if all texts are already in NFC."""
    texts = [data[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())]
    parts = [normalize(text) for text in texts]
    if all(map(is_, parts, texts)):
        return data, offsets
    return np.frombuffer(b"".join(parts), np.uint8), np.concatenate(([0], np.cumsum([len(part) for part in parts])))


def normalize_with_offsets(text: bytes) -> tuple[bytes, Offsets, Offsets]:
    """(the text in NFC, begins, ends): normalized byte i comes from text[begins[i]:ends[i]]. Both are int64[n + 1].

    Characters that change together, such as a letter and its marks, all map to the same range. Slow, because it
    handles the text character by character.
    """
    out: list[bytes] = []
    begins: list[int] = []
    ends: list[int] = []
    at = 0
    for part in _parts(utf8.escaped(text)):
        source, result = utf8.unescaped(part), utf8.unescaped(normalize_text(part))
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


def is_kept_around(text: memoryview, at: int, reach: int) -> bool:
    """Whether the texts before and after text[at] can be normalized independently, whatever text follows, and
    normalization leaves the bytes within `reach` of `at` unchanged. False may also mean that the answer is unknown."""
    end = at + reach + _MARGIN_BYTES  # a mark that follows may still change the last character
    if end > len(text) or text[at] & 0xC0 == 0x80:
        return False
    return all(map(_begins_anew, utf8.escaped(bytes(text[max(0, at - reach - _MARGIN_BYTES) : end]))))


@cache
def _joining() -> frozenset[str]:
    """The second character of every pair that NFC composes: the second characters of decompositions, and the vowels and
    final consonants of Hangul."""
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
