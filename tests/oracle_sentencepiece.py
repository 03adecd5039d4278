"""The definition of what SentencePiece does to a text, slow and obvious: normalization."""

from __future__ import annotations

import struct
from collections.abc import Iterable

SPACE_SYMBOL = "\u2581".encode()
REPLACEMENT = "\ufffd".encode()
MAX_KEYS, MAX_SYMBOLS = 32, 64  # of the keys (symbols) that match, so many are looked at, the shortest


def charsmap_rules(blob: bytes) -> dict[bytes, bytes]:
    """Every key of a precompiled charsmap, and what replaces it."""
    if not blob:
        return {}
    (n_trie_bytes,) = struct.unpack_from("<I", blob)
    units = struct.unpack_from(f"<{n_trie_bytes // 4}I", blob, 4)
    replacements = blob[4 + n_trie_bytes :]
    rules, stack = {}, [(0, b"")]
    while stack:
        at, key = stack.pop()
        base = at ^ (units[at] >> 10) << ((units[at] & 0x200) >> 6)
        if units[at] >> 8 & 1:
            begin = units[base] & 0x7FFFFFFF
            rules[key] = replacements[begin : replacements.index(b"\0", begin)]
        stack += [(base ^ c, key + bytes([c])) for c in range(256) if units[base ^ c] & 0x800000FF == c]
    return rules


def _matches(keys: Iterable[bytes], text: bytes, at: int, limit: int) -> bytes | None:
    """The longest of the shortest `limit` keys that stand at `at`."""
    found = sorted((key for key in keys if text.startswith(key, at)), key=len)
    return found[:limit][-1] if found else None


class Normalizer:
    """rules: key to replacement; symbols: kept as they are."""

    def __init__(
        self, rules: dict[bytes, bytes], symbols: Iterable[bytes] = (), *, dummy_prefix: bool = True,
        remove_extra: bool = True, escape: bool = True, suffix: bool = False,
    ) -> None:  # fmt: skip
        self.rules, self.symbols = rules, set(symbols)
        self.dummy_prefix, self.remove_extra, self.escape, self.suffix = dummy_prefix, remove_extra, escape, suffix
        self._by_start = self._index(self.rules), self._index(self.symbols)

    @staticmethod
    def _index(keys: Iterable[bytes]) -> dict[int, list[bytes]]:
        ret: dict[int, list[bytes]] = {}
        for key in keys:
            ret.setdefault(key[0], []).append(key)
        return ret

    def item(self, text: bytes, at: int) -> tuple[bytes, int]:
        """(what stands for the next bytes, how many they are)."""
        rules, symbols = self._by_start
        symbol = _matches(symbols.get(text[at], ()), text, at, MAX_SYMBOLS)
        if symbol is not None:
            return symbol, len(symbol)
        key = self._rule(rules, text, at)
        if key is not None:
            return self.rules[key], len(key)
        for n_bytes in range(1, 5):
            try:
                text[at : at + n_bytes].decode()
            except UnicodeDecodeError:
                continue
            return text[at : at + n_bytes], n_bytes
        return REPLACEMENT, 1

    def _rule(self, rules: dict[int, list[bytes]], text: bytes, at: int) -> bytes | None:
        if text[at] not in rules:
            return None
        longest = max(map(len, rules[text[at]]))
        found = [text[at : at + n] for n in range(1, longest + 1) if text[at : at + n] in self.rules]
        found = [key for i, key in enumerate(found) if key not in found[:i]]  # the end of the text comes up again
        return found[:MAX_KEYS][-1] if found else None

    def normalize(self, text: bytes) -> tuple[bytes, list[int]]:
        """(the normalized text, where each of its bytes comes from, and at last where the text ends)."""
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
