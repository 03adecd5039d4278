"""The oracle of Unigram against the references themselves, on small models made to tie and to restart."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle import unigram as oracle

SEEDS = st.integers(0, 2**32)
SCORES = [
    lambda rng: -1.0,
    lambda rng: -float(rng.randint(1, 4)),
    lambda rng: -0.1 * rng.randint(1, 20),
    lambda rng: rng.uniform(-12, -2),
    lambda rng: rng.uniform(-110_000, 40_000),
    lambda rng: rng.uniform(-9_000, -8_000),
]


def random_pieces(rng: random.Random, alphabet: str) -> list[tuple[str, float]]:
    score = rng.choice(SCORES)
    texts = {"".join(rng.choices(alphabet, k=rng.randint(1, 6))) for _ in range(rng.randint(1, 30))}
    return [(text, score(rng)) for text in sorted(texts)]


def random_text(rng: random.Random, alphabet: str) -> str:
    return "".join(rng.choices(alphabet, k=rng.choice([1, 7, 40, 300])))


@fewer(2)
@given(SEEDS)
def test_oracle_is_sentencepiece(seed: int) -> None:
    spm = pytest.importorskip("sentencepiece")
    pb = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    rng = random.Random(seed)
    alphabet = rng.choice(["ab", "abc▁", "aé猫😀"])
    kinds = [1, 1, 1, rng.choice([1, 4]), rng.choice([1, 5])]
    model = pb.ModelProto()
    model.pieces.add(piece="<unk>", score=0, type=2)
    for text, score in random_pieces(rng, alphabet):
        model.pieces.add(piece=text, score=score, type=rng.choice(kinds))
    model.trainer_spec.model_type = 1
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    processor = spm.SentencePieceProcessor(model_proto=model.SerializeToString())
    pieces = [(p.piece, p.score, p.type) for p in model.pieces]
    for _ in range(5):
        text = random_text(rng, alphabet)
        expected = []
        for id_ in (id_ for id_, _ in oracle.sentencepiece(pieces, text)):
            if id_ != oracle.UNKNOWN or expected[-1:] != [0]:  # unknown characters side by side are one
                expected.append(max(id_, 0))
        assert processor.encode(text) == expected


@fewer(2)
@given(SEEDS)
def test_oracle_is_tokenizers(seed: int) -> None:
    library = pytest.importorskip("tokenizers")
    rng = random.Random(seed)
    alphabet = rng.choice(["ab", "abc▁", "aé猫😀"])
    pieces = [("<unk>", 0.0), *random_pieces(rng, alphabet)]
    tokenizer = library.Tokenizer(library.models.Unigram(pieces, 0, False))
    for _ in range(5):
        text = random_text(rng, alphabet)
        expected = []
        for id_ in (id_ for id_, _ in oracle.tokenizers(pieces, text)):
            if id_ != oracle.UNKNOWN or expected[-1:] != [0]:
                expected.append(max(id_, 0))
        assert tokenizer.encode(text).ids == expected


def test_oracle_is_bytepiece(tmp_path: Path) -> None:
    library = pytest.importorskip("bytepiece")
    if __import__("ahocorasick").unicode:
        pytest.skip("bytepiece needs a pyahocorasick that was built with AHOCORASICK_BYTES=1")
    for seed in range(20):
        rng = random.Random(seed)
        alphabet = rng.choice([b"ab", b"abc ", "xé猫".encode()])
        counts = {bytes([byte]): rng.choice([1, 1, 2, 8, 100]) for byte in range(256)}
        counts |= {bytes(rng.choices(alphabet, k=rng.randint(2, 8))): rng.choice([1, 2, 8, 100]) for _ in range(30)}
        entries = {base64.b64encode(piece).decode(): [3 + i, "", n] for i, (piece, n) in enumerate(counts.items())}
        path = tmp_path / "toy.model"
        path.write_text(json.dumps(entries))
        tokenizer = library.Tokenizer(str(path))
        pieces = {piece: (3 + i, tokenizer._automaton.get(piece)[1]) for i, piece in enumerate(counts)}
        for _ in range(20):
            text = bytes(rng.choices(alphabet, k=rng.randint(1, 100)))
            assert tokenizer._tokenize(text) == [piece for _, piece in oracle.bytepiece(pieces, text)]
