"""Unchanged checks that a regular file does not change between its discovery and the end of reading.

    found (size, time) ──▶ opened (size, time, links) ──▶ read ──▶ at the end: all unchanged, and all bytes read

Without this check, a file that shrinks, grows or is deleted while it is being read would appear complete. Pipes,
devices and URLs are not checked.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from pyunitok.errors import InputError

_AGAIN = "; run the command again when no program is writing to it"


class Unchanged:
    """Checks one open file, which has fileno(); `name` is for messages."""

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._name = name
        self._opened = self._status()

    @property
    def n_bytes(self) -> int:
        """The size of the file when it was opened; 0 if it is not a regular file."""
        return self._opened.st_size if self._opened is not None else 0

    def expect(self, n_bytes: int | None, mtime_ns: int | None) -> None:
        """Raise InputError unless the opened file has this size and time; None: unknown."""
        opened = self._opened
        if opened is None:
            return
        if n_bytes is not None and opened.st_size != n_bytes:
            raise self._changed(f"it had {n_bytes} bytes when it was found and {opened.st_size} when it was opened")
        if mtime_ns is not None and opened.st_mtime_ns != mtime_ns:
            raise self._changed("it was modified after it was found")

    def check(self, n_read: int | None = None) -> None:
        """Raise InputError if the file has changed since it was opened, or is longer than n_read bytes, where reading
        ended.
        """
        opened, now = self._opened, self._status()
        if opened is None or now is None:
            return
        if now.st_size != opened.st_size:
            raise self._changed(f"it had {opened.st_size} bytes when it was opened and has {now.st_size} now")
        if n_read is not None and n_read < opened.st_size:
            raise self._changed(f"it had {opened.st_size} bytes when it was opened and ended after {n_read}")
        if opened.st_nlink and not now.st_nlink:
            raise InputError(f"{self._name}: deleted or replaced while it was being read{_AGAIN}")
        if now.st_mtime_ns != opened.st_mtime_ns:
            raise self._changed("it was modified")

    def _status(self) -> os.stat_result | None:
        """The status of the file if it is a regular file, otherwise None."""
        try:
            status = os.fstat(self._file.fileno())
        except (OSError, ValueError, AttributeError):
            return None
        return status if stat.S_ISREG(status.st_mode) else None

    def _changed(self, how: str) -> InputError:
        return InputError(f"{self._name}: changed while it was being read: {how}{_AGAIN}")
