"""Opening models: C and protobuf read SentencePiece files identically, and encoders are built on first use."""

from __future__ import annotations

import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.bpe import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from toys.sentencepieces import BPE, KINDS, SPACE, UNIGRAM, make, shared_paths

from pyunitok import Tokenizer
from pyunitok._c import model as c_model
from pyunitok._c.proto import read_proto
from pyunitok.errors import UnitokError, VocabularyError
from pyunitok.vocab import sentencepiece
from pyunitok.vocab.vocabulary import pack

TEXTS = [(SPACE + b"ab", -1.0, NORMAL), (b"a", -2.0, NORMAL), (b"b", -3.0, NORMAL), (SPACE, -4.0, NORMAL)]

names = st.sampled_from([b"<unk>", b"<s>", b"</s>", b"<pad>", b"x", b"y", b"xy", b"", b"\0", b"\xe2\x96", b"<0x41>"])
types = st.sampled_from([NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE])
scores = st.floats(width=32)


def equal(one: Any, other: Any) -> bool:
    (proto, packed, *columns, charsmap), (their_proto, their_packed, *their_columns, their_charsmap) = one, other
    proto.normalizer_spec.precompiled_charsmap = charsmap  # C returns the charsmap separately
    their_proto.normalizer_spec.precompiled_charsmap = their_charsmap
    specs = ("trainer_spec", "normalizer_spec", "denormalizer_spec")
    return all(
        np.array_equal(a, b, equal_nan=a is columns[0])
        for a, b in zip((*packed, *columns), (*their_packed, *their_columns), strict=True)
    ) and all(getattr(proto, spec) == getattr(their_proto, spec) for spec in specs)


def check_alike(data: bytes) -> bool:
    """Return whether C can read the file; if so, assert that protobuf, which checks each piece, reads the same."""
    usual = sentencepiece._read_usual(data, "toy")
    if usual is None:
        return False
    assert equal(usual, sentencepiece._read_any(data, "toy"))
    model = sentencepiece.read(data, "toy")
    quick = (model.unk_id, model.bos_id, model.eos_id, model.pad_id)
    slow = sentencepiece.read(data, "toy")
    assert slow.tables  # builds the tables, which later lookups use
    assert quick == (slow.unk_id, slow.bos_id, slow.eos_id, slow.pad_id)
    return True


