"""SentencePiece's .model files: the protobuf read, checked by the rules of sentencepiece 0.2.3, and taken apart.

It loads what sentencepiece loads, and refuses what sentencepiece refuses; errors name the file and the piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok import _ffi
from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.vocab import sentencepiece_proto
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Vocabulary

looks_like_model = sentencepiece_proto.looks_like_model

_UNIGRAM, _BPE, _WORD, _CHAR = 1, 2, 3, 4
_KINDS = {_UNIGRAM: "unigram", _BPE: "bpe", _WORD: "word", _CHAR: "char"}
PIECE_BYTES_MAX = 7999
_BYTE_PIECES = {b"<0x%02X>" % byte: byte for byte in range(256)}

Scores = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Normalization:
    """What a NormalizerSpec asks for: see csrc/text/normalize.h."""

    charsmap: bytes  # precompiled; empty: none
    flags: int  # of enum unitok_model_flags


@dataclass(frozen=True, eq=False)
class SentencePieceModel:
    """A model as sentencepiece sees it once loaded. The id of a piece is its index."""

    name: str  # for messages: the file, mostly
    proto: Any  # the ModelProto as it was read; SerializeToString() gives its bytes again, unknown fields included
    pieces: list[bytes]
    scores: Scores  # [n]
    types: _ffi.Bytes  # [n], enum unitok_piece_type; a "\0" piece beside byte_fallback has become UNUSED
    kind: str  # "unigram", "bpe", "word" or "char"
    flags: int  # of enum unitok_model_flags, those of `normalization` included
    normalization: Normalization
    denormalization: Normalization | None
    unknown_id: int  # the piece of type UNKNOWN, or -1 (only with byte_fallback)
    unk_id: int  # these four as sentencepiece's functions of the same names give them: -1 is none
    bos_id: int
    eos_id: int
    pad_id: int
    unk_surface: bytes  # what the unknown piece decodes to
    tables: PieceTables

    @property
    def byte_fallback(self) -> bool:
        return bool(self.proto.trainer_spec.byte_fallback)

    def vocabulary(self) -> Vocabulary:
        """What C builds the model from. Its end of document is eos, where there is one."""
        has_eos = self.eos_id >= 0
        special = {"unk": self.unk_id, "bos": self.bos_id, "eos": self.eos_id, "pad": self.pad_id}
        rules = self.denormalization
        return Vocabulary.pack(
            self.pieces, np.arange(len(self.pieces), dtype=np.int64), eod_id=self.eos_id if has_eos else None,
            eod_piece=self.pieces[self.eos_id].decode("utf-8", "replace") if has_eos else None, name=self.name,
            kind=self.kind, flags=self.flags, scores=self.scores.astype(np.float64), types=self.types,
            charsmap=self.normalization.charsmap, unknown_surface=self.unk_surface,
            special={role: id_ for role, id_ in special.items() if id_ >= 0},
            denormalization=(rules.charsmap, rules.flags) if rules else None,
        )  # fmt: skip


def read(data: bytes, name: str) -> SentencePieceModel:
    """The model in a file's bytes. ModelFormatError: no such file; VocabularyError: pieces or rules that break."""
    proto = _parse(data, name)
    trainer = proto.trainer_spec
    pieces = [piece.piece for piece in proto.pieces]
    scores = np.fromiter((piece.score for piece in proto.pieces), np.float32, len(pieces))
    types = np.fromiter((piece.type for piece in proto.pieces), np.uint8, len(pieces))
    if trainer.byte_fallback:
        # Converters have written such pieces beside <0x00>; sentencepiece takes them out of use.
        types[[i for i, piece in enumerate(pieces) if piece == b"\0"]] = UNUSED
    tables = _check_pieces(pieces, types, trainer, name)
    if trainer.model_type == _UNIGRAM:
        _check_unigram(pieces, scores, types, name)
    normalization = read_normalization(proto.normalizer_spec, name)
    denormalization = None
    if proto.denormalizer_spec.precompiled_charsmap:
        denormalization = read_normalization(proto.denormalizer_spec, name)
    flags = normalization.flags | _ffi.MODEL_FLAGS["merge_unknown"]
    flags |= _ffi.MODEL_FLAGS["whitespace_as_suffix"] * trainer.treat_whitespace_as_suffix
    flags |= _ffi.MODEL_FLAGS["byte_fallback"] * trainer.byte_fallback

    def special(piece: bytes, usual: bytes, wanted: int) -> int:
        id_ = tables.find(piece or usual)
        return id_ if id_ >= 0 and types[id_] == wanted else -1

    return SentencePieceModel(
        name=name, proto=proto, pieces=pieces, scores=scores, types=types, kind=_KINDS[trainer.model_type], flags=flags,
        normalization=normalization, denormalization=denormalization, unknown_id=tables.unknown_id,
        unk_id=special(trainer.unk_piece, b"<unk>", UNKNOWN), bos_id=special(trainer.bos_piece, b"<s>", CONTROL),
        eos_id=special(trainer.eos_piece, b"</s>", CONTROL), pad_id=special(trainer.pad_piece, b"<pad>", CONTROL),
        unk_surface=trainer.unk_surface, tables=tables,
    )  # fmt: skip


