"""EncodedText: a text, its tokens and where they come from; as a protobuf message, and as a mapping of offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pyunitok.compat.sentencepiece import messages


class Token(NamedTuple):
    """One token. begin and end: of the bytes of the text that it stands for; surface: those bytes, or none."""

    piece: bytes
    id: int
    begin: int
    end: int
    surface: bytes | None


@dataclass
class EncodedText:
    """What sentencepiece's SentencePieceText holds, the tokens in columns: see Token."""

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
        """A SentencePieceText whose strings are bytes."""
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
        """ids, pieces and offsets, and maybe the text; in bytes, or in characters."""
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
        """The same with begin and end in characters."""
        at = character_offsets(self.text)
        begins, ends = ([at[min(place, len(at) - 1)] for place in places] for places in (self.begins, self.ends))
        return replace(self, begins=begins, ends=ends)


def strings(pieces: list[bytes]) -> list[str]:
    """Each as str, at once. UnicodeDecodeError if one is not valid UTF-8."""
    joined = b"\0".join(pieces)
    if joined.count(b"\0") + 1 != len(pieces):  # there are none, or one holds a NUL
        return [piece.decode() for piece in pieces]
    return joined.decode().split("\0")


def to_proto(encoded: EncodedText) -> Any:
    """A SentencePieceText with strings as str; DecodeError if they are not valid UTF-8."""
    return messages.text_message("SentencePieceText", "string").FromString(encoded.serialize())


def serialize_nbest(encoded: Iterable[EncodedText]) -> bytes:
    """A NBestSentencePieceText."""
    message = messages.text_message("NBestSentencePieceText", "bytes")()
    for item in encoded:
        message.nbests.append(item.message())
    data: bytes = message.SerializeToString()
    return data


def to_nbest_proto(encoded: Iterable[EncodedText]) -> Any:
    return messages.text_message("NBestSentencePieceText", "string").FromString(serialize_nbest(encoded))


def character_offsets(text: bytes) -> list[int]:
    """[i]: which character byte i belongs to, and at last how many there are.

    In broken UTF-8 a character is as long as its first byte says, as in sentencepiece.
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
    """Offsets of bytes, as normalize_with_offsets gives them, as offsets of characters."""
    from_text, from_normalized = character_offsets(text), character_offsets(normalized)
    ret = [0] * (from_normalized[-1] + 1)
    for at, offset in enumerate(offsets):
        if at < len(from_normalized) and offset < len(from_text):
            ret[from_normalized[at]] = from_text[offset]
    return ret


def normalized_as(value: str | bytes, data: bytes, normalize: Any) -> Any:
    """What `normalize` gives for `data`, in the type of `value`: a text, or (text, offsets)."""
    found = normalize(data)
    if isinstance(value, bytes):
        return found
    if isinstance(found, bytes):
        return found.decode()
    return found[0].decode(), align_characters(data, *found)
