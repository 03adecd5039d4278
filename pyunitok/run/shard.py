"""Divides a run into n shards: contiguous ranges of its inputs, one for each machine or job. merge.py joins them.

    inputs     [ a | b | c | d | e | f ]      in reading order; widths are sizes
    shards     [   0   |   1   |   2   ]      an input belongs to the shard that contains its middle; some may be empty
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import xxhash

from pyunitok.corpus.source import Source
from pyunitok.errors import InputError

SHARD_OPTIONS = ("shard", "inputs of all shards")


@dataclass(frozen=True)
class RunShard:
    """One of `count` parts of a run.

    index        from 0
    first_input  the number of this part's first input in the undivided run
    all_inputs   XXH64 of the paths and sizes of all inputs of the run; equal in all its shards
    range        where this part's only input begins and ends in its file, in bytes; None: the inputs are complete files
    """

    index: int
    count: int
    first_input: int
    all_inputs: str
    range: tuple[int, int | None] | None = None

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def options(self) -> dict[str, str]:
        """The options that distinguish this part from others and from the undivided run."""
        return dict(zip(SHARD_OPTIONS, (str(self), self.all_inputs), strict=True))


def take(sources: Sequence[Source], index: int, count: int) -> tuple[list[Source], RunShard]:
    """The inputs of shard `index` of `count`, which may have none. The choice depends only on the names and sizes of
    all inputs.

    Raises InputError if the size of an input is unknown, as for a pipe.
    """
    sizes = []
    for source in sources:
        if source.size_bytes is None:
            raise InputError(f"{source.name}: a pipe cannot be divided into shards")
        sizes.append(source.size_bytes)
    listed = json.dumps([[source.path, source.size_bytes, source.format] for source in sources])
    begin, end = ranges(sizes, count)[index]
    return list(sources[begin:end]), RunShard(index, count, begin, xxhash.xxh64_hexdigest(listed.encode()))


def ranges(sizes: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Where each of `count` shards begins and ends among inputs of these sizes."""
    weights = [size + 1 for size in sizes]  # so that empty files are distributed too
    total, before = sum(weights), 0
    bounds = [0] * (count + 1)
    for weight in weights:
        bounds[(2 * before + weight) * count // (2 * total) + 1] += 1
        before += weight
    for k in range(count):
        bounds[k + 1] += bounds[k]
    return list(pairwise(bounds))


def shard_suffix(index: int, count: int) -> str:
    """The suffix .i-of-n for OUT, padded with zeros so that names sort in the order of the shards."""
    return f".{index:0{len(str(count - 1))}}-of-{count}"
