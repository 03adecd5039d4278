"""Output: OUT and the files beside it while they grow; checkpoints, the commit that names them, going on from both.

    new ──▶ growing ──▶ whole ──▶ committed          on the disk:  OUT.partial, OUT.ends.partial    growing
             │   ▲        │  ▲                                     … and OUT.journal.partial        + checkpoint
             ▼   │        ▼  │                                     OUT.ends, OUT.json, OUT          committed
           killed: goes on from the journal

A checkpoint puts data on the disk first and then says so in the journal. The commit says in the journal that all is
whole, with the manifest, and then gives the names: the files beside OUT, OUT.json, and OUT last. Each step may be done
twice, so a run that finds such a journal does what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pyunitok.errors import OutputError
from pyunitok.hashing import HASH_CHUNK_BYTES, Hashed
from pyunitok.journal import Identity, Journal, encode_run, journal_path, run_of
from pyunitok.outfile import (
    OutFile,
    OutputLock,
    check_target,
    partial_name,
    sync_folder,
    write_whole,
)
from pyunitok.tokens import Manifest, sidecars

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# A killed run does at most one interval again. An interval costs an fsync or two and a small file, a few ms.
CHECKPOINT_BYTES = 1 << 30  # of text
CHECKPOINT_SECONDS = 30.0
# Where a checkpoint takes long (a slow disk, a million inputs), the next one waits so many times as long: 2 %.
CHECKPOINT_SHARE = 50

Clock = Callable[[], float]


class Output:
    """The files of one run, locked against all others. A context: leaving it closes the files and keeps what is there.

    ids, ends   OutFile
    finished    the manifest, where this very run was finished before; there is nothing to do then
    progress    what the last checkpoint of this very run said, where there is one
    safe_bytes  of text, that the last checkpoint accounts for
    """

    def __init__(self, out: Path, run: Identity, *, overwrite: bool = False, clock: Clock = time.monotonic) -> None:
        """Take the lock and find out what is there.

        OutputError where it is another run's, or cannot be written; it says what differs.
        """
        self.out = out
        self.finished: Manifest | None = None
        self.progress: dict[str, Any] | None = None
        self.files: dict[str, OutFile] = {}
        self._run, self._run_json = run, encode_run(run)
        self._overwrite = overwrite
        self._clock = clock
        self.safe_bytes, self._last, self._took = 0, clock(), 0.0  # of the last checkpoint
        self._pool: ThreadPoolExecutor | None = None
        self._syncing: Future[None] | None = None
        self._lock = OutputLock(out)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ids(self) -> OutFile:
        return self.files[""]

    @property
    def ends(self) -> OutFile:
        return self.files[".ends"]

    # ------------------------------------------------------------------------------------------ what is there

    def _start(self) -> None:
        path = journal_path(self.out)
        for target in (self.out, *sidecars(self.out)):
            check_target(target, overwrite=True)
        if self._overwrite:
            path.unlink(missing_ok=True)  # before anything it speaks of changes
            sync_folder(path.parent)
            return self._open({})
        journal = Journal.read(path)
        if journal is not None:
            self._check_same(journal.run, f"{self.out} is unfinished, and was begun by another command")
            self._overwrite = journal.replaces
            if journal.manifest is not None:
                return self._complete(journal)
        elif self.out.exists():
            self.finished = self._check_finished()
            return None
        if not self._overwrite:
            for target in (self.out, *sidecars(self.out)):
                check_target(target, overwrite=False)
        if journal is None:
            return self._open({})
        self.progress, self.safe_bytes = journal.progress, journal.progress["bytes"]
        return self._open(journal.files)

    def _open(self, states: dict[str, Hashed]) -> None:
        for suffix in ("", ".ends"):
            self.files[suffix] = OutFile(self._partial(suffix), states.get(suffix))

    def _check_same(self, run: Identity, what: str) -> None:
        differences = run.differences(self._run)
        if differences:
            raise OutputError(f"{what} ({'; '.join(differences)}); --overwrite starts again")

    def _check_finished(self) -> Manifest:
        """The manifest of OUT, which is there and whole and was made by this very run; else OutputError."""
        described = sidecars(self.out)[1]
        exists = f"{self.out} exists"
        if not described.exists():
            raise OutputError(f"{exists}; --overwrite replaces it")
        manifest = Manifest.read(described)
        if manifest.run is None:
            raise OutputError(f"{exists}, and does not say what made it; --overwrite replaces it")
        self._check_same(run_of(manifest), f"{exists}, and was made by another command")
        expected = {"": manifest.tokens * np.dtype(manifest.dtype).itemsize, ".ends": manifest.documents * 8}
        for suffix, n_bytes in expected.items():
            path = self._final(suffix)
            if not path.exists() or path.stat().st_size != n_bytes:
                raise OutputError(f"{path} does not have the {n_bytes} bytes of its manifest; --overwrite starts again")
        return manifest

    def _complete(self, journal: Journal) -> None:
        """Do what is left of a commit."""
        assert journal.manifest is not None
        for suffix, state in journal.files.items():
            found = [path for path in (self._partial(suffix), self._final(suffix)) if path.exists()]
            if not found or found[0].stat().st_size != state.n_bytes:
                raise OutputError(
                    f"{self._partial(suffix)} was whole, with {state.n_bytes} bytes, and is not any more; "
                    "--overwrite starts again"
                )
        self._name(list(journal.files), journal.manifest)
        self.finished = Manifest.read(sidecars(self.out)[1])

    def _partial(self, suffix: str) -> Path:
        return partial_name(self._final(suffix))

    def _final(self, suffix: str) -> Path:
        return self.out.with_name(self.out.name + suffix)

    # --------------------------------------------------------------------------------------------- checkpoints

    def is_due(self, n_bytes: int) -> bool:
        """Whether it is time for a checkpoint, n_bytes of text behind us."""
        if self._syncing is not None and not self._syncing.done():
            return False
        seconds = self._clock() - self._last
        enough = n_bytes - self.safe_bytes >= CHECKPOINT_BYTES or seconds >= CHECKPOINT_SECONDS
        return enough and seconds >= CHECKPOINT_SHARE * self._took

    def checkpoint(self, progress: dict[str, Any], *, wait: bool = False) -> None:
        """Make safe what was written so far; unless told to wait, another thread waits for the disk.

        progress["bytes"] is how much text is behind us; the rest is the caller's own.

        OutputError if this checkpoint fails or, without waiting, if the one before it did.
        """
        from concurrent.futures import ThreadPoolExecutor

        self._wait()
        self._last, self.safe_bytes = self._clock(), progress["bytes"]
        states = {suffix: file.save() for suffix, file in self.files.items()}
        journal = Journal(self._run, self._overwrite, states, progress)
        self._pool = self._pool or ThreadPoolExecutor(1, "checkpoint")
        self._syncing = self._pool.submit(self._make_safe, journal, self._last)
        if wait:
            self._wait()

    def _make_safe(self, journal: Journal, began: float) -> None:
        for file in self.files.values():
            file.sync()
        journal.write(journal_path(self.out), self._run_json)
        self._took = self._clock() - began

    def _wait(self) -> None:
        """Until the checkpoint under way is done; raises what it raised."""
        if self._syncing is not None:
            self._syncing.result()
            self._syncing = None

    # --------------------------------------------------------------------------------------------- the commit

    def commit(self, manifest: Manifest) -> None:
        """Give everything its name; fills in manifest.hash and what tells this run from others."""
        self._wait()
        digests = {suffix: file.finish() for suffix, file in self.files.items()}
        manifest.hash = {"algorithm": "xxh64", "chunk_bytes": HASH_CHUNK_BYTES}
        manifest.hash |= {"tokens": digests[""], "ends": digests[".ends"]}
        manifest.run = self._run.options
        states = {suffix: Hashed(file.n_bytes) for suffix, file in self.files.items()}
        text = manifest.to_json().decode()
        Journal(self._run, self._overwrite, states, {}, text).write(journal_path(self.out), self._run_json)
        self._name(list(self.files), text)

    def _name(self, suffixes: list[str], manifest: str) -> None:
        """The commit's renames, all or those that are left; OUT is whole as soon as it is there."""
        partial = self._partial("")
        if partial.exists() and self.out.exists():
            self.out.unlink()  # an older OUT must never stand beside new files
            sync_folder(self.out.parent)
        for suffix in suffixes:
            if suffix and self._partial(suffix).exists():
                self._partial(suffix).replace(self._final(suffix))
        write_whole(sidecars(self.out)[1], manifest.encode())
        sync_folder(self.out.parent)
        if partial.exists():
            partial.replace(self.out)
            sync_folder(self.out.parent)
        journal_path(self.out).unlink()

    def close(self) -> None:
        """Close the files and let go of the lock; what is there stays."""
        if self._pool is not None:
            self._pool.shutdown()
        for file in self.files.values():
            file.close()
        self._lock.release()
