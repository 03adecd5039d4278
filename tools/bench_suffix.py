"""bench.py suffix: sorting suffixes beside its peers, on larger and on hard texts; the command index as a whole."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import resource
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench_command import check_space, temporary_option
from bench_timing import (
    Corpora,
    Report,
    clock_option,
    command,
    corpora_option,
    fail,
    interleave,
    json_option,
    n_option,
    one_core,
    ratio,
    run,
    shared_option,
    verdict,
    vocabulary,
    write_zst,
)

import pyunitok
from pyunitok.index.shard import open_shards
from pyunitok.index.suffix import check_suffix_array, suffix_array
from pyunitok.index.verify import verify_index

PARTS = ("sort", "size", "inputs", "index")
TARGETS = {"libsais16": 0.8, "pydivsufsort": 4.0}
SIZE_TARGET, INPUT_TARGET, THREADS_TARGET = 0.6, 1 / 3, 1.7
BYTES_TARGET, FIXED_BYTES = 6.2, 100e6
ENGINE_TARGET, ENGINE_MEMORY_TARGET = 8.0, 0.5
N_SHARDS = 4

Ids = np.ndarray[Any, np.dtype[np.uint16]]


def tokens_of(corpora: Corpora, n: int) -> Ids:
    """n tokens of all corpora; past their end, of them backwards and then with ids swapped at random, so that what is
    longer is no more repetitive."""
    ids = encoded(corpora.round_robin(1 << 16))
    parts, total, rng = [ids[:n]], min(n, len(ids)), np.random.default_rng(1)
    used, swapped = np.unique(ids), np.arange(1 << 16, dtype=np.uint16)
    while total < n:
        if len(parts) % 2 == 0:
            swapped[used] = rng.permutation(used)
        part = swapped[ids][:: 1 if len(parts) % 2 == 0 else -1][: n - total]
        parts.append(part)
        total += len(part)
    return np.concatenate(parts)


def encoded(text: bytes) -> Ids:
    return pyunitok.Tokenizer.from_file(vocabulary()).encode(text).astype(np.uint16)


def fibonacci(n: int) -> Ids:
    a, b = np.array([0], np.uint16), np.array([0, 1], np.uint16)
    while len(b) < n:
        a, b = b, np.concatenate((b, a))
    return b[:n]


def thue_morse(n: int) -> Ids:
    bits = np.arange(n, dtype=np.uint32)
    for shift in (16, 8, 4, 2, 1):
        bits ^= bits >> shift
    return (bits & 1).astype(np.uint16)


def hard_inputs(text: Ids) -> dict[str, Callable[[], Ids]]:
    n, rng = len(text), np.random.default_rng(1)
    document = text[: max(1, n // 1000)]
    return {
        "one symbol": lambda: np.full(n, 7, np.uint16),
        "period 2": lambda: (np.arange(n) % 2).astype(np.uint16),
        "Fibonacci": lambda: fibonacci(n),
        "Thue-Morse": lambda: thue_morse(n),
        "one document 1,000 times": lambda: np.resize(document, n),
        "random": lambda: rng.integers(0, 1 << 16, n).astype(np.uint16),
        "random, 10 symbols": lambda: rng.integers(0, 10, n).astype(np.uint16),
    }


# -------------------------------------------------------------------------------------------------- sorters ---


def libsais16(path: Path) -> Callable[[Ids], Any]:
    """The peer's function, of a shared library that was built by hand."""
    function = ctypes.CDLL(str(path)).libsais16

    def sort(text: Ids) -> Any:
        sa = np.empty(len(text), np.int32)
        pointers = (text.ctypes.data_as(ctypes.c_void_p), sa.ctypes.data_as(ctypes.c_void_p))
        if function(*pointers, ctypes.c_int32(len(text)), ctypes.c_int32(0), None):
            raise fail("libsais16 failed")
        return sa

    return sort


def peers(library: Path | None) -> dict[str, Callable[[Ids], Any]]:
    found: dict[str, Callable[[Ids], Any]] = {}
    if library:
        found["libsais16"] = libsais16(library)
    if importlib.util.find_spec("pydivsufsort"):
        found["pydivsufsort"] = importlib.import_module("pydivsufsort").divsufsort
    return found


