"""tokenize() turns corpus files into a token file, in threads and in bounded memory.

    corpus/workers.py ──▶ blocks, encoded in threads, in order ──▶ output.py: ids, ends, hashes ──▶ commit
        (encoding.py)                                                  └─▶ journal.py, at checkpoints

corpus/reading.py describes the memory budget; output.py describes how an interrupted run is resumed.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

from pyunitok._c.scratch import State
from pyunitok.corpus.workers import Result, Workers
from pyunitok.errors import InputError, OutputError, UnitokError
from pyunitok.interrupts import Interrupts
from pyunitok.run.changes import LIMIT
from pyunitok.run.encoding import Encoded, Encoder
from pyunitok.run.journal import journal_path
from pyunitok.run.output import Output
from pyunitok.run.plan import SILENT, Callbacks, Plan, Start, describe_model
from pyunitok.run.tally import Tally
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX, Manifest
from pyunitok.tokens.metadata import MetadataFile


def tokenize(plan: Plan, callbacks: Callbacks = SILENT) -> Manifest:
    """Execute the plan, or resume it. Returns the token file's manifest.

    An interrupted run is resumed, and the output is byte-identical to that of an uninterrupted run. Inputs that were
    not finished may have changed since; the output of such an input is rewritten. A finished run is not repeated.
    options.overwrite starts again.

    Raises InputError, which names the file and the line or byte, if an input is broken or has changed; the output so
    far is kept, and the next run resumes there. With options.skip_files, such an input is skipped completely instead.
    Raises OutputError, which lists the differences, if OUT cannot be written or belongs to another run. Raises
    LimitError if max_memory_bytes is too low.
    """
    options = plan.options
    plan.check()
    tally = Tally(plan)
    model = plan.model or describe_model(plan.tokenizer)
    extra = [METADATA_SUFFIX] * options.metadata + [ERRORS_SUFFIX] * options.skip_bad
    opened = Output(
        plan.out, plan.identity(), overwrite=options.overwrite, extra=extra, verify=options.verify_resume,
        resumable=plan.resumable,
    )  # fmt: skip
    with Interrupts() as interrupts, opened as output:
        if output.finished is not None:
            tally.check_pipes(output.finished)
            callbacks.on_start(Start(output.finished.bytes, output.finished.documents, complete=True))
            return output.finished
        writer = Writer(plan, tally, output)
        done = tally.progress
        callbacks.on_start(Start(done.bytes, done.documents, compressed=done.compressed))
        try:
            while not _write_blocks(plan, writer, interrupts, callbacks):
                pass
        except BaseException:
            # The output so far is valid. If the checkpoint fails too, raise the first error.
            with contextlib.suppress(OutputError):
                writer.last_checkpoint()
            raise
        writer.finish()
        manifest = _manifest(plan, model, tally)
        output.commit(manifest)
    return manifest


class Writer:
    """Writes blocks to the output files, makes checkpoints, and rolls back to the beginning of an input."""

    def __init__(self, plan: Plan, tally: Tally, output: Output) -> None:
        """Resume from the output's last checkpoint. Raises OutputError if it does not match this run or the files."""
        self._plan, self._output = plan, output
        self.tally = tally
        self._metadata: MetadataFile | None = None
        if output.progress is None:
            self._open_metadata(None, [])
            return
        try:
            tally.restore(output.progress, is_stale=output.is_stale)
            self._open_metadata(output.partial(METADATA_SUFFIX), output.progress.get("metadata lines", []))
            self._check()
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            if isinstance(error, UnitokError):
                raise
            raise OutputError(f"{journal_path(plan.out)}: damaged ({error}); --overwrite starts again") from None
        if output.is_stale:
            self.roll_back(tally.position.source)

    def append(self, result: Result[Encoded]) -> None:
        output, tally, encoded = self._output, self.tally, result.value
        with tally.adding(result):
            output.ids.write(encoded.data_of_ids())
            output.ends.write(encoded.data_of_ends(tally.progress.tokens))
            if self._metadata is not None:
                self._metadata.append(result.metadata)
            for bad in result.bad:
                self._list_error(result.source, bad.line, bad.error)

    def checkpoint_if_due(self) -> None:
        if self._output.is_due(self.tally.progress.bytes):
            self._checkpoint()

    def last_checkpoint(self) -> None:
        """Make a checkpoint before an unfinished run ends, if anything was written since the previous one."""
        is_new = self.tally.consistent and self.tally.progress.bytes > self._output.safe_bytes
        if is_new and self._plan.resumable:
            self._checkpoint(wait=True)

    def finish(self) -> None:
        """Write the remaining metadata after the last block."""
        if self._metadata is not None:
            self._metadata.end()

    def may_leave_out(self, error: InputError) -> bool:
        """Whether to skip the input that could not be read. A pipe cannot be skipped, because a resumed run could not
        read it again."""
        if not (self._plan.options.skip_files and self.tally.consistent) or error.source is None:
            return False
        source = self._plan.sources[error.source]
        return source.opened is None or source.is_range

    def leave_out(self, error: InputError) -> None:
        """Drop the output of this input, list the error, and continue with the next input."""
        assert error.source is not None
        self.roll_back(error.source)
        self._list_error(error.source, None, str(error))
        self.tally.leave_out(error.source, str(error))

    def roll_back(self, number: int) -> None:
        """Return to the beginning of this input. Metadata can be truncated only between frames, so the lines between
        that place and the input go into the journal."""
        output, tally = self._output, self.tally
        for file in output.files.values():
            file.save()
        before, lines = tally.before_input(number), list[bytes]()
        sizes = {"": before.tokens * self._plan.id_bytes, ".ends": before.documents * 8}
        if self._metadata is not None:
            path = output.partial(METADATA_SUFFIX)
            sizes[METADATA_SUFFIX], lines = self._metadata.place_of(before.documents, path)
        if ERRORS_SUFFIX in output.files:
            sizes[ERRORS_SUFFIX] = _n_bytes_of_lines(output.partial(ERRORS_SUFFIX), tally.n_errors_before(number))
        tally.roll_back(number)
        progress = self._progress(lines)
        output.roll_back(sizes, progress)
        self._open_metadata(output.partial(METADATA_SUFFIX), progress["metadata lines"])

    def _list_error(self, source: int, line: int | None, error: str) -> None:
        """Append an error to OUT.errors.jsonl. line: None if the complete file is skipped."""
        record = {"file": self._plan.sources[source].name, "line": line, "error": error}
        self._output.files[ERRORS_SUFFIX].write(memoryview(json.dumps(record).encode() + b"\n"))

    def _open_metadata(self, begun: Path | None, lines: list[str]) -> None:
        if self._plan.options.metadata:
            self._metadata = MetadataFile(self._output.files[METADATA_SUFFIX], begun)
            self._metadata.append([_checked_line(line) for line in lines])

    def _check(self) -> None:
        """Raise ValueError if the counts do not match the files."""
        progress, output = self.tally.progress, self._output
        sizes = {"": progress.tokens * self._plan.id_bytes, ".ends": progress.documents * 8}
        for suffix, n_bytes in sizes.items():
            if output.files[suffix].n_bytes != n_bytes:
                raise ValueError(f"{n_bytes} bytes counted, but {output.files[suffix].n_bytes} written")
        if self._metadata is not None and self._metadata.n_appended != progress.documents:
            raise ValueError(f"{progress.documents} documents, but metadata for {self._metadata.n_appended}")
        if self.tally.position.state:
            State(self.tally.position.state)

    def _checkpoint(self, *, wait: bool = False) -> None:
        waiting = self._metadata.waiting if self._metadata is not None else []
        self._output.checkpoint(self._progress(waiting), wait=wait)

    def _progress(self, metadata: list[bytes]) -> dict[str, Any]:
        """The progress for the journal. metadata: lines that are not in the file yet."""
        return self.tally.to_json() | {"metadata lines": [line.decode("latin-1") for line in metadata]}


