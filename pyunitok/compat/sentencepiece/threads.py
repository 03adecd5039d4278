"""ThreadPool, and the arguments num_threads and thread_pool."""

from __future__ import annotations

from typing import Any

from pyunitok.compat.sentencepiece.arguments import number
from pyunitok.model.batch import available_cores

_THREADS_MAX = 1024


class ThreadPool:
    """A number of threads to pass as thread_pool; a negative number means one per core. Threads start on use."""

    def __init__(self, num_threads: int) -> None:
        n = number(num_threads, "num_threads")
        self._n = max(1, min(available_cores() if n < 0 else n, _THREADS_MAX))

    def num_threads(self) -> int:
        return self._n


def threads_of(num_threads: Any, thread_pool: Any) -> int:
    """The number of threads to use; negative: automatic. TypeError for a non-integer, RuntimeError for another pool."""
    if not isinstance(num_threads, int):
        raise TypeError("num_threads must be int")
    if thread_pool is None:
        return int(num_threads)
    if not isinstance(thread_pool, ThreadPool):
        raise RuntimeError(f"thread_pool must be a ThreadPool, not {type(thread_pool).__name__}")
    return thread_pool.num_threads()
