"""Runs pyunitok on a Ray cluster: tokenize(), index(), and TokenizeBatch for Ray Data.

Requires `pip install 'pyunitok[ray]'` on this machine and on all machines of the cluster.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pyunitok import job
from pyunitok.index.build import build_index
from pyunitok.index.manifest import IndexManifest
from pyunitok.index.plan import Limits
from pyunitok.tokens.manifest import Manifest
from pyunitok.tokens.model import Model, open_model


def tokenize(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], out: str | os.PathLike[str],
    model: Model = None, *, address: str = "auto", **options: Any,
) -> Manifest:  # fmt: skip
    """pyunitok.tokenize() on a Ray cluster; the output is byte-identical.

    inputs   files, directories, patterns or URLs; all machines must see them
    out      a path on a file system that all machines see; the parts are in OUT.parts until they are joined
    address  the address of the cluster; "auto": the cluster of this machine; "local": start one here
    options  other options of pyunitok.tokenize(); `threads` is per task, by default 1

    Repeating the call resumes an interrupted run. Raises UnitokError if there is no cluster, or if the same unit of
    work is lost too often; other errors are those of pyunitok.tokenize().

        manifest = pyunitok.ray.tokenize("/shared/crawl/", "/shared/ids.u16", metadata=True)
    """
    return job.tokenize(inputs, out, model, ray=address, **options)


def index(
    paths: Sequence[str | os.PathLike[str]], folder: str | os.PathLike[str], *, address: str = "auto",
    limits: Limits | None = None, **options: Any,
) -> IndexManifest:  # fmt: skip
    """pyunitok.build_index() on a Ray cluster, with one task per shard. Returns the manifest.

    All machines must see the token files and `folder` at the same paths. A task uses one core and 6.2 bytes of memory
    per token of its shard: choose `limits`, or max_memory_bytes and shard_tokens, to fit the machines.
    """
    if limits is not None:
        options |= {"max_memory_bytes": limits.max_memory, "shard_tokens": limits.shard_tokens}
    return build_index(paths, folder, ray=address, **options)


class TokenizeBatch:
    """For ray.data.Dataset.map_batches: encodes the texts of column `column` as arrays in column `ids`.

    Opens the model once per actor. With eod=True, each document ends with the model's eod. Raises TypeError if a text
    is null.

        ds = ray.data.read_parquet("/shared/corpus/")
        ds = ds.map_batches(pyunitok.ray.TokenizeBatch, fn_constructor_kwargs={"model": "m.model"}, concurrency=8)
    """

    def __init__(self, model: Model = None, column: str = "text", ids: str = "ids", *, eod: bool = False) -> None:
        self._tokenizer = open_model(model)
        self._column, self._ids = column, ids
        self._eod = np.array([self._tokenizer.eod_id] if eod else [], self._tokenizer.dtype)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        packed = self._tokenizer.encode_batch(list(batch[self._column]), threads=1)
        rows = np.empty(len(packed), object)
        for k in range(len(packed)):
            rows[k] = np.concatenate((packed[k], self._eod))
        return {**batch, self._ids: rows}
