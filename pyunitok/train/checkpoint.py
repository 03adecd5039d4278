"""Saves the result of each finished phase of a training run in a folder, so that the run can be resumed.

    DIR/training.json   options and inputs; a different training run is rejected
    DIR/NAME.npz        the arrays of a phase: counts, seeds, rounds, merges, longest, ngrams; replaced atomically

The folder is removed once the model is written. result.py keeps a record next to the model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok._c.train import Units
from pyunitok.corpus.source import Source
from pyunitok.disk.outfile import OutputLock, new_file, write_whole
from pyunitok.disk.url import redacted
from pyunitok.errors import OptionError, OutputError, TrainingError
from pyunitok.train.result import Record, difference

VERSION = 3
PHASES = ("counts", "seeds", "rounds", "merges", "longest", "ngrams")
_FILES = ("normalization_rule_tsv", "denormalization_rule_tsv", "seed_sentencepieces_file")  # options that name a file
_PARTS = ("data", "offsets", "counts")  # the fields of Units, each saved as a separate array
Array = np.ndarray[Any, Any]


class Checkpoint:
    """The checkpoint of one training run; a context manager. Raises TrainingError if the folder belongs to a different
    training run, and OutputError if the folder cannot be written.

    folder  None: nothing is saved
    record  the record of the files that the run writes
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, what: Mapping[str, Any] | None = None,
        record: Record | None = None,
    ) -> None:  # fmt: skip
        self.folder, self.record = None if folder is None else Path(folder), record
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot create the checkpoint folder: {error.strerror}") from error
        self._lock = OutputLock(self.folder / "training.json")
        try:
            _check(self.folder, dict(what or {}))
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        if self.folder is not None:
            self._lock.release()

    def save(self, name: str, values: Any = None, /, **arrays: Units | Array) -> None:
        """Save a phase atomically. values: anything that JSON can represent."""
        if self.folder is None:
            return
        flat: dict[str, Array] = {"json": np.frombuffer(json.dumps(values).encode(), np.uint8)}
        for key, item in arrays.items():
            if isinstance(item, Units):
                flat |= {f"{key}_{part}": getattr(item, part) for part in _PARTS}
            else:
                flat[key] = item
        with new_file(self.folder / f"{name}.npz") as file:
            np.savez(file, **flat)  # type: ignore[arg-type]

    def load(self, name: str) -> tuple[dict[str, Any], Any] | None:
        """The saved arrays and values; None if this phase was not saved."""
        if self.folder is None:
            return None
        path = self.folder / f"{name}.npz"
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays: dict[str, Any] = {key: file[key] for key in file.files}
            for key in [name.removesuffix("_offsets") for name in arrays if name.endswith("_offsets")]:
                arrays[key] = Units(*(arrays.pop(f"{key}_{part}") for part in _PARTS))
            return arrays, json.loads(arrays.pop("json").tobytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise self.damaged(name, error) from None

    def damaged(self, name: str, why: Exception) -> TrainingError:
        """The error for a saved phase that cannot be used."""
        return TrainingError(f"{self.folder}/{name}.npz is damaged ({why}): remove {self.folder} to start again")

    def remove(self) -> None:
        """Remove the folder, because the run is complete."""
        if self.folder is None:
            return
        for name in PHASES:
            (self.folder / f"{name}.npz").unlink(missing_ok=True)
        (self.folder / "training.json").unlink(missing_ok=True)
        self._lock.release()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


def _check(folder: Path, what: dict[str, Any]) -> None:
    path = folder / "training.json"
    try:
        before = json.loads(path.read_bytes())
    except FileNotFoundError:
        if others := sorted(p.name for p in folder.iterdir() if not p.name.startswith("training.json")):
            raise TrainingError(
                f"{folder} holds {others[0]}, which is not part of a checkpoint: name a new folder"
            ) from None
        write_whole(path, json.dumps(what, indent=1).encode())
        return
    except ValueError:
        raise TrainingError(f"{path} is damaged: remove {folder} to start again") from None
    if different := difference(before, json.loads(json.dumps(what))):
        raise TrainingError(
            f"{folder} is the checkpoint of another training run: {different}; resume that run, name another"
            " folder, or remove this one"
        )


def tidy(folder: str | os.PathLike[str], what: Mapping[str, Any]) -> None:
    """Remove the checkpoint of a complete run that was killed in remove(). A different run's checkpoint is kept."""
    if Path(folder, "training.json").exists():
        with contextlib.suppress(TrainingError, OutputError):
            Checkpoint(folder, what).remove()


def description(
    kind: str, vocab_size: int | Sequence[int], sources: Iterable[Source], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options and inputs, which identify a training run. Raises OptionError for an input that can be read only
    once."""
    ret: dict[str, Any] = {"version of the checkpoint": VERSION, "kind": kind, "vocab_size": vocab_size}
    for name, value in sorted(options.items()):
        ret[name] = redacted(repr(value))
        if name in _FILES and Path(os.fsdecode(value)).is_file():
            ret[f"the content of {name}"] = hashlib.sha256(Path(os.fsdecode(value)).read_bytes()).hexdigest()
    for source in sources:
        if source.size_bytes is None and source.etag is None:
            raise OptionError(f"{source.path} can be read only once, but a checkpoint requires files")
        changed = f"changed at {source.mtime_ns}" if source.etag is None else f"version {source.etag}"
        url = "" if source.secrets_sha256 is None else f", at a URL with secrets that hash to {source.secrets_sha256}"
        ret[f"the input {source.path}"] = f"{source.size_bytes} bytes, {changed}{url}"
    return ret
