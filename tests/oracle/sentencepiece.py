"""Normalizes and decodes as SentencePiece does."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable

import numpy as np

from oracle.bpe import BYTE, CONTROL, UNKNOWN

SPACE_SYMBOL = "\u2581".encode()
REPLACEMENT = "\ufffd".encode()
MAX_KEYS, MAX_SYMBOLS = 32, 64  # at most this many matching keys or symbols are considered, shortest first


@functools.cache
def charsmap_rules(blob: bytes) -> dict[bytes, bytes]:
    """The keys of a precompiled charsmap and their replacements."""
    if not blob:
        return {}
    (n_trie_bytes,) = struct.unpack_from("<I", blob)
    units = np.frombuffer(blob, "<u4", n_trie_bytes // 4, 4)
    labels, replacements = units & 0x800000FF, blob[4 + n_trie_bytes :]
    every = np.arange(256)
    rules, stack = {}, [(0, b"")]
    while stack:
        at, key = stack.pop()
        unit = int(units[at])
        base = at ^ (unit >> 10) << ((unit & 0x200) >> 6)
        if unit >> 8 & 1:
            begin = int(units[base]) & 0x7FFFFFFF
            rules[key] = replacements[begin : replacements.index(b"\0", begin)]
        block = labels[base & ~0xFF : (base | 0xFF) + 1]
        children = np.flatnonzero(block[every ^ base & 0xFF] == every).tolist()
        stack += [(base ^ c, key + bytes([c])) for c in children]
    return rules


class _Keys:
    """Finds the longest of the `limit` shortest keys that match at a position."""

    def __init__(self, keys: Iterable[bytes], limit: int) -> None:
        self.keys, self.limit = set(keys), limit
        self.longest: dict[int, int] = {}  # by first byte
        for key in self.keys:
            self.longest[key[0]] = max(len(key), self.longest.get(key[0], 0))

    def match(self, text: bytes, at: int) -> bytes | None:
        longest = min(self.longest.get(text[at], 0), len(text) - at)
        found = [text[at : at + n] for n in range(1, longest + 1) if text[at : at + n] in self.keys]
        return found[: self.limit][-1] if found else None


class Normalizer:
    """Replaces the keys of `rules` with their values and keeps `symbols` unchanged."""

    def __init__(
        self, rules: dict[bytes, bytes], symbols: Iterable[bytes] = (), *, dummy_prefix: bool = True,
        remove_extra: bool = True, escape: bool = True, suffix: bool = False,
    ) -> None:  # fmt: skip
        self.rules = rules
        self.keys, self.symbols = _Keys(rules, MAX_KEYS), _Keys(symbols, MAX_SYMBOLS)
        self.dummy_prefix, self.remove_extra, self.escape, self.suffix = dummy_prefix, remove_extra, escape, suffix

    def item(self, text: bytes, at: int) -> tuple[bytes, int]:
        """The replacement of the next item, and the number of bytes that it replaces."""
        if (symbol := self.symbols.match(text, at)) is not None:
            return symbol, len(symbol)
        if (key := self.keys.match(text, at)) is not None:
            return self.rules[key], len(key)
        for n_bytes in range(1, 5):
            try:
                text[at : at + n_bytes].decode()
            except UnicodeDecodeError:
                continue
            return text[at : at + n_bytes], n_bytes
        return REPLACEMENT, 1

    def normalize(self, text: bytes) -> tuple[bytes, list[int]]:
        """The normalized text, and for each of its bytes and for its end, the position in `text` that it comes from."""
        at = 0
        while self.remove_extra and at < len(text):
            replacement, n_bytes = self.item(text, at)
            if replacement != b" ":
                break
            at += n_bytes
        if at == len(text):
            return b"", []
        symbol = SPACE_SYMBOL if self.escape else b" "
        out, offsets = bytearray(), []

        def put(bytes_: bytes) -> None:
            out.extend(bytes_)
            offsets.extend([at] * len(bytes_))

        if self.dummy_prefix and not self.suffix:
            put(symbol)
        after_space = self.remove_extra
        while at < len(text):
            replacement, n_bytes = self.item(text, at)
            if after_space:
                replacement = replacement.lstrip(b" ")
            put(replacement.replace(b" ", symbol))
            if replacement:
                after_space = self.remove_extra and replacement.endswith(b" ")
            at += n_bytes
        while self.remove_extra and out.endswith(symbol):
            del out[-len(symbol) :]
            at = offsets[len(out)]
            del offsets[len(out) :]
        if self.dummy_prefix and self.suffix:
            put(symbol)
        return bytes(out), [*offsets, at]


def decode(
    pieces: list[bytes], types: list[int], ids: list[int], *, dummy_prefix: bool, remove_extra: bool,
    unknown_surface: bytes = " \u2047 ".encode(), raw: bool = False,
) -> bytes:  # fmt: skip
    """The text of `ids`. With `raw`, byte pieces yield their bytes even where these are not valid UTF-8."""
    out, spelled, at_start = b"", b"", True
    for id_ in ids:
        if types[id_] == BYTE:
            spelled += bytes([int(pieces[id_][3:5], 16)])
            continue
        out, spelled = out + spell(spelled, raw), b""
        at_start = at_start and not out
        if types[id_] == CONTROL:
            continue
        piece, is_stripped = pieces[id_], False
        if at_start and (dummy_prefix or remove_extra) and piece.startswith(SPACE_SYMBOL):
            piece, is_stripped = piece[len(SPACE_SYMBOL) :], True
        out += unknown_surface if types[id_] == UNKNOWN else piece.replace(SPACE_SYMBOL, b" ")
        at_start = not out and not (is_stripped and not remove_extra) and at_start
    return out + spell(spelled, raw)


def spell(spelled: bytes, raw: bool) -> bytes:
    """The text, with U+FFFD in place of each byte that is not part of a complete character."""
    if raw:
        return spelled
    out, at = b"", 0
    while at < len(spelled):
        character, n_bytes = Normalizer({}).item(spelled, at)
        out, at = out + character, at + n_bytes
    return out
