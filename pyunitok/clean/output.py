"""CleanOutput writes the files of CLEAN and the reports, with checkpoints, and resumes interrupted runs.

    CLEAN/a.jsonl.zst            a finished file            CLEAN.journal.partial   the last checkpoint
    CLEAN/b.jsonl.zst.partial    the file being written     CLEAN.json              the result, when the run is complete

Files are written one at a time in input order, and get their final names when they are complete. A checkpoint
syncs the current file and the reports to disk and then records their lengths and hashes, and the caller's progress, in
the journal. A resumed run truncates the files to these lengths and continues there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import zstandard

from pyunitok.corpus.compressions import by_suffix
from pyunitok.corpus.rewriting import FileWriter, Plain, Written, empty
from pyunitok.disk.hashing import Hashed
from pyunitok.disk.outfile import OutFile, OutputLock, check_target, make_folder, partial_name, reopened, write_whole
from pyunitok.errors import OutputError
from pyunitok.run.identity import Identity
from pyunitok.run.journal import Journal, journal_path

CHECKPOINT_BYTES = 1 << 30
CHECKPOINT_SECONDS = 30.0
CURRENT = "current"  # the key of the current input's file in the journal
WRITER = "writer"  # the key of its FileWriter's state in the journal's progress


class CleanOutput:
    """The output of one run. A context manager that closes the files.

    base        the prefix of the names of the lock, the journal and the result, base.json
    targets     the file of each input; None if no corpus is written
    reports     name of a report -> its path
    writer_of   (number of an input, state or None) → its FileWriter
    progress    the progress at the last checkpoint, if the run resumes
    safe_bytes  bytes of the inputs that the last checkpoint covers
    finished    the result, if the run is already complete
    """

    def __init__(
        self, base: Path, targets: Sequence[Path | None], reports: dict[str, Path], run: Identity, *, overwrite: bool,
        writer_of: Callable[[int, str | None], FileWriter] = lambda _number, _state: Plain(),
    ) -> None:  # fmt: skip
        """Raises OutputError if a file would be replaced without `overwrite`, or if a different run is unfinished."""
        self._base, self._targets, self._reports, self._run = base, targets, reports, run
        self.progress: dict[str, Any] | None = None
        self.finished: dict[str, Any] | None = None
        self._files: dict[str, OutFile] = {}
        self._writer_of = writer_of
        self._writer: FileWriter = Plain()
        self._last, self.safe_bytes = monotonic(), 0
        self._lock = OutputLock(base)
        try:
            self._open(None if overwrite else self._journal())
        except BaseException:
            self.close()
            raise

    @property
    def result_path(self) -> Path:
        return self._base.with_name(self._base.name + ".json")

    def __enter__(self) -> CleanOutput:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is not None and not journal_path(self._base).exists():
            for file in self._files.values():  # partial files, which are useless without a journal
                file.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the files and release the lock."""
        for file in self._files.values():
            file.close()
        self._lock.release()

    def _journal(self) -> Journal | None:
        """The journal of this run, if there is one. Raises OutputError if the journal belongs to a different run, or if
        a file would be replaced."""
        journal = Journal.read(journal_path(self._base))
        if journal is not None:
            if differences := journal.run.differences(self._run):
                raise OutputError(
                    f"{self._base} is unfinished, and was started by another command ({'; '.join(differences)});"
                    " --overwrite starts again"
                )
            return journal
        if self.result_path.exists():
            self.finished = self._finished()
            return None
        for path in [*self._targets, *self._reports.values()]:
            if path is not None:
                check_target(path, overwrite=False)
        return None

    def _finished(self) -> dict[str, Any]:
        try:
            result: dict[str, Any] = json.loads(self.result_path.read_bytes())
            before = Identity.from_json(result["run"])
        except (ValueError, TypeError, KeyError, OSError) as error:
            raise OutputError(f"{self.result_path} is not the result of this command ({error}); move it away") from None
        if differences := before.differences(self._run):
            raise OutputError(
                f"{self._base} was made by another command ({'; '.join(differences)}); --overwrite replaces it"
            )
        return result

    def _open(self, journal: Journal | None) -> None:
        if self.finished is not None:
            return
        states: dict[str, Hashed] = journal.files if journal is not None else {}
        if journal is None:
            journal_path(self._base).unlink(missing_ok=True)
            self.result_path.unlink(missing_ok=True)
            for target in self._targets:
                if target is not None:
                    target.unlink(missing_ok=True)
        for name, path in self._reports.items():
            self._files[name] = reopened(path, states.get(name))
        if journal is not None:
            self.progress, self.safe_bytes = journal.progress, journal.progress["bytes"]
            source = journal.progress["position"]["source"]
            if CURRENT in states and type(source) is int and 0 <= source < len(self._targets):
                target = self._targets[source]
                assert target is not None
                self._files[CURRENT] = reopened(target, states[CURRENT])
                self._writer = self._restored(source, journal.progress.get(WRITER))

    def _restored(self, source: int, state: str | None) -> FileWriter:
        try:
            return self._writer_of(source, state)
        except (ValueError, TypeError, LookupError, zstandard.ZstdError) as error:
            raise OutputError(f"{journal_path(self._base)}: damaged ({error}); --overwrite starts again") from None

    def report(self, name: str, data: bytes) -> None:
        """Append to a report."""
        self._files[name].write(memoryview(data))

    def write(self, source: int, written: Written) -> None:
        """Append to the file of an input; if no file is open, create that file first."""
        target = self._targets[source]
        if target is None:
            return
        if CURRENT not in self._files:
            make_folder(target.parent, parents=True)
            self._files[CURRENT] = OutFile(partial_name(target))
            self._writer = self._writer_of(source, None)
        file = self._files[CURRENT]
        file.write(memoryview(self._writer.add(written, file.n_bytes)))

    def end(self, source: int) -> None:
        """Complete the file of an input."""
        target = self._targets[source]
        if target is not None:
            self.write(source, Written())  # an input without documents gets an empty file
            file = self._files.pop(CURRENT)
            file.write(memoryview(self._writer.end(file.n_bytes)))
            file.finish(target)

    def is_due(self, n_bytes: int) -> bool:
        """Whether a checkpoint is due after the first n_bytes of the inputs."""
        return n_bytes - self.safe_bytes >= CHECKPOINT_BYTES or monotonic() - self._last >= CHECKPOINT_SECONDS

    def checkpoint(self, progress: dict[str, Any]) -> None:
        """Sync the files, and record their state and the progress in the journal. progress["bytes"]: the bytes of the
        inputs that have been processed; progress["position"]: where reading resumes. The last block written must have
        had is_end set."""
        progress = progress | ({WRITER: self._writer.state()} if CURRENT in self._files else {})
        states = {name: file.save() for name, file in self._files.items()}
        for file in self._files.values():
            file.sync()
        Journal(self._run, False, states, progress).write(journal_path(self._base))
        self._last, self.safe_bytes = monotonic(), progress["bytes"]

    def commit(self, result: dict[str, Any]) -> None:
        """Complete the reports and write the result."""
        for name, path in self._reports.items():
            file = self._files.pop(name)
            if not file.n_bytes:
                file.write(memoryview(empty(by_suffix(path.suffix).name)))
            file.finish(path)
        write_whole(self.result_path, json.dumps({"run": self._run.to_json(), **result}, indent=1).encode() + b"\n")
        journal_path(self._base).unlink(missing_ok=True)
