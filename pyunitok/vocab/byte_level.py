"""GPT-2's byte-to-character table: printable Latin-1 bytes map to themselves, all others to U+0100 and up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyunitok._c import library
from pyunitok._c.kinds import KINDS
from pyunitok.vocab.vocabulary import PREPARE_NFC, PackedPieces, Vocabulary, pack, split

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
CHARACTERS = [chr(byte if byte in _PRINTABLE else 0x100 + _OTHERS.index(byte)) for byte in range(256)]
_TABLE = np.full(ord(max(CHARACTERS)) + 2, -1, np.int16)  # the byte of a code point, or -1
_TABLE[[ord(character) for character in CHARACTERS]] = range(256)
_BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def shown(piece: bytes) -> str:
    """One character per byte: b" caf\\xc3\\xa9" becomes "ĠcafÃ©"."""
    return "".join(map(CHARACTERS.__getitem__, piece))


def bytes_of(text: str) -> bytes:
    """The inverse of shown(). Raises KeyError for a character outside the table."""
    return bytes(map(_BYTES.__getitem__, text))


def decoded(text: str) -> bytes:
    """The bytes that `tokenizers` decodes a token to: its UTF-8 if one of its characters is not in the table."""
    try:
        return bytes_of(text)
    except KeyError:
        return text.encode()


def packed(texts: Sequence[str]) -> tuple[PackedPieces, list[int]]:
    """The packed bytes of many texts, and the indices of texts with characters outside the table, which are encoded as
    UTF-8."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    found = _TABLE[np.minimum(codes, len(_TABLE) - 1)]
    wrong = np.unique(np.searchsorted(offsets, np.flatnonzero(found < 0), "right") - 1).tolist()
    if not wrong:
        return (found.astype(np.uint8), offsets), []
    parts = split(found.astype(np.uint8), offsets)
    for k in wrong:
        parts[k] = texts[k].encode()
    return pack(parts), wrong


def flags_of(kind: str) -> int:
    """The flags of a byte-level model of this kind."""
    return sum(library.MODEL_FLAGS[name] for name in ("bytes", KINDS[kind].byte_level_flag))


def is_byte_level(vocabulary: Vocabulary) -> bool:
    """Whether the model is byte-level. BytePiece models are not, because they normalize texts first."""
    flags = vocabulary.flags & ~library.MODEL_FLAGS["pattern"]
    is_bytes = bool(KINDS[vocabulary.kind].byte_level_flag) and flags == flags_of(vocabulary.kind)
    return is_bytes and vocabulary.prepare != PREPARE_NFC
