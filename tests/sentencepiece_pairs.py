"""Loads models with pyunitok.compat.sentencepiece and with sentencepiece; agree() calls and compares both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from toys.sentencepieces import CONTROL, KINDS, NORMAL, UNUSED, USER_DEFINED, charsmap, make

import pyunitok.compat.sentencepiece as spm

reference = pytest.importorskip("sentencepiece")

WORDS = st.sampled_from(
    ["a", "ab", " ", "  ", "ba ", "▁", "é", "日", "😀", "Z", "<s>", "<unk>", "ｘ", "\n", "u!", "</s>"]
)
STRINGS = st.lists(WORDS, max_size=12).map("".join)
BYTES = st.lists(st.one_of(WORDS.map(str.encode), st.binary(max_size=2)), max_size=8).map(b"".join)
TEXTS = st.one_of(STRINGS, BYTES)
INPUTS = st.one_of(TEXTS, st.lists(STRINGS, max_size=4), st.lists(TEXTS, max_size=4))
MAYBE = st.sampled_from([None, None, False, True])


def toy_proto(kind: str, **trainer: Any) -> Any:
    """A model with pieces of all types and with normalization rules."""
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
    """A comparable form of a value: messages as their bytes, arrays as their type and items."""
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
