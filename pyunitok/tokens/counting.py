"""count_ids() counts how often each id occurs in a token file, on several threads, in constant memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pyunitok.model.batch import threads_or_cores

CHUNK_IDS = 1 << 20


def count_ids(
    ids: np.ndarray[Any, Any], *, threads: int | None = None, on_ids: Callable[[int], None] = lambda _: None
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How often each id occurs: int64[largest id + 1], or int64[65536] for uint16.

    Any thread may call on_ids, with the number of ids just counted. Each thread keeps its own counts, which take 8
    bytes for each id from 0 to the largest, and uses about 20 MiB more.
    """
    threads = threads_or_cores(threads)

    def part(k: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        sums = np.zeros(65536 if ids.dtype.itemsize == 2 else 0, np.int64)
        for begin in range(k * CHUNK_IDS, len(ids), threads * CHUNK_IDS):
            chunk = ids[begin : begin + CHUNK_IDS]
            counts = np.bincount(chunk, minlength=len(sums))
            counts[: len(sums)] += sums
            sums = counts
            on_ids(len(chunk))
        return sums

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(part, range(threads)))
    total = max(parts, key=len)
    for counts in parts:
        if counts is not total:
            total[: len(counts)] += counts
    return total
