"""Random samples from pyunitok.compat.sentencepiece, and methods that it keeps from sentencepiece 0.1 and 0.2.0."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece_pairs import PAIRS, STRINGS, TEXTS, agree, reference, toy, toy_proto
from toys.sentencepieces import NORMAL, UNUSED

import pyunitok.compat.sentencepiece as spm
from pyunitok.compat.sentencepiece import sentencepiece_pb2

# ------------------------------------------------------------------------------------------------- samples ----


def paths_of(sp: Any, text: str, alpha: float) -> dict[tuple[int, ...], float]:
    """The probabilities of all tokenizations of a short text."""
    message = spm.sentencepiece_pb2.NBestSentencePieceText.FromString(
        sp.nbest_encode(text, nbest_size=512, return_type="serialized_proto")
    )
    weights = {tuple(p.id for p in nbest.pieces): math.exp(alpha * nbest.score) for nbest in message.nbests}
    return {ids: weight / sum(weights.values()) for ids, weight in weights.items()}


@pytest.mark.parametrize("kind", [int, str, "serialized_proto"])
@pytest.mark.parametrize("nbest_size", [-1, 4])
def test_samples_follow_their_probabilities(kind: Any, nbest_size: int) -> None:
    sp, n = PAIRS["unigram-0"][0], 2000
    spm.set_random_generator_seed(7)
    every = paths_of(sp, "abab a", 0.5)
    best = dict(sorted(every.items(), key=lambda item: -item[1])[: nbest_size if nbest_size > 0 else None])
    drawn: Counter[Any] = Counter()
    for _ in range(n):
        sample = sp.encode("abab a", return_type=kind, enable_sampling=True, nbest_size=nbest_size, alpha=0.5)
        if kind == "serialized_proto":
            sample = [piece.id for piece in sentencepiece_pb2.SentencePieceText.FromString(sample).pieces]
        drawn[tuple(sp.piece_to_id(sample) if kind is str else sample)] += 1
    assert set(drawn) <= set(best)
    for ids, weight in best.items():
        p = weight / sum(best.values())
        assert abs(drawn[ids] - n * p) < 5 * math.sqrt(n * p * (1 - p)) + 1


@pytest.mark.parametrize("name", ["unigram-0", "unigram-1", "bpe-0", "bpe-1", "bpe-2", "bpe-3"])
@given(text=TEXTS, alpha=st.sampled_from([0.0, 0.1, 0.5, 1.0]), nbest_size=st.sampled_from([-1, 2, 8]))
def test_samples_are_tokenizations(name: str, text: str | bytes, alpha: float, nbest_size: int) -> None:
    """The pieces of a sample spell the normalized text, and their offsets ascend."""
    sp, kwargs = PAIRS[name][0], {"enable_sampling": True, "alpha": alpha, "nbest_size": nbest_size}
    found = sp.encode(text, return_type="offset_mapping", return_bytes=True, **kwargs)
    normalized = sp.normalize(text.encode() if isinstance(text, str) else text)
    spelled = [
        bytes([int(p[3:5], 16)]) if sp.is_byte(i) else p for i, p in zip(found["ids"], found["pieces"], strict=True)
    ]
    assert b"".join(spelled) == normalized
    for id_, piece in zip(found["ids"], found["pieces"], strict=True):
        assert sp.is_unknown(id_) or sp.piece_to_id(piece) == id_
    ends = [0, *(end for _, end in found["offsets"])]
    assert ends == sorted(ends)
    if alpha == 0 and name.startswith("bpe"):  # no merge is dropped
        assert found == PAIRS[name][1].encode(text, return_type="offset_mapping", return_bytes=True)


def test_seeds_repeat_samples() -> None:
    sp = PAIRS["unigram-0"][0]

    def draw() -> Any:
        spm.SetRandomGeneratorSeed(3)
        return [sp.sample_encode_as_ids("abab abab", -1, 0.1) for _ in range(20)]

    first = draw()
    assert first == draw() and len({tuple(ids) for ids in first}) > 1
    for seed in (-1, 2**40, "a"):
        with pytest.raises(TypeError):
            spm.set_random_generator_seed(seed)


def test_sample_encode_and_score() -> None:
    sp, every = PAIRS["unigram-0"][0], paths_of(PAIRS["unigram-0"][0], "abab", 0.5)
    for ids, score in sp.sample_encode_and_score("abab", num_samples=20, alpha=0.5, out_type=int):
        assert math.isclose(math.exp(score), every[tuple(ids)], rel_tol=1e-4)
    found = sp.SampleEncodeAndScoreAsPieces("abab", 4, 0.5, wor=True, include_best=True)
    assert found[0][0] == sp.encode("abab", out_type=str) and len({tuple(pieces) for pieces, _ in found}) == 4
    message = sp.sample_encode_and_score_as_immutable_proto(["abab"], 3)[0]
    assert len(message.nbests) == 3 and all(text.text == "abab" for text in message.nbests)
    with pytest.raises(RuntimeError):
        sp.sample_encode_and_score("abab", num_samples=0)
    with pytest.raises(RuntimeError):
        sp.sample_encode_and_score("abab", include_best=True)
    with pytest.raises(RuntimeError):
        PAIRS["bpe-0"][0].sample_encode_and_score("abab")


def test_entropy() -> None:
    sp = PAIRS["unigram-0"][0]
    expected = -sum(p * math.log(p) for p in paths_of(sp, "abab a", 0.7).values())
    assert math.isclose(sp.calculate_entropy("abab a", 0.7), expected, rel_tol=1e-4)
    assert sp.CalculateEntropy(["abab a", "abab a"], 0.7, num_threads=2) == [sp.calculate_entropy("abab a", 0.7)] * 2


# ------------------------------------------------------------------------------ methods removed in 0.2.3 ----


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(
    valid=st.lists(st.sampled_from(["ab", "▁ab", "aba", "▁a", "é", "u!", "日"]), max_size=4),
    texts=st.lists(STRINGS, max_size=3),
)
def test_set_vocabulary(kind: str, valid: list[str], texts: list[str]) -> None:
    """The result equals sentencepiece's with a model whose pieces outside the vocabulary are UNUSED."""
    proto = toy_proto(kind)
    sp = spm.SentencePieceProcessor(model_proto=proto.SerializeToString())
    assert sp.set_vocabulary(valid)
    for piece in proto.pieces:
        if piece.type in (NORMAL, UNUSED):
            is_kept = piece.piece.decode() in valid or len(piece.piece.decode()) == 1
            piece.type = NORMAL if is_kept else UNUSED
    agree((sp, reference.SentencePieceProcessor(model_proto=proto.SerializeToString())), "encode", texts)
    assert sp.reset_vocabulary()
    for piece in proto.pieces:
        piece.type = NORMAL if piece.type == UNUSED else piece.type
    agree((sp, reference.SentencePieceProcessor(model_proto=proto.SerializeToString())), "encode", texts)


