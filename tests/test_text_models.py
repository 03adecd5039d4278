"""Tokenizers of SentencePiece models compared with sentencepiece: ids, pieces, offsets, decoding, n-best."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import CPUS, SHARED, decompressed, fewer, find_shared
from hypothesis import given, settings
from hypothesis import strategies as st
from toys.sentencepieces import NORMAL, SPACE, UNIGRAM, UNKNOWN, WORD, charsmap, make, shared_params, shared_paths
from toys.text_models import KINDS, encode, encode_in_parts, encode_plain, reference, text_of, tokenizer, toy

from pyunitok import Packed, Tokenizer, VocabularyError
from pyunitok._c import scratch as c_scratch
from pyunitok.errors import UnitokError
from pyunitok.vocab import utf8

spm = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")

EXPENSIVE = settings().max_examples >= 1000
CORPORA = sorted((SHARED / "data/corpora").glob("*.zst"))


def surfaces(pieces: Any) -> list[str]:
    shown = [piece.piece for piece in pieces]
    return [piece if isinstance(piece, str) else utf8.shown(piece) for piece in shown]


def agree_on(tok: Tokenizer, want: Any, text: bytes) -> None:
    """Compare the results of every method for one text."""
    ids = want.encode(text)
    proto = want.encode(text, out_type="proto")
    assert tok.encode(text).tolist() == ids
    assert tok.count(text) == len(ids)
    assert tok.codec.model.normalize(text) == spm_normalize(want, text)
    assert tok.encode_as_pieces(text) == surfaces(proto.pieces)
    got, spans = tok.encode_with_offsets(text)
    assert got.tolist() == ids and spans.tolist() == [[piece.begin, piece.end] for piece in proto.pieces]
    try:
        string = text.decode()
    except UnicodeDecodeError:
        return
    got, spans = tok.encode_with_offsets(string)
    assert got.tolist() == ids and got.dtype == tok.dtype
    if all(isinstance(piece.surface, str) for piece in proto.pieces):  # bytes if a symbol is part of a character
        assert [string[begin:end] for begin, end in spans.tolist()] == [piece.surface for piece in proto.pieces]


def spm_normalize(want: Any, text: bytes) -> bytes:
    ret = want.normalize(text)
    return ret if isinstance(ret, bytes) else ret.encode()


def decodes(tok: Tokenizer, want: Any, ids: Sequence[int]) -> None:
    try:
        expected = want.decode(list(ids))
    except UnicodeDecodeError:  # a piece is part of a character
        return
    assert tok.decode(ids, errors="replace") == expected


def same_nbest(tok: Tokenizer, want: Any, text: bytes, n: int) -> None:
    found = want.nbest_encode(text, nbest_size=n, out_type="proto").nbests
    got = tok.nbest(text, n, scores=True)
    assert [(ids.tolist(), score) for ids, score in got] == [([x.id for x in e.pieces], e.score) for e in found]
    assert [ids.tolist() for ids in tok.nbest(text, n)] == [ids.tolist() for ids, _ in got]


# ---------------------------------------------------------------------------------------------- published models ---


@functools.cache
def corpus(path: Path) -> bytes:
    return decompressed(path, 1 << 22)


def slices(path: Path, seed: str) -> list[bytes]:
    """Documents from random positions, which may begin and end inside words and characters."""
    rng, data = random.Random(f"{path.stem} {seed}"), corpus(path)
    sizes = [40_000, 8_000, 8_000, 300, 50] * (8 if EXPENSIVE else 1) if EXPENSIVE else [3_000, 300, 40]
    return [data[at : at + n] for n in sizes for at in [rng.randrange(max(1, len(data) - n))]]


@pytest.mark.parametrize("path", shared_params())
def test_shared_models(path: Path) -> None:
    want, tok = spm.SentencePieceProcessor(model_file=str(path)), Tokenizer.from_file(path)
    assert tok.vocab_size == want.get_piece_size()
    texts = [text for corpus_path in CORPORA for text in slices(corpus_path, path.stem)]
    ids = [want.encode(text) for text in texts]
    for _ in range(2):  # the second time, the ids come from the memo
        assert encode(tok, texts) == ids
    assert encode_plain(tok, texts) == ids
    assert [item.tolist() for item in tok.encode_batch(texts)] == ids
    assert all(encode(Tokenizer.from_file(path, cpu=cpu), texts) == ids for cpu in CPUS)
    rng = random.Random(path.stem)
    for text, expected in list(zip(texts, ids, strict=True))[:: 1 if EXPENSIVE else 4]:
        agree_on(tok, want, text)
        decodes(tok, want, expected)
        assert encode_in_parts(tok, rng, text, 500) == expected
    if tok.kind == "unigram":
        for text in texts:
            same_nbest(tok, want, text[:40], rng.choice([1, 2, 10]))


@pytest.mark.parametrize("path", shared_params())
def test_shared_models_decode_any_ids(path: Path) -> None:
    want, tok = spm.SentencePieceProcessor(model_file=str(path)), Tokenizer.from_file(path)
    rng = random.Random(path.stem)
    for _ in range(200):
        limits = [min(n, tok.vocab_size) for n in (10, 300, tok.vocab_size)]
        decodes(tok, want, [rng.randrange(rng.choice(limits)) for _ in range(rng.randrange(12))])
    some = range(0, tok.vocab_size, 7)
    assert [tok.id_to_piece(id_) for id_ in some] == [want.id_to_piece(id_) for id_ in some]


@pytest.mark.parametrize("stem", ["t5_base", "xlnet_base_cased", "llama2", "en_uni_4k_bf_identity", "en_word"])
def test_long_documents(stem: str) -> None:
    """The running sum of scores exceeds 100,000 and restarts more than once."""
    path = next((path for path in shared_paths() if path.stem == stem), None) or find_shared(f"models/spm/{stem}.model")
    want, tok = spm.SentencePieceProcessor(model_file=str(path)), Tokenizer.from_file(path)
    for name in ("en_web", "zh") if EXPENSIVE else ("en_web",):
        text = corpus(find_shared(f"corpora/{name}.txt.zst"))[: 3_000_000 if EXPENSIVE else 400_000]
        ids = want.encode(text)
        assert tok.encode(text).tolist() == ids
        assert encode_in_parts(tok, random.Random(1), text, 30_000) == ids


def test_known_pieces() -> None:
    xlnet = Tokenizer.from_file(find_shared("models/spm/xlnet_base_cased.model"))
    assert xlnet.encode_as_pieces("Sesquipedalophobia") == ["▁Se", "s", "qui", "ped", "alo", "phobia"]
    t5 = Tokenizer.from_file(find_shared("models/spm/t5_base.model"))
    assert t5.encode_as_pieces("ｔｈｅ") == ["▁the"]
    word = tokenizer(make([(SPACE + b"the", -1.0, NORMAL)], model_type=WORD))
    assert word.encode("the@x the").tolist() == [word.unk_id, 3]


# ----------------------------------------------------------------------------------------------------- toy models ---


@given(st.integers(0, 1 << 48), st.sampled_from(list(KINDS)))
@fewer(3)
def test_toy_models(seed: int, kind: str) -> None:
    """With any flags, scores and pieces, every encoding method returns the reference's ids."""
    rng = random.Random(seed)
    proto, alphabet = toy(rng, kind)
    want, tok = reference(proto), tokenizer(proto)
    assert want is not None
    texts = [text_of(rng, proto, alphabet) for _ in range(5)]
    ids = [want.encode(text) for text in texts]
    scratch = tok.codec.new_scratch()
    for _ in range(2):
        assert encode(tok, texts, scratch=scratch) == ids
    assert encode_plain(tok, texts) == ids
    assert all(encode(tokenizer(proto, cpu=cpu), texts) == ids for cpu in CPUS)
    assert [item.tolist() for item in tok.encode_batch(Packed.from_documents(texts), threads=2)] == ids
    for text, expected in zip(texts, ids, strict=True):
        agree_on(tok, want, text)
        decodes(tok, want, expected)
        block = rng.choice([1, 7, 40, 300] if len(text) < 1000 else [300, 3000])
        assert encode_in_parts(tok, rng, text, block) == expected


