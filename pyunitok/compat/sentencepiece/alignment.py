"""align() maps ids that were sampled with BPE-dropout to positions in the text, which C does not return."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from pyunitok.packed import Offsets
from pyunitok.vocab.sentencepiece import SentencePieceModel
from pyunitok.vocab.vocabulary import BYTE


def align(model: SentencePieceModel, ids: Sequence[int], normalized: bytes, offsets: Sequence[int]) -> Offsets:
    """int64[n, 4], as returned by Scratch.encode_spans. `offsets` are from normalize_with_offsets.

    A known piece covers its own length, and a byte piece covers one byte. A run of unknown pieces extends to the first
    occurrence of the known pieces that follow it or, if it is the last run, to their occurrence at the end of the text.
    """
    groups = [(is_unknown, list(items)) for is_unknown, items in groupby(ids, lambda id_: id_ == model.unknown_id)]
    ends: list[int] = []
    at = 0
    for k, (is_unknown, items) in enumerate(groups):
        if is_unknown:
            following = b"".join(_text(model, id_) for id_ in groups[k + 1][1]) if k + 1 < len(groups) else b""
            is_last = k + 2 >= len(groups)
            at = len(normalized) - len(following) if is_last else normalized.index(following, at + 1)
            ends += [at] * len(items)
        else:
            for id_ in items:
                at += len(_text(model, id_))
                ends.append(at)
    spans = np.empty((len(ids), 4), np.int64)
    spans[:, 0], spans[:, 3] = ids, ends
    source = np.array(offsets, np.int64)
    spans[:, 1], spans[:, 2] = source[[0, *ends][:-1]] if ids else 0, source[ends] if ids else 0
    _narrow_bytes(model, spans, normalized)
    return spans


def _text(model: SentencePieceModel, id_: int) -> bytes:
    return bytes([int(model.pieces[id_][3:5], 16)]) if model.types[id_] == BYTE else model.pieces[id_]


def _narrow_bytes(model: SentencePieceModel, spans: Offsets, normalized: bytes) -> None:
    """Give the span of a character to its last byte piece, and empty spans at its start to the other byte pieces."""
    for k in np.flatnonzero(model.types[spans[:, 0]] == BYTE).tolist():
        begin = spans[k - 1, 3] if k else 0
        if normalized[begin] & 0xC0 == 0x80:
            spans[k, 1] = spans[k - 1, 1]
        if spans[k, 3] < len(normalized) and normalized[spans[k, 3]] & 0xC0 == 0x80:
            spans[k, 2] = spans[k, 1]
