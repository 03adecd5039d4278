"""tokenize(): corpus files through threads into a token file, in constant memory.

    reading.py ──▶ encoded blocks in the order of the input ──▶ _Output: ids, ends, hashes ──▶ commit

How blocks are read and encoded side by side, and how much memory that takes, reading.py says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

import pyunitok
from pyunitok import _ffi
from pyunitok.batch import available_cores
from pyunitok.corpus.inputs import Source
from pyunitok.errors import OutputError
from pyunitok.outfile import HASH_CHUNK_BYTES, OutFile, check_target, partial_name, sync_folder, write_whole
from pyunitok.reading import Encoded, Inputs, Workers
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens import InputRecord, Manifest, sidecars

UINT16 = np.dtype("<u2")
BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 256 << 20


@dataclass(frozen=True)
class Plan:
    """What to do, decided before anything is read."""

    sources: Sequence[Source]
    out: Path
    tokenizer: Tokenizer
    eod_id: int | None
    separator: bytes | None = None  # text: None makes each file one document
    text_key: str = "text"
    threads: int = field(default_factory=available_cores)
    block_bytes: int = BLOCK_BYTES
    max_line_bytes: int = MAX_LINE_BYTES
    overwrite: bool = False
    dtype: np.dtype[Any] = UINT16  # of the ids


@dataclass
class Progress:
    """How far it is: decompressed bytes, tokens and documents written; compressed bytes read, and of how many."""

    bytes: int = 0
    tokens: int = 0
    documents: int = 0
    compressed: int = 0
    compressed_total: int | None = None  # None: unknown, as of a pipe


class _Output:
    """OUT and OUT.ends while they grow, under names ending in .partial, and the commit that gives them their own."""

    def __init__(self, plan: Plan) -> None:
        self._paths = [plan.out, *sidecars(plan.out)]
        for path in self._paths:
            check_target(path, overwrite=plan.overwrite)
        self._ids = OutFile(partial_name(self._paths[0]))
        try:
            self._ends = OutFile(partial_name(self._paths[1]))
        except BaseException:
            self._ids.close()
            raise
        self.tokens = 0
        self.documents = 0

    def append(self, encoded: Encoded) -> None:
        self._ids.write(encoded.ids[: encoded.n_ids].view(np.uint8).data)
        self._ends.write((encoded.ends + self.tokens).view(np.uint8).data)
        self.tokens += encoded.n_ids
        self.documents += len(encoded.ends)

    def commit(self, manifest: Manifest) -> None:
        """Data to disk first, then the names: ends, manifest, and OUT last, so that OUT under its name is whole, also
        after a loss of power."""
        manifest.hash = {"algorithm": "xxh64", "chunk_bytes": HASH_CHUNK_BYTES}
        manifest.hash |= {"tokens": self._ids.finish(), "ends": self._ends.finish()}
        out, ends, described = self._paths
        out.unlink(missing_ok=True)  # an older OUT must never stand beside new sidecars
        sync_folder(out.parent)
        partial_name(ends).replace(ends)
        write_whole(described, manifest.to_json())
        sync_folder(out.parent)
        partial_name(out).replace(out)
        sync_folder(out.parent)

    def close(self) -> None:
        self._ids.close()
        self._ends.close()


def tokenize(plan: Plan, on_progress: Callable[[Progress], None] | None = None) -> Manifest:
    """Carry out the plan; the token file's manifest. on_progress is called after each block, from this thread.

    InputError names the file and the line or byte where an input is broken; what was written until then stays in
    OUT.partial. OutputError if OUT exists or cannot be written. The head of this file says how much memory it takes.
    """
    if plan.eod_id is not None and not 0 <= plan.eod_id <= _ffi.ID_MAX:
        raise OutputError(f"the eod id {plan.eod_id} is not within 0..{_ffi.ID_MAX}")
    records = [_record(source, plan) for source in plan.sources]
    model = _describe_model(plan.tokenizer)
    sizes = [source.size_bytes for source in plan.sources]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    progress = Progress(compressed_total=total)
    with ExitStack() as stack:
        output = _Output(plan)
        stack.callback(output.close)
        workers = stack.enter_context(Workers(plan, Inputs(plan)))
        for encoded in workers.results():
            output.append(encoded)
            _account(records, encoded)
            progress.bytes += encoded.source_bytes + sum(ending.source_bytes for ending in encoded.endings)
            progress.tokens, progress.documents = output.tokens, output.documents
            progress.compressed = encoded.compressed
            if on_progress:
                on_progress(progress)
        manifest = _manifest(plan, model, records, progress)
        output.commit(manifest)
    return manifest


def _account(records: list[InputRecord], encoded: Encoded) -> None:
    """Add a block to its input's record, and to theirs what is known of inputs that have ended."""
    if encoded.source < len(records):  # the last block stands behind all inputs and is empty
        record = records[encoded.source]
        record.bytes += encoded.source_bytes
        record.tokens += encoded.n_ids
        record.documents += len(encoded.ends)
    for ending in encoded.endings:
        records[ending.source].bytes += ending.source_bytes
        records[ending.source].ends_with_separator = ending.ends_with_separator


def _record(source: Source, plan: Plan) -> InputRecord:
    record = InputRecord(source.path, source.format, source.compression, source.size_bytes)
    if source.format in ("jsonl", "parquet"):
        record.text_key = plan.text_key
    elif plan.separator is not None:
        record.separator = plan.separator.decode("utf-8", "surrogateescape")
    return record


def _describe_model(tokenizer: Tokenizer) -> dict[str, Any]:
    """What the manifest says of the model; read before the run, which may take days."""
    file_sha256 = hashlib.sha256(Path(tokenizer.path).read_bytes()).hexdigest() if tokenizer.path else None
    return {
        "name": tokenizer.name,
        "path": str(Path(tokenizer.path).resolve()) if tokenizer.path else None,
        "sha256": tokenizer.sha256,
        "file_sha256": file_sha256,
    }


def _manifest(plan: Plan, model: dict[str, Any], records: list[InputRecord], progress: Progress) -> Manifest:
    return Manifest(
        model=model,
        eod=plan.eod_id,
        tokens=progress.tokens,
        documents=progress.documents,
        bytes=progress.bytes,
        inputs=records,
        hash={},
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        pyunitok=pyunitok.__version__,
    )
