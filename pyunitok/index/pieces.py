"""PieceTables holds the text and the decoded size of each id of a model, sorted for search."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok._c import search as c_search
from pyunitok.errors import IdError
from pyunitok.index.order import SPACE_SYMBOL, token_bytes
from pyunitok.index.suffix import suffix_array
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Packed


class PieceTables:
    """Tables of one model and one suffix order, shared by shards and threads.

    texts            list[bytes]: the searchable text of each id; b"" for ids that match no text (eod, control symbols,
                     unknown characters)
    lengths          uint32[n_ids]: len(texts[id])
    decoded          list[bytes]: the bytes that each id adds to a decoded document: texts[id], except for unknown
                     characters
    sizes            uint32[n_ids]: len(decoded[id])
    decoded_data     the items of `decoded`, concatenated
    decoded_offsets  int64[n_ids + 1]: the offset of each item in decoded_data
    drops_space      uint8[n_ids]: 1 if the id begins with a space that decoding drops at the start of a document
    c                the tables of the C library

    rank  uint32[n_ids]: the rank of each id in the suffix arrays
    eod   the id of document ends, which has no text even if the model has a piece for it; or None
    """

    def __init__(
        self, tokenizer: Tokenizer, rank: np.ndarray[Any, np.dtype[np.uint32]], eod: int | None = None
    ) -> None:
        n_ids = len(rank)
        self.texts = token_bytes(tokenizer)[:n_ids]
        n = len(self.texts)
        if eod is not None and eod < n:
            self.texts[eod] = b""
        self.drops_space = np.zeros(n_ids, np.uint8)
        self.drops_space[:n] = _dropping(tokenizer, self.texts)
        self.lengths = np.zeros(n_ids, np.uint32)
        self.lengths[:n] = [len(text) for text in self.texts]
        self.sizes = np.zeros(n_ids, np.uint32)
        self.decoded = [text or _decoded(tokenizer, id_) for id_, text in enumerate(self.texts)]
        self.sizes[:n] = [len(text) for text in self.decoded]
        self.decoded_data = np.frombuffer(b"".join(self.decoded), np.uint8)
        self.decoded_offsets = np.concatenate(([0], np.cumsum(self.sizes, dtype=np.int64)))
        packed = Packed.from_documents(self.texts)
        data, offsets = packed.data, packed.offsets
        symbols = np.zeros(len(data) + n, np.uint16)  # each byte + 1, with a 0 after each piece
        owner = np.repeat(np.arange(n), np.diff(offsets))
        symbols[np.arange(len(data)) + owner] = data.astype(np.uint16) + 1
        order = suffix_array(symbols)
        self.c = c_search.SearchPieces(data, offsets, self.drops_space[:n], rank, order)

    def text_of(self, id_: int) -> bytes:
        """The searchable text of an id; b"" for ids outside the vocabulary."""
        return self.texts[id_] if id_ < len(self.texts) else b""


def _dropping(tokenizer: Tokenizer, texts: list[bytes]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """uint8[n]: whether decoding drops the leading space of an id that begins a document."""
    ret = np.zeros(len(texts), np.uint8)
    if not tokenizer.codec.normalizes:
        return ret
    pieces = tokenizer.pieces()
    data, bounds = pieces.data.tobytes(), pieces.offsets.tolist()
    spaced = [
        id_
        for id_, text in enumerate(texts)
        if text.startswith(b" ") and data.startswith(SPACE_SYMBOL, bounds[id_], bounds[id_ + 1])
    ]
    # One sample suffices, because a model drops the space of all pieces or of none.
    samples = [id_ for id_ in spaced if len(texts[id_]) > 1 and not texts[id_][1:].startswith(b" ")] or spaced
    if samples and len(tokenizer.decode_bytes(samples[:1])) < len(texts[samples[0]]):
        ret[spaced] = 1
    return ret


def _decoded(tokenizer: Tokenizer, id_: int) -> bytes:
    """The decoded bytes of an id without searchable text, such as the id of unknown characters; usually b""."""
    try:
        return tokenizer.decode_bytes([id_])
    except (IdError, UnicodeError):
        return b""
