"""Reading SentencePiece's .model files: fields, ids, rejected files, and lossless rewriting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracle.bpe import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from toys.sentencepieces import BPE, KINDS, SPACE, load_reference, make, shared_params

from pyunitok import Tokenizer
from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.vocab import rwkv, sentencepiece, sentencepiece_proto

TEXT = (SPACE + b"a", -1.0, NORMAL)


def read(proto: Any) -> sentencepiece.SentencePieceModel:
    return sentencepiece.read(proto.SerializeToString(), "toy.model")


def agree(model: sentencepiece.SentencePieceModel, reference: Any) -> None:
    n = reference.get_piece_size()
    assert len(model.pieces) == n
    ids = [reference.unk_id(), reference.bos_id(), reference.eos_id(), reference.pad_id()]
    assert [model.unk_id, model.bos_id, model.eos_id, model.pad_id] == ids
    assert model.scores.tolist() == [reference.get_score(i) for i in range(n)]
    assert [t == CONTROL for t in model.types] == [reference.is_control(i) for i in range(n)]
    assert [t == UNUSED for t in model.types] == [reference.is_unused(i) for i in range(n)]
    assert [t == BYTE for t in model.types] == [reference.is_byte(i) for i in range(n)]
    assert [t == UNKNOWN for t in model.types] == [reference.is_unknown(i) for i in range(n)]


@pytest.mark.parametrize("path", shared_params())
def test_shared_models(path: Path) -> None:
    data = path.read_bytes()
    assert sentencepiece.looks_like_model(data[:4096])
    model = sentencepiece.read(data, str(path))
    assert model.proto.SerializeToString() == data  # the round trip is byte-identical
    reference = load_reference(data)
    agree(model, reference)
    for id_ in range(0, len(model.pieces), 1 + len(model.pieces) // 1000):
        assert model.pieces[id_].decode() == reference.id_to_piece(id_)


@pytest.mark.parametrize("name", sentencepiece_proto.FIELDS)
def test_field_declarations_match_the_reference(name: str) -> None:
    theirs = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    theirs = {"SentencePiece": theirs.ModelProto.SentencePiece}.get(name) or getattr(theirs, name)
    ours = sentencepiece_proto.message(name)

    def describe(descriptor: Any) -> dict[int, tuple[Any, ...]]:
        ret = {}
        for field in descriptor.fields:
            default = field.default_value
            is_bytes = field.type in (field.TYPE_STRING, field.TYPE_BYTES)
            if field.message_type:
                default = None
            elif isinstance(default, str):
                default = default.encode()
            kind = field.TYPE_BYTES if is_bytes else field.type
            ret[field.number] = (field.name, kind, str(default), field.GetOptions().packed)
        return ret

    assert describe(ours.DESCRIPTOR) == describe(theirs.DESCRIPTOR)
    assert ours.DESCRIPTOR.extension_ranges == theirs.DESCRIPTOR.extension_ranges


def test_unknown_fields_are_kept() -> None:
    data = make([TEXT]).SerializeToString()
    old_self_test = b"\x22\x0a\x0a\x08\x0a\x01a\x12\x03\xe2\x96\x81"  # field 4 of old files
    extension = b"\xc2\x0c\x05hello"  # field 200
    proto = sentencepiece.read(data + old_self_test + extension, "toy.model").proto
    proto.trainer_spec.vocab_size = 77
    written = proto.SerializeToString()
    assert old_self_test in written
    assert extension in written
    assert sentencepiece.read(written, "toy.model").proto.trainer_spec.vocab_size == 77


def test_pieces_with_invalid_utf8() -> None:
    model = read(make([(b"\xe2\x96", -2.0, NORMAL), (b"\xff", -1.5, USER_DEFINED), TEXT]))
    assert model.pieces[3:] == [b"\xe2\x96", b"\xff", SPACE + b"a"]
    assert model.scores[3:].tolist() == [-2.0, -1.5, -1.0]


REFUSED = [
    ("the piece is empty", make([TEXT, (b"", 0.0, NORMAL)])),
    ("contains a NUL", make([TEXT, (b"a\0", 0.0, NORMAL)])),
    ("contains a NUL", make([TEXT, (b"\0", 0.0, NORMAL)])),
    ("duplicate of piece 3", make([TEXT, TEXT])),
    ("duplicate of piece 1", make([TEXT, (b"<s>", 0.0, CONTROL)])),
    ("duplicate of piece 1", make([TEXT, (b"<s>", 0.0, NORMAL)], model_type=BPE)),
    ("piece 0 is already the unknown piece", make([TEXT, (b"<unk2>", 0.0, UNKNOWN)])),
    ("neither an unknown piece nor byte_fallback", make([TEXT], usual=False)),
    ("require byte_fallback", make([TEXT, (b"<0x00>", 0.0, BYTE)])),
    ("byte pieces must be <0x00> to <0xFF>", make([TEXT, (b"<0x0a>", 0.0, BYTE)], byte_fallback=True)),
    ("score is nan", make([(b"a", float("nan"), NORMAL)])),
    ("score is inf", make([(b"<c>", float("inf"), CONTROL), TEXT])),
    ("the piece has 8000 bytes; the maximum is 7999", make([TEXT, (b"a" * 8000, 0.0, NORMAL)])),
    ("no piece can match", make([])),
]


@pytest.mark.parametrize(("problem", "proto"), REFUSED)
def test_refused(problem: str, proto: Any) -> None:
    with pytest.raises(VocabularyError, match=rf"toy\.model: .*{problem}"):
        read(proto)
    assert load_reference(proto.SerializeToString()) is None


def test_missing_byte_pieces_are_named() -> None:
    proto = make([TEXT], byte_fallback=True)
    del proto.pieces[3 + 0x41]
    with pytest.raises(VocabularyError, match="<0x41> is missing"):
        read(proto)
    assert load_reference(proto.SerializeToString()) is None


@pytest.mark.parametrize("piece", [(b"<s>", 0.0, NORMAL), (b"a" * 7999, 0.0, NORMAL), (b"\0", 0.0, UNUSED)])
def test_unusual_pieces_load_as_in_the_reference(piece: tuple[bytes, float, int]) -> None:
    proto = make([TEXT, piece])
    agree(read(proto), load_reference(proto.SerializeToString()))


def test_a_nul_piece_is_unused_with_byte_fallback() -> None:
    proto = make([TEXT, (b"\0", -3.0, NORMAL)], byte_fallback=True)
    model = read(proto)
    assert model.types[-1] == UNUSED
    agree(model, load_reference(proto.SerializeToString()))
    assert model.proto.SerializeToString() == proto.SerializeToString()


PIECES = st.sampled_from([b"<unk>", b"<s>", b"</s>", b"<pad>", b"a", b"b", b"\0", b"<0x00>", b"<0xff>", b"\xff", b""])
TYPES = st.sampled_from([NORMAL, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE])
SCORES = st.sampled_from([0.0, -1.0, 1.5, float("nan"), float("-inf")])
NAMES = ["unk_piece", "bos_piece", "eos_piece", "pad_piece"]


@given(
    st.lists(st.tuples(PIECES, SCORES, TYPES), max_size=5), st.sampled_from(list(KINDS.values())),
    st.booleans(), st.booleans(), st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, PIECES)),
)  # fmt: skip
def test_the_reference_accepts_the_same_models(
    pieces: list[tuple[bytes, float, int]], model_type: int, usual: bool, byte_fallback: bool, names: dict[str, bytes]
) -> None:
    proto = make(pieces, usual=usual, model_type=model_type, byte_fallback=byte_fallback, **names)
    reference = load_reference(proto.SerializeToString())
    try:
        model = read(proto)
    except VocabularyError:
        assert reference is None
        return
    assert reference is not None
    if not np.isnan(model.scores).any():
        agree(model, reference)


@given(st.binary(max_size=40), st.integers(0, 100), st.integers(0, 100))
@example(b"", 0, 64)  # an empty file
def test_damaged_bytes(junk: bytes, at: int, n_lost: int) -> None:
    data = make([TEXT]).SerializeToString()
    data = data[:at] + junk + data[at + n_lost :]
    try:
        model = sentencepiece.read(data, "toy.model")
    except (ModelFormatError, VocabularyError):
        assert load_reference(data) is None
        return
    assert load_reference(data) is not None
    assert len(model.pieces) == len(model.proto.pieces)


@pytest.mark.parametrize(
    "head",
    [b"", b"\n", b"\n\n\n\n\n\n\n\n\n\n\n\n\n", b"\n{}", b'\n{"a": 1}', b"{", b"\n  {\n    \"model\": {}\n}",
     b"1 'a' 1\n", b"\x0a", b"\x0a\x05\x0a\x05ab", b"\x89UTK", b"\n\x09text, text"],
)  # fmt: skip
def test_other_heads_are_not_detected(head: bytes) -> None:
    assert not sentencepiece.looks_like_model(head)


def test_detected_from_the_content() -> None:
    long = make([(b"a" * 7000, 0.0, NORMAL)], usual=False).SerializeToString()
    assert sentencepiece.looks_like_model(long[:4096])
    proto = make([TEXT])
    spec_first = sentencepiece_proto.message("ModelProto")()
    spec_first.trainer_spec.CopyFrom(proto.trainer_spec)
    data = spec_first.SerializeToString() + proto.SerializeToString()  # the order of fields is irrelevant
    assert sentencepiece.looks_like_model(data)
    assert not rwkv.looks_like_text(data)
    assert sentencepiece.read(data, "toy.model").pieces == [b"<unk>", b"<s>", b"</s>", SPACE + b"a"]


def field(number: int, body: bytes) -> bytes:
    """A bytes field in protobuf's encoding."""
    tag = number << 3 | 2
    head = [tag & 0x7F | 0x80, tag >> 7] if tag > 0x7F else [tag]
    return bytes([*head, len(body) & 0x7F | 0x80, len(body) >> 7]) + body


