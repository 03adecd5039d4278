"""Bytes as characters, GPT-2's way: printable ones of Latin-1 stand for themselves, the others for U+0100 and on."""

from __future__ import annotations

from pyunitok._c import library
from pyunitok._c.kinds import KINDS
from pyunitok.vocab.vocabulary import PREPARE_NFC, Vocabulary

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
CHARACTERS = [chr(byte if byte in _PRINTABLE else 0x100 + _OTHERS.index(byte)) for byte in range(256)]
_BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def shown(piece: bytes) -> str:
    """A character for each byte: b" caf\\xc3\\xa9" is "ĠcafÃ©"."""
    return "".join(map(CHARACTERS.__getitem__, piece))


def bytes_of(text: str) -> bytes:
    """What shown() shows so. KeyError: a character that stands for no byte."""
    return bytes(map(_BYTES.__getitem__, text))


def flags_of(kind: str) -> int:
    """Of a model of this kind whose symbols are bytes."""
    return sum(library.MODEL_FLAGS[name] for name in ("bytes", KINDS[kind].byte_level_flag))


def is_byte_level(vocabulary: Vocabulary) -> bool:
    """Whether it is such a model: not a BytePiece model, whose texts are normalized first."""
    is_bytes = bool(KINDS[vocabulary.kind].byte_level_flag) and vocabulary.flags == flags_of(vocabulary.kind)
    return is_bytes and vocabulary.prepare != PREPARE_NFC
