"""Prepares the normalization rules for training, which are given by name, in a file, or in compiled form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyunitok._c import library
from pyunitok._c import text as c_text
from pyunitok.errors import TrainingError, TrainingOptionError, VocabularyError
from pyunitok.train.specs import Specs
from pyunitok.vocab import charsmap
from pyunitok.vocab.sentencepiece import read_normalization

DEFAULT = b"nmt_nfkc"


def complete(specs: Specs, folder: Path | None = None) -> None:
    """Fill in the compiled rules that the specs request. folder: the folder of named rules, see charsmap.named."""
    spec = specs.normalizer
    if spec.normalization_rule_tsv:
        if spec.precompiled_charsmap:
            raise TrainingOptionError("give normalization_rule_tsv or precompiled_charsmap, not both")
        _compile(spec)
    else:
        spec.name = spec.name or DEFAULT
        if not spec.precompiled_charsmap:
            is_identity = spec.name == b"identity"
            spec.precompiled_charsmap = b"" if is_identity else _named(spec.name.decode("utf-8", "replace"), folder)
    if specs.denormalizer.normalization_rule_tsv:
        _compile(specs.denormalizer)


def _compile(spec: Any) -> None:
    path = Path(os.fsdecode(spec.normalization_rule_tsv))
    try:
        spec.precompiled_charsmap = charsmap.compile_rules(charsmap.parse_rules(path.read_bytes(), str(path)))
    except OSError as error:
        raise TrainingError(f"{path}: cannot be read: {error.strerror}") from error
    except (RuntimeError, ValueError) as error:
        raise TrainingError(f"{path}: {error}") from None
    spec.name = b"user_defined"


def _named(name: str, folder: Path | None) -> bytes:
    rules = charsmap.named(name, folder)
    if rules is None:
        names = ", ".join((*charsmap.NAMES, "identity"))
        where = "" if folder is None else f" in {folder}"
        raise TrainingOptionError(
            f"no normalization rules are named {name!r}{where}: choose one of {names}, or give normalization_rule_tsv"
        )
    return rules


def normalizer(specs: Specs) -> c_text.Normalizer:
    """The normalizer for lines. As in sentencepiece's trainer, it also normalizes user-defined symbols."""
    try:
        rules = read_normalization(specs.normalizer, "normalization")
    except VocabularyError as error:
        raise TrainingError(str(error)) from None
    suffix = library.MODEL_FLAGS["whitespace_as_suffix"] * bool(specs.trainer.treat_whitespace_as_suffix)
    return c_text.Normalizer(rules.charsmap, [], rules.flags | suffix)
