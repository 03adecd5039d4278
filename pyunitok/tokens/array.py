"""The token file: OUT, OUT.ends and OUT.json, and TokenArray, which reads them by memory-mapping.

    OUT        uint16 little-endian, nothing else: numpy.memmap(OUT, dtype="<u2") reads it without this package
    OUT.ends   uint64 little-endian, one a document: its end in tokens, exclusive (the layout of datatrove's .ds.index)
    OUT.json   the manifest: what made the file, and what is needed to turn it back into its inputs

A document's tokens are ids[ends[i - 1]:ends[i]], the eod id (if the manifest has one) last among them.
"""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.remote import is_url
from pyunitok.errors import MissingFileError, ModelFormatError, OutputError, VocabularyError
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens.manifest import Manifest, StrPath, sidecars
from pyunitok.tokens.metadata import Metadata, metadata_path

DTYPES = ("<u2", "<u4")


class TokenArray:
    """A token file, memory-mapped: a sequence of documents.

    ids        uint16 or uint32 [tokens], a numpy.memmap
    ends       uint64[documents], a numpy.memmap
    manifest   Manifest, or None for a file without sidecars
    """

    def __init__(self, path: StrPath, ids: Any, ends: Any, manifest: Manifest | None, model: Tokenizer | None) -> None:
        """For pyunitok.open, which checks what it opens."""
        self.path, self._absolute = Path(path), Path(path).absolute()
        self.ids: np.ndarray[Any, Any] = ids
        self.ends: np.ndarray[Any, np.dtype[np.uint64]] = ends
        self.manifest = manifest
        self._given, self._tokenizer = model, model

    def __reduce__(self) -> tuple[Any, ...]:
        """The path and what open() was told, not the tokens: a worker that gets a copy maps the same file."""
        dtype = None if self.manifest else self.ids.dtype.str
        return _reopen, (str(self._absolute), dtype, self._given)

    @property
    def tokenizer(self) -> Tokenizer:
        """The model that made the file, found by the manifest and checked by its hash."""
        if self._tokenizer is None:
            if self.manifest is None:
                raise ModelFormatError(f"{self.path} has no manifest: name its model (model=)")
            self._tokenizer = find_model(self.manifest, str(self.path))
        return self._tokenizer

    @property
    def eod_id(self) -> int | None:
        """The id at the end of every document, or None."""
        return self.manifest.eod if self.manifest else None

    def __len__(self) -> int:
        return len(self.ends)

    def bounds(self, index: int) -> tuple[int, int]:
        """(begin, end) of document `index` in ids, its eod included."""
        n, index = len(self.ends), operator.index(index)
        if not -n <= index < n:
            raise IndexError(f"document {index} of {n} in {self.path}")
        index %= n
        begin, end = int(self.ends[index - 1]) if index else 0, int(self.ends[index])
        if not begin <= end - (self.eod_id is not None) <= end <= len(self.ids):
            raise OutputError(f"{self.path}: document {index} spans tokens {begin} to {end}: a damaged .ends")
        return begin, end

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        """The ids of a document, its eod included: a view, nothing is read before it is used."""
        begin, end = self.bounds(index)
        return self.ids[begin:end]

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        return (self[index] for index in range(len(self)))

    def text_bytes(self, index: int) -> bytes:
        """The document as it was; the eod is left out by its position, whatever its value."""
        begin, end = self.bounds(index)
        return self.tokenizer.decode_bytes(self.ids[begin : end - (self.eod_id is not None)])

    def text(self, index: int, errors: str = "strict") -> str:
        """text_bytes(index) as str."""
        return self.text_bytes(index).decode("utf-8", errors)

    def metadata(self, index: int) -> dict[str, Any]:
        """Where the document came from, and its other fields: see Metadata. OutputError if that was not kept."""
        ret: dict[str, Any] = self.all_metadata[index]
        return ret

    @functools.cached_property
    def all_metadata(self) -> Metadata:
        """The same for all documents, as a sequence. Not for several threads at once."""
        path = metadata_path(self.path)
        if not path.exists():
            raise OutputError(f"{self.path} has no metadata ({path.name}): tokenize --metadata keeps it")
        ret = Metadata(path)
        if len(ret) != len(self):
            raise OutputError(f"{path} is of {len(ret)} documents, {self.path} has {len(self)}")
        return ret

    def __repr__(self) -> str:
        return f"TokenArray({str(self.path)!r}, {len(self)} documents, {self.ids.dtype}[{len(self.ids)}])"


def open(path: StrPath, *, dtype: str | np.dtype[Any] | None = None, model: Any = None) -> TokenArray:
    """Open a token file by memory-mapping.

    dtype  of a bare file without a manifest ("uint16", "uint32"); without .ends it counts as one document
    model  a Tokenizer or the path of its file, instead of the one that the manifest names

    OutputError if the sidecars do not fit the file, or for a URL; MissingFileError (a FileNotFoundError) if the file or
    a sidecar is not there.
    """
    name = os.fspath(path)
    if is_url(name):
        raise OutputError(
            f"{name}: a token file is mapped into memory and must be local: download it with its .ends and .json, "
            "and open that"
        )
    ends_path, manifest_path = sidecars(path)
    if model is not None and not isinstance(model, Tokenizer):
        model = Tokenizer.from_file(model)
    if not Path(path).is_file():
        raise MissingFileError(f"{name}: {'not a file' if Path(path).exists() else 'no such token file'}")
    if not manifest_path.exists():
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


def _reopen(path: str, dtype: str | None, model: Tokenizer | None) -> TokenArray:
    return open(path, dtype=dtype, model=model)


def _map(path: StrPath, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    size = Path(path).stat().st_size
    if size % dtype.itemsize:
        raise OutputError(f"{os.fspath(path)}: {size} bytes are not a whole number of {dtype.name} items")
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)


def find_model(manifest: Manifest, name: str) -> Tokenizer:
    """The model that a manifest names; ModelFormatError where it is gone or another one."""
    path = manifest.model.get("path")
    if path and Path(path).is_file():  # a pipe or a device would never end
        tokenizer = Tokenizer.from_file(path)
        check_model(manifest, tokenizer, name)
        return tokenizer
    try:  # the file is gone, but the installed vocabulary may be the same
        tokenizer = Tokenizer.default()
        check_model(manifest, tokenizer, name)
    except (ModelFormatError, VocabularyError):
        gone = path or manifest.model.get("name")
        raise ModelFormatError(f"{name}: its model {gone} is not there; name it (-m, model=)") from None
    return tokenizer


def check_model(manifest: Manifest, tokenizer: Tokenizer, name: str) -> None:
    """ModelFormatError unless `tokenizer` has the vocabulary that made the file."""
    if tokenizer.sha256 != manifest.model.get("sha256"):
        raise ModelFormatError(
            f"{name} was made with another vocabulary than {tokenizer.path or tokenizer.name} "
            f"(sha256 {manifest.model.get('sha256')}, not {tokenizer.sha256})"
        )