def sort_part(report: Report, text: Ids, library: Path | None, n: int, clock: str) -> None:
    """Ours beside each peer; results must be equal."""
    ours = suffix_array(text)
    for name, sort in peers(library).items():
        if not np.array_equal(np.asarray(sort(text)), ours):
            raise fail(f"{name} sorts otherwise")
        seconds = interleave({"ours": partial(suffix_array, text), name: partial(sort, text)}, n, clock=clock)
        times = ratio(seconds[name], seconds["ours"])
        row(report, f"sort, against {name}", len(text), min(seconds["ours"]), times, TARGETS[name])
    if not report.rows:
        seconds = interleave({"ours": lambda: suffix_array(text)}, n, clock=clock)
        row(report, "sort", len(text), min(seconds["ours"]), None, None)


def row(report: Report, what: str, n: int, seconds: float, times: float | None, target: float | None) -> None:
    ok = None if times is None or target is None else verdict(times >= target)
    report.add(what=what, M_tokens=n / 1e6, Mtokens_s=n / seconds / 1e6, ratio=times, target=target, verdict=ok)


def against_text(
    report: Report, text: Ids, others: dict[str, Callable[[], Ids]], n: int, clock: str, target: float
) -> None:
    """Tokens a second of other texts against those of `text`, each in turns with it."""
    for name, make in others.items():
        other = make()
        if not check_suffix_array(other, suffix_array(other)):
            raise fail(f"{name}: not a suffix array")
        both = {"text": partial(suffix_array, text), "other": partial(suffix_array, other)}
        seconds = interleave(both, n, clock=clock)
        times = ratio([s / len(text) for s in seconds["text"]], [s / len(other) for s in seconds["other"]])
        row(report, name, len(other), min(seconds["other"]), times, target)


# ----------------------------------------------------------------------------------------------- the command ---


# Run in a small process of its own: a child's peak counts what its parent held when it was started.
_MEASURE = (
    "import resource, subprocess, sys, time; started = time.perf_counter(); subprocess.run(sys.argv[1:], check=True); "
    "took = time.perf_counter() - started; used = resource.getrusage(resource.RUSAGE_CHILDREN); "
    "print(took, used.ru_utime + used.ru_stime, used.ru_maxrss)"
)


def measured(argv: list[str], clock: str) -> tuple[float, float]:
    """(seconds, peak bytes) of a command and what it starts."""
    wall, cpu, peak = map(float, run([sys.executable, "-c", _MEASURE, *argv]).split()[-3:])
    return cpu if clock == "cpu" else wall, peak * (1 if sys.platform == "darwin" else 1024)


