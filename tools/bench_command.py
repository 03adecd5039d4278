"""bench.py tokenize, rss, stream and checkpoints: `pyunitok tokenize` from outside, its speed and its memory."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

import click
import numpy as np
import zstandard
from bench_processes import command, environment, manifest, run, usage
from bench_texts import N_FILES, documents, mixed, random_slices, write_zst
from bench_timing import Bench, Report, benchmark, fail, gigabytes_option, less, ratio, speed, threads_option, verdict

from pyunitok import Packed, Tokenizer
from pyunitok.run import output

WORLD = "rwkv-world"
TOKENIZE_TARGET, CHECKPOINTS_TARGET = 1.25, 1.02
RSS_TARGET_MB, RSS_SAME = 300, 1.1
STREAM_TARGET = 0.05  # the last quarter beside the second
BLOCK_BYTES = 1 << 20
WINDOW_LOG = 23  # 8 MiB
CHECKED_SLICES, UNSURE_IDS, PAUSE_SECONDS = 40, 1000, 0.05


@benchmark(3, gigabytes_option(2), threads_option)
def tokenize(bench: Bench, gigabytes: float, threads: int) -> Report:
    """Tokenize mixed .zst files, beside decompression alone and encoding alone with as many threads.

    All corpora in slices of 1 MB, repeated, in four files of one document each. The time of an empty input is
    subtracted. Encoding alone takes blocks in memory that end at cuts. Both parts keep all threads busy, so the command
    can hardly take less than their sum.
    """
    tokenizer = Tokenizer.from_file(WORLD)
    blocks = cycle(_blocks(tokenizer, mixed(bench)))
    with bench.folder(gigabytes * 1.2e9) as folder:
        paths, used, n_bytes = [folder / f"{k}.txt.zst" for k in range(N_FILES)], list[bytes](), 0
        for k, path in enumerate(paths):
            with path.open("wb") as file, zstandard.ZstdCompressor(level=3).stream_writer(file) as writer:
                while n_bytes < (k + 1) / N_FILES * gigabytes * 1e9:
                    used.append(next(blocks))
                    writer.write(used[-1])
                    n_bytes += len(used[-1])
        packed = [Packed.from_documents([block]) for block in used]
        empty, out = folder / "empty.txt", folder / "ids.u16"
        empty.touch()
        base = [*command(), "tokenize", "-m", WORLD, "-o", str(out), "--overwrite", "--threads", str(threads)]
        functions: dict[str, Callable[[], Any]] = {
            "start": partial(run, [*base, str(empty)]),
            "command": partial(run, [*base, *map(str, paths)]),
            "decompress": partial(_on_threads, threads, _decompress, paths),
            "encode": partial(_on_threads, threads, partial(_encode, tokenizer), packed),
        }
        if functions["decompress"]() != n_bytes:
            raise fail("the files do not decompress to the text")
        n_tokens, first = functions["encode"](), tokenizer.encode(used[0])
        functions["command"]()
        if (manifest(out)["bytes"], manifest(out)["tokens"]) != (n_bytes, n_tokens + N_FILES):
            raise fail(f"the command counts {manifest(out)['tokens']} tokens, not {n_tokens} and {N_FILES} eods")
        if not np.array_equal(np.fromfile(out, "<u2", len(first)), first):
            raise fail("the command's first ids are not those of encode")
        seconds = bench.interleave(functions)
    wall = less(seconds["command"], seconds["start"])
    both = [a + b for a, b in zip(seconds["decompress"], seconds["encode"], strict=True)]
    report = bench.report(f"tokenize: {n_bytes / 1e9:.2f} GB of text, {threads} threads")
    rows = {"command less start-up": wall, "start-up": seconds["start"], "decompression alone": seconds["decompress"],
            "encoding alone": seconds["encode"], "the two added": both}  # fmt: skip
    for what, times in rows.items():
        target = TOKENIZE_TARGET if what == "the two added" else None
        part, ok = ratio(wall, times), verdict(ratio(wall, times) <= TOKENIZE_TARGET) if target else None
        report.add(what=what, s=statistics.median(times), MBps=speed(n_bytes, times), command_to_it=part, target=target,
                   verdict=ok)  # fmt: skip
    report.notes.append(f"tokens: {n_tokens:,} and {N_FILES} eods, as the command counts; same bytes and first ids")
    return report


def _blocks(tokenizer: Tokenizer, text: bytes) -> list[bytes]:
    """The text, rotated to begin at a cut, in blocks that end at cuts; so it can be repeated."""
    split = tokenizer.codec.split
    begin = split(memoryview(text)[:BLOCK_BYTES])
    text, blocks, at = text[begin:] + text[:begin], list[bytes](), 0
    while at < len(text):
        window = memoryview(text)[at : at + BLOCK_BYTES]
        blocks.append(bytes(window[: split(window)] if at + BLOCK_BYTES < len(text) else window))
        at += len(blocks[-1])
    return blocks


def _encode(tokenizer: Tokenizer, block: Packed) -> int:
    return len(tokenizer.encode_batch(block, threads=1).data)


def _decompress(path: Path) -> int:
    buffer, n_bytes = bytearray(BLOCK_BYTES), 0
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_size=BLOCK_BYTES)
        while n := reader.readinto(buffer):
            n_bytes += n
    return n_bytes


def _on_threads(threads: int, function: Callable[[Any], int], items: Sequence[Any]) -> int:
    """The sum of function(item): thread k takes every threads-th item, from k on."""
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda k: sum(map(function, items[k::threads])), range(threads)))


@benchmark(1, click.option("--megabytes", default="200,2000", show_default=True, help="Sizes of the document."),
           threads_option)  # fmt: skip
def rss(bench: Bench, megabytes: str, threads: int) -> Report:
    """Measure the peak memory for one document, in zstd with a window of 8 MiB; its size should not matter."""
    text, tokenizer, peaks = mixed(bench), Tokenizer.from_file(WORLD), list[float]()
    sizes = [int(float(size) * 1e6) for size in megabytes.split(",")]
    report = bench.report(f"rss: pyunitok tokenize, one document, window 8 MiB, {threads} threads")
    with bench.folder(max(sizes) * 1.2) as folder:
        for size in sizes:
            path, out = write_zst(folder / "one.txt.zst", text, size, window_log=WINDOW_LOG), folder / "ids.u16"
            argv = [*command(), "tokenize", "-m", WORLD, str(path), "-o", str(out), "--overwrite"]
            used = [usage([*argv, "--threads", str(threads)]) for _ in range(bench.n)]
            if (manifest(out)["bytes"], manifest(out)["documents"]) != (size, 1):
                raise fail(f"the command counts {manifest(out)['bytes']} bytes, not {size}")
            beginning = tokenizer.decode_bytes(np.fromfile(out, "<u2", 1 << 20))[: min(size, len(text)) - 100]
            if not text.startswith(beginning):
                raise fail("the tokens do not decode to the text")
            peaks.append(statistics.median(one.peak_bytes for one in used) / 1e6)
            report.add(
                text_MB=size / 1e6, peak_MB=peaks[-1], target_MB=RSS_TARGET_MB,
                verdict=verdict(peaks[-1] <= RSS_TARGET_MB), to_first=peaks[-1] / peaks[0],
                same=verdict(peaks[-1] <= RSS_SAME * peaks[0]), MBps=speed(size, [one.seconds for one in used]),
            )  # fmt: skip
    return report


# --------------------------------------------------------------------------------------------------- stream ---


@benchmark(
    1, gigabytes_option(20), threads_option,
    click.option("-m", "--model", default=WORLD, show_default=True, help="Model file or name."),
    click.option("--doc", type=click.Choice(["line", "file"]), default="line", show_default=True,
                 help="file: the stream is one document."),
)  # fmt: skip
def stream(bench: Bench, gigabytes: float, threads: int, model: str, doc: str) -> Report:
    """Measure memory over a stream: the last quarter should be like the second (Linux only).

    The text is generated while it is read: slices of 64 KB of all corpora in random order, with a number before each.
    VmRSS is sampled.
    """
    if not Path("/proc/self/status").exists():
        raise click.ClickException("this reads /proc/PID/status, which this system lacks")
    tokenizer, n_bytes = Tokenizer.from_file(model), int(gigabytes * 1e9)
    slices = documents(mixed(bench), 1 << 16)
    with bench.folder(n_bytes * (0.4 * tokenizer.dtype.itemsize + 0.15)) as folder:  # ids and ends of documents
        out = folder / "ids"
        argv = [*command(), "tokenize", "-", "-o", str(out), "-m", model, "--doc", doc, "--input-format", "text"]
        argv += ["--dtype", tokenizer.dtype.name, "--threads", str(threads)]
        started = time.perf_counter()
        samples = _feed(argv, random_slices(slices, n_bytes), folder / "stderr")
        elapsed = time.perf_counter() - started
        if manifest(out)["bytes"] != n_bytes:
            raise fail(f"the command counts {manifest(out)['bytes']:,} bytes, not {n_bytes:,}")
        n_documents = manifest(out)["documents"]
        _check_beginning(tokenizer, out, doc, b"".join(islice(random_slices(slices, n_bytes), CHECKED_SLICES)))
    quarters = [[rss / 1e6 for at, rss in samples if min(4 * at // n_bytes, 3) == k] for k in range(4)]
    if not all(quarters):
        raise fail(f"a quarter has no sample: {n_bytes:,} bytes are too few; increase --gigabytes")
    medians = [statistics.median(quarter) for quarter in quarters]
    growth = medians[3] / medians[1] - 1
    report = bench.report(f"stream: pyunitok tokenize -, --doc {doc}, {threads} threads, {Path(model).name}")
    report.add(
        text_GB=n_bytes / 1e9, MBps=n_bytes / elapsed / 1e6, documents=n_documents, samples=len(samples),
        first_quarter_MB=medians[0], second_MB=medians[1], third_MB=medians[2], last_MB=medians[3],
        highest_MB=max(map(max, quarters)), last_to_second=f"{growth:+.1%}", target=f"±{STREAM_TARGET:.0%}",
        verdict=verdict(abs(growth) <= STREAM_TARGET),
    )  # fmt: skip
    report.notes.append("verified: the number of bytes, and the first ids against encode in this process")
    return report


def _feed(argv: list[str], parts: Iterator[bytes], errors: Path) -> list[tuple[int, int]]:
    """Run the command on the text; return samples of (bytes read, resident memory in bytes)."""
    samples, done, sent = list[tuple[int, int]](), Event(), [0]
    with errors.open("wb") as file:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=file, stderr=file, env=environment(), bufsize=0)
    assert process.stdin is not None

    def sample() -> None:
        status = Path(f"/proc/{process.pid}/status")
        while not done.wait(PAUSE_SECONDS):
            found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
            if found:  # missing while a process ends
                samples.append((sent[0], int(found[1]) * 1024))

    sampler = Thread(target=sample)
    sampler.start()
    try:
        with process.stdin as stdin:
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[stdin.write(view) :]
                sent[0] += len(part)
    except BrokenPipeError:
        pass  # the command says why
    finally:
        done.set()  # before wait(): until then the process id belongs to this process
        sampler.join()
        code = process.wait()
    if code:
        raise click.ClickException(f"{' '.join(argv)}: exit code {code}:\n{errors.read_text()[-2000:]}")
    return samples


def _check_beginning(tokenizer: Tokenizer, out: Path, doc: str, text: bytes) -> None:
    """The first ids of OUT are those of the beginning of the text, except the last ones: more text followed there."""
    eod = manifest(out)["eod"]
    if doc == "line":
        packed = tokenizer.encode_batch(text.split(b"\n")[:-1], threads=1)
        parts = [part for ids in packed for part in (ids, [] if eod is None else [eod])]
        expected = np.concatenate(parts).astype(tokenizer.dtype)
    else:
        expected = tokenizer.encode(text)[:-UNSURE_IDS]
    if not len(expected) or not np.array_equal(np.fromfile(out, tokenizer.dtype, len(expected)), expected):
        raise fail("the first ids are not those of encode")


# ---------------------------------------------------------------------------------------------- checkpoints ---

# The command with other intervals.
_CODE = """
import sys
from pyunitok import cli
from pyunitok.run import output
output.CHECKPOINT_BYTES, output.CHECKPOINT_SECONDS, output.CHECKPOINT_SHARE = {}
cli.cli.main(sys.argv[1:], standalone_mode=False)
"""


@benchmark(4, gigabytes_option(4), threads_option)
def checkpoints(bench: Bench, gigabytes: float, threads: int) -> Report:
    """Tokenize with checkpoints and without; the outputs must have the same hash."""
    usual = f"{output.CHECKPOINT_BYTES}, {output.CHECKPOINT_SECONDS}, {output.CHECKPOINT_SHARE}"
    text, hashes, kinds = mixed(bench), set[str](), {"none": "1 << 60, 1e18, 0", "usual": usual}
    with bench.folder(gigabytes * 1.2e9) as folder:
        size, out = int(gigabytes * 1e9 / N_FILES), folder / "ids.u16"
        paths = [write_zst(folder / f"{k}.txt.zst", text, size) for k in range(N_FILES)]
        argv = ["tokenize", *map(str, paths), "-o", str(out), "--overwrite", "--threads", str(threads)]

        def tokenized(kind: str) -> None:
            run([sys.executable, "-c", _CODE.format(kinds[kind]), *argv])
            hashes.add(json.dumps(manifest(out)["hash"]))

        seconds = bench.interleave({kind: partial(tokenized, kind) for kind in kinds})
    if len(hashes) != 1:
        raise fail("the outputs differ")
    report = bench.report(f"checkpoints: {gigabytes:.1f} GB of text, {threads} threads")
    for kind, times in seconds.items():
        part = ratio(times, seconds["none"])
        report.add(checkpoints=kind, s=statistics.median(times), to_none=part, target=CHECKPOINTS_TARGET,
                   verdict=verdict(part <= CHECKPOINTS_TARGET))  # fmt: skip
    return report
