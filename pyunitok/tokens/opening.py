"""open(): a token file, or several as one; checked by their sizes, mapped into memory, and nothing of them read."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any, overload

import numpy as np

from pyunitok.corpus import compressions, formats
from pyunitok.disk.url import is_url
from pyunitok.errors import MissingFileError, OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import Manifest, StrPath, sidecars
from pyunitok.tokens.model import check_model
from pyunitok.tokens.several import TokenArrays

DTYPES = ("<u2", "<u4")


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
    if model is not None and not isinstance(model, Tokenizer):
        model = Tokenizer.from_file(model)
    if isinstance(path, list | tuple):
        return TokenArrays([_open(item, dtype, model) for item in path])
    return _open(path, dtype, model)


def _open(path: StrPath, dtype: Any, model: Tokenizer | None) -> TokenArray:
    name = os.fspath(path)
    if is_url(name):
        raise OutputError(
            f"{name}: a token file is mapped into memory and must be local: download it with its .ends and .json, "
            "and open that"
        )
    ends_path, manifest_path = sidecars(path)
    if not Path(path).is_file():
        raise MissingFileError(f"{name}: {'not a file' if Path(path).exists() else 'no such token file'}")
    if not manifest_path.exists():
        suffix = Path(name).suffix.lower()
        if formats.by_suffix(suffix) or compressions.by_suffix(suffix) is not compressions.NONE:
            first = f"pyunitok tokenize {shlex.quote(name)} -o ids.u16"
            raise OutputError(f"{name}: text, not tokens; run this first: {first}")
        if dtype is None:
            raise MissingFileError(
                f"{name}: its manifest {manifest_path} is missing; to use the bare ids, "
                "pyunitok.open(..., dtype='uint16')"
            )
        wanted = np.dtype(dtype).str
        if wanted not in DTYPES:
            raise ValueError(f"dtype must be little-endian uint16 or uint32, not {dtype}")
        ids = _map(path, np.dtype(wanted))
        ends = _map(ends_path, np.dtype("<u8")) if ends_path.exists() else np.array([len(ids)], np.uint64)
        return TokenArray(path, ids, ends, None, model)
    manifest = Manifest.read(manifest_path)
    if not ends_path.exists():
        raise MissingFileError(f"{name}: its document ends {ends_path} are missing")
    ids, ends = _map(path, np.dtype(manifest.dtype)), _map(ends_path, np.dtype("<u8"))
    if len(ids) != manifest.tokens or len(ends) != manifest.documents:
        raise OutputError(
            f"{name} holds {len(ids)} tokens and {len(ends)} ends, but its manifest says {manifest.tokens} and "
            f"{manifest.documents}: the token file is incomplete, or its files do not belong together"
        )
    if model is not None:
        check_model(manifest, model, name)
    if len(ends) and int(ends[-1]) != len(ids):
        raise OutputError(f"{ends_path}: the last document ends at {ends[-1]}, not at {len(ids)}")
    return TokenArray(path, ids, ends, manifest, model)


def reopen(path: str, dtype: str | None, model: Tokenizer | None) -> TokenArray:
    """What a pickle of a TokenArray calls."""
    return _open(path, dtype, model)


def _map(path: StrPath, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    size = Path(path).stat().st_size
    if size % dtype.itemsize:
        raise OutputError(f"{os.fspath(path)}: {size} bytes are not a whole number of {dtype.name} items")
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)
