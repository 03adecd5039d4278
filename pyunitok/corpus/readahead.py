"""ReadAhead and ReadAheadStream let idle threads decompress ahead of the reader.

    producer (one thread at a time)          idle threads                 reader (holds the reading turn)
    reads the file, finds frames   ──▶ queue: │ done │ running │ waiting │ ──▶ copies from the first chunk when done

A producer turns a file into chunks, in order. A chunk contains bytes, or the work that produces them: decompressing
complete zstd frames, which are independent of each other. While memory allows, an idle thread takes the first waiting
chunk; if there is none, it runs the producer; if that is not possible, it opens the next file. The reader gets the
bytes in order.

Memory: limit_bytes for unread chunks, plus one chunk.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pyunitok.corpus.block import ByteStream
from pyunitok.errors import InputError

Task = Callable[[], None]
Bytes = bytes | memoryview

MIN_CHUNK_COST = 1 << 14  # the memory of the Python objects of a chunk
STREAM_BYTES = 1 << 20  # bytes decompressed at a time if a file is one stream
ENOUGH_CHUNKS = 3  # see enough_bytes in ReadAhead
MAX_SPARE_BYTES = 16 << 20  # total size of buffers kept for reuse


@dataclass(eq=False)
class Chunk:
    """Some bytes of a file's text, or the work that produces them.

    cost      bytes of memory that the chunk uses or will use
    frame_at  offset of its first frame in the file; None if the chunk continues a frame
    data      set when the work is done
    work      returns (data, an error that follows the data or None, buffer); None once a thread has taken it
    error     raised after the data has been read
    buffer    a reusable buffer that holds the data, or None
    """

    cost: int
    frame_at: int | None = None
    data: Bytes | None = None
    work: Callable[[], tuple[Bytes, InputError | None, bytearray | None]] | None = None
    error: BaseException | None = None
    buffer: bytearray | None = None


class Producer(Protocol):
    """Turns a file into chunks. One thread at a time calls it."""

    def produce(self, spare: list[bytearray]) -> Chunk | None:
        """The next chunk; None at the end. May take buffers from `spare`. Raises InputError."""

    def stream_into(self, buffer: memoryview) -> int | None:
        """Read the next bytes directly into the buffer and return their number, 0 at the end; None if the next bytes
        are a chunk. Raises InputError."""

    def place(self, n_bytes: int) -> tuple[int, int] | None:
        """Like ReadAheadStream.place; None if the stream must determine it."""

    def compressed_position(self) -> int: ...

    def close(self) -> None:
        """May be called more than once."""


class ReadAhead:
    """State shared by the streams of one run: the lock, the memory limit, and the next stream.

    lock          protects all shared state
    changed       a condition on this lock, notified of every change that a thread may wait for
    limit_bytes   memory for unread chunks; above this limit no further chunk is started
    enough_bytes  no further chunk is started while the next ENOUGH_CHUNKS chunks or more, with at least this many
                  bytes, are ready
    n_streams     number of streams; open_stream(number) opens them in order, and returns None for a stream that only
                  the reader may open
    first         number of the first stream
    """

    def __init__(
        self, limit_bytes: int, enough_bytes: int = 0, n_streams: int = 0,
        open_stream: Callable[[int], ReadAheadStream | None] = lambda _: None, first: int = 0,
    ) -> None:  # fmt: skip
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.held = 0  # the cost of all chunks not yet read
        self.spare: list[bytearray] = []
        self._limit_bytes = limit_bytes
        self._enough_bytes = min(enough_bytes, limit_bytes)
        self._n_streams = n_streams
        self._open_stream = open_stream
        self._next = first
        self._opening: int | None = None
        self._streams: dict[int, ReadAheadStream] = {}
        self._failures: dict[int, BaseException] = {}  # by stream: the error from opening it, which take() raises

    def claim(self) -> Task | None:
        """A task for an idle thread, or None. Call this with the lock held, but run the task without it."""
        for stream in self._streams.values():
            if (task := stream.claim_chunk()) is not None:
                return task
        if self.held >= self._limit_bytes or (self.held >= self._enough_bytes and self._is_enough()):
            return None
        for stream in self._streams.values():
            if (task := stream.claim_production()) is not None:
                return task
        if self._next < self._n_streams and self._opening is None:
            return self._claim_opening()
        return None

    def _is_enough(self) -> bool:
        """Whether the next chunks are ready: at least ENOUGH_CHUNKS, with at least enough_bytes in total."""
        n_bytes = n_chunks = 0
        for stream in self._streams.values():
            for chunk in stream.queue:
                if chunk.data is None:
                    return False
                n_bytes += len(chunk.data)
                n_chunks += 1
                if n_bytes >= self._enough_bytes and n_chunks >= ENOUGH_CHUNKS:
                    return True
            if not stream.ended:
                return False
        return False

    def take(self, number: int) -> ReadAheadStream | None:
        """The stream with this number, opened if necessary; None if only the reader may open it."""
        while True:
            with self.changed:
                if number in self._streams:
                    return self._streams[number]
                if number in self._failures:
                    raise self._failures[number]
                if number < self._next and number != self._opening:
                    return None
                task = None if self._opening is not None else self._claim_opening()
                if task is None:
                    self.changed.wait()
            if task is not None:
                task()

    def drop(self, stream: ReadAheadStream) -> None:
        """Remove a stream that the reader has finished."""
        with self.changed:
            self._streams = {number: other for number, other in self._streams.items() if other is not stream}
            self.changed.notify_all()

    def close(self) -> None:
        """Close all streams, and open no more."""
        self._n_streams, self._open_stream = 0, lambda _: None
        for stream in list(self._streams.values()):
            stream.close()

    def _claim_opening(self) -> Task:
        number = self._opening = self._next
        self._next += 1

        def task() -> None:
            stream = None
            try:
                stream = self._open_stream(number)
            except BaseException as error:
                self._failures[number] = error
            with self.changed:
                if stream is not None:
                    self._streams[number] = stream
                self._opening = None
                self.changed.notify_all()

        return task


class ReadAheadStream:
    """A ByteStream over the chunks of a producer.

    queue  chunks that the reader has not reached
    ended  the producer has no more chunks
    start  where the producer starts: (offset in the file, offset in the text)
    """

    def __init__(
        self, producer: Producer, name: str, readahead: ReadAhead | None = None, start: tuple[int, int] = (0, 0)
    ) -> None:
        self.name = name
        self.compressed_position = producer.compressed_position
        self.ended = False
        self._producer = producer
        self._shared = readahead or ReadAhead(1)  # by default, decompress only when reading
        self._producing = False
        self.queue: deque[Chunk] = deque()
        self._chunk: Chunk | None = None  # the chunk that is being read
        self._chunk_at = 0
        self._n_bytes = start[1]  # the number of bytes of text read so far
        self._frames = deque([start])  # (offset in the file, offset in the text) of frames that have been read

    def place(self, n_bytes: int) -> tuple[int, int]:
        """Where decompression can start to reach byte n_bytes of the text: (offset in the file, offset in the text).
        n_bytes must have been read, and must not decrease from call to call."""
        place = self._producer.place(n_bytes)
        if place is not None:
            return place
        while len(self._frames) > 1 and self._frames[1][1] <= n_bytes:
            self._frames.popleft()
        return self._frames[0]

    def readinto(self, buffer: memoryview) -> int:
        n = 0
        while n < len(buffer):
            chunk = self._chunk
            if chunk is None or chunk.data is None:
                n_streamed = self._next(buffer[n:])
                if n_streamed is None:
                    break
                n += n_streamed
                self._n_bytes += n_streamed
                continue
            more = memoryview(chunk.data)[self._chunk_at : self._chunk_at + len(buffer) - n]
            buffer[n : n + len(more)] = more
            n += len(more)
            self._chunk_at += len(more)
            self._n_bytes += len(more)
            if self._chunk_at == len(chunk.data):
                self._release(chunk)
        return n

    def close(self) -> None:
        """Must not be called while another thread runs the producer."""
        with self._shared.changed:
            self._shared.held -= sum(chunk.cost for chunk in self.queue) + (self._chunk.cost if self._chunk else 0)
            self.queue.clear()
            self._chunk = None
            self.ended = True
        self._producer.close()
        self._shared.drop(self)

    # ------------------------------------------------------------------------------------- called with the lock held

    def claim_chunk(self) -> Task | None:
        """The work of the first waiting chunk."""
        for chunk in self.queue:
            if chunk.work is not None:
                return self._claim(chunk)
        return None

    def claim_production(self) -> Task | None:
        """A task that produces the next chunk; None if another thread is doing so or there are no more chunks."""
        if self._producing or self.ended:
            return None
        self._producing = True
        return self._produce

    def _claim(self, chunk: Chunk) -> Task:
        work, chunk.work = chunk.work, None
        assert work is not None

        def task() -> None:
            try:
                data, error, buffer = work()
            except BaseException as failure:
                data, error, buffer = b"", failure, None  # type: ignore[assignment]
            with self._shared.changed:
                cost = max(len(data) if buffer is None else len(buffer), MIN_CHUNK_COST)
                self._shared.held += cost - chunk.cost
                chunk.cost = cost
                chunk.error, chunk.buffer = error, buffer
                chunk.data = data
                self._shared.changed.notify_all()

        return task

    # ---------------------------------------------------------------------------------- called without the lock held

    def _produce(self) -> None:
        chunk: Chunk | None
        try:
            chunk = self._producer.produce(self._shared.spare)
            if chunk is None:
                self._producer.close()  # now, because many files may be open before the reader gets here
        except BaseException as error:
            chunk = Chunk(0, data=b"", error=error)
        with self._shared.changed:
            self._producing = False
            self.ended |= chunk is None or chunk.error is not None
            if chunk is not None:
                chunk.cost = max(chunk.cost, MIN_CHUNK_COST)
                self._shared.held += chunk.cost
                self.queue.append(chunk)
            self._shared.changed.notify_all()

    def _next(self, buffer: memoryview) -> int | None:
        """Make the next chunk the current one and return 0, or read directly into the buffer and return the number of
        bytes; None at the end."""
        while True:
            with self._shared.changed:
                done = bool(self.queue) and self.queue[0].data is not None
                if not self.queue and self.ended:
                    return None
                alone = not self.queue and not self._producing
                self._producing |= alone
                task = None if done or alone else self.claim_chunk() or self._shared.claim()
                if not (done or alone or task):
                    self._shared.changed.wait()
            if done:
                self._begin(self.queue.popleft())
                return 0
            if alone:
                return self._stream_into(buffer)
            if task is not None:
                task()

    def _stream_into(self, buffer: memoryview) -> int | None:
        """For an empty queue: read directly into the buffer, or put the next chunk into the queue."""
        try:
            n = self._producer.stream_into(buffer)
        except BaseException:
            with self._shared.changed:
                self._producing, self.ended = False, True
                self._shared.changed.notify_all()
            raise
        if n is None:
            self._produce()
            return 0
        with self._shared.changed:
            self._producing = False
            self.ended |= n == 0
            self._shared.changed.notify_all()
        return n if n else None

    def _begin(self, chunk: Chunk) -> None:
        self._chunk, self._chunk_at = chunk, 0
        if chunk.frame_at is not None:
            self._frames.append((chunk.frame_at, self._n_bytes))
        if not chunk.data:
            self._release(chunk)

    def _release(self, chunk: Chunk) -> None:
        with self._shared.changed:
            self._shared.held -= chunk.cost
            self._shared.changed.notify_all()
        self._chunk = None
        spare = self._shared.spare
        if chunk.buffer is not None and sum(map(len, spare)) + len(chunk.buffer) <= MAX_SPARE_BYTES:
            spare.append(chunk.buffer)
        if chunk.error is not None:
            raise chunk.error


def spare_buffer(spare: list[bytearray], n_bytes: int) -> bytearray:
    """A spare buffer of at least n_bytes, or a new one. Reuse matters: page faults in a new buffer take half as long as
    decompression.

    A spare buffer that is too small is dropped, so that buffers of the sizes in use replace it.
    """
    try:
        buffer = spare.pop()
    except IndexError:
        buffer = bytearray()
    return buffer if len(buffer) >= n_bytes else bytearray(n_bytes)


class Streamed:
    """A producer for a file whose text is one stream.

    any_place  whether the text is the file itself, so that reading can start at any byte
    """

    def __init__(self, stream: ByteStream, *, any_place: bool = False) -> None:
        self.compressed_position, self.close = stream.compressed_position, stream.close
        self._stream = stream
        self._any_place = any_place

    def produce(self, spare: list[bytearray]) -> Chunk | None:
        buffer = spare_buffer(spare, STREAM_BYTES)
        n = self._stream.readinto(memoryview(buffer)[:STREAM_BYTES])
        return Chunk(STREAM_BYTES, data=memoryview(buffer)[:n], buffer=buffer) if n else None

    def stream_into(self, buffer: memoryview) -> int | None:
        return self._stream.readinto(buffer)

    def place(self, n_bytes: int) -> tuple[int, int] | None:
        return (n_bytes, n_bytes) if self._any_place else None
