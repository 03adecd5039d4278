"""Random vocabularies and texts for comparisons with the oracle: many overlaps, partial characters, long runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from oracle import longest as oracle

from pyunitok import Tokenizer

# Pieces and texts consist of the same symbols; otherwise pieces would hardly ever match.
SYMBOLS = {
    "one letter": [b"a"],
    "two letters": [b"a", b"b"],
    "words": [b"th", *(bytes([b]) for b in b"ae '-Z09\n\t.@[`{\x7f")],
    "spaces": [b" ", b"  ", b"\n", b"x", b"\0"],
    "characters": [c.encode() for c in "猫は吾輩であるяжعربéñ😀👍한국a 0。"],
    "halves": [*(c.encode() for c in "で猫я😀a "), b"\xe7\x8c", b"\xab", b"\xe7", b"\xd1", b"\x8f", b"\xf0\x9f"],
    "high bytes": [bytes([b]) for b in (*range(0x80, 0x100, 7), 0xBF, 0xC0, 0xDF, 0xE0, 0xEF, 0xF0, 0xFF, 0, 0x7F)],
    "any bytes": [bytes([b]) for b in range(256)],
}
# Lengths around the limits of the encoder: keys of 15 and 31 bytes, 7 and 15 ids, 64-byte words, chunks of 4,096.
EDGES = [1, 2, 6, 7, 8, 14, 15, 16, 17, 30, 31, 32, 33, 63, 64, 65, 127, 128, 129]
CHUNK = 4096


@dataclass
class Case:
    pieces: dict[bytes, int]
    fallback: int | None
    symbols: list[bytes]
    texts: list[bytes] = field(default_factory=list)

    def ids(self, text: bytes) -> list[int]:
        return oracle.longest_prefix(self.pieces, text, self.fallback)

    def tokenizer(self, **how: Any) -> Tokenizer:
        return Tokenizer.from_pieces(self.pieces, fallback=self.fallback, **how)


@st.composite
def vocabularies(draw: st.DrawFn) -> Case:
    symbols = SYMBOLS[draw(st.sampled_from(sorted(SYMBOLS)))]
    piece = st.lists(st.sampled_from(symbols), min_size=1, max_size=9).map(b"".join)
    run = st.builds(lambda s, n: (s * n)[:300], st.sampled_from(symbols), st.sampled_from([*EDGES, 300]))
    drawn = draw(st.lists(piece | piece | piece | run | st.binary(min_size=1, max_size=4), max_size=40))
    all_bytes = draw(st.booleans())
    if all_bytes:
        drawn += [bytes([b]) for b in range(256)]
    unique = list(dict.fromkeys(drawn))
    start = draw(st.sampled_from([0, 1, 65535 - len(unique)]))
    step = -1 if draw(st.booleans()) else 1
    pieces = dict(zip(unique, range(start, start + len(unique)), strict=True))
    pieces = dict(zip(unique[::step], pieces.values(), strict=True))
    fallback = None
    if not all_bytes:  # a separate id, or the id of a piece
        fallback = draw(st.sampled_from([65535, *pieces.values()][:3]))
    return Case(pieces, fallback, symbols)


@st.composite
def texts_of(draw: st.DrawFn, case: Case) -> bytes:
    part = st.sampled_from([*case.symbols, *list(case.pieces)[:40]] or [b"a"])
    run = st.tuples(part, st.sampled_from([1] * 20 + EDGES)).map(lambda pair: (pair[0] * pair[1])[:300])
    ret = b"".join(draw(st.lists(run, max_size=30)))
    damage = draw(st.sampled_from(["none", "none", "cut", "replace", "noise"]))
    if damage == "cut":
        ret = ret[draw(st.integers(0, 3)) : len(ret) - draw(st.integers(0, 3))]
    elif damage == "replace" and ret:
        at = draw(st.integers(0, len(ret) - 1))
        ret = ret[:at] + draw(st.binary(max_size=3)) + ret[at + 1 :]
    elif damage == "noise":
        ret += draw(st.binary(max_size=70))
    if draw(st.integers(0, 7)) == 0:  # make the text cross the end of a chunk
        filler = draw(part)
        before = CHUNK + draw(st.integers(-70, 70)) - len(ret) // 2
        ret = (filler * (before // len(filler) + 1))[: max(0, before)] + ret
    return ret


@st.composite
def cases(draw: st.DrawFn, max_texts: int = 6) -> Case:
    case = draw(vocabularies())
    case.texts = draw(st.lists(texts_of(case), min_size=1, max_size=max_texts))
    return case
