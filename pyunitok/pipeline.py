"""tokenize(): corpus files through threads into a token file, in constant memory.

    worker:  take the reading turn, fill a block (decompress, find documents) ─▶ give the turn on, encode the block ─┐
    worker:        …waits for the turn…            fill the next block        ─▶ encode it                          ─┤
    main:    ◀─ results in the order of their blocks ─ write ids, ends; hash; progress ◀──────────────────────────────┘

Reading is serial by nature, encoding is not. Each worker does both for its block, so the bytes it encodes are still
in its core's cache, no thread idles while there is either to do, and one thread means one core. Blocks are cut where
the encoder proves that no id depends on it, so the output does not depend on threads or block size.

Memory: threads × block, and the ids of at most 2 × threads blocks and of AHEAD_BYTES of text that wait for the writer;
besides what the readers hold: the zstd window and the longest line.
"""

from __future__ import annotations

import hashlib
import threading
import time
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
from pyunitok.corpus import stream
from pyunitok.corpus.block import Block, ByteStream, DocumentReader
from pyunitok.corpus.inputs import Source
from pyunitok.corpus.jsonl import JsonlReader
from pyunitok.corpus.text import TextReader
from pyunitok.errors import OutputError
from pyunitok.outfile import HASH_CHUNK_BYTES, OutFile, check_target, partial_name, sync_folder, write_whole
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens import InputRecord, Manifest, sidecars

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 256 << 20
# Text that may be encoded and not yet written, besides two blocks a thread, so that a slow write stops nobody.
AHEAD_BYTES = 16 << 20
MIN_BLOCK_BYTES = 1 << 16  # smaller blocks work, and count as so large


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


@dataclass
class Progress:
    """How far it is: decompressed bytes, tokens and documents written; compressed bytes read, and of how many."""

    bytes: int = 0
    tokens: int = 0
    documents: int = 0
    compressed: int = 0
    compressed_total: int | None = None  # None: unknown, as of a pipe


@dataclass
class _Encoded:
    """One block's result. ends: of the documents that end in it, in tokens from its start."""

    source: int
    ids: np.ndarray[Any, np.dtype[np.uint16]]
    n_ids: int
    ends: np.ndarray[Any, np.dtype[np.int64]]
    source_bytes: int
    compressed: int


class _Inputs:
    """All inputs as one sequence of blocks. Not thread-safe: whoever holds the reading turn calls fill()."""

    def __init__(self, plan: Plan, records: list[InputRecord]) -> None:
        self._plan = plan
        self._records = records
        self._source = -1
        self._stream: ByteStream | None = None
        self._reader: DocumentReader | None = None
        self._compressed_before = 0
        self.unseen_bytes = [0] * len(plan.sources)  # read after an input's last block: blank lines at its end

    def fill(self, block: Block) -> int | None:
        """Fill the block from the input whose number is returned; None when all are read."""
        while True:
            if self._reader is not None:
                if self._reader.fill(block):
                    return self._source
                self.unseen_bytes[self._source] += block.source_bytes
            self._finish_source()
            if self._source + 1 == len(self._plan.sources):
                return None
            self._source += 1
            self._open(self._plan.sources[self._source])

    def _open(self, source: Source) -> None:
        plan, split = self._plan, self._plan.tokenizer.split
        self._stream = stream.open(source)
        if source.format == "jsonl":
            self._reader = JsonlReader(self._stream, plan.text_key, split, plan.max_line_bytes)
        else:
            self._reader = TextReader(self._stream, plan.separator, split)

    def _finish_source(self) -> None:
        if self._reader is not None:
            self._records[self._source].ends_with_separator = self._reader.ends_with_separator
        self.close()

    def compressed_position(self) -> int:
        return self._compressed_before + (self._stream.compressed_position() if self._stream else 0)

    def close(self) -> None:
        if self._stream is not None:
            self._compressed_before += self._stream.compressed_position()
            self._stream.close()
        self._stream = self._reader = None


