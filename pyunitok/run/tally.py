"""Tally: what a run counts of its inputs as it goes, and what of that a journal keeps so that another run can go on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pyunitok.corpus.inputs import Source
from pyunitok.corpus.pipe import PipeStream
from pyunitok.corpus.position import Position
from pyunitok.corpus.workers import Result
from pyunitok.disk.hashing import Hashed
from pyunitok.disk.journal import Identity, InputIdentity, to_hashed
from pyunitok.run.encoding import Encoded
from pyunitok.tokens.manifest import InputRecord, Manifest

if TYPE_CHECKING:
    from pyunitok.run.pipeline import Plan


@dataclass
class Progress:
    """How far it is: decompressed bytes, tokens and documents written; compressed bytes read, and of how many."""

    bytes: int = 0
    tokens: int = 0
    documents: int = 0
    compressed: int = 0
    compressed_total: int | None = None  # None: unknown, as of a pipe


class Tally:
    """The counts of one run.

    position   where reading goes on after what was added
    progress   sums over all inputs
    sources    the plan's, pipes among them hashed as they are read
    whole      False while a block is being added, and after that failed
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._records = [_record(source, plan) for source in plan.sources]
        self.position = plan.before
        self.sources: Sequence[Source] = plan.sources
        self._pipes: dict[int, PipeStream] = {}
        self._watch_pipes({})
        sizes = [source.size_bytes for source in plan.sources]
        total = None if None in sizes else sum(size for size in sizes if size is not None)
        self.progress = Progress(compressed_total=total)
        self.whole = True
        self._seconds: list[float | None] = [0.0] * len(self._records)  # None: an earlier run had a part in it
        self._added = time.monotonic()

    def identity(self) -> Identity:
        """What decides the output of this run."""
        plan = self._plan
        options = {
            "model sha256": plan.tokenizer.sha256,
            "algorithm": plan.tokenizer.algorithm,
            "eod": plan.eod_id,
            "dtype": plan.dtype.str,
            "separator": None if plan.separator is None else plan.separator.decode("utf-8", "surrogateescape"),
            "text key": plan.text_key,
            "metadata": plan.metadata,
            "on error": "skip" if plan.skip_bad else "raise",
            "longest line": plan.max_line_bytes if plan.skip_bad else None,  # longer ones are skipped
        }
        options |= {"sample": plan.sample.to_json()} if plan.sample else {}
        options |= plan.shard.options() if plan.shard else {}
        return Identity(options, [InputIdentity.of(record) for record in self._records])

    @contextlib.contextmanager
    def adding(self, result: Result[Encoded]) -> Iterator[None]:
        """Count a block, once its bytes were written in here."""
        self.whole = False
        yield
        progress = self.progress
        if result.source < len(self._records):  # the last block stands behind all inputs and is empty
            record = self._records[result.source]
            record.bytes += result.source_bytes
            record.tokens += result.value.n_ids
            record.documents += result.n_ended
            record.skipped += len(result.bad)
            self._add_seconds(result.source)
        for ending in result.endings:
            self._records[ending.source].bytes += ending.source_bytes
            self._records[ending.source].ends_with_separator = ending.ends_with_separator
        progress.bytes += result.source_bytes + sum(ending.source_bytes for ending in result.endings)
        progress.tokens += result.value.n_ids
        progress.documents += result.n_ended
        progress.compressed = result.compressed
        self.position = result.after
        self.whole = True

    def _add_seconds(self, number: int) -> None:
        """The time since the last block goes to this one's input."""
        now, seconds = time.monotonic(), self._seconds[number]
        if seconds is not None:
            self._seconds[number] = seconds + now - self._added
        self._added = now

    def to_json(self) -> dict[str, Any]:
        """For restore(), of all that was added."""
        begun = self._records[: self.position.source + 1]
        return {
            "bytes": self.progress.bytes,
            "position": self.position.to_json(),
            "counts": [[r.bytes, r.documents, r.tokens, r.skipped, r.ends_with_separator] for r in begun],
            "pipes": {str(k): asdict(pipe.state()) for k, pipe in self._pipes.items()},
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Go on where to_json() was called. InputError where a pipe that was read to its end is not the same."""
        self.position = Position.from_json(values["position"])
        progress = self.progress
        for record, counts in zip(self._records, values["counts"], strict=False):
            record.bytes, record.documents, record.tokens, record.skipped, record.ends_with_separator = counts
            progress.bytes += record.bytes
            progress.documents += record.documents
            progress.tokens += record.tokens
        self._seconds[: len(values["counts"])] = [None] * len(values["counts"])
        self._watch_pipes({int(k): to_hashed(hashed) for k, hashed in values["pipes"].items()})
        for k, pipe in self._pipes.items():
            if k < self.position.source:
                pipe.drain()

    def check_pipes(self, manifest: Manifest) -> None:
        """InputError unless the pipes among the inputs hold what those held that the manifest tells of."""
        for k, pipe in self._pipes.items():
            record = manifest.inputs[k]
            PipeStream(pipe, Hashed.from_all(record.bytes, record.xxh64 or [])).drain()

    def finished_records(self) -> list[InputRecord]:
        """One for each input, all read."""
        for record, seconds in zip(self._records, self._seconds, strict=True):
            record.seconds = None if seconds is None else round(seconds, 3)
        for k, pipe in self._pipes.items():
            self._records[k].xxh64 = pipe.state().all_digests()
        return self._records

    def _watch_pipes(self, known: dict[int, Hashed]) -> None:
        """Put a PipeStream around every input that can be read only once."""
        sources = list(self._plan.sources)
        for k, source in enumerate(sources):
            if source.opened is not None and not source.is_range:
                start = self.position.bytes if k == self.position.source else 0
                self._pipes[k] = PipeStream(source.opened, known.get(k), start)
                sources[k] = replace(source, opened=self._pipes[k])
        self.sources = sources


def _record(source: Source, plan: Plan) -> InputRecord:
    record = InputRecord(
        source.path, source.format, source.compression, source.size_bytes, source.mtime_ns, source.etag
    )
    if source.format in ("jsonl", "parquet"):
        record.text_key = plan.text_key
    elif plan.separator is not None:
        record.separator = plan.separator.decode("utf-8", "surrogateescape")
    return record


def statistics(manifest: Manifest) -> dict[str, Any]:
    """Of a finished token file, for --stats-json: the sums, and the same of each input.

    bytes are of decompressed text; seconds are of wall time in which the blocks of an input were those waited for, None
    where an earlier run did a part of it.
    """

    def row(counted: Manifest | InputRecord) -> dict[str, Any]:
        ratio = counted.bytes / counted.tokens if counted.tokens else None
        counts = {"bytes": counted.bytes, "documents": counted.documents, "tokens": counted.tokens}
        return counts | {"bytes_per_token": ratio}

    inputs = [
        {"path": record.path, "format": record.format, "compression": record.compression, "file_bytes": record.size}
        | row(record)
        | {"skipped": record.skipped, "seconds": record.seconds}
        for record in manifest.inputs
    ]
    return row(manifest) | {"inputs": inputs}
