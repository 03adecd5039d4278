"""Unigram as tokenizers has it, for the texts and models where the C model by itself does something else.

The C model never finds its unknown piece in a text. To tokenizers it is a piece like any other if it occurs in a
text ("<unk>"); it is then joined with the unknown characters beside it, and what is joined may happen to be a piece:

    text             x <unk>é y        é is not a piece
    best path        x | <unk> | é | y
    joined           x | <unk>é | y    unknown, or the bytes of <unk>é, or the piece <unk>é if there is one

So there is a second C model here, in which the unknown piece has an id of its own and unknown characters stay apart;
the joining is done in Python, where there is something to join.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c import scratch as c_scratch
from pyunitok.packed import Offsets
from pyunitok.vocab.vocabulary import BYTE, NORMAL, UNKNOWN

# Up to these no joined unknown characters can be a piece: k of them score k (least - 10), a piece at least `least`, and
# of paths with the same characters the piece's has the better score while (k - 1) least < 10 k.
SCORE_MAX = 10.0
_NOWHERE = b"\xff"  # the name of the unknown piece in the second model; no UTF-8 contains it


def is_simple(pieces: Sequence[str], scores: Sequence[float], unknown: int, byte_fallback: bool) -> bool:
    """Whether the C model is right about all texts that do not contain the unknown piece."""
    content = pieces[unknown]
    if not content or not all(pieces) or min(scores) > SCORE_MAX:
        return False
    found = {f"<0x{byte:02X}>" for byte in range(256)} & set(pieces)
    return not byte_fallback or len(found) in (0, 256)


class Unigram:
    """Encodes by the second model. Immutable; each thread brings a scratch."""

    def __init__(self, model: c_model.Model, unknown: int, unknown_score: float, byte_fallback: bool) -> None:
        self._unknown, self._literal = unknown, int(model.info.n_ids)
        self.model = self._second(model, unknown_score)
        names = [b"<0x%02X>" % byte for byte in range(256)] if byte_fallback else []
        self._bytes = [self.model.find(name) for name in names]

    def _second(self, model: c_model.Model, unknown_score: float) -> c_model.Model:
        spec = model.spec()
        data, bounds, ids = spec["data"].tobytes(), spec["offsets"].tolist(), spec["ids"]
        pieces = [data[begin:end] for begin, end in pairwise(bounds)]
        matches = (spec["types"] == NORMAL) | (spec["types"] == BYTE)
        kept = np.flatnonzero(matches & (ids != self._unknown)).tolist()
        content = model.piece(self._unknown)
        texts = [pieces[k] for k in kept] + [_NOWHERE] + [content] * (content is not None)
        # Unknown characters score the least of all scores, minus 10: also of those that are not kept.
        scores = [*spec["scores"][kept].tolist(), float(spec["scores"].min()), unknown_score]
        types = [NORMAL] * len(kept) + [UNKNOWN, NORMAL]
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
        return c_model.Model.new(
            np.frombuffer(b"".join(texts), np.uint8), offsets,
            np.array([*ids[kept].tolist(), self._unknown, self._literal][: len(texts)], np.int64), kind="unigram",
            flags=library.MODEL_FLAGS["float64"], scores=np.array(scores[: len(texts)]),
            types=np.array(types[: len(texts)], np.uint8), eod_id=None,
        )  # fmt: skip

    def encode(self, scratch: c_scratch.Scratch, text: bytes) -> list[int]:
        """The ids of a piece of UTF-8; `scratch` is for `model`."""
        spans = scratch.encode_spans(text)
        ret: list[int] = []
        ids, done = spans[:, 0], 0
        for first, last in self._unknowns(ids):
            ret += ids[done:first].tolist()
            ret += self._ids(text[spans[first, 1] : spans[last, 2]])
            done = last + 1
        ret += ids[done:].tolist()
        return ret

    def tokens(self, scratch: c_scratch.Scratch, text: bytes) -> list[str]:
        """The same as they are shown: the characters themselves, but for those that become bytes."""
        spans = scratch.encode_spans(text)
        begins, ends = spans[:, 1].tolist(), spans[:, 2].tolist()
        ret, done = [], 0
        for first, last in self._unknowns(spans[:, 0]):
            ret += [text[begins[k] : ends[k]].decode() for k in range(done, first)]
            part = text[begins[first] : ends[last]]
            if self.model.find(part) < 0 and self._can_spell(part):
                ret += [f"<0x{byte:02X}>" for byte in part]
            else:
                ret.append(part.decode())
            done = last + 1
        return ret + [text[begins[k] : ends[k]].decode() for k in range(done, len(begins))]

    def _unknowns(self, ids: Offsets) -> Iterator[tuple[int, int]]:
        """The first and the last of every run of unknowns."""
        is_unknown = np.concatenate(([False], (ids == self._unknown) | (ids == self._literal), [False]))
        edges = np.flatnonzero(is_unknown[1:] != is_unknown[:-1]).tolist()
        return ((first, end - 1) for first, end in zip(edges[::2], edges[1::2], strict=True))

    def _ids(self, part: bytes) -> list[int]:
        id_ = self.model.find(part)
        if id_ >= 0:
            return [self._unknown if id_ == self._literal else id_]
        return [self._bytes[byte] for byte in part] if self._can_spell(part) else [self._unknown]

    def _can_spell(self, part: bytes) -> bool:
        return bool(self._bytes) and min(self._bytes[byte] for byte in part) >= 0
