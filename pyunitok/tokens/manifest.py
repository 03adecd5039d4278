"""OUT.json, the manifest of a token file: what made it, and what is needed to turn it back into its inputs.

A manifest may come from a stranger. Manifest.parse checks the type and the range of every field once, so nothing that
works with a Manifest has to.
"""

from __future__ import annotations

import builtins
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

import pyunitok
from pyunitok.corpus.source import Count, InputFile, without_secrets
from pyunitok.errors import OutputError

FORMAT = "pyunitok tokens"
VERSION = 1
ALGORITHM = "longest-prefix 1"
MAX_SHARDS = 1_000_000
# Files that some runs write beside OUT: see metadata.py.
METADATA_SUFFIX, ERRORS_SUFFIX = ".meta.jsonl.zst", ".errors.jsonl"

StrPath = str | os.PathLike[str]
Id = Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]
Separator = Annotated[str, Meta(min_length=1)]
Dtype = Annotated[str, Meta(pattern="^<u[24]$")]
Seconds = Annotated[float, Meta(ge=0)]


def sidecars(out: StrPath) -> tuple[Path, Path]:
    """The names of the ends and of the manifest of a token file."""
    return Path(f"{os.fspath(out)}.ends"), Path(f"{os.fspath(out)}.json")


def is_token_file(path: str | os.PathLike[str]) -> bool:
    """Whether its ends or its manifest are beside it; any other JSON may be."""
    ends, manifest = sidecars(path)
    try:
        return ends.exists() or bool(json.loads(manifest.read_bytes())["format"] == FORMAT)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


@dataclass(frozen=True)
class InputRecord(InputFile):
    """One input in the manifest: the file, and what came out of it.

    bytes       of the decompressed file
    text_bytes  of the documents' text, without separators or JSON syntax
    """

    bytes: Count = 0
    documents: Count = 0
    tokens: Count = 0
    text_key: str | None = None  # jsonl, parquet: the field that held the text
    separator: Separator | None = None  # text: what stood between documents (invalid UTF-8 as lone surrogates)
    ends_with_separator: bool | None = None
    seconds: Seconds | None = None  # of wall time spent on it; None if an earlier run did a part
    xxh64: list[str] | None = None  # of each 64 MiB of decompressed text, where it came out of a pipe
    skipped: Count = 0  # documents left out as bad
    text_bytes: Count = 0
    error: str | None = None  # why the whole file was left out as damaged, where it was
    abridged: bool = False  # `duplicates --drop` left out text of its documents

    def to_json(self) -> dict[str, Any]:
        values = {_RENAMED.get(name, name): value for name, value in asdict(self).items()}
        if self.secrets_sha256 is None:  # as for nearly all inputs
            del values["secrets_sha256"]
        return values


_RENAMED = {"size_bytes": "size"}  # fields that have another name in the file


def _record_values(values: Any) -> Any:
    """What to_json() made of a record, with the names of its fields."""
    if not isinstance(values, dict):
        return values
    names = {new: old for old, new in _RENAMED.items()}
    return {names.get(name, name): value for name, value in values.items()}


@dataclass
class _Shard:
    """What a manifest must say of the part of a run that it describes: the fields of run.shard.RunShard.

    max_line_bytes  no line read was longer
    """

    index: Count
    count: Annotated[int, Meta(ge=1, le=MAX_SHARDS)]
    first_input: Count
    all_inputs: str
    range: tuple[Count, Count | None] | None = None
    max_line_bytes: Count | None = None


@dataclass
class _Exported:
    """What a manifest must say of an export that tokenize --format made, or began (files: None)."""

    wanted: dict[str, Any]
    files: dict[str, Count] | None = None


@dataclass
class _ModelInfo:
    """What a manifest must say of its model."""

    name: str | None = None
    path: str | None = None
    sha256: str | None = None


@dataclass
class _Hash:
    """What a manifest must say of the hashes of its files; empty until they are known."""

    algorithm: str = ""
    chunk_bytes: Count = 0
    tokens: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)


