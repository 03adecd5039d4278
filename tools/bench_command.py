"""bench.py's commands that measure the command line from outside: start, tokenize, rss."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench_timing import (
    Corpora,
    Report,
    command,
    corpora_option,
    fail,
    interleave,
    json_option,
    n_option,
    ratio,
    run,
    shared_option,
    verdict,
    vocabulary,
    write_zst,
)

START_TARGET = 1.5
SHORT_RUN_TARGET_MS = 150  # more than --help
TOKENIZE_TARGET = 1.25
RSS_TARGET_MB, RSS_SAME = 300, 1.1
BLOCK_BYTES = 1 << 20
N_FILES = 4
WINDOW_LOG = 23  # 8 MiB

temporary_option = click.option(
    "--tmp", type=click.Path(exists=True, file_okay=False), help="Where the inputs go; the system's by default."
)


@click.command()
@n_option(15)
@json_option
def start(n: int, as_json: bool) -> None:
    """`pyunitok --help` beside `python -c 'import click'`, and tokenizing 20 bytes, each in a fresh process."""
    folder = Path(tempfile.mkdtemp())
    short, out = folder / "short.txt", folder / "short.u16"
    short.write_text("twenty bytes of text")
    functions = {
        "pyunitok tokenize": partial(run, [*command(), "tokenize", str(short), "-o", str(out), "--overwrite"]),
        "numpy": partial(run, [sys.executable, "-c", "import numpy"]),
        "pyunitok --help": partial(run, [*command(), "--help"]),
        "import click": partial(run, [sys.executable, "-c", "import click"]),
        "nothing": partial(run, [sys.executable, "-c", ""]),
    }
    if "tokenize" not in functions["pyunitok --help"]():
        raise fail("pyunitok --help does not mention tokenize")
    seconds = interleave(functions, n)
    report = Report("start: fresh processes", n)
    for name, times in seconds.items():
        part = ratio(times, seconds["import click"])
        target = START_TARGET if name == "pyunitok --help" else None
        report.add(
            process=name, ms=statistics.median(times) * 1e3, to_import_click=part, target=target,
            verdict=verdict(part <= target) if target else None,
        )  # fmt: skip
    more = [1e3 * (a - b) for a, b in zip(seconds["pyunitok tokenize"], seconds["pyunitok --help"], strict=True)]
    extra = statistics.median(more)
    report.notes.append(
        f"tokenize: {extra:.0f} ms more than --help; target {SHORT_RUN_TARGET_MS} ms:"
        f" {verdict(extra <= SHORT_RUN_TARGET_MS)}"
    )
    report.notes.append(f"command: {' '.join(command())}")
    shutil.rmtree(folder)
    report.show(as_json)


@click.command()
@shared_option
@corpora_option
@n_option(3)
@click.option("--gigabytes", type=float, default=2.0, show_default=True, help="Text to tokenize, decompressed.")
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
@temporary_option
@json_option
def tokenize(
    shared: Path | None, corpora: str | None, n: int, gigabytes: float, threads: int, tmp: str | None, as_json: bool
) -> None:
    """`pyunitok tokenize` of mixed .zst files, beside decompressing alone and encoding alone with as many threads.

    All corpora in slices of 1 MB, over and over, in four files, each one document. The wall time of an empty input is
    taken off. Decompression: each thread streams files of its own. Encoding: encode_batch of the text in memory, in
    blocks that end where no id depends on it. As both keep all threads busy, the command can hardly take less than the
    two added.
    """
    import pyunitok

    tokenizer = pyunitok.Tokenizer.from_file(vocabulary())
    stream = _Cycle(Corpora.find(shared, corpora).round_robin(), tokenizer)
    with tempfile.TemporaryDirectory(dir=tmp) as name:
        folder = Path(name)
        check_space(folder, gigabytes * 1.2e9)
        files = stream.files(N_FILES, int(gigabytes * 1e9 / N_FILES))
        paths = [folder / f"{k}.txt.zst" for k in range(N_FILES)]
        for path, blocks in zip(paths, files, strict=True):
            _write_blocks(path, blocks)
        empty, out = folder / "empty.txt", folder / "ids.u16"
        empty.touch()
        base = [*command(), "tokenize", "-m", str(vocabulary()), "-o", str(out), "--overwrite"]
        base += ["--threads", str(threads)]
        encoders = [_Encoder(tokenizer) for _ in range(threads)]
        every_block = [block for blocks in files for block in blocks]
        functions: dict[str, Callable[[], object]] = {
            "start": partial(run, [*base, str(empty)]),
            "command": partial(run, [*base, *map(str, paths)]),
            "decompress": partial(_spread, [_decompress] * threads, paths),
            "encode": partial(_spread, [partial(_encode_batch, tokenizer)] * threads, every_block),
            "encode again": partial(_spread, encoders, every_block),
            "write": partial(_write, folder / "zeros", out),
        }
        n_bytes = sum(map(len, every_block))
        if functions["decompress"]() != n_bytes:
            raise fail("the files do not decompress to what was put into them")
        n_tokens = functions["encode again"]()
        if functions["encode"]() != n_tokens:
            raise fail("encode_batch and the scratch under it count different tokens")
        functions["command"]()
        manifest = json.loads(out.with_name(out.name + ".json").read_text())
        if (manifest["bytes"], manifest["tokens"]) != (n_bytes, n_tokens + N_FILES):  # type: ignore[operator]
            raise fail(f"the command counts {manifest['tokens']} tokens, encode alone {n_tokens} and {N_FILES} eods")
        if not np.array_equal(np.fromfile(out, "<u2", 1 << 20)[: len(encoders[0].first)], encoders[0].first):
            raise fail("the command's first ids are not those of encode alone")
        compressed = sum(path.stat().st_size for path in paths)
        seconds = interleave(functions, n)
    wall = [a - b for a, b in zip(seconds["command"], seconds["start"], strict=True)]
    slower = [max(pair) for pair in zip(seconds["decompress"], seconds["encode"], strict=True)]
    both = [sum(pair) for pair in zip(seconds["decompress"], seconds["encode"], strict=True)]
    part = ratio(wall, slower)
    report = Report(f"tokenize: {n_bytes / 1e9:.2f} GB of text in {compressed / 1e9:.2f} GB, {threads} threads", n)
    rows = {
        "command less start-up": wall, "start-up": seconds["start"], "decompression alone": seconds["decompress"],
        "encoding alone": seconds["encode"], "the slower of the two": slower, "the two added": both,
        "encoding into buffers used again": seconds["encode again"],
        "writing and fsync of the ids alone": seconds["write"],
    }  # fmt: skip
    for what, times in rows.items():
        ours = what == "command less start-up"
        report.add(
            what=what, s=statistics.median(times), MBps=n_bytes / statistics.median(times) / 1e6,
            command_to_it=ratio(wall, times), target=TOKENIZE_TARGET if ours else None,
            to_slower=part if ours else None, verdict=verdict(part <= TOKENIZE_TARGET) if ours else None,
        )  # fmt: skip
    report.notes.append(f"tokens: {n_tokens:,} and {N_FILES} eods, as the command counts; bytes and first ids the same")
    report.show(as_json)


class _Cycle:
    """A text over and over, in blocks that end at proven cuts."""

    def __init__(self, text: bytes, tokenizer: Any) -> None:
        self._twice = memoryview(text + text[: 2 * BLOCK_BYTES])
        self._period, self._split, self._at = len(text), tokenizer.codec.split, 0

    def files(self, n_files: int, n_bytes: int) -> list[list[memoryview]]:
        """Blocks of n_files files of at least n_bytes."""
        files: list[list[memoryview]] = [[] for _ in range(n_files)]
        for blocks in files:
            done = 0
            while done < n_bytes:
                begin = self._at % self._period
                window = self._twice[begin : begin + BLOCK_BYTES]
                size = self._split(window)
                blocks.append(window[:size])
                self._at += size
                done += size
        return files


class _Encoder:
    """Encodes block after block into one buffer; how many ids there were. `first` is what the first block gave."""

    def __init__(self, tokenizer: Any) -> None:
        from pyunitok._c import library
        from pyunitok._c import scratch as c_scratch

        self._scratch = c_scratch.Scratch(tokenizer.codec.model)
        self._ids = np.empty(BLOCK_BYTES + 1 + library.ENCODE_SLACK, np.uint16)
        self._ends = np.empty(2, np.int64)
        self.first = np.empty(0, np.uint16)

    def __call__(self, block: memoryview) -> int:
        data = np.frombuffer(block, np.uint8)
        n = self._scratch.encode_batch(data, np.array([0, len(data)]), self._ids, self._ends)
        if not len(self.first):
            self.first = self._ids[:n].copy()
        return n


def _encode_batch(tokenizer: Any, block: memoryview) -> int:
    from pyunitok import Packed

    data = np.frombuffer(block, np.uint8)
    return len(tokenizer.encode_batch(Packed(data, np.array([0, len(data)])), threads=1).data)


def _decompress(path: Path) -> int:
    import zstandard

    buffer, n_bytes = bytearray(BLOCK_BYTES), 0
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(file, read_size=BLOCK_BYTES)
        while n := reader.readinto(buffer):
            n_bytes += n
    return n_bytes


def _spread(workers: Sequence[Callable[[Any], int]], items: Sequence[Any]) -> int:
    """The sum of what the workers make of the items: worker k takes every len(workers)-th, from k on."""

    def work(k: int) -> int:
        return sum(map(workers[k], items[k :: len(workers)]))

    with ThreadPoolExecutor(len(workers)) as pool:
        return sum(pool.map(work, range(len(workers))))


def _write_blocks(path: Path, blocks: list[memoryview]) -> None:
    import zstandard

    with path.open("wb") as file, zstandard.ZstdCompressor(level=3).stream_writer(file) as writer:
        for block in blocks:
            writer.write(block)


def _write(path: Path, like: Path) -> None:
    """Writes as many bytes as `like` has, in pieces as the command does, and syncs them."""
    import os

    piece, left = bytes(BLOCK_BYTES // 2), like.stat().st_size
    with path.open("wb", buffering=0) as file:
        while left > 0:
            left -= file.write(piece[:left])
        os.fsync(file.fileno())
    path.unlink()


def check_space(folder: Path, n_bytes: float) -> None:
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise click.ClickException(f"{folder} has {free / 1e9:.1f} GB free, this takes {n_bytes / 1e9:.1f}; see --tmp")


# Run in a small process of its own: a child's peak counts what its parent held when it was started.
_PEAK = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


@click.command()
@shared_option
@corpora_option
@click.option("--megabytes", default="200,2000", show_default=True, help="Sizes of the document, decompressed.")
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
@temporary_option
@json_option
def rss(shared: Path | None, corpora: str | None, megabytes: str, threads: int, tmp: str | None, as_json: bool) -> None:
    """Peak memory of `pyunitok tokenize` on a file that is one document, in zstd with a window of 8 MiB.

    The same sizes are to give the same peak: within a tenth of the smallest.
    """
    import pyunitok

    text = Corpora.find(shared, corpora).round_robin()
    sizes = [int(float(size) * 1e6) for size in megabytes.split(",")]
    tokenizer = pyunitok.Tokenizer.from_file(vocabulary())
    report = Report(f"rss: pyunitok tokenize, one document, window 8 MiB, {threads} threads", 1)
    first: float | None = None
    with tempfile.TemporaryDirectory(dir=tmp) as name:
        check_space(Path(name), max(sizes) * 1.2)
        for size in sizes:
            path, out = Path(name) / "one.txt.zst", Path(name) / "ids.u16"
            write_zst(path, text, size, window_log=WINDOW_LOG)
            argv = [*command(), "tokenize", "-m", str(vocabulary()), str(path), "-o", str(out)]
            argv += ["--overwrite", "--threads", str(threads)]
            started = time.perf_counter()
            peak = int(run([sys.executable, "-c", _PEAK, *argv]).split()[-1])
            elapsed = time.perf_counter() - started
            manifest = json.loads(out.with_name(out.name + ".json").read_text())
            if (manifest["bytes"], manifest["documents"]) != (size, 1):
                raise fail(f"the command counts {manifest['bytes']} bytes, not {size}")
            with out.open("rb") as file:
                ids = np.frombuffer(file.read(2 << 20), "<u2")
            beginning = tokenizer.decode_bytes(ids)[:size]
            if (text * (len(beginning) // len(text) + 1))[: len(beginning)] != beginning and len(ids) == 1 << 20:
                raise fail("the tokens do not decode to the text")
            peak_mb = peak * (1 if sys.platform == "darwin" else 1024) / 1e6
            first = first or peak_mb
            report.add(
                text_MB=size / 1e6, peak_MB=peak_mb, target_MB=RSS_TARGET_MB, verdict=verdict(peak_mb <= RSS_TARGET_MB),
                to_first=peak_mb / first, same=verdict(peak_mb <= RSS_SAME * first), MBps=size / elapsed / 1e6,
            )  # fmt: skip
    report.show(as_json)
