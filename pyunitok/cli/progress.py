"""Shows progress bars, only on a terminal. Meter also measures the duration of a command.

    tokenizing  37%|██████████            | 1.23G/3.30G, 05:12 left, text 104 MB/s
                                            ^ bytes of the files     ^ decompressed
"""

from __future__ import annotations

import os
import sys
import time
from shutil import get_terminal_size
from threading import Lock
from typing import Any, TypeVar

from pyunitok.run.plan import Progress

_Meter = TypeVar("_Meter", bound="Meter")

WITH_TOTAL = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{postfix}"
NARROW = "{desc} {percentage:3.0f}%{postfix}"
WITHOUT_TOTAL = "{desc} {n_fmt}{postfix}"
NARROW_COLUMNS = 64  # narrower terminals show the rate and the time left, but no bar
WIDE_COLUMNS = 100  # wider terminals also show bytes per token
BYTE_PHASES = {  # phases of training and editing that report progress in bytes
    "count", "count n-grams", "count pieces", "read", "grow", "refine", "settle", "words", "uses", "texts",
}  # fmt: skip


class Meter:
    """A context manager that shows progress. `what` names the data whose rate is shown.

    The rate and the remaining time exclude the work of an earlier run; begin() receives the amount of that work.
    """

    def __init__(self, label: str, what: str = "text") -> None:
        self._label, self._what = label, what
        self._started = time.monotonic()
        self._before, self._compressed_before = 0, 0
        self._bar: Any = None
        self.seconds = 0.0

    def __enter__(self: _Meter) -> _Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, start: Any) -> None:
        """Start the clock. The job calls this through plan.Callbacks."""
        self._started = time.monotonic()
        self._before, self._compressed_before = start.bytes, start.compressed

    def close(self) -> None:
        """Clear the bar and stop the clock; a second call does nothing."""
        self.seconds = self.seconds or time.monotonic() - self._started
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def show(self, progress: Any) -> None:
        """Update the bar from a plan.Progress. tqdm limits how often it redraws."""
        if not sys.stderr.isatty():
            return
        total = progress.compressed_total
        if self._bar is None:
            self._bar = make_bar(
                total=total, initial=self._compressed_before, desc=self._label, unit="B", unit_scale=True
            )
        columns, lines = terminal_size()
        self._bar.ncols, self._bar.nrows = columns - 1, lines - 1  # the window may have been resized
        seconds = max(time.monotonic() - self._started, 1e-9)
        text = f"{self._what} {(progress.bytes - self._before) / seconds / 1e6:.0f} MB/s"
        if total is None:
            self._bar.bar_format, text = WITHOUT_TOTAL, f"{_clock(seconds)} so far, {text}"
        else:
            self._bar.bar_format = WITH_TOTAL if columns >= NARROW_COLUMNS else NARROW
            text = f"{self._left(seconds, progress.compressed, total)} left, {text}"
        if progress.tokens and columns >= WIDE_COLUMNS:
            text += f", {progress.text_bytes / progress.tokens:.2f} bytes/token"
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(progress.compressed - self._bar.n)

    def _left(self, seconds: float, done: int, total: int) -> str:
        """Estimate the time left from the mean rate of this run; tqdm would include the work of the earlier run."""
        new = done - self._compressed_before
        return _clock(seconds * (total - done) / new) if new > 0 else "?"


class ByteMeter(Meter):
    """A Meter that counts bytes. Several threads may call add()."""

    def __init__(self, label: str, total: int | None, what: str = "text") -> None:
        super().__init__(label, what)
        self.progress = Progress(compressed_total=total)
        self._adding = Lock()

    def add(self, n_bytes: int) -> None:
        with self._adding:
            self.progress.bytes += n_bytes
            self.progress.compressed += n_bytes
            self.show(self.progress)


def make_bar(**options: Any) -> Any:
    """Make a tqdm bar that clears itself when closed. Passes the terminal's size to tqdm, which shows nothing if it
    detects a width of 0 columns."""
    from tqdm import tqdm

    columns, lines = terminal_size()
    return tqdm(ncols=columns - 1, nrows=lines - 1, leave=False, delay=0.5, **options)


def terminal_size() -> tuple[int, int]:
    """Return columns and lines; 80 and 24 if the terminal reports 0, as serial consoles and some containers do."""
    try:
        columns, lines = os.get_terminal_size(sys.stderr.fileno())  # stdout may be a file
    except OSError:
        columns = lines = 0
    columns, lines = get_terminal_size((columns, lines))  # $COLUMNS and $LINES take precedence
    return columns or 80, lines or 24


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


class PhaseBar:
    """Shows the current phase of training or editing, and its progress."""

    def __enter__(self) -> PhaseBar:
        self._phase, self._shown = "", 0.0
        self._bar: Any = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, phase: str, done: int, total: int) -> None:
        """Update the bar. This is a callback of type train.trained.Progress."""
        now = time.monotonic()
        if phase == self._phase and now - self._shown < 0.1:
            return
        self._shown = now
        if phase != self._phase:
            self.__exit__()
            unit, scale = ("B", True) if phase.partition(",")[0] in BYTE_PHASES else ("", False)
            self._bar = make_bar(desc=phase, total=total or None, unit=unit, unit_scale=scale, disable=None)
            self._phase = phase
        self._bar.update(done - self._bar.n)
