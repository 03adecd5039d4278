"""pyunitok.compat.sentencepiece against sentencepiece itself: every method, results and exceptions."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_models
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from sentencepieces import (
    BPE,
    CHAR,
    CONTROL,
    NORMAL,
    UNIGRAM,
    UNUSED,
    USER_DEFINED,
    WORD,
    charsmap,
    make,
    shared_paths,
)  # fmt: skip

import pyunitok.compat.sentencepiece as spm
from pyunitok.compat.sentencepiece import charsmap as charsmaps
from pyunitok.compat.sentencepiece import sentencepiece_model_pb2, sentencepiece_pb2

reference = pytest.importorskip("sentencepiece")
reference_messages = pytest.importorskip("sentencepiece.sentencepiece_pb2")

KINDS = {"unigram": UNIGRAM, "bpe": BPE, "word": WORD, "char": CHAR}
ODD = [None, 5, 3.0, "\ud800", bytearray(b"ab"), memoryview(b"ab"), ("a",), ["a", 5], [b"a", "b"], {"a": 1}, True]
FLAGS = ["add_bos", "add_eos", "reverse", "emit_unk_piece"]
TEXT_TYPES = [int, str, bytes, "numpy", "serialized_proto", "proto", "offset_mapping", "immutable_proto", "nonsense"]
WORDS = st.sampled_from(
    ["a", "ab", " ", "  ", "ba ", "▁", "é", "日", "😀", "Z", "<s>", "<unk>", "ｘ", "\n", "u!", "</s>"]
)
STRINGS = st.lists(WORDS, max_size=12).map("".join)
BYTES = st.lists(st.one_of(WORDS.map(str.encode), st.binary(max_size=2)), max_size=8).map(b"".join)
TEXTS = st.one_of(STRINGS, BYTES)
INPUTS = st.one_of(TEXTS, st.lists(STRINGS, max_size=4), st.lists(TEXTS, max_size=4))
MAYBE = st.sampled_from([None, None, False, True])


def toy_proto(kind: str, **trainer: Any) -> Any:
    """A model of all types of pieces, with rules of normalization."""
    texts = ["▁", "a", "b", "ab", "▁a", "▁ab", "é", "aba", "x", "▁b", "日", "b▁", "abab"]
    pieces = [(text.encode(), -0.3 * i - 1, NORMAL) for i, text in enumerate(texts)]
    pieces += [(b"u!", 0.0, USER_DEFINED), (b"ba", -2.0, UNUSED), (b"<pad>", 0.0, CONTROL)]
    proto = make(pieces, model_type=KINDS[kind], **trainer)
    proto.normalizer_spec.precompiled_charsmap = charsmap({"ｘ".encode(): b"x", b"\n": b" ", "㍻".encode(): b"abab"})
    return proto


def toy(kind: str, variant: int) -> bytes:
    proto = toy_proto(kind, **[{}, {"byte_fallback": True}, {"treat_whitespace_as_suffix": True}, {}][variant])
    if variant == 3:
        proto.normalizer_spec.add_dummy_prefix = False
        proto.normalizer_spec.remove_extra_whitespaces = False
        proto.denormalizer_spec.precompiled_charsmap = charsmap({b"x": "ｘ".encode(), b"aba": b"!"})
        proto.trainer_spec.unk_surface = b"??"
        del proto.pieces[2]  # </s>
    data: bytes = proto.SerializeToString()
    return data


TOYS = {f"{kind}-{variant}": toy(kind, variant) for kind in KINDS for variant in range(4)}
PAIRS = {
    name: (spm.SentencePieceProcessor(model_proto=data), reference.SentencePieceProcessor(model_proto=data))
    for name, data in TOYS.items()
}


def plain(value: Any) -> Any:
    """A value to compare: messages as their bytes, arrays as their type and items."""
    if hasattr(value, "SerializeToString"):
        return type(value).__name__, value.SerializeToString()
    if isinstance(value, np.ndarray):
        return value.dtype, value.flags.writeable, value.tolist()
    if isinstance(value, list | tuple):
        return type(value), [plain(item) for item in value]
    return type(value), value


def outcome(call: Any) -> Any:
    try:
        return plain(call())
    except Exception as error:
        return error


def agree(pair: tuple[Any, Any], method: str, *args: Any, **kwargs: Any) -> None:
    ours, theirs = (outcome(lambda p=p: getattr(p, method)(*args, **kwargs)) for p in pair)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), (method, args, kwargs, ours, theirs)
    else:
        assert ours == theirs, (method, args, kwargs)


@st.composite
def flags_of(draw: Any) -> dict[str, Any]:
    return {name: value for name in FLAGS if (value := draw(MAYBE)) is not None}


@pytest.mark.parametrize("name", PAIRS)
@given(data=st.data())
def test_encode(name: str, data: Any) -> None:
    kwargs = data.draw(flags_of()) if data.draw(st.booleans()) else {}
    kwargs[data.draw(st.sampled_from(["return_type", "out_type"]))] = data.draw(st.sampled_from(TEXT_TYPES))
    if data.draw(st.integers(0, 3)) == 0:
        kwargs |= data.draw(st.sampled_from([{"return_bytes": True}, {"return_bytes": False}, {"num_threads": 2}]))
    agree(PAIRS[name], data.draw(st.sampled_from(["encode", "Encode", "tokenize"])), data.draw(INPUTS), **kwargs)


@pytest.mark.parametrize("name", PAIRS)
@given(data=st.data())
def test_decode(name: str, data: Any) -> None:
    n_pieces = PAIRS[name][1].get_piece_size()
    ids = st.lists(st.integers(0, n_pieces - 1), max_size=8)
    wrong = st.lists(st.integers(-1, n_pieces), max_size=3)
    vocabulary = st.integers(0, n_pieces - 1).map(PAIRS[name][1].id_to_piece)
    pieces = st.lists(st.one_of(vocabulary, WORDS), max_size=8)
    sequences = st.one_of(ids, wrong, pieces, pieces.map(tuple), pieces.map(lambda p: [x.encode() for x in p]))
    arrays = ids.map(lambda i: np.array(i, np.int32))
    one = st.one_of(st.integers(-1, n_pieces), WORDS, WORDS.map(str.encode), st.none())
    input_ = data.draw(
        st.one_of(sequences, one, arrays, st.lists(sequences, max_size=3), st.lists(arrays, max_size=3))
    )
    kwargs = {"return_type": data.draw(st.sampled_from([None, str, *TEXT_TYPES]))}
    if data.draw(st.integers(0, 3)) == 0:
        kwargs["return_bytes"] = data.draw(st.booleans())
    agree(PAIRS[name], data.draw(st.sampled_from(["decode", "DecodeIds", "decode_pieces"])), input_, **kwargs)


@pytest.mark.parametrize("name", PAIRS)
@given(data=st.data())
def test_nbest_and_parallel(name: str, data: Any) -> None:
    kwargs = {**data.draw(flags_of()), "return_type": data.draw(st.sampled_from(TEXT_TYPES))}
    n = data.draw(st.sampled_from([None, -1, 0, 1, 2, 3, 10, 513]))
    agree(
        PAIRS[name],
        data.draw(st.sampled_from(["nbest_encode", "NBestEncode"])),
        data.draw(INPUTS),
        nbest_size=n,
        **kwargs,
    )
    chunk_len = data.draw(st.sampled_from([1000, 1000, 0, None, "a"]))
    agree(PAIRS[name], "parallel_encode", data.draw(INPUTS), chunk_len=chunk_len, **kwargs)


@pytest.mark.parametrize("name", PAIRS)
@given(input_=INPUTS, with_offsets=MAYBE)
def test_normalize(name: str, input_: Any, with_offsets: bool | None) -> None:
    agree(PAIRS[name], "normalize", input_, with_offsets=with_offsets)


@pytest.mark.parametrize("name", PAIRS)
def test_vocabulary(name: str) -> None:
    pair, n = PAIRS[name], PAIRS[name][1].get_piece_size()
    for method in ["get_piece_size", "piece_size", "vocab_size", "__len__", "unk_id", "bos_id", "eos_id", "pad_id"]:
        agree(pair, method)
    agree(pair, "serialized_model_proto")
    odd = [3, np.int64(3), True, -1, n, 2**40, [1, 2], (1, 2), {1}, range(3), [], [n], [True], [np.int64(1)], [2**40],
           np.array([1, 2], np.int64), np.array([1, 2], np.uint8), np.array([2**40]), np.array([1.0]), np.array([[1]]),
           np.array(1), np.array([2**63], np.uint64), np.array([True]), [1.0], ["a"], "a", 3.0, None, {1: 2}, bytearray(b"\1"),
           memoryview(b"\1"), [[1]]]  # fmt: skip
    for method in [
        "id_to_piece",
        "get_score",
        "is_unknown",
        "is_control",
        "is_unused",
        "is_byte",
        "IsByte",
        "IdToPiece",
    ]:
        agree(pair, method, list(range(n)))
        for ids in odd:
            agree(pair, method, ids)
    for ids in odd:
        agree(pair, "decode", ids)
    pieces = [pair[1].id_to_piece(id_) for id_ in range(n)]
    for piece in [*pieces, pieces, "nothing", "", [], ["a", b"a"], (), np.array(["a"]), {"a"}, *ODD]:
        for method in ["piece_to_id", "PieceToId", "__getitem__"]:
            agree(pair, method, piece)


@pytest.mark.parametrize(
    "method", ["encode", "nbest_encode", "normalize", "decode", "encode_as_pieces", "encode_as_numpy"]
)
@pytest.mark.parametrize("input_", ODD, ids=lambda value: type(value).__name__)
def test_odd_inputs(method: str, input_: Any) -> None:
    agree(PAIRS["unigram-0"], method, input_)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_threads": 1.5}, {"num_threads": "a"}, {"num_threads": 0}, {"thread_pool": 5}, {"nbest_size": "a"},
        {"nbest_size": 1.5}, {"alpha": "a"}, {"return_bytes": True}, {"return_type": int, "out_type": int},
        {"enable_sampling": True, "nbest_size": 1}, {"enable_sampling": True, "nbest_size": 0},
        {"enable_sampling": True, "alpha": -1.0}, {"enable_sampling": True, "alpha": math.nan},
        {"enable_sampling": True, "nbest_size": 513}, {"nonsense": 1},
    ],
    ids=repr,
)  # fmt: skip
def test_odd_arguments(kwargs: dict[str, Any]) -> None:
    for name in ["unigram-0", "bpe-0", "char-0"]:
        for input_ in ["ab a", ["ab", "a"]]:
            agree(PAIRS[name], "encode", input_, **kwargs)


def test_every_public_name_is_here() -> None:
    absent = {"ConvertToFlatbuffer", "SetNBestTimeout", "convert_to_flatbuffer", "set_nbest_timeout"}
    modules = {"csv", "importlib", "io", "os", "sys"}
    for theirs, ours in [
        (reference, spm),
        (reference.SentencePieceProcessor, spm.SentencePieceProcessor),
        (reference.SentencePieceNormalizer, spm.SentencePieceNormalizer),
    ]:
        names = {name for name in dir(theirs) if not name.startswith("_")} - modules
        assert names - set(dir(ours)) <= absent
    earlier = [
        "Init", "SetVocabulary", "ResetVocabulary", "LoadVocabulary", "CalculateEntropy", "SetEncodeExtraOptions",
        "SetDecodeExtraOptions", "OverrideNormalizerSpec", "SampleEncodeAndScore", "SampleEncodeAndScoreAsPieces",
        "SampleEncodeAndScoreAsIds", "SampleEncodeAndScoreAsSerializedProto", "SampleEncodeAndScoreAsImmutableProto",
        "EncodeAsSerializedProto", "EncodeAsImmutableProto", "NBestEncodeAsSerializedProto",
        "NBestEncodeAsImmutableProto", "SampleEncodeAsSerializedProto", "SampleEncodeAsImmutableProto",
        "DecodeIdsAsSerializedProto", "DecodePiecesAsImmutableProto", "set_vocabulary", "nbest_encode_as_immutable_proto",
    ]  # fmt: skip
    assert [name for name in earlier if not hasattr(spm.SentencePieceProcessor, name)] == []


@pytest.mark.parametrize(
    "method", sorted(n for n in dir(reference.SentencePieceProcessor) if "Encode" in n or "encode" in n)
)
def test_every_encode_method(method: str) -> None:
    kwargs = {"chunk_len": 100} if "arallel" in method else {}
    pair = PAIRS["unigram-1"]
    if "ample" in method:  # random, and so compared elsewhere
        assert type(getattr(pair[0], method)("ab a", 2, 0.5)) is not type(None)
        return
    for input_ in ["ab 日Z", b"ab", ["ab", "Z"], []]:
        agree(pair, method, input_, **kwargs)


@pytest.mark.parametrize(
    "method", sorted(n for n in dir(reference.SentencePieceProcessor) if "ecode" in n and n[0] != "_")
)
def test_every_decode_method(method: str) -> None:
    for input_ in [[3, 4], [[3, 4], []], ["a", "Q"], [], "▁a", 4]:
        agree(PAIRS["unigram-1"], method, input_)


@pytest.mark.parametrize("path", shared_paths(), ids=lambda path: path.stem)
def test_shared_models(path: Path) -> None:
    pair = spm.SentencePieceProcessor(model_file=str(path)), reference.SentencePieceProcessor(model_file=str(path))
    texts = [
        "Hello world, this is a ｔｅｓｔ.  Ünïcode 日本語のテキスト 😀 <unk> </s>\n\ttabs",
        "",
        "清水寺は京都にある。",
        "▁▁ x",
    ]
    for kind in [int, str, "serialized_proto", "offset_mapping"]:
        agree(pair, "encode", texts, return_type=kind)
        agree(pair, "encode", texts[0], return_type=kind)
    agree(pair, "encode", texts, return_type=str, emit_unk_piece=True)
    agree(pair, "normalize", texts, with_offsets=True)
    agree(pair, "nbest_encode", texts[2], nbest_size=4, return_type="serialized_proto")
    agree(pair, "serialized_model_proto")
    ids = pair[1].encode(texts)
    rng = random.Random(1)
    ids += [[rng.randrange(len(pair[1])) for _ in range(20)] for _ in range(20)]
    for kind in [str, bytes, "serialized_proto"]:
        agree(pair, "decode", ids, return_type=kind)
        agree(pair, "decode", pair[1].encode(texts, return_type=str), return_type=kind)


@fewer(2)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(list(KINDS)))
def test_random_models(seed: int, kind: str) -> None:
    rng = random.Random(seed)
    proto, alphabet = toy_models.spm_proto(rng, kind)
    data = proto.SerializeToString()
    try:
        theirs = reference.SentencePieceProcessor(model_proto=data)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            spm.SentencePieceProcessor(model_proto=data)
        return
    pair = spm.SentencePieceProcessor(model_proto=data), theirs
    texts = [toy_models.text(rng, alphabet) for _ in range(3)]
    for return_type in [int, str, "serialized_proto", "offset_mapping"]:
        agree(pair, "encode", texts, return_type=return_type)
    agree(pair, "nbest_encode", texts[0][:12], nbest_size=3, return_type="serialized_proto")
    ids = [rng.randrange(len(theirs)) for _ in range(12)]
    for kind_ in [str, bytes, "serialized_proto"]:
        agree(pair, "decode", ids, return_type=kind_)
        agree(pair, "decode", theirs.encode(texts, return_type=str), return_type=kind_)


def test_unknown_words_as_bytes() -> None:
    """A word is many bytes, and one of its spaces three of them."""
    for text in ["aa", "日aa ab aa", "aa " * 3]:
        agree(PAIRS["word-1"], "encode", text, return_type="serialized_proto")


def test_texts_that_become_longer() -> None:
    """More ids than bytes: ▁ and its bytes before every document."""
    for name in PAIRS:
        agree(PAIRS[name], "encode", ["Z"] * 300)


# ------------------------------------------------------------------------------------- loading and states ----


def test_loading(tmp_path: Path) -> None:
    path = tmp_path / "toy.model"
    path.write_bytes(TOYS["bpe-0"])
    sp = spm.SentencePieceProcessor()
    assert sp.Load(str(path)) and sp.load(model_file=path) and sp.LoadFromFile(str(path))
    assert sp.load(model_proto=TOYS["bpe-0"]) and sp.load_from_serialized_proto(TOYS["bpe-0"])
    message = sentencepiece_model_pb2.ModelProto.FromString(TOYS["bpe-0"])
    for other in [
        spm.SentencePieceProcessor.from_file(str(path)),
        spm.SentencePieceProcessor.from_proto(message),
        spm.SentencePieceProcessor(str(path)),
    ]:
        assert other.encode("ab abab") == sp.encode("ab abab")
    assert spm.SentencePieceProcessor.from_file(path, out_type=str).encode("a") == ["▁a"]


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "broken.model").write_bytes(b"no model")
    for kwargs in [
        {"model_file": str(tmp_path / "missing")}, {"model_file": str(tmp_path)}, {"model_proto": b"no model"},
        {"model_file": str(tmp_path / "broken.model")}, {"model_proto": "text"}, {"model_file": "a", "model_proto": b"b"},
    ]:  # fmt: skip
        ours, theirs = (outcome(lambda m=m: m.SentencePieceProcessor(**kwargs)) for m in (spm, reference))  # noqa: B023
        assert isinstance(theirs, Exception) and isinstance(ours, type(theirs)), kwargs
    with pytest.raises(OSError, match="missing"):  # as sentencepiece up to 0.2.1
        spm.SentencePieceProcessor(model_file=str(tmp_path / "missing"))


def test_without_a_model() -> None:
    pair = spm.SentencePieceProcessor(), reference.SentencePieceProcessor()
    for method, *args in [
        ["encode", "a"], ["encode", ["a"]], ["decode", [1]], ["decode", []], ["decode", ["a"]], ["piece_to_id", "a"],
        ["id_to_piece", 0], ["normalize", "a"], ["normalize", "a", True], ["serialized_model_proto"], ["load"],
        ["get_score", []], ["unk_id"], ["pad_id"], ["__len__"], ["load_from_file", ""], ["nbest_encode", "a"],
    ]:  # fmt: skip
        agree(pair, method, *args)


class WithArgument(spm.SentencePieceProcessor):
    def __init__(self, argument: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.argument = argument


@pytest.mark.parametrize("name", PAIRS)
def test_pickle_and_copy(name: str) -> None:
    sp = WithArgument("x", model_proto=TOYS[name], reverse=True, out_type=str)
    expected = sp.encode("ab u! a")
    for clone in [pickle.loads(pickle.dumps(sp)), copy.copy(sp), copy.deepcopy(sp)]:
        assert isinstance(clone, WithArgument) and clone.argument == "x"
        assert clone.encode("ab u! a") == expected
    older = spm.SentencePieceProcessor.__new__(spm.SentencePieceProcessor)
    older.__setstate__(TOYS[name])
    assert older.encode("ab u! a", out_type=str)[::-1] == expected
    assert pickle.loads(pickle.dumps(spm.SentencePieceProcessor())).vocab_size() == 0


def test_threads() -> None:
    ours, theirs = PAIRS["unigram-0"]
    texts = ["ab " * n + "Z日" * (n % 7) for n in range(200)]
    expected = theirs.encode(texts, return_type="serialized_proto")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: ours.encode(text, return_type="serialized_proto"), texts))
    assert found == expected
    for threads in [{"num_threads": 3}, {"num_threads": 0}, {"thread_pool": spm.ThreadPool(2)}]:
        assert ours.encode(texts, **threads) == theirs.encode(texts)
    assert [spm.ThreadPool(n).num_threads() for n in (1, 0, 7)] == [1, 1, 7]


def test_messages_are_declared_as_in_the_reference() -> None:
    def describe(descriptor: Any) -> Any:
        fields = {f.number: (f.name, f.type, None if f.message_type else f.default_value) for f in descriptor.fields}
        nested = {name: describe(message) for name, message in descriptor.nested_types_by_name.items()}
        enums = {name: dict(e.values_by_name.items()).keys() for name, e in descriptor.enum_types_by_name.items()}
        return fields, nested, enums, descriptor.extension_ranges

    from sentencepiece import sentencepiece_model_pb2 as their_models

    for ours, theirs, names in [
        (sentencepiece_model_pb2, their_models, ["ModelProto", "TrainerSpec", "NormalizerSpec"]),
        (sentencepiece_pb2, reference_messages, ["SentencePieceText", "NBestSentencePieceText"]),
    ]:
        for name in names:
            assert describe(getattr(ours, name).DESCRIPTOR) == describe(getattr(theirs, name).DESCRIPTOR)


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
def test_samples_have_their_probabilities(kind: Any, nbest_size: int) -> None:
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
    """Whatever is drawn stands in the normalized text, piece after piece, and its places follow each other."""
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
    if alpha == 0 and name.startswith("bpe"):  # nothing is left out
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


# ----------------------------------------------------------------------------------- what 0.2.3 dropped ----


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(
    valid=st.lists(st.sampled_from(["ab", "▁ab", "aba", "▁a", "é", "u!", "日"]), max_size=4),
    texts=st.lists(STRINGS, max_size=3),
)
def test_set_vocabulary(kind: str, valid: list[str], texts: list[str]) -> None:
    """As sentencepiece with a model whose other pieces are UNUSED."""
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
    assert [sp.is_unused(sp.piece_to_id(piece)) for piece in ("▁ab", "abab", "aba", "a")] == [
        False,
        False,
        True,
        False,
    ]
    path.write_text("▁ab\tmany\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="many|▁ab"):
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
        ("▁a", 0, 1),
        ("<s>", 0, 0),
        ("</s>", 5, 5),
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
    assert text == sp.EncodeAsImmutableProto(["日a é"])[0] and hash(text) == hash(
        sp.encode_as_immutable_proto("日a é")
    )
    assert (
        len(text.pieces) == 5
        and text.pieces[-1].id == sp["é"]
        and [p.id for p in text.pieces[3:]] == sp.encode("a é")[1:]
    )
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


def test_training_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="sentencepiece"):
        spm.SentencePieceTrainer.train(input="a", model_prefix="b")


# --------------------------------------------------------------------------------------------- normalizers ----

RULES = st.dictionaries(
    st.text("ab日😀 x", min_size=1, max_size=3), st.text("ab日😀 y", max_size=3), min_size=1, max_size=6
).map(lambda rules: {key: value for key, value in rules.items() if key != value})


@given(
    rules=RULES.filter(bool),
    texts=st.lists(st.text("ab日😀 xy", max_size=9), max_size=3),
    flags=st.lists(MAYBE, min_size=3, max_size=3),
)
def test_normalizer_of_rules(rules: dict[str, str], texts: list[str], flags: list[bool | None]) -> None:
    names = ["add_dummy_prefix", "escape_whitespaces", "remove_extra_whitespaces"]
    kwargs = {name: flag for name, flag in zip(names, flags, strict=True) if flag is not None}
    pair = tuple(m.SentencePieceNormalizer(norm_map=list(rules.items()), **kwargs) for m in (spm, reference))
    for with_offsets in (False, True):
        agree(pair, "normalize", texts, with_offsets=with_offsets)
    agree(pair, "decompile")
    assert pair[0].decompile() == sorted(rules.items())
    # Each reads what the other wrote.
    crossed = (
        spm.SentencePieceNormalizer(model_proto=pair[1].serialized_model_proto()),
        reference.SentencePieceNormalizer(normalizer_spec=pair[0].serialized_normalizer_spec()),
    )
    agree(crossed, "normalize", texts)
    agree((pickle.loads(pickle.dumps(pair[0])), pair[1]), "normalize", texts)


@pytest.mark.parametrize("kwargs", [
    {}, {"model_file": "/missing"}, {"model_proto": b"x"}, {"rule_name": "nonsense"}, {"rule_tsv": "/missing"},
    {"normalizer_spec": b"\n"}, {"norm_map": {"a": "b"}}, {"norm_map": [("a",)]}, {"norm_map": [(1, 2)]},
    {"norm_map": 5}, {"norm_map": [("a", "a")]}, {"norm_map": [("", "a")]}, {"norm_map": [(b"\xff", b"a")]},
    {"norm_map": [("a", "b"), (b"a", b"c")]},
], ids=repr)  # fmt: skip
def test_normalizers_that_are_refused(kwargs: dict[str, Any]) -> None:
    ours, theirs = (outcome(lambda m=m: m.SentencePieceNormalizer(**kwargs)) for m in (spm, reference))
    assert isinstance(theirs, Exception) and isinstance(ours, type(theirs))


@pytest.mark.parametrize("name", ["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"])
def test_named_rules(name: str) -> None:
    pair = tuple(m.SentencePieceNormalizer(rule_name=name) for m in (spm, reference))
    agree(pair, "normalize", ["ＡＢＣ　①", "㍻ﾊﾟ\u200b x", "  É  "], with_offsets=True)
    agree(pair, "serialized_normalizer_spec")


def test_rules_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.tsv"
    path.write_text("0041\t0042\t# A\nU+61 62\t\n1F600\t78 79\n", encoding="utf-8")
    pair = tuple(m.SentencePieceNormalizer(rule_tsv=str(path)) for m in (spm, reference))
    agree(pair, "normalize", ["A ab a😀", "aab"])
    agree(pair, "decompile")
    path.write_text("zz\t0042\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"rules\.tsv:1"):
        spm.SentencePieceNormalizer(rule_tsv=str(path))


def test_too_many_rules_that_begin_alike() -> None:
    rules = {"a" * n: "b" for n in range(1, 40)}
    with pytest.raises(RuntimeError):
        charsmaps.compile_rules(rules)
    with pytest.raises(RuntimeError):
        reference.SentencePieceNormalizer(norm_map=list(rules.items()))
    most = dict(list(rules.items())[: charsmaps.KEYS_MAX])
    assert spm.SentencePieceNormalizer(norm_map=list(most.items()), add_dummy_prefix=False).normalize("a" * 31) == "b"
