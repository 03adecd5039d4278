"""bench.py stream: memory of `pyunitok tokenize -` over a long stream that is made as it is read, and never stored."""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from threading import Event, Thread

import click
import numpy as np
from bench_command import check_space, temporary_option
from bench_timing import (
    Corpora,
    Report,
    command,
    corpora_option,
    documents,
    fail,
    json_option,
    shared_option,
    verdict,
    vocabulary,
)

import pyunitok

STREAM_TARGET = 0.05  # how far the last quarter may be from the second
CHECKED_SLICES = 40
UNSURE_IDS = 1000
PAUSE_SECONDS = 0.05


@click.command()
@shared_option
@corpora_option
@click.option("--gigabytes", type=float, default=20.0, show_default=True, help="Text to stream.")
@click.option(
    "-m", "--model", type=click.Path(exists=True, path_type=Path), help="A model file; RWKV World by default."
)
@click.option(
    "--doc", type=click.Choice(["line", "file"]), default="line", show_default=True, help="file: all is one document."
)
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
@temporary_option
@json_option
def stream(
    shared: Path | None, corpora: str | None, gigabytes: float, model: Path | None, doc: str, threads: int,
    tmp: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Memory of `pyunitok tokenize -` over a stream of 20 GB: the last quarter is to be as the second.

    The text is made while it is read: slices of 64 KB of all corpora in random order, a number before each. What is
    sampled is VmRSS (Linux only), by how much of the text was read; the ids go to a file in --tmp and are removed.
    """
    if not Path("/proc/self/status").exists():
        raise click.ClickException("this reads /proc/PID/status, which this system has not")
    path, n_bytes = model or vocabulary(), int(gigabytes * 1e9)
    slices = documents(Corpora.find(shared, corpora).round_robin(), 1 << 16)
    tokenizer = pyunitok.Tokenizer.from_file(path)
    with tempfile.TemporaryDirectory(dir=tmp) as name:
        out = Path(name) / "ids"
        check_space(Path(name), n_bytes * (0.4 * tokenizer.dtype.itemsize + 0.15))  # ids, and where documents end
        argv = [*command(), "tokenize", "-", "-o", str(out), "-m", str(path), "--doc", doc, "--input-format", "text"]
        argv += ["--dtype", tokenizer.dtype.name, "--threads", str(threads)]
        started = time.perf_counter()
        samples = _feed(argv, slices, n_bytes, Path(name) / "stderr")
        elapsed = time.perf_counter() - started
        manifest = json.loads(out.with_name("ids.json").read_text())
        if manifest["bytes"] != n_bytes:
            raise fail(f"the command counts {manifest['bytes']:,} bytes, not {n_bytes:,}")
        _check_beginning(tokenizer, out, doc, b"".join(islice(_text(slices, n_bytes), CHECKED_SLICES)))
    quarters = _quarters(samples, n_bytes)
    medians = [statistics.median(quarter) / 1e6 for quarter in quarters]
    growth = medians[3] / medians[1] - 1
    report = Report(f"stream: pyunitok tokenize -, --doc {doc}, {threads} threads, {path.name}", 1)
    report.add(
        text_GB=n_bytes / 1e9, MBps=n_bytes / elapsed / 1e6, documents=manifest["documents"], samples=len(samples),
        first_quarter_MB=medians[0], second_MB=medians[1], third_MB=medians[2], last_MB=medians[3],
        highest_MB=max(rss for _, rss in samples) / 1e6, last_to_second=f"{growth:+.1%}",
        target=f"±{STREAM_TARGET:.0%}", verdict=verdict(abs(growth) <= STREAM_TARGET),
    )  # fmt: skip
    report.notes.append("verified: bytes counted, and the first ids against encode in this process")
    report.show(as_json)


def _text(slices: list[bytes], n_bytes: int) -> Iterator[bytes]:
    """n_bytes, the same for the same arguments: slices drawn at random, a number before each."""
    draw = random.Random(1)
    for k in count():
        part = b"\n%d " % k + draw.choice(slices)
        if len(part) >= n_bytes:
            yield b"x" * n_bytes  # the last may not end in half a character
            return
        yield part
        n_bytes -= len(part)


def _feed(argv: list[str], slices: list[bytes], n_bytes: int, errors: Path) -> list[tuple[int, int]]:
    """Runs the command on the text: bytes that it has taken, and its resident memory in bytes, again and again."""
    environment = os.environ | {"PYTHONPATH": str(Path(pyunitok.__file__).parent.parent)}
    samples: list[tuple[int, int]] = []
    done, sent = Event(), [0]
    with errors.open("wb") as file:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=file, stderr=file, env=environment, bufsize=0)
    assert process.stdin is not None

    def sample() -> None:
        status = Path(f"/proc/{process.pid}/status")
        while not done.wait(PAUSE_SECONDS):
            found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
            if found:  # a process that is ending has none
                samples.append((sent[0], int(found[1]) * 1024))

    sampler = Thread(target=sample)
    sampler.start()
    try:
        with process.stdin as stdin:
            for part in _text(slices, n_bytes):
                view = memoryview(part)
                while view:
                    view = view[stdin.write(view) :]
                sent[0] += len(part)
    except BrokenPipeError:
        pass  # the command has said why
    finally:
        done.set()  # before the process is waited for: its number is its own as long as it is not
        sampler.join()
        code = process.wait()
    if code:
        raise click.ClickException(f"{' '.join(argv)} ended with {code}:\n{errors.read_text()[-2000:]}")
    return samples


def _quarters(samples: list[tuple[int, int]], n_bytes: int) -> list[list[int]]:
    quarters: list[list[int]] = [[], [], [], []]
    for at, rss in samples:
        quarters[min(4 * at // n_bytes, 3)].append(rss)
    if not all(quarters):
        raise fail(f"a quarter has no sample: {n_bytes:,} bytes are read too fast; see --gigabytes")
    return quarters


def _check_beginning(tokenizer: pyunitok.Tokenizer, out: Path, doc: str, text: bytes) -> None:
    """The first ids of OUT are those of the text's beginning, but for the last: there more text followed."""
    eod = json.loads(out.with_name(out.name + ".json").read_text())["eod"]
    end = [] if eod is None else [eod]
    if doc == "line":
        packed = tokenizer.encode_batch(text.split(b"\n")[:-1], threads=1)
        expected = np.concatenate([part for ids in packed for part in (ids, end)]).astype(tokenizer.dtype)
    else:
        expected = tokenizer.encode(text)[:-UNSURE_IDS]
    if not len(expected) or not np.array_equal(np.fromfile(out, tokenizer.dtype, len(expected)), expected):
        raise fail("the first ids are not those of encode")
