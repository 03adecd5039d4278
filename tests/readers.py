"""Reads the files of other tools according to the published layouts, which the README describes.

Each function reads a folder and returns the documents as lists of ids, and some also return other contents.
"""

from __future__ import annotations

import csv
import gzip
import json
import struct
from itertools import chain, pairwise
from pathlib import Path

import numpy as np


def megatron(folder: Path, name: str) -> list[list[int]]:
    """Read NAME.bin and NAME.idx as IndexedDataset does: sequences, grouped into documents."""
    idx, tokens = (folder / f"{name}.idx").read_bytes(), (folder / f"{name}.bin").read_bytes()
    magic, version, code, n, n_ends = struct.unpack_from("<9sQBQQ", idx)
    assert (magic, version) == (b"MMIDIDX\0\0", 1)
    dtype = {8: "<u2", 4: "<i4"}[code]
    lengths = struct.unpack_from(f"<{n}i", idx, 34)
    pointers = struct.unpack_from(f"<{n}q", idx, 34 + 4 * n)
    ends = struct.unpack_from(f"<{n_ends}q", idx, 34 + 12 * n)
    assert len(idx) == 34 + 12 * n + 8 * n_ends
    sequences = [np.frombuffer(tokens, dtype, k, at).tolist() for k, at in zip(lengths, pointers, strict=True)]
    assert sum(map(len, sequences)) * np.dtype(dtype).itemsize == len(tokens)
    assert ends[0] == 0 and ends[-1] == n
    return [list(chain.from_iterable(sequences[a:b])) for a, b in pairwise(ends)]


def nanogpt(folder: Path) -> tuple[list[int], list[int]]:
    """The ids of train.bin and val.bin, read with np.memmap as in train.py."""

    def read(name: str) -> list[int]:
        path = folder / name
        return np.memmap(path, dtype=np.uint16, mode="r").tolist() if path.exists() and path.stat().st_size else []

    return read("train.bin"), read("val.bin")


def llmc(folder: Path, name: str) -> list[list[int]]:
    """The ids of each shard. Checks the header and the size of each file as llm.c's dataloader.h does."""
    shards = []
    for path in sorted(folder.glob(f"{name}_*.bin")):
        data = path.read_bytes()
        header = struct.unpack_from("<256i", data)
        dtype = {(20240520, 1): "<u2", (20240801, 7): "<u4"}[header[0], header[1]]
        assert header[3:] == (0,) * 253
        assert len(data) == 1024 + header[2] * np.dtype(dtype).itemsize
        shards.append(np.frombuffer(data, dtype, offset=1024).tolist())
    return shards


def datatrove(folder: Path, name: str) -> tuple[list[list[int]], list[str]]:
    """The documents of a .ds file and its .index, and the lines of its .metadata."""
    base = folder / f"{name}_00000_unshuffled.ds"
    lines = Path(f"{base}.metadata").read_text().split("\n")
    dtype = {"2": "<u2", "4": "<u4"}[lines[0].rpartition("|")[2]]
    ids = np.fromfile(base, dtype).tolist()
    ends = np.fromfile(f"{base}.index", "<u8").tolist()
    assert not ids or ends[-1] == len(ids)
    return [ids[a:b] for a, b in pairwise([0, *ends])], lines


def dolma(folder: Path, name: str, dtype: str) -> tuple[list[list[int]], list[list[str]]]:
    """The documents of a headerless .npy, cut according to its .csv.gz, and the rows of the .csv.gz."""
    ids = np.fromfile(folder / f"{name}.npy", dtype).tolist()
    with gzip.open(folder / f"{name}.csv.gz", "rt", newline="") as file:
        rows = list(csv.reader(file))
    return [ids[int(row[0]) : int(row[1])] for row in rows], rows


def infini_gram(folder: Path, shards: int, dtype: str) -> tuple[list[list[int]], list[dict]]:
    """The documents and their metadata, located by offset.N and metaoff.N as in the engine."""
    docs, lines = [], []
    separator = np.iinfo(dtype).max
    for k in range(shards):
        tokens = (folder / f"tokenized.{k}").read_bytes()
        starts = [*np.fromfile(folder / f"offset.{k}", "<u8").tolist(), len(tokens)]
        for a, b in pairwise(starts):
            doc = np.frombuffer(tokens[a:b], dtype).tolist()
            assert doc[0] == separator and separator not in doc[1:]
            docs.append(doc[1:])
        text = (folder / f"metadata.{k}").read_bytes()
        starts = [*np.fromfile(folder / f"metaoff.{k}", "<u8").tolist(), len(text)]
        lines += [json.loads(text[a:b]) for a, b in pairwise(starts)]
    return docs, lines


def false_separators(ids: list[int]) -> int:
    """The number of odd byte positions in one document of uint16 ids at which the bytes are FF FF."""
    data = np.array(ids, "<u2").tobytes()
    return sum(data[k : k + 2] == b"\xff\xff" for k in range(1, len(data) - 1, 2))
