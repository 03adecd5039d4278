"""The options of spm_train 0.2.3: a TrainerSpec and two NormalizerSpecs, filled from strings.

Only options that were given are set, so that a model contains the same messages as sentencepiece's.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyunitok.errors import TrainingOptionError
from pyunitok.vocab import sentencepiece_proto

RETIRED = {
    "accept_language", "self_test_sample_size", "mining_sentence_size", "training_sentence_size",
    "train_extremely_large_corpus", "enable_differential_privacy", "differential_privacy_noise_level",
    "differential_privacy_clipping_threshold",
}  # fmt: skip


class ModelType(NamedTuple):
    """A model_type of spm_train, whose number is its position in MODEL_TYPES, from 1.

    is_subword     pieces are parts of words, and options specify where words are cut
    has_scores     EM chooses the pieces, which requires sorted units
    has_merges     each piece is merged from two others
    is_word        units are words, whatever their characters
    ignores_limit  hard_vocab_limit has no effect
    """

    name: str
    is_subword: bool = False
    has_scores: bool = False
    has_merges: bool = False
    is_word: bool = False
    ignores_limit: bool = False


MODEL_TYPES = (
    ModelType("unigram", is_subword=True, has_scores=True), ModelType("bpe", is_subword=True, has_merges=True),
    ModelType("word", is_word=True), ModelType("char", ignores_limit=True),
)  # fmt: skip
# Options of spm_train that have a different name in the command and in train().
ELSEWHERE = {
    "input": "IN", "model_prefix": "--out", "model_type": "the kind of model", "vocab_size": "--vocab-size",
    "num_threads": "--threads",
}  # fmt: skip
_NORMALIZER_KEYS = {
    "normalization_rule_name", "name", "normalization_rule_tsv", "add_dummy_prefix", "escape_whitespaces",
    "remove_extra_whitespaces", "precompiled_charsmap",
}  # fmt: skip
_HIDE = str.maketrans("\n\r", "\ud800\ud801")  # because csv.reader takes a single line
_SHOW = str.maketrans("\ud800\ud801", "\n\r")
_TRUE, _FALSE = {"true", "t", "yes", "y", "1", ""}, {"false", "f", "no", "n", "0"}
_TYPES = {
    message: {name: type_name for name, type_name, _ in fields.values()}
    for message, fields in sentencepiece_proto.FIELDS.items()
}


def _new(message: str) -> Callable[[], Any]:
    return lambda: sentencepiece_proto.message(message)()


@dataclass
class Specs:
    """The options of a training run, as messages of vocab/sentencepiece_proto.py, whose strings are bytes."""

    trainer: Any = field(default_factory=_new("TrainerSpec"))
    normalizer: Any = field(default_factory=_new("NormalizerSpec"))
    denormalizer: Any = field(default_factory=_new("NormalizerSpec"))

    @property
    def kind(self) -> ModelType:
        return MODEL_TYPES[self.trainer.model_type - 1]

    @classmethod
    def parse(cls, values: Mapping[str, Any], normalizer_spec: bytes | None = None) -> Specs:
        """Make the specs from options. values: spm_train's name -> the value, a str as on its command line or a Python
        value.

        normalizer_spec: a serialized NormalizerSpec that replaces the normalizer's options.
        """
        specs = cls()
        if normalizer_spec is not None:
            if clash := sorted(_NORMALIZER_KEYS & values.keys()):
                raise TrainingOptionError(f"{clash[0]} cannot be combined with a normalizer; set it in the normalizer")
            specs.normalizer.ParseFromString(normalizer_spec)
        for name, value in values.items():
            specs._set(name, value)
        return specs

    def _set(self, name: str, value: Any) -> None:
        if name == "normalization_rule_name":
            self.normalizer.name = _bytes(value)
        elif name == "denormalization_rule_tsv":
            spec = self.denormalizer
            spec.normalization_rule_tsv = _bytes(value)
            spec.add_dummy_prefix = spec.remove_extra_whitespaces = spec.escape_whitespaces = False
        elif name in RETIRED:
            warnings.warn(f"{name} is ignored, as in sentencepiece 0.2.3", stacklevel=5)
        elif name in _TYPES["TrainerSpec"]:
            _set_field(self.trainer, name, _TYPES["TrainerSpec"][name], value)
        elif name in _TYPES["NormalizerSpec"]:
            _set_field(self.normalizer, name, _TYPES["NormalizerSpec"][name], value)
        else:
            raise TrainingOptionError(f"unknown option {name!r}: spm_train 0.2.3 does not have it")


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise TrainingOptionError unless all names are options of spm_train that --set accepts."""
    known = {"normalization_rule_name", "denormalization_rule_tsv", *RETIRED, *_TYPES["TrainerSpec"]}
    for name in settings:
        if name in ELSEWHERE:
            raise TrainingOptionError(f"--set {name}: use {ELSEWHERE[name]}")
        if name not in known | _TYPES["NormalizerSpec"].keys():
            raise TrainingOptionError(f"--set {name}: not an option of spm_train 0.2.3")


def parse_arguments(line: str) -> dict[str, str]:
    """The options in "--input=x --vocab_size=8000", split at spaces as in sentencepiece. If a name is repeated, its
    first value counts."""
    ret: dict[str, str] = {}
    for word in line.split(" "):
        name, _, value = word.removeprefix("--").partition("=")
        if name:
            ret.setdefault(name, value)
    return ret


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")


def _set_field(message: Any, name: str, type_name: str, value: Any) -> None:
    try:
        if type_name == "bytes*":
            getattr(message, name).extend(_list(value))
        elif type_name == "bytes":
            setattr(message, name, _bytes(value))
        elif type_name == "bool":
            setattr(message, name, _bool(value))
        elif type_name == "ModelType":
            setattr(message, name, sentencepiece_proto.ENUMS["ModelType"][str(value).upper()])
        else:
            setattr(message, name, (float if type_name == "float" else int)(value))
    except (KeyError, ValueError):
        names = " or ".join(kind.name for kind in MODEL_TYPES)
        kind = names if type_name == "ModelType" else type_name.rstrip("0123456789")
        raise TrainingOptionError(f"{name}: {value!r} is not a valid {kind}") from None


def _bool(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(value)
    return text in _TRUE


def _list(value: Any) -> list[bytes]:
    """A list, or comma-separated values in which double quotes protect commas."""
    if isinstance(value, list | tuple):
        return [_bytes(item) for item in value]
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
    (row,) = csv.reader([text.translate(_HIDE)])
    return [_bytes(item.translate(_SHOW)) for item in row]