@given(
    pieces=st.lists(st.tuples(names, scores, types), max_size=6), usual=st.booleans(),
    kind=st.sampled_from(list(KINDS.values())), fallback=st.booleans(), data=st.data(),
)  # fmt: skip
def test_both_readers_agree(pieces: Any, usual: bool, kind: int, fallback: bool, data: st.DataObject) -> None:
    proto = make(pieces, usual=usual, model_type=kind, byte_fallback=fallback)
    if data.draw(st.booleans()):
        proto.trainer_spec.bos_piece, proto.trainer_spec.unk_piece = data.draw(names), data.draw(names)
    file = bytearray(proto.SerializeToString())
    check_alike(bytes(file))
    for _ in range(data.draw(st.integers(0, 3)) if file else 0):
        file[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    check_alike(bytes(file[: data.draw(st.integers(len(file) // 2, len(file)))]))


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_usual_files_are_read_by_c(kind: int) -> None:
    assert check_alike(make(TEXTS, model_type=kind).SerializeToString())
    assert check_alike(make(TEXTS, model_type=kind, byte_fallback=True).SerializeToString())
    named = make([*TEXTS, (b"<go>", 0.0, CONTROL)], model_type=kind, bos_piece=b"<go>", eos_piece=b"a", unk_piece=b"no")
    assert check_alike(named.SerializeToString())


def test_repeated_and_unknown_fields() -> None:
    twice = b"\x0a\x0a\x0a\x01a\x0a\x01b\x18\x01\x18\x05"
    found = read_proto(twice + b"\xc2\x0c\x01z")
    assert found is not None
    assert (found.pieces.tobytes(), found.types.tolist(), found.rest) == (b"b", [5], b"\xc2\x0c\x01z")
    for unusual in (b"\x0a\x05\x0a\x01a\x20\x01", b"\x0a\x05\x0a\x01a\x18\x07", b"\x08\x01", b"\x02\x00", b"\x0a"):
        assert read_proto(twice + unusual) is None


@pytest.mark.slow
@pytest.mark.parametrize("path", shared_paths(), ids=lambda path: path.stem)
def test_shared_models_are_read_alike(path: Path) -> None:
    check_alike(path.read_bytes())


# --------------------------------------------------------------------------------------------- Lazy encoders ----


def opened(tmp_path: Path, kind: int) -> Tokenizer:
    path = tmp_path / "toy.model"
    path.write_bytes(make(TEXTS, model_type=kind).SerializeToString())
    return Tokenizer.from_file(path)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_names_and_decoding_do_not_need_the_encoder(tmp_path: Path, kind: int) -> None:
    tok = opened(tmp_path, kind)
    for one in (tok, pickle.loads(pickle.dumps(tok))):
        model = one.codec.model
        assert not model.info.is_complete
        found = one.decode([3, 4]), one.id_to_piece(3), one.piece_to_id("b"), one.vocab_size, one.sha256
        assert found[:4] == ("aba", "\u2581ab", 5, 7)
        assert not model.info.is_complete
        ids = one.encode("ab a").tolist()
        assert model.info.is_complete
        assert one.encode_batch(["ab a"])[0].tolist() == ids
        assert model.info.is_complete
        assert (one.decode([3, 4]), one.id_to_piece(3), one.piece_to_id("b"), one.vocab_size, one.sha256) == found
        assert ids == tok.encode("ab a").tolist()


def test_memory_bytes_includes_the_encoder(tmp_path: Path) -> None:
    tok = opened(tmp_path, UNIGRAM)
    n_bytes = tok.memory_bytes
    tok.encode("a")
    assert tok.memory_bytes == n_bytes


def test_splitting_needs_the_encoder(tmp_path: Path) -> None:
    tok, again = opened(tmp_path, UNIGRAM), opened(tmp_path, UNIGRAM)
    again.encode("a")
    text = b"ab ab ab " * 100
    assert tok.codec.split(text) == again.codec.split(text) > 0


def test_several_threads_encode_first(tmp_path: Path) -> None:
    expected = opened(tmp_path, BPE).encode("ab a b").tolist()
    barrier = threading.Barrier(4)

    def encode(tok: Tokenizer) -> list[int]:
        barrier.wait()
        return tok.encode("ab a b").tolist()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            assert list(pool.map(encode, [opened(tmp_path, BPE)] * 4)) == [expected] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="requires os.fork")
def test_a_fork_while_another_thread_completes_a_model(tmp_path: Path) -> None:
    tok = opened(tmp_path, BPE)
    with c_model._completing["lock"]:  # as if another thread held the lock
        child = os.fork()
        if not child:
            os._exit(0 if tok.count("ab") else 1)  # the child has its own lock and does not block
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert tok.count("ab")


@pytest.mark.parametrize("kind", KINDS)
def test_invalid_pieces_are_rejected_when_a_model_is_opened(kind: str) -> None:
    def build(*pieces: bytes, score: float = 0.0) -> Any:
        n, (data, offsets) = len(pieces), pack(pieces)
        types = np.array([UNKNOWN] + [NORMAL] * (n - 1), np.uint8)
        options = {"scores": np.full(n, score), "types": types, "eod_id": None}
        return c_model.Model.new(data, offsets, np.arange(n), kind=kind, **options)

    assert not build(b"?", b"a", b"b").info.is_complete
    with pytest.raises(VocabularyError, match="occurs twice"):
        build(b"?", b"a", b"b", b"a")
    if kind == "unigram":
        with pytest.raises(VocabularyError, match="its score"):
            build(b"?", b"a", score=float("nan"))
        with pytest.raises(UnitokError, match="4096"):
            build(b"?", b"a" * 4097)
