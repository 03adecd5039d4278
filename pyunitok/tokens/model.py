"""Finds and checks the model of a token file, which the caller gives or the manifest names."""

from __future__ import annotations

import os
from pathlib import Path

from pyunitok.errors import ModelFormatError, OptionError, VocabularyError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens.manifest import Manifest, StrPath
from pyunitok.vocab import known
from pyunitok.vocab.patterns import ReadOptions

Model = Tokenizer | StrPath | None


def open_model(model: Model) -> Tokenizer:
    """Open a model given as a Tokenizer, a file or a known name; None means the default vocabulary."""
    if isinstance(model, Tokenizer):
        return model
    if model is None:
        return Tokenizer.default()
    if model not in known.NAMES and not is_model_path(Path(model)):
        names = " and ".join(known.NAMES)
        raise ModelFormatError(
            f"the model file {os.fspath(model)!r} does not exist; pass a file or one of the names {names}"
        )
    return Tokenizer.from_file(model)


def is_model_path(path: Path) -> bool:
    """Whether the path is a file or a folder; opening a pipe or a device could block forever."""
    return path.is_file() or path.is_dir()


def open_stated(model: StrPath | None, pattern: str | None) -> Tokenizer:
    """Like open_model, but with a pattern for a model file that does not contain one."""
    if pattern is None:
        return open_model(model)
    if model is None:
        raise OptionError("a pattern requires a model file; name it with -m")
    return Tokenizer.from_file(model, pattern=pattern)


def given_model(model: Model) -> Tokenizer | None:
    """Like open_model, but None means that the caller gave no model."""
    return model if model is None or isinstance(model, Tokenizer) else Tokenizer.from_file(model)


def find_model(manifest: Manifest, name: str) -> Tokenizer:
    """The model that a manifest names. Raises ModelFormatError if the model is missing or has changed."""
    path = manifest.model.get("path")
    if path and is_model_path(Path(path)):
        stated = ReadOptions.from_json(manifest.model.get("read_options"))
        tokenizer = Tokenizer.from_file(path, **stated.to_json())
        check_model(manifest, tokenizer, name)
        return tokenizer
    for label in known.NAMES:  # a known model may have the content of the missing file
        try:
            tokenizer = Tokenizer.default() if label == known.DEFAULT else Tokenizer.from_file(label)
            check_model(manifest, tokenizer, name)
            return tokenizer
        except (ModelFormatError, VocabularyError):
            pass
    gone = path or manifest.model.get("name")
    raise ModelFormatError(f"{name}: its model {gone} is missing; pass it with -m or model=")


def check_model(manifest: Manifest, tokenizer: Tokenizer, name: str) -> None:
    """Raise ModelFormatError unless `tokenizer` has the vocabulary with which the file was made."""
    if tokenizer.sha256 != manifest.model.get("sha256"):
        raise ModelFormatError(
            f"{name} was made with a different vocabulary than {tokenizer.path or tokenizer.name} "
            f"(sha256 {manifest.model.get('sha256')}, not {tokenizer.sha256})"
        )
