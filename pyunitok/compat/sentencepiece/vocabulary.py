"""ProcessorVocabulary has the methods of SentencePieceProcessor for ids and pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyunitok.compat.sentencepiece import arguments
from pyunitok.compat.sentencepiece.engine import Engine
from pyunitok.compat.sentencepiece.spelling import in_both_spellings
from pyunitok.vocab.vocabulary import BYTE, CONTROL, UNUSED


def _of_id(value_of: Callable[[Engine, int], Any]) -> Any:
    """A method that returns this value for an id, or a list of the values for a sequence of ids."""

    def method(self: ProcessorVocabulary, id: Any) -> Any:
        engine = self._engine
        if id.__class__ is int and engine is not None and 0 <= id < engine.n_pieces:
            return value_of(engine, id)
        return self._of_ids(id, value_of)

    return method


@in_both_spellings
class ProcessorVocabulary:
    """The base of CurrentProcessor, which loads models."""

    _engine: Engine | None

    @property
    def _loaded(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("Model is not initialized: load a model first")
        return self._engine

    def get_piece_size(self) -> int:
        """The number of ids; 0 if no model is loaded."""
        return self._engine.n_pieces if self._engine else 0

    piece_size = vocab_size = __len__ = get_piece_size

    def piece_to_id(self, piece: Any) -> Any:
        """The id of a piece, or the ids of a sequence of pieces. Strings that are not pieces have the unknown id."""
        if piece.__class__ is str and self._engine is not None:  # fast paths, as in some methods below
            id_ = self._engine.ids_by_text.get(piece)
            if id_ is not None:
                return id_
        if piece.__class__ is list and self._engine is not None:
            ids = self._engine.ids_by_texts(piece)
            if ids is not None:
                return ids
        if isinstance(piece, str | bytes | bytearray):
            (data,) = arguments.pieces_of([piece], "Sequence elements must be str or bytes")
            return self._engine.find(data) if self._engine else 0
        if not arguments.is_sequence(piece) or not hasattr(piece, "__getitem__") or isinstance(piece, dict):
            raise TypeError(f"expected a piece (str or bytes) or a sequence of pieces, not {type(piece).__name__}")
        items = arguments.pieces_of(piece, "Sequence elements must be str or bytes")
        return [self._engine.find(item) if self._engine else 0 for item in items]

    __getitem__ = piece_to_id

    def id_to_piece(self, id: Any) -> Any:
        """The piece of an id, or the pieces of a sequence of ids. Raises IndexError for an invalid id."""
        engine = self._engine
        if id.__class__ is int and engine is not None and 0 <= id < engine.n_pieces:
            return engine.pieces[id]
        if id.__class__ is list and engine is not None and (pieces := engine.texts_by_ids(id)) is not None:
            return pieces
        return self._of_ids(id, lambda engine, id_: engine.pieces[id_])

    # These methods also raise IndexError for an invalid id.
    get_score = _of_id(lambda engine, id_: engine.scores[id_])
    is_unknown = _of_id(lambda engine, id_: engine.is_unknown(id_))
    is_control = _of_id(lambda engine, id_: engine.types[id_] == CONTROL)
    is_unused = _of_id(lambda engine, id_: engine.types[id_] == UNUSED)
    is_byte = _of_id(lambda engine, id_: engine.types[id_] == BYTE)

    def _of_ids(self, id_: Any, value_of: Callable[[Engine, int], Any]) -> Any:
        is_one = hasattr(id_, "__index__") and not (isinstance(id_, np.ndarray) and id_.ndim)
        ids = arguments.ids_of([id_] if is_one else id_)
        arguments.check_ids(ids, self.get_piece_size())
        ret = [value_of(self._loaded, id_) for id_ in ids.tolist()]
        return ret[0] if is_one else ret

    def unk_id(self) -> int:
        """The id of the unknown piece. This and the next three methods return -1 if the model has no such id, or if no
        model is loaded."""
        return self._engine.model.unk_id if self._engine else -1

    def bos_id(self) -> int:
        return self._engine.model.bos_id if self._engine else -1

    def eos_id(self) -> int:
        return self._engine.model.eos_id if self._engine else -1

    def pad_id(self) -> int:
        return self._engine.model.pad_id if self._engine else -1