def _parse(data: bytes, name: str) -> Any:
    from google.protobuf.message import DecodeError

    proto = sentencepiece_proto.message("ModelProto")()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise ModelFormatError(f"{name}: not a SentencePiece model, or damaged: {error}") from None
    return proto


def read_normalization(spec: Any, name: str) -> Normalization:
    flags = sum(
        _ffi.MODEL_FLAGS[flag]
        for flag in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
        if getattr(spec, flag)
    )
    try:
        _ffi.Normalizer(spec.precompiled_charsmap, [], flags)
    except VocabularyError as error:
        raise VocabularyError(f"{name}: {error}") from None
    return Normalization(spec.precompiled_charsmap, flags)


# --------------------------------------------------------------------------------------------------- Pieces ----


@dataclass(frozen=True)
class PieceTables:
    """How sentencepiece finds a piece: those that mark something before those that are text."""

    marks: dict[bytes, int]  # control, unknown and byte pieces; empty in BPE models, which keep all in one table
    texts: dict[bytes, int]
    unknown_id: int

    def find(self, piece: bytes) -> int:
        return self.marks.get(piece, self.texts.get(piece, self.unknown_id))


def _fail(name: str, id_: int, piece: bytes, problem: str) -> VocabularyError:
    return VocabularyError(f"{name}: piece {id_} ({piece[:64]!r}): {problem}")


def _check_pieces(pieces: list[bytes], types: _ffi.Bytes, trainer: Any, name: str) -> PieceTables:
    for id_, piece in enumerate(pieces):
        if len(piece) > PIECE_BYTES_MAX:
            raise _fail(name, id_, piece, f"it has {len(piece)} bytes; at most {PIECE_BYTES_MAX} are allowed")
    one_table = trainer.model_type == _BPE
    texts: dict[bytes, int] = {}
    marks: dict[bytes, int] = texts if one_table else {}
    unknown_id, bytes_found = -1, set()
    for id_, (piece, type_) in enumerate(zip(pieces, types.tolist(), strict=True)):
        if not piece:
            raise _fail(name, id_, piece, "it is empty")
        if piece == b"\0" and type_ == UNUSED:
            continue
        if b"\0" in piece:
            raise _fail(name, id_, piece, "it holds a NUL")
        table = texts if type_ in (NORMAL, USER_DEFINED, UNUSED) else marks
        if piece in table:
            raise _fail(name, id_, piece, f"piece {table[piece]} is the same")
        table[piece] = id_
        if type_ == UNKNOWN:
            if unknown_id >= 0:
                raise _fail(name, id_, piece, f"piece {unknown_id} is the unknown piece already")
            unknown_id = id_
        elif type_ == BYTE:
            if not trainer.byte_fallback:
                raise _fail(name, id_, piece, "a byte piece in a model without byte_fallback")
            if piece not in _BYTE_PIECES:
                raise _fail(name, id_, piece, "it is not a byte piece: those are <0x00> to <0xFF>")
            bytes_found.add(piece)
    if unknown_id < 0 and not trainer.byte_fallback:
        raise VocabularyError(f"{name}: no piece is the unknown piece, and there is no byte_fallback")
    if trainer.byte_fallback and len(bytes_found) < len(_BYTE_PIECES):
        missing = min(_BYTE_PIECES.keys() - bytes_found).decode()
        raise VocabularyError(f"{name}: byte_fallback needs all 256 byte pieces, and {missing} is missing")
    return PieceTables({} if one_table else marks, texts, unknown_id)


def _check_unigram(pieces: list[bytes], scores: Scores, types: _ffi.Bytes, name: str) -> None:
    for id_ in np.flatnonzero(~np.isfinite(scores)).tolist():
        raise _fail(name, id_, pieces[id_], f"its score is {scores[id_]}")
    is_text = np.isin(types, (NORMAL, USER_DEFINED, UNUSED))
    if not any(pieces[id_] != b"\0" for id_ in np.flatnonzero(is_text).tolist()):
        raise VocabularyError(f"{name}: no piece can match in a text")
