"""Interrupts indexing repeatedly, by sending SIGKILL at random times or by making writes fail.

    python crash_index.py SPEC        runs in a folder with ids.u16 and prints one JSON object

SPEC is a JSON object:
    kills    the number of SIGKILLs at random times; each run resumes the previous one
    limits   instead of kills: file size limits; a run with each limit is followed by a run without a limit
    options  the options of build_index
The runs are forked from this process, as in crash.py.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from pathlib import Path

import crash
from toys.indexes import contents

from pyunitok.errors import UnitokError
from pyunitok.index.build import build_index

FOLDER = Path("idx")
FAILED = 3


def run(options: dict, max_file: int | None = None) -> int:
    """The exit code: 0 on success, FAILED if a write fails with a message that names the index, and otherwise 1."""
    if max_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file, resource.RLIM_INFINITY))
    try:
        build_index(["ids.u16"], FOLDER, **options)
    except UnitokError as error:
        return FAILED if str(FOLDER) in str(error) and max_file is not None else 1
    return 0


def finished() -> dict[str, tuple[int, int]]:
    """The inode and the modification time of the suffix array of each finished shard."""
    records = FOLDER.glob("0*.json.partial")
    arrays = [path.with_name(path.name.replace(".json.partial", ".sa")) for path in records]
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in arrays}


def kill_at_random(n_kills: int, options: dict, whole: dict[str, bytes], seconds: float) -> dict:
    """The numbers of runs that were killed, that resumed, that finished, and that did anything wrong."""
    result = {"killed": 0, "resumed": 0, "whole": 0, "wrong": 0}
    while result["killed"] < n_kills:
        done = finished() if FOLDER.exists() else {}
        result["resumed"] += bool(done)
        pid = crash.fork(lambda: run(options))
        time.sleep(random.uniform(0, seconds))
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        result["killed"] += code == -signal.SIGKILL
        if not (FOLDER / "index.json").exists():
            result["wrong"] += not done.items() <= finished().items()  # a finished shard was built again
        if code == 0 or result["killed"] == n_kills:
            code = crash.in_child(lambda: run(options))
            result["whole"] += 1
            result["wrong"] += code != 0 or contents(FOLDER) != whole
            shutil.rmtree(FOLDER)
    return result


def fail_writes(limits: list[int], options: dict, whole: dict[str, bytes]) -> dict:
    """The number of runs that failed as expected, and the limits for which the run or its results were wrong."""
    failed, wrong = 0, []
    for max_file in limits:
        code = crash.in_child(lambda max_file=max_file: run(options, max_file))
        failed += code == FAILED
        if (
            code not in (0, FAILED)
            or (code == FAILED and (FOLDER / "index.json").exists())
            or crash.in_child(lambda: run(options))
            or contents(FOLDER) != whole
        ):
            wrong.append(max_file)
        shutil.rmtree(FOLDER)
    return {"failed": failed, "wrong": wrong}


def main() -> None:
    spec = json.loads(sys.argv[1])
    options = spec["options"]
    assert crash.in_child(lambda: run(options)) == 0
    whole = contents(FOLDER)
    shutil.rmtree(FOLDER)
    began = time.monotonic()
    assert crash.in_child(lambda: run(options)) == 0  # timed now that imports are in the page cache
    seconds = time.monotonic() - began
    assert contents(FOLDER) == whole
    shutil.rmtree(FOLDER)
    if "kills" in spec:
        print(json.dumps(kill_at_random(spec["kills"], options, whole, seconds)))
    else:
        print(json.dumps(fail_writes(spec["limits"], options, whole)))


if __name__ == "__main__":
    main()
