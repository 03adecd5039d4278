"""Texts whose running sum exceeds every limit of a cached path, compared with sentencepiece; models with ties."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from toys.sentencepieces import NORMAL, UNIGRAM, USER_DEFINED, make
from toys.text_models import encode_in_parts, tokenizer

spm = pytest.importorskip("sentencepiece")

SCORES: dict[str, Callable[[random.Random], float]] = {
    "distinct": lambda rng: -15 * rng.random(),
    "tied": lambda rng: -float(rng.randrange(1, 6)),
    "tiny": lambda rng: -1e-4 * rng.random(),
    "binary fractions": lambda rng: -rng.randrange(1, 64) / rng.choice([4, 8, 64, 1024, 65536]),
    "large": lambda rng: -rng.choice([10, 100, 1000, 5000, 20000]) * rng.random(),
    "beyond all sums": lambda rng: rng.choice([-5 * rng.random()] * 60 + [-99999.5, -131072.0, -1e6, -2e9, -1e29]),
    "near the sum of its characters": lambda rng: -15 * rng.random(),
    "positive": lambda rng: rng.uniform(-3, 9),
    "zero": lambda rng: 0.0,
}


def random_model(rng: random.Random, alphabet: str, scores: str) -> Any:
    score = SCORES[scores]
    pieces = {character: score(rng) for character in alphabet + "\u2581" if rng.random() < 0.9}
    crosses = rng.random() < 0.4  # pieces may cross spaces: see csrc/encoders/endings.h
    for _ in range(rng.choice([5, 30, 200])):
        word = "".join(rng.choices(alphabet, k=rng.choice([2, 2, 3, 4, 6])))
        if crosses and rng.random() < 0.5:
            word += "\u2581" + rng.choice(alphabet)
        word = rng.choice(["", "\u2581"]) + word
        pieces[word] = score(rng)
        if scores == "near the sum of its characters":
            parts = [pieces.get(character, -20) for character in word]
            pieces[word] = sum(parts) + rng.choice([-1, 1]) * 2.0 ** -rng.randrange(4, 14)
    proto = make(
        [(piece.encode(), value, USER_DEFINED if rng.random() < 0.01 else NORMAL) for piece, value in pieces.items()],
        model_type=UNIGRAM, byte_fallback=rng.random() < 0.4,
    )  # fmt: skip
    proto.normalizer_spec.name = b"identity"
    proto.normalizer_spec.add_dummy_prefix = rng.random() < 0.7
    proto.normalizer_spec.remove_extra_whitespaces = rng.random() < 0.5
    return proto


def with_wide_ids(proto: Any) -> Any:
    """Add pieces that do not occur in any text, so that ids have 32 bits."""
    for i in range(1 << 16):
        proto.pieces.add(piece=(chr(0xE000 + (i >> 8)) + chr(0xE000 + (i & 255))).encode(), score=-20.0)
    return proto


def random_text(rng: random.Random, alphabet: str, n_words: int) -> str:
    """A few frequent words, as in natural language, with some unknown letters."""
    letters = alphabet * 5 + "Z"
    sizes = rng.choices([1, 2, 3, 5, 8, 12, 20, 40], k=rng.choice([3, 30, 300]))
    words = ["".join(rng.choices(letters, k=size)) for size in sizes]
    return " ".join(words[min(int(rng.paretovariate(0.6)), len(words)) - 1] for _ in range(n_words))


@pytest.mark.parametrize("scores", SCORES)
@fewer(4)
@given(st.integers(0, 1 << 48))
def test_ids_match_sentencepiece(scores: str, seed: int) -> None:
    rng = random.Random(seed)
    alphabet = rng.choice(["abcdefgh", "ab", "abcé日本語", "日本語のは。", "etaoinshrdlu"])
    proto = random_model(rng, alphabet, scores)
    want, tok = spm.SentencePieceProcessor(model_proto=proto.SerializeToString()), tokenizer(proto)
    docs = [random_text(rng, alphabet, rng.choice([10, 300, 3_000, 30_000])) for _ in range(3)]
    expected = want.encode(docs)
    assert [ids.tolist() for ids in tok.encode_batch(docs, threads=rng.choice([1, 2]))] == expected
    assert encode_in_parts(tok, rng, docs[0].encode(), rng.choice([500, 5_000, 30_000])) == expected[0]


@fewer(8)
@given(st.integers(0, 1 << 48))
def test_ids_of_32_bits(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = rng.choice([string.ascii_letters, string.ascii_lowercase + "äöüß", "日本語のは。ab"])
    proto = with_wide_ids(random_model(rng, alphabet, rng.choice(list(SCORES))))
    want, tok = spm.SentencePieceProcessor(model_proto=proto.SerializeToString()), tokenizer(proto)
    docs = [random_text(rng, alphabet, rng.choice([10, 300, 3_000])) for _ in range(4)]
    assert [ids.tolist() for ids in tok.encode_batch(docs, threads=1)] == want.encode(docs)
