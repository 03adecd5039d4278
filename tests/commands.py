"""Runs the command in the process of the test or in a new one.

A new Python process with NumPy takes half a second to start, so only tests of signals, shells and broken or full pipes
use one.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from pyunitok.cli import main

ROOT = Path(__file__).resolve().parent.parent


def environment(**more: str) -> dict[str, str]:
    """The environment for a new Python process that imports the same pyunitok, with these variables added."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def python(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run Python in this folder in a new process; options are those of subprocess.run()."""
    options = {"capture_output": "stdout" not in options, "env": environment()} | options
    return subprocess.run([sys.executable, *arguments], cwd=folder, **options)


def run(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run `pyunitok ARGUMENTS` in this folder."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for _ in range(2))
    code: object = 0
    handler = signal.getsignal(signal.SIGTERM)
    with (
        _piped(stdin) as given, _working_in(folder), warnings.catch_warnings(),
        mock.patch.multiple(sys, argv=["pyunitok", *arguments], stdin=given, stdout=out, stderr=err),
    ):  # fmt: skip
        warnings.simplefilter("default")
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
        finally:
            signal.signal(signal.SIGTERM, handler)
        out.flush()
        err.flush()
    assert isinstance(code, int), code
    return subprocess.CompletedProcess(arguments, code, out.buffer.getvalue(), err.buffer.getvalue())  # type: ignore[attr-defined]


def run_forked(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Like run(), but in a forked child, so that no thread waiting for stdin is left behind."""
    with tempfile.TemporaryFile() as file:
        pid = os.fork()
        if pid == 0:
            try:
                pickle.dump(run(folder, *arguments, stdin=stdin), file)
                file.flush()
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        file.seek(0)
        ret: subprocess.CompletedProcess[bytes] = pickle.load(file)
    return ret


@contextlib.contextmanager
def _piped(data: bytes) -> Iterator[io.TextIOWrapper]:
    """The read end of a pipe; a thread writes the data, which may exceed the capacity of the pipe."""
    reading, writing = os.pipe()

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), open(writing, "wb") as file:  # noqa: PTH123
            file.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    with open(reading, encoding="utf-8") as ret:  # noqa: PTH123
        yield ret
    writer.join()


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:  # contextlib.chdir is not in Python 3.10
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def serving(index: Path) -> Iterator[str]:
    """The address of a server process that the command starts for an index."""
    command = [sys.executable, "-m", "pyunitok", "serve", str(index), "--port", "0"]
    with subprocess.Popen(command, env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        try:
            yield found[0]
        finally:
            server.terminate()


def wait_for_count(page: Any, start: str) -> None:
    """Waits until the line above the answer on the search page begins with this text."""
    page.wait_for_function("start => document.querySelector('#count').innerText.startsWith(start)", arg=start)
