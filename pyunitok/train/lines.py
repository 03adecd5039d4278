"""Reads lines to train on, or a sample of lines, from files or an iterator, as packed documents for a Segmenter.

A batch is (data, offsets), a packed list of documents. A file is read in large blocks of complete lines, one
document each. Each item of an iterator is a document, so it may contain newlines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.errors import TrainingError
from pyunitok.packed import Bytes, Offsets, Packed

Batch = tuple[Bytes, Offsets]
FILE_BLOCK_BYTES = 4 << 20
BATCH_ITEMS = 4096
RESERVED = "\u2585".encode()


def from_files(paths: Sequence[str | bytes]) -> Iterator[Batch]:
    """Blocks of complete lines. Raises TrainingError if a file cannot be read."""
    for path in map(os.fsdecode, paths):
        rest = b""
        try:
            with Path(path).open("rb") as file:
                while block := file.read(FILE_BLOCK_BYTES):
                    block = rest + block
                    end = block.rfind(b"\n") + 1
                    rest = block[end:]
                    if end:
                        yield _one(block[:end])
        except OSError as error:
            raise TrainingError(f"{path}: cannot be read: {error.strerror}") from error
        if rest:
            yield _one(rest)


def from_iterator(items: Iterable[str | bytes]) -> Iterator[Batch]:
    """Each item is a line; trailing line ends are dropped."""
    return batched(as_text(item).rstrip(b"\r\n") for item in items)


def as_text(item: Any) -> bytes:
    """The item as bytes. Raises TypeError unless it is str or bytes."""
    if isinstance(item, str):
        item = item.encode()
    if not isinstance(item, bytes):
        raise TypeError(f"an iterator of texts returned {type(item).__name__}; expected str or bytes")
    return item


def batched(items: Iterable[str | bytes], n: int = BATCH_ITEMS) -> Iterator[Batch]:
    """Batches of n items each; the last may be smaller."""
    iterator = iter(items)
    while batch := list(islice(iterator, n)):
        packed = Packed.from_documents(batch)
        yield packed.data, packed.offsets


def _one(text: bytes) -> Batch:
    return np.frombuffer(text, np.uint8), np.array([0, len(text)], np.int64)


def split(batches: Iterable[Batch], *, whole: bool) -> Iterator[bytes]:
    """The lines in the batches, one by one. whole: each document is a line."""
    for data, offsets in batches:
        text, bounds = data.tobytes(), offsets.tolist()
        for begin, end in pairwise(bounds):
            if whole:
                yield text[begin:end]
            else:
                yield from text[begin:end].removesuffix(b"\n").split(b"\n")


def usable(max_line_bytes: int, *, tsv: bool) -> Callable[[bytes], bool]:
    """A function that tells whether a line can be used for training; sentencepiece samples from such lines."""

    def test(line: bytes) -> bool:
        text = line.split(b"\t")[0] if tsv else line
        return 0 < len(text) <= max_line_bytes and RESERVED not in text

    return test


def sample(lines: Iterable[bytes], n: int, seed: int, test: Callable[[bytes], bool]) -> list[bytes]:
    """A sample of n lines that pass the test, in order. The choice depends only on the seed and the line numbers.

    Each line gets a random number that depends on the seed and the line number; the lines with the n smallest numbers
    are chosen. At most 2 n lines are in memory.
    """
    kept: list[tuple[int, int, bytes]] = []
    limit = 1 << 64
    for number, line in enumerate(line for line in lines if test(line)):
        mark = _mix(seed * 0x9E3779B97F4A7C15 + number + 1)
        if mark < limit:
            kept.append((mark, number, line))
            if len(kept) >= 2 * n:
                kept.sort()
                del kept[n:]
                limit = kept[-1][0]
    kept.sort()
    return [line for _, _, line in sorted(kept[:n], key=lambda item: item[1])]


def _mix(z: int) -> int:
    """SplitMix64's output function: see csrc/ground/rng.h."""
    mask = (1 << 64) - 1
    z = z * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31
