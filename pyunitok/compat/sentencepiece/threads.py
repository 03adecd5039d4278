"""ThreadPool, and what numbers of threads mean."""

from __future__ import annotations

from typing import Any

from pyunitok.compat.sentencepiece.arguments import number
from pyunitok.model.batch import available_cores

_THREADS_MAX = 1024


class ThreadPool:
    """A number of threads, to be passed as thread_pool=; below 0: one for each core. They start when they are used."""

    def __init__(self, num_threads: int) -> None:
        n = number(num_threads, "num_threads")
        self._n = max(1, min(available_cores() if n < 0 else n, _THREADS_MAX))

    def num_threads(self) -> int:
        return self._n


def threads_of(num_threads: Any, thread_pool: Any) -> int:
    """How many threads to use; below 0: as many as are worthwhile. TypeError for another number, RuntimeError for
    another pool."""
    if not isinstance(num_threads, int):
        raise TypeError("num_threads must be int")
    if thread_pool is None:
        return int(num_threads)
    if not isinstance(thread_pool, ThreadPool):
        raise RuntimeError(f"thread_pool must be a ThreadPool, not {type(thread_pool).__name__}")
    return thread_pool.num_threads()
