"""Defines the order of an index: the bytes of each id in decoded text, and the rank of each id by these bytes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pyunitok._c.library import PIECE_TYPES
from pyunitok.model.tokenizer import Tokenizer

SPACE_SYMBOL = "\u2581".encode()
BYTE_PIECE = re.compile(rb"<0x[0-9A-F]{2}>")


def token_bytes(tokenizer: Tokenizer) -> list[bytes]:
    """The bytes that each id adds to the decoded text; b"" for ids that add nothing or are unknown.

    SentencePiece's U+2581 becomes a space, even in the first piece of a document, where decoding drops it.
    """
    pieces, model = tokenizer.pieces(), tokenizer.codec.model
    data, bounds = pieces.data.tobytes(), pieces.offsets.tolist()
    ret = [data[bounds[k] : bounds[k + 1]] for k in range(len(bounds) - 1)]
    if not model.kind.has_spec:
        return ret
    silent = (0, PIECE_TYPES["control"], PIECE_TYPES["unknown"])
    # A tokenizer.json has no type for byte pieces; its decoders determine whether pieces like <0x41> are bytes.
    spelled = {id_ for id_, piece in enumerate(ret) if BYTE_PIECE.fullmatch(piece)}
    samples = [id_ for id_ in spelled if ret[id_] == b"<0x41>"]
    is_decoded = bool(samples) and tokenizer.decode_bytes(samples) == b"A"
    for id_, kind in enumerate(model.piece_types().tolist()):
        if kind in silent:
            ret[id_] = b""
        elif kind == PIECE_TYPES["byte"] or (is_decoded and id_ in spelled):
            ret[id_] = bytes([int(ret[id_][3:5], 16)])
        elif tokenizer.codec.rules:
            ret[id_] = tokenizer.codec.rules.bytes_of(ret[id_])
        elif tokenizer.codec.normalizes:
            ret[id_] = ret[id_].replace(SPACE_SYMBOL, b" ")
    return ret


def byte_rank(tokenizer: Tokenizer, n_ids: int = 65536) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """uint32[n_ids]: the rank of each id, sorted by (its bytes, its number). Ids without bytes, such as the eod, come
    first; ids outside the vocabulary come last."""
    known = token_bytes(tokenizer)[:n_ids]
    if tokenizer.eod_id is not None and tokenizer.eod_id < len(known):
        known[tokenizer.eod_id] = b""  # the eod separates documents and is not text, even if it has a piece
    order = sorted(range(len(known)), key=known.__getitem__) + list(range(len(known), n_ids))
    rank = np.empty(n_ids, np.uint32)
    rank[np.array(order)] = np.arange(n_ids)
    return rank