class _Workers:
    """Threads that read in turn and encode side by side; results() gives their blocks in order."""

    def __init__(self, plan: Plan, inputs: _Inputs) -> None:
        self._plan, self._inputs = plan, inputs
        self._turn = threading.Lock()
        self._changed = threading.Condition()
        self._results: dict[int, _Encoded | BaseException | None] = {}
        self._failure: BaseException | None = None  # of a worker that held no block
        self._n_filled = self._n_taken = 0
        self._stop = False
        self._idle: list[np.ndarray[Any, np.dtype[np.uint16]]] = []
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(plan.threads)]

    def __enter__(self) -> _Workers:
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:  # no more threads to be had: let go those that run
            self.__exit__(True)
            raise
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        deadline = time.monotonic() + 1.0
        started = [thread for thread in self._threads if thread.ident is not None]
        for thread in started:
            # After an error one may wait for input that never comes (a pipe); as a daemon it may be left behind.
            thread.join(None if failure is None else max(0.0, deadline - time.monotonic()))
        if not any(thread.is_alive() for thread in started):
            self._inputs.close()

    def results(self) -> Any:
        """Yield _Encoded blocks in the order of the input; raise what a worker raised, after the blocks before it."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._n_taken in self._results or self._failure)
                if self._failure:
                    raise self._failure
                result = self._results.pop(self._n_taken)
                self._n_taken += 1
                self._changed.notify_all()
            if result is None:
                return
            if isinstance(result, BaseException):
                raise result
            yield result
            self._idle.append(result.ids)

    def _deliver(self, number: int, result: _Encoded | BaseException | None) -> None:
        with self._changed:
            self._results[number] = result
            self._changed.notify_all()

    def _work(self) -> None:
        limit = 2 * len(self._threads) + AHEAD_BYTES // max(self._plan.block_bytes, MIN_BLOCK_BYTES)
        number = -1
        try:
            scratch = _ffi.Scratch(self._plan.tokenizer.model)
            block = Block(np.empty(self._plan.block_bytes, np.uint8))
            while True:
                with self._turn:
                    with self._changed:
                        self._changed.wait_for(lambda: self._stop or self._n_filled - self._n_taken < limit)
                        number = self._n_filled
                        self._n_filled += 1
                    if self._stop:
                        return
                    source = self._inputs.fill(block)
                    compressed = self._inputs.compressed_position()
                    if source is None:
                        self._stop = True  # the others find it when their turn comes
                        break
                self._deliver(number, self._encode(scratch, block, source, compressed))
            self._deliver(number, None)
        except BaseException as error:
            self._stop = True
            if number < 0:
                self._failure = error
            self._deliver(number, error)

    def _encode(self, scratch: _ffi.Scratch, block: Block, source: int, compressed: int) -> _Encoded:
        n_docs = block.n_docs
        offsets = block.offsets[: n_docs + 1]
        room = int(offsets[-1]) + n_docs + _ffi.ENCODE_SLACK
        try:
            ids = self._idle.pop()
        except IndexError:
            ids = np.empty(0, np.uint16)
        if len(ids) < room:
            ids = np.empty(max(room, self._plan.block_bytes + 4096), np.uint16)
        id_offsets = np.empty(n_docs + 1, np.int64)
        eod_id = -1 if self._plan.eod_id is None else self._plan.eod_id
        n_ids = scratch.encode_batch(block.data, offsets, ids, id_offsets, eod_id=eod_id, open_end=block.open_end)
        ends = id_offsets[1 : n_docs + 1 - block.open_end]
        return _Encoded(source, ids, n_ids, ends, block.source_bytes, compressed)


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

    def append(self, encoded: _Encoded) -> None:
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
        inputs = _Inputs(plan, records)
        workers = stack.enter_context(_Workers(plan, inputs))
        for encoded in workers.results():
            output.append(encoded)
            record = records[encoded.source]
            record.bytes += encoded.source_bytes
            record.tokens += encoded.n_ids
            record.documents += len(encoded.ends)
            progress.bytes += encoded.source_bytes
            progress.tokens, progress.documents = output.tokens, output.documents
            progress.compressed = encoded.compressed
            if on_progress:
                on_progress(progress)
        for record, n_bytes in zip(records, inputs.unseen_bytes, strict=True):
            record.bytes += n_bytes
            progress.bytes += n_bytes
        manifest = _manifest(plan, model, records, progress)
        output.commit(manifest)
    return manifest


def _record(source: Source, plan: Plan) -> InputRecord:
    record = InputRecord(source.path, source.format, source.compression, source.size_bytes)
    if source.format == "jsonl":
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
