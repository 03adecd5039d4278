"""The journal beside an unfinished output: which run it belongs to, and how far that run is safe on the disk.

    OUT.journal.partial     line 1   "pyunitok journal 1 " and the XXH64 of the two lines below
                            line 2   the run: what decides its output, and its inputs   (JSON, the same all the time)
                            line 3   the state: files, progress; at the end the manifest  (JSON)

It is replaced as a whole, after the data it speaks of is on the disk. So what it says is always true, though more may
have been written since; and whoever starts the same run again finds here where to go on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import zip_longest
from pathlib import Path
from typing import Any

import xxhash

from pyunitok.disk.hashing import Hashed
from pyunitok.disk.outfile import partial_name, sync_folder, write_whole
from pyunitok.errors import OutputError
from pyunitok.tokens.manifest import InputRecord, Manifest

MAGIC = "pyunitok journal 1 "
SHOWN = 5  # differing inputs that a message names


def journal_path(out: Path) -> Path:
    return partial_name(out.with_name(out.name + ".journal"))


@dataclass(frozen=True)
class InputIdentity:
    """One input, and what tells that it is not what it was."""

    path: str
    format: str
    compression: str
    size: int | None  # in bytes; None for a pipe
    mtime_ns: int | None  # when it was last changed; None where nothing tells
    etag: str | None = None  # behind a URL: what its store calls this version, if it does

    @classmethod
    def of(cls, record: InputRecord) -> InputIdentity:
        """What a manifest says of an input."""
        path = re.sub(r"^/(dev|proc/self)/fd/\d+$", "/dev/fd", record.path)  # of <(command): another number each time
        return cls(path, record.format, record.compression, record.size, record.mtime_ns, record.etag)

    def __str__(self) -> str:
        words = [self.path, f"({self.format}"]
        words.append(", compression " + self.compression)
        words.append("" if self.size is None else f", {self.size} bytes")
        if self.mtime_ns is not None:
            seconds, ns = divmod(self.mtime_ns, 10**9)
            words.append(f", changed {datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M:%S}.{ns:09} UTC")
        words.append("" if self.etag is None else f", etag {self.etag}")
        return words[0] + " " + "".join(words[1:]) + ")"


@dataclass(frozen=True)
class Identity:
    """What decides the bytes of a run's output: two runs with equal identities write the same.

    options  JSON values by the names that a user knows them by
    inputs   in reading order
    """

    options: dict[str, Any]
    inputs: list[InputIdentity]

    def differences(self, now: Identity) -> list[str]:
        """Phrases, one for each thing that `now` has otherwise; none if the runs are the same."""
        names = dict.fromkeys([*self.options, *now.options])
        found = [
            f"{name}: {_shown(self.options.get(name))} then, {_shown(now.options.get(name))} now"
            for name in names
            if self.options.get(name) != now.options.get(name)
        ]
        changed = list(self._changed_inputs(now))
        found += changed[:SHOWN]
        if len(changed) > SHOWN:
            found.append(f"and {len(changed) - SHOWN} inputs more")
        return found

    def _changed_inputs(self, now: Identity) -> Iterator[str]:
        if len(self.inputs) != len(now.inputs):
            yield f"{len(self.inputs)} inputs then, {len(now.inputs)} now"
        for k, (old, new) in enumerate(zip_longest(self.inputs, now.inputs)):
            if old != new:
                yield f"input {k + 1}: {old or 'none'} then, {new or 'none'} now"


def _shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


@dataclass
class Journal:
    """What the file holds.

    run       whose output this is
    replaces  the run may replace an older OUT (--overwrite)
    files     for each output, by the end of its name ("" is OUT itself), what of it is on the disk
    progress  what the run needs to go on from there; JSON values
    manifest  once all outputs are whole: OUT.json's text, and the names are being given
    """

    run: Identity
    replaces: bool
    files: dict[str, Hashed]
    progress: dict[str, Any]
    manifest: str | None = None

    def write(self, path: Path, run_json: bytes | None = None) -> None:
        """Replace the journal, on the disk when this returns. run_json: encode_run(self.run), made before."""
        files = {suffix: asdict(state) for suffix, state in self.files.items()}
        state = {"replaces": self.replaces, "files": files, "progress": self.progress, "manifest": self.manifest}
        body = (run_json or encode_run(self.run)) + json.dumps(state).encode() + b"\n"
        write_whole(path, MAGIC.encode() + xxhash.xxh64_hexdigest(body).encode() + b"\n" + body)
        sync_folder(path.parent)

    @classmethod
    def read(cls, path: Path) -> Journal | None:
        """None where there is none. OutputError where it is damaged, or of another release."""
        try:
            head, _, body = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        if not head.startswith(MAGIC.encode()):
            raise OutputError(f"{path}: not a journal that this release reads; --overwrite starts again")
        if head != MAGIC.encode() + xxhash.xxh64_hexdigest(body).encode():
            raise OutputError(f"{path}: damaged (another XXH64); --overwrite starts again")
        run, state = map(json.loads, body.splitlines())
        identity = Identity(run["options"], [InputIdentity(*values) for values in run["inputs"]])
        files = {suffix: to_hashed(values) for suffix, values in state["files"].items()}
        return cls(identity, state["replaces"], files, state["progress"], state["manifest"])


def to_hashed(values: dict[str, Any]) -> Hashed:
    """From JSON what dataclasses.asdict made of it."""
    return Hashed(values["n_bytes"], tuple(values["digests"]), values["rest"])


def encode_run(run: Identity) -> bytes:
    """Line 2 of the journal, with its end. It is long where there are many inputs, and never changes."""
    inputs = [[item.path, item.format, item.compression, item.size, item.mtime_ns, item.etag] for item in run.inputs]
    return json.dumps({"options": run.options, "inputs": inputs}).encode() + b"\n"


def run_of(manifest: Manifest) -> Identity:
    """The run that made a finished token file."""
    return Identity(manifest.run or {}, [InputIdentity.of(record) for record in manifest.inputs])
