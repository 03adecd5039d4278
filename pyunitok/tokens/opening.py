"""open() memory-maps one token file, or several as one sequence. File sizes are checked, but no tokens are read."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from pyunitok.tokens.array import TokenArray, map_tokens
from pyunitok.tokens.manifest import StrPath
from pyunitok.tokens.model import given_model
from pyunitok.tokens.several import TokenArrays


@overload
def open(path: StrPath, *, dtype: str | np.dtype[Any] | None = None, model: Any = None) -> TokenArray: ...
@overload
def open(
    path: list[Any] | tuple[Any, ...], *, dtype: str | np.dtype[Any] | None = None, model: Any = None
) -> TokenArrays: ...
def open(path: Any, *, dtype: Any = None, model: Any = None) -> TokenArray | TokenArrays:
    """Memory-map a token file, or a list of token files as one sequence of documents.

    path   the path of OUT, with OUT.ends and OUT.json next to it
    dtype  "uint16" or "uint32" for a bare file without a manifest; if it has no OUT.ends, it is a single document
    model  a Tokenizer or the path of a model; used instead of the model that the manifest names

    Raises OutputError if the sidecars do not match the file, or if the path is a URL; MissingFileError (a
    FileNotFoundError) if the file or a sidecar is missing.
    """
    model = given_model(model)
    if isinstance(path, list | tuple):
        return TokenArrays([map_tokens(item, dtype, model) for item in path])
    return map_tokens(path, dtype, model)
