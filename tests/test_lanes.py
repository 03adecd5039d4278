"""Greedy encoding with eight interleaved walks (for text with few cuts and non-ASCII text) compared with the oracle."""

from __future__ import annotations

import itertools
import random

import pytest
from conftest import CPUS
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import longest as oracle
from toys.models import BYTES

from pyunitok import Packed, Tokenizer

WORDS = ["of", "the", "a", "ab", "did", "not", "猫", "は", "é", "\n", "  ", "\0"]


def vocabulary(rng: random.Random) -> dict[bytes, int]:
    """Pieces that begin and end anywhere in and between words, so that pieces span most positions."""
    pieces = BYTES.copy()
    for _ in range(rng.randrange(1, 200)):
        phrase = " ".join(rng.choices(WORDS, k=4)).encode()
        begin = rng.randrange(len(phrase))
        pieces.append(phrase[begin : begin + rng.randrange(1, 12)])
    return {piece: k for k, piece in enumerate(dict.fromkeys(pieces))}


def text_of(rng: random.Random, n_bytes: int) -> bytes:
    """A text with runs, in which walks that start at different bytes may never meet."""
    text = b""
    while len(text) < n_bytes:
        text += " ".join(rng.choices(WORDS, k=20)).encode()
        if rng.random() < 0.05:
            text += rng.choice([b"a", b" ", b"ab", b" a "]) * rng.randrange(1, 700)
    return text[:n_bytes]


@pytest.mark.parametrize("cpu", CPUS)
@settings(max_examples=8)
@given(st.integers(0, 1 << 48))
def test_ids(cpu: str, seed: int) -> None:
    rng = random.Random(seed)
    pieces = vocabulary(rng)
    tok = Tokenizer.from_pieces(pieces, cpu=cpu)
    docs = [text_of(rng, rng.choice([0, 1024, 2047, 2048, 2049, 3000, 5000])) for _ in range(3)]
    expected = [oracle.longest_prefix(pieces, doc) for doc in docs]
    assert [tok.encode(doc).tolist() for doc in docs] == expected
    batch = tok.encode_batch(Packed.from_documents(docs))
    assert batch.data.tolist() == [id_ for ids in expected for id_ in ids]


def test_long_text() -> None:
    """Compares the ids of several spans with those of the growable trie, which does not interleave walks."""
    rng = random.Random(5)
    pieces = vocabulary(rng)
    text = text_of(rng, 150_000)
    alone = Tokenizer.from_pieces(pieces, engine="hat")
    assert Tokenizer.from_pieces(pieces).encode(text).tolist() == alone.encode(text).tolist()


@pytest.mark.parametrize("n_words", [300, 300_000])
def test_switches_between_memo_and_lanes(n_words: int) -> None:
    """Segments of medium length use the memo if they recur, and the lanes if they do not."""
    rng = random.Random(n_words)
    pieces = BYTES.copy()
    pieces += [bytes(pair) for pair in itertools.product(b" bcdfg", b"aeiou")] + [b" ba", b" bado", b"cafe", b"gub"]
    words = [
        bytes(itertools.chain(*zip(rng.choices(b"bcdfg", k=3), rng.choices(b"aeiou", k=3), strict=True)))
        for _ in range(n_words)
    ]
    varied = b" ".join(rng.choices(words, k=300_000))
    same = b" ".join(rng.choices(words[:50], k=100_000))
    alone, tok = Tokenizer.from_pieces(pieces, engine="hat"), Tokenizer.from_pieces(pieces)
    for text in (varied, same, varied[:500_000]):
        assert tok.encode(text).tolist() == alone.encode(text).tolist()


def test_characters() -> None:
    """Encodes non-ASCII text with stray bytes and with characters that are not pieces."""
    rng = random.Random(3)
    words = ["は", "です", "猫", "ねこ", "。", "犬", " the ", "é", "я", "\n", "😀", "鬱"]
    pieces = BYTES + [word.encode() for word in words[:-1]]
    pieces += [("".join(rng.choices(words, k=rng.randrange(2, 5)))).encode() for _ in range(200)]
    pieces = list(dict.fromkeys(pieces))
    alone, tok = Tokenizer.from_pieces(pieces, engine="hat"), Tokenizer.from_pieces(pieces)
    text = "".join(rng.choices(words, k=200_000)).encode()
    rare = "鬱".encode()
    for other in (text, text[1:], text[:1_000] + b"\x81\xe3" + text, text.replace(rare, rare + b"\x82", 9)):
        assert tok.encode(other).tolist() == alone.encode(other).tolist()
