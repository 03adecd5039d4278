"""Output writes OUT and the files next to it, with checkpoints and an atomic commit, and resumes interrupted runs.

    new ──▶ growing ──▶ complete ──▶ committed       on disk:  OUT.partial, OUT.ends.partial    growing
             │   ▲        │  ▲                                 … and OUT.journal.partial        + checkpoint
             ▼   │        ▼  │                                 OUT.ends, OUT.json, OUT          committed
           killed: resumes from the journal

A checkpoint syncs the data to disk and then records its length in the journal. The commit first writes the manifest to
the journal, which shows that all files are complete. Then it renames the files next to OUT, writes OUT.json, and
renames OUT last. All steps are idempotent, so a run that finds such a journal finishes the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Any

from pyunitok.disk.hashing import HASH_CHUNK_BYTES, Hashed
from pyunitok.disk.outfile import (
    OutFile,
    OutputLock,
    check_target,
    give_name,
    lock_path,
    partial_name,
    sync_folder,
    write_whole,
)
from pyunitok.errors import OutputError
from pyunitok.run import changes
from pyunitok.run.identity import Identity
from pyunitok.run.journal import Journal, encode_run, journal_path
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX, Manifest, sidecars

# A killed run repeats at most one interval of work. A checkpoint takes a few ms: one or two fsyncs and a small file.
CHECKPOINT_BYTES = 1 << 30  # bytes of text between checkpoints
CHECKPOINT_SECONDS = 30.0
# After a slow checkpoint (a slow disk, a million inputs), the next one waits 50 times as long: 2 % overhead.
CHECKPOINT_SHARE = 50

EXTRA = (METADATA_SUFFIX, ERRORS_SUFFIX)  # optional files besides OUT, .ends and .json


def _named(out: Path, suffix: str) -> Path:
    return out.with_name(out.name + suffix)


@dataclass(frozen=True)
class OwnFiles:
    """Every file that a run may write for this OUT."""

    finished: tuple[Path, ...]
    unfinished: tuple[Path, ...]


@lru_cache(maxsize=8)
def own_files(out: Path) -> OwnFiles:
    finished = (out, *sidecars(out), *(_named(out, suffix) for suffix in EXTRA))
    journal = journal_path(out)
    return OwnFiles(finished, (journal, partial_name(journal), lock_path(out), *map(partial_name, finished)))


def parts_folder(out: Path) -> Path:
    """The folder for the parts of a run on a cluster."""
    return out.with_name(out.name + ".parts")


def files_of_parts(out: Path) -> list[Path]:
    """All files in OUT.parts. They are never inputs."""
    return [path for path in parts_folder(out).rglob("*") if path.is_file()]


def find(
    out: Path, run: Identity, *, overwrite: bool = False, differences: Callable[[Manifest], list[str]] | None = None
) -> Journal | Manifest | None:
    """The journal or, if OUT is finished, the manifest from an earlier call; None if there is neither. Writes nothing.

    differences  how a finished OUT differs from the output of this run; by default, how the runs differ

    Raises OutputError, listing the differences, if a file that must not be replaced exists, such as another run's.
    """
    for target in own_files(out).finished:
        check_target(target, overwrite=True)
    if overwrite:
        return None
    journal = Journal.read(journal_path(out))
    if journal is not None:
        differs = changes.differences(journal, run, partial_name(_named(out, ERRORS_SUFFIX)))
        _refuse(differs, f"{out} is unfinished, and was started by another command")
    elif out.exists():
        return _check_finished(out, differences or (lambda finished: _differences_of_runs(finished, run, out)))
    if journal is None or not (journal.replaces or journal.manifest):
        for target in own_files(out).finished:
            check_target(target, overwrite=False)
    return journal


def _differences_of_runs(finished: Manifest, run: Identity, out: Path) -> list[str]:
    if finished.run is None:
        return ["its manifest does not record the command"]
    if finished.shard:
        return changes.differences_of_part(finished, run, _named(out, ERRORS_SUFFIX))
    return Identity.of_manifest(finished).differences(run)


def _refuse(differences: list[str], what: str) -> None:
    if differences:
        raise OutputError(f"{what} ({'; '.join(differences)}); --overwrite starts again")


def _check_finished(out: Path, differences: Callable[[Manifest], list[str]]) -> Manifest:
    """The manifest of OUT. Raises OutputError unless OUT is complete and was made by this run."""
    manifest_path = sidecars(out)[1]
    if not manifest_path.exists():
        raise OutputError(f"{out} exists; --overwrite replaces it")
    manifest = Manifest.read(manifest_path)
    _refuse(differences(manifest), f"{out} exists, and was made by another command")
    manifest.check_sizes(out, "; --overwrite starts again")
    if manifest.run and manifest.run.get("metadata") and not _named(out, METADATA_SUFFIX).exists():
        raise OutputError(f"{_named(out, METADATA_SUFFIX)} is missing; --overwrite starts again")
    return manifest


class Output:
    """The files of one run, locked against other processes. A context manager that closes the files, and removes them
    if a failed run cannot be resumed.

    ids, ends   OutFile
    finished    the manifest, if this run was already finished; then nothing is left to do
    progress    the `progress` of this run's last checkpoint, if there is one
    safe_bytes  bytes of text covered by the last checkpoint
    is_stale    the input that was being read at the last checkpoint has changed since then
    """

    def __init__(
        self, out: Path, run: Identity, *, overwrite: bool = False, extra: Sequence[str] = (),
        differences: Callable[[Manifest], list[str]] | None = None, verify: bool = False, resumable: bool = True,
    ) -> None:  # fmt: skip
        """Take the lock, and resume the run that find() finds. Raises OutputError if that fails or the files are not
        writable.

        extra      the files of EXTRA that the run writes; empty ones are removed at the end
        verify     when resuming, verify the hashes of everything written so far, not only of the last chunks
        resumable  keep a journal; without one, a crash of the machine during commit() may leave incomplete files
        """
        self.out = out
        self.finished: Manifest | None = None
        self.progress: dict[str, Any] | None = None
        self.is_stale = False
        self._verify, self._resumable = verify, resumable
        self.files: dict[str, OutFile] = {}
        self._run, self._run_json = run, encode_run(run)
        self._overwrite = overwrite
        self._suffixes = ("", ".ends", *extra)
        # The bytes of text that the last checkpoint covers, when it began, and how long it took.
        self.safe_bytes, self._last, self._last_seconds = 0, monotonic(), 0.0
        self._pool: ThreadPoolExecutor | None = None
        self._syncing: Future[None] | None = None
        self._lock = OutputLock(out)
        try:
            self._start(find(out, run, overwrite=overwrite, differences=differences))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Output:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()  # a checkpoint in progress may still write the journal
        if failure is not None and self.files and not journal_path(self.out).exists():
            for file in self.files.values():  # cannot be resumed without a journal
                file.path.unlink(missing_ok=True)
        self.close()

    @property
    def ids(self) -> OutFile:
        return self.files[""]

    @property
    def ends(self) -> OutFile:
        return self.files[".ends"]

    # ------------------------------------------------------------------------------------------------ resuming

    def _start(self, found: Journal | Manifest | None) -> None:
        if self._overwrite and journal_path(self.out).exists():
            journal_path(self.out).unlink()  # before the files that it describes change
            sync_folder(self.out.parent)
        if isinstance(found, Manifest):
            self.finished = found
        elif isinstance(found, Journal):
            self._overwrite = found.replaces
            if found.manifest is not None:
                self._complete(found)
            else:
                self.progress, self.safe_bytes = found.progress, found.progress["bytes"]
                at = found.n_inputs_read
                if at is not None:
                    self.is_stale = found.run.inputs[at : at + 1] != self._run.inputs[at : at + 1]
                self._open(found.files)
        else:
            self._open({})

    def _open(self, states: dict[str, Hashed]) -> None:
        for suffix in self._suffixes:
            self.files[suffix] = OutFile(self.partial(suffix), states.get(suffix))
            if self._verify and suffix in states:
                self.files[suffix].verify(states[suffix])

    def _complete(self, journal: Journal) -> None:
        """Finish a commit."""
        assert journal.manifest is not None
        for suffix, state in journal.files.items():
            found = [path for path in (self.partial(suffix), _named(self.out, suffix)) if path.exists()]
            if not found or found[0].stat().st_size != state.n_bytes:
                raise OutputError(
                    f"{self.partial(suffix)}: changed since it was completed with {state.n_bytes} bytes; "
                    "--overwrite starts again"
                )
        self._name(list(journal.files), journal.manifest)
        self.finished = Manifest.read(sidecars(self.out)[1])

    def partial(self, suffix: str) -> Path:
        return partial_name(_named(self.out, suffix))

    # --------------------------------------------------------------------------------------------- checkpoints

    def is_due(self, n_bytes: int) -> bool:
        """Whether a checkpoint should be made now, after n_bytes of text."""
        if not self._resumable or (self._syncing is not None and not self._syncing.done()):
            return False
        seconds = monotonic() - self._last
        enough = n_bytes - self.safe_bytes >= CHECKPOINT_BYTES or seconds >= CHECKPOINT_SECONDS
        return enough and seconds >= CHECKPOINT_SHARE * self._last_seconds

    def checkpoint(self, progress: dict[str, Any], *, wait: bool = False) -> None:
        """Sync everything written so far to disk and record it, in another thread unless `wait` is set.

        progress["bytes"] is the number of bytes read; the other values belong to the caller.

        Raises OutputError if the previous checkpoint failed or, with `wait`, this one.
        """
        self._wait()
        self._last, self.safe_bytes = monotonic(), progress["bytes"]
        states = {suffix: file.save() for suffix, file in self.files.items()}
        journal = Journal(self._run, self._overwrite, states, progress)
        self._pool = self._pool or ThreadPoolExecutor(1, "checkpoint")
        self._syncing = self._pool.submit(self._make_safe, journal, self._last)
        if wait:
            self._wait()

    def roll_back(self, sizes: dict[str, int], progress: dict[str, Any]) -> None:
        """Truncate each file to the given size. If the run is killed here, it resumes from the old or the new state."""
        self._wait()
        states = {suffix: file.state_at(sizes[suffix]) for suffix, file in self.files.items()}
        for file in self.files.values():
            file.sync()
        Journal(self._run, self._overwrite, states, progress).write(journal_path(self.out), self._run_json)
        for suffix, file in self.files.items():
            file.cut(states[suffix])
        self._last, self.safe_bytes = monotonic(), progress["bytes"]

    def _make_safe(self, journal: Journal, began: float) -> None:
        for file in self.files.values():
            file.sync()
        journal.write(journal_path(self.out), self._run_json)
        self._last_seconds = monotonic() - began

    def _wait(self) -> None:
        """Wait for the checkpoint in progress, and raise its error."""
        if self._syncing is not None:
            self._syncing.result()
            self._syncing = None

    # --------------------------------------------------------------------------------------------- the commit

    def commit(self, manifest: Manifest) -> None:
        """Complete all files and give them their final names. Fills in manifest.hash."""
        self._wait()
        digests = {suffix: file.finish() for suffix, file in self.files.items()}
        manifest.hash = {"algorithm": "xxh64", "chunk_bytes": HASH_CHUNK_BYTES}
        manifest.hash |= {"tokens": digests[""], "ends": digests[".ends"]}
        # Empty extra files are removed.
        states = {k: Hashed(file.n_bytes) for k, file in self.files.items() if file.n_bytes or k not in EXTRA}
        text = manifest.to_json().decode()
        if self._resumable:
            Journal(self._run, self._overwrite, states, {}, text).write(journal_path(self.out), self._run_json)
        self._name(list(states), text)

    def _name(self, suffixes: list[str], manifest: str) -> None:
        """Do the remaining renames of a commit. OUT appears last, so it is complete once it exists."""
        partial = self.partial("")
        if partial.exists() and self.out.exists():
            self.out.unlink()  # an older OUT must never exist next to new files
            self._sync_folder()
        for suffix in (".ends", *EXTRA):
            if suffix not in suffixes:  # empty, or from an older run
                self.partial(suffix).unlink(missing_ok=True)
                _named(self.out, suffix).unlink(missing_ok=True)
            elif self.partial(suffix).exists():
                give_name(_named(self.out, suffix))
        write_whole(sidecars(self.out)[1], manifest.encode())
        self._sync_folder()
        if partial.exists():
            give_name(self.out)
            self._sync_folder()
        if self._resumable:
            journal_path(self.out).unlink()

    def _sync_folder(self) -> None:
        if self._resumable:
            sync_folder(self.out.parent)

    def close(self) -> None:
        """Close the files and release the lock."""
        if self._pool is not None:
            self._pool.shutdown()
        for file in self.files.values():
            file.close()
        self._lock.release()
