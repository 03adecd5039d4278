"""Inputs and Workers: corpus files into encoded blocks, read in turn, encoded side by side, given out in order.

    worker:  take the reading turn, fill a block (bytes into documents) ─▶ give the turn on, encode the block ─┐
    worker:        …decompresses ahead…                                     fill the next block ─▶ encode it  ─┤
    main:    ◀─ results in the order of their blocks ◀──────────────────────────────────────────────────────────┘

Whoever has neither the turn nor a block decompresses ahead (corpus/ahead.py), so that the turn is short: it copies.
Each worker encodes what it has just read, so the bytes are still in its core's cache, no thread idles while there is
anything to do, and one thread means one core. Blocks are cut where the encoder proves that no id depends on it, so the
output does not depend on threads or block size.

Memory: see Room; besides that the model, the window of a zstd frame that is too large to be held, and the longest line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pyunitok import _ffi
from pyunitok.corpus import stream
from pyunitok.corpus.ahead import Ahead, AheadStream
from pyunitok.corpus.block import BadDocument, Block, ByteStream, DocumentReader
from pyunitok.corpus.inputs import Source
from pyunitok.corpus.jsonl import JsonlReader
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.text import MAX_DOCS, TextReader
from pyunitok.errors import LimitError
from pyunitok.tokens.verify_block import verify_block

if TYPE_CHECKING:
    from pyunitok.corpus.parquet import ParquetReader
    from pyunitok.run.pipeline import Plan

# Text that may be encoded and not yet written, besides two blocks a thread, so that a slow write stops nobody.
UNWRITTEN_BYTES = 16 << 20
AHEAD_BYTES = 32 << 20  # decompressed ahead at least, where there is room
MIN_BLOCK_BYTES = 1 << 16  # smaller blocks work, and count as so large
MAX_FRAME_BYTES = 64 << 20  # decompressed whole, where there is room
MIN_AHEAD_BYTES = 2 << 20
WRITING_BYTES = 16 << 20  # the buffers of the output


@dataclass(frozen=True)
class Room:
    """How plan.max_memory_bytes is divided.

    n_unwritten      blocks whose ids may wait for the writer, those under way included
    ahead_bytes      of text decompressed ahead, and of the frames it comes from
    max_frame_bytes  of a zstd frame that is decompressed whole, beside others; larger ones are streamed
    """

    n_unwritten: int
    ahead_bytes: int
    max_frame_bytes: int

    @classmethod
    def of(cls, plan: Plan) -> Room:
        """LimitError if it is too little for so many threads and so large blocks."""
        block = max(plan.block_bytes, MIN_BLOCK_BYTES)
        ids = block * plan.dtype.itemsize
        own = 3 * block if any(source.format == "jsonl" for source in plan.sources) else block  # lines, strings, texts
        rest = plan.max_memory_bytes - plan.threads * (own + 16 * MAX_DOCS) - WRITING_BYTES
        least = (plan.threads + 1) * ids + MIN_AHEAD_BYTES
        if rest < least:
            needed = plan.max_memory_bytes - rest + least
            raise LimitError(
                f"{plan.threads} threads with blocks of {block} bytes take {needed} bytes, more than the limit of"
                f" {plan.max_memory_bytes} (--max-memory); raise it, or use fewer --threads or a smaller --block"
            )
        n_unwritten = 2 * plan.threads + UNWRITTEN_BYTES // block
        n_unwritten = max(plan.threads + 1, min(n_unwritten, (rest - MIN_AHEAD_BYTES) // 2 // ids))
        ahead = rest - n_unwritten * ids
        # While the limit is not reached one more piece is begun: two frames of this size, compressed and not.
        max_frame = min(ahead // (2 * plan.threads + 4), MAX_FRAME_BYTES)
        if plan.threads == 1:
            max_frame = min(max_frame, stream.ALONE_FRAME_BYTES)  # what nobody decompresses beside it is streamed
        return cls(n_unwritten, ahead - 2 * max_frame, max_frame)


@dataclass(frozen=True)
class Ending:
    """What is known of an input when it has been read.

    source_bytes  that no block accounts for: blank lines at its end
    """

    source: int
    source_bytes: int
    ends_with_separator: bool | None


@dataclass
class Encoded:
    """One block's result.

    ids         plan.dtype[>= n_ids]; used again when the next result is asked for
    ends        of the documents that end in it, in tokens from its start
    compressed  bytes of all files read when it was read, for progress
    after       where reading goes on once this block and all before it are written
    bad         documents that were left out
    metadata    where asked for, of each document that ends in it: see Block
    endings     inputs that ended with this block or after the block before
    """

    source: int
    ids: np.ndarray[Any, Any]
    n_ids: int
    ends: np.ndarray[Any, np.dtype[np.int64]]
    source_bytes: int
    compressed: int
    after: Position
    bad: list[BadDocument]
    metadata: list[bytes]
    endings: list[Ending] = field(default_factory=list)


class Inputs:
    """All inputs as one sequence of blocks, from `start` on; inputs before it are not opened.

    Not thread-safe: whoever holds the reading turn calls fill(). Anybody may take what ahead.claim() gives.
    """

    def __init__(self, plan: Plan, start: Position | None = None) -> None:
        self._plan = plan
        self.start = start or BEGINNING
        self._source = self.start.source - 1
        self._stream: ByteStream | ParquetReader | None = None
        self._reader: DocumentReader | None = None
        self._compressed_before = sum(source.size_bytes or 0 for source in plan.sources[: self.start.source])
        self._endings: list[Ending] = []
        self.room = Room.of(plan)
        self.ahead = Ahead(self.room.ahead_bytes, AHEAD_BYTES, len(plan.sources), self._open_ahead)
        self.ahead.begin(self.start.source)

    def fill(self, block: Block) -> bool:
        """Fill the block from the next input that has anything left; False when all are read.

        block.after is then where all is read.
        """
        while True:
            if self._reader is None:
                if self._source + 1 >= len(self._plan.sources):
                    block.clear()
                    block.source, block.after = self._source + 1, Position(self._source + 1)
                    return False
                self._source += 1
                self._open(self._plan.sources[self._source])
            assert self._reader is not None
            block.source = self._source
            more = self._reader.fill(block)
            if not more or self._reader.finished:
                self._finish(0 if more else block.source_bytes)
                block.after = Position(self._source + 1)
            elif isinstance(self._stream, AheadStream):
                file_at, file_bytes = self._stream.place(block.after.bytes)
                block.after = replace(block.after, file_at=file_at, file_bytes=file_bytes)
            if more:
                return True

    def endings(self) -> list[Ending]:
        """Of the inputs that have ended since this was last asked."""
        endings, self._endings = self._endings, []
        return endings

    def compressed_position(self) -> int:
        return self._compressed_before + (self._stream.compressed_position() if self._stream else 0)

    def close(self) -> None:
        """When no thread is at work any more."""
        if self._stream is not None:
            self._finish_stream()
        self.ahead.close()

    def _start_of(self, number: int) -> Position:
        return self.start if number == self.start.source else Position(number)

    def _open_ahead(self, number: int) -> AheadStream | None:
        source = self._plan.sources[number]
        if source.opened is not None or source.format == "parquet":
            return None
        return stream.open_ahead(source, self._start_of(number), self.ahead, self.room.max_frame_bytes)

    def _open(self, source: Source) -> None:
        plan, split, start = self._plan, self._plan.split, self._start_of(self._source)
        self._stream = self.ahead.take(self._source) or source.opened
        if source.format == "parquet":
            from pyunitok.corpus.parquet import ParquetReader

            parquet = ParquetReader(
                stream.open_seekable(source), source.name, plan.text_key, split, start,
                skip=plan.skip_bad, metadata=plan.metadata,
            )  # fmt: skip
            self._stream = self._reader = parquet
            return
        assert self._stream is not None
        stream.skip(self._stream, start.bytes - start.file_bytes, start.bytes)
        if source.format == "jsonl":
            self._reader = JsonlReader(
                self._stream, plan.text_key, split, plan.max_line_bytes, start,
                skip=plan.skip_bad, metadata=plan.metadata,
            )  # fmt: skip
        else:
            self._reader = TextReader(self._stream, plan.separator, split, start, metadata=plan.metadata)

    def _finish(self, unseen_bytes: int) -> None:
        assert self._reader is not None
        self._endings.append(Ending(self._source, unseen_bytes, self._reader.ends_with_separator))
        self._finish_stream()

    def _finish_stream(self) -> None:
        assert self._stream is not None
        self._compressed_before += self._stream.compressed_position()
        self._stream.close()
        self._stream = self._reader = None


class Workers:
    """Threads that read in turn and encode side by side; results() gives their blocks in order."""

    def __init__(self, plan: Plan, inputs: Inputs) -> None:
        self._plan, self._inputs = plan, inputs
        start = inputs.start
        self._changed = inputs.ahead.changed
        self._turn_taken = False
        self._results: dict[int, Encoded | BaseException | None] = {}
        self._failure: BaseException | None = None  # of a worker that held no block
        self._n_filled = self._n_taken = 0
        self._stop = False  # nothing more is to be read
        self._broken = False  # nor to be encoded
        self._idle: list[np.ndarray[Any, Any]] = []
        # What the encoder carries on into block n, where a document goes on there: it waits for the block before.
        self._states: dict[int, str] = {0: start.state}
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(plan.threads)]

    def __enter__(self) -> Workers:
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:  # no more threads to be had: let go those that run
            self.__exit__(True)
            raise
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        with self._changed:
            self._stop = self._broken = True
            self._changed.notify_all()
        deadline = time.monotonic() + 1.0
        started = [thread for thread in self._threads if thread.ident is not None]
        for thread in started:
            # After an error one may wait for input that never comes (a pipe); as a daemon it may be left behind.
            thread.join(None if failure is None else max(0.0, deadline - time.monotonic()))
        if not any(thread.is_alive() for thread in started):
            self._inputs.close()

    def results(self) -> Iterator[Encoded]:
        """Yield blocks in the order of the input; raise what a worker raised, after the blocks before it.

        The last one has no documents and stands behind all inputs.
        """
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._n_taken in self._results or self._failure)
                if self._failure:
                    raise self._failure
                result = self._results.pop(self._n_taken)
                self._n_taken += 1
                self._changed.notify_all()
            if result is None:
                return
            if isinstance(result, BaseException):
                raise result
            yield result
            self._idle.append(result.ids)

    def _deliver(self, number: int, result: Encoded | BaseException | None) -> None:
        with self._changed:
            self._results[number] = result
            self._changed.notify_all()

    def _work(self) -> None:
        number = -1
        try:
            scratch = self._plan.tokenizer.new_scratch()
            block = Block(np.empty(self._plan.block_bytes, np.uint8))
            while (turn := self._take_turn()) is not None:
                number = turn
                try:
                    more = self._inputs.fill(block)
                    endings, compressed = self._inputs.endings(), self._inputs.compressed_position()
                finally:
                    with self._changed:
                        self._turn_taken = False
                        self._changed.notify_all()
                block.finish()
                encoded = self._encode(scratch, block, number, compressed)
                if encoded is None:
                    return
                encoded.endings = endings
                self._deliver(number, encoded)
                if not more:
                    self._stop = True
                    self._deliver(number + 1, None)
                number = -1
        except BaseException as error:
            self._stop = self._broken = True
            if number < 0:
                self._failure = error
            self._deliver(number, error)

    def _take_turn(self) -> int | None:
        """Wait for the reading turn, and decompress meanwhile; the number of the block to fill. None: no more."""
        while True:
            with self._changed:
                if self._stop:
                    return None
                if not self._turn_taken and self._n_filled - self._n_taken < self._inputs.room.n_unwritten:
                    self._turn_taken = True
                    self._n_filled += 1
                    return self._n_filled - 1
                task = self._inputs.ahead.claim()
                if task is None:
                    self._changed.wait()
            if task is not None:
                task()

    def _state_before(self, number: int, block: Block) -> _ffi.State | None:
        """What goes on into this block, when the one before is encoded; None: the run has stopped."""
        if not (block.n_docs and block.inside and self._plan.carries_state):
            return _ffi.State()
        with self._changed:
            self._changed.wait_for(lambda: number in self._states or self._broken)
            return _ffi.State(self._states.pop(number)) if number in self._states else None

    def _encode(self, scratch: _ffi.Scratch, block: Block, number: int, compressed: int) -> Encoded | None:
        state = self._state_before(number, block)
        if state is None:
            return None
        ids, id_offsets, n_ids = self._encode_into(scratch, block, state)
        after = block.after
        if self._plan.carries_state and block.open_end:
            after = replace(after, state=state.hexadecimal())
            with self._changed:
                self._states[number + 1] = after.state
                self._changed.notify_all()
        plan, has_eod = self._plan, self._plan.eod_id is not None
        if plan.verify and block.n_docs:
            verify_block(plan.tokenizer, block, ids, id_offsets, eod=has_eod, name=plan.sources[block.source].name)
        ends = id_offsets[1 : block.n_docs + 1 - block.open_end]
        if ids.dtype != plan.dtype:
            ids = ids[:n_ids].astype(plan.dtype)
        return Encoded(
            block.source, ids, n_ids, ends, block.source_bytes, compressed, after, block.bad, block.metadata
        )

    def _encode_into(
        self, scratch: _ffi.Scratch, block: Block, state: _ffi.State
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, np.dtype[np.int64]], int]:
        """The block's ids, in an array that is used again; where each document's begin; and how many there are."""
        plan, n_docs = self._plan, block.n_docs
        offsets = block.offsets[: n_docs + 1]
        room = int(offsets[-1]) + n_docs + _ffi.ENCODE_SLACK
        dtype = plan.tokenizer.dtype
        try:
            ids = self._idle.pop()
        except IndexError:
            ids = np.empty(0, dtype)
        id_offsets = np.empty(n_docs + 1, np.int64)
        eod_id = -1 if plan.eod_id is None else plan.eod_id
        sampling = plan.sampling_of(block.source, block.first_document)
        while True:
            if len(ids) < room or ids.dtype != dtype:
                ids = np.empty(max(room, plan.block_bytes + 4096), dtype)
            try:
                n_ids = scratch.encode_batch(
                    block.data, offsets, ids, id_offsets, eod_id=eod_id, open_start=block.inside > 0,
                    open_end=block.open_end, state=state, sampling=sampling, documents=block.numbers,
                )  # fmt: skip
                return ids, id_offsets, n_ids
            except _ffi.RoomError:
                room = 2 * len(ids)
