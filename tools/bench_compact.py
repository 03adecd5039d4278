"""bench.py compact: measures the size, speed and construction of compact indexes, compared with suffix arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import click
import numpy as np
from bench_evict import Mapping, evict, mappings, pages_in_memory
from bench_processes import command, run, usage
from bench_search import indexed, phrases, timed
from bench_texts import documents, english, mixed, names, random_slices, read
from bench_timing import Bench, Report, at_least, at_most, benchmark, fail, pin_to_one_core, ratio

from pyunitok.index.compact import CompactShard
from pyunitok.index.opened import Index, open_index
from pyunitok.index.suffix import suffix_array

MODEL = "unitok-v1"
PARTS = ("size", "queries", "build", "sort", "disk")
KINDS = {"suffix array": [], "compact": ["--compact"], "compact, blocks of 64": ["--compact", "--block", "64"]}
COUNT_BITS, TEXT_SHARE, SORT_SHARE = 7.4, 0.31, 0.7
# In µs: the mean and 95th percentile of a count, a count in a batch, locating a hit, reading 1,000 bytes.
TARGETS = {"compact": (200, 800, 100, 12, 200), "compact, blocks of 64": (140, 500, 100, 12, 200)}
COUNT_MS, PAGE_MS, PAGE_HITS = 20, 500, 20
N_COLD = 15  # phrases for each of the -n turns, read from disk
TOKEN_BYTES, N_PHRASES, N_LOCATED, N_READ = 3, 1000, 20_000, 300


def compacted(index: Index, *options: str) -> Index:
    """A compact index of the same shards."""
    run([*command(), "index", str(index.folder), "-o", f"{index.folder}2", "--overwrite", "--compact", *options])
    return open_index(f"{index.folder}2")


def bits(index: Index) -> float:
    """The size of the shards' files, in bits per token."""
    return sum(path.stat().st_size for path in index.folder.glob("0*.*")) * 8 / max(1, index.n_tokens)


def measure_size(report: Report, what: str, docs: Iterable[bytes], folder: Path, *, has_target: bool) -> None:
    index = indexed(docs, folder, model=MODEL)
    text = sum(array.manifest.text_bytes for array in index.arrays if array.manifest)
    only_counts, complete = bits(compacted(index, "--count-only")), bits(compacted(index))
    share = complete / 8 * index.n_tokens / text
    is_small = only_counts <= COUNT_BITS and share <= TEXT_SHARE
    report.add(
        what=what, tokens=index.n_tokens, bits_of_counts=only_counts, bits_of_all=complete, bytes_per_byte=share,
        **at_least(float(is_small), 1.0 if has_target else None),
    )  # fmt: skip


def measure_queries(bench: Bench, report: Report, index: Index, texts: list[bytes]) -> None:
    """Count the phrases in each index one by one and in one batch; in compact indexes, also locate and read."""
    expected = [int(index.count(text)) for text in texts]
    for what, options in KINDS.items():
        searched = compacted(index, *options[1:]) if options else index
        if timed(bench, searched.count, texts)[1] != expected:
            raise fail(f"{what}: the counts differ from those of the suffix array")
        us = np.array(timed(bench, searched.count, texts)[0]) * 1e6
        batch = bench.interleave({"batch": partial(searched.count_batch, texts)})["batch"]
        cells: list[float | None] = [float(us.mean()), float(np.percentile(us, 95))]
        cells.append(float(np.median(batch)) / len(texts) * 1e6)
        cells += _read(bench, searched, index) if options else [None, None]
        wanted = TARGETS.get(what)
        ok = wanted and all(cell is not None and cell <= most for cell, most in zip(cells, wanted, strict=True))
        row = dict(zip(("mean_us", "95_%_us", "batch_us", "locate_us", "1000_bytes_us"), cells, strict=True))
        report.add(what=what, tokens=index.n_tokens, **row, **at_least(float(bool(ok)), 1.0 if wanted else None))


def _read(bench: Bench, compact: Index, index: Index) -> list[float]:
    """The µs to locate a row and to read the tokens of 1,000 bytes. The results are compared with the suffix array."""
    rng, shard, other = np.random.default_rng(1), compact.shards[0], index.shards[0]
    assert isinstance(shard, CompactShard)
    rows, n = rng.integers(0, len(shard), N_LOCATED), round(1000 * index.n_tokens / _text_bytes(index))
    begins, ids = rng.integers(0, len(shard) - n, N_READ), shard.own_ids()  # from the index, not the token file

    def read_all() -> np.ndarray:
        return np.concatenate([ids[at : at + n] for at in begins.tolist()])

    calls: dict[str, Callable[[], np.ndarray]] = {"locate": partial(shard.positions, rows), "read": read_all}
    read_back = np.concatenate([other.ids[at : at + n] for at in begins.tolist()])
    if not np.array_equal(calls["locate"](), other.positions(rows)) or not np.array_equal(read_all(), read_back):
        raise fail("positions or tokens differ from those of the suffix array")
    seconds = bench.interleave(calls)
    return [float(np.median(seconds[name])) / k * 1e6 for name, k in (("locate", N_LOCATED), ("read", N_READ))]


def _text_bytes(index: Index) -> int:
    return sum(array.manifest.text_bytes for array in index.arrays if array.manifest)


