"""bench.py tokenize, rss, stream and checkpoints: measures the speed and memory of `pyunitok tokenize`."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import click
import numpy as np
import zstandard
from bench_processes import command, environment, manifest, run, usage
from bench_texts import documents, mixed, random_slices, repeated, write_zst
from bench_timing import Bench, Report, at_most, benchmark, fail, less, ratio, speed, verdict, volume

from pyunitok import Packed, Tokenizer
from pyunitok.run import output

WORLD, N_FILES = "rwkv-world", 4
TOKENIZE_TARGET, CHECKPOINTS_TARGET = 1.25, 1.02
RSS_TARGET_MB, RSS_SAME = 300, 1.1
STREAM_TARGET = 0.05  # the growth from the second quarter to the last
BLOCK_BYTES = 1 << 20
WINDOW_LOG = 23  # 8 MiB
CHECKED_SLICES, UNSURE_IDS, SLICES_PER_SAMPLE = 40, 1000, 16


@benchmark(3, *volume(2))
def tokenize(bench: Bench, gigabytes: float, threads: int) -> Report:
    """Tokenize mixed .zst files, compared with decompression alone and encoding alone on as many threads.

    The input is slices of 1 MB of all corpora, repeated, in four files of one document each. The time for an empty
    input is subtracted. Encoding alone uses in-memory blocks that end at cuts. Decompression and encoding each keep all
    threads busy, so the command can hardly take less time than both together.
    """
    tokenizer = Tokenizer.from_file(WORLD)
    blocks, n_blocks = cycle(_blocks(tokenizer, mixed(bench))), max(1, round(gigabytes * 1e9 / BLOCK_BYTES / N_FILES))
    with bench.folder(gigabytes * 1.2e9) as folder:
        files = {folder / f"{k}.txt.zst": list(islice(blocks, n_blocks)) for k in range(N_FILES)}
        n_bytes = sum(write_zst(path, parts) for path, parts in files.items())
        packed = [Packed.from_documents([block]) for parts in files.values() for block in parts]
        empty, out = folder / "empty.txt", folder / "ids.u16"
        empty.touch()
        base = [*command(), "tokenize", "-m", WORLD, "-o", str(out), "--overwrite", "--threads", str(threads)]
        functions: dict[str, Callable[[], Any]] = {
            "start": partial(run, [*base, str(empty)]),
            "command": partial(run, [*base, *map(str, files)]),
            "decompress": partial(_on_threads, threads, _decompress, list(files)),
            "encode": partial(_on_threads, threads, partial(_encode, tokenizer), packed),
        }
        if functions["decompress"]() != n_bytes:
            raise fail("the files do not decompress to the text")
        n_tokens, first = functions["encode"](), tokenizer.encode(next(iter(files.values()))[0])
        functions["command"]()
        if (manifest(out)["bytes"], manifest(out)["tokens"]) != (n_bytes, n_tokens + N_FILES):
            raise fail(f"the command counts {manifest(out)['tokens']} tokens, not {n_tokens} and {N_FILES} eods")
        if not np.array_equal(np.fromfile(out, "<u2", len(first)), first):
            raise fail("the command's first ids are not those of encode")
        seconds = bench.interleave(functions)
    wall = less(seconds["command"], seconds["start"])
    both = [a + b for a, b in zip(seconds["decompress"], seconds["encode"], strict=True)]
    report = bench.report(f"tokenize: {n_bytes / 1e9:.2f} GB of text, {threads} threads")
    rows = {"command minus start-up": wall, "start-up": seconds["start"], "decompression alone": seconds["decompress"],
            "encoding alone": seconds["encode"], "both combined": both}  # fmt: skip
    for what, times in rows.items():
        part, target = ratio(wall, times), TOKENIZE_TARGET if times is both else None
        report.add(what=what, s=statistics.median(times), MBps=speed(n_bytes, times), command_ratio=part,
                   **at_most(part, target))  # fmt: skip
    report.notes.append(f"tokens: {n_tokens:,} and {N_FILES} eods; verified: tokens, bytes, first ids")
    return report


def _blocks(tokenizer: Tokenizer, text: bytes) -> list[bytes]:
    """The text in blocks that end at cuts. It is rotated to begin at a cut, so that it can be repeated."""
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
    with path.open("rb") as file:
        return sum(map(len, zstandard.ZstdDecompressor().read_to_iter(file)))


def _on_threads(threads: int, function: Callable[[Any], int], items: Sequence[Any]) -> int:
    """The sum of function(item) over all items. Thread k takes items k, k + threads, k + 2 * threads and so on."""
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda k: sum(map(function, items[k::threads])), range(threads)))


@benchmark(1, click.option("--megabytes", default="200,2000", show_default=True, help="Sizes of the document."),
           click.option("--threads", type=click.IntRange(1), default=2, show_default=True))  # fmt: skip
def rss(bench: Bench, megabytes: str, threads: int) -> Report:
    """Measure the peak memory for one document, compressed with a window of 8 MiB; it should not depend on the size."""
    text, tokenizer, peaks = mixed(bench), Tokenizer.from_file(WORLD), list[float]()
    sizes = [int(float(size) * 1e6) for size in megabytes.split(",")]
    report = bench.report(f"rss: pyunitok tokenize, one document, window 8 MiB, {threads} threads")
    with bench.folder(max(sizes) * 1.2) as folder:
        path, out = folder / "one.txt.zst", folder / "ids.u16"
        argv = [*command(), "tokenize", "-m", WORLD, str(path), "-o", str(out), "--overwrite"]
        argv += ["--threads", str(threads)]
        for size in sizes:
            write_zst(path, repeated(text, size), window_log=WINDOW_LOG)
            used = [usage(argv) for _ in range(bench.n)]
            if (manifest(out)["bytes"], manifest(out)["documents"]) != (size, 1):
                raise fail(f"the command counts {manifest(out)['bytes']} bytes, not {size}")
            beginning = tokenizer.decode_bytes(np.fromfile(out, "<u2", 1 << 20))[: min(size, len(text)) - 100]
            if not text.startswith(beginning):
                raise fail("the tokens do not decode to the text")
            peaks.append(statistics.median(one.peak_bytes for one in used) / 1e6)
            report.add(
                text_MB=size / 1e6, peak_MB=peaks[-1], **at_most(peaks[-1], RSS_TARGET_MB),
                to_first=peaks[-1] / peaks[0], same=verdict(peaks[-1] <= RSS_SAME * peaks[0]),
                MBps=speed(size, [one.seconds for one in used]),
            )  # fmt: skip
    return report


@benchmark(
    1, *volume(20),
    click.option("-m", "--model", default=WORLD, show_default=True, help="Model file or name."),
    click.option("--doc", type=click.Choice(["line", "file"]), default="line", show_default=True,
                 help="file: the stream is one document."),
)  # fmt: skip
def stream(bench: Bench, gigabytes: float, threads: int, model: str, doc: str) -> Report:
    """Measure memory while a stream is tokenized (Linux only): it should not grow from the second quarter to the last.

    The text is generated while the command reads it: slices of 64 KB of all corpora in random order, each preceded
    by a number. VmRSS is sampled.
    """
    tokenizer, n_bytes = Tokenizer.from_file(model), int(gigabytes * 1e9)
    slices = documents(mixed(bench), 1 << 16)
    with bench.folder(n_bytes * (0.4 * tokenizer.dtype.itemsize + 0.15)) as folder:  # the ids and the ends of documents
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
        highest_MB=max(map(max, quarters)), growth=growth, **at_most(abs(growth), STREAM_TARGET),
    )  # fmt: skip
    report.notes.append("verified: the number of bytes; the first ids are those of encode in this process")
    return report


def _feed(argv: list[str], parts: Iterable[bytes], errors: Path) -> list[tuple[int, int]]:
    """Run the command on the text; return samples of (bytes written, resident memory in bytes)."""
    samples, n_written = list[tuple[int, int]](), 0
    with errors.open("wb") as file:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=file, stderr=file, env=environment())
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as stdin:  # the command reports why it exited
        for k, part in enumerate(parts):
            n_written += stdin.write(part)
            if k % SLICES_PER_SAMPLE == 0:
                found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
                samples += [(n_written, int(found[1]) * 1024)] if found else []  # missing while a process ends
    if code := process.wait():
        raise click.ClickException(f"{' '.join(argv)}: exit code {code}:\n{errors.read_text()[-2000:]}")
    return samples


def _check_beginning(tokenizer: Tokenizer, out: Path, doc: str, text: bytes) -> None:
    """Compare the first ids of OUT with the ids of the beginning of the text, of which the last UNSURE_IDS may
    differ."""
    eod = [] if manifest(out)["eod"] is None else [manifest(out)["eod"]]
    packed = tokenizer.encode_batch(text.split(b"\n") if doc == "line" else [text], threads=1)
    expected = np.concatenate([part for ids in packed for part in (ids, eod)])[:-UNSURE_IDS]
    if not len(expected) or not np.array_equal(np.fromfile(out, tokenizer.dtype, len(expected)), expected):
        raise fail("the first ids are not those of encode")


# Runs the command with different intervals between checkpoints.
_CODE = """
import sys
from pyunitok import cli
from pyunitok.run import output
output.CHECKPOINT_BYTES, output.CHECKPOINT_SECONDS, output.CHECKPOINT_SHARE = {}
cli.cli.main(sys.argv[1:], standalone_mode=False)
"""


@benchmark(4, *volume(4))
def checkpoints(bench: Bench, gigabytes: float, threads: int) -> Report:
    """Tokenize with and without checkpoints; the outputs must have the same hash."""
    usual = f"{output.CHECKPOINT_BYTES}, {output.CHECKPOINT_SECONDS}, {output.CHECKPOINT_SHARE}"
    text, hashes, kinds = mixed(bench), set[str](), {"none": "1 << 60, 1e18, 0", "usual": usual}
    with bench.folder(gigabytes * 1.2e9) as folder:
        paths, out = [folder / f"{k}.txt.zst" for k in range(N_FILES)], folder / "ids.u16"
        for path in paths:
            write_zst(path, repeated(text, int(gigabytes * 1e9 / N_FILES)))
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
        report.add(checkpoints=kind, s=statistics.median(times), to_none=part, **at_most(part, CHECKPOINTS_TARGET))
    return report
