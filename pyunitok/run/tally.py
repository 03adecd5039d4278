"""Tally: what a run counts of its inputs, and what of that a journal keeps so that the run can be resumed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pyunitok.corpus.formats import FORMATS
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

if TYPE_CHECKING:
    from pyunitok.corpus.pipe import PipeStream


@dataclass
class Counted:
    """What has come out of one input so far; see InputRecord.

    seconds  None: an earlier run had a part in it
    error    why the file was left out as a whole; None if it was not
    """

    bytes: int = 0
    text_bytes: int = 0
    documents: int = 0
    tokens: int = 0
    skipped: int = 0
    ends_with_separator: bool | None = None
    seconds: float | None = 0.0
    error: str | None = None

    def to_json(self) -> list[Any]:
        """All but the seconds."""
        return [
            self.bytes, self.text_bytes, self.documents, self.tokens, self.skipped, self.ends_with_separator,
            self.error,
        ]  # fmt: skip

    @classmethod
    def from_json(cls, values: list[Any]) -> Counted:
        """ValueError or TypeError if these are not such values."""
        n_bytes, text_bytes, documents, tokens, skipped, ends, error = values
        counts = (n_bytes, text_bytes, documents, tokens, skipped)
        if not all(type(count) is int and 0 <= count < 1 << 60 for count in counts):
            raise ValueError("the counts of an input are not whole numbers, or too large")
        if ends not in (None, True, False):
            raise ValueError("an input ends neither with a separator nor without")
        if error is not None and not isinstance(error, str):
            raise ValueError("the error of an input is not a text")
        return cls(n_bytes, text_bytes, documents, tokens, skipped, ends, None, error)


class Tally:
    """The counts of one run.

    position   where reading resumes after what was added
    progress   sums over all inputs
    sources    the plan's, pipes among them hashed as they are read
    longest_line  the longest that may have been read
    whole      False while a block is being added, and after that failed
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._counted = [Counted() for _ in plan.sources]
        self.position = plan.before
        self.sources: Sequence[Source] = plan.sources
        self._pipes: dict[int, PipeStream] = {}
        self._watch_pipes({})
        self.progress = Progress(compressed_total=total_bytes(plan.sources))
        self.whole = True
        self.longest_line = plan.max_line_bytes
        self._added = time.monotonic()

    @contextlib.contextmanager
    def adding(self, result: Result[Encoded]) -> Iterator[None]:
        """Count a block, once its bytes were written in here."""
        self.whole = False
        yield
        progress = self.progress
        if result.source < len(self._counted):  # the last block comes after all inputs and is empty
            counted = self._counted[result.source]
            counted.bytes += result.source_bytes
            counted.text_bytes += result.text_bytes
            counted.tokens += result.value.n_ids
            counted.documents += result.n_ended
            counted.skipped += len(result.bad)
            self._add_seconds(counted)
        self.end(result.endings)
        progress.bytes += result.source_bytes
        progress.text_bytes += result.text_bytes
        progress.tokens += result.value.n_ids
        progress.documents += result.n_ended
        progress.compressed = result.compressed
        self.position = result.after
        self.whole = True

    def end(self, endings: Sequence[Ending]) -> None:
        """Note what is known of inputs that have been read."""
        for ending in endings:
            self._counted[ending.source].bytes += ending.source_bytes
            self._counted[ending.source].ends_with_separator = ending.ends_with_separator
            self.progress.bytes += ending.source_bytes

    def _add_seconds(self, counted: Counted) -> None:
        """The time since the last block goes to this one's input."""
        now = time.monotonic()
        if counted.seconds is not None:
            counted.seconds += now - self._added
        self._added = now

    def to_json(self) -> dict[str, Any]:
        """For restore(), of all that was added."""
        begun = self._counted[: self.position.source + 1]
        return {
            "bytes": self.progress.bytes,
            "position": self.position.to_json(),
            "counts": [counted.to_json() for counted in begun],
            LONGEST: self.longest_line,
            "pipes": {str(k): asdict(pipe.state()) for k, pipe in self._pipes.items()},
        }

    def restore(self, values: dict[str, Any], *, is_stale: bool = False) -> None:
        """Resume where to_json() was called.

        is_stale  the input at that position has changed since

        InputError if a pipe that was read to its end is not the same; ValueError, TypeError or KeyError if these
        are not values of this run.
        """
        position, n_sources = Position.from_json(values["position"]), len(self._counted)
        if position.source > n_sources or not position.source <= len(values["counts"]) <= position.source + 1:
            raise ValueError("its position is not in the inputs")
        known = {int(k): to_hashed(hashed) for k, hashed in values["pipes"].items()}
        restored = [Counted.from_json(counts) for counts in values["counts"]]
        if position.source < len(restored):
            before = self._plan.before if position.source == 0 else Position()
            n_documents = restored[-1].documents + restored[-1].skipped
            if (before.bytes + restored[-1].bytes, before.documents + n_documents) != (
                position.bytes, position.documents
            ):  # fmt: skip
                raise ValueError("its position is not behind what it counts")
            if not is_stale:
                self._check_place(position)
        if values["bytes"] != sum(counted.bytes for counted in restored):
            raise ValueError("its sum is not that of the inputs")
        if position.bytes or position.source:
            self.longest_line = max(self.longest_line, limit_so_far(values))
        self.position = position
        self._counted[: len(restored)] = restored[:n_sources]
        self._add_up(restored)
        self._watch_pipes(known)
        for k, pipe in self._pipes.items():
            if k < self.position.source:
                pipe.drain()

    def _check_place(self, position: Position) -> None:
        """ValueError if the input that is to be resumed cannot have such a place."""
        source = self._plan.sources[position.source] if position.source < len(self._plan.sources) else None
        if source is None or source.size_bytes is None:
            return
        is_plain = source.is_plain and not source.is_range
        if position.file_at > source.size_bytes or (is_plain and position.bytes > source.size_bytes):
            raise ValueError("its position is behind the end of an input")
        if position.file_bytes > position.bytes or position.inside > position.bytes:
            raise ValueError("its position is before what it has read")

    def before_input(self, number: int) -> Counted:
        """The sums over the inputs before this one."""
        sums = Counted()
        for counted in self._counted[:number]:
            for name in ("bytes", "text_bytes", "documents", "tokens", "skipped"):
                setattr(sums, name, getattr(sums, name) + getattr(counted, name))
        return sums

    def n_errors_before(self, number: int) -> int:
        """Lines of OUT.errors.jsonl that are of inputs before this one."""
        return sum(counted.skipped + (counted.error is not None) for counted in self._counted[:number])

    def roll_back(self, number: int) -> None:
        """Drop the results of this input and of those after it."""
        for k in range(number, len(self._counted)):
            self._counted[k] = Counted(seconds=self._counted[k].seconds)
        self.position = Position(number) if number else self._plan.before
        self._add_up(self._counted)
        self.whole = True

    def leave_out(self, number: int, error: str) -> None:
        """Pass over an input of which nothing is in the output."""
        self._counted[number].error = error
        self.position = Position(number + 1)

    def _add_up(self, items: Sequence[Counted]) -> None:
        progress = self.progress
        progress.bytes = sum(counted.bytes for counted in items)
        progress.text_bytes = sum(counted.text_bytes for counted in items)
        progress.documents = sum(counted.documents for counted in items)
        progress.tokens = sum(counted.tokens for counted in items)
        sizes = [source.size_bytes or 0 for source in self._plan.sources[: self.position.source]]
        progress.compressed = sum(sizes) + self.position.file_at

    def check_pipes(self, manifest: Manifest) -> None:
        """InputError unless the pipes among the inputs hold what those held that the manifest tells of."""
        for k, pipe in self._pipes.items():
            from pyunitok.corpus.pipe import PipeStream

            record = manifest.inputs[k]
            PipeStream(pipe, Hashed.from_all(record.bytes, record.xxh64 or [])).drain()

    def finished_records(self) -> list[InputRecord]:
        """One for each input, all read."""
        return [self._record(k, source) for k, source in enumerate(self._plan.sources)]

    def _record(self, k: int, source: Source) -> InputRecord:
        plan, counted = self._plan, self._counted[k]
        has_key = FORMATS[source.format].has_text_key
        return InputRecord(
            **asdict(source.file),
            bytes=counted.bytes,
            documents=counted.documents,
            tokens=counted.tokens,
            text_key=plan.text_key if has_key else None,
            separator=None if has_key else plan.separator_text,
            ends_with_separator=counted.ends_with_separator,
            seconds=None if counted.seconds is None else round(counted.seconds, 3),
            xxh64=self._pipes[k].state().all_digests() if k in self._pipes else None,
            skipped=counted.skipped,
            text_bytes=counted.text_bytes,
            error=counted.error,
        )

    def _watch_pipes(self, known: dict[int, Hashed]) -> None:
        """Put a PipeStream around every input that can be read only once."""
        sources = list(self._plan.sources)
        for k, source in enumerate(sources):
            if source.opened is not None and not source.is_range:
                from pyunitok.corpus.pipe import PipeStream  # here and above: few inputs are pipes

                start = self.position.bytes if k == self.position.source else 0
                self._pipes[k] = PipeStream(source.opened, known.get(k), start)
                sources[k] = replace(source, opened=self._pipes[k])
        self.sources = sources
