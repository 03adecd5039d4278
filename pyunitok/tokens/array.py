"""The token file: OUT, OUT.ends and OUT.json, and TokenArray, which reads them by memory-mapping.

    OUT        uint16 little-endian, nothing else: numpy.memmap(OUT, dtype="<u2") reads it without this package
    OUT.ends   uint64 little-endian, one a document: its end in tokens, exclusive (the layout of datatrove's .ds.index)
    OUT.json   the manifest: what made the file, and what is needed to turn it back into its inputs

A document's tokens are ids[ends[i - 1]:ends[i]], the eod id (if the manifest has one) last among them.
"""

from __future__ import annotations

import builtins
import errno
import functools
import json
import operator
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.remote import is_url
from pyunitok.errors import ModelFormatError, OutputError, VocabularyError
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens.metadata import Metadata, metadata_path

FORMAT = "pyunitok tokens"
VERSION = 1
ALGORITHM = "longest-prefix 1"
DTYPES = ("<u2", "<u4")

StrPath = str | os.PathLike[str]


def sidecars(out: StrPath) -> tuple[Path, Path]:
    """Where the ends and the manifest of a token file lie."""
    return Path(f"{os.fspath(out)}.ends"), Path(f"{os.fspath(out)}.json")


@dataclass
class InputRecord:
    """One input in the manifest; sizes in bytes, of the decompressed text unless said."""

    path: str
    format: str  # "text", "jsonl" or "parquet"
    compression: str  # "none", "zst", "gz", "bz2" or "xz"
    size: int | None = None  # of the file as it lies there; None for stdin
    mtime_ns: int | None = None  # when the file was last changed
    etag: str | None = None  # what a store calls this version of the file
    bytes: int = 0
    documents: int = 0
    tokens: int = 0
    text_key: str | None = None  # jsonl, parquet: the field that held the text
    separator: str | None = None  # text: what stood between documents (bytes that are no UTF-8 as surrogates)
    ends_with_separator: bool | None = None
    seconds: float | None = None  # of wall time that went into it; None where an earlier run did a part
    xxh64: list[str] | None = None  # of each 64 MiB of decompressed text, where it came out of a pipe
    skipped: int = 0  # documents left out as bad


@dataclass
class Manifest:
    """OUT.json. `hash` holds the XXH64 of each 64 MiB of OUT and OUT.ends, in hexadecimal."""

    model: dict[str, Any]  # name, path, sha256 of the vocabulary, file_sha256
    eod: int | None
    tokens: int
    documents: int
    bytes: int  # of decompressed text
    inputs: list[InputRecord]
    hash: dict[str, Any]
    dtype: str = "<u2"
    algorithm: str = ALGORITHM
    sample: dict[str, Any] | None = None  # of a sampled file: alpha, seed, nbest, method
    created: str = ""
    pyunitok: str = ""
    run: dict[str, Any] | None = None  # the options that decided the bytes, as journal.Identity has them
    shard: dict[str, Any] | None = None  # a shard.Shard, where this is one part of a run
    exported: dict[str, Any] | None = None  # tokenize --format: see export/direct.py
    format: str = FORMAT
    version: int = VERSION

    def to_json(self) -> builtins.bytes:
        return json.dumps(asdict(self), indent=1, ensure_ascii=True).encode() + b"\n"

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """OutputError where the file is no manifest, or a newer one."""
        return cls.parse(path.read_bytes(), str(path))

    @classmethod
    def parse(cls, data: builtins.bytes, name: str) -> Manifest:
        """Like read, of a file called `name` that holds `data`."""
        try:
            values = json.loads(data)
            if values["format"] != FORMAT or values["version"] > VERSION:
                raise OutputError(f"{name}: not a manifest that this release reads")
            known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
            known["inputs"] = [InputRecord(**record) for record in values["inputs"]]
            manifest = cls(**known)
            manifest._check()
            return manifest
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"{name}: not a manifest of a token file ({error})") from None

    def sizes(self) -> dict[str, int]:
        """Bytes of OUT and of OUT.ends, by the end of their names."""
        return {"": self.tokens * np.dtype(self.dtype).itemsize, ".ends": self.documents * 8}

    def _check(self) -> None:
        """ValueError where a field that others rely on is not what it should be."""
        counts = [self.tokens, self.documents, self.bytes]
        counts += [count for record in self.inputs for count in (record.documents, record.bytes, record.tokens)]
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype {self.dtype!r} is none of {', '.join(DTYPES)}")
        if not all(type(count) is int and count >= 0 for count in counts):
            raise ValueError("a count is no number")
        if sum(record.documents for record in self.inputs) != self.documents:
            raise ValueError("the inputs do not have as many documents as the file")
        if self.eod is not None and type(self.eod) is not int:
            raise ValueError("the eod is no id")
        if not all(isinstance(item, dict) for item in (self.model, self.hash, self.run or {}, self.shard or {})):
            raise ValueError("model, hash, run or shard is no object")
        if self.shard and not all(type(self.shard.get(name)) is int for name in ("index", "count", "first_input")):
            raise ValueError("the shard has no numbers")
        texts = [self.model.get("name"), self.model.get("path"), self.model.get("sha256"), self.algorithm, self.created]
        texts += [text for r in self.inputs for text in (r.path, r.format, r.text_key, r.separator)]
        if not all(text is None or isinstance(text, str) for text in texts):
            raise ValueError("a name is no string")


