"""TokenArray is a memory-mapped token file, which consists of OUT, OUT.ends and OUT.json.

    OUT        the ids, uint16 little-endian; numpy.memmap(OUT, dtype="<u2") reads it without this package
    OUT.ends   the exclusive end of each document in tokens, uint64 little-endian (the layout of datatrove's .ds.index)
    OUT.json   the manifest, which describes how the file was made and how to restore its inputs

The tokens of document i are ids[ends[i - 1]:ends[i]]. The last token is the eod, if the manifest has one.
"""

from __future__ import annotations

import functools
import operator
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.corpus import compressions, formats
from pyunitok.disk.url import is_url
from pyunitok.errors import MissingFileError, ModelFormatError, OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Packed
from pyunitok.tokens import page
from pyunitok.tokens.documents import Documents, Ids, Ints, checked
from pyunitok.tokens.manifest import Manifest, StrPath, sidecars
from pyunitok.tokens.metadata import Metadata, metadata_path
from pyunitok.tokens.model import check_model, find_model

DTYPES = ("<u2", "<u4")
RUN_DOCS = 1 << 18


class TokenArray(Documents):
    """A memory-mapped token file, as a sequence of documents. Open one with pyunitok.open().

    ids        uint16 or uint32 [tokens], a numpy.memmap
    ends       uint64 [documents], a numpy.memmap; prefer locate() and bounds(), which are faster than searching `ends`
    manifest   Manifest, or None for a bare file

    All methods except metadata() are thread-safe. Pickles contain the path, not the tokens.
    """

    def __init__(self, path: StrPath, ids: Any, ends: Any, manifest: Manifest | None, model: Tokenizer | None) -> None:
        """Internal: use pyunitok.open(), which checks the files."""
        self.path, self._absolute = Path(path), Path(path).absolute()
        self.ids: Ids = ids
        self.ends: np.ndarray[Any, np.dtype[np.uint64]] = ends
        self.manifest = manifest
        self.n_tokens, self.dtype = len(ids), ids.dtype
        # Slicing a numpy.memmap takes a microsecond longer than slicing an ndarray.
        self._ids = ids.view(np.ndarray) if isinstance(ids, np.ndarray) else ids  # else of a compact index
        self._ends = ends.view(np.ndarray)
        self._given, self._tokenizer = model, model

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and the arguments of open(), so that unpickling maps the same file."""
        return map_tokens, (str(self._absolute), None if self.manifest else self.ids.dtype.str, self._given)

    @property
    def tokenizer(self) -> Tokenizer:
        """The model that produced the file: the one given to open(), otherwise the one that the manifest names, checked
        by its hash."""
        if self._tokenizer is None:
            if self.manifest is None:
                raise ModelFormatError(f"{self.path} has no manifest; pass its model with -m or model=")
            self._tokenizer = find_model(self.manifest, str(self.path))
        return self._tokenizer

    @property
    def eod_id(self) -> int | None:
        return self.manifest.eod if self.manifest else None

    @property
    def lengths(self) -> Ints:
        ret = np.empty(len(self), np.int64)
        for first, bounds in self.runs():
            ret[first : first + len(bounds) - 1] = np.diff(bounds)
        return ret

    def __len__(self) -> int:
        return len(self._ends)

    def locate(self, positions: Any) -> Any:
        if isinstance(positions, int | np.integer):
            if not 0 <= positions < self.n_tokens:
                raise IndexError(f"token {positions} is out of range: {self.path} has {self.n_tokens}")
            return int(self._ends.searchsorted(np.uint64(positions), "right"))
        wanted = checked(positions, 0, self.n_tokens, "token")
        return self._ends.searchsorted(wanted.astype(np.uint64), "right").astype(np.int64)

    def bounds(self, documents: Any) -> Any:
        if isinstance(documents, int | np.integer):
            return self._bounds(operator.index(documents))
        numbers = self._numbers(documents)
        ends = self._ends[numbers].astype(np.int64)
        begins = self._ends[np.maximum(numbers, 1) - 1].astype(np.int64)
        begins[numbers == 0] = 0
        wrong = (begins < 0) | (ends < begins + (self.eod_id is not None)) | (ends > self.n_tokens)
        if wrong.any():
            k = int(wrong.argmax())
            raise self._damaged(int(numbers[k]), int(begins[k]), int(ends[k]))
        return begins, ends

    def runs(
        self, first: int = 0, stop: int | None = None, *, max_tokens: int | None = None, max_docs: int | None = None
    ) -> Iterator[tuple[int, Ints]]:
        """Yield (d, int64[n + 1] bounds) for runs of consecutive documents in first..stop-1: document d + k is
        ids[bounds[k]:bounds[k + 1]].

        A run has at most max_docs documents (by default RUN_DOCS) and max_tokens tokens; a longer document is a run by
        itself. Raises OutputError, naming the document, if the end of a document is before its beginning or after the
        last token, or if the document has no token although the file has an eod.
        """
        stop = len(self) if stop is None else stop
        at = min(int(self._ends[first - 1]), self.n_tokens) if first else 0
        while first < stop:
            ends = self._ends[first : min(first + (max_docs or RUN_DOCS), stop)]
            if max_tokens is not None:
                ends = ends[: max(1, int(ends.searchsorted(np.uint64(at + max_tokens), "right")))]
            bounds = np.empty(len(ends) + 1, np.int64)
            bounds[0], bounds[1:] = at, ends
            wrong = (bounds[1:] < bounds[:-1] + (self.eod_id is not None)) | (bounds[1:] > self.n_tokens)
            if wrong.any():
                k = int(wrong.argmax())
                raise self._damaged(first + k, int(bounds[k]), int(ends[k]))
            yield first, bounds
            first, at = first + len(ends), int(bounds[-1])

    def chunks(self, n_tokens: int = 1 << 20) -> Iterator[tuple[int, Packed]]:
        for first, bounds in self.runs(max_tokens=n_tokens):
            yield first, Packed(self._ids[bounds[0] : bounds[-1]], bounds - bounds[0])

    def metadata(self, document: int) -> dict[str, Any]:
        ret: dict[str, Any] = self.all_metadata[document]
        return ret

    @functools.cached_property
    def all_metadata(self) -> Metadata:
        """metadata() of all documents as a sequence, which is not thread-safe."""
        path = metadata_path(self.path)
        if not path.exists():
            raise OutputError(f"{self.path} has no metadata ({path.name}); `tokenize --metadata` writes it")
        ret = Metadata(path)
        if len(ret) != len(self):
            raise OutputError(f"{path} describes {len(ret)} documents, but {self.path} has {len(self)}")
        return ret

    def _one(self, document: int) -> Ids:
        begin, end = self._bounds(document)
        ret: Ids = self._ids[begin:end]
        return ret

    def _many(self, documents: Ints) -> Packed:
        begins, ends = self.bounds(documents)
        offsets = np.concatenate(([0], np.cumsum(ends - begins)))
        if not len(documents):
            return Packed(self._ids[:0], offsets)
        if np.array_equal(begins[1:], ends[:-1]):
            return Packed(self._ids[begins[0] : ends[-1]], offsets)
        parts = [self._ids[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        return Packed(np.concatenate(parts), offsets)

    def _token_parts(self) -> list[Ids]:
        return [self._ids]

    def _bounds(self, document: int) -> tuple[int, int]:
        n = len(self._ends)
        if not -n <= document < n:
            raise IndexError(f"document {document} is out of range: {self.path} has {n}")
        document %= n
        begin, end = int(self._ends[document - 1]) if document else 0, int(self._ends[document])
        if not begin <= end - (self.eod_id is not None) <= end <= self.n_tokens:
            raise self._damaged(document, begin, end)
        return begin, end

    def _damaged(self, document: int, begin: int, end: int) -> OutputError:
        ends = sidecars(self.path)[0]
        return OutputError(f"{ends}: document {document} spans tokens {begin} to {end}; the .ends file is damaged")

    def __repr__(self) -> str:
        return f"TokenArray({str(self.path)!r}, {len(self)} documents, {self.dtype}[{self.n_tokens}])"

    def _repr_html_(self) -> str:
        rows = [("documents", f"{len(self):,}"), ("tokens", f"{self.n_tokens:,} ({self.dtype})")]
        if self.manifest is not None:
            ratio = self.manifest.bytes_per_token
            rows += [
                ("bytes per token", "-" if ratio is None else f"{ratio:.3f}"),
                ("eod", "none" if self.eod_id is None else str(self.eod_id)),
                ("model", str(self.manifest.model.get("name") or "unnamed")),
            ]
        return page.summary(f"TokenArray {self.path}", rows)


def map_tokens(path: StrPath, dtype: Any, model: Tokenizer | None) -> TokenArray:
    """Map one token file: see opening.open()."""
    name = os.fspath(path)
    if is_url(name):
        raise OutputError(
            f"{name}: a token file must be local to be memory-mapped; download it with its .ends and .json and open "
            "the copy"
        )
    ends_path, manifest_path = sidecars(path)
    if not Path(path).is_file():
        raise MissingFileError(f"{name}: {'not a file' if Path(path).exists() else 'no such token file'}")
    if not manifest_path.exists():
        suffix = Path(name).suffix.lower()
        if formats.by_suffix(suffix) or compressions.by_suffix(suffix) is not compressions.NONE:
            first = f"pyunitok tokenize {shlex.quote(name)} -o ids.u16"
            raise OutputError(f"{name} is text, not tokens; run this first: {first}")
        if dtype is None:
            raise MissingFileError(
                f"{name}: its manifest {manifest_path} is missing; to open the bare ids, use "
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
        raise MissingFileError(f"{name}: its document-ends file {ends_path} is missing")
    ids, ends = _map(path, np.dtype(manifest.dtype)), _map(ends_path, np.dtype("<u8"))
    if len(ids) != manifest.tokens or len(ends) != manifest.documents:
        raise OutputError(
            f"{name} has {len(ids)} tokens and {len(ends)} ends, but its manifest records {manifest.tokens} and "
            f"{manifest.documents}: the token file is incomplete, or its files do not belong together"
        )
    if model is not None:
        check_model(manifest, model, name)
    if len(ends) and int(ends[-1]) != len(ids):
        raise OutputError(f"{ends_path}: the last document ends at token {ends[-1]}, but there are {len(ids)}")
    return TokenArray(path, ids, ends, manifest, model)


def _map(path: StrPath, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    size = Path(path).stat().st_size
    if size % dtype.itemsize:
        raise OutputError(f"{os.fspath(path)}: its size of {size} bytes is not a multiple of the size of {dtype.name}")
    return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)