@dataclass
class Manifest:
    """OUT.json. `hash` holds the XXH64 of each 64 MiB of OUT and OUT.ends, in hexadecimal."""

    model: dict[str, Any]  # name, path, sha256 of the vocabulary, file_sha256
    eod: Id | None
    tokens: Count
    documents: Count
    bytes: Count  # of the decompressed inputs
    inputs: list[InputRecord]
    hash: dict[str, Any]
    dtype: Dtype = "<u2"
    algorithm: str = ALGORITHM
    sample: dict[str, Any] | None = None  # of a sampled file: alpha, seed, nbest, method
    created: str = ""
    pyunitok: str = ""
    run: dict[str, Any] | None = None  # the options that decided the bytes, as journal.Identity has them
    shard: dict[str, Any] | None = None  # a run.shard.RunShard, where this is one part of a run
    exported: dict[str, Any] | None = None  # where tokenize --format made other files of it
    format: str = FORMAT
    version: int = VERSION
    text_bytes: Count = 0  # of the documents' text

    @classmethod
    def of(
        cls, inputs: Sequence[InputRecord], *, model: dict[str, Any], eod: int | None, dtype: str, algorithm: str,
        sample: dict[str, Any] | None = None, run: dict[str, Any] | None = None, shard: dict[str, Any] | None = None,
    ) -> Manifest:  # fmt: skip
        """The manifest of a token file made of these inputs, now and by this version; without hashes."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        return cls(
            model=model,
            eod=eod,
            tokens=sum(record.tokens for record in inputs),
            documents=sum(record.documents for record in inputs),
            bytes=sum(record.bytes for record in inputs),
            inputs=list(inputs),
            hash={},
            dtype=dtype,
            algorithm=algorithm,
            sample=sample,
            created=now,
            pyunitok=pyunitok.__version__,
            run=run,
            shard=shard,
            text_bytes=sum(record.text_bytes for record in inputs),
        )

    @property
    def input_bytes(self) -> int:
        """Of the decompressed inputs, JSON syntax and separators included."""
        return self.bytes

    @property
    def bytes_per_token(self) -> float | None:
        """Of text; None without tokens."""
        return _ratio(self)

    def statistics(self) -> dict[str, Any]:
        """For --stats-json: the sums, and the same of each input.

        bytes are of the decompressed files, text_bytes of the documents in them; seconds are of wall time in which the
        blocks of an input were those waited for, None if an earlier run did a part of it.
        """
        inputs = [
            {"path": r.path, "format": r.format, "compression": r.compression, "file_bytes": r.size_bytes}
            | _counts(r)
            | {"skipped": r.skipped, "seconds": r.seconds}
            for r in self.inputs
        ]
        return _counts(self) | {"inputs": inputs}

    def to_json(self) -> builtins.bytes:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        values["inputs"] = [record.to_json() for record in self.inputs]
        return json.dumps(values, indent=1, ensure_ascii=True).encode() + b"\n"

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """OutputError if the file is not a manifest, or was written by a newer release."""
        return cls.parse(path.read_bytes(), str(path))

    @classmethod
    def parse(cls, data: builtins.bytes, name: str) -> Manifest:
        """Like read, of the contents of a file called `name`."""
        try:
            values = json.loads(data)  # not msgspec's, which refuses the lone surrogates of separators and paths
            if not isinstance(values, dict) or values.get("format") != FORMAT:
                raise ValueError(f'it has no "format": "{FORMAT}"')
            if values.get("version") != VERSION:
                raise OutputError(
                    f"{name}: written by another release of pyunitok (format version {values.get('version')!r}, "
                    f"this one reads {VERSION})"
                )
            if isinstance(values.get("inputs"), list):
                values["inputs"] = [_record_values(record) for record in values["inputs"]]
            manifest = msgspec.convert(values, cls)
            manifest._check()
            manifest.inputs = [without_secrets(record) for record in manifest.inputs]  # a stranger's
        except (ValueError, RecursionError, msgspec.ValidationError) as error:  # no ValueError before msgspec 0.21
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"{name}: not a valid manifest of a token file: {error}") from None
        return manifest

    def sizes(self) -> dict[str, int]:
        """Bytes of OUT and of OUT.ends, by the end of their names."""
        return {"": self.tokens * int(self.dtype[-1]), ".ends": self.documents * 8}

    def check_sizes(self, out: Path, advice: str = "") -> None:
        """OutputError, ending with the advice, unless OUT and OUT.ends exist and are as long as the manifest says."""
        for suffix, n_bytes in self.sizes().items():
            path = out.with_name(out.name + suffix)
            if not path.exists() or path.stat().st_size != n_bytes:
                raise OutputError(f"{path} does not have the {n_bytes} bytes of its manifest{advice}")

    def _check(self) -> None:
        """ValueError or ValidationError if a field that others rely on is not what it should be."""
        for name, form in {"model": _ModelInfo, "hash": _Hash, "exported": _Exported, "shard": _Shard}.items():
            if (values := getattr(self, name)) is not None:
                msgspec.convert(values, form)
        if self.shard is not None and self.shard["index"] >= self.shard["count"]:
            raise ValueError(f"shard {self.shard['index']} of {self.shard['count']}")
        if sum(record.documents for record in self.inputs) != self.documents:
            raise ValueError("the inputs do not have as many documents as the file")
        if sum(record.tokens for record in self.inputs) != self.tokens:
            raise ValueError("the inputs do not have as many tokens as the file")
        if sum(record.text_bytes for record in self.inputs) != self.text_bytes:
            raise ValueError("the inputs do not have as many bytes of text as the file")
        for text in [text for one in self.inputs for text in (one.path, one.separator)]:
            os.fsencode(text or "")  # UnicodeEncodeError: no file has such a name, and no text such a separator


def _ratio(counted: Manifest | InputRecord) -> float | None:
    return counted.text_bytes / counted.tokens if counted.tokens else None


def _counts(counted: Manifest | InputRecord) -> dict[str, Any]:
    return {
        "bytes": counted.bytes,
        "text_bytes": counted.text_bytes,
        "documents": counted.documents,
        "tokens": counted.tokens,
        "bytes_per_token": _ratio(counted),
    }
