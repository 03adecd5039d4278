"""The Unigram oracle compared with the reference implementations, on small models with ties and restarts."""

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
from test_bytepiece import load_reference as load_bytepiece
from toys.sentencepieces import NORMAL, UNKNOWN, UNUSED, USER_DEFINED, load_reference, make

SEEDS = st.integers(0, 2**32)
SCORES = [
    lambda rng: -1.0, lambda rng: -float(rng.randint(1, 4)), lambda rng: -0.1 * rng.randint(1, 20),
    *(lambda rng, ends=ends: rng.uniform(*ends) for ends in [(-12, -2), (-110_000, 40_000), (-9_000, -8_000)]),
]  # fmt: skip


def random_pieces(rng: random.Random, alphabet: str) -> list[tuple[str, float]]:
    score = rng.choice(SCORES)
    texts = {"".join(rng.choices(alphabet, k=rng.randint(1, 6))) for _ in range(rng.randint(1, 30))}
    return [(text, score(rng)) for text in sorted(texts)]


def random_text(rng: random.Random, alphabet: str) -> str:
    return "".join(rng.choices(alphabet, k=rng.choice([1, 7, 40, 300])))


@fewer(2)
@given(SEEDS)
def test_oracle_matches_sentencepiece(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = rng.choice(["ab", "abc▁", "aé猫😀"])
    kinds = [NORMAL, NORMAL, NORMAL, rng.choice([NORMAL, USER_DEFINED]), rng.choice([NORMAL, UNUSED])]
    pieces = [(text.encode(), score, rng.choice(kinds)) for text, score in random_pieces(rng, alphabet)]
    model = make([(b"<unk>", 0, UNKNOWN), *pieces], usual=False)
    model.normalizer_spec.add_dummy_prefix = model.normalizer_spec.remove_extra_whitespaces = False
    processor = load_reference(model.SerializeToString())
    by_id = [(p.piece.decode(), p.score, p.type) for p in model.pieces]
    for _ in range(5):
        text = random_text(rng, alphabet)
        assert processor.encode(text) == merged(oracle.sentencepiece(by_id, text))


def merged(tokens: list[tuple[int, bytes]]) -> list[int]:
    """The ids of tokens, with each run of unknown characters merged into one 0."""
    ret: list[int] = []
    for id_, _ in tokens:
        if id_ != oracle.UNKNOWN or ret[-1:] != [0]:
            ret.append(max(id_, 0))
    return ret


@fewer(2)
@given(SEEDS)
def test_oracle_matches_tokenizers(seed: int) -> None:
    library = pytest.importorskip("tokenizers")
    rng = random.Random(seed)
    alphabet = rng.choice(["ab", "abc▁", "aé猫😀"])
    pieces = [("<unk>", 0.0), *random_pieces(rng, alphabet)]
    tokenizer = library.Tokenizer(library.models.Unigram(pieces, 0, False))
    for _ in range(5):
        text = random_text(rng, alphabet)
        assert tokenizer.encode(text).ids == merged(oracle.tokenizers(pieces, text))


def test_oracle_matches_bytepiece(tmp_path: Path) -> None:
    library = load_bytepiece()
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
