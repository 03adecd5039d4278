"""Pushback is a stream to which bytes can be returned after they have been read."""

from __future__ import annotations

from pyunitok.corpus.block import ByteStream


class Pushback:
    """Wraps a ByteStream; unread() puts bytes back."""

    def __init__(self, stream: ByteStream) -> None:
        self.name = stream.name
        self.compressed_position, self.close = stream.compressed_position, stream.close
        self._stream = stream
        self._held = memoryview(bytearray())  # _held[_begin:] precedes the rest of the stream
        self._begin = 0
        self._has_ended = False  # whether the stream has ended

    @property
    def at_end(self) -> bool:
        """Whether a read has reached the end and no returned bytes are left."""
        return self._has_ended and self._begin == len(self._held)

    def readinto(self, buffer: memoryview) -> int:
        n = min(len(buffer), len(self._held) - self._begin)
        buffer[:n] = self._held[self._begin : self._begin + n]
        self._begin += n
        if n < len(buffer) and not self._has_ended:
            n_read = self._stream.readinto(buffer[n:])
            self._has_ended = n_read < len(buffer) - n
            n += n_read
        return n

    def unread(self, data: memoryview | bytearray) -> None:
        """Put back bytes that have just been read, so that they are read again."""
        if len(data) > self._begin:
            held = memoryview(bytearray(len(data) + len(self._held) - self._begin))
            held[len(data) :] = self._held[self._begin :]
            self._held, self._begin = held, len(data)
        self._begin -= len(data)
        self._held[self._begin : self._begin + len(data)] = data
