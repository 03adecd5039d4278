"""Write the files of a training run and, with a checkpoint, a record of them, which tells a repeated run that there
is nothing to do.

    NAME.training.json   options, inputs, the SHA-256 of each file, and whether the training is complete

The record is written before the files, so a resumed run can tell its own files from others.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyunitok.disk.outfile import write_whole
from pyunitok.errors import OutputError

FORMAT = "pyunitok training"


class Record:
    """The record of one training run. out: NAME; files: all files that the run writes; what: see description()."""

    def __init__(self, out: str | os.PathLike[str], files: Iterable[Path], what: Mapping[str, Any]) -> None:
        self.path = Path(f"{os.fspath(out)}.training.json")
        self._files = list(files)
        self._what = json.loads(json.dumps(what))
        self._hashes: dict[str, str] = {}

    def is_done(self, report: Path | None, *, overwrite: bool | None) -> bool:
        """Whether this run is complete, and its files and report are unchanged. Always False with overwrite.

        overwrite  False: raise OutputError if this run would replace a file that it did not write
        """
        there = [path for path in self._files if path.exists()]
        if overwrite or not there:
            return False
        before = self._read()
        is_done = before.get("done") is True
        if not before:
            problem = f"{there[0]} exists; --overwrite replaces it"
        elif different := difference(before["what"], self._what):
            problem = f"{there[0]} is the result of another training run: {different}; --overwrite replaces it"
        else:
            expected = there if not is_done else self._files if report is None else [*self._files, report]
            problem = next(filter(None, (self._problem(path, before["files"]) for path in expected)), "")
        if problem and overwrite is False:
            raise OutputError(problem)
        return is_done and not problem

    def begin(self, files: Mapping[Path, bytes | bytearray]) -> None:
        """Record the files that are about to be written."""
        self._hashes = {self._name(path): hashlib.sha256(data).hexdigest() for path, data in files.items()}
        self._write(done=False)

    def end(self, report: Path | None) -> None:
        """Record that all files and the report are written."""
        if report is not None and report.is_file():
            self._hashes[self._name(report)] = hashlib.sha256(report.read_bytes()).hexdigest()
        self._write(done=True)

    def _problem(self, path: Path, hashes: Mapping[str, Any]) -> str:
        """Why the file is not the one that this run wrote; "" if it is."""
        expected = hashes.get(self._name(path))
        if expected is None:
            problem = "was not written by this training run, which is complete"
        elif not path.is_file():
            problem = "is missing, although this training run wrote it"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            problem = "has changed since this training run wrote it"
        else:
            return ""
        return f"{path} {problem}; --overwrite trains again"

    def _name(self, path: Path) -> str:
        """The path relative to the record, so that the record and its files can be moved together."""
        return os.path.relpath(path.absolute(), self.path.parent.absolute())

    def _read(self) -> dict[str, Any]:
        """The record on disk; empty if there is no valid record."""
        try:
            found = json.loads(self.path.read_bytes())
            is_ours = found["format"] == FORMAT and isinstance(found["what"], dict) and isinstance(found["files"], dict)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return found if is_ours else {}

    def _write(self, *, done: bool) -> None:
        values = {"format": FORMAT, "what": self._what, "files": self._hashes, "done": done}
        write_whole(self.path, json.dumps(values, indent=1).encode())


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describes the first value that differs; "" if none does."""
    for name in dict.fromkeys([*before, *now]):
        if before.get(name) != now.get(name):
            return f"{name} was {_shown(before.get(name))}, now {_shown(now.get(name))}"
    return ""


def _shown(value: Any) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 200 else text[:200] + "…"


def write_models(files: Mapping[Path, bytes | bytearray], record: Record | None) -> None:
    """Write the files of a model in this order, so that if the last exists, all do. After OutputError, none exist."""
    if record is not None:
        record.begin(files)
    written: list[Path] = []
    try:
        for path, data in files.items():
            write_whole(path, data)
            written.append(path)
    except OutputError:
        for path in written:  # an incomplete set would block the next attempt
            path.unlink()
        raise
