"""The manifest of an index: DIR/index.json names its token files, shards, order and hashes.

    DIR/index.json       this record
    DIR/rank.u16         only with order "bytes": the rank of each id, uint16[65536]
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
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pyunitok.corpus.source import Count
from pyunitok.errors import OutputError

FORMAT = "pyunitok index"
VERSION = 1
INDEX_NAME = "index.json"
RANK_NAME = "rank.u16"
MAX_SHARD_TOKENS = (1 << 31) - 1


@dataclass
class IndexedFile:
    """A token file whose documents the index covers."""

    path: str  # relative to the folder of the index, or absolute
    tokens: Count
    documents: Count
    digest: str | None = None  # XXH64 of the hashes in its manifest; None for a file without a manifest


@dataclass
class ShardRecord:
    """A range of complete documents of one token file, and the hashes of the files that index it.

    hash  the XXH64 of each 64 MiB of each file, keyed by suffix (".sa", ".first", ".top", ".left"), and of the tokens,
          keyed by "ids"
    """

    file: Count  # index in IndexManifest.files
    first_document: Count  # in the token file
    documents: Count
    begin: Count  # the first token, in the token file
    tokens: Annotated[int, Meta(ge=0, le=MAX_SHARD_TOKENS)]
    hash: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class IndexManifest:
    """DIR/index.json."""

    order: Annotated[str, Meta(pattern="^(id|bytes)$")]  # suffixes compare by id, or by the bytes of the tokens
    left: bool  # whether each shard has a .left file
    model: dict[str, Any]  # name, path and sha256 of the vocabulary, as in the token files; may be {}
    eod: Count | None  # the id at the end of each document
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
        path = folder / INDEX_NAME
        try:
            return cls.parse(path.read_bytes(), str(path))
        except (FileNotFoundError, NotADirectoryError):
            raise OutputError(f"{folder} is not an index: it has no {INDEX_NAME}") from None

    @classmethod
    def parse(cls, data: bytes, name: str) -> IndexManifest:
        """Parse the contents of a manifest, with the same errors as read; they mention `name`."""
        try:
            values = json.loads(data)
            if values["format"] != FORMAT:
                raise OutputError(f"{name}: not the manifest of an index")
            if values["version"] > VERSION:
                raise OutputError(f"{name}: written by a newer release (version {values['version']}); upgrade pyunitok")
            manifest = msgspec.convert(values, cls)
            manifest._check()
            return manifest
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"{name}: not the manifest of an index ({error})") from None

    def _check(self) -> None:
        """ValueError if the shards do not match the files."""
        for k, shard in enumerate(self.shards):
            if shard.file >= len(self.files):
                raise ValueError(f"shard {k} refers to file {shard.file}, but there are only {len(self.files)} files")
            file = self.files[shard.file]
            if shard.first_document + shard.documents > file.documents or shard.begin + shard.tokens > file.tokens:
                raise ValueError(f"shard {k} extends past the end of {file.path}")


def shard_name(number: int, suffix: str) -> str:
    """The name of the file of a shard with suffix ".sa", ".first", ".top" or ".left"."""
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
