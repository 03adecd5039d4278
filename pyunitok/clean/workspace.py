"""Workspace is the folder for a run's temporary files, and records which of its steps are complete.

    TMP/CLEAN.work.partial/journal.partial     identifies the run, and stores the result of each finished step
                           text-0, ends-0, …   the files of these steps

A step writes complete files, so a killed run repeats at most one step. Runs that cannot be resumed use TemporaryFiles.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import numpy as np

from pyunitok.corpus.position import Count
from pyunitok.disk.outfile import OutputLock, make_folder, new_file, partial_name
from pyunitok.errors import OutputError
from pyunitok.run.identity import Identity
from pyunitok.run.journal import Journal

Item = TypeVar("Item")
Value = TypeVar("Value")


class Space:
    """A place for temporary files: a Workspace, or TemporaryFiles."""

    def new_file(self, name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
        """Open a file for writing."""
        raise NotImplementedError

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading."""
        raise NotImplementedError

    def path(self, name: str) -> Path:
        """The path of a file, for messages."""
        raise NotImplementedError

    def mapped(self, name: str, dtype: Any, n: int) -> np.ndarray[Any, Any]:
        """The n items of a file, memory-mapped. Raises OutputError if the size of the file is wrong."""
        path = self.path(name)
        try:
            with self.open(name) as file:
                n_bytes = os.fstat(file.fileno()).st_size
                if n_bytes != n * np.dtype(dtype).itemsize:
                    raise OutputError(
                        f"{path} has {n_bytes} bytes, not {n * np.dtype(dtype).itemsize}; --overwrite starts again"
                    )
                return np.memmap(file, dtype, "r") if n else np.empty(0, dtype)
        except OSError as error:
            raise OutputError(f"{path}: cannot be read: {error.strerror}; --overwrite starts again") from error


class SharedFolder(Space):
    """The files of a Workspace, for the run and for other processes that write some of the files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def new_file(self, name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
        return new_file(self._folder / name)

    def path(self, name: str) -> Path:
        return self._folder / name

    def open(self, name: str) -> IO[bytes]:
        return self.path(name).open("rb")


class Workspace(SharedFolder):
    """The folder for one run's temporary files. A context manager that releases the lock on the folder.

    base   the name used in messages
    """

    def __init__(self, folder: Path, base: Path, run: Identity, *, overwrite: bool) -> None:
        """Raises OutputError if the folder cannot be used, or belongs to a different run."""
        super().__init__(folder)
        self._base, self._run = base, run
        make_folder(folder, parents=True)
        self._lock = OutputLock(folder / "run")
        try:
            journal = None if overwrite else Journal.read(self._journal_path)
            if journal is not None and (differences := journal.run.differences(run)):
                raise OutputError(
                    f"{base} is unfinished, and was started by another command ({'; '.join(differences)});"
                    " --overwrite starts again"
                )
            self._steps = self._checked(journal)
        except BaseException:
            self._lock.release()
            raise
        if not self._steps:
            self._remove_files()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is not None and len(self._steps) <= 1:  # nothing is worth resuming
            self.remove()
        self._lock.release()

    @property
    def _journal_path(self) -> Path:
        return partial_name(self._folder / "journal")

    def _checked(self, journal: Journal | None) -> dict[str, dict[str, Any]]:
        steps = {} if journal is None else journal.progress.get("steps")
        try:
            return msgspec.convert(steps, dict[str, dict[str, Count | list[Count]]])
        except msgspec.ValidationError as error:
            raise self.damaged(error) from None

    def damaged(self, why: object) -> OutputError:
        return OutputError(f"{self._journal_path}: damaged ({why}); --overwrite starts again")

    def step(self, name: str, work: Callable[[], dict[str, Any]], unused: Iterable[str] = ()) -> dict[str, Any]:
        """Return the result of work(), whose values are numbers >= 0 or lists of such numbers. work() is not called if
        an earlier run stored its result.

        unused  files that are not needed after this step; NAME also stands for all files NAME.*
        """
        if name not in self._steps:
            values = work()
            self._steps[name] = values
            progress = {"bytes": 0, "steps": self._steps}
            Journal(self._run, False, {}, progress).write(self._journal_path)
        for file in unused:
            for path in [self._folder / file, *self._folder.glob(f"{file}.*")]:
                path.unlink(missing_ok=True)
        return self._steps[name]

    def remove(self) -> None:
        """Remove everything, at the end of the run."""
        self._remove_files()
        self._lock.release()
        with contextlib.suppress(OSError):  # the folder may contain files of another program
            self._folder.rmdir()

    def _remove_files(self) -> None:
        for path in self._folder.iterdir():
            if path != self._lock.path and not path.is_dir():
                path.unlink(missing_ok=True)


class TemporaryFiles(Space):
    """Temporary files without names, which cannot outlive the process. A context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, IO[bytes]] = {}

    def __enter__(self) -> TemporaryFiles:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[IO[bytes]]:
        self.remove(name)
        try:
            self._files[name] = file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - __exit__ closes it
            yield file
            file.flush()
        except OSError as error:
            raise OutputError(f"{self._folder}: cannot write a temporary file: {error.strerror}") from error

    def open(self, name: str) -> IO[bytes]:
        file = os.fdopen(os.dup(self._files[name].fileno()), "rb")
        file.seek(0)
        return file

    def path(self, name: str) -> Path:
        return self._folder / name

    def remove(self, name: str) -> None:
        """Close a file, which frees its disk space."""
        if name in self._files:
            self._files.pop(name).close()


def in_order(n_threads: int, work: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[tuple[Item, Value]]:
    """Call work(item) in threads; yields the items and their results in order."""
    waiting = deque[tuple[Item, "Future[Value]"]]()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) > n_threads:
                    first, future = waiting.popleft()
                    yield first, future.result()
            for first, future in waiting:
                yield first, future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
