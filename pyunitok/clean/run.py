"""CleanRun reads a corpus with workers and writes their results, with checkpoints.

    block ──▶ work(), in any thread ──▶ BlockResult ──▶ state.add(), CleanOutput, in order
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from pyunitok.clean.output import CleanOutput
from pyunitok.corpus.block import Block
from pyunitok.corpus.pipe import watched
from pyunitok.corpus.position import Position
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.corpus.rewriting import Written
from pyunitok.corpus.source import Source, total_bytes
from pyunitok.corpus.workers import Result, Workers
from pyunitok.disk.hashing import Hashed
from pyunitok.errors import OutputError
from pyunitok.interrupts import Interrupts
from pyunitok.run.plan import Progress

REPORT, ERRORS = "report", "errors"
OnProgress = Callable[[Progress], None]


class BlockResult(Protocol):
    """The output for a block.

    written  the block's part of CLEAN; None if no corpus is written
    report   compressed lines of the report
    """

    @property
    def written(self) -> Written | None: ...

    @property
    def report(self) -> bytes: ...


T = TypeVar("T", bound=BlockResult)


class RunState(Protocol[T]):
    """The progress of a run, which the journal stores.

    position       where reading resumes
    pipes          the hash of the data read from each pipe, indexed by the number of the input
    is_consistent  False while a block is being added, and after an error while adding one
    is_writing     whether results are written, or only added to the state
    """

    position: Position
    progress: Progress
    pipes: dict[int, Hashed]
    is_consistent: bool

    @property
    def is_writing(self) -> bool: ...

    def add(self, result: Result[T]) -> None:
        """Count a block, and move the position past it."""

    def to_json(self) -> dict[str, Any]: ...


class CleanRun(Generic[T]):
    """Reads the inputs of a run or of one part, adds results to the state and the output, and makes checkpoints."""

    def __init__(
        self, sources: Sequence[Source], options: ReadingOptions, state: RunState[T], output: CleanOutput,
        interrupts: Interrupts,
    ) -> None:  # fmt: skip
        self._sources, self._options = sources, options
        self._state, self._output, self._interrupts = state, output, interrupts
        opened, self._pipes = watched(sources, state.pipes, state.position)
        for number, pipe in self._pipes.items():
            if number < state.position.source:
                pipe.drain()
        self._reading = Reading(opened, options)

    def read(self, work: Callable[[Block], T], on_progress: OnProgress, *, whole_rows: bool = False) -> None:
        """Process all blocks from the state's position on, and add the results in order."""
        state, held = self._state, list[Result[T]]()
        state.progress.compressed_total = total_bytes(self._sources)
        with Workers(replace(self._reading, whole_rows=whole_rows), work, state.position) as workers:
            for result in workers.results():
                held.append(result)
                if result.value.written is None or result.value.written.is_end:
                    with self._interrupts.held():
                        self._add(held)
                        held = []
                        if self._output.is_due(state.progress.bytes):
                            self.checkpoint()
                    on_progress(state.progress)

    def checkpoint(self) -> None:
        self._state.pipes = {number: pipe.state() for number, pipe in self._pipes.items()}
        self._output.checkpoint(self._state.to_json())

    @contextlib.contextmanager
    def last_checkpoint(self) -> Iterator[None]:
        """A context manager that makes a checkpoint if an error or a signal stops the run."""
        try:
            yield
        except BaseException:
            # The output so far is valid. If the checkpoint fails too, raise the first error.
            if self._state.is_consistent and self._state.progress.bytes > self._output.safe_bytes:
                with contextlib.suppress(OutputError):
                    self.checkpoint()
            raise

    def finish(self) -> dict[str, Any]:
        """The state to store in the result."""
        self._state.pipes = {number: pipe.state() for number, pipe in self._pipes.items()}
        return self._state.to_json()

    def _add(self, results: Sequence[Result[T]]) -> None:
        self._state.is_consistent = False
        for result in results:
            if self._state.is_writing:
                self._write(result)
            self._state.add(result)
        self._state.is_consistent = True

    def _write(self, result: Result[T]) -> None:
        output, cleaned = self._output, result.value
        ended = [ending.source for ending in result.endings]
        for source in ended:
            if source < result.source:  # an input without documents, or with blank lines at its end
                output.end(source)
        if cleaned.written is not None:
            output.write(result.source, cleaned.written)
        if cleaned.report:
            output.report(REPORT, cleaned.report)
        for bad in result.bad:
            record = {"file": self._sources[result.source].name, "line": bad.line, "error": bad.error}
            output.report(ERRORS, json.dumps(record).encode() + b"\n")
        for source in ended:
            if source >= result.source:
                output.end(source)
