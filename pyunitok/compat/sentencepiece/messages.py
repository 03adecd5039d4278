"""The protobuf messages of sentencepiece: of encoded text, with strings as bytes or as str, and of models.

In pools of their own, so that sentencepiece may register its own beside us.
"""

from __future__ import annotations

import functools
from typing import Any

from pyunitok.vocab import sentencepiece_proto

# message: {number: (name, type, default)}; "*" after a type: repeated. a.b is a field of a.
Fields = dict[str, dict[int, tuple[str, str, str | None]]]
_PACKAGE = "pyunitok.compat.sentencepiece"
_EXTENSIONS = (200, 1 << 29)
_ENUM_OWNERS = {"ModelProto.SentencePiece": "Type", "TrainerSpec": "ModelType"}


@functools.cache
def text_message(name: str, string: str) -> Any:
    """The class of SentencePieceText or NBestSentencePieceText; string: "bytes", which holds anything, or "string"."""
    return _class_of(name, string)


@functools.cache
def model_message(name: str) -> Any:
    """The class of ModelProto, TrainerSpec or NormalizerSpec, with strings as str."""
    return _class_of(name, "model")


def _text_fields(string: str) -> Fields:
    piece = [("piece", string), ("id", "uint32"), ("surface", string), ("begin", "uint32"), ("end", "uint32")]
    text = [("text", string), ("pieces", "SentencePieceText.SentencePiece*"), ("score", "float")]
    messages = {
        "SentencePieceText": text,
        "SentencePieceText.SentencePiece": piece,
        "NBestSentencePieceText": [("nbests", "SentencePieceText*")],
    }
    return {name: {i: (*field, None) for i, field in enumerate(fields, 1)} for name, fields in messages.items()}


def _model_fields() -> Fields:
    """Those of vocab/sentencepiece_proto.py, but str where sentencepiece has str."""
    renamed = {"SentencePiece": "ModelProto.SentencePiece"}
    ret: Fields = {}
    for message, fields in sentencepiece_proto.FIELDS.items():
        owner = renamed.get(message, message)
        ret[owner] = {}
        for number, (name, type_name, default) in fields.items():
            star = "*" if type_name.endswith("*") else ""
            bare = type_name.rstrip("*")
            if bare == "bytes" and name != "precompiled_charsmap":
                bare = "string"
                default = default and default.replace(r"\342\201\207", "\u2047")
            if bare == _ENUM_OWNERS.get(owner):
                bare = f"{owner}.{bare}"
            ret[owner][number] = (name, renamed.get(bare, bare) + star, default)
    return ret


def _class_of(name: str, kind: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool(kind).FindMessageTypeByName(f"{_PACKAGE}.{kind}.{name}"))


@functools.cache
def _pool(kind: str) -> Any:
    """kind: "model", or for encoded text "bytes" or "string"."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    fields = _model_fields() if kind == "model" else _text_fields(kind)
    package = f"{_PACKAGE}.{kind}"
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    declared: dict[str, Any] = {}
    for message in fields:
        outer, _, inner = message.rpartition(".")
        declared[message] = declared[outer].nested_type.add(name=inner) if outer else file.message_type.add(name=inner)
        if not message.startswith("NBest"):
            declared[message].extension_range.add(start=_EXTENSIONS[0], end=_EXTENSIONS[1])
        if enum_name := _ENUM_OWNERS.get(message):
            enum = declared[message].enum_type.add(name=enum_name)
            for value, number in sentencepiece_proto.ENUMS[enum_name].items():
                enum.value.add(name=value, number=number)
    for message, of_message in fields.items():
        for number, field in of_message.items():
            _add_field(declared[message], package, number, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_field(declared: Any, package: str, number: int, name: str, type_name: str, default: str | None) -> None:
    field = declared.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if type_name.endswith("*") else field.LABEL_OPTIONAL
    type_name = type_name.rstrip("*")
    if not type_name[0].islower():
        field.type = field.TYPE_ENUM if type_name.endswith("Type") else field.TYPE_MESSAGE
        field.type_name = f".{package}.{type_name}"
    else:
        field.type = getattr(field, f"TYPE_{type_name.upper()}")
    if default is not None:
        field.default_value = default
