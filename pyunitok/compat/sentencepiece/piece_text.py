"""Decodes pieces in Python, if some are not in the model or if their positions in the text are required.

As in sentencepiece, there are two decoders, one for text and one for text with positions, which strip the leading space
of a text by different rules. If only the text is required, ids are decoded in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pyunitok.compat.sentencepiece.engine import SPACE, Engine, replace_invalid
from pyunitok.compat.sentencepiece.text import EncodedText, Token
from pyunitok.packed import Offsets, Packed
from pyunitok.vocab import utf8
from pyunitok.vocab.vocabulary import BYTE, CONTROL

Pieces = Sequence[tuple[bytes, int]]  # (piece, id); the id of a piece that is not in the model is the unknown id


def _unspace(piece: bytes) -> bytes:
    return piece.replace(SPACE, b" ")


def decode_ids(engine: Engine, sequences: Sequence[Offsets]) -> list[bytes]:
    """Decode sequences of valid ids."""
    if not engine.is_text:
        return [_decode(engine, [(engine.model.pieces[id_], id_) for id_ in ids.tolist()]) for ids in sequences]
    offsets = np.concatenate(([0], np.cumsum([len(ids) for ids in sequences], dtype=np.int64)))
    data = np.concatenate(sequences) if sequences else np.empty(0, np.int64)
    ids = data.astype(engine.tokenizer.dtype)
    codec = engine.tokenizer.codec
    if len(codec.model.bounds_of_runs(ids)) > 2:  # a control symbol separates byte pieces
        parts = (ids[begin:end] for begin, end in pairwise(offsets.tolist()))
        return [codec.decode_text(part, "replace", True).encode() for part in parts]
    return [replace_invalid(item.tobytes()) for item in engine.tokenizer.decode_bytes_batch(Packed(ids, offsets))]


def decode_pieces(engine: Engine, pieces: Sequence[bytes]) -> bytes:
    """Decode pieces, which need not be in the model."""
    ids = [engine.find(piece) for piece in pieces]
    if any(engine.is_unknown(id_) for id_ in ids):
        return _decode(engine, list(zip(pieces, ids, strict=True)))
    return decode_ids(engine, [np.array(ids, np.int64)])[0]


def _decode(engine: Engine, pieces: Pieces) -> bytes:
    """Decode pieces to text."""
    text, spelled, at_start = b"", b"", True
    model, strips, removes = engine.model, engine.strips_space, engine.removes_spaces

    for piece, id_ in pieces:
        if engine.type_of(id_) == BYTE:
            spelled += bytes([int(piece[3:5], 16)])
            continue
        text, spelled = text + replace_invalid(spelled), b""
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
    return engine.denormalize(text + replace_invalid(spelled))


def decode_text(engine: Engine, pieces: Pieces) -> EncodedText:
    """Decode pieces to a text with the position of each piece."""
    text, tokens = bytearray(), []
    spelled: list[tuple[bytes, int]] = []
    at_start, had_space = True, False

    def put(piece: bytes, id_: int, surface: bytes) -> None:
        tokens.append(Token(piece, id_, len(text), len(text) + len(surface), surface))
        text.extend(surface)

    def flush() -> None:
        at = 0
        for character in utf8.escaped(bytes(int(piece[3:5], 16) for piece, _ in spelled)):
            for _ in utf8.unescaped(character)[1:]:
                put(*spelled[at], b"")
                at += 1
            put(*spelled[at], utf8.replace_escapes(character).encode())
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
    """(the text of a piece, whether the leading space of the text was stripped from it)."""
    if engine.type_of(id_) == CONTROL:
        return b"", False
    if engine.is_unknown(id_):
        return (engine.model.unk_surface if id_ >= 0 and engine.model.pieces[id_] == piece else piece), False
    rest = piece.removeprefix(SPACE) if at_start and engine.strips_space else piece
    return _unspace(rest), rest != piece and not engine.removes_spaces