def _checked_line(line: str) -> bytes:
    """A line of metadata from the journal. Raises ValueError if it is not a JSON object."""
    if "\n" in line or not isinstance(json.loads(line), dict):
        raise ValueError("a line of metadata is not a JSON object")
    return line.encode("latin-1")


def _n_bytes_of_lines(path: Path, n_lines: int) -> int:
    """The length of the first n_lines of a file."""
    with path.open("rb") as file:
        return sum(len(line) for line in islice(file, n_lines))


def _write_blocks(plan: Plan, writer: Writer, interrupts: Interrupts, callbacks: Callbacks) -> bool:
    """Write all blocks from the tally's position on. Returns False if an input was skipped; then call it again."""
    tally = writer.tally
    encoder = Encoder(plan, tally.position)
    reading = replace(plan.reading, sources=tally.sources)
    workers = Workers(reading, encoder, tally.position, encoder.carry)
    try:
        with workers:
            for result in workers.results():
                with interrupts.held():
                    writer.append(result)
                    writer.checkpoint_if_due()
                encoder.reuse(result.value)
                callbacks.on_progress(tally.progress)
    except InputError as error:
        if not writer.may_leave_out(error):
            raise
        with interrupts.held():
            tally.end(workers.unreported)
            writer.leave_out(error)
        return False
    return True


def _manifest(plan: Plan, model: dict[str, Any], tally: Tally) -> Manifest:
    return Manifest.of(
        tally.finished_records(),
        model=model,
        eod=plan.eod_id,
        dtype=plan.dtype,
        algorithm=plan.tokenizer.algorithm,
        sample=plan.options.sample.to_json() if plan.options.sample else None,
        run=plan.identity().options,
        shard=asdict(plan.shard) | {LIMIT: tally.longest_line} if plan.shard else None,
    )
