"""Runs a command repeatedly and kills it at a different system call each time.

    python crash.py SPEC        runs in the folder of the corpus and prints one JSON object

SPEC is a JSON object:
    command      the arguments of pyunitok, whose OUT is "ids"
    points       the numbers of the system calls before which the command is killed; negative ones count from the end;
                 null means all
    power        true if a kill also discards everything that was not synced
    kills        instead of points: the number of SIGKILLs at random times; each run resumes the previous one
    older        the arguments that create an older output before each run; it must stay complete or be replaced
    checkpoints  without points: the number of checkpoints after which the command is killed
For each point, the outputs are removed, the command runs up to the point, and it then runs again to the end. "wrong"
lists the points after which the outputs differed from those of an uninterrupted run. If neither "points" nor "kills"
is given, the command runs once, in this process.

The runs are forked from this process rather than the test's, so they start quickly and have no other threads.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

CALLS = [(os, "write"), (os, "fsync"), (os, "ftruncate"), (Path, "replace"), (Path, "unlink")]
SHADOW = Path("shadow")
OUTPUTS = ("ids", "ids.ends", "ids.meta.jsonl.zst")
FILES = ["ids", "ids.ends", "ids.json", "ids.meta.jsonl.zst"]


class Disk:
    """Keeps copies of the contents and names that were synced and would therefore survive a power failure."""

    def __init__(self, shadow: Path) -> None:
        self.shadow = shadow
        self.kept = []  # open descriptors, so that the inode number of a removed file is not reused
        shutil.rmtree(shadow, ignore_errors=True)
        shadow.mkdir()
        for path in Path().glob("ids*"):  # earlier files count as synced
            self.on_fsync(os.open(path, os.O_RDONLY))
        self.on_fsync(os.open(".", os.O_RDONLY))

    def on_fsync(self, fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").is_dir():
            names = {path.name: path.stat().st_ino for path in Path().glob("ids*")}
            self.put("names", json.dumps(names).encode())
        else:
            self.kept.append(os.dup(fd))
            self.put(str(os.fstat(fd).st_ino), Path(f"/proc/self/fd/{fd}").read_bytes())

    def put(self, name: str, data: bytes) -> None:
        (self.shadow / "new").write_bytes(data)
        (self.shadow / "new").rename(self.shadow / name)


def lose_power(shadow: Path) -> None:
    """Reduce this folder to the synced files."""
    clear()
    names = json.loads((shadow / "names").read_bytes()) if (shadow / "names").exists() else {}
    for name, inode in names.items():
        synced = shadow / str(inode)
        Path(name).write_bytes(synced.read_bytes() if synced.exists() else b"")


def in_child(work) -> int:
    """The exit code of work() in a forked child, or minus the number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(fork(work), 0)[1])


def fork(work) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = work() or 0
        except SystemExit as error:
            code = error.code or 0
        finally:
            os._exit(code)
    return pid


def run(spec: dict, stop_at: int | None, count_file: Path | None = None) -> None:
    """Run the command to its end, or up to system call number `stop_at`."""
    n_calls, disk = 0, Disk(SHADOW) if spec.get("power") and stop_at is not None else None

    def counted(owner, name):
        call = getattr(owner, name)

        def replacement(*arguments, **options):
            nonlocal n_calls
            if n_calls == stop_at:
                for restore, function in originals:
                    setattr(*restore, function)
                os.kill(os.getpid(), signal.SIGKILL)
            n_calls += 1
            ret = call(*arguments, **options)
            if disk and name == "fsync":
                disk.on_fsync(*arguments)
            return ret

        return replacement

    originals = [((owner, name), getattr(owner, name)) for owner, name in CALLS]
    for owner, name in CALLS:
        setattr(owner, name, counted(owner, name))
    for target, value in TUNE.items():
        module, _, name = target.rpartition(".")
        setattr(importlib.import_module(module), name, value)
    if spec.keys() & {"points", "kills"}:
        with Path("log").open("ab") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
    if "checkpoints" in spec:
        kill_after_checkpoints(spec["checkpoints"])
    sys.argv = ["pyunitok", *spec["command"]]
    try:
        importlib.import_module("pyunitok.cli").main()
    finally:
        if count_file:
            count_file.write_text(str(n_calls))


def kill_after_checkpoints(n_left: int) -> None:
    from pyunitok.run.output import Output

    checkpoint = Output.checkpoint

    def counted(output, progress, **_):
        nonlocal n_left
        checkpoint(output, progress, wait=True)
        n_left -= 1
        if not n_left:
            os.kill(os.getpid(), signal.SIGKILL)

    Output.checkpoint = counted


