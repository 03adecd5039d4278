"""Unigram as tokenizers has it, in plain Python: every position, every piece that fits.

The unknown piece is a piece like any other when it stands in a text ("<unk>"), and is joined with unknown characters
beside it; joined unknown characters that happen to be a piece become that piece.
"""

from __future__ import annotations

from pyunitok._c import model as c_model

UNKNOWN_PENALTY = 10.0


class Unigram:
    def __init__(self, model: c_model.Model, unknown: int, unknown_score: float, byte_fallback: bool) -> None:
        ids, scores = model.scores()
        order = ids.argsort()
        self._unknown = unknown
        self._scores: dict[bytes, tuple[int, float]] = {}
        for id_, score in zip(ids[order].tolist(), scores[order].tolist(), strict=True):
            piece = model.piece(id_)
            if piece is not None and model.is_text(id_):
                self._scores[piece] = id_, unknown_score if id_ == unknown else score
        self._least = float(min(scores)) - UNKNOWN_PENALTY
        self._longest = max(map(len, self._scores), default=0)
        names = [b"<0x%02X>" % byte for byte in range(256)] if byte_fallback else []
        self._bytes = [self._scores[name][0] if name in self._scores else -1 for name in names]

    def encode(self, text: bytes) -> list[int]:
        """The ids of a piece of UTF-8."""
        return [id_ for part in self._parts(text) for id_ in self._ids(part)]

    def tokens(self, text: bytes) -> list[str]:
        """The same as they are shown: the characters themselves, but for those that become bytes."""
        ret: list[str] = []
        for part in self._parts(text):
            is_spelled = part not in self._scores and self._bytes and min(self._bytes[byte] for byte in part) >= 0
            ret += [f"<0x{byte:02X}>" for byte in part] if is_spelled else [part.decode()]
        return ret

    def _parts(self, text: bytes) -> list[bytes]:
        best: list[tuple[float, int, int] | None] = [(0.0, 0, 0)] + [None] * len(text)  # sum, where it begins, id
        for begin in range(len(text)):
            here = best[begin]
            if text[begin] & 0xC0 == 0x80 or here is None:
                continue
            n_char = 1 if text[begin] < 0xC0 else 2 if text[begin] < 0xE0 else 3 if text[begin] < 0xF0 else 4
            has_single = False
            for end in range(begin + 1, min(begin + self._longest, len(text)) + 1):
                found = self._scores.get(text[begin:end])
                if found is not None:
                    has_single |= end - begin == n_char
                    _improve(best, end, found[1] + here[0], begin, found[0])
            if not has_single:
                _improve(best, begin + n_char, self._least + here[0], begin, self._unknown)
        return self._path(text, best)

    def _path(self, text: bytes, best: list[tuple[float, int, int] | None]) -> list[bytes]:
        """The pieces, with adjacent unknowns joined."""
        ret: list[bytes] = []
        end, joining = len(text), False
        while end:
            node = best[end]
            assert node is not None
            _, begin, id_ = node
            if id_ == self._unknown and joining:
                ret[-1] = text[begin:end] + ret[-1]
            else:
                ret.append(text[begin:end])
            joining = id_ == self._unknown
            end = begin
        return ret[::-1]

    def _ids(self, part: bytes) -> list[int]:
        found = self._scores.get(part)
        if found is not None:
            return [found[0]]
        ids = [self._bytes[byte] for byte in part] if self._bytes else [-1]
        return ids if min(ids) >= 0 else [self._unknown]


def _improve(best: list[tuple[float, int, int] | None], end: int, score: float, begin: int, id_: int) -> None:
    old = best[end]
    if old is None or score > old[0]:
        best[end] = score, begin, id_
