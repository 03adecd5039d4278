"""Fast paths for one text, a few ids or one piece: results and errors equal those of the general paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import models
from toys.sentencepieces import BPE, CONTROL, NORMAL, SPACE, UNIGRAM, USER_DEFINED, WORD, make

from pyunitok import Tokenizer
from pyunitok._c import library
from pyunitok.compat import sentencepiece as spm
from pyunitok.compat.sentencepiece.processor import CurrentProcessor
from pyunitok.vocab import utf8

PIECES = [
    (SPACE, -1.0, NORMAL), (SPACE + b"a", -1.5, NORMAL), (b"a", -2.0, NORMAL), (SPACE * 2, -3.0, NORMAL),
    (b"<go>", 0.0, CONTROL), (b"<user>", 0.0, USER_DEFINED), ("é".encode(), -2.5, NORMAL),
]  # fmt: skip
MODELS = [
    make(PIECES, model_type=kind, byte_fallback=fallback) for kind in (UNIGRAM, BPE, WORD) for fallback in (False, True)
]
PROCESSORS = [spm.SentencePieceProcessor(model_proto=proto) for proto in MODELS]
LONGEST = models.greedy("ab", "é")

ids = st.one_of(st.integers(0, 12), st.integers(0, 280), st.sampled_from([-1, 65535, 65536, 1 << 40]))
odd = st.sampled_from([True, 1.0, np.int64(3), np.float32(1), None, "a", b"a"])


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@given(st.sampled_from([*PROCESSORS, LONGEST]), st.lists(st.one_of(ids, odd), max_size=300))
def test_lists_decode_as_tuples_do(model: Any, items: list[Any]) -> None:
    """Only lists take the fast path; tuples take the general one."""
    tok = model if isinstance(model, Tokenizer) else model._engine.tokenizer
    for errors in ("strict", "replace"):
        short, long = (outcome(lambda p=p, e=errors: tok.decode(p, e)) for p in (items, tuple(items)))
        assert short == long
    if tok is not model:
        assert outcome(lambda: model.decode(items)) == outcome(lambda: model.decode(tuple(items)))
    found = tok.codec.model.decode_few(items)
    if found is not None:
        assert found == tok.decode_bytes(tuple(items))


def test_the_fast_paths_are_taken() -> None:
    assert LONGEST.codec.model.decode_few([256, 97]) == b"aba"
    for processor in PROCESSORS:
        assert processor._engine.text_of([4, 5]) is not None
        assert processor._engine.text_of(["a", "a"]) == "aa"


def test_lists_that_take_the_general_path() -> None:
    model = PROCESSORS[1]._engine.tokenizer.codec.model
    go, first = 263, 3  # the ids of <go> and <0x00>
    assert model.decode_few([first + 0xC3, first + 0xA9]) == "é".encode()
    for left in ([first + 0xC3, go, first + 0xA9], [9999], [-1], [1.0], ["a"], [5] * 1000, [5 << 40]):
        assert model.decode_few(left) is None, left
    assert PROCESSORS[1].decode([first + 0xC3, go, first + 0xA9]) == "\ufffd\ufffd"
    assert PROCESSORS[1].decode([[first + 0xC3, go, first + 0xA9], [go]]) == ["\ufffd\ufffd", ""]


@given(st.sampled_from(PROCESSORS), st.text(st.sampled_from("a \u2581é<usergo>b\ud800\0"), max_size=12))
def test_a_text_encodes_as_in_a_list_of_one(processor: Any, text: str) -> None:
    for kind in (int, str, None):
        one = outcome(lambda kind=kind: processor.encode(text, return_type=kind))
        several = outcome(lambda kind=kind: processor.encode([text], return_type=kind)[0])
        if isinstance(several, tuple):  # encoding a list raises a different error
            assert one[0] is RuntimeError
        else:
            assert one == several
    if "\ud800" not in text:
        tok = processor._engine.tokenizer
        assert tok.codec.encode_list(text.encode()) == tok.encode(text).tolist()


def test_options_have_an_effect() -> None:
    for options in ({"add_bos": True}, {"reverse": True}, {"out_type": str}, {"add_eos": True}):
        processor = spm.SentencePieceProcessor(model_proto=MODELS[0], **options)
        plain = PROCESSORS[0].encode("a a <user>a", **options)
        assert processor.encode("a a <user>a") == plain != PROCESSORS[0].encode("a a <user>a")
    with pytest.raises(ValueError, match="both"):
        PROCESSORS[0].encode("a", return_type=int, out_type=int)
    with pytest.raises(TypeError, match="num_threads"):
        CurrentProcessor(model_proto=MODELS[0], num_threads="1").encode("a")
    processor = spm.SentencePieceProcessor(model_proto=MODELS[0])
    processor.set_encode_extra_options("bos:eos")
    assert processor.encode("a") == [1, 4, 2]
    processor.set_decode_extra_options("reverse")
    assert processor.decode([5, 5, 9]) == "éaa"


@given(st.sampled_from(PROCESSORS), st.one_of(ids, odd), st.lists(st.one_of(ids, odd), max_size=4))
def test_one_id_is_a_sequence_of_one(processor: Any, id_: Any, several: list[Any]) -> None:
    for name in ("id_to_piece", "get_score", "is_unknown", "is_control", "is_unused", "is_byte"):
        method = getattr(processor, name)
        if not isinstance(id_, bool | float | str | bytes | np.generic | None):
            one, listed = outcome(lambda m=method: m(id_)), outcome(lambda m=method: m((id_,)))
            assert one == (listed if isinstance(listed, tuple) else listed[0])
        assert outcome(lambda m=method: m(several)) == outcome(lambda m=method: m(tuple(several)))


names = st.sampled_from(["a", SPACE.decode() + "a", "<unk>", "<go>", "nothing", "", "\ud800", b"a", b"\xff", None, 3])


@given(st.sampled_from(PROCESSORS), names, st.lists(names, max_size=4))
def test_one_piece_is_a_sequence_of_one(processor: Any, piece: Any, several: list[Any]) -> None:
    if piece.__class__ in (str, bytes):
        one, listed = (outcome(lambda p=p: processor.piece_to_id(p)) for p in (piece, (piece,)))
        assert one == (listed if isinstance(listed, tuple) else listed[0])
    assert outcome(lambda: processor.piece_to_id(several)) == outcome(lambda: processor.piece_to_id(tuple(several)))
    assert outcome(lambda: processor.decode(several)) == outcome(lambda: processor.decode(tuple(several)))


@pytest.mark.parametrize("tok", [LONGEST, *(p._engine.tokenizer for p in PROCESSORS)])
def test_repeated_lookups_of_pieces(tok: Tokenizer) -> None:
    pieces = tok.pieces()
    for id_ in (*range(tok.vocab_size), 0, 5):
        piece = pieces[id_].tobytes()
        if piece:
            assert tok.id_to_piece(id_) == tok.id_to_piece(np.int64(id_)) == utf8.shown(piece)
            assert tok.piece_to_id(piece) == tok.codec.model.find(piece) == tok.piece_to_id(piece)
            assert tok.piece_to_id(bytearray(piece)) == tok.piece_to_id(piece)
    for wrong in (-1, tok.vocab_size):
        for _ in range(2):
            with pytest.raises(IndexError):
                tok.id_to_piece(wrong)
    assert tok.piece_to_id("no such piece") is None is tok.piece_to_id(b"")
    assert tok.id_to_token(99999) is None


def test_ids_must_be_integers() -> None:
    assert LONGEST.id_to_piece(97) == "a"
    with pytest.raises(TypeError):
        LONGEST.id_to_piece(97.0)


def test_piece_types() -> None:
    for tok in (LONGEST, PROCESSORS[1]._engine.tokenizer):
        model = tok.codec.model
        one_by_one = [library.lib.unitok_model_piece_type(model.handle, id_) for id_ in range(tok.vocab_size)]
        assert model.piece_types().tolist() == one_by_one
