"""Tally counts what a run has read and written for each input. The journal stores the counts for a resumed run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import msgspec

from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.pipe import PipeStream, watched
from pyunitok.corpus.position import Position
from pyunitok.corpus.reading import Ending
from pyunitok.corpus.source import Source, total_bytes
from pyunitok.corpus.workers import Result
from pyunitok.disk.hashing import Hashed
from pyunitok.run.changes import LONGEST, limit_so_far
from pyunitok.run.encoding import Encoded
from pyunitok.run.journal import to_hashed
from pyunitok.run.plan import Plan, Progress
from pyunitok.tokens.manifest import InputRecord, Manifest

# The fields of an input's record in the journal, in this order.
JOURNAL_FIELDS = ("bytes", "text_bytes", "documents", "tokens", "skipped", "ends_with_separator", "error")
REMOVED = InputRecord("", "text", "none")  # stands for an input that was removed after it had been read in part


class Tally:
    """The counts of one run.

    position      where reading resumes after the blocks that were added
    progress      sums over all inputs
    sources       the plan's sources, with pipes hashed as they are read
    longest_line  the highest limit for a line so far
    consistent    False while a block is being added, and after an error while adding one
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._records = [self._begun(source) for source in plan.sources]
        self.position = plan.before
        self.sources: Sequence[Source] = plan.sources
        self._pipes: dict[int, PipeStream] = {}
        self._watch_pipes({})
        self.progress = Progress(compressed_total=total_bytes(plan.sources))
        self.consistent = True
        self.longest_line = plan.options.max_line_bytes
        self._added = time.monotonic()

    def _begun(self, source: Source, seconds: float | None = 0.0) -> InputRecord:
        """The record of an input before anything has been read from it."""
        has_key = FORMATS[source.format].has_text_key
        text_key, separator = self._plan.options.text_key, self._plan.separator_text
        return InputRecord(
            **asdict(source.file), text_key=text_key if has_key else None, separator=None if has_key else separator,
            seconds=seconds,
        )  # fmt: skip

    @contextlib.contextmanager
    def adding(self, result: Result[Encoded]) -> Iterator[None]:
        """Count a block. The caller writes its ids inside this context."""
        self.consistent = False
        yield
        if result.source < len(self._records):  # false for the last block, which is empty and follows all inputs
            record, now = self._records[result.source], time.monotonic()
            self._records[result.source] = replace(
                record,
                bytes=record.bytes + result.source_bytes,
                text_bytes=record.text_bytes + result.text_bytes,
                documents=record.documents + result.n_ended,
                tokens=record.tokens + result.value.n_ids,
                skipped=record.skipped + len(result.bad),
                seconds=None if record.seconds is None else record.seconds + now - self._added,
            )
            self._added = now
        self.end(result.endings)
        self.progress.add(Progress(result.source_bytes, result.text_bytes, result.value.n_ids, result.n_ended))
        self.progress.compressed = result.compressed
        self.position = result.after
        self.consistent = True

    def end(self, endings: Sequence[Ending]) -> None:
        """Record the ends of inputs."""
        for ending in endings:
            record = self._records[ending.source]
            self._records[ending.source] = replace(
                record, bytes=record.bytes + ending.source_bytes, ends_with_separator=ending.ends_with_separator
            )
            self.progress.bytes += ending.source_bytes

    def to_json(self) -> dict[str, Any]:
        """The state for restore()."""
        begun = self._records[: self.position.source + 1]
        return {
            "bytes": self.progress.bytes,
            "position": self.position.to_json(),
            "counts": [[getattr(record, name) for name in JOURNAL_FIELDS] for record in begun],
            LONGEST: self.longest_line,
            "pipes": {str(k): asdict(pipe.state()) for k, pipe in self._pipes.items()},
        }

    def restore(self, values: dict[str, Any], *, is_stale: bool = False) -> None:
        """Restore the state from to_json().

        is_stale  whether the input at the stored position has changed since then

        Raises InputError if a pipe that was read to its end has changed; ValueError, TypeError or KeyError if the
        values do not match this run.
        """
        position, counts, n_sources = Position.from_json(values["position"]), values["counts"], len(self._records)
        if position.source > n_sources or not position.source <= len(counts) <= position.source + 1:
            raise ValueError("its position is outside the inputs")
        known = {int(k): to_hashed(hashed) for k, hashed in values["pipes"].items()}
        restored = [
            replace(record, seconds=None, **_checked(fields))  # the time of the earlier run is unknown
            for record, fields in zip([*self._records, REMOVED], counts, strict=False)
        ]
        if position.source < len(restored):
            before = self._plan.before if position.source == 0 else Position()
            n_documents = restored[-1].documents + restored[-1].skipped
            if (before.bytes + restored[-1].bytes, before.documents + n_documents) != (
                position.bytes, position.documents
            ):  # fmt: skip
                raise ValueError("its position does not match its counts")
            if not is_stale:
                self._check_place(position)
        if values["bytes"] != sum(record.bytes for record in restored):
            raise ValueError("its total differs from the sum of its counts")
        if position.bytes or position.source:
            self.longest_line = max(self.longest_line, limit_so_far(values))
        self.position = position
        self._records[: len(restored)] = restored[:n_sources]
        self._add_up(restored)
        self._watch_pipes(known)
        for k, pipe in self._pipes.items():
            if k < self.position.source:
                pipe.drain()

    def _check_place(self, position: Position) -> None:
        """Raise ValueError if this position cannot exist in its input."""
        source = self._plan.sources[position.source] if position.source < len(self._plan.sources) else None
        if source is None or source.size_bytes is None:
            return
        is_plain = source.is_plain and not source.is_range
        if position.file_at > source.size_bytes or (is_plain and position.bytes > source.size_bytes):
            raise ValueError("its position is past the end of an input")
        if position.file_bytes > position.bytes or position.inside > position.bytes:
            raise ValueError("its position is inconsistent")

    def before_input(self, number: int) -> Progress:
        """The sums over the inputs before this one."""
        return _sums(self._records[:number])

    def n_errors_before(self, number: int) -> int:
        """The number of lines in OUT.errors.jsonl for inputs before this one."""
        return sum(record.skipped + (record.error is not None) for record in self._records[:number])

    def roll_back(self, number: int) -> None:
        """Reset the counts of this input and of later inputs."""
        for k in range(number, len(self._records)):
            self._records[k] = self._begun(self._plan.sources[k], self._records[k].seconds)
        self.position = Position(number) if number else self._plan.before
        self._add_up(self._records)
        self.consistent = True

    def leave_out(self, number: int, error: str) -> None:
        """Skip an input that has no output."""
        self._records[number] = replace(self._records[number], error=error)
        self.position = Position(number + 1)

    def _add_up(self, records: Sequence[InputRecord]) -> None:
        sizes = [source.size_bytes or 0 for source in self._plan.sources[: self.position.source]]
        self.progress = replace(
            _sums(records),
            compressed=sum(sizes) + self.position.file_at,
            compressed_total=self.progress.compressed_total,
        )

    def check_pipes(self, manifest: Manifest) -> None:
        """Raise InputError if the contents of a pipe differ from the hashes in the manifest."""
        for k, pipe in self._pipes.items():
            record = manifest.inputs[k]
            PipeStream(pipe, Hashed.from_all(record.bytes, record.xxh64 or [])).drain()

    def finished_records(self) -> list[InputRecord]:
        """The records of all inputs, after all have been read."""
        digests = {k: pipe.state().all_digests() for k, pipe in self._pipes.items()}
        return [
            replace(record, seconds=record.seconds and round(record.seconds, 3), xxh64=digests.get(k))
            for k, record in enumerate(self._records)
        ]

    def _watch_pipes(self, known: dict[int, Hashed]) -> None:
        """Wrap every input that can be read only once in a PipeStream."""
        self.sources, self._pipes = watched(self._plan.sources, known, self.position)


def _sums(records: Sequence[InputRecord]) -> Progress:
    names = ("bytes", "text_bytes", "tokens", "documents")
    return Progress(*(sum(getattr(record, name) for record in records) for name in names))


def _checked(values: list[Any]) -> dict[str, Any]:
    """The fields of a record from the journal. Raises ValueError or TypeError if they are invalid."""
    fields = dict(zip(JOURNAL_FIELDS, values, strict=True))
    msgspec.convert(asdict(REMOVED) | fields, InputRecord)
    return fields