@pytest.mark.parametrize("kind", ["bpe", "word", "char"])
@pytest.mark.parametrize("score", [-math.inf, math.inf, math.nan])
def test_scores_that_are_not_finite(kind: str, score: float) -> None:
    """Regression: -inf, which sentencepiece's trainer writes for absent required characters, was rejected."""
    pieces = [(b"a", -1.0, NORMAL), (b"b", score, NORMAL), (b"ab", score, NORMAL), (b"ba", -3.0, NORMAL)]
    proto = make([*pieces, (SPACE + b"ab", -2.0, NORMAL), (SPACE, score, NORMAL)], model_type=KINDS[kind])
    want, tok = reference(proto), tokenizer(proto)
    for text in (b"abba ab b a", b"b", b"bbaabab abab"):
        assert tok.encode(text).tolist() == want.encode(text)


def test_unigram_scores_that_are_not_finite() -> None:
    proto = make([(b"a", -1.0, NORMAL), (b"b", -math.inf, NORMAL)])
    with pytest.raises(VocabularyError, match=r"toy: piece 4 \(b'b'\): its score is -inf"):
        tokenizer(proto)


@given(st.integers(0, 1 << 48), st.sampled_from(list(KINDS)))
def test_toy_models_decode_any_ids(seed: int, kind: str) -> None:
    rng = random.Random(seed)
    proto, _ = toy(rng, kind)
    want, tok = reference(proto), tokenizer(proto)
    for _ in range(10):
        decodes(tok, want, [rng.randrange(tok.vocab_size) for _ in range(rng.randrange(9))])