BODY = make([TEXT]).SerializeToString()
UNKNOWN_TYPE, NUMBER_9 = b"\x18\x02", b"\x48\x05"
ODD_ORDERS = {
    "normalizer first, with an unknown field (Gemma 4)": field(3, b"\x12\x00" + b"8\x00") + BODY,
    "normalizer first, empty": field(3, b"") + BODY,
    "trainer first": field(2, b"\x18\x01" + field(7, b"tsv")) + BODY,
    "self-test data first, longer than the sniffed bytes": field(4, field(1, b"x" * 6000)) + BODY,
    "extension first": field(200, b"y" * 5000) + BODY,
    "unknown field number first": b"\x30\x07" + BODY,
    "an unknown field in the first piece": field(1, field(1, b"<unk>") + UNKNOWN_TYPE + NUMBER_9) + field(1, b"\n\1a"),
    "an extension in the first piece": field(1, field(201, b"?") + field(1, b"<unk>") + UNKNOWN_TYPE)
    + field(1, b"\n\1a"),
}


@pytest.mark.parametrize("name", ODD_ORDERS)
def test_detected_with_fields_in_any_order(name: str, tmp_path: Path) -> None:
    """Regression: Gemma 4's file, which begins with normalizer_spec and a field unknown to 0.2.3, was rejected."""
    path = tmp_path / "odd.model"
    path.write_bytes(ODD_ORDERS[name])
    reference = load_reference(ODD_ORDERS[name])
    assert Tokenizer.from_file(path).encode("a b").tolist() == reference.encode("a b")


def test_shared_files_of_other_formats(shared: Path) -> None:
    for path in (shared / "models").rglob("*"):
        if path.is_file():
            is_ours = path.parent.name in ("spm", "spm-trained")
            assert sentencepiece.looks_like_model(path.read_bytes()[:4096]) == is_ours, path
