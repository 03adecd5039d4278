"""bench.py suffix: compares suffix sorting with the peers on large and hard texts, and measures `pyunitok index`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
import numpy as np
from bench_peers import Ids, available, infini_gram_indexing, module_of
from bench_processes import Usage, command, run, usage
from bench_texts import mixed, repeated, write_zst
from bench_timing import Bench, Report, at_least, benchmark, fail, pin_to_one_core, ratio, verdict

import pyunitok
from pyunitok.index.opening import open_shards
from pyunitok.index.suffix import check_suffix_array, suffix_array
from pyunitok.index.verify import verify_index

PARTS = ("sort", "size", "inputs", "index")
TARGETS = {"libsais": 0.8, "pydivsufsort": 4.0}
SIZE_TARGET, INPUT_TARGET, THREADS_TARGET = 0.6, 1 / 3, 1.7
BYTES_TARGET, FIXED_BYTES = 6.2, 100e6
ENGINE_TARGET, ENGINE_MEMORY_TARGET = 8.0, 0.5
N_SHARDS = 4


def encoded(text: bytes) -> Ids:
    return pyunitok.Tokenizer.from_file("rwkv-world").encode(text).astype(np.uint16)


def tokens_of(text: bytes, n: int) -> Ids:
    """n tokens: the text, repeated with ids permuted at random, so that longer texts are not more repetitive."""
    ids, rng, parts = encoded(text), np.random.default_rng(1), list[Ids]()
    used, swapped = np.unique(ids), np.arange(1 << 16, dtype=np.uint16)
    while len(parts) * len(ids) < n:
        parts.append(swapped[ids])
        swapped[used] = rng.permutation(used)
    return np.concatenate(parts)[:n]


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
    return {
        "one symbol": lambda: np.full(n, 7, np.uint16),
        "period 2": lambda: (np.arange(n) % 2).astype(np.uint16),
        "Fibonacci": lambda: fibonacci(n),
        "Thue-Morse": lambda: thue_morse(n),
        "one document 1,000 times": lambda: np.resize(text[: max(1, n // 1000)], n),
        "random": lambda: rng.integers(0, 1 << 16, n).astype(np.uint16),
        "random, 10 symbols": lambda: rng.integers(0, 10, n).astype(np.uint16),
    }


def add(report: Report, what: str, n: int, seconds: list[float], times: float = 0, target: float | None = None) -> None:
    speed = n / min(seconds) / 1e6
    report.add(what=what, M_tokens=n / 1e6, Mtokens_s=speed, ratio=times or None, **at_least(times, target))


def sort_part(bench: Bench, report: Report, text: Ids, library: Path | None) -> None:
    """Compare our sorting with each peer; the results must be equal."""
    ours = suffix_array(text)
    peers = [*(available(report.notes, ["libsais"], library) if library else ()),
             *available(report.notes, ["pydivsufsort"])]  # fmt: skip
    for name, sort in peers:
        if not np.array_equal(np.asarray(sort(text)), ours):
            raise fail(f"{name} returns a different order")
        seconds = bench.interleave({"ours": partial(suffix_array, text), name: partial(sort, text)})
        times = ratio(seconds[name], seconds["ours"])
        add(report, f"sort, against {name}", len(text), seconds["ours"], times, TARGETS[name])
    if not peers:
        add(report, "sort", len(text), bench.interleave({"ours": partial(suffix_array, text)})["ours"])


def against_text(bench: Bench, report: Report, text: Ids, others: dict[str, Callable[[], Ids]], target: float) -> None:
    """Compare the tokens per second on hard texts with those on `text`."""
    for name, make in others.items():
        other = make()
        if not check_suffix_array(other, suffix_array(other)):
            raise fail(f"{name}: not a suffix array")
        seconds = bench.interleave({"text": partial(suffix_array, text), "other": partial(suffix_array, other)})
        times = ratio(seconds["text"], seconds["other"]) * len(other) / len(text)
        add(report, name, len(other), seconds["other"], times, target)


def index_part(bench: Bench, report: Report, n: int, folder: Path) -> None:
    """Measure peak memory, the gain of two threads, and infini-gram's own indexing of about n tokens."""
    text, tokens, index = mixed(bench, 1 << 16), folder / "ids.u16", folder / "idx"
    write_zst(folder / "text.txt.zst", repeated(text, int(n * len(text) / len(encoded(text)))), window_log=23)
    run([*command(), "tokenize", str(folder / "text.txt.zst"), "-o", str(tokens), "--doc", "\\n"])
    n_tokens = len(pyunitok.open(tokens).ids)
    argv = [*command(), "index", str(tokens), "-o", str(index), "--overwrite"]
    argv += ["--shard-tokens", str(-(-n_tokens // N_SHARDS) + 50_000), "--threads"]
    runs = {threads: [[*argv, threads]] * bench.n for threads in "12"}
    try:
        module_of("infini-gram")
        engines = [folder / f"engine{turn}" for turn in range(bench.n)]
        runs["infini-gram"] = [infini_gram_indexing(engine, tokens) for engine in engines]
    except click.ClickException as absent:
        report.notes.append(f"left out: {absent.message}")
    used: dict[str, list[Usage]] = {name: [] for name in runs}
    for turn in range(bench.n):
        for name, commands in runs.items():
            used[name].append(usage(commands[turn]))
            if turn == 0 and verify_index(open_shards(index)):
                raise fail(f"run {name}: the index is damaged")
    seconds = {name: [one.cpu_seconds if bench.clock == "cpu" else one.seconds for one in ran]
               for name, ran in used.items()}  # fmt: skip
    peaks = {name: min(one.peak_bytes for one in ran) for name, ran in used.items()}
    add(report, f"index, {N_SHARDS} shards, 1 thread", n_tokens, seconds["1"])
    if bench.clock == "wall":  # threads save no processor time
        add(report, "… 2 threads against 1", n_tokens, seconds["2"], ratio(seconds["1"], seconds["2"]), THREADS_TARGET)
    largest = max(map(len, open_shards(index).shards))
    for threads in "12":
        allowed = FIXED_BYTES + BYTES_TARGET * largest * int(threads)
        report.notes.append(
            f"peak, threads {threads}: {peaks[threads] / 1e6:,.0f} MB for {threads} x {largest:,} tokens, "
            f"{allowed / 1e6:,.0f} MB allowed: {verdict(peaks[threads] <= allowed)}"
        )
    if "infini-gram" in used:
        times, share = ratio(seconds["infini-gram"], seconds["1"]), peaks["1"] / peaks["infini-gram"]
        add(report, "… against infini-gram's indexing", n_tokens, seconds["1"], times, ENGINE_TARGET)
        report.notes.append(f"peak memory: {share:.2f} of infini-gram's: {verdict(share <= ENGINE_MEMORY_TARGET)}")


@benchmark(
    3,
    click.option("--part", type=click.Choice(PARTS), multiple=True, help="Run only this part; repeatable."),
    click.option("--tokens", default=25.0, show_default=True, help="sort, inputs, index: millions of tokens."),
    click.option("--sizes", default="16,256", show_default=True, help="size: millions of tokens."),
    click.option("--libsais", type=click.Path(exists=True, path_type=Path), help="Shared library with libsais16()."),
)  # fmt: skip
def suffix(bench: Bench, part: tuple[str, ...], tokens: float, sizes: str, libsais: Path | None) -> Report:
    """Compare suffix sorting with the peers on mixed text of two sizes and on hard inputs; run `pyunitok index`.

    Sorting uses one thread unless stated otherwise. Every suffix array is checked.
    """
    report, wanted, n_tokens = bench.report("suffix: mixed text, RWKV World"), part or PARTS, int(tokens * 1e6)
    mixture = mixed(bench, 1 << 16)
    text = tokens_of(mixture, n_tokens)
    if "index" in wanted:
        with bench.folder(30.0 * n_tokens * bench.n) as folder:
            index_part(bench, report, n_tokens, folder)
    pin_to_one_core()
    if "sort" in wanted:
        sort_part(bench, report, text, libsais)
    if "size" in wanted:
        small, large = (int(float(size) * 1e6) for size in sizes.split(","))
        longer = {f"{large / 1e6:,.0f} M tokens against {small / 1e6:,.0f} M": lambda: tokens_of(mixture, large)}
        against_text(bench, report, tokens_of(mixture, small), longer, SIZE_TARGET)
    if "inputs" in wanted:
        against_text(bench, report, text, hard_inputs(text), INPUT_TARGET)
    return report
