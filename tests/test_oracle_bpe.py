"""The oracle for BPE, character and word models compared with the reference implementations."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import bpe as oracle_bpe
from toys import models as toy_models

seeds = st.integers(0, 2**32)


def encode(kind: str, pieces: list[oracle_bpe.Piece], text: bytes) -> list[oracle_bpe.Token]:
    functions = {"bpe": oracle_bpe.sentencepiece_bpe, "char": oracle_bpe.characters, "word": oracle_bpe.words}
    return functions[kind](pieces, text)


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
@given(seed=seeds)
def test_sentencepiece(kind: str, seed: int) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    rng = random.Random(seed)
    proto, alphabet = toy_models.spm_proto(rng, kind)
    reference = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    pieces = toy_models.spm_pieces(proto)
    for _ in range(5):
        text = toy_models.text(rng, alphabet)
        tokens = encode(kind, pieces, reference.normalize(text).encode())
        ids = oracle_bpe.sentencepiece_ids(pieces, tokens, proto.trainer_spec.byte_fallback)
        assert ids == reference.encode(text), (text, pieces)


@given(seed=seeds)
def test_huggingface(seed: int) -> None:
    models = pytest.importorskip("tokenizers.models")
    rng = random.Random(seed)
    options, alphabet = toy_models.hf_bpe(rng)
    reference = models.BPE(**options)
    vocab = options["vocab"]
    for _ in range(5):
        word = toy_models.text(rng, alphabet)
        ids = oracle_bpe.huggingface_bpe(
            vocab, options["merges"], word, unknown=vocab.get(options["unk_token"]), fuse=options["fuse_unk"],
            byte_fallback=options["byte_fallback"], ignore_merges=options["ignore_merges"],
        )  # fmt: skip
        assert ids == [token.id for token in reference.tokenize(word)], (word, options)
