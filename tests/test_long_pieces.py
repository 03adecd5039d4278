"""Greedy encoding with pieces of more than 256 bytes: the ids of the oracle, in linear time."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conftest import ENGINES
from hypothesis import given
from hypothesis import strategies as st
from oracle import longest as oracle
from test_native import file_of, refused, sign, small
from toys.models import BYTES

from pyunitok import Tokenizer

LENGTHS = [2, 3, 7, 255, 256, 257, 258, 300, 511, 900, 3000]


def vocabulary(rng: random.Random) -> dict[bytes, int]:
    """Runs, repeated strings and random strings, many of which share their beginning or end."""
    alphabet = [byte.encode() for byte in rng.choice(["a", "ab", "abc", "a \n"])]
    pieces = BYTES.copy()
    for _ in range(rng.randrange(1, 12)):
        n = rng.choice(LENGTHS)
        period = b"".join(rng.choices(alphabet, k=rng.choice([1, 1, 2, 5, 40, n])))
        piece = (period * n)[:n]
        if rng.random() < 0.5:
            piece += rng.choice([*alphabet, b"!", b"\xe6"])
        if rng.random() < 0.3 and len(pieces) > 256:
            other = rng.choice(pieces[256:])
            piece = rng.choice([other[: len(other) // 2] + piece, piece + other, other[1:]]) or piece
        pieces.append(piece)
    return {piece: k for k, piece in enumerate(dict.fromkeys(pieces))}


def text_of(rng: random.Random, pieces: dict[bytes, int]) -> bytes:
    longer = [piece for piece in pieces if len(piece) > 1]
    text = b""
    while len(text) < rng.choice([0, 300, 2000, 9000]):
        piece = rng.choice(longer)
        begin = rng.choice([0, 0, 0, 1, rng.randrange(len(piece))])
        text += piece[begin : rng.choice([len(piece), len(piece), len(piece) - 1, rng.randrange(len(piece) + 1)])]
        text += rng.choice([b"", b"", rng.choice(BYTES)])
    return text


@pytest.mark.parametrize("engine", ENGINES)
@given(st.integers(0, 1 << 48))
def test_ids(engine: str, seed: int) -> None:
    rng = random.Random(seed)
    pieces = vocabulary(rng)
    tok = Tokenizer.from_pieces(pieces, engine=engine)
    for _ in range(3):
        text = text_of(rng, pieces)
        expected = oracle.longest_prefix(pieces, text)
        assert tok.encode(text).tolist() == expected
        ids, spans = tok.encode_with_offsets(text)
        assert ids.tolist() == expected and [tuple(span) for span in spans.tolist()] == oracle.spans(pieces, text)
        k = tok.codec.split(text[: len(text) // 2])
        assert tok.encode(text[:k]).tolist() + tok.encode(text[k:]).tolist() == expected
        assert k > 0 or len(text) // 2 < 2 * tok.max_piece_bytes


def test_a_piece_that_nearly_matches(tmp_path: Path) -> None:
    """Regression: every walk took a million steps, and 200 KB took a minute."""
    almost = b"a" * 10**6 + b"b"
    pieces = [*BYTES, almost, b"aa", b"aaa"]
    tok = Tokenizer.from_pieces(pieces)
    for again in (tok, pickled(tok, tmp_path)):
        assert again.encode(b"a" * 300_000).tolist() == [258] * 100_000
        text = b"a" * 1_000_002 + b"b" + b"a" * 1000
        assert again.encode(text).tolist()[:3] == [258, 258, 258]
        assert again.encode(almost + almost[1:]).tolist()[0] == 256
        assert again.codec.split(b"a" * 3_000_000) >= 1_999_997


def pickled(tok: Tokenizer, folder: Path) -> Tokenizer:
    tok.save(folder / "m.utk")
    return Tokenizer.from_file(folder / "m.utk")


def test_windows() -> None:
    """Long texts are read in windows, each from end to start, and some pieces span the edges."""
    rng = random.Random(5)
    pieces = {byte: k for k, byte in enumerate(BYTES)}
    for n in (257, 300, 40_000):
        pieces[b"".join(rng.choices(BYTES[97:100], k=n))] = len(pieces)
    longs = list(pieces)[256:]
    text = b"".join(rng.choices([*longs, *(piece[: rng.randrange(len(piece))] for piece in longs), b"z"], k=60))
    assert len(text) > 300_000
    tok = Tokenizer.from_pieces(pieces)
    assert tok.encode(text).tolist() == oracle.longest_prefix(pieces, text)


def test_units_that_must_stay_free() -> None:
    """Regression: leaves have base 0. If a unit that this base leads to was in use, walks from a leaf did not end."""
    data = file_of(small())
    for at in (97, 255):
        bad = bytearray(data)
        bad[64 + 8 * at : 64 + 8 * at + 8] = (0x100 | at).to_bytes(8, "little")
        refused(sign(bad), "must be free")

