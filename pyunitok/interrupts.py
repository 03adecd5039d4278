"""Interrupts delays SIGINT and SIGTERM during work that must not be interrupted."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


class Interrupts:
    """A context manager. Signals are delayed within held(); elsewhere their handlers run immediately, as usual.

    Only the main thread receives signals, so Interrupts does nothing in other threads.
    """

    def __init__(self) -> None:
        self._held = False
        self._waiting: list[int] = []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if callable(handler):  # the default handler ends the process immediately
                    self._handlers[number] = handler
                    signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Delay signals until the end of this context."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            if self._waiting:
                number = self._waiting.pop(0)
                self._handlers[number](number, None)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._held:
            self._waiting.append(number)
        else:
            self._handlers[number](number, frame)
