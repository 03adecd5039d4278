"""Imitates the read-only messages of sentencepiece 0.1.97 to 0.2.1, in which begin and end count characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyunitok.compat.sentencepiece.text import EncodedText, Token, serialize_nbest

_Item = TypeVar("_Item")


class ImmutableSentencePieceText_ImmutableSentencePiece:
    """One token: piece, surface, id, begin, end, piece_as_bytes, surface_as_bytes."""

    def __init__(self, token: Token) -> None:
        self.piece_as_bytes = token.piece
        self.surface_as_bytes = token.surface or b""
        self.id, self.begin, self.end = token.id, token.begin, token.end

    @property
    def piece(self) -> str:
        return self.piece_as_bytes.decode()

    @property
    def surface(self) -> str:
        return self.surface_as_bytes.decode()

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return (
            f'piece: "{self.piece}"\nid: {self.id}\nsurface: "{self.surface}"\nbegin: {self.begin}\nend: {self.end}\n'
        )

    __repr__ = __str__


class _Items(list[_Item]):
    """A list whose repr looks like a protobuf message."""

    def __init__(self, items: list[_Item], name: str) -> None:
        super().__init__(items)
        self._name = name

    def __str__(self) -> str:
        return "\n".join(f"{self._name} {{\n{item}}}" for item in self)

    __repr__ = __str__


class _Message:
    """A base class for messages. Messages are compared by their serialized bytes."""

    _serialize: Callable[[], bytes]

    def SerializeAsString(self) -> bytes:
        return self._serialize()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Message) and self.SerializeAsString() == other.SerializeAsString()

    def __hash__(self) -> int:
        return hash(self.SerializeAsString())


class ImmutableSentencePieceText(_Message):
    """A text with its tokens: text, text_as_bytes, score, pieces."""

    def __init__(self, encoded: EncodedText | None = None) -> None:
        encoded = (encoded or EncodedText.of(b"", [])).in_characters()
        self._serialize = encoded.serialize
        self.text_as_bytes = encoded.text
        self.score = encoded.score or 0.0
        self.pieces = _Items([ImmutableSentencePieceText_ImmutableSentencePiece(t) for t in encoded.tokens], "pieces")

    @property
    def text(self) -> str:
        return self.text_as_bytes.decode()

    def __str__(self) -> str:
        return f'text: "{self.text}"\nscore: {self.score}\n{self.pieces}'

    __repr__ = __str__


class ImmutableNBestSentencePieceText(_Message):
    """Several tokenizations of a text: nbests."""

    def __init__(self, encoded: Sequence[EncodedText] = ()) -> None:
        self._serialize = lambda: serialize_nbest([item.in_characters() for item in encoded])
        self.nbests = _Items([ImmutableSentencePieceText(item) for item in encoded], "nbests")

    def __str__(self) -> str:
        return str(self.nbests)

    __repr__ = __str__