@given(st.integers(0, 1 << 48))
def test_toy_models_nbest(seed: int) -> None:
    rng = random.Random(seed)
    proto, alphabet = toy(rng, "unigram")
    want, tok = reference(proto), tokenizer(proto)
    for _ in range(4):
        same_nbest(tok, want, text_of(rng, proto, alphabet)[:20], rng.choice([1, 2, 3, 10, 100]))


@given(st.integers(0, 1 << 48), st.sampled_from(list(KINDS)), st.booleans())
@fewer(3)
def test_gaps_between_ids(seed: int, kind: str, wide: bool) -> None:
    """Models with ids other than 0, 1, 2, … encode to the same pieces."""
    rng = random.Random(seed)
    proto, alphabet = toy(rng, kind)
    n = len(proto.pieces)
    numbers = rng.sample(range(70_000 if wide else 65_536), n)
    numbers[-1] = 70_000 + n if wide else rng.choice([65_535, numbers[-1]])
    if len(set(numbers)) < n:
        return
    tok, plain = tokenizer(proto, ids=numbers), tokenizer(proto)
    assert tok.dtype == ("uint32" if wide else "uint16")
    texts = [text_of(rng, proto, alphabet) for _ in range(4)]
    for _ in range(2):
        for text in texts:
            ids = tok.encode(text)
            assert ids.dtype == tok.dtype
            assert ids.tolist() == [numbers[id_] for id_ in plain.encode(text).tolist()]
            assert tok.decode_bytes(ids) == plain.decode_bytes(plain.encode(text))
    assert encode(tok, texts) == [tok.encode(text).tolist() for text in texts] == encode_plain(tok, texts)


# ------------------------------------------------------------------------------------------------------ hard cases ---


