"""Handles the last tokens of a text, which appended text may change, and texts that end within a character, as
tiktoken does."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

Encode = Callable[[bytes], list[int]]
_NOT_WHITE_SPACE = "\x1c\x1d\x1e\x1f"  # white space according to str.isspace(), but not according to Unicode


class Unstable:
    """encode: a function that applies the pattern and the merges; merge: a function that only merges; last_piece: a
    function that returns the last of the pieces into which the pattern divides a text."""

    def __init__(
        self, ranks: Mapping[bytes, int], decoder: Mapping[int, bytes], encode: Encode, merge: Encode,
        last_piece: Callable[[bytes], bytes],
    ) -> None:  # fmt: skip
        self._ranks, self._decoder = ranks, decoder
        self._encode, self._merge, self._last_piece = encode, merge, last_piece

    @cached_property
    def _sorted(self) -> list[bytes]:
        return sorted(self._ranks)

    def single_piece(self, piece: bytes) -> list[int]:
        """The ids of a text that is encoded as one piece, without the pattern."""
        return [self._ranks[piece]] if piece in self._ranks else self._merge(piece)

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of any bytes. The pattern divides the valid UTF-8 before the first invalid byte."""
        try:
            data.decode()
            return self._encode(data)
        except UnicodeDecodeError as error:
            end = error.start
        tokens = self._encode(data[:end])
        stable, rest = self._without_last_piece(tokens, data[:end])
        return stable + self.single_piece(rest + data[end:])

    def split_stable(self, tokens: list[int], last_part: bytes) -> tuple[list[int], set[tuple[int, ...]]]:
        """The tokens that appended text cannot change, and the token sequences that may follow them. `last_part` is the
        text after the last special token; it is empty if the text ends with a special token."""
        if not last_part:
            return tokens, set()
        stable, unstable = self._without_last_piece(tokens, last_part)
        found: set[tuple[int, ...]] = {(self._ranks[piece],) for piece in self._beginning_with(unstable)}
        for middle in range(1, len(unstable)):
            for piece in self._beginning_with(unstable[middle:]):
                found.add(self._up_to(self._encode_any(unstable[:middle] + piece), len(unstable)))
        last = _last_character(unstable)
        if 0 < len(last) < len(unstable) and last.decode().isspace() and last.decode() not in _NOT_WHITE_SPACE:
            found.add((*self._merge(unstable[: -len(last)]), *self._merge(last)))
        return stable, found

    def _without_last_piece(self, tokens: list[int], text: bytes) -> tuple[list[int], bytes]:
        """The tokens before the last piece, and the bytes of the remaining tokens. If the last piece begins with a
        space token, the space tokens directly before it count as part of the piece."""
        n = len(self.single_piece(self._last_piece(text))) if text else 0
        if n and self._is_space(tokens[-n]):
            while n < len(tokens) and self._is_space(tokens[-n - 1]):
                n += 1
        kept = len(tokens) - n
        return tokens[:kept], b"".join(map(self._decoder.__getitem__, tokens[kept:]))

    def _is_space(self, token: int) -> bool:
        return not self._decoder[token].strip(b" \n\t")

    def _beginning_with(self, prefix: bytes) -> Sequence[bytes]:
        ordered = self._sorted
        begin = bisect_left(ordered, prefix)
        end = begin
        while end < len(ordered) and ordered[end].startswith(prefix):
            end += 1
        return ordered[begin:end]

    def _encode_any(self, data: bytes) -> list[int]:
        try:
            data.decode()
        except UnicodeDecodeError:
            return self._merge(data)
        return self._encode(data)

    def _up_to(self, tokens: list[int], n_bytes: int) -> tuple[int, ...]:
        """The shortest prefix of the tokens that spells at least n_bytes bytes; all tokens if none does."""
        for n, token in enumerate(tokens, 1):
            n_bytes -= len(self._decoder[token])
            if n_bytes <= 0:
                return tuple(tokens[:n])
        return tuple(tokens)


def _last_character(data: bytes) -> bytes:
    """The last character of the text; empty if it is invalid UTF-8."""
    for n in range(1, 5):
        try:
            data[-n:].decode()
            return data[-n:]
        except UnicodeDecodeError:
            pass
    return b""