def test_load_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.tsv"
    path.write_text("▁ab\t10\nabab\t3\naba\n", encoding="utf-8")
    sp = spm.SentencePieceProcessor(model_proto=toy("unigram", 0))
    assert sp.load_vocabulary(str(path), 3)
    assert [sp.is_unused(sp.piece_to_id(piece)) for piece in ("▁ab", "abab", "aba", "a")] == [False, False, True, False]
    path.write_text("▁ab\tmany\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="frequency of"):
        sp.load_vocabulary(str(path), 3)
    with pytest.raises(OSError):
        sp.load_vocabulary(str(tmp_path / "missing"), 0)
    with pytest.raises(RuntimeError):
        spm.SentencePieceProcessor(model_proto=toy("char", 0)).set_vocabulary(["a"])


def test_override_normalizer_spec() -> None:
    sp = spm.SentencePieceProcessor(model_proto=toy("unigram", 0))
    assert sp.normalize(" a  b") == "▁a▁b"
    assert sp.override_normalizer_spec(add_dummy_prefix=False, remove_extra_whitespaces="false")
    assert sp.normalize(" a  b") == "▁a▁▁b"
    assert sp.OverrideNormalizerSpec(escape_whitespaces=0) and sp.normalize("a b") == "a b"
    for wrong in [{"nonsense": 1}, {"add_dummy_prefix": "maybe"}]:
        with pytest.raises(RuntimeError):
            sp.override_normalizer_spec(**wrong)


def test_extra_options() -> None:
    sp = spm.SentencePieceProcessor(model_proto=toy("unigram", 0))
    assert sp.encode("a日Z", out_type=str) == ["▁a", "日", "Z"]
    assert sp.set_encode_extra_options("bos:reverse:eos:unk")
    assert sp.encode("a日Z", out_type=str) == ["<unk>", "日", "▁a", "<s>", "</s>"]
    assert sp.encode(["a日Z"]) == [[0, sp["日"], sp["▁a"], 1, 2]]
    tokens = sp.encode_as_proto("a日Z").pieces
    assert [(token.piece, token.begin, token.end) for token in tokens][2:] == [
        ("▁a", 0, 1), ("<s>", 0, 0), ("</s>", 5, 5)
    ]
    assert sp.set_decode_extra_options("reverse") and sp.decode([sp["a"], sp["b"]]) == "ba"
    assert sp.decode(["b", "Q"], return_type="offset_mapping")["text"] == "Qb"
    assert sp.set_encode_extra_options("") and sp.encode("a", out_type=str) == ["▁a"]
    with pytest.raises(RuntimeError):
        sp.set_encode_extra_options("nonsense")
    with pytest.raises(RuntimeError):
        spm.SentencePieceProcessor(model_proto=toy("unigram", 3)).set_encode_extra_options("eos")


def test_immutable_protos() -> None:
    sp = PAIRS["unigram-1"][0]
    text = sp.encode_as_immutable_proto("日a é")
    assert [(p.piece, p.surface, p.begin, p.end) for p in text.pieces] == [
        ("▁", "", 0, 0), ("日", "日", 0, 1), ("a", "a", 1, 2), ("▁", " ", 2, 3), ("é", "é", 3, 4)
    ]  # fmt: skip
    assert text.text == "日a é" and text.text_as_bytes == "日a é".encode() and text.score == 0
    assert text == sp.EncodeAsImmutableProto(["日a é"])[0] and hash(text) == hash(sp.encode_as_immutable_proto("日a é"))
    assert len(text.pieces) == 5 and text.pieces[-1].id == sp["é"]
    assert [p.id for p in text.pieces[3:]] == sp.encode("a é")[1:]
    with pytest.raises(IndexError):
        text.pieces[5]
    assert str(text.pieces[1]) == f'piece: "日"\nid: {sp["日"]}\nsurface: "日"\nbegin: 0\nend: 1\n'
    nbest = sp.nbest_encode_as_immutable_proto("ab", nbest_size=2)
    assert [[p.id for p in item.pieces] for item in nbest.nbests] == sp.nbest_encode("ab", nbest_size=2)
    assert nbest.nbests[0].score > nbest.nbests[1].score and "nbests {" in str(nbest)
    decoded = sp.decode_ids_as_immutable_proto(sp.encode("日a"))
    assert decoded.text == "日a" and decoded == sp.decode_pieces_as_immutable_proto(sp.encode("日a", out_type=str))
    with pytest.raises(RuntimeError):
        sp.encode_as_immutable_proto("a", add_bos=True)
    assert sp.sample_encode_as_immutable_proto("ab", -1, 0.5).text == "ab"
    assert len(spm.ImmutableSentencePieceText().pieces) == len(spm.ImmutableNBestSentencePieceText().nbests) == 0
