"""SentencePieceNormalizer normalizes texts by the rules of a model or a NormalizerSpec, or by a list of rules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyunitok._c import text as c_text
from pyunitok.compat.sentencepiece import arguments
from pyunitok.compat.sentencepiece.errors import FileError, ModelError, read_file
from pyunitok.compat.sentencepiece.spelling import in_both_spellings
from pyunitok.compat.sentencepiece.text import normalized_as
from pyunitok.errors import VocabularyError
from pyunitok.vocab import sentencepiece_proto
from pyunitok.vocab.charsmap import compile_rules, decompile, named, parse_rules
from pyunitok.vocab.sentencepiece import read_normalization

_data_dir: Path | None = None


@in_both_spellings
class SentencePieceNormalizer:
    """Pass one of these arguments. The Boolean arguments override the flags of a model or spec.

    model_file
    model_proto, normalizer_spec  messages or serialized messages
    rule_tsv   a file of lines SOURCE<tab>REPLACEMENT, both as hexadecimal code points
    rule_name  "identity", or the name of compiled rules: see set_data_dir
    norm_map   a list of (source, replacement), both str or bytes
    """

    def __init__(
        self, model_file: Any = None, model_proto: Any = None, normalizer_spec: Any = None, rule_tsv: Any = None,
        rule_name: Any = None, norm_map: Any = None, add_dummy_prefix: bool | None = None,
        escape_whitespaces: bool | None = None, remove_extra_whitespaces: bool | None = None,
    ) -> None:  # fmt: skip
        if model_file:
            spec = _parse("ModelProto", read_file(model_file)).normalizer_spec
        elif model_proto:
            spec = _parse("ModelProto", _serialized(model_proto)).normalizer_spec
        elif normalizer_spec:
            spec = _parse("NormalizerSpec", _serialized(normalizer_spec))
        elif rule_tsv:
            spec = _new_spec(compile_rules(parse_rules(read_file(rule_tsv), str(Path(rule_tsv)))))
            spec.name, spec.normalization_rule_tsv = b"user_defined", os.fsencode(rule_tsv)
        elif rule_name:
            spec = _named(rule_name)
        elif norm_map:
            spec = _new_spec(compile_rules(_rules_of(norm_map)))
        else:
            raise ValueError("no model is specified")
        flags = {
            "add_dummy_prefix": add_dummy_prefix, "escape_whitespaces": escape_whitespaces,
            "remove_extra_whitespaces": remove_extra_whitespaces,
        }  # fmt: skip
        for name, value in flags.items():
            if value is not None:
                setattr(spec, name, bool(value))
        self._load(spec)

    def _load(self, spec: Any) -> None:
        try:
            rules = read_normalization(spec, "the normalizer")
        except VocabularyError as error:
            raise ModelError(str(error)) from None
        self._spec = spec
        self._normalizer = c_text.Normalizer(rules.charsmap, [], rules.flags)

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """See SentencePieceProcessor.normalize."""

        def with_list(data: bytes) -> tuple[bytes, list[int]]:
            normalized, offsets = self._normalizer.normalize_with_offsets(data)
            return normalized, offsets.tolist()

        def normalize(value: Any) -> Any:
            return normalized_as(
                value, arguments.text_of(value), with_list if with_offsets else self._normalizer.normalize
            )

        return [normalize(item) for item in input] if isinstance(input, list) else normalize(input)

    def decompile(self) -> list[tuple[str, str]]:
        """The rules, as a list of (source, replacement). Raises RuntimeError if there are none."""
        return decompile(self._spec.precompiled_charsmap)

    def serialized_normalizer_spec(self) -> bytes:
        """The serialized NormalizerSpec."""
        data: bytes = self._spec.SerializeToString()
        return data

    def serialized_model_proto(self) -> bytes:
        """A serialized ModelProto that contains only the NormalizerSpec."""
        proto = sentencepiece_proto.message("ModelProto")()
        proto.normalizer_spec.CopyFrom(self._spec)
        data: bytes = proto.SerializeToString()
        return data

    def __getstate__(self) -> bytes:
        return self.serialized_model_proto()

    def __setstate__(self, state: bytes) -> None:
        self._load(_parse("ModelProto", state).normalizer_spec)


def _serialized(message: Any) -> bytes:
    data = message.SerializeToString() if hasattr(message, "SerializeToString") else message
    if not isinstance(data, bytes):
        raise TypeError(f"expected a protobuf message or bytes, not {type(message).__name__}")
    return data


def _parse(name: str, data: bytes) -> Any:
    try:
        return sentencepiece_proto.parse(name, data)
    except ValueError as error:
        raise ModelError(f"invalid {name}: {error}") from None


def _new_spec(charsmap: bytes) -> Any:
    spec = sentencepiece_proto.message("NormalizerSpec")()
    spec.precompiled_charsmap = charsmap
    return spec


def _named(name: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"rule_name must be str, not {type(name).__name__}")
    spec = _new_spec(b"" if name == "identity" else _charsmap_of(name))
    spec.name = name.encode()
    return spec


def _charsmap_of(name: str) -> bytes:
    """The compiled rules that have this name; see charsmap.named."""
    rules = named(name, _data_dir)
    if rules is None:
        where = "" if _data_dir is None else f"{_data_dir}/"
        raise FileError(f"{where}{name}.bin: no such rules; pass the folder that contains them to set_data_dir")
    return rules


def set_data_dir(data_dir: Any) -> None:
    """Set the folder of the compiled rules: nfkc.bin, nmt_nfkc.bin, nfkc_cf.bin, nmt_nfkc_cf.bin."""
    global _data_dir
    _data_dir = Path(os.fsdecode(data_dir))


def data_dir() -> Path | None:
    """The folder set by set_data_dir, or None."""
    return _data_dir


def _rules_of(norm_map: Any) -> dict[str, str]:
    """{source: replacement}. Raises ValueError for a duplicate source or invalid UTF-8, TypeError if an item is not a
    pair of str or bytes."""
    ret: dict[str, str] = {}
    if not arguments.is_sequence(norm_map) or isinstance(norm_map, dict):
        raise TypeError("norm_map must be a list of pairs")
    for pair in norm_map:
        if not arguments.is_sequence(pair) or len(pair) != 2 or not all(isinstance(x, str | bytes) for x in pair):
            raise TypeError("norm_map must be a list of pairs of str or bytes")
        key, value = (item.decode() if isinstance(item, bytes) else item for item in pair)
        if key in ret:
            raise ValueError(f"Duplicate source string in map: {key!r}")
        ret[key] = value
    return ret
