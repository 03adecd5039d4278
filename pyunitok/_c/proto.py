"""Bindings for the section "SentencePiece's model files" of csrc/unitok.h."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.library import buffer_of, ffi, lib, pointer
from pyunitok.packed import Bytes, Offsets


class Proto(NamedTuple):
    """The contents of a model file; see unitok_proto."""

    pieces: Bytes
    offsets: Offsets
    scores: np.ndarray[Any, np.dtype[np.float32]]
    types: Bytes
    rest: bytes
    charsmap: bytes
    info: Any


def read_proto(data: bytes) -> Proto | None:
    """The pieces in a SentencePiece model file, the normalizer's charsmap, and everything else in the file.

    Returns None if the file is unusual or invalid; see unitok_proto_read.
    """
    capacity = len(data) // lib.UNITOK_PROTO_PIECE_BYTES_MIN
    pieces, types = np.empty(len(data), np.uint8), np.empty(capacity, np.uint8)
    rest = bytearray(len(data))
    offsets, scores = np.empty(capacity + 1, np.int64), np.empty(capacity, np.float32)
    info = ffi.new("unitok_proto *")
    n = lib.unitok_proto_read(
        data, len(data), pointer(pieces), pointer(offsets), pointer(scores), pointer(types),
        buffer_of(rest, writable=True), info,
    )  # fmt: skip
    if n == -2:
        raise MemoryError("not enough memory for the pieces of the model")
    if n < 0:
        return None
    n_bytes = int(offsets[n])
    arrays = (pieces[:n_bytes].copy(), offsets[: n + 1].copy(), scores[:n].copy(), types[:n].copy())
    del rest[info.n_rest_bytes :]
    charsmap_end = info.charsmap_at + info.n_charsmap_bytes
    # Protobuf before 5.27 does not accept a bytearray. The copy is small because it omits the pieces.
    return Proto(*arrays, bytes(rest), data[info.charsmap_at : charsmap_end], info)
