"""What the benchmarks share: texts, one interleaving timer, what runs where, and a table that is also JSON."""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from itertools import cycle
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # an installed pyunitok goes first; this finds one built in place

SAMPLE = "sample"  # the corpus of tests/data, which is always there
DOC_BYTES = 16 * 1024

# -------------------------------------------------------------------------------------------------- options ---

shared_option = click.option("--shared", type=click.Path(exists=True, path_type=Path), help="Has data/corpora in it.")
corpora_option = click.option("--corpora", metavar="A,B", help="Only these; 'sample' is the one of tests/data.")
json_option = click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
cpu_option = click.option("--cpu", metavar="LEVEL", help="portable, sse2, avx2, avx512 or neon; the best by default.")
clock_option = click.option(
    "--clock", type=click.Choice(["wall", "cpu"]), default="wall", show_default=True,
    help="cpu: of this process, threads included; for a machine that others use too.",
)  # fmt: skip


def n_option(default: int) -> Callable[[Any], Any]:
    return click.option("-n", type=click.IntRange(1), default=default, show_default=True, help="Timed turns.")


# --------------------------------------------------------------------------------------------------- timing ---


def interleave(
    functions: Mapping[str, Callable[[], object]],
    n: int,
    *,
    before: Mapping[str, Callable[[], object]] | None = None,
    clock: str = "wall",
) -> dict[str, list[float]]:
    """Seconds of n calls of each function, turn by turn, so that whatever disturbs one disturbs all.

    Each is called once untimed first. before[name] runs untimed before every call of functions[name]. Results are
    freed, and garbage is collected, outside of what is timed.
    """
    now = time.process_time if clock == "cpu" else time.perf_counter
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(n + 1):
        for name, function in functions.items():
            if before and name in before:
                before[name]()
            gc.collect()
            gc.disable()
            started = now()
            result = function()
            elapsed = now() - started
            gc.enable()
            del result
            if turn:
                seconds[name].append(elapsed)
    return seconds


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """The median of the ratios of each turn."""
    return statistics.median(a / b for a, b in zip(numerators, denominators, strict=True))


def warm_up(tokenizer: Any, docs: list[Any]) -> None:
    """The state in the middle of a corpus: the memo holds what came before, and only that."""
    tokenizer.codec.scratches.clear()
    if docs:
        tokenizer.encode_batch(docs, threads=1)


def verdict(ok: bool) -> str:
    return "pass" if ok else "MISS"


def fail(message: str) -> click.ClickException:
    """What a benchmark raises where results differ: no figure of wrong results is ever printed."""
    return click.ClickException(f"not measured: {message}")


@contextmanager
def one_core() -> Iterator[None]:
    """Pins this thread, and those it starts, to one core; does nothing where the system has no such call."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


# ---------------------------------------------------------------------------------------------------- texts ---


def shared_root(shared: Path | None) -> Path:
    """The folder with data/ in it."""
    return shared or Path(os.environ.get("PYUNITOK_SHARED", ROOT.parent / "shared"))


@dataclass(frozen=True)
class Corpora:
    """The corpora to measure on: <folder>/<name>.txt.zst, and the sample."""

    folder: Path
    names: tuple[str, ...]

    @classmethod
    def find(cls, shared: Path | None, names: str | None) -> Corpora:
        """`shared` is the folder with data/corpora in it; without one, or names of one's own, there is the sample."""
        folder = shared_root(shared) / "data" / "corpora"
        there = sorted(path.name.removesuffix(".txt.zst") for path in folder.glob("*.txt.zst")) or [SAMPLE]
        wanted = names.split(",") if names else there
        missing = [name for name in wanted if name not in (*there, SAMPLE)]
        if missing:
            raise click.ClickException(f"no corpus {', '.join(missing)} in {folder}; there are {', '.join(there)}")
        return cls(folder, tuple(wanted))

    def read(self, name: str) -> bytes:
        import zstandard

        path = ROOT / "tests" / "data" / "sample.jsonl.zst" if name == SAMPLE else self.folder / f"{name}.txt.zst"
        reader = zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True)
        data: bytes = reader.read()
        if name == SAMPLE:
            lines = data.decode().split("\n")
            data = "\n".join(json.loads(line)["text"] for line in lines if line).encode()
        return data

    def round_robin(self, slice_bytes: int = 1 << 20) -> bytes:
        """All corpora in one text: a slice of each in turn until all are used up."""
        slices = [iter(documents(self.read(name), slice_bytes)) for name in self.names]
        parts: list[bytes] = []
        while slices:
            for corpus in list(slices):
                part = next(corpus, None)
                if part is None:
                    slices.remove(corpus)
                else:
                    parts.append(part)
        return b"".join(parts)


