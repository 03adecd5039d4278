"""The manifest of an index: DIR/index.json names its token files, shards, order and hashes.

    DIR/index.json       this record
    DIR/rank.u16         only with order "bytes": the rank of each id, uint16[65536], or rank.u32, uint32[262144]
    DIR/00000.sa         shard 0: its suffix array, uint32
    DIR/00000.first      bucket starts, uint64[65537], or uint64[262145]
    DIR/00000.top        every 4,096th suffix: records that contain a position and 8 ranks, 20 or 36 bytes each
    DIR/00000.left       with --left: the token before each suffix
    DIR/00001.sa         shard 1 ...
    DIR/00000.compact    with --compact, instead of these four: a compact index (csrc/suffix/compact.h)
    DIR/00000.tokens.*   with --drop-tokens: the sidecars of token file 0
    DIR/lexicon.words    with --words: the distinct words (word_build.py)
    DIR/00000.words      with --words: the words of shard 0
    DIR/fields.columns   with --fields: fields of the documents (fields.py)

All numbers are little-endian. Ids and ranks are uint16 or uint32, as in the token files. shard.py describes the arrays.
The index refers to the token files and does not copy the tokens.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from pyunitok.corpus.source import Count
from pyunitok.errors import LimitError, OutputError
from pyunitok.tokens.manifest import Dtype

FORMAT = "pyunitok index"
VERSION = 2  # of indexes that are compact or have uint32 ids; others have version 1, which earlier releases can read
INDEX_NAME = "index.json"
MAX_SHARD_TOKENS = (1 << 31) - 1


@dataclass
class IndexedFile:
    """A token file whose documents the index covers."""

    path: str  # relative to the folder of the index, or absolute
    tokens: Count
    documents: Count
    digest: str | None = None  # XXH64 of the hashes in its manifest; None for a file without a manifest
    stored: bool = False  # whether --drop-tokens removed the file, whose tokens are then in the compact index


@dataclass
class ShardRecord:
    """A range of complete documents of one token file, and the hashes of the files that index it.

    hash  the XXH64 of each 64 MiB of each file, keyed by suffix (".sa", ".first", ".top", ".left", ".compact"), and of
          the tokens, keyed by "ids"
    """

    file: Count  # index in IndexManifest.files
    first_document: Count  # in the token file
    documents: Count
    begin: Count  # the first token, in the token file
    tokens: Annotated[int, Meta(ge=0, le=MAX_SHARD_TOKENS)]
    hash: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class CompactOptions:
    """The options of compact indexes.

    block          entries per block of a list, 128 or 64; 64 is faster but takes more space
    locate_every   store the row of every N-th token; a power of two up to 1,024
    extract_every  store the row of every N-th position of the text, where reading can begin; up to 1,024

    If locate_every and extract_every are 0, the index only counts.
    """

    block: Annotated[int, Meta(ge=64, le=128)] = 128
    locate_every: Annotated[int, Meta(ge=0, le=1024)] = 32
    extract_every: Annotated[int, Meta(ge=0, le=1024)] = 64

    @property
    def only_counts(self) -> bool:
        return self.locate_every == 0

    @property
    def rows_every(self) -> int:
        """The positions of all samples are multiples of this power of two."""
        both = self.locate_every | self.extract_every | 1 << 31
        return both & -both

    def check(self) -> None:
        """Raise LimitError if an option is out of range."""
        if self.block not in (64, 128):
            raise LimitError(f"block must be 64 or 128, not {self.block}")
        if self.locate_every == self.extract_every == 0:
            return
        if not 1 <= self.locate_every <= 1024 or self.locate_every & (self.locate_every - 1):
            raise LimitError(f"locate_every must be a power of two from 1 to 1024, not {self.locate_every}")
        if not 1 <= self.extract_every <= 1024:
            raise LimitError(f"extract_every must be 1 to 1024, not {self.extract_every}")


@dataclass
class IndexManifest:
    """The contents of DIR/index.json."""

    order: Annotated[str, Meta(pattern="^(id|bytes)$")]  # whether suffixes compare by id, or by the bytes of the tokens
    left: bool  # whether each shard has a .left file
    model: dict[str, Any]  # name, path and sha256 of the vocabulary, as in the token files; may be {}
    eod: Count | None  # the id at the end of each document
    files: list[IndexedFile]
    shards: list[ShardRecord]
    rank_hash: str | None = None  # XXH64 of the file of ranks
    created: str = ""
    pyunitok: str = ""
    format: str = FORMAT
    version: int = 1
    compact: CompactOptions | None = None  # None: the shards are suffix arrays
    dtype: Dtype = "<u2"  # the type of the ids in the token files

    @property
    def rank_name(self) -> str:
        return f"rank.u{8 * np.dtype(self.dtype).itemsize}"

    @property
    def tokens(self) -> int:
        return sum(shard.tokens for shard in self.shards)

    @property
    def documents(self) -> int:
        return sum(shard.documents for shard in self.shards)

    def to_json(self) -> bytes:
        values = asdict(self)
        for name, default in (("compact", None), ("dtype", "<u2")):
            if values[name] == default:
                del values[name]
        for file in values["files"]:
            if not file["stored"]:
                del file["stored"]
        return json.dumps(values, indent=1, ensure_ascii=True).encode() + b"\n"

    @classmethod
    def read(cls, folder: Path) -> IndexManifest:
        """Raises OutputError if the folder contains no index, or if the index is damaged or was written by a newer
        release."""
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
        """Raise ValueError if the shards do not match the files."""
        for k, shard in enumerate(self.shards):
            if shard.file >= len(self.files):
                raise ValueError(f"shard {k} refers to file {shard.file}, but there are only {len(self.files)} files")
            file = self.files[shard.file]
            if shard.first_document + shard.documents > file.documents or shard.begin + shard.tokens > file.tokens:
                raise ValueError(f"shard {k} extends past the end of {file.path}")


def shard_name(number: int, suffix: str) -> str:
    """The name of the file of a shard with suffix ".sa", ".first", ".top", ".left" or ".compact"."""
    return f"{number:05}{suffix}"


def stored_tokens(folder: Path, file: int) -> Path:
    """The path of a token file that is stored in the index: its sidecars exist, but the file itself does not."""
    return folder / f"{file:05}.tokens"


def stored_path(path: Path, folder: Path) -> str:
    """The path of a token file as an index in `folder` stores it, relative if possible."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # Windows: another drive
        return str(path.resolve())


def resolved_path(stored: str, folder: Path) -> Path:
    """The inverse of stored_path."""
    return Path(os.path.normpath(folder.resolve() / stored))
