"""Find and check the model of a token file, which the caller gives or the manifest names."""

from __future__ import annotations

import os
from pathlib import Path

from pyunitok.errors import ModelFormatError, VocabularyError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens.manifest import Manifest, StrPath
from pyunitok.vocab import known

Model = Tokenizer | StrPath | None


def open_model(model: Model) -> Tokenizer:
    """Open a model given as a Tokenizer, a file or a known name; None means the default vocabulary."""
    if isinstance(model, Tokenizer):
        return model
    if model is None:
        return Tokenizer.default()
    if model not in known.NAMES and not Path(model).is_file():
        names = " and ".join(known.NAMES)
        raise ModelFormatError(
            f"the model file {os.fspath(model)!r} does not exist; pass a file or one of the names {names}"
        )
    return Tokenizer.from_file(model)


def given_model(model: Model) -> Tokenizer | None:
    """Like open_model, but None means that the caller gave no model."""
    return model if model is None or isinstance(model, Tokenizer) else Tokenizer.from_file(model)


def find_model(manifest: Manifest, name: str) -> Tokenizer:
    """The model that a manifest names; ModelFormatError if it is missing or has changed."""
    path = manifest.model.get("path")
    if path and Path(path).is_file():  # opening a pipe or a device could block forever
        tokenizer = Tokenizer.from_file(path)
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
    raise ModelFormatError(f"{name}: its model {gone} is missing; give it with -m or model=")


def check_model(manifest: Manifest, tokenizer: Tokenizer, name: str) -> None:
    """ModelFormatError unless `tokenizer` has the vocabulary with which the file was made."""
    if tokenizer.sha256 != manifest.model.get("sha256"):
        raise ModelFormatError(
            f"{name} was made with a different vocabulary than {tokenizer.path or tokenizer.name} "
            f"(sha256 {manifest.model.get('sha256')}, not {tokenizer.sha256})"
        )
