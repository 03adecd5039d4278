"""Starts the processes of benchmarks, and measures the time and memory that they use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click


def command() -> list[str]:
    """The `pyunitok` command: the script installed for this Python, or the module of the checkout."""
    script = Path(sys.executable).parent / "pyunitok"
    return [str(script)] if script.exists() else [sys.executable, "-m", "pyunitok"]


def environment() -> dict[str, str]:
    """An environment in which children import this pyunitok and cache its bytecode, as for an installed package."""
    import pyunitok

    path = {"PYTHONPATH": str(Path(pyunitok.__file__).parent.parent)}
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | path


def run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Run a command and return what it prints."""
    done = subprocess.run(argv, env=env or environment(), capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{' '.join(argv)[:200]}: exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


@dataclass(frozen=True)
class Usage:
    """The resources that a process and its children used."""

    seconds: float
    cpu_seconds: float
    peak_bytes: float
    output: str


# Runs in a small process: the peak memory of a child includes the memory of its parent when it was started.
_USAGE = """
import resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print()
print(time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def usage(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Usage:
    output, _, last = run([sys.executable, "-c", _USAGE, *argv], env).rstrip().rpartition("\n")
    seconds, cpu, peak = map(float, last.split())
    return Usage(seconds, cpu, peak * (1 if sys.platform == "darwin" else 1024), output.strip())


def manifest(out: Path) -> dict[str, Any]:
    """The manifest of a token file."""
    return dict(json.loads(out.with_name(out.name + ".json").read_text()))
