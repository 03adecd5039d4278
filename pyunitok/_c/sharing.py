"""share_out() shares work among threads, including the calling thread."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 1.0  # how long to wait for each of the other threads after an exception


def share_out(
    items: Iterable[T], threads: int, work: Callable[[int, T], None], tick: Callable[[], None] = lambda: None
) -> None:
    """Call work(thread, item) for every item, in any order.

    The calling thread is number 0. It iterates over the items, takes a share of the work, and calls tick between items.
    Raises the first exception, after waiting for the other threads for a limited time.
    """
    waiting: queue.Queue[T | None] = queue.Queue(2 * threads)
    errors: list[BaseException] = []

    def run(thread: int) -> None:
        while (item := waiting.get()) is not None:
            try:
                if not errors:
                    work(thread, item)
            except BaseException as error:
                errors.append(error)

    others = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(1, threads)]
    for thread in others:
        thread.start()
    try:
        for item in items:
            if errors:
                break
            try:
                if not others:
                    raise queue.Full
                waiting.put_nowait(item)
            except queue.Full:
                work(0, item)
            tick()
        with contextlib.suppress(queue.Empty):  # if there are only a few items, all of them may still be queued
            while others and not errors:
                work(0, waiting.get_nowait())  # type: ignore[arg-type]
                tick()
    except BaseException as error:
        errors.append(error)
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()
    for _ in others:
        waiting.put(None)
    for thread in others:
        thread.join(PATIENCE_S if errors else None)
    if errors:
        raise errors[0]
