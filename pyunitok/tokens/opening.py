"""open(): a token file, or several as one; checked by their sizes, mapped into memory, and nothing of them read."""

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
    """Open a token file by memory-mapping; or several, given as a list, as one sequence of documents.

    path   of OUT; OUT.ends and OUT.json must lie beside it
    dtype  of a bare file without a manifest ("uint16", "uint32"); without .ends it counts as one document
    model  a Tokenizer or the path of its file, instead of the one that the manifest names

    OutputError if the sidecars do not fit the file, or for a URL; MissingFileError (a FileNotFoundError) if the file or
    a sidecar is not there.
    """
    model = given_model(model)
    if isinstance(path, list | tuple):
        return TokenArrays([map_tokens(item, dtype, model) for item in path])
    return map_tokens(path, dtype, model)
