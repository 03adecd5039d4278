"""Reads and writes the journal next to an unfinished output. It records the run and how much of its output is on disk.

    OUT.journal.partial     line 1   "pyunitok journal 2 " and the XXH64 of the two lines below
                            line 2   the run: its options and inputs                      (JSON, never changes)
                            line 3   the state: files, progress; at the end the manifest  (JSON)

The journal is replaced atomically, after the data that it describes is on disk. A resumed run truncates later data.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from pyunitok.disk import hashing
from pyunitok.disk.hashing import Hashed
from pyunitok.disk.outfile import partial_name, write_whole
from pyunitok.errors import OutputError
from pyunitok.run.identity import Identity

# The version covers everything in the journal, including the encoder's state in `progress`.
MAGIC, VERSION = "pyunitok journal", 2


def journal_path(out: Path) -> Path:
    return partial_name(out.with_name(out.name + ".journal"))


@dataclass
class Journal:
    """The contents of a journal.

    run       the run that writes this output
    replaces  whether the run may replace an older OUT (--overwrite)
    files     {suffix: the length on disk and the hashes of this output file}; the suffix of OUT itself is ""
    progress  JSON values that the run needs to resume
    manifest  the text of OUT.json, once all files are complete and only renames remain
    """

    run: Identity
    replaces: bool
    files: dict[str, Hashed]
    progress: dict[str, Any]
    manifest: str | None = None

    def write(self, path: Path, run_json: bytes | None = None) -> None:
        """Replace the journal and sync it to disk. run_json: encode_run(self.run), if the caller has it."""
        files = {suffix: asdict(state) for suffix, state in self.files.items()}
        state = {"replaces": self.replaces, "files": files, "progress": self.progress, "manifest": self.manifest}
        body = (run_json or encode_run(self.run)) + json.dumps(state).encode() + b"\n"
        write_whole(path, _head(body) + b"\n" + body)

    @classmethod
    def read(cls, path: Path) -> Journal | None:
        """Read a journal; None if the file does not exist. Raises OutputError if it is damaged or has an unsupported
        version."""
        try:
            head, _, body = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputError(f"{path}: cannot be read: {error.strerror}") from error
        found = re.match(rb"%b (\d{1,9}) " % MAGIC.encode(), head)
        if found is None:
            raise OutputError(f"{path}: not a pyunitok journal; --overwrite starts again")
        if int(found[1]) != VERSION:
            raise OutputError(
                f"{path}: the journal has version {int(found[1])}, but this pyunitok resumes only version {VERSION};"
                " finish the run with the pyunitok version that started it, or start again with --overwrite"
            )
        if head != _head(body):
            raise OutputError(f"{path}: damaged (its XXH64 does not match); --overwrite starts again")
        try:
            run, state = map(json.loads, body.splitlines())
            files = {suffix: to_hashed(values) for suffix, values in state["files"].items()}
            journal = cls(Identity.from_json(run), state["replaces"], files, state["progress"], state["manifest"])
            journal._check()
            return journal
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise OutputError(f"{path}: damaged ({error}); --overwrite starts again") from None

    @property
    def n_inputs_read(self) -> int | None:
        """The number of inputs whose output is complete; later inputs may change. None: no input may change."""
        position = self.progress.get("position")
        n_read = position.get("source") if isinstance(position, dict) else None
        return n_read if self.manifest is None and type(n_read) is int and n_read >= 0 else None

    def _check(self) -> None:
        """Raise ValueError if a field is invalid; the reader of `progress` checks its contents."""
        if not isinstance(self.replaces, bool) or not isinstance(self.progress, dict):
            raise ValueError("a field has the wrong type")
        if self.manifest is None and (type(self.progress.get("bytes")) is not int or self.progress["bytes"] < 0):
            raise ValueError("the number of bytes read is missing or invalid")
        if self.manifest is not None and not isinstance(self.manifest, str):
            raise ValueError("the manifest is not a string")


def _head(body: bytes) -> bytes:
    return f"{MAGIC} {VERSION} {xxhash.xxh64_hexdigest(body)}".encode()


def to_hashed(values: dict[str, Any]) -> Hashed:
    """The inverse of dataclasses.asdict. Raises ValueError if the number of digests does not match the number of
    bytes."""
    hashed = msgspec.convert(values, Hashed)
    n_whole, n_rest = divmod(hashed.n_bytes, hashing.HASH_CHUNK_BYTES)
    if n_whole < 0 or (hashed.all_digests() and (len(hashed.digests) != n_whole or bool(hashed.rest) != bool(n_rest))):
        raise ValueError(f"{hashed.n_bytes} bytes do not match {len(hashed.digests)} hashes")
    return hashed


def encode_run(run: Identity) -> bytes:
    """Line 2 of the journal. It never changes and may be long, so callers cache it."""
    return json.dumps(run.to_json()).encode() + b"\n"
