"""The texts that benchmarks measure: real corpora, the sample in tests/data, all of them mixed, and generated ones."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterable, Iterator
from itertools import count, cycle
from pathlib import Path

import click
import zstandard
from bench_timing import ROOT, Bench

SAMPLE = "sample"  # always available
N_FILES = 4
VOWELS = "aeiou"
CONSONANTS = "".join(sorted(set(string.ascii_lowercase) - set(VOWELS)))


def names(bench: Bench, defaults: Iterable[str] | None = None) -> list[str]:
    """--corpora; otherwise the defaults that exist, or all corpora; the sample if there are none."""
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


def mixed(bench: Bench, slice_bytes: int = 1 << 20, defaults: Iterable[str] | None = None) -> bytes:
    """All corpora in one text: a slice of each in turn until all are used up."""
    slices = [iter(documents(read(bench, name), slice_bytes)) for name in names(bench, defaults)]
    parts: list[bytes] = []
    while slices:
        for corpus in list(slices):
            part = next(corpus, None)
            if part is None:
                slices.remove(corpus)
            else:
                parts.append(part)
    return b"".join(parts)


def english(bench: Bench) -> str:
    found = [name for name in names(bench) if name.startswith("en_") or name == SAMPLE]
    return b"".join(read(bench, name) for name in found).decode("utf-8", "ignore")


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


def write_zst(path: Path, text: bytes, n_bytes: int, *, window_log: int = 0) -> Path:
    """Write n_bytes of `text`, repeated, as one zstd frame of level 3 without a content size."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=window_log)
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    with path.open("wb") as file, compressor.stream_writer(file) as writer:
        for part in cycle(documents(text, 1 << 20)):
            writer.write(part[:n_bytes])
            n_bytes -= len(part)
            if n_bytes <= 0:
                return path
    raise AssertionError


def write_frames(path: Path, data: bytes, frame_bytes: int) -> Path:
    """Write the data as zstd frames of frame_bytes each; an empty file is one frame."""
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    with path.open("ab") as file:
        for at in range(0, max(1, len(data)), frame_bytes):
            file.write(compressor.compress(memoryview(data)[at : at + frame_bytes]))
    return path


def json_lines(texts: Iterable[str], *, ensure_ascii: bool = False) -> Iterator[bytes]:
    for k, text in enumerate(texts):
        yield json.dumps({"id": str(k), "text": text}, ensure_ascii=ensure_ascii).encode() + b"\n"


def random_slices(slices: list[bytes], n_bytes: int) -> Iterator[bytes]:
    """n_bytes of slices drawn at random, with a number before each; the same for the same arguments."""
    draw = random.Random(1)
    for k in count():
        part = b"\n%d " % k + draw.choice(slices)
        if len(part) >= n_bytes:
            yield b"x" * n_bytes  # a slice could end within a character
            return
        yield part
        n_bytes -= len(part)


def write_growing(path: Path, bench: Bench, n_bytes: int) -> int:
    """Write JSON lines of all corpora, repeated, each time with other vowels and consonants, so that new words keep
    coming; return their size."""
    texts, n_written = [read(bench, name) for name in names(bench)], 0
    with path.open("wb") as file, zstandard.ZstdCompressor(level=3).stream_writer(file) as writer:
        for seed in count():
            rng = random.Random(seed)
            swapped = "".join("".join(rng.sample(letters, len(letters))) for letters in (VOWELS, CONSONANTS))
            table = bytes.maketrans((VOWELS + CONSONANTS).encode(), swapped.encode()) if seed else None
            for line in json_lines(_in_turn(texts, table)):
                writer.write(line)
                n_written += len(line)
                if n_written >= n_bytes:
                    return n_written
    raise AssertionError


def _in_turn(texts: list[bytes], table: bytes | None, doc_bytes: int = 8000) -> Iterator[str]:
    """Documents that end with a line, of each text in turn."""
    places = dict.fromkeys(range(len(texts)), 0)
    while places:
        for k, at in list(places.items()):
            end = texts[k].find(b"\n", at + doc_bytes) + 1 or len(texts[k])
            yield texts[k][at:end].translate(table).decode("utf-8", "replace")
            if end == len(texts[k]):
                del places[k]
            else:
                places[k] = end
