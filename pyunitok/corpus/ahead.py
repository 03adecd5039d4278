"""Ahead and AheadStream: decompression ahead of the reader, by whichever thread has nothing else to do.

    producer (one thread at a time)          helpers (any thread)         reader (holds the reading turn)
    reads the file, finds frames   ──▶ queue: │ done │ under way │ waiting │ ──▶ copies from the first when it is done

A producer turns a file into pieces, in order. A piece has its bytes, or work that gives them: some whole zstd frames,
which need nothing from each other. Whoever has time takes the first piece that waits, or lets the producer make the
next one, or opens the next file. Nobody sleeps while there is any of that to do and room for its result. The bytes that
the reader gets are those of the file from its beginning to its end, whoever decompressed them and when.

Memory: the pieces that are not yet read hold at most limit_bytes, and one more piece.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pyunitok.errors import InputError

Task = Callable[[], None]
Bytes = bytes | memoryview

MIN_PIECE_COST = 1 << 14  # what the smallest piece counts for: its objects
STREAM_BYTES = 1 << 20  # decompressed at once of what comes as one stream
ENOUGH_PIECES = 3  # however large
MAX_SPARE = 8  # such buffers kept


@dataclass(eq=False)
class Piece:
    """Some bytes of a file's text, or the work that gives them.

    cost      bytes of memory it holds, or will
    frame_at  where in the file the frame begins that it begins with; None if it goes on with one
    data      once it is done
    work      gives data, and the error behind it if there is one; None once somebody does it
    error     to be raised once data has been read
    buffer    what data lies in, to be used again
    """

    cost: int
    frame_at: int | None = None
    data: Bytes | None = None
    work: Callable[[], tuple[Bytes, InputError | None]] | None = None
    error: BaseException | None = None
    buffer: bytearray | None = None


class Producer(Protocol):
    """Turns a file into pieces. Called by one thread at a time."""

    def produce(self, spare: list[bytearray]) -> Piece | None:
        """The next piece; None at the end. Raises InputError. `spare`: buffers of STREAM_BYTES that may be used."""

    def stream_into(self, buffer: memoryview) -> int | None:
        """The next bytes straight into the buffer, where they come as a stream: how many, 0 at the end. None where
        they come in pieces. Raises InputError."""

    def place(self, n_bytes: int) -> tuple[int, int] | None:
        """Where in the file byte n_bytes of its text lies, where that takes no account of it; see AheadStream.place."""

    def compressed_position(self) -> int: ...

    def close(self) -> None:
        """Perhaps again."""


class Ahead:
    """What the streams of one run share: the lock, the limit, and which stream comes next.

    changed      notified whenever something is done that somebody may wait for
    limit_bytes  of pieces made and not yet read; one more is begun while there are fewer
    enough_bytes  more is not made ahead while so much, and ENOUGH_PIECES, is there to be read without a gap
    n_streams    there are, to be opened in order by open_stream(number); it gives None for one that only the reader
                 may open
    """

    def __init__(
        self, limit_bytes: int, enough_bytes: int = 0, n_streams: int = 0,
        open_stream: Callable[[int], AheadStream | None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.changed = threading.Condition()
        self.held = 0  # the cost of all pieces not yet read
        self.spare: list[bytearray] = []
        self._limit_bytes = limit_bytes
        self._enough_bytes = min(enough_bytes, limit_bytes)
        self._n_streams = n_streams
        self._open_stream = open_stream
        self._next = 0
        self._opening: int | None = None
        self._streams: dict[int, AheadStream] = {}

    def begin(self, number: int) -> None:
        """Streams before this one are not wanted."""
        self._next = number

    def claim(self) -> Task | None:
        """Something to do for a thread that has nothing else; called with `changed` held, to be done without it."""
        for stream in self._streams.values():
            if (task := stream.claim_piece()) is not None:
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
        """The reader can go on for a while: enough_bytes, and ENOUGH_PIECES however large, are done in a row."""
        n_bytes = n_pieces = 0
        for stream in self._streams.values():
            for piece in stream.queue:
                if piece.data is None:
                    return False
                n_bytes += len(piece.data)
                n_pieces += 1
                if n_bytes >= self._enough_bytes and n_pieces >= ENOUGH_PIECES:
                    return True
            if not stream.ended:
                return False
        return False

    def take(self, number: int) -> AheadStream | None:
        """The stream of this number, opened if need be; None if only the reader may open it."""
        while True:
            with self.changed:
                if number in self._streams:
                    return self._streams[number]
                if number < self._next and number != self._opening:
                    return None
                task = None if self._opening is not None else self._claim_opening()
                if task is None:
                    self.changed.wait()
            if task is not None:
                task()

    def drop(self, stream: AheadStream) -> None:
        """The reader is through with it."""
        with self.changed:
            self._streams = {number: other for number, other in self._streams.items() if other is not stream}
            self.changed.notify_all()

    def close(self) -> None:
        """Open nothing more, and close what is open."""
        self._n_streams, self._open_stream = 0, lambda _: None
        for stream in list(self._streams.values()):
            stream.close()

    def _claim_opening(self) -> Task:
        number = self._opening = self._next
        self._next += 1

        def task() -> None:
            try:
                stream = self._open_stream(number)
            except BaseException as error:  # told when its turn comes
                stream = AheadStream(_Failed(error), "", self)
            with self.changed:
                if stream is not None:
                    self._streams[number] = stream
                self._opening = None
                self.changed.notify_all()

        return task


class AheadStream:
    """A ByteStream over what a producer makes.

    queue  pieces not yet being read
    ended  the producer is at its end
    """

    def __init__(self, producer: Producer, name: str, ahead: Ahead | None = None) -> None:
        self.name = name
        self.ended = False
        self._producer = producer
        self._ahead = ahead or Ahead(1)  # alone: made as it is read
        self._producing = False
        self.queue: deque[Piece] = deque()
        self._piece: Piece | None = None  # being read
        self._piece_at = 0
        self._n_bytes = 0  # read so far
        self._frames: deque[tuple[int, int]] = deque()  # where frames read began: in the file, in its text

    def stand_at(self, file_at: int, n_bytes: int) -> None:
        """Say that the producer begins at byte file_at of the file, where its text has byte n_bytes."""
        self._n_bytes = n_bytes
        self._frames.append((file_at, n_bytes))

    def place(self, n_bytes: int) -> tuple[int, int]:
        """Where in the file decompression can begin to get byte n_bytes of the text, read before, and which byte of
        the text that gives first. Later calls must not ask for an earlier byte."""
        place = self._producer.place(n_bytes)
        if place is not None:
            return place
        while len(self._frames) > 1 and self._frames[1][1] <= n_bytes:
            self._frames.popleft()
        return self._frames[0] if self._frames else (0, 0)

    def readinto(self, buffer: memoryview) -> int:
        n = 0
        while n < len(buffer):
            piece = self._piece
            if piece is None or piece.data is None:
                n_streamed = self._next(buffer[n:])
                if n_streamed is None:
                    break
                n += n_streamed
                self._n_bytes += n_streamed
                continue
            more = memoryview(piece.data)[self._piece_at : self._piece_at + len(buffer) - n]
            buffer[n : n + len(more)] = more
            n += len(more)
            self._piece_at += len(more)
            self._n_bytes += len(more)
            if self._piece_at == len(piece.data):
                self._release(piece)
        return n

    def compressed_position(self) -> int:
        return self._producer.compressed_position()

    def close(self) -> None:
        """Not while another thread produces."""
        with self._ahead.changed:
            self._ahead.held -= sum(piece.cost for piece in self.queue) + (self._piece.cost if self._piece else 0)
            self.queue.clear()
            self._piece = None
            self.ended = True
        self._producer.close()
        self._ahead.drop(self)

    # -------------------------------------------------------------------------- with `changed` held: what is to do

    def claim_piece(self) -> Task | None:
        """The work of the first piece that waits for somebody."""
        for piece in self.queue:
            if piece.work is not None:
                return self._claim(piece)
        return None

    def claim_production(self) -> Task | None:
        """Making the next piece, unless somebody does, or all are made."""
        if self._producing or self.ended:
            return None
        self._producing = True
        return self._produce

    def _claim(self, piece: Piece) -> Task:
        work, piece.work = piece.work, None
        assert work is not None

        def task() -> None:
            try:
                data, error = work()
            except BaseException as failure:
                data, error = b"", failure  # type: ignore[assignment]
            with self._ahead.changed:
                cost = max(len(data), MIN_PIECE_COST)
                self._ahead.held += cost - piece.cost
                piece.cost = cost
                piece.error = error
                piece.data = data
                self._ahead.changed.notify_all()

        return task

    # ------------------------------------------------------------------------------------------------ without it

    def _produce(self) -> None:
        piece: Piece | None
        try:
            piece = self._producer.produce(self._ahead.spare)
            if piece is None:
                self._producer.close()  # not when all is read: that is later, and many files may wait for it
        except BaseException as error:
            piece = Piece(0, data=b"", error=error)
        with self._ahead.changed:
            self._producing = False
            self.ended |= piece is None or piece.error is not None
            if piece is not None:
                piece.cost = max(piece.cost, MIN_PIECE_COST)
                self._ahead.held += piece.cost
                self.queue.append(piece)
            self._ahead.changed.notify_all()

    def _next(self, buffer: memoryview) -> int | None:
        """Make the next piece the one that is read, and return 0; or put what comes next straight into the buffer and
        return how much that was; None at the end."""
        while True:
            with self._ahead.changed:
                done = bool(self.queue) and self.queue[0].data is not None
                if not self.queue and self.ended:
                    return None
                alone = not self.queue and not self._producing
                self._producing |= alone
                task = None if done or alone else self.claim_piece() or self._ahead.claim()
                if not (done or alone or task):
                    self._ahead.changed.wait()
            if done:
                self._begin(self.queue.popleft())
                return 0
            if alone:
                return self._stream_into(buffer)
            if task is not None:
                task()

    def _stream_into(self, buffer: memoryview) -> int | None:
        """With nothing made ahead: the next bytes straight into the buffer, else the next piece into the queue."""
        try:
            n = self._producer.stream_into(buffer)
        except BaseException:
            with self._ahead.changed:
                self._producing, self.ended = False, True
                self._ahead.changed.notify_all()
            raise
        if n is None:
            self._produce()
            return 0
        with self._ahead.changed:
            self._producing = False
            self.ended |= n == 0
            self._ahead.changed.notify_all()
        return n if n else None

    def _begin(self, piece: Piece) -> None:
        self._piece, self._piece_at = piece, 0
        if piece.frame_at is not None:
            self._frames.append((piece.frame_at, self._n_bytes))
        if not piece.data:
            self._release(piece)

    def _release(self, piece: Piece) -> None:
        with self._ahead.changed:
            self._ahead.held -= piece.cost
            self._ahead.changed.notify_all()
        self._piece = None
        if piece.buffer is not None and len(self._ahead.spare) < MAX_SPARE:
            self._ahead.spare.append(piece.buffer)
        if piece.error is not None:
            raise piece.error


def spare_buffer(spare: list[bytearray]) -> bytearray:
    """One of those, or a new one of STREAM_BYTES: touching fresh memory takes as long as half the decompression."""
    try:
        return spare.pop()
    except IndexError:
        return bytearray(STREAM_BYTES)


class _Failed:
    """A producer for a file that could not be opened."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def produce(self, spare: list[bytearray]) -> Piece | None:
        raise self._error

    def stream_into(self, buffer: memoryview) -> int | None:
        raise self._error

    def place(self, n_bytes: int) -> tuple[int, int] | None:
        return None

    def compressed_position(self) -> int:
        return 0

    def close(self) -> None: ...