def documents(text: bytes, n_bytes: int = DOC_BYTES) -> list[bytes]:
    """The text in parts of n_bytes, or a little less: no character is cut."""
    parts, begin = [], 0
    while begin < len(text):
        end = min(begin + n_bytes, len(text))
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(text[begin:end])
        begin = end
    return parts


def write_zst(path: Path, text: bytes, n_bytes: int, *, window_log: int | None = None) -> None:
    """n_bytes of `text`, over and over, as one zstd frame of level 3 that does not say how long it is."""
    import zstandard

    parameters = zstandard.ZstdCompressionParameters.from_level(3, **({"window_log": window_log} if window_log else {}))
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    with path.open("wb") as file, compressor.stream_writer(file) as writer:
        for part in cycle(documents(text, 1 << 20)):
            writer.write(part[:n_bytes])
            n_bytes -= len(part)
            if n_bytes <= 0:
                return


# ------------------------------------------------------------------------------------------------ the peers ---


def peer() -> Any:
    """The module pyrwkv_tokenizer."""
    os.environ.setdefault("RAYON_NUM_THREADS", "1")  # its encode_batch starts threads of its own
    try:
        return importlib.import_module("pyrwkv_tokenizer")
    except ImportError:
        raise click.ClickException("this needs its peer: pip install pyrwkv-tokenizer==0.9.1") from None


def vocabulary() -> Path:
    """The text file of the RWKV World vocabulary."""
    from pyunitok.errors import VocabularyError
    from pyunitok.vocab import rwkv

    try:
        return rwkv.find_installed()
    except VocabularyError as error:
        raise click.ClickException(str(error)) from None


def command() -> list[str]:
    """How to start pyunitok: the installed script of this Python, or the checkout's module."""
    script = Path(sys.executable).parent / "pyunitok"
    return [str(script)] if script.exists() else [sys.executable, "-c", "from pyunitok.cli import main; main()"]


@cache
def _bytecode_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def run(argv: Sequence[str]) -> str:
    """Run it with the pyunitok of this process in reach; what it printed. ClickException with its words if it fails.

    Modules are compiled once, as when a package is installed, and not in each process if this one writes no bytecode.
    """
    import pyunitok

    environment = os.environ | {"PYTHONPATH": str(Path(pyunitok.__file__).parent.parent)}
    environment["PYTHONPYCACHEPREFIX"] = _bytecode_folder().name
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    return done.stdout


# ---------------------------------------------------------------------------------------------------- report ---


@dataclass
class Report:
    """Rows of one benchmark; a column is as wide as its widest cell, and every row has the same columns."""

    title: str
    n: int
    clock: str = "wall"
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, **row: Any) -> None:
        """Cells by column; in a column's name an underscore is a space, and MBps is MB/s."""
        self.rows.append({name.replace("_", " ").replace("MBps", "MB/s"): value for name, value in row.items()})

    def show(self, as_json: bool) -> None:
        if as_json:
            about = {
                "title": self.title,
                **machine(),
                "n": self.n,
                "clock": self.clock,
                "rows": self.rows,
                "notes": self.notes,
            }
            click.echo(json.dumps(about, ensure_ascii=False, indent=1))
            return
        click.echo(f"{self.title}\n{'; '.join(f'{name} {value}' for name, value in machine().items())}")
        click.echo(
            f"medians of n = {self.n}, {self.clock} time; MB = 10^6 bytes; ratios are medians of those of each turn\n"
        )
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
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def machine() -> dict[str, str]:
    """Where, and with which versions, this was measured."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        text = cpuinfo.read_text()
        found = [re.search(rf"^{name}\s*: (.*)$", text, re.M) for name in ("model name", "cpu family", "model")]
        name, family, number = (match[1] if match else "?" for match in found)
        model = f"{name} (family {family}, model {number})"
    about = {"CPU": model, "cores": str(os.cpu_count()), "Python": platform.python_version(), "built by": _compiler()}
    for package in ("pyunitok", "numpy", "zstandard", "pyrwkv-tokenizer", "click"):
        try:
            about[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            about[package] = "not installed" if package != "pyunitok" else "in place"
    return about


def _compiler() -> str:
    """As it signs itself in the compiled library; the flags are those of tools/build_ffi.py and UNITOK_CFLAGS."""
    from pyunitok import _lib

    names = set(re.findall(rb"(?:GCC: \([^)]*\) [0-9.]+|clang version [0-9.]+)", Path(_lib.__file__).read_bytes()))
    return ", ".join(sorted(name.decode() for name in names)) or "an unknown compiler"
