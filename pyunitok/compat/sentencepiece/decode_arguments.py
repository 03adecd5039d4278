"""Implements decode() for the many types of input that sentencepiece accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyunitok.compat.sentencepiece import arguments
from pyunitok.compat.sentencepiece.engine import Engine
from pyunitok.compat.sentencepiece.piece_text import decode_ids, decode_pieces, decode_text
from pyunitok.compat.sentencepiece.results import as_kind
from pyunitok.compat.sentencepiece.rewriting import apply, apply_to_pieces


def decode_any(engine: Engine | None, input_: Any, kind: Any, options: tuple[str, ...], as_bytes: bool) -> Any:
    """Decode to one text, or to a list of texts for a sequence of sequences."""
    if input_ is None or (isinstance(input_, str | bytes) and not input_):
        input_ = []
    if not arguments.is_sequence(input_):
        input_ = [input_]
    is_batch = input_.ndim > 1 if hasattr(input_, "ndim") else len(input_) > 0 and arguments.is_sequence(input_[0])
    sequences = [input_[i] for i in range(len(input_))] if is_batch else [input_]
    first: Any = next((item for item in sequences if arguments.is_sequence(item) and len(item)), [])
    are_pieces = bool(len(first)) and not hasattr(first, "dtype") and isinstance(first[0], str | bytes)
    ret = decode_sequences(engine, sequences, are_pieces, kind, options, as_bytes)
    return ret if is_batch else ret[0]


def decode_sequences(
    engine: Engine | None, sequences: Sequence[Any], are_pieces: bool, kind: Any, options: tuple[str, ...],
    as_bytes: bool = False,
) -> list[Any]:  # fmt: skip
    """Decode sequences of pieces or of ids."""
    pieces = [arguments.pieces_of(item) for item in sequences] if are_pieces else []
    ids = [] if are_pieces else [arguments.ids_of(item) for item in sequences]
    for item in ids:
        arguments.check_ids(item, engine.n_pieces if engine else 0)
    if engine is None:
        raise RuntimeError("Model is not initialized: load a model first")
    first = next((item for item in sequences if len(item)), [""])
    are_bytes = are_pieces and isinstance(first[0], bytes)
    model = engine.model
    if options and are_pieces:
        pieces = [apply_to_pieces(options, engine, item) for item in pieces]
    elif options:
        ids = [np.array(apply(options, item.tolist(), model.bos_id, model.eos_id), np.int64) for item in ids]
    if kind not in (str, bytes):
        named = pieces if are_pieces else [[model.pieces[id_] for id_ in item] for item in ids]
        encoded = [decode_text(engine, [(piece, engine.find(piece)) for piece in item]) for item in named]
        return [as_kind(item, kind, as_bytes=as_bytes or are_bytes, with_text=True) for item in encoded]
    texts = [decode_pieces(engine, item) for item in pieces] if are_pieces else decode_ids(engine, ids)
    return texts if kind is bytes or are_bytes else [item.decode() for item in texts]


@dataclass
class Binding:
    """The private methods of the C++ binding that sentencepiece's tests call. Each calls len(sequences) only once."""

    engine: Engine
    options: tuple[str, ...]

    def _DecodePiecesBatch(self, sequences: Any, num_threads: int, thread_pool: Any) -> list[Any]:
        return self._decode(sequences, str)

    def _DecodePiecesAsBytesBatch(self, sequences: Any, num_threads: int, thread_pool: Any) -> list[Any]:
        return self._decode(sequences, bytes)

    def _DecodePiecesAsSerializedProtoBatch(self, sequences: Any, num_threads: int, thread_pool: Any) -> list[Any]:
        return self._decode(sequences, "serialized_proto")

    def _DecodeAsOffsetMappingBatch(
        self, sequences: Any, num_threads: int, thread_pool: Any, return_bytes: bool
    ) -> list[Any]:
        return self._decode(sequences, "offset_mapping", return_bytes)

    def _decode(self, sequences: Any, kind: Any, as_bytes: bool = False) -> list[Any]:
        items = [sequences[i] for i in range(len(sequences))]
        first = next((item for item in items if len(item)), [0])
        return decode_sequences(self.engine, items, isinstance(first[0], str | bytes), kind, self.options, as_bytes)
