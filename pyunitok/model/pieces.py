"""TokenizerPieces defines the methods of Tokenizer for ids and pieces."""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok.errors import VocabularyError
from pyunitok.model.codec import Codec
from pyunitok.packed import Packed, as_bytes
from pyunitok.vocab import utf8


def _id_or_none(id_: int) -> int | None:
    return None if id_ < 0 else int(id_)


class TokenizerPieces:
    """The methods of Tokenizer that concern the vocabulary."""

    codec: Codec

    @property
    def vocab_size(self) -> int:
        """1 + the largest id, including eod and fallback: the number of rows that an embedding needs."""
        return int(self.codec.model.info.n_ids)

    n_vocab = vocab_size

    def __len__(self) -> int:
        return self.vocab_size

    @property
    def eod_id(self) -> int | None:
        """The id that ends documents, or None."""
        return _id_or_none(self.codec.model.info.eod_id)

    @property
    def fallback_id(self) -> int | None:
        """The id of bytes that no piece covers; None if every byte has a piece."""
        return _id_or_none(self.codec.model.info.fallback_id)

    @property
    def unk_id(self) -> int | None:
        """The id of unknown characters, or None."""
        return self.codec.about.special.get("unk")

    @property
    def bos_id(self) -> int | None:
        """The id for the beginning of a sentence, or None."""
        return self.codec.about.special.get("bos")

    @property
    def eos_id(self) -> int | None:
        """The id for the end of a sentence, or None."""
        return self.codec.about.special.get("eos")

    @property
    def pad_id(self) -> int | None:
        """The id for padding, or None."""
        return self.codec.about.special.get("pad")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of ids: uint16, or uint32 if the largest id does not fit in 16 bits."""
        return self.codec.dtype

    @property
    def max_piece_bytes(self) -> int:
        """The length of the longest piece in bytes."""
        return int(self.codec.model.info.max_piece_bytes)

    def pieces(self) -> Packed:
        """The pieces by id, as a Packed of uint8; empty for an id without a piece."""
        return Packed(*self.codec.model.pieces())

    def id_to_bytes(self, id_: int) -> bytes:
        """The bytes that an id stands for; empty for an eod that is not a piece. Raises IdError if it has no
        meaning."""
        piece = self.codec.model.piece(id_) if 0 <= id_ < self.vocab_size else None
        return self.decode_bytes([id_]) if piece is None else piece

    def decode_bytes(self, ids: Any) -> bytes:
        raise NotImplementedError

    def id_to_piece(self, id_: int) -> str:
        """The piece as text; invalid UTF-8 is shown as <0xE3>. Raises IdError if the id has no meaning."""
        shown = self.codec.shown.get(id_) if id_.__class__ is int else None
        if shown is not None:
            return shown
        shown = self._shown(id_)
        if id_.__class__ is int:
            self.codec.shown[id_] = shown
        return shown

    def _shown(self, id_: int) -> str:
        if id_ == self.eod_id and self.codec.model.piece(id_) is None:
            return self.codec.about.eod_piece or "<eod>"
        return utf8.shown(self.id_to_bytes(id_))

    def piece_to_id(self, piece: str | bytes) -> int | None:
        """The id of exactly this piece, or None. A str may also be a result of id_to_piece: <0xE3>, the eod's name."""
        is_exact = piece.__class__ is str or piece.__class__ is bytes
        if is_exact and (known := self.codec.known.get(piece)) is not None:
            return known
        id_ = self.codec.find(as_bytes(piece))
        if id_ < 0 and isinstance(piece, str):
            if piece == self.codec.about.eod_piece:
                return self.eod_id
            id_ = self.codec.find(utf8.unshown(piece))
        if id_ >= 0 and is_exact:
            self.codec.known[piece] = id_
        return _id_or_none(id_)

    def id_to_token(self, id_: int) -> str | None:
        """Like id_to_piece, but returns None if the id has no meaning, as tokenizers does."""
        try:
            return self.id_to_piece(operator.index(id_))
        except IndexError:
            return None

    token_to_id = piece_to_id

    def get_vocab(self) -> dict[str, int]:
        """{piece as id_to_piece shows it: id}. If several pieces look the same, the largest id wins."""
        ret = {utf8.shown(piece.tobytes()): id_ for id_, piece in enumerate(self.pieces()) if len(piece)}
        if self.eod_id is not None:
            ret.setdefault(self.id_to_piece(self.eod_id), self.eod_id)
        return ret

    def prefix_range(self, prefix: str | bytes) -> range:
        """The ids of all pieces of two bytes or more that begin with these bytes.

        Raises VocabularyError unless the ids of such pieces are in the order of their bytes.
        """
        data = as_bytes(prefix)
        first, ordered = self._ordered

        def head(piece: bytes) -> bytes:
            return piece[: len(data)]

        return range(first + bisect_left(ordered, data, key=head), first + bisect_right(ordered, data, key=head))

    @cached_property
    def _ordered(self) -> tuple[int, list[bytes]]:
        """The smallest id from which on all pieces have two bytes or more, and the pieces from that id on."""
        packed = self.pieces()
        short = np.flatnonzero(np.diff(packed.offsets) < 2)
        first = int(short[-1]) + 1 if len(short) else 0
        ordered = [packed[id_].tobytes() for id_ in range(first, len(packed))]
        if any(a >= b for a, b in pairwise(ordered)):
            raise VocabularyError("the ids of this vocabulary are not in the order of its pieces' bytes")
        return first, ordered

    def __contains__(self, piece: object) -> bool:
        """Whether `piece` is a str or bytes that the vocabulary contains."""
        return isinstance(piece, str | bytes) and self.piece_to_id(piece) is not None