def index_part(report: Report, corpora: Corpora, n: int, turns: int, clock: str, folder: Path) -> None:
    """Peak memory, threads, and infini-gram's own indexing, of a token file of about n tokens."""
    text, tokens = corpora.round_robin(1 << 16), folder / "ids.u16"
    write_zst(folder / "text.txt.zst", text, int(n * len(text) / len(encoded(text))), window_log=23)
    run([*command(), "tokenize", str(folder / "text.txt.zst"), "-o", str(tokens), "--doc", "\\n"])
    shard_tokens = -(-len(pyunitok.open(tokens).ids) // N_SHARDS) + 50_000
    base = [*command(), "index", str(tokens), "-o", str(folder / "idx"), "--overwrite"]
    in_shards = [*base, "--shard-tokens", str(shard_tokens)]
    peaks: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for turn in range(turns):
        cases = {"1 thread": [*in_shards, "--threads", "1"], "2 threads": [*in_shards, "--threads", "2"]}
        if importlib.util.find_spec("infini_gram"):
            cases["infini-gram"] = infini_gram(tokens, folder / f"engine{turn}")
        for name, argv in cases.items():
            took, peak = measured(argv, clock)
            seconds.setdefault(name, []).append(took)
            peaks.setdefault(name, []).append(peak)
            if name != "infini-gram" and turn == 0 and verify_index(open_shards(folder / "idx")):
                raise fail(f"the index made with {name} is not whole")
    n_tokens = len(pyunitok.open(tokens).ids)
    largest = max(map(len, open_shards(folder / "idx").shards))
    row(report, f"index, {N_SHARDS} shards, 1 thread", n_tokens, min(seconds["1 thread"]), None, None)
    if clock == "wall":  # threads save no processor time
        times = ratio(seconds["1 thread"], seconds["2 threads"])
        row(report, "… 2 threads against 1", n_tokens, min(seconds["2 threads"]), times, THREADS_TARGET)
    for name, flying in (("1 thread", 1), ("2 threads", 2)):
        allowed = FIXED_BYTES + BYTES_TARGET * largest * flying
        report.notes.append(
            f"peak with {name}: {min(peaks[name]) / 1e6:,.0f} MB for {flying} x {largest:,} tokens in flight, "
            f"{allowed / 1e6:,.0f} MB allowed: {verdict(min(peaks[name]) <= allowed)}"
        )
    if "infini-gram" in seconds:
        times = ratio(seconds["infini-gram"], seconds["1 thread"])
        row(report, "… against infini-gram's indexing", n_tokens, min(seconds["1 thread"]), times, ENGINE_TARGET)
        share = min(peaks["1 thread"]) / min(peaks["infini-gram"])
        report.notes.append(
            f"peak memory: {share:.2f} of infini-gram's {min(peaks['infini-gram']) / 1e6:,.0f} MB: "
            f"{verdict(share <= ENGINE_MEMORY_TARGET)}"
        )


def infini_gram(tokens: Path, folder: Path) -> list[str]:
    """The command that indexes the same tokens: they are exported first, untimed."""
    folder.mkdir()
    run([*command(), "export", str(tokens), "--to", "infini-gram", "-o", str(folder)])
    places = ["--data_dir", str(folder), "--save_dir", str(folder)]
    return [sys.executable, "-m", "infini_gram.indexing", *places, "--mem", "8", "--shards", "1", "--cpus", "1",
            "--ulimit", str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])]  # fmt: skip


@click.command()
@shared_option
@corpora_option
@click.option("--part", type=click.Choice(PARTS), multiple=True, help="Only this; may be repeated.")
@click.option("--tokens", default=25.0, show_default=True, help="Millions: sort, inputs, index.")
@click.option("--sizes", default="16,256", show_default=True, help="Millions: size.")
@click.option("--libsais", type=click.Path(exists=True, path_type=Path), help="A shared library that has libsais16().")
@temporary_option
@clock_option
@n_option(3)
@json_option
def suffix(
    shared: Path | None, corpora: str | None, part: tuple[str, ...], tokens: float, sizes: str, libsais: Path | None,
    tmp: str | None, clock: str, n: int, as_json: bool,
) -> None:  # fmt: skip
    """Sort suffixes of mixed text: against the peers, at two sizes, against hard inputs; index as a command.

    One thread where nothing else is said. Every suffix array is checked.
    """
    found, wanted, n_tokens = Corpora.find(shared, corpora), part or PARTS, int(tokens * 1e6)
    report = Report("suffix: suffix arrays of mixed text, RWKV World", n, clock)
    text = tokens_of(found, n_tokens)
    with one_core():
        if "sort" in wanted:
            sort_part(report, text, libsais, n, clock)
        if "size" in wanted:
            small, large = (int(float(size) * 1e6) for size in sizes.split(","))
            longer = {f"{large / 1e6:,.0f} M tokens against {small / 1e6:,.0f} M": lambda: tokens_of(found, large)}
            against_text(report, tokens_of(found, small), longer, n, clock, SIZE_TARGET)
        if "inputs" in wanted:
            against_text(report, text, hard_inputs(text), n, clock, INPUT_TARGET)
    if "index" in wanted:
        with tempfile.TemporaryDirectory(dir=tmp) as name:
            check_space(Path(name), 30.0 * n_tokens * n)
            index_part(report, found, n_tokens, n, clock, Path(name))
    report.show(as_json)
