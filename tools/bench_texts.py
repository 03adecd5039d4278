"""Provides the texts of benchmarks: corpora, the sample in tests/data, mixtures of these, and files made from them."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterable, Iterator
from itertools import chain, count, repeat
from pathlib import Path

import click
import zstandard
from bench_timing import ROOT, Bench

SAMPLE = "sample"  # always available
VOWELS = "aeiou"
CONSONANTS = "".join(sorted(set(string.ascii_lowercase) - set(VOWELS)))


def names(bench: Bench, defaults: Iterable[str] | None = None) -> list[str]:
    """The names in --corpora. Without it, the `defaults` that exist, or all corpora if `defaults` is None; if there are
    none, the sample."""
    folder = bench.shared / "data" / "corpora"
    found = sorted(path.name.removesuffix(".txt.zst") for path in folder.glob("*.txt.zst"))
    if bench.corpora is None:
        return [name for name in (found if defaults is None else defaults) if name in found] or [SAMPLE]
    wanted = bench.corpora.split(",")
    if missing := [name for name in wanted if name not in (*found, SAMPLE)]:
        raise click.ClickException(f"{folder}: no corpus {', '.join(missing)}; available: {', '.join(found)}")
    return wanted


def read(bench: Bench, name: str) -> bytes:
    path = bench.shared / "data" / "corpora" / f"{name}.txt.zst"
    path = ROOT / "tests" / "data" / "sample.jsonl.zst" if name == SAMPLE else path
    data: bytes = zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True).read()
    if name == SAMPLE:
        data = "\n".join(json.loads(line)["text"] for line in data.decode().split("\n") if line).encode()
    return data


def documents(text: bytes, n_bytes: int = 1 << 14) -> list[bytes]:
    """The text in parts of n_bytes, or a little less to keep characters intact."""
    parts, begin = [], 0
    while begin < len(text):
        end = min(begin + n_bytes, len(text))
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(text[begin:end])
        begin = end
    return parts


def slices_in_turn(bench: Bench, n_bytes: int, defaults: Iterable[str] | None = None) -> Iterator[bytes]:
    """A slice of each corpus in turn until all are used up."""
    return in_turn((read(bench, name) for name in names(bench, defaults)), n_bytes)


def in_turn(texts: Iterable[bytes], n_bytes: int) -> Iterator[bytes]:
    """A slice of each text in turn until all are used up."""
    left = [iter(documents(text, n_bytes)) for text in texts]
    while left:
        for slices in list(left):
            if part := next(slices, b""):
                yield part
            else:
                left.remove(slices)


def mixed(bench: Bench, slice_bytes: int = 1 << 20, defaults: Iterable[str] | None = None) -> bytes:
    """All corpora in one text."""
    return b"".join(slices_in_turn(bench, slice_bytes, defaults))


def english(bench: Bench) -> str:
    found = [name for name in names(bench) if name.startswith("en_") or name == SAMPLE]
    return b"".join(read(bench, name) for name in found).decode("utf-8", "ignore")


def limited(parts: Iterable[bytes], n_bytes: int) -> Iterator[bytes]:
    """The parts, up to a total of n_bytes; a character at the end may be cut."""
    for part in parts:
        yield part[:n_bytes]
        n_bytes -= len(part)
        if n_bytes <= 0:
            return


def repeated(text: bytes, n_bytes: int) -> Iterator[bytes]:
    return limited(chain.from_iterable(repeat(documents(text, 1 << 20))), n_bytes)


def random_slices(slices: list[bytes], n_bytes: int) -> Iterator[bytes]:
    """n_bytes of slices drawn at random, with a number before each; equal arguments give equal bytes."""
    draw = random.Random(1)
    return limited((b"\n%d " % k + draw.choice(slices) for k in count()), n_bytes)


def growing(bench: Bench, n_bytes: int, doc_bytes: int = 8000) -> Iterator[bytes]:
    """JSON lines of all corpora, repeated; each repetition permutes the vowels and consonants and so has new words."""
    docs = list(slices_in_turn(bench, doc_bytes))
    for seed in count():
        rng = random.Random(seed)
        swapped = "".join("".join(rng.sample(letters, len(letters))) for letters in (VOWELS, CONSONANTS))
        table = bytes.maketrans((VOWELS + CONSONANTS).encode(), swapped.encode()) if seed else None
        for line in json_lines(doc.translate(table).decode("utf-8", "replace") for doc in docs):
            yield line
            n_bytes -= len(line)
            if n_bytes <= 0:
                return


def json_lines(texts: Iterable[str], *, ensure_ascii: bool = False) -> Iterator[bytes]:
    for k, text in enumerate(texts):
        yield json.dumps({"id": str(k), "text": text}, ensure_ascii=ensure_ascii).encode() + b"\n"


def write_zst(path: Path, parts: Iterable[bytes], *, window_log: int = 0) -> int:
    """Write the parts as one zstd frame of level 3 without a content size; return their size."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=window_log)
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    with path.open("wb") as file, compressor.stream_writer(file) as writer:
        return sum(map(writer.write, parts))


def write_frames(path: Path, data: bytes, frame_bytes: int) -> Path:
    """Append the data to a file as zstd frames of frame_bytes each; empty data are one frame."""
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    with path.open("ab") as file:
        for at in range(0, max(1, len(data)), frame_bytes):
            file.write(compressor.compress(memoryview(data)[at : at + frame_bytes]))
    return path
