"""RangeCache is a seekable file that keeps one range of its bytes in memory."""

from __future__ import annotations

from typing import Any, BinaryIO

from pyunitok.disk.remote import SeekableFile


class RangeCache(SeekableFile):
    """A seekable file that serves the range read by load() from memory."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file.seek(0, 2))
        self._file = file
        self._begin, self._loaded = 0, b""

    def load(self, begin: int, end: int) -> None:
        """Read bytes begin..end-1 and cache them until the next call."""
        self._loaded = b""
        self._file.seek(begin)
        self._begin, self._loaded = begin, self._file.read(max(0, end - begin))

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer unless the file ends first, because pyarrow treats a short read as the end."""
        view, inside, n = memoryview(buffer), self._at - self._begin, 0
        if 0 <= inside < len(self._loaded):
            n = min(len(view), len(self._loaded) - inside)
            view[:n] = memoryview(self._loaded)[inside : inside + n]
        if n < len(view):
            self._file.seek(self._at + n)
            rest = self._file.read(len(view) - n)
            view[n : n + len(rest)] = rest
            n += len(rest)
        self._at += n
        return n

    def close(self) -> None:
        self._file.close()
        super().close()
