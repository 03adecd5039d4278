"""Defines ThreadPool, and interprets the arguments num_threads and thread_pool."""

from __future__ import annotations

from typing import Any

from pyunitok.compat.sentencepiece.arguments import number
from pyunitok.model.batch import available_cores

_THREADS_MAX = 1024


class ThreadPool:
    """A number of threads, for the argument thread_pool; negative: one per core. Starts no threads itself."""

    def __init__(self, num_threads: int) -> None:
        n = number(num_threads, "num_threads")
        self._n = max(1, min(available_cores() if n < 0 else n, _THREADS_MAX))

    def num_threads(self) -> int:
        return self._n


def threads_of(num_threads: Any, thread_pool: Any) -> int:
    """The number of threads; negative: automatic. Raises TypeError or RuntimeError if an argument has the wrong
    type."""
    if not isinstance(num_threads, int):
        raise TypeError("num_threads must be int")
    if thread_pool is None:
        return int(num_threads)
    if not isinstance(thread_pool, ThreadPool):
        raise RuntimeError(f"thread_pool must be a ThreadPool, not {type(thread_pool).__name__}")
    return thread_pool.num_threads()
