"""Pieces to text, in Python: for pieces that the model does not have, and for the places of pieces in the text.

sentencepiece has two decoders, one for text alone and one that keeps places. They strip the first space of a text by
rules that differ, so there are two here. Ids go through C wherever text alone is asked for (engine.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyunitok.compat.sentencepiece.text import EncodedText, Token
from pyunitok.vocab.vocabulary import BYTE, CONTROL

if TYPE_CHECKING:
    from pyunitok.compat.sentencepiece.engine import Engine

SPACE = "\u2581".encode()
REPLACEMENT = "\ufffd".encode()
Pieces = Sequence[tuple[bytes, int]]  # a piece, and the id it is taken for


def characters(data: bytes) -> list[bytes]:
    """The characters of spelled bytes: whole ones, or single bytes that belong to none."""
    ret, at = [], 0
    while at < len(data):
        for n_bytes in range(1, 5):
            try:
                data[at : at + n_bytes].decode()
            except UnicodeDecodeError:
                continue
            break
        else:
            n_bytes = 1
        ret.append(data[at : at + n_bytes])
        at += n_bytes
    return ret


def _is_text(character: bytes) -> bool:
    return len(character) > 1 or character < b"\x80"


def _unspace(piece: bytes) -> bytes:
    return piece.replace(SPACE, b" ")


def decode(engine: Engine, pieces: Pieces) -> bytes:
    """The text of pieces."""
    text, spelled, at_start = b"", b"", True
    model, strips, removes = engine.model, engine.strips_space, engine.removes_spaces

    def flush() -> bytes:
        return b"".join(c if _is_text(c) else REPLACEMENT for c in characters(spelled))

    for piece, id_ in pieces:
        if engine.type_of(id_) == BYTE:
            spelled += bytes([int(piece[3:5], 16)])
            continue
        text, spelled = text + flush(), b""
        at_start = at_start and not text
        if engine.type_of(id_) == CONTROL:
            continue
        rest = piece.removeprefix(SPACE) if at_start and strips else piece
        has_stripped = rest != piece and not removes
        if engine.is_unknown(id_):
            text += model.unk_surface if id_ >= 0 and model.pieces[id_] == piece else piece
        else:
            text += _unspace(rest)
        at_start = at_start and not has_stripped and not text
    return engine.denormalize(text + flush())


def decode_text(engine: Engine, pieces: Pieces) -> EncodedText:
    """The text of pieces, with the place of each."""
    text, tokens = bytearray(), []
    spelled: list[tuple[bytes, int]] = []
    at_start, had_space = True, False

    def put(piece: bytes, id_: int, surface: bytes) -> None:
        tokens.append(Token(piece, id_, len(text), len(text) + len(surface), surface))
        text.extend(surface)

    def flush() -> None:
        at = 0
        for character in characters(bytes(int(piece[3:5], 16) for piece, _ in spelled)):
            for _ in character[1:]:
                put(*spelled[at], b"")
                at += 1
            put(*spelled[at], character if _is_text(character) else REPLACEMENT)
            at += 1
        spelled.clear()

    for piece, id_ in pieces:
        if engine.type_of(id_) == BYTE:
            spelled.append((piece, id_))
            continue
        flush()
        at_start = at_start and not had_space and not text
        surface, had_space = _surface(engine, piece, id_, at_start)
        put(piece, id_, surface)
    flush()
    return EncodedText.of(engine.denormalize(bytes(text)), tokens)


def _surface(engine: Engine, piece: bytes, id_: int, at_start: bool) -> tuple[bytes, bool]:
    """What a piece adds to the text, and whether it gave up the space that the text began with."""
    if engine.type_of(id_) == CONTROL:
        return b"", False
    if engine.is_unknown(id_):
        return (engine.model.unk_surface if id_ >= 0 and engine.model.pieces[id_] == piece else piece), False
    rest = piece.removeprefix(SPACE) if at_start and engine.strips_space else piece
    return _unspace(rest), rest != piece and not engine.removes_spaces
