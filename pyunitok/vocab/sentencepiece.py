"""Reads SentencePiece's .model files.

The reader accepts and rejects the same files as sentencepiece 0.2.3. Errors name the file and the piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok._c import text as c_text
from pyunitok._c.kinds import Kind, by_model_type
from pyunitok._c.proto import read_proto
from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.packed import Bytes
from pyunitok.vocab import sentencepiece_proto
from pyunitok.vocab.vocabulary import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    PackedPieces,
    Vocabulary,
    pack,
    piece_at,
    split,
)

looks_like_model = sentencepiece_proto.looks_like_model

_UNIGRAM, _BPE = 1, 2  # model types with special rules for pieces
PIECE_BYTES_MAX = 7999
_BYTE_PIECES = {b"<0x%02X>" % byte: byte for byte in range(256)}
_TEXTS = (NORMAL, USER_DEFINED, UNUSED)  # types of pieces that spell text

# Matches the types of special pieces in an array of types.
_SPECIAL_TYPES = re.compile(bytes([ord("["), UNKNOWN, CONTROL, ord("]")]))

Scores = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Normalization:
    """The rules of a NormalizerSpec; see csrc/text/normalize.h."""

    charsmap: bytes  # precompiled; empty: no charsmap
    flags: int  # of enum unitok_model_flags


@dataclass(frozen=True, eq=False)
class SentencePieceModel:
    """A model as loaded by sentencepiece. The id of a piece is its index."""

    name: str  # for messages; usually the file
    data: bytes  # the file
    packed: PackedPieces  # the pieces
    scores: Scores  # [n]
    types: Bytes  # [n], enum unitok_piece_type; with byte_fallback, a "\0" piece becomes UNUSED
    trainer: Any  # the TrainerSpec
    flags: int  # of enum unitok_model_flags, including normalization.flags
    normalization: Normalization
    denormalization: Normalization | None
    unknown_id: int  # the id of the piece of type UNKNOWN; -1 if there is none (only with byte_fallback)

    @property
    def kind(self) -> Kind:
        return by_model_type(self.trainer.model_type)

    @property
    def unk_surface(self) -> bytes:
        """The text that the unknown piece decodes to."""
        surface: bytes = self.trainer.unk_surface
        return surface

    @cached_property
    def proto(self) -> Any:
        """The ModelProto, including unknown fields."""
        return _parse(self.data, self.name)

    @cached_property
    def pieces(self) -> list[bytes]:
        return split(*self.packed)

    @cached_property
    def tables(self) -> PieceLookup:
        texts: dict[bytes, int] = {}
        marks: dict[bytes, int] = texts if self.trainer.model_type == _BPE else {}
        for id_, (piece, type_) in enumerate(zip(self.pieces, self.types.tolist(), strict=True)):
            if piece != b"\0" or type_ != UNUSED:
                (texts if type_ in _TEXTS else marks)[piece] = id_
        return PieceLookup({} if marks is texts else marks, texts, self.unknown_id)

    # Each is the id that sentencepiece's function of the same name returns; -1 if the model has no such id.

    @cached_property
    def unk_id(self) -> int:
        return self._special(self.trainer.unk_piece or b"<unk>", UNKNOWN)

    @cached_property
    def bos_id(self) -> int:
        return self._special(self.trainer.bos_piece or b"<s>", CONTROL)

    @cached_property
    def eos_id(self) -> int:
        return self._special(self.trainer.eos_piece or b"</s>", CONTROL)

    @cached_property
    def pad_id(self) -> int:
        return self._special(self.trainer.pad_piece or b"<pad>", CONTROL)

    def _special(self, piece: bytes, wanted: int) -> int:
        if "tables" in self.__dict__:
            id_ = self.tables.find(piece)
        elif (found := self._special_ids.get(piece)) is not None:
            id_ = found
        elif piece in self._bytes:  # the model may have this piece with a different type
            id_ = self.tables.find(piece)
        else:
            id_ = self.unknown_id
        return id_ if id_ >= 0 and self.types[id_] == wanted else -1

    @cached_property
    def _bytes(self) -> bytes:
        return self.packed[0].tobytes()

    @cached_property
    def _special_ids(self) -> dict[bytes, int]:
        """The unknown piece and the control symbols."""
        ids = [found.start() for found in _SPECIAL_TYPES.finditer(self.types.tobytes())]
        return {piece_at(self.packed, id_): id_ for id_ in ids}

    def vocabulary(self) -> Vocabulary:
        """The Vocabulary that C builds the model from. The end of document is eos, if the model has it."""
        has_eos = self.eos_id >= 0
        special = {"unk": self.unk_id, "bos": self.bos_id, "eos": self.eos_id, "pad": self.pad_id}
        rules = self.denormalization
        return Vocabulary(
            *self.packed, np.arange(len(self.types), dtype=np.int64), self.eos_id if has_eos else None,
            piece_at(self.packed, self.eos_id).decode("utf-8", "replace") if has_eos else None, None, self.name,
            kind=self.kind.name, flags=self.flags, scores=self.scores.astype(np.float64), types=self.types,
            charsmap=self.normalization.charsmap, unknown_surface=self.unk_surface,
            special={role: id_ for role, id_ in special.items() if id_ >= 0},
            denormalization=(rules.charsmap, rules.flags) if rules else None,
        )  # fmt: skip


def read(data: bytes, name: str, *, is_built: bool = False) -> SentencePieceModel:
    """Read a file. Raises ModelFormatError if it is not a SentencePiece model; VocabularyError for invalid pieces or
    rules.

    is_built  whether the caller next builds the model's vocabulary(), which validates the normalization, so that read()
              need not do so
    """
    found = _read_usual(data, name) or _read_any(data, name)
    proto, packed, scores, types, unknown_id, charsmap = found
    trainer = proto.trainer_spec
    normalization = _normalization(proto.normalizer_spec, charsmap, None if is_built else name)
    denormalization = None
    if proto.denormalizer_spec.precompiled_charsmap:
        denormalization = read_normalization(proto.denormalizer_spec, name)
    flags = normalization.flags | library.MODEL_FLAGS["merge_unknown"]
    flags |= library.MODEL_FLAGS["whitespace_as_suffix"] * trainer.treat_whitespace_as_suffix
    flags |= library.MODEL_FLAGS["byte_fallback"] * trainer.byte_fallback
    return SentencePieceModel(
        name=name, data=data, packed=packed, scores=scores, types=types, trainer=trainer, flags=flags,
        normalization=normalization, denormalization=denormalization, unknown_id=unknown_id,
    )  # fmt: skip


def read_vocabulary(data: bytes, name: str) -> Vocabulary:
    return read(data, name, is_built=True).vocabulary()


# (ModelProto, pieces, scores, types, unknown_id, charsmap). The proto may lack the pieces and the charsmap.
Found = tuple[Any, PackedPieces, Scores, Bytes, int, bytes]


def _read_usual(data: bytes, name: str) -> Found | None:
    """Read a valid file with the usual layout, mostly in C. None for any other file."""
    if (read := read_proto(data)) is None:
        return None
    try:
        proto = sentencepiece_proto.parse("ModelProto", read.rest)
    except ValueError:
        return None
    trainer, info = proto.trainer_spec, read.info
    if proto.normalizer_spec.precompiled_charsmap:  # C did not recognise the charsmap's tag
        return None
    if info.unknown_id < 0 and not trainer.byte_fallback:
        return None
    if info.n_byte_pieces != (len(_BYTE_PIECES) if trainer.byte_fallback else 0):
        return None
    if trainer.model_type == _UNIGRAM and not (info.is_finite and info.has_texts):
        return None
    return proto, (read.pieces, read.offsets), read.scores, read.types, info.unknown_id, read.charsmap


def _read_any(data: bytes, name: str) -> Found:
    """Read any file piece by piece. Errors name the invalid piece."""
    proto = _parse(data, name)
    trainer = proto.trainer_spec
    pieces = [piece.piece for piece in proto.pieces]
    scores = np.fromiter((piece.score for piece in proto.pieces), np.float32, len(pieces))
    types = np.fromiter((piece.type for piece in proto.pieces), np.uint8, len(pieces))
    if trainer.byte_fallback:
        # Some converters write a piece "\0" in addition to <0x00>. sentencepiece never uses that piece.
        types[[i for i, piece in enumerate(pieces) if piece == b"\0"]] = UNUSED
    unknown_id = _check_pieces(pieces, types, trainer, name)
    if trainer.model_type == _UNIGRAM:
        _check_unigram(pieces, scores, types, name)
    return proto, pack(pieces), scores, types, unknown_id, proto.normalizer_spec.precompiled_charsmap


def _parse(data: bytes, name: str) -> Any:
    try:
        return sentencepiece_proto.parse("ModelProto", data)
    except ValueError as error:
        raise ModelFormatError(f"{name}: not a SentencePiece model, or damaged: {error}") from None


def read_normalization(spec: Any, name: str) -> Normalization:
    """The rules of a NormalizerSpec. Raises VocabularyError if its charsmap is invalid."""
    return _normalization(spec, spec.precompiled_charsmap, name)


def _normalization(spec: Any, charsmap: bytes, name: str | None) -> Normalization:
    """The rules of a NormalizerSpec with this charsmap. Validates the charsmap unless `name`, which is for the error
    message, is None."""
    flags = sum(
        library.MODEL_FLAGS[flag]
        for flag in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
        if getattr(spec, flag)
    )
    if name is not None:
        try:
            c_text.Normalizer(charsmap, [], flags)
        except VocabularyError as error:
            raise VocabularyError(f"{name}: {error}") from None
    return Normalization(charsmap, flags)


# --------------------------------------------------------------------------------------------------- Pieces ----


@dataclass(frozen=True)
class PieceLookup:
    """Looks up pieces as sentencepiece does: special pieces take precedence over text pieces."""

    marks: dict[bytes, int]  # control, unknown and byte pieces; empty in BPE models, which have only one table
    texts: dict[bytes, int]
    unknown_id: int

    def find(self, piece: bytes) -> int:
        return self.marks.get(piece, self.texts.get(piece, self.unknown_id))


def _fail(name: str, id_: int, piece: bytes, problem: str) -> VocabularyError:
    return VocabularyError(f"{name}: piece {id_} ({piece[:64]!r}): {problem}")


def _check_pieces(pieces: list[bytes], types: Bytes, trainer: Any, name: str) -> int:
    """Validates the pieces. Returns the id of the unknown piece, or -1."""
    for id_, piece in enumerate(pieces):
        if len(piece) > PIECE_BYTES_MAX:
            raise _fail(name, id_, piece, f"the piece has {len(piece)} bytes; the maximum is {PIECE_BYTES_MAX}")
    one_table = trainer.model_type == _BPE
    texts: dict[bytes, int] = {}
    marks: dict[bytes, int] = texts if one_table else {}
    unknown_id, bytes_found = -1, set()
    for id_, (piece, type_) in enumerate(zip(pieces, types.tolist(), strict=True)):
        if not piece:
            raise _fail(name, id_, piece, "the piece is empty")
        if piece == b"\0" and type_ == UNUSED:
            continue
        if b"\0" in piece:
            raise _fail(name, id_, piece, "the piece contains a NUL")
        table = texts if type_ in _TEXTS else marks
        if piece in table:
            raise _fail(name, id_, piece, f"duplicate of piece {table[piece]}")
        table[piece] = id_
        if type_ == UNKNOWN:
            if unknown_id >= 0:
                raise _fail(name, id_, piece, f"piece {unknown_id} is already the unknown piece")
            unknown_id = id_
        elif type_ == BYTE:
            if not trainer.byte_fallback:
                raise _fail(name, id_, piece, "byte pieces require byte_fallback")
            if piece not in _BYTE_PIECES:
                raise _fail(name, id_, piece, "byte pieces must be <0x00> to <0xFF>")
            bytes_found.add(piece)
    if unknown_id < 0 and not trainer.byte_fallback:
        raise VocabularyError(f"{name}: the model has neither an unknown piece nor byte_fallback")
    if trainer.byte_fallback and len(bytes_found) < len(_BYTE_PIECES):
        missing = min(_BYTE_PIECES.keys() - bytes_found).decode()
        raise VocabularyError(f"{name}: byte_fallback requires all 256 byte pieces, but {missing} is missing")
    return unknown_id


def _check_unigram(pieces: list[bytes], scores: Scores, types: Bytes, name: str) -> None:
    for id_ in np.flatnonzero(~np.isfinite(scores)).tolist():
        raise _fail(name, id_, pieces[id_], f"its score is {scores[id_]}")
    is_text = np.isin(types, (NORMAL, USER_DEFINED, UNUSED))
    if not any(pieces[id_] != b"\0" for id_ in np.flatnonzero(is_text).tolist()):
        raise VocabularyError(f"{name}: no piece can match any text")
