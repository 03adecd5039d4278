"""Builds indexes in memory from lists of ids, and writes the ids as token files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import pyunitok
from pyunitok import Tokenizer
from pyunitok.index import opened
from pyunitok.index.compact import compacted
from pyunitok.index.manifest import IndexedFile, IndexManifest, ShardRecord
from pyunitok.index.opening import OpenIndex
from pyunitok.index.order import byte_rank
from pyunitok.index.shard import IndexShard, n_ids
from pyunitok.index.suffix import suffix_array
from toys import tokenfiles

kind = "suffix array"  # the kind of shards that make() returns; the fixture both_kinds also sets "compact"
dtype = "<u2"  # the type of ids in token files; both_kinds also sets "<u4"


def contents(folder: Path) -> dict[str, bytes]:
    """All files of an index, without the date in the manifest."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    files["index.json"] = json.dumps(json.loads(files["index.json"]) | {"created": ""}).encode()
    return files


def encode(tokenizer: Tokenizer, documents: list[bytes]) -> list[list[int]]:
    return [tokenizer.encode(document).tolist() for document in documents]


def make(
    folder: Path, tokenizer: Tokenizer, files: list[list[list[int]]], *, eod: int | None, order: str = "bytes",
    left: bool = True, documents_per_shard: int = 1 << 30, inputs: Any = None, index: type[Any] = opened.Index,
) -> Any:  # fmt: skip
    """An open Index over token files, one for each list of documents."""
    rank = byte_rank(tokenizer, n_ids(np.dtype(dtype))) if order == "bytes" else None
    arrays, shards, records = [], [], []
    for k, documents in enumerate(files):
        path = folder / f"tokens{k}.u16"
        tokenfiles.write(path, documents, eod=eod, dtype=dtype, inputs=inputs)
        array = pyunitok.open(path)
        array._tokenizer = tokenizer
        arrays.append(array)
        ends = array.ends
        for first in range(0, len(documents), documents_per_shard):
            last = min(first + documents_per_shard, len(documents))
            begin, end = int(ends[first - 1]) if first else 0, int(ends[last - 1])
            if begin == end:  # `pyunitok index` also skips empty shards
                continue
            ids = np.ascontiguousarray(array.ids[begin:end])
            made = IndexShard.from_arrays(ids, suffix_array(ids, rank=rank), rank=rank, left=left)
            made.ends, made.begin, made.first_document = ends[first:last], begin, first
            made.file, made.number = k, len(shards)
            shards.append(compacted(made, locate_every=4, extract_every=5) if kind == "compact" else made)
            records.append(ShardRecord(k, first, last - first, begin, end - begin))
    indexed = [IndexedFile(str(array.path), len(array.ids), len(array)) for array in arrays]
    manifest = IndexManifest(order=order, left=left, model={}, eod=eod, files=indexed, shards=records, dtype=dtype)
    return index(OpenIndex(folder, manifest, arrays, shards))
