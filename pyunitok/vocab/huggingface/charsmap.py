"""Precompiled: the charsmap as tokenizers applies it, grapheme cluster by cluster.

A cluster of fewer than 6 bytes that begins with a key becomes that key's replacement, whole; of others each character
that begins with a key does. Of several keys the shortest counts. (sentencepiece takes the longest at every position.)
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface.characters import ASTRAL, bmp, difference, members, members_of
from pyunitok.vocab.huggingface.fields import Fields

KEY_BYTES_MAX = 5  # longer ones never match here; sentencepiece has no such bound
_DEPTH_MAX = 64
_NODES_MAX = 1 << 18
_JAMO_L, _JAMO_V, _JAMO_T = "1100-115f a960-a97c", "1160-11a7 d7b0-d7c6 16d63 16d67-16d6a", "11a8-11ff d7cb-d7fb"
_HANGUL = f"{_JAMO_L} {_JAMO_V} {_JAMO_T} ac00-d7a3"


@lru_cache(None)
def _cluster_patterns(up_to: int) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """(what joins characters into clusters short enough to matter, stretches that hold all clusters of more than one
    character, a cluster), for texts of characters up to U+FFFF or up to the last."""

    def inside(table: str) -> str:
        return members(table if up_to > 0xFFFF else bmp(table))

    extend, prepend, control = inside(tables.EXTEND), inside(tables.PREPEND), inside(tables.CONTROL + " 0")
    lead, vowel, tail = inside(_JAMO_L), inside(_JAMO_V), inside(_JAMO_T)
    open_syllable = members(" ".join(f"{c:x}" for c in range(0xAC00, 0xD7A4, 28)))
    syllable = f"[{vowel}]+|[{open_syllable}][{vowel}]*|[{members('ac00-d7a3')}]"
    hangul = f"[{lead}]*(?:{syllable})[{tail}]*|[{lead}]+|[{tail}]+"
    linker = inside(tables.LINKER)
    extend_only = inside(difference(tables.CONJUNCT_EXTEND, tables.LINKER))
    consonant = f"[{inside(tables.CONSONANT)}]"
    # The first linker is told apart, or n of them without a consonant after them would be tried in n * n ways.
    conjunct = f"{consonant}(?:[{extend_only}]*[{linker}][{extend_only}{linker}]*{consonant})*"
    picture = f"[{inside(tables.PICTOGRAPHIC)}]"
    pictures = f"{picture}(?:[{inside(tables.PICTOGRAPHIC_EXTEND)}]*\u200d{picture})*"
    core = f"{hangul}|{conjunct}|{pictures}|[^{control}{prepend}]"
    cluster = f"\r\n|[{prepend}]*(?:{core})[{extend}]*|[{prepend}]+[{extend}]*|[\\s\\S]"
    special = f"{extend}{prepend}{inside(_HANGUL)}\r"
    stretch = f"(?:[{special}]|[^{special}](?=[{special}])|(?<=[{prepend}\r])[^{special}])+"
    return re.compile(f"[{extend}{prepend}]|\r\n"), re.compile(stretch), re.compile(cluster)


def read(fields: Fields) -> Charsmap:
    """That of a normalizer Precompiled."""
    try:
        return _charsmap(fields.string("precompiled_charsmap"))
    except ValueError as error:  # of base64 and of UTF-8, too
        fields.refuse(f"the charsmap is broken: {error}", "precompiled_charsmap")


@lru_cache(4)
def _charsmap(text: str) -> Charsmap:
    return Charsmap(b64decode(text, validate=True))


class Charsmap:
    """Keys of up to KEY_BYTES_MAX bytes and their replacements; ValueError says what is wrong with the blob."""

    def __init__(self, blob: bytes) -> None:
        self.blob = blob
        n_bytes = int.from_bytes(blob[:4], "little")
        if len(blob) < 8 or n_bytes % 4 or n_bytes < 4 or n_bytes > len(blob) - 4:
            raise ValueError("it is cut short")
        self.all_keys = _keys(np.frombuffer(blob, "<u4", n_bytes // 4, 4), blob[4 + n_bytes :])
        self.keys = {key: value for key, value in self.all_keys.items() if len(key) <= KEY_BYTES_MAX}
        self.characters = {key.decode(): value for key, value in self.keys.items() if _is_character(key)}
        self.has_parts = any(not _is_text(key) for key in self.keys)  # parts of characters; in no real model
        low = members_of(c for c in self.characters if c < "\U00010000")
        high = any(c > "\uffff" for c in self.characters)
        body = low + ("\U00010000-\U0010ffff" if high else "")
        self._changed = re.compile("[\\s\\S]" if self.has_parts else f"[{body}]" if body else r"(?!)")

    def transform(self, part: str) -> str | None:
        data = part.encode()
        for n_bytes in range(1, len(data) + 1):
            if data[n_bytes - 1] == 0:
                return None
            value = self.keys.get(data[:n_bytes])
            if value is not None:
                return value
        return None

    def _change(self, match: re.Match[str]) -> str:
        character = match[0]
        value = self.transform(character) if self.has_parts else self.characters.get(character)
        return character if value is None else value

    def _characters(self, text: str) -> str:
        return self._changed.sub(self._change, text)

    def _cluster(self, cluster: str) -> str:
        if len(cluster) > 1 and len(cluster.encode()) < 6:
            value = self.transform(cluster)
            if value is not None:
                return value
        return self._characters(cluster)

    def normalize(self, text: str) -> str:
        *lines, last = text.split("\n")  # a cluster ends there; most lines need not the slower patterns
        return "".join([self._line(line + "\n") for line in lines]) + self._line(last)

    def parts(self, text: str) -> Iterator[tuple[str, str | None]]:
        """Clusters or characters of a text in their order, and what each becomes; None: itself."""
        for match in _cluster_patterns(0x10FFFF)[2].finditer(text):
            cluster = match[0]
            whole = self.transform(cluster) if len(cluster.encode()) < 6 else None
            if whole is not None:
                yield cluster, whole
            else:
                yield from ((character, self.transform(character)) for character in cluster)

    def _line(self, text: str) -> str:
        if text.isascii() and "\r\n" not in text:
            return self._characters(text)
        joining, stretch, cluster = _cluster_patterns(0x10FFFF if ASTRAL.search(text) else 0xFFFF)
        if joining.search(text) is None:
            return self._characters(text)
        parts, done = [], 0
        for match in stretch.finditer(text):
            parts.append(self._characters(text[done : match.start()]))
            parts += [self._cluster(part) for part in cluster.findall(match[0])]
            done = match.end()
        return "".join(parts) + self._characters(text[done:])


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_character(key: bytes) -> bool:
    return _is_text(key) and len(key.decode()) == 1


def _keys(units: np.ndarray[Any, np.dtype[np.uint32]], replacements: bytes) -> dict[bytes, str]:
    """All keys of a darts double array, level by level. Unit i can only be the child of a node at i ^ its label."""
    labels = (units & 0x800000FF).astype(np.int64)
    children = np.flatnonzero((labels > 0) & (labels < 256))
    parents = children ^ labels[children]
    order = np.argsort(parents, kind="stable")
    children, parents = children[order], parents[order]
    nodes = [(_place(0, int(units[0])), b"")]  # keys that end alike may share nodes
    found: dict[bytes, str] = {}
    for _ in range(_DEPTH_MAX):
        places = np.array([place for place, _ in nodes], np.int64)
        firsts = np.searchsorted(parents, places).tolist()
        lasts = np.searchsorted(parents, places, "right").tolist()
        below: list[tuple[int, bytes]] = []
        for (_, name), first, last in zip(nodes, firsts, lasts, strict=True):
            if len(below) > _NODES_MAX:
                raise ValueError("there are too many keys")
            for at in children[first:last].tolist():
                unit = int(units[at])
                key, place = name + bytes([unit & 0xFF]), _place(at, unit)
                if unit >> 8 & 1:
                    found[key] = _replacement(units, place, key, replacements)
                below.append((place, key))
        if not below:
            return found
        nodes = below
    raise ValueError("keys have no end")


def _replacement(units: np.ndarray[Any, np.dtype[np.uint32]], place: int, key: bytes, replacements: bytes) -> str:
    begin = int(units[place] & 0x7FFFFFFF) if place < len(units) else -1
    if not 0 <= begin <= len(replacements):
        raise ValueError(f"the replacement of key {key!r} lies outside")
    end = replacements.find(b"\0", begin)
    return replacements[begin : end if end >= 0 else len(replacements)].decode()


def _place(at: int, unit: int) -> int:
    """Where the children of unit `at` begin."""
    return at ^ (unit >> 10 << ((unit & 1 << 9) >> 6))


def seconds_of(keys: dict[bytes, str]) -> set[str]:
    """Characters that follow the first one in some key."""
    texts = [key.decode() for key in keys if _is_text(key)]
    return {second for text in texts for _, second in pairwise(text)}