def measure_build(bench: Bench, report: Report, index: Index, folder: Path) -> None:
    """Measure the time to sort and compress on one thread, minus the startup time, and the peak memory."""
    argv = [*command(), "index", str(folder / "ids"), "--threads", "1", "--overwrite", "--max-memory", "64G", "-o"]
    for what, options in KINDS.items():
        used = [usage([*argv, str(folder / "built"), *options]) for _ in range(bench.n)]
        start = usage([*command(), "--version"]).cpu_seconds
        rate = index.n_tokens / float(np.median([one.cpu_seconds - start for one in used])) / 1e6
        memory = float(np.median([one.peak_bytes for one in used])) / index.n_tokens
        target = at_least(rate, 12.0) if options else {"target": None, "verdict": None}
        report.add(what=f"build: {what}", tokens=index.n_tokens, Mtokens_per_s=rate, bytes_per_token=memory, **target)


def measure_sort(bench: Bench, report: Report, index: Index) -> None:
    """Sort the same tokens as uint16 and as uint32, with the ids (up to 65,279) multiplied by 4."""
    ids = np.array(index.arrays[0].ids)
    calls = {"uint16": partial(suffix_array, ids), "uint32": partial(suffix_array, ids.astype(np.uint32) * 4)}
    if not np.array_equal(calls["uint16"](), calls["uint32"]()):
        raise fail("the suffix arrays of uint16 and uint32 ids differ")
    seconds = bench.interleave(calls)
    for what, taken in seconds.items():
        share = ratio(seconds["uint16"], taken)
        rate = len(ids) / float(np.median(taken)) / 1e6
        target = at_least(share, SORT_SHARE) if what == "uint32" else at_most(share, None)
        report.add(what=f"sort: {what}", tokens=len(ids), Mtokens_per_s=rate, x_uint16=share, **target)


def measure_disk(report: Report, index: Index, texts: list[bytes]) -> None:
    """Measure how long it takes to count hits and to fetch a page of hits with their contexts. Before each call, the
    index and the token files are evicted from memory; the tables built when the index was opened remain."""
    mapped = mappings({index.folder, *(array.path.parent for array in index.arrays)})

    def page(text: bytes) -> list[object]:
        hits = index.find(text, PAGE_HITS)
        return [hits.total, *index.context_batch(hits, 40, 40)]

    calls: dict[str, tuple[Callable[[bytes], object], int]] = {
        "count": (index.count, COUNT_MS), "page of hits": (page, PAGE_MS),
    }  # fmt: skip
    for what, (call, most) in calls.items():
        rows = [_from_disk(mapped, call, text) for text in texts]
        cold, cpu, warm, pages = np.array(rows).T
        report.add(
            what=what, tokens=index.n_tokens, shards=len(index.shards), median_ms=float(np.median(cold)),
            **{"95_%_ms": float(np.percentile(cold, 95))}, cpu_ms=float(np.median(cpu)),
            in_memory_ms=float(np.median(warm)), pages=float(np.median(pages)),
            **at_most(float(np.median(cold)), most if bits(index) * index.n_tokens >= 64e9 else None),
        )  # fmt: skip


def _from_disk(
    mapped: list[Mapping], call: Callable[[bytes], object], text: bytes
) -> tuple[float, float, float, float]:
    """The duration of a call that reads from disk, its CPU time and the duration of the same call in memory, all in ms,
    and the number of pages read."""
    expected = call(text)
    evict(mapped)
    if pages_in_memory(mapped):
        raise fail("the system keeps pages of the index in memory")
    started, cpu = time.perf_counter(), time.process_time()
    found = call(text)
    cold, cpu = time.perf_counter() - started, time.process_time() - cpu
    pages, started = pages_in_memory(mapped), time.perf_counter()
    if not expected == found == call(text):
        raise fail(f"{text!r}: the answer changes when the index is read from disk")
    return 1e3 * cold, 1e3 * cpu, 1e3 * (time.perf_counter() - started), pages


@benchmark(
    3,
    click.option("--part", type=click.Choice(PARTS), default="queries", show_default=True),
    click.option("--tokens", default=32.0, show_default=True, help="Millions of tokens of mixed text."),
    click.option("--index", "given", type=click.Path(path_type=Path), help="disk: measure this compact index."),
)  # fmt: skip
def compact(bench: Bench, part: str, tokens: float, given: Path | None) -> Report:
    """Measure the size, the queries and the construction of compact indexes. The model is unitok-v1.

    size     bits per token of --count-only and of complete indexes, for all corpora together and for each one
    queries  counts of phrases of 1 to 6 words, one by one and 1,000 in a batch; locating hits; reading text
    build    `pyunitok index` on one thread
    sort     suffix arrays of uint32 and of uint16 ids
    disk     counts and pages of hits, read from disk
    """
    report, docs = bench.report(f"compact: {part}"), documents(mixed(bench))
    n_bytes = min(int(tokens * 1e6 * TOKEN_BYTES), sum(map(len, docs)))
    parts = docs if n_bytes >= sum(map(len, docs)) else list(random_slices(docs, n_bytes))
    with bench.folder(5 * n_bytes) as folder:
        if part == "size":
            measure_size(report, "all corpora", docs, folder, has_target=True)
            for name in names(bench):
                measure_size(report, name, documents(read(bench, name)), folder, has_target=False)
        elif given is None:
            index = indexed(parts, folder, model=MODEL)
        if part == "queries":
            pin_to_one_core()
            measure_queries(bench, report, index, [text.encode() for text in phrases(english(bench), N_PHRASES)])
        elif part == "build":
            measure_build(bench, report, index, folder)
        elif part == "sort":
            measure_sort(bench, report, index)
        elif part == "disk":
            texts = [text.encode() for text in phrases(english(bench), N_COLD * bench.n)]
            measure_disk(report, compacted(index) if given is None else open_index(given), texts)
    report.notes.append("verified: counts, positions and tokens equal those of the suffix array; x: relative to uint16")
    return report
