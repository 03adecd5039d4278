"""PieceTables: what the ids of a model stand for in text, sorted for search; and their sizes when decoded."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok._c import search as c_search
from pyunitok.errors import IdError
from pyunitok.index.order import SPACE_SYMBOL, token_bytes
from pyunitok.index.suffix import suffix_array
from pyunitok.model.tokenizer import Tokenizer

N_IDS = 65536


class PieceTables:
    """Made once for a model and an order of suffixes, shared by shards and threads.

    texts         list[bytes]: what each id is in the text that is searched; b"" for ids that no text matches (eod,
                  control symbols, unknown characters)
    lengths       uint32[65536]: len(texts[id])
    decoded       list[bytes]: what each id adds to a decoded document: texts[id], but for unknown characters
    sizes         uint32[65536]: len(decoded[id])
    decoded_data, decoded_offsets  the same, end to end, and int64[65537] where each begins in it
    drops_space   uint8[65536]: 1 where the id begins with a space that decoding drops at the start of a document
    c             the tables of the C library

    rank  uint16[65536], of the ids in the suffix arrays
    eod   an id that is in no text, whatever the model says: that of the ends of documents; or None
    """

    def __init__(
        self, tokenizer: Tokenizer, rank: np.ndarray[Any, np.dtype[np.uint16]], eod: int | None = None
    ) -> None:
        self.texts = token_bytes(tokenizer)[:N_IDS]
        n = len(self.texts)
        if eod is not None and eod < n:
            self.texts[eod] = b""
        self.drops_space = np.zeros(N_IDS, np.uint8)
        self.drops_space[:n] = _dropping(tokenizer, self.texts)
        self.lengths = np.zeros(N_IDS, np.uint32)
        self.lengths[:n] = [len(text) for text in self.texts]
        self.sizes = np.zeros(N_IDS, np.uint32)
        self.decoded = [text or _decoded(tokenizer, id_) for id_, text in enumerate(self.texts)]
        self.sizes[:n] = [len(text) for text in self.decoded]
        self.decoded_data = np.frombuffer(b"".join(self.decoded), np.uint8)
        self.decoded_offsets = np.concatenate(([0], np.cumsum(self.sizes, dtype=np.int64)))
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum([len(text) for text in self.texts], out=offsets[1:])
        data = np.frombuffer(b"".join(self.texts), np.uint8)
        symbols = np.zeros(len(data) + n, np.uint16)  # byte + 1, a 0 after each piece
        owner = np.repeat(np.arange(n), np.diff(offsets))
        symbols[np.arange(len(data)) + owner] = data.astype(np.uint16) + 1
        order = suffix_array(symbols)
        self.c = c_search.SearchPieces(data, offsets, self.drops_space[:n], rank, order)

    def text_of(self, id_: int) -> bytes:
        """What an id is in the text; b"" for one that the model does not have."""
        return self.texts[id_] if id_ < len(self.texts) else b""


def _dropping(tokenizer: Tokenizer, texts: list[bytes]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """uint8[n]: whether decoding drops the space that an id begins with, where the id begins a document."""
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
    # One piece tells: whether a model drops the space is a rule of its own, the same for all of them.
    samples = [id_ for id_ in spaced if len(texts[id_]) > 1 and not texts[id_][1:].startswith(b" ")] or spaced
    if samples and len(tokenizer.decode_bytes(samples[:1])) < len(texts[samples[0]]):
        ret[spaced] = 1
    return ret


def _decoded(tokenizer: Tokenizer, id_: int) -> bytes:
    """What an id without a text of its own decodes to: that of an unknown character, most others nothing."""
    try:
        return tokenizer.decode_bytes([id_])
    except (IdError, UnicodeError):
        return b""
