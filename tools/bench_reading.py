"""bench.py reading: `pyunitok tokenize` on the same documents in files of many kinds, with one thread and with more."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
from bench_command import check_space, temporary_option
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
)

MODEL = "rwkv-world"
THREADS_TARGET = 1.8
JSONL_TARGET = 1.25
FRAME_BYTES = 4 << 20
DOC_CHARACTERS = 3000


@click.command()
@shared_option
@corpora_option
@n_option(3)
@click.option("--gigabytes", type=float, default=3.0, show_default=True, help="Text to tokenize, decompressed.")
@click.option("--threads", type=click.IntRange(2), default=2, show_default=True)
@click.option("--files", type=click.IntRange(1), default=10_000, show_default=True, help="How many small files.")
@click.option("--shares", is_flag=True, help="Only the share of each stage in the processor time, in this process.")
@temporary_option
@json_option
def reading(
    shared: Path | None, corpora: str | None, n: int, gigabytes: float, threads: int, files: int, shares: bool,
    tmp: str | None, as_json: bool,
) -> None:  # fmt: skip
    """`pyunitok tokenize` with RWKV World on the same documents as text and as JSON lines, in one frame, many frames
    and many files.

    All corpora in slices of 1 MB, over and over, newlines made spaces, a document every 3000 characters; the vocabulary
    is a native file. The wall time of an empty input of the same format is taken off, and no run replaces an older
    output. All of them must give the same tokens and ends.

    --shares works beside other processes too: it counts processor time. turn is reading in turn, which only one thread
    can do at a time, finish the reading of JSON, write what the main thread does; at_most is how many times as fast as
    one core any number can be for the longer one of turn and write.
    """
    text = Corpora.find(shared, corpora).round_robin().decode("utf-8", "ignore").replace("\n", " ").replace("\r", " ")
    docs = [text[at : at + DOC_CHARACTERS] for at in range(0, len(text), DOC_CHARACTERS)]
    n_times = max(1, round(gigabytes * 1e9 / len(text.encode())))
    with tempfile.TemporaryDirectory(dir=tmp) as name:
        folder = Path(name)
        check_space(folder, gigabytes * 3e9)
        kinds = {
            "text, many frames": _write(folder / "many.txt.zst", _text(docs) * n_times, FRAME_BYTES),
            "text, one frame": _write(folder / "one.txt.zst", _text(docs) * n_times, None),
            "text, small files": _write_files(folder / "small", docs, n_times, files),
            "JSON lines": _write(folder / "u.jsonl.zst", _json(docs, False) * n_times, FRAME_BYTES),
            "JSON lines, escaped": _write(folder / "a.jsonl.zst", _json(docs, True) * n_times, FRAME_BYTES),
        }
        out = folder / "ids.u16"
        if shares:
            _report_shares({kind: path for kind, path in kinds.items() if path.is_file()}, out, threads, n, as_json)
            return
        model = folder / "model"
        run([*command(), "convert", MODEL, str(model)])

        def tokenize(path: Path, k: int) -> partial[Any]:
            doc = [] if ".jsonl" in path.name else ["--doc", "line"]
            words = [*command(), "tokenize", "-m", str(model), "-o", str(out), *doc, "--threads", str(k), str(path)]
            return partial(run, words)

        functions = {f"{kind} {k}": tokenize(path, k) for kind, path in kinds.items() for k in (1, threads)}
        hashes = set()
        clear = partial(_remove_output, out)
        for function in functions.values():
            clear()
            function()
            manifest = json.loads(out.with_name(out.name + ".json").read_text())
            hashes.add(json.dumps([manifest["hash"], manifest["tokens"], manifest["documents"]]))
        if len(hashes) != 1:
            raise fail("not all kinds of files give the same tokens")
        starts = {suffix: _write(folder / f"empty{suffix}", b"", FRAME_BYTES) for suffix in (".txt.zst", ".jsonl.zst")}
        functions |= {suffix: tokenize(path, 1) for suffix, path in starts.items()}
        seconds = interleave(functions, n, before=dict.fromkeys(functions, clear))
    n_bytes = n_times * len(_text(docs))
    walls = {
        f"{kind} {k}": [a - b for a, b in zip(seconds[f"{kind} {k}"], seconds[_start_of(kind)], strict=True)]
        for kind in kinds for k in (1, threads)
    }  # fmt: skip
    report = Report(f"reading: {n_bytes / 1e9:.2f} GB of text, {len(docs) * n_times:,} documents", n)
    for kind in kinds:
        for k in (1, threads):
            wall, plain = walls[f"{kind} {k}"], walls[f"text, many frames {k}"]
            faster = ratio(walls[f"{kind} 1"], wall)
            scales = k > 1 and kind != "text, one frame"
            is_json = kind == "JSON lines"
            report.add(
                what=kind, threads=k, s=statistics.median(wall), MBps=n_bytes / statistics.median(wall) / 1e6,
                to_one_thread=faster, target=THREADS_TARGET if scales else None,
                verdict=verdict(faster >= THREADS_TARGET) if scales else None,
                to_text=ratio(wall, plain), text_target=JSONL_TARGET if is_json else None,
                text_verdict=verdict(ratio(wall, plain) <= JSONL_TARGET) if is_json else None,
            )  # fmt: skip
    medians = ", ".join(f"{suffix} {statistics.median(seconds[suffix]):.3f} s" for suffix in starts)
    report.notes.append(f"start-up, taken off: {medians}; all outputs the same")
    report.show(as_json)


def _start_of(kind: str) -> str:
    return ".jsonl.zst" if kind.startswith("JSON") else ".txt.zst"


def _remove_output(out: Path) -> None:
    for path in out.parent.glob(out.name + "*"):
        path.unlink()


def _report_shares(kinds: dict[str, Path], out: Path, threads: int, n: int, as_json: bool) -> None:
    """Medians of n runs."""
    from bench_shares import shares

    from pyunitok import Tokenizer

    report = Report("reading: shares of the processor time", n)
    tokenizer = Tokenizer.from_file(MODEL)
    hashes, plain = set[str](), dict[int, float]()
    for kind, path in kinds.items():
        for k in (1, threads):
            runs = [shares(path, out, k, tokenizer) for _ in range(n)]
            manifest = json.loads(out.with_name(out.name + ".json").read_text())
            hashes.add(json.dumps([manifest["hash"], manifest["tokens"], manifest["documents"]]))
            row = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
            plain.setdefault(k, row["cpu_s"])
            report.add(what=kind, threads=k, **row, to_text=row["cpu_s"] / plain[k])
    if len(hashes) != 1:
        raise fail("not all kinds of files give the same tokens")
    report.show(as_json)


def _text(docs: list[str]) -> bytes:
    return "".join(doc + "\n" for doc in docs).encode()


def _json(docs: list[str], ensure_ascii: bool) -> bytes:
    lines = (json.dumps({"id": k, "text": doc}, ensure_ascii=ensure_ascii) for k, doc in enumerate(docs))
    return "".join(line + "\n" for line in lines).encode()


def _frames(data: bytes, frame_bytes: int | None) -> Iterator[bytes]:
    import zstandard

    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    step = frame_bytes or len(data)
    return (compressor.compress(memoryview(data)[at : at + step]) for at in range(0, max(1, len(data)), step))


def _write(path: Path, data: bytes, frame_bytes: int | None) -> Path:
    with path.open("wb") as file:
        file.writelines(_frames(data, frame_bytes))
    return path


def _write_files(folder: Path, docs: list[str], n_times: int, n_files: int) -> Path:
    """The same documents in so many files, or in fewer where there are fewer documents."""
    folder.mkdir()
    every = docs * n_times
    step = -(-len(every) // n_files)
    for number, at in enumerate(range(0, len(every), step)):
        _write(folder / f"{number:06}.txt.zst", _text(every[at : at + step]), None)
    return folder
