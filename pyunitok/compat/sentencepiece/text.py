"""EncodedText is a text with its tokens and their positions. It converts to a protobuf message or an offset mapping."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pyunitok.compat.sentencepiece import messages


class Token(NamedTuple):
    """One token. begin and end are byte offsets in the text; surface is text[begin:end], or None."""

    piece: bytes
    id: int
    begin: int
    end: int
    surface: bytes | None


@dataclass
class EncodedText:
    """The contents of a SentencePieceText, with one list per field of Token."""

    text: bytes
    pieces: list[bytes]
    ids: list[int]
    begins: list[int]
    ends: list[int]
    surfaces: list[bytes | None]
    score: float | None = None

    @classmethod
    def of(cls, text: bytes, tokens: list[Token], score: float | None = None) -> EncodedText:
        columns: list[Any] = [list(column) for column in zip(*tokens, strict=True)] or [[] for _ in Token._fields]
        pieces, ids, begins, ends, surfaces = columns
        return cls(text, pieces, ids, begins, ends, surfaces, score)

    @property
    def tokens(self) -> list[Token]:
        columns = zip(self.pieces, self.ids, self.begins, self.ends, self.surfaces, strict=True)
        return list(map(Token._make, columns))

    def message(self) -> Any:
        """A SentencePieceText with strings as bytes."""
        ret = messages.text_message("SentencePieceText", "bytes")()
        ret.text = self.text
        add = ret.pieces.add
        columns = zip(self.pieces, self.ids, self.begins, self.ends, self.surfaces, strict=True)
        for piece, id_, begin, end, surface in columns:
            add(piece=piece, id=id_, begin=begin, end=end, surface=surface)  # None: the field stays unset
        if self.score is not None:
            ret.score = self.score
        return ret

    def serialize(self) -> bytes:
        data: bytes = self.message().SerializeToString()
        return data

    def offset_mapping(self, *, as_bytes: bool, with_text: bool) -> dict[str, Any]:
        """A dict of ids, pieces, offsets and optionally the text. Offsets count bytes if as_bytes, else characters."""
        ret: dict[str, Any] = {"text": self.text if as_bytes else self.text.decode()} if with_text else {}
        ret["ids"] = self.ids
        if as_bytes:
            return ret | {"pieces": self.pieces, "offsets": list(zip(self.begins, self.ends, strict=True))}
        at = character_offsets(self.text)
        if max(self.begins + self.ends, default=0) >= len(at):
            raise ValueError("Invalid piece offsets in SentencePieceText")
        offsets = [(at[begin], at[end]) for begin, end in zip(self.begins, self.ends, strict=True)]
        return ret | {"pieces": strings(self.pieces), "offsets": offsets}

    def in_characters(self) -> EncodedText:
        """A copy whose positions count characters."""
        at = character_offsets(self.text)
        begins, ends = ([at[min(offset, len(at) - 1)] for offset in offsets] for offsets in (self.begins, self.ends))
        return replace(self, begins=begins, ends=ends)


def strings(pieces: list[bytes]) -> list[str]:
    """Decode all pieces at once. Raises UnicodeDecodeError if one is not valid UTF-8."""
    joined = b"\0".join(pieces)
    if joined.count(b"\0") + 1 != len(pieces):  # the list is empty, or a piece contains a NUL
        return [piece.decode() for piece in pieces]
    return joined.decode().split("\0")


def to_proto(encoded: EncodedText) -> Any:
    """A SentencePieceText with strings as str. Raises DecodeError if they are not valid UTF-8."""
    return messages.text_message("SentencePieceText", "string").FromString(encoded.serialize())


def serialize_nbest(encoded: Iterable[EncodedText]) -> bytes:
    """A serialized NBestSentencePieceText."""
    message = messages.text_message("NBestSentencePieceText", "bytes")()
    for item in encoded:
        message.nbests.append(item.message())
    data: bytes = message.SerializeToString()
    return data


def to_nbest_proto(encoded: Iterable[EncodedText]) -> Any:
    return messages.text_message("NBestSentencePieceText", "string").FromString(serialize_nbest(encoded))


def character_offsets(text: bytes) -> list[int]:
    """Item i is the index of the character that contains byte i; the last item is the number of characters.

    In invalid UTF-8, the first byte of a character determines its length, as in sentencepiece.
    """
    try:
        text.decode()
    except UnicodeDecodeError:
        return _claimed_offsets(text)
    begins = (np.frombuffer(text, np.uint8) & 0xC0) != 0x80
    ret: list[int] = (np.cumsum(begins) - 1).tolist()
    return [*ret, int(begins.sum())]


def _claimed_offsets(text: bytes) -> list[int]:
    ret: list[int] = []
    n_characters = 0
    while len(ret) < len(text):
        first = text[len(ret)]
        n_bytes = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        ret += [n_characters] * min(n_bytes, len(text) - len(ret))
        n_characters += 1
    return [*ret, n_characters]


def align_characters(text: bytes, normalized: bytes, offsets: list[int]) -> list[int]:
    """Convert byte offsets from normalize_with_offsets to character offsets."""
    from_text, from_normalized = character_offsets(text), character_offsets(normalized)
    ret = [0] * (from_normalized[-1] + 1)
    for at, offset in enumerate(offsets):
        if at < len(from_normalized) and offset < len(from_text):
            ret[from_normalized[at]] = from_text[offset]
    return ret


def normalized_as(value: str | bytes, data: bytes, normalize: Any) -> Any:
    """Convert normalize(data), which is a text or (text, offsets), to the type of `value`."""
    found = normalize(data)
    if isinstance(value, bytes):
        return found
    if isinstance(found, bytes):
        return found.decode()
    return found[0].decode(), align_characters(data, *found)