@pytest.mark.parametrize("score", [-1.0, -1.1, -33_333.3, -99_999.99, -100_000.0, -1e-6, -3e-3])
@pytest.mark.parametrize("n_bytes", [1, 3, 4, 100, 30_000, 100_000])
def test_sums_that_tie(score: float, n_bytes: int) -> None:
    """With equal scores, the rounding and the restarts of the preceding sum decide which path wins."""
    pieces = [(b"a", score, NORMAL), (b"b", score, NORMAL), (b"ab", 2 * score, NORMAL), (b"ba", 2 * score, NORMAL),
              (b"aba", 3 * score, NORMAL), (SPACE, score / 3, NORMAL), (SPACE + b"a", score / 3 + score, NORMAL),
              ]  # fmt: skip
    proto = make(pieces, model_type=UNIGRAM)
    want, tok = reference(proto), tokenizer(proto)
    rng = random.Random(n_bytes)
    texts = [(b"ab" * n_bytes)[:n_bytes], *(bytes(rng.choices(letters, k=n_bytes)) for letters in (b"ab ", b"abZ  "))]
    for text in texts:
        ids = want.encode(text)
        assert tok.encode(text).tolist() == tok.encode(text).tolist() == ids
        assert encode_plain(tok, [text]) == [ids]
        assert encode_in_parts(tok, rng, text, n_bytes // 3 + 20) == ids


def test_a_sum_that_restarts_at_every_position() -> None:
    proto = make([(b"a", -250_000.0, NORMAL), (b"aa", -500_000.0, NORMAL), (b"b", -1.0, NORMAL)], model_type=UNIGRAM)
    want, tok = reference(proto), tokenizer(proto)
    for text in (b"a", b"aa", b"aab" * 50, b"b" * 200 + b"a" * 33 + b"Z"):
        assert tok.encode(text).tolist() == want.encode(text)


@pytest.mark.parametrize("kind", list(KINDS))
def test_unknown_words_become_bytes(kind: str) -> None:
    """Regression: encode_with_offsets of a word model mistook other bytes for U+2581 and read past the text."""
    proto = make([(b"q", -1.0, NORMAL)], model_type=KINDS[kind], byte_fallback=True)
    want, tok = reference(proto), tokenizer(proto)
    for text in (b"x", b"xy z", " é日 ".encode(), b"  ", b"q \xff"):
        agree_on(tok, want, text)


def test_splitting_takes_linear_time() -> None:
    """Even if every byte may be inside a rule's key, only the end of the text is examined."""
    proto = make([(b"a", -1.0, NORMAL), (b"aa", -2.5, NORMAL)], model_type=UNIGRAM)
    proto.normalizer_spec.precompiled_charsmap = charsmap({b"aaa": b"a", b"ba": b"b"})
    tok = tokenizer(proto)
    text = b"a" * 500_000 + b" "
    assert 0 <= tok.codec.split(text) <= len(text)
    assert tok.unk_id == 0 and tok.id_to_piece(0) == "<unk>" and proto.pieces[0].type == UNKNOWN
    assert encode_in_parts(tok, random.Random(1), b"baaa " * 2000, 300) == reference(proto).encode(b"baaa " * 2000)


def test_texts_beyond_the_limit() -> None:
    """Regression: the error was a MemoryError. The text consists of untouched zero pages and takes no memory."""
    text = bytes((1 << 29) + 1)
    unigram = tokenizer(make([(b"a", -1.0, NORMAL), (b"b", -2.0, NORMAL)]))
    codec = unigram.codec
    bpe = tokenizer(make([(b"a", -1.0, NORMAL), (b"aa", -2.0, NORMAL)], model_type=KINDS["bpe"]))
    sampling = c_scratch.sampling("lattice", 0.5, 1)
    with codec.scratch() as scratch:
        for call in (
            lambda: scratch.nbest(text, 2),
            lambda: scratch.entropy(text, 0.5),
            lambda: scratch.sample_paths(text, 1, sampling, distinct=False, include_best=False),
            lambda: bpe.encode_as_pieces(text),
        ):
            with pytest.raises(UnitokError, match=r"536,870,913 bytes is too long|longer than 2\^29 bytes"):
                call()
