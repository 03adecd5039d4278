"""Reads and writes OUT.json, the manifest of a token file, which describes how the file was made and how to restore its
inputs.

A manifest may come from an untrusted source. Manifest.parse validates the type and the range of every field, so code
that uses a Manifest need not check them again.
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
# Optional sidecar files of OUT; see metadata.py.
METADATA_SUFFIX, ERRORS_SUFFIX = ".meta.jsonl.zst", ".errors.jsonl"

StrPath = str | os.PathLike[str]
Id = Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]
Separator = Annotated[str, Meta(min_length=1)]
Dtype = Annotated[str, Meta(pattern="^<u[24]$")]
Seconds = Annotated[float, Meta(ge=0)]


def sidecars(out: StrPath) -> tuple[Path, Path]:
    """The paths of OUT.ends and OUT.json."""
    return Path(f"{os.fspath(out)}.ends"), Path(f"{os.fspath(out)}.json")


def is_token_file(path: str | os.PathLike[str]) -> bool:
    """Whether the file has an OUT.ends, or an OUT.json that is a manifest and not some other JSON."""
    ends, manifest = sidecars(path)
    try:
        return ends.exists() or bool(json.loads(manifest.read_bytes())["format"] == FORMAT)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


@dataclass(frozen=True)
class InputRecord(InputFile):
    """One input in the manifest: the file and the counts of its documents.

    bytes       bytes of the decompressed file
    text_bytes  bytes of the documents' text, without separators or JSON syntax
    """

    bytes: Count = 0
    documents: Count = 0
    tokens: Count = 0
    text_key: str | None = None  # jsonl, parquet: the field that contains the text
    separator: Separator | None = None  # text: the document separator (invalid UTF-8 as lone surrogates)
    ends_with_separator: bool | None = None
    seconds: Seconds | None = None  # wall time; None if an earlier run processed part of the input
    xxh64: list[str] | None = None  # hash of each 64 MiB of decompressed text, if read from a pipe
    skipped: Count = 0  # invalid documents that were skipped
    text_bytes: Count = 0
    error: str | None = None  # the reason, if the file was skipped as damaged
    abridged: bool = False  # whether `duplicates --drop` removed text from its documents

    def to_json(self) -> dict[str, Any]:
        values = {"size" if name == "size_bytes" else name: value for name, value in asdict(self).items()}
        if self.secrets_sha256 is None:
            del values["secrets_sha256"]
        return values


def _record_values(values: Any) -> Any:
    """The values of a record from to_json(), with the keys renamed to attribute names."""
    if not isinstance(values, dict):
        return values
    return {"size_bytes" if name == "size" else name: value for name, value in values.items()}


@dataclass
class _Shard:
    """The schema of `shard`, with the fields of run.shard.RunShard.

    max_line_bytes  the length of the longest line read
    """

    index: Count
    count: Annotated[int, Meta(ge=1, le=MAX_SHARDS)]
    first_input: Count
    all_inputs: str
    range: tuple[Count, Count | None] | None = None
    max_line_bytes: Count | None = None


@dataclass
class _Exported:
    """The schema of `exported`, an export by tokenize --format; `files` is None if the export has not finished."""

    wanted: dict[str, Any]
    files: dict[str, Count] | None = None


@dataclass
class _ModelInfo:
    """The schema of `model`."""

    name: str | None = None
    path: str | None = None
    sha256: str | None = None


@dataclass
class _Hash:
    """The schema of `hash`, which is empty until the hashes are known."""

    algorithm: str = ""
    chunk_bytes: Count = 0
    tokens: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)


@dataclass
class Manifest:
    """OUT.json. `hash` contains the XXH64 of each 64 MiB of OUT and OUT.ends, in hexadecimal."""

    model: dict[str, Any]  # name, path, sha256 of the vocabulary, file_sha256
    eod: Id | None
    tokens: Count
    documents: Count
    bytes: Count  # size of the decompressed inputs
    inputs: list[InputRecord]
    hash: dict[str, Any]
    dtype: Dtype = "<u2"
    algorithm: str = ALGORITHM
    sample: dict[str, Any] | None = None  # alpha, seed, nbest and method of a sampled file
    created: str = ""
    pyunitok: str = ""
    run: dict[str, Any] | None = None  # the options that determine the output; see run.identity.Identity
    shard: dict[str, Any] | None = None  # a run.shard.RunShard if this is one shard of a run
    exported: dict[str, Any] | None = None  # the export of this file by tokenize --format
    format: str = FORMAT
    version: int = VERSION
    text_bytes: Count = 0  # size of the documents' text

    @classmethod
    def of(
        cls, inputs: Sequence[InputRecord], *, model: dict[str, Any], eod: int | None, dtype: str, algorithm: str,
        sample: dict[str, Any] | None = None, run: dict[str, Any] | None = None, shard: dict[str, Any] | None = None,
    ) -> Manifest:  # fmt: skip
        """A manifest without hashes, for a token file made now from these inputs by this version."""
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
        """The size of the decompressed inputs, including JSON syntax and separators."""
        return self.bytes

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text per token; None if there are no tokens."""
        return _ratio(self)

    def statistics(self) -> dict[str, Any]:
        """The totals and the counts of each input, for --stats-json.

        `bytes` is the size of the decompressed files, and `text_bytes` the size of the text in them. `seconds` is the
        wall time during which the run waited for blocks of an input; None if an earlier run processed part of the
        input.
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
        """Read a manifest. Raises OutputError if the file is not a manifest or has a different format version."""
        return cls.parse(path.read_bytes(), str(path))

    @classmethod
    def parse(cls, data: builtins.bytes, name: str) -> Manifest:
        """Like read, but for the contents of a manifest; errors mention `name`."""
        try:
            values = json.loads(data)  # msgspec rejects the lone surrogates of separators and paths
            if not isinstance(values, dict) or values.get("format") != FORMAT:
                raise ValueError(f'it has no "format": "{FORMAT}"')
            if values.get("version") != VERSION:
                raise OutputError(
                    f"{name}: written by another release of pyunitok (format version {values.get('version')!r}, "
                    f"but this one reads {VERSION})"
                )
            if isinstance(values.get("inputs"), list):
                values["inputs"] = [_record_values(record) for record in values["inputs"]]
            manifest = msgspec.convert(values, cls)
            manifest._check()
            manifest.inputs = [without_secrets(record) for record in manifest.inputs]  # the manifest is untrusted
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"{name}: not a valid manifest of a token file: {error}") from None
        return manifest

    def sizes(self) -> dict[str, int]:
        """The sizes of OUT and OUT.ends in bytes, keyed by suffix."""
        return {"": self.tokens * int(self.dtype[-1]), ".ends": self.documents * 8}

    def check_sizes(self, out: Path, advice: str = "") -> None:
        """Raise OutputError, ending with the advice, unless OUT and OUT.ends exist and have the sizes in the
        manifest."""
        for suffix, n_bytes in self.sizes().items():
            path = out.with_name(out.name + suffix)
            if not path.exists() or path.stat().st_size != n_bytes:
                raise OutputError(f"{path} does not have the size in its manifest, {n_bytes} bytes{advice}")

    def _check(self) -> None:
        """Raise ValueError or ValidationError if a field that other code relies on is invalid."""
        for name, form in {"model": _ModelInfo, "hash": _Hash, "exported": _Exported, "shard": _Shard}.items():
            if (values := getattr(self, name)) is not None:
                msgspec.convert(values, form)
        if self.shard is not None and self.shard["index"] >= self.shard["count"]:
            raise ValueError(f"there is no shard {self.shard['index']} of {self.shard['count']}")
        if sum(record.documents for record in self.inputs) != self.documents:
            raise ValueError("the documents of the inputs do not add up to those of the file")
        if sum(record.tokens for record in self.inputs) != self.tokens:
            raise ValueError("the tokens of the inputs do not add up to those of the file")
        if sum(record.text_bytes for record in self.inputs) != self.text_bytes:
            raise ValueError("the text bytes of the inputs do not add up to those of the file")
        for text in [text for one in self.inputs for text in (one.path, one.separator)]:
            os.fsencode(text or "")  # UnicodeEncodeError if it cannot be a file name or a separator


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