class TokenArray:
    """A token file, memory-mapped: a sequence of documents.

    ids        uint16 or uint32 [tokens], a numpy.memmap
    ends       uint64[documents], a numpy.memmap
    manifest   Manifest, or None for a file without sidecars
    """

    def __init__(self, path: StrPath, ids: Any, ends: Any, manifest: Manifest | None, model: Tokenizer | None) -> None:
        """For pyunitok.open, which checks what it opens."""
        self.path = Path(path)
        self.ids: np.ndarray[Any, Any] = ids
        self.ends: np.ndarray[Any, np.dtype[np.uint64]] = ends
        self.manifest = manifest
        self._tokenizer = model

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

    dtype  of a bare file without sidecars ("uint16", "uint32"); it counts as one document
    model  a Tokenizer or the path of its file, instead of the one that the manifest names

    OutputError if the sidecars do not fit the file, or for a URL; FileNotFoundError.
    """
    if is_url(os.fspath(path)):
        raise OutputError(
            f"{os.fspath(path)}: a token file is mapped into memory and must be local: fetch it, its .ends and .json, "
            "and open that"
        )
    ends_path, manifest_path = sidecars(path)
    if model is not None and not isinstance(model, Tokenizer):
        model = Tokenizer.from_file(model)
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, "No such token file", os.fspath(path))
    if not manifest_path.exists():
        if dtype is None:
            raise OutputError(f"{path} has no manifest ({manifest_path.name}): say what it holds, dtype='uint16'")
        wanted = np.dtype(dtype).str
        if wanted not in DTYPES:
            raise ValueError(f"dtype must be little-endian uint16 or uint32, not {dtype}")
        ids = _map(path, np.dtype(wanted))
        ends = _map(ends_path, np.dtype("<u8")) if ends_path.exists() else np.array([len(ids)], np.uint64)
        return TokenArray(path, ids, ends, None, model)
    manifest = Manifest.read(manifest_path)
    ids, ends = _map(path, np.dtype(manifest.dtype)), _map(ends_path, np.dtype("<u8"))
    if len(ids) != manifest.tokens or len(ends) != manifest.documents:
        raise OutputError(
            f"{os.fspath(path)} holds {len(ids)} tokens and {len(ends)} ends, "
            f"its manifest says {manifest.tokens} and {manifest.documents}: not a whole token file"
        )
    if model is not None:
        check_model(manifest, model, os.fspath(path))
    if len(ends) and int(ends[-1]) != len(ids):
        raise OutputError(f"{ends_path}: the last document ends at {ends[-1]}, not at {len(ids)}")
    return TokenArray(path, ids, ends, manifest, model)


def _map(path: StrPath, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    size = Path(path).stat().st_size
    if size % dtype.itemsize:
        raise OutputError(f"{os.fspath(path)}: {size} bytes are no whole number of {dtype.name} items")
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
