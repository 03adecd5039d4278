"""Adds CamelCase aliases of methods: encode_as_ids can also be called as EncodeAsIds."""

from __future__ import annotations

from typing import TypeVar

_Class = TypeVar("_Class", bound=type)
_SNAKE_ONLY = {"unk_id", "bos_id", "eos_id", "pad_id", "piece_size", "vocab_size", "from_file", "from_proto"}
_SNAKE_ONLY |= {"serialized_model_proto", "serialized_normalizer_spec"}


def camel_case(name: str) -> str:
    return "".join("NBest" if word == "nbest" else word.capitalize() for word in name.split("_"))


def in_both_spellings(class_: _Class) -> _Class:
    """A class decorator that adds CamelCase aliases of the methods defined in the class."""
    for name, value in list(vars(class_).items()):
        if not name.startswith("_") and name[0].islower() and name not in _SNAKE_ONLY:
            setattr(class_, camel_case(name), value)
    return class_
