"""The manifest of an index: DIR/index.json names its token files, shards, order and hashes.

    DIR/index.json       this record
    DIR/rank.u16         order "bytes": uint16[65536], the rank of each id; order "id" has none
    DIR/00000.sa         shard 0: its suffix array, uint32
    DIR/00000.first      bucket starts, uint64[65537]
    DIR/00000.top        every 4,096th suffix: records of a position and 8 ranks, 20 bytes each
    DIR/00000.left       with --left: the token before each suffix, uint16
    DIR/00001.sa         shard 1 ...

All numbers are little-endian. shard.py describes the arrays. The index refers to the token files and does not copy the
tokens.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyunitok.errors import OutputError

FORMAT = "pyunitok index"
VERSION = 1
INDEX_NAME = "index.json"
RANK_NAME = "rank.u16"
ORDERS = ("id", "bytes")
MAX_SHARD_TOKENS = (1 << 31) - 1


@dataclass
class IndexedFile:
    """A token file whose documents the index covers."""

    path: str  # relative to the folder of the index, or absolute
    tokens: int
    documents: int
    digest: str | None = None  # XXH64 of the hashes in its manifest; None for a bare file


@dataclass
class ShardRecord:
    """A range of complete documents of one token file, and the hashes of the files that index it.

    hash  the XXH64 of every 64 MiB of each file, keyed by suffix (".sa", ".first", ".top", ".left"), and of the tokens,
          keyed by "ids"
    """

    file: int  # index in Index.files
    first_document: int  # in the token file
    documents: int
    begin: int  # the first token, in the token file
    tokens: int
    hash: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class IndexManifest:
    """DIR/index.json."""

    order: str  # one of ORDERS: suffixes compare by id, or by the bytes of the tokens
    left: bool  # whether each shard has a .left file
    model: dict[str, Any]  # name, path and sha256 of the vocabulary, as in the token files; {} for bare files
    eod: int | None  # the id at the end of each document
    files: list[IndexedFile]
    shards: list[ShardRecord]
    rank_hash: str | None = None  # XXH64 of rank.u16
    created: str = ""
    pyunitok: str = ""
    format: str = FORMAT
    version: int = VERSION

    @property
    def tokens(self) -> int:
        return sum(shard.tokens for shard in self.shards)

    @property
    def documents(self) -> int:
        return sum(shard.documents for shard in self.shards)

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1, ensure_ascii=True).encode() + b"\n"

    @classmethod
    def read(cls, folder: Path) -> IndexManifest:
        """OutputError if the folder holds no index, or one that is damaged or written by a newer release."""
        try:
            return cls.read_file(folder / INDEX_NAME)
        except (FileNotFoundError, NotADirectoryError):
            raise OutputError(f"{folder} is not an index: it has no {INDEX_NAME}") from None

    @classmethod
    def read_file(cls, path: Path) -> IndexManifest:
        """Like read, but for the path of the manifest."""
        return cls.parse(path.read_bytes(), str(path))

    @classmethod
    def parse(cls, data: bytes, name: str) -> IndexManifest:
        """Like read, but for the contents of a manifest; errors mention `name`."""
        try:
            values = json.loads(data)
            if values["format"] != FORMAT:
                raise OutputError(f"{name}: not the manifest of an index")
            if values["version"] > VERSION:
                raise OutputError(f"{name}: written by a newer release (version {values['version']}); upgrade pyunitok")
            known = {key: values[key] for key in cls.__dataclass_fields__ if key in values}
            known["files"] = [IndexedFile(**record) for record in values["files"]]
            known["shards"] = [ShardRecord(**record) for record in values["shards"]]
            manifest = cls(**known)
            manifest._check()
            return manifest
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"{name}: not the manifest of an index ({error})") from None

    def _check(self) -> None:
        """ValueError if a field that other code relies on is malformed."""
        if self.order not in ORDERS:
            raise ValueError(f"order {self.order!r} is not one of {', '.join(ORDERS)}")
        if not isinstance(self.model, dict) or not (self.eod is None or _is_count(self.eod)):
            raise ValueError("the model or the eod is malformed")
        for file in self.files:
            if not isinstance(file.path, str) or not _is_count(file.tokens) or not _is_count(file.documents):
                raise ValueError("a token file has no path or no counts")
        for k, shard in enumerate(self.shards):
            counts = (shard.file, shard.first_document, shard.documents, shard.begin, shard.tokens)
            if not all(map(_is_count, counts)) or shard.file >= len(self.files) or not isinstance(shard.hash, dict):
                raise ValueError(f"shard {k} is malformed")
            file = self.files[shard.file]
            if shard.first_document + shard.documents > file.documents or shard.begin + shard.tokens > file.tokens:
                raise ValueError(f"shard {k} reaches past the end of {file.path}")
            if shard.tokens > MAX_SHARD_TOKENS:
                raise ValueError(f"shard {k} has {shard.tokens} tokens, more than {MAX_SHARD_TOKENS}")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def shard_name(number: int, suffix: str) -> str:
    """The name of one of a shard's files; suffix ".sa", ".first", ".top" or ".left"."""
    return f"{number:05}{suffix}"


def stored_path(path: Path, folder: Path) -> str:
    """The path of a token file as an index in `folder` stores it, relative if possible."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # Windows: another drive
        return str(path.resolve())


def resolved_path(stored: str, folder: Path) -> Path:
    """The inverse of stored_path."""
    return Path(os.path.normpath(folder.resolve() / stored))
