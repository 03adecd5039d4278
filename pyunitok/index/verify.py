"""verify_index(): whether an index is whole: hashes, order, tables. Every file is read once; memory stays small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from pyunitok.disk.hashing import HASH_CHUNK_BYTES
from pyunitok.index.manifest import ShardRecord, shard_name
from pyunitok.index.shard import CHUNK, TOP_STEP, OpenIndex, Shard, top_of
from pyunitok.index.suffix import first_fault

MAX_FAULTS = 20


def verify_index(index: OpenIndex, *, on_bytes: Callable[[int], None] = lambda _: None) -> list[str]:
    """What is wrong with an open index, one sentence each, at most MAX_FAULTS; an empty list if nothing is.

    The order is checked in full: that each suffix array is the one suffix array of its tokens. That reads the tokens in
    random order, so it takes as long as sorting where they are not in memory.
    """
    faults = list[str]()
    for shard, record in zip(index.shards, index.manifest.shards, strict=True):
        for fault in _faults(index.folder, shard, record, on_bytes):
            faults.append(fault)
            if len(faults) == MAX_FAULTS:
                return faults
    return faults


def bytes_to_check(index: OpenIndex) -> int:
    """What on_bytes will have been told at the end."""
    return sum(array.nbytes for shard in index.shards for array in _arrays(shard).values())


def _arrays(shard: Shard) -> dict[str, np.ndarray[Any, Any]]:
    ret: dict[str, np.ndarray[Any, Any]] = {"ids": shard.ids, ".sa": shard.sa, ".first": shard.first, ".top": shard.top}
    return ret if shard.left is None else ret | {".left": shard.left}


def _faults(folder: Path, shard: Shard, record: ShardRecord, on_bytes: Callable[[int], None]) -> Iterator[str]:
    hashes_agree = True
    for suffix, array in _arrays(shard).items():
        for fault in _hash_faults(_name(folder, shard, suffix), array, record.hash.get(suffix), on_bytes):
            hashes_agree = False
            yield fault
    if not hashes_agree:
        return  # the order of damaged files says nothing new
    entry = first_fault(shard.ids, shard.rank, shard.sa, np.array(shard.first))
    if entry is not None:
        yield f"{_name(folder, shard, '.sa')}: not the suffix array of its tokens, entry {entry}"
        return
    if not np.array_equal(top_of(shard.ids, shard.sa, shard.rank), shard.top):
        yield f"{_name(folder, shard, '.top')}: not every {TOP_STEP}th suffix of its shard"
    if shard.left is not None:
        yield from _left_faults(_name(folder, shard, ".left"), shard, shard.left)


def _name(folder: Path, shard: Shard, suffix: str) -> str:
    return f"the tokens of shard {shard.number}" if suffix == "ids" else str(folder / shard_name(shard.number, suffix))


def _hash_faults(
    name: str, array: np.ndarray[Any, Any], expected: Any, on_bytes: Callable[[int], None]
) -> Iterator[str]:
    raw = array.view(np.uint8)
    n_chunks = -(-len(raw) // HASH_CHUNK_BYTES)
    if not isinstance(expected, list) or len(expected) != n_chunks:
        yield f"{name}: the manifest does not have a hash for each of its {n_chunks} chunks"
        return
    for k in range(n_chunks):
        part = raw[k * HASH_CHUNK_BYTES : (k + 1) * HASH_CHUNK_BYTES]
        found = xxhash.xxh64_hexdigest(part.data)
        if found != expected[k]:
            begin = k * HASH_CHUNK_BYTES
            yield f"{name}: bytes {begin} to {begin + len(part)} are not what was written (XXH64 {found})"
        on_bytes(len(part))


def _left_faults(name: str, shard: Shard, left: np.ndarray[Any, Any]) -> Iterator[str]:
    for at in range(0, len(left), CHUNK):
        before = shard.ids[shard.sa[at : at + CHUNK].astype(np.int64) - 1]
        wrong = np.flatnonzero(before != left[at : at + CHUNK])
        if len(wrong):
            yield f"{name}: entry {at + int(wrong[0])} is not the token before its suffix"
            return
