"""Defines sentencepiece's protobuf messages for models and for encoded text, whose strings can be bytes or str.

The messages have separate descriptor pools, so they do not conflict with sentencepiece's own messages.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyunitok.vocab import sentencepiece_proto

_PACKAGE = "pyunitok.compat.sentencepiece"


@functools.cache
def text_message(name: str, string: str) -> Any:
    """The class SentencePieceText or NBestSentencePieceText. `string` is the type of strings: "bytes" or "string"."""
    return _classes(string)(name)


@functools.cache
def model_message(name: str) -> Any:
    """The class ModelProto, TrainerSpec or NormalizerSpec, with strings as str."""
    return _classes("model")(name)


def _text_fields(string: str) -> sentencepiece_proto.Fields:
    piece = [("piece", string), ("id", "uint32"), ("surface", string), ("begin", "uint32"), ("end", "uint32")]
    text = [("text", string), ("pieces", "SentencePieceText.SentencePiece*"), ("score", "float")]
    messages = {
        "SentencePieceText": text,
        "SentencePieceText.SentencePiece": piece,
        "NBestSentencePieceText": [("nbests", "SentencePieceText*")],
    }
    return {name: {i: (*field, None) for i, field in enumerate(fields, 1)} for name, fields in messages.items()}


def _model_fields() -> sentencepiece_proto.Fields:
    """The fields in vocab/sentencepiece_proto.py, but as in sentencepiece: most `bytes` are `string`."""
    renamed = {"SentencePiece": "ModelProto.SentencePiece"}
    ret: sentencepiece_proto.Fields = {}
    for message, fields in sentencepiece_proto.FIELDS.items():
        owner = renamed.get(message, message)
        ret[owner] = {}
        for number, (name, type_name, default) in fields.items():
            star = "*" if type_name.endswith("*") else ""
            bare = type_name.rstrip("*")
            if bare == "bytes" and name != "precompiled_charsmap":
                bare = "string"
                default = default and default.replace(r"\342\201\207", "\u2047")
            ret[owner][number] = (name, renamed.get(bare, bare) + star, default)
    return ret


@functools.cache
def _classes(kind: str) -> Callable[[str], Any]:
    """The function that returns a class by name. kind: "model" for models; for encoded text the type of strings,
    "bytes" or "string"."""
    fields = _model_fields() if kind == "model" else _text_fields(kind)
    return sentencepiece_proto.classes(f"{_PACKAGE}.{kind}", fields, closed=("NBestSentencePieceText",))
