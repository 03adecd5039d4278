"""pyunitok.compat.sentencepiece compared with sentencepiece 0.2.3: results and exceptions of every method."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece_pairs import INPUTS, KINDS, MAYBE, PAIRS, TOYS, WORDS, agree, outcome, reference, toy_proto
from toys import models as toy_models
from toys.sentencepieces import shared_params

import pyunitok.compat.sentencepiece as spm
from pyunitok.compat.sentencepiece import sentencepiece_model_pb2, sentencepiece_pb2

ODD = [None, 5, 3.0, "\ud800", bytearray(b"ab"), memoryview(b"ab"), ("a",), ["a", 5], [b"a", "b"], {"a": 1}, True]
FLAGS = ["add_bos", "add_eos", "reverse", "emit_unk_piece"]
TEXT_TYPES = [int, str, bytes, "numpy", "serialized_proto", "proto", "offset_mapping", "immutable_proto", "nonsense"]


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
    input_ = data.draw(st.one_of(sequences, one, arrays, st.lists(sequences, max_size=3), st.lists(arrays, max_size=3)))
    kwargs = {"return_type": data.draw(st.sampled_from([None, str, *TEXT_TYPES]))}
    if data.draw(st.integers(0, 3)) == 0:
        kwargs["return_bytes"] = data.draw(st.booleans())
    agree(PAIRS[name], data.draw(st.sampled_from(["decode", "DecodeIds", "decode_pieces"])), input_, **kwargs)


@pytest.mark.parametrize("name", PAIRS)
@given(data=st.data())
def test_nbest_and_parallel(name: str, data: Any) -> None:
    kwargs = {**data.draw(flags_of()), "return_type": data.draw(st.sampled_from(TEXT_TYPES))}
    n = data.draw(st.sampled_from([None, -1, 0, 1, 2, 3, 10, 513]))
    method = data.draw(st.sampled_from(["nbest_encode", "NBestEncode"]))
    agree(PAIRS[name], method, data.draw(INPUTS), nbest_size=n, **kwargs)
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
           np.array(1), np.array([2**63], np.uint64), np.array([True]), [1.0], ["a"], "a", 3.0, None, {1: 2},
           bytearray(b"\1"), memoryview(b"\1"), [[1]]]  # fmt: skip
    for method in ["id_to_piece", "get_score", "is_unknown", "is_control", "is_unused", "is_byte", "IsByte",
                   "IdToPiece"]:  # fmt: skip
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


@pytest.mark.parametrize("name", ["set_min_log_level", "SetNBestTimeout"])
def test_settings_accept_the_same_arguments(name: str) -> None:
    for module in (spm, reference):
        assert getattr(module, name)(0) is None
        with pytest.raises(TypeError):
            getattr(module, name)("a")


def test_every_public_name_exists() -> None:
    absent = {"ConvertToFlatbuffer", "convert_to_flatbuffer"}
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
        "DecodeIdsAsSerializedProto", "DecodePiecesAsImmutableProto", "set_vocabulary",
        "nbest_encode_as_immutable_proto",
    ]  # fmt: skip
    assert [name for name in earlier if not hasattr(spm.SentencePieceProcessor, name)] == []


@pytest.mark.parametrize(
    "method", sorted(n for n in dir(reference.SentencePieceProcessor) if "Encode" in n or "encode" in n)
)
def test_every_encode_method(method: str) -> None:
    kwargs = {"chunk_len": 100} if "arallel" in method else {}
    pair = PAIRS["unigram-1"]
    if "ample" in method:  # the result is random; test_compat_earlier.py tests samples
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


@pytest.mark.parametrize("path", shared_params())
def test_shared_models(path: Path) -> None:
    pair = spm.SentencePieceProcessor(model_file=str(path)), reference.SentencePieceProcessor(model_file=str(path))
    texts = ["Hello world, this is a ｔｅｓｔ.  Ünïcode 日本語のテキスト 😀 <unk> </s>\n\ttabs"]
    texts += ["", "清水寺は京都にある。", "▁▁ x"]
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
    """An unknown word becomes byte pieces, three of which spell its ▁."""
    for text in ["aa", "日aa ab aa", "aa " * 3]:
        agree(PAIRS["word-1"], "encode", text, return_type="serialized_proto")


def test_protos_of_words_with_spaces_as_suffixes() -> None:
    """Words still begin with a space, and the last byte piece of a word has the surface of the word."""
    data = toy_proto("word", byte_fallback=True, treat_whitespace_as_suffix=True).SerializeToString()
    pair = tuple(m.SentencePieceProcessor(model_proto=data) for m in (spm, reference))
    for letters in itertools.product("a\u00e9 ", repeat=4):
        agree(pair, "encode", "".join(letters), return_type="serialized_proto")


def test_documents_with_more_ids_than_bytes() -> None:
    """With byte fallback, documents have more ids than bytes, because each document begins with the bytes of ▁."""
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


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "broken.model").write_bytes(b"no model")
    for kwargs in [
        {"model_file": str(tmp_path / "missing")}, {"model_file": str(tmp_path)}, {"model_proto": b"no model"},
        {"model_file": str(tmp_path / "broken.model")}, {"model_proto": "text"},
        {"model_file": "a", "model_proto": b"b"},
    ]:  # fmt: skip
        ours, theirs = (outcome(lambda m=m: m.SentencePieceProcessor(**kwargs)) for m in (spm, reference))  # noqa: B023
        assert isinstance(theirs, Exception) and isinstance(ours, type(theirs)), kwargs
    with pytest.raises(OSError, match="missing"):  # as in sentencepiece up to 0.2.1
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


def test_message_declarations_match_the_reference() -> None:
    def describe(descriptor: Any) -> Any:
        fields = {f.number: (f.name, f.type, None if f.message_type else f.default_value) for f in descriptor.fields}
        nested = {name: describe(message) for name, message in descriptor.nested_types_by_name.items()}
        enums = {name: dict(e.values_by_name.items()).keys() for name, e in descriptor.enum_types_by_name.items()}
        return fields, nested, enums, descriptor.extension_ranges

    from sentencepiece import sentencepiece_model_pb2 as their_models
    from sentencepiece import sentencepiece_pb2 as their_texts

    for ours, theirs, names in [
        (sentencepiece_model_pb2, their_models, ["ModelProto", "TrainerSpec", "NormalizerSpec"]),
        (sentencepiece_pb2, their_texts, ["SentencePieceText", "NBestSentencePieceText"]),
    ]:
        for name in names:
            assert describe(getattr(ours, name).DESCRIPTOR) == describe(getattr(theirs, name).DESCRIPTOR)
