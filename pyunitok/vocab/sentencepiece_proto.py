"""The messages of a SentencePiece model file, as the `protobuf` package needs them: no generated file, no protoc.

Field numbers, types and defaults are those of sentencepiece 0.2.3. What it declares as `string` is `bytes` here: in a
file the two are the same, SentencePiece never checks that its strings are UTF-8, and `protobuf` would refuse those that
are not. The messages live in a descriptor pool of their own, so that sentencepiece may register its own beside us.
Fields that are not named here (extensions, the self-test data of old files, what later versions add) are kept as they
are and written back.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "pyunitok.sentencepiece"

# message: {number: (name, type, default or None)}; "*" after a type: repeated; an enum by its name.
Fields = dict[str, dict[int, tuple[str, str, "str | None"]]]
FIELDS: Fields = {
    "ModelProto": {
        1: ("pieces", "SentencePiece*", None),
        2: ("trainer_spec", "TrainerSpec", None),
        3: ("normalizer_spec", "NormalizerSpec", None),
        5: ("denormalizer_spec", "NormalizerSpec", None),
    },
    "SentencePiece": {
        1: ("piece", "bytes", None),
        2: ("score", "float", None),
        3: ("type", "Type", "NORMAL"),
    },
    "NormalizerSpec": {
        1: ("name", "bytes", None),
        2: ("precompiled_charsmap", "bytes", None),
        3: ("add_dummy_prefix", "bool", "true"),
        4: ("remove_extra_whitespaces", "bool", "true"),
        5: ("escape_whitespaces", "bool", "true"),
        6: ("normalization_rule_tsv", "bytes", None),
    },
    "TrainerSpec": {
        1: ("input", "bytes*", None),
        2: ("model_prefix", "bytes", None),
        3: ("model_type", "ModelType", "UNIGRAM"),
        4: ("vocab_size", "int32", "8000"),
        5: ("accept_language", "bytes*", None),
        6: ("self_test_sample_size", "int32", "0"),
        7: ("input_format", "bytes", None),
        10: ("character_coverage", "float", "0.9995"),
        11: ("input_sentence_size", "uint64", "0"),
        12: ("mining_sentence_size", "int32", None),
        13: ("training_sentence_size", "int32", None),
        14: ("seed_sentencepiece_size", "int32", "1000000"),
        15: ("shrinking_factor", "float", "0.75"),
        16: ("num_threads", "int32", "16"),
        17: ("num_sub_iterations", "int32", "2"),
        18: ("max_sentence_length", "int32", "4192"),
        19: ("shuffle_input_sentence", "bool", "true"),
        20: ("max_sentencepiece_length", "int32", "16"),
        21: ("split_by_unicode_script", "bool", "true"),
        22: ("split_by_whitespace", "bool", "true"),
        23: ("split_by_number", "bool", "true"),
        24: ("treat_whitespace_as_suffix", "bool", "false"),
        25: ("split_digits", "bool", "false"),
        26: ("allow_whitespace_only_pieces", "bool", "false"),
        30: ("control_symbols", "bytes*", None),
        31: ("user_defined_symbols", "bytes*", None),
        32: ("vocabulary_output_piece_score", "bool", "true"),
        33: ("hard_vocab_limit", "bool", "true"),
        34: ("use_all_vocab", "bool", "false"),
        35: ("byte_fallback", "bool", "false"),
        36: ("required_chars", "bytes", None),
        40: ("unk_id", "int32", "0"),
        41: ("bos_id", "int32", "1"),
        42: ("eos_id", "int32", "2"),
        43: ("pad_id", "int32", "-1"),
        44: ("unk_surface", "bytes", r" \342\201\207 "),
        45: ("unk_piece", "bytes", "<unk>"),
        46: ("bos_piece", "bytes", "<s>"),
        47: ("eos_piece", "bytes", "</s>"),
        48: ("pad_piece", "bytes", "<pad>"),
        49: ("train_extremely_large_corpus", "bool", "false"),
        50: ("enable_differential_privacy", "bool", "false"),
        51: ("differential_privacy_noise_level", "float", "0"),
        52: ("differential_privacy_clipping_threshold", "uint64", "0"),
        53: ("pretokenization_delimiter", "bytes", ""),
        54: ("seed_sentencepieces_file", "bytes", ""),
        55: ("auto_character_coverage", "bool", "false"),
    },
}  # fmt: skip
ENUMS = {
    "Type": {"NORMAL": 1, "UNKNOWN": 2, "CONTROL": 3, "USER_DEFINED": 4, "UNUSED": 5, "BYTE": 6},
    "ModelType": {"UNIGRAM": 1, "BPE": 2, "WORD": 3, "CHAR": 4},
}
_EXTENSIONS = (200, 1 << 29)


@functools.cache
def message(name: str) -> Any:
    """The class of a message of FIELDS."""
    return _classes()(name)


@functools.cache
def _classes() -> Callable[[str], Any]:
    return classes(PACKAGE, FIELDS)


def classes(package: str, fields: Fields, *, closed: tuple[str, ...] = ()) -> Callable[[str], Any]:
    """From the name of a message to its class, in a descriptor pool of their own.

    package: where the messages are; A.B is a message within A. An enum of ENUMS belongs to the message with a field of
    that type. closed: the messages that have no extensions.
    """
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    declared: dict[str, Any] = {}
    for name, of_message in fields.items():
        outer, _, inner = name.rpartition(".")
        declared[name] = declared[outer].nested_type.add(name=inner) if outer else file.message_type.add(name=inner)
        if name not in closed:
            declared[name].extension_range.add(start=_EXTENSIONS[0], end=_EXTENSIONS[1])
        for number, field in of_message.items():
            _add_field(declared[name], f"{package}.{name}", package, number, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))


def _add_field(
    declared: Any, owner: str, package: str, number: int, name: str, type_name: str, default: str | None
) -> None:
    field = declared.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if type_name.endswith("*") else field.LABEL_OPTIONAL
    type_name = type_name.rstrip("*")
    if type_name in ENUMS:
        field.type, field.type_name = field.TYPE_ENUM, f".{owner}.{type_name}"
        enum = declared.enum_type.add(name=type_name)
        for value, value_number in ENUMS[type_name].items():
            enum.value.add(name=value, number=value_number)
    elif type_name[0].isupper():
        field.type, field.type_name = field.TYPE_MESSAGE, f".{package}.{type_name}"
    else:
        field.type = getattr(field, f"TYPE_{type_name.upper()}")
    if default is not None:
        field.default_value = default


# ---------------------------------------------------------------------------------------------- Recognition ----

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE_TYPES = {"float": _FIXED32, "bool": _VARINT, "int32": _VARINT, "uint64": _VARINT}
_WALKED_MAX = 10_000  # fields of a file before its first piece
# How nearly all files begin: a field of 14 bytes, the piece <unk> with a score and a type.
_USUAL_START = re.compile(rb"\x0a\x0e\x0a\x05<unk>\x15.{4}\x18[\0-\x7f]", re.DOTALL)


def looks_like_model(data: bytes) -> bool:
    """Whether these bytes, a file or its beginning, may be a ModelProto. The format has no magic number.

    The fields of the file are walked up to the first piece, in any order: those that are known must have their wire
    type and contain a message of theirs, others (extensions, fields of later versions) must be well-formed, and the
    piece must have a text. No text or JSON passes: its bytes would have to be tags and lengths that fit.
    """
    if _USUAL_START.match(data):
        return True
    at = 0
    for _ in range(_WALKED_MAX):
        if at >= len(data):
            return False
        number, wire_type, begin = _read_tag(data, at)
        name = FIELDS["ModelProto"].get(number, ("", "", None))[1].rstrip("*")
        at = _skip_value(data, begin, wire_type)
        if number == 0 or (name and wire_type != _BYTES):
            return False
        if name:
            n_bytes, begin = _read_varint(data, begin)
            numbers = _numbers_in(data[begin:at], name, n_bytes)
            if numbers is None:
                return False
            if name == "SentencePiece":
                return 1 in numbers
    return False


def _numbers_in(data: bytes, name: str, n_bytes: int) -> set[int] | None:
    """The numbers of the fields in `data`, the first of `n_bytes` bytes; None if it is not a message of this name."""
    at, found = 0, set()
    while at < len(data):
        number, wire_type, at = _read_tag(data, at)
        type_name = FIELDS[name].get(number, ("", "", None))[1].rstrip("*")
        if number == 0 or (type_name and wire_type != _wire_type(type_name)):
            return None
        at = _skip_value(data, at, wire_type)
        found.add(number)
    return found if at <= n_bytes else None


def _wire_type(type_name: str) -> int:
    return _VARINT if type_name in ENUMS else _WIRE_TYPES.get(type_name, _BYTES)


def _skip_value(data: bytes, at: int, wire_type: int) -> int:
    """Where the value ends; far after the data for other wire types, groups among them: no model has these."""
    if wire_type == _VARINT:
        return _read_varint(data, at)[1]
    if wire_type == _BYTES:
        n_bytes, at = _read_varint(data, at)
        return at + n_bytes
    return at + {_FIXED32: 4, _FIXED64: 8}.get(wire_type, 1 << 64)


def _read_tag(data: bytes, at: int) -> tuple[int, int, int]:
    """(field number, wire type, where the value begins)."""
    tag, at = _read_varint(data, at)
    return tag >> 3, tag & 7, at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at] if at < len(data) else 0
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            break
    return value, at
