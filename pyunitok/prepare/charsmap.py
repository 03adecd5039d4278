"""Precompiled: the charsmap as tokenizers applies it, grapheme cluster by cluster.

A cluster of fewer than 6 bytes that begins with a key becomes that key's replacement, whole; of others each character that
begins with a key does. Of several keys the shortest counts. (sentencepiece takes the longest key at every position.)
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok.errors import VocabularyError
from pyunitok.prepare import unicode_tables as tables
from pyunitok.prepare.characters import members

KEY_BYTES_MAX = 5  # longer ones never match here; sentencepiece has no such bound
_DEPTH_MAX = 64
_NODES_MAX = 1 << 20
_JAMO_L, _JAMO_V, _JAMO_T = "1100-115f a960-a97c", "1160-11a7 d7b0-d7c6 16d63 16d67-16d6a", "11a8-11ff d7cb-d7fb"
_HANGUL = f"{_JAMO_L} {_JAMO_V} {_JAMO_T} ac00-d7a3"


@lru_cache(None)
def cluster_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """(what joins characters into clusters short enough to matter, stretches that hold all clusters of more than one
    character, a cluster)."""
    extend, prepend, control = members(tables.EXTEND), members(tables.PREPEND), members(tables.CONTROL + " 0")
    l, v, t = members(_JAMO_L), members(_JAMO_V), members(_JAMO_T)
    lv = members(" ".join(f"{c:x}" for c in range(0xAC00, 0xD7A4, 28)))
    syllable = members("ac00-d7a3")
    hangul = f"[{l}]*(?:[{v}]+|[{lv}][{v}]*|[{syllable}])[{t}]*|[{l}]+|[{t}]+"
    between = members(tables.CONJUNCT_EXTEND) + members(tables.LINKER)
    consonant = f"[{members(tables.CONSONANT)}]"
    conjunct = f"{consonant}(?:[{between}]*[{members(tables.LINKER)}][{between}]*{consonant})*"
    picture = f"[{members(tables.PICTOGRAPHIC)}]"
    pictures = f"{picture}(?:[{members(tables.PICTOGRAPHIC_EXTEND)}]*\u200d{picture})*"
    core = f"{hangul}|{conjunct}|{pictures}|[^{control}{prepend}]"
    cluster = f"\r\n|[{prepend}]*(?:{core})[{extend}]*|[{prepend}]+[{extend}]*|[\\s\\S]"
    joining = f"[{extend}{prepend}]|\r\n"
    special = f"{extend}{prepend}{members(_HANGUL)}\r"
    stretch = f"(?:[{special}]|[^{special}](?=[{special}])|(?<=[{prepend}\r])[^{special}])+"
    return re.compile(joining), re.compile(stretch), re.compile(cluster)


class Charsmap:
    """Keys of up to KEY_BYTES_MAX bytes and their replacements; VocabularyError says what is wrong with the blob."""

    def __init__(self, text: str, where: str) -> None:
        try:
            self.blob = b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise VocabularyError(f"{where}: this is not base64") from None
        n_bytes = int.from_bytes(self.blob[:4], "little")
        if len(self.blob) < 8 or n_bytes % 4 or n_bytes < 4 or n_bytes > len(self.blob) - 4:
            raise VocabularyError(f"{where}: the charsmap is cut short")
        try:
            self.all_keys = _keys(np.frombuffer(self.blob, "<u4", n_bytes // 4, 4), self.blob[4 + n_bytes :])
        except ValueError as error:
            raise VocabularyError(f"{where}: the charsmap is broken: {error}") from None
        self.keys = {key: value for key, value in self.all_keys.items() if len(key) <= KEY_BYTES_MAX}
        self.characters = {key.decode(): value for key, value in self.keys.items() if _is_character(key)}
        self.has_parts = any(not _is_text(key) for key in self.keys)  # keys that are no whole characters: only made up
        body = "".join(f"\\U{ord(c):08x}" for c in self.characters)
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
        value = self.transform(character) if self.has_parts else self.characters[character]
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
        joining, stretch, cluster = cluster_patterns()
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
    """All keys of a darts double array, level by level."""
    found: dict[bytes, str] = {}
    names = [b""]
    places = np.array([_offset(units[:1])[0]], np.int64)
    labels = np.arange(1, 256)
    for _ in range(_DEPTH_MAX):
        children = places[:, None] ^ labels[None, :]
        inside = children < len(units)
        unit = units[np.where(inside, children, 0)]
        rows, columns = np.nonzero(inside & ((unit & 0x800000FF) == labels[None, :]))
        if len(rows) > _NODES_MAX:
            raise ValueError("there are too many keys")
        at = children[rows, columns]
        names = [names[row] + bytes([labels[column]]) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]
        places = at ^ _offset(units[at])
        leaves = np.flatnonzero(units[at] >> np.uint32(8) & np.uint32(1))
        for k in leaves.tolist():
            if places[k] >= len(units):
                raise ValueError(f"the value of key {names[k]!r} lies outside")
            begin = int(units[places[k]] & 0x7FFFFFFF)
            end = replacements.find(b"\0", begin)
            if begin > len(replacements):
                raise ValueError(f"the replacement of key {names[k]!r} lies outside")
            found[names[k]] = replacements[begin : end if end >= 0 else len(replacements)].decode()
        if not len(rows):
            return found
    raise ValueError("keys have no end")


def _offset(unit: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    wide = unit.astype(np.int64)
    ret: np.ndarray[Any, np.dtype[np.int64]] = (wide >> 10) << ((wide & 1 << 9) >> 6)
    return ret


def seconds_of(keys: dict[bytes, str]) -> set[str]:
    """Characters that stand behind the first one in some key."""
    texts = [key.decode() for key in keys if _is_text(key)]
    return {second for text in texts for _, second in pairwise(text)}
