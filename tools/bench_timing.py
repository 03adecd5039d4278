"""Provides what all benchmarks share: their options, the timing loop, and the report."""

from __future__ import annotations

import functools
import gc
import json
import os
import platform
import re
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # an installed pyunitok takes precedence; this finds one built in place

Functions = Mapping[str, Callable[[], object]]
Seconds = dict[str, list[float]]


def volume(gigabytes: float) -> tuple[Callable[[Any], Any], ...]:
    """The options --gigabytes and --threads."""
    return (
        click.option("--gigabytes", type=float, default=gigabytes, show_default=True, help="Size of the text."),
        click.option("--threads", type=click.IntRange(1), default=2, show_default=True),
    )


def fail(message: str) -> click.ClickException:
    """The error when results differ: a benchmark prints no figure for wrong results."""
    return click.ClickException(f"not measured: {message}")


@dataclass(frozen=True)
class Bench:
    """The options that all benchmarks share."""

    shared: Path
    corpora: str | None
    n: int
    clock: str

    @property
    def models(self) -> Path:
        return self.shared / "data" / "models"

    def report(self, title: str) -> Report:
        return Report(title, self.n, self.clock)

    def now(self) -> float:
        return cpu_seconds() if self.clock == "cpu" else time.perf_counter()

    def interleave(self, functions: Functions, before: Functions | None = None, *, is_own: bool = False) -> Seconds:
        """The seconds of n calls of each function. The functions take turns, so that a disturbance affects all of them.

        The first turn is not timed. before[name] runs untimed before every call of functions[name]. Results are freed
        and garbage is collected outside the timed part. With is_own, each function returns its own time in seconds.
        """
        seconds: Seconds = {name: [] for name in functions}
        for turn in range(self.n + 1):
            for name, function in functions.items():
                if before and name in before:
                    before[name]()
                gc.collect()
                gc.disable()
                started = self.now()
                result: Any = function()
                elapsed = self.now() - started
                gc.enable()
                if turn:
                    seconds[name].append(float(result) if is_own else elapsed)
                del result
        return seconds

    @contextmanager
    def folder(self, n_bytes: float) -> Iterator[Path]:
        """A temporary folder, in TMPDIR if that is set, with n_bytes of free space."""
        with tempfile.TemporaryDirectory() as name:
            free = shutil.disk_usage(name).free
            if free < n_bytes:
                raise click.ClickException(f"{name}: {free / 1e9:.1f} GB free, {n_bytes / 1e9:.1f} needed; set TMPDIR")
            yield Path(name)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure pyunitok and its peers in turns; compare ratios, not megabytes."""


def benchmark(
    n: int, *options: Callable[[Any], Any], name: str | None = None
) -> Callable[[Callable[..., Report]], click.Command]:
    """Add a command with `options` and the shared ones. Its function takes a Bench and returns the report to print."""
    shared_options = (
        click.option("--shared", type=click.Path(path_type=Path), envvar="PYUNITOK_SHARED",
                     default=ROOT.parent / "shared", help="Folder that contains data/."),
        click.option("--corpora", metavar="A,B", help="Measure only these; 'sample' is the one in tests/data."),
        click.option("-n", type=click.IntRange(1), default=n, show_default=True, help="Timed turns."),
        click.option("--clock", type=click.Choice(["wall", "cpu"]), default="wall", show_default=True,
                     help="cpu: time of all threads and child processes, for a busy machine."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
    )  # fmt: skip

    def decorate(function: Callable[..., Report]) -> click.Command:
        def call(shared: Path, corpora: str | None, n: int, clock: str, as_json: bool, **own: Any) -> None:
            function(Bench(shared, corpora, n, clock), **own).show(as_json)

        wrapped: Callable[..., Any] = functools.update_wrapper(call, function)
        for option in reversed((*options, *shared_options)):
            wrapped = option(wrapped)
        return cli.command(name or function.__name__)(wrapped)

    return decorate


def cpu_seconds() -> float:
    """The processor time of this process and of its finished children, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """The median of the ratios of the individual turns."""
    return statistics.median(a / b for a, b in zip(numerators, denominators, strict=True))


def less(seconds: Sequence[float], start: Sequence[float]) -> list[float]:
    """The seconds of each turn minus those of an empty run."""
    return [a - b for a, b in zip(seconds, start, strict=True)]


def speed(n_bytes: float, seconds: Sequence[float]) -> float:
    """MB/s of the median."""
    return n_bytes / statistics.median(seconds) / 1e6


def pin_to_one_core() -> None:
    """Pin this thread and those that it starts, if the system supports that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def verdict(ok: bool) -> str:
    return "pass" if ok else "MISS"


def at_least(value: float, target: float | None) -> dict[str, Any]:
    """The cells of a target, which are empty if there is none."""
    return {"target": target, "verdict": None if target is None else verdict(value >= target)}


def at_most(value: float, target: float | None) -> dict[str, Any]:
    return {"target": target, "verdict": None if target is None else verdict(value <= target)}


def column(name: str) -> str:
    """The title of a column, as Report.add() derives it from the name of its parameter."""
    return name.replace("_", " ").replace("MBps", "MB/s")


@dataclass
class Report:
    """Rows of one benchmark, all with the same columns."""

    title: str
    n: int = 1
    clock: str = "wall"
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, **row: Any) -> None:
        """Add a row of cells by column. In the names of columns, underscores stand for spaces, and MBps for MB/s."""
        self.rows.append({column(name): value for name, value in row.items()})

    def show(self, as_json: bool) -> None:
        if as_json:
            click.echo(json.dumps(vars(self) | machine(), ensure_ascii=False, indent=1))
            return
        click.echo(f"{self.title}\n{'; '.join(f'{name} {value}' for name, value in machine().items())}")
        click.echo(f"medians of n = {self.n}, {self.clock} time; MB = 10^6 bytes; ratios are medians over the turns\n")
        if self.rows:
            lines = [list(self.rows[0]), *([_cell(value) for value in row.values()] for row in self.rows)]
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            for line in lines:
                first, *rest = zip(line, widths, strict=True)
                cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
                click.echo("  ".join(cells).rstrip())
        click.echo("\n".join(["", *self.notes]) if self.notes else "")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
    return f"{value:,.{digits}f}"


def machine() -> dict[str, str]:
    """The processor, the compiler and the versions measured."""
    from pyunitok import _lib

    model, cpuinfo = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.findall(r"^(model name|cpu family|model)\s*: (.*)$", cpuinfo.read_text(), re.M)
        model = "{model name} (family {cpu family}, model {model})".format_map(defaultdict(lambda: "?", found))
    signatures = re.findall(rb"GCC: \([^)]*\) [0-9.]+|clang version [0-9.]+", Path(_lib.__file__).read_bytes())
    built_by = ", ".join(sorted(name.decode() for name in set(signatures)))
    about = {"CPU": model, "cores": str(os.cpu_count()), "Python": platform.python_version(), "built by": built_by}
    return about | {package: version(package) for package in ("pyunitok", "numpy", "zstandard", "click")}


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