def timeless(path: Path) -> dict:
    """A manifest without the fields that differ between runs."""
    manifest = json.loads(path.read_bytes())
    del manifest["created"]
    for record in manifest["inputs"]:
        del record["seconds"]
    return manifest


def outputs() -> list[bytes]:
    """The contents of the outputs that must be equal after every run."""
    return [*(Path(name).read_bytes() for name in OUTPUTS), json.dumps(timeless(Path("ids.json"))).encode()]


# With these sizes, a corpus of one megabyte causes enough checkpoints, chunks and direct writes.
TUNE = {
    "pyunitok.run.output.CHECKPOINT_BYTES": 60_000,
    "pyunitok.run.output.CHECKPOINT_SHARE": 0,
    "pyunitok.run.output.HASH_CHUNK_BYTES": 1 << 17,
    "pyunitok.disk.hashing.HASH_CHUNK_BYTES": 1 << 17,
    "pyunitok.corpus.pipe.HASH_CHUNK_BYTES": 1 << 17,
    "pyunitok.disk.outfile.BUFFER_BYTES": 1 << 15,
    "pyunitok.disk.outfile.DIRECT_FROM_BYTES": 1 << 17,
}


def clear() -> None:
    for path in Path().glob("ids*"):
        path.unlink()


def make_older(spec: dict) -> list[bytes] | None:
    """Remove all outputs, and create the older output if the spec requests one."""
    clear()
    if not spec.get("older"):
        return None
    if not Path("older/ids").exists():
        assert in_child(lambda: run(spec | {"command": spec["older"]}, None)) == 0, Path("log").read_text()
        Path("older").mkdir()
        for path in Path().glob("ids*"):
            shutil.copy(path, "older")
    for path in Path("older").iterdir():
        shutil.copy(path, ".")
    return outputs()


def kill_at_random(spec: dict, whole: list[bytes]) -> dict:
    """The numbers of runs that were killed, that resumed, that finished, and that finished with wrong outputs."""
    result = {"killed": 0, "resumed": 0, "whole": 0, "wrong": 0}
    clear()
    began = time.monotonic()
    in_child(lambda: run(spec, None))
    seconds = time.monotonic() - began
    clear()
    while result["killed"] < spec["kills"]:
        result["resumed"] += Path("ids.journal.partial").exists()
        pid = fork(lambda: run(spec, None))
        time.sleep(random.uniform(0, seconds))
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        result["killed"] += code == -signal.SIGKILL
        if code == 0 or result["killed"] == spec["kills"]:
            code = in_child(lambda: run(spec, None))
            result["whole"] += 1
            result["wrong"] += code != 0 or outputs() != whole
            clear()
    return result


def main() -> None:
    spec = json.loads(sys.argv[1])
    if not spec.keys() & {"points", "kills"}:
        run(spec, None)
        return
    for module in ("cli", "run.pipeline", "run.journal"):
        importlib.import_module(f"pyunitok.{module}")
    for module in ("concurrent.futures.thread", "zstandard"):
        importlib.import_module(module)
    older = make_older(spec)
    assert in_child(lambda: run(spec, None, Path("count"))) == 0, Path("log").read_text()
    whole, n_calls = outputs(), int(Path("count").read_text())
    if "kills" in spec:
        print(json.dumps(kill_at_random(spec, whole)))
        return
    wrong, n_stopped, resumed = [], 0, 0
    for point in spec["points"] if spec["points"] is not None else range(n_calls):
        make_older(spec)
        stopped = in_child(lambda point=point: run(spec, point % n_calls))
        if stopped not in (0, -signal.SIGKILL):  # the exit code is 0 if the threads made fewer calls this time
            wrong.append([point, "stopped", stopped])
        if spec.get("power"):
            lose_power(SHADOW)
        if Path("ids").exists() and outputs() not in (whole, older):
            wrong.append([point, "OUT does not match its sidecar files"])
        resumed += Path("ids.journal.partial").exists()
        code = in_child(lambda: run(spec, None))
        left = sorted(path.name for path in Path().glob("ids*"))
        if code or left != FILES or outputs() != whole:
            wrong.append([point, code, left])
        n_stopped += stopped != 0
    print(json.dumps({"calls": n_calls, "stopped": n_stopped, "resumed": resumed, "wrong": wrong}))


if __name__ == "__main__":
    main()
