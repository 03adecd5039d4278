"""Workers are threads that read blocks in turn, process them in parallel, and return the results in order.

    worker:  take the reading turn, fill a block (bytes into documents) ─▶ pass the turn on, work on the block ─┐
    worker:        …decompress ahead…                                      fill the next block ─▶ work on it  ──┤
    main:    ◀─ results in the order of their blocks ◀──────────────────────────────────────────────────────────┘

A thread without the turn and without a block decompresses ahead (readahead.py), so the thread with the turn only
has to copy. Each worker processes the block that it has just read, while the bytes are in its core's cache. No thread
idles while there is work.

To count the words of a corpus:

    def count(block):
        return Counter(word for text in block.texts() for word in text.split())

    total = Counter()
    with Workers(Reading(inputs.find(["corpus/"])), count) as workers:
        for result in workers.results():
            total += result.value

Several threads call `count` at once. They run in parallel only in C code that releases the GIL, as all calls to the
C library do.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pyunitok.corpus.block import BadDocument, Block
from pyunitok.corpus.position import Position
from pyunitok.corpus.reading import Ending, InputBlocks, Reading
from pyunitok.errors import InputError

T = TypeVar("T")


@dataclass
class Result(Generic[T]):
    """The result of one block.

    value         the return value of the worker's function
    source        number of the block's input, from 0
    n_ended       documents that end in the block
    text_bytes    bytes of its documents and pieces
    source_bytes  see Block
    compressed    the number of stored bytes read so far, over all files, for progress
    after         where reading resumes once this block and all earlier blocks are done
    bad           skipped documents
    metadata      see Block
    endings       the inputs that ended with this block, or between it and the previous block
    """

    value: T
    source: int
    n_ended: int
    text_bytes: int
    source_bytes: int
    compressed: int
    after: Position
    bad: list[BadDocument]
    metadata: list[bytes]
    endings: list[Ending]


class Stopped(Exception):
    """Raised in a worker that waits for another when the run stops."""


class Carry(Generic[T]):
    """Passes values from the worker of one block to the worker of the next, for a document that continues in it.

    first  the value for block 0
    """

    def __init__(self, first: T) -> None:
        self._values = {0: first}
        self._changed = threading.Condition()
        self._end: float = math.inf  # from this block on, blocks stop waiting

    def put(self, number: int, value: T) -> None:
        """Set the value for the block with this number."""
        with self._changed:
            self._values[number] = value
            self._changed.notify_all()

    def take(self, number: int) -> T:
        """Wait for the value for the block with this number. Raises Stopped if the run stops first."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._values or number >= self._end)
            if number not in self._values:
                raise Stopped
            return self._values.pop(number)

    def stop(self, number: int) -> None:
        """Cancel the blocks from this one on; earlier blocks are still completed."""
        with self._changed:
            self._end = min(self._end, number)
            self._changed.notify_all()


class Workers(Generic[T]):
    """Threads that call work(block) for every block of a corpus. results() yields the return values in order.

    reading  the corpus
    work     called in any thread with complete blocks; the result must not refer to the block, which is reused
    start    where to begin
    carry    the Carry that `work` uses, if any; it is stopped when the run fails

    block.number counts the blocks from 0. The last block has no documents and follows all inputs.
    """

    def __init__(
        self, reading: Reading, work: Callable[[Block], T], start: Position | None = None,
        carry: Carry[Any] | None = None,
    ) -> None:  # fmt: skip
        self._inputs = InputBlocks(reading, start)
        self._do = work
        self._carry = carry
        self._changed = self._inputs.readahead.changed
        self._delivered = threading.Condition(self._inputs.readahead.lock)  # notified when the next result is ready
        self._turn_taken = False
        self._results: dict[int, Result[T] | BaseException | None] = {}
        self._failure: BaseException | None = None  # the error of a worker without a block
        self._n_filled = self._n_taken = 0
        self._stop = False  # whether reading has stopped
        self.unreported: list[Ending] = []  # inputs that ended just before an error in reading
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(reading.useful_threads)]

    def __enter__(self) -> Workers[T]:
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:  # a thread could not be started: stop the others
            self.__exit__(True)
            raise
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        self._stop_from(0)
        deadline = time.monotonic() + 1.0
        started = [thread for thread in self._threads if thread.ident is not None]
        for thread in started:
            # After an error, a thread may wait for a pipe forever; daemon threads can be abandoned.
            thread.join(None if failure is None else max(0.0, deadline - time.monotonic()))
        if not any(thread.is_alive() for thread in started):
            self._inputs.close()

    def results(self) -> Iterator[Result[T]]:
        """The results in the order of their blocks. An exception in a worker is raised after all earlier results."""
        while True:
            with self._delivered:
                self._delivered.wait_for(lambda: self._n_taken in self._results or self._failure)
                if self._failure:
                    raise self._failure
                result = self._results.pop(self._n_taken)
                if self._is_full():
                    self._changed.notify_all()
                self._n_taken += 1
            if result is None:
                return
            if isinstance(result, BaseException):
                raise result
            yield result

    def _stop_from(self, number: int) -> None:
        """Stop reading, and cancel the blocks from this one on; earlier blocks are still completed."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        if self._carry is not None:
            self._carry.stop(number)

    def _deliver(self, number: int, result: Result[T] | BaseException | None) -> None:
        with self._delivered:
            self._results[number] = result
            if number <= self._n_taken:
                self._delivered.notify_all()

    def _is_full(self) -> bool:
        """Whether the number of unfinished blocks has reached its limit."""
        return self._n_filled - self._n_taken >= self._inputs.budget.n_unfinished

    def _work(self) -> None:
        number = -1
        try:
            block = self._inputs.new_block()
            while (turn := self._take_turn()) is not None:
                number = turn
                endings, compressed = self._fill(block, number)
                block.finish()
                self._deliver(number, self._result(block, compressed, endings))
                number = -1
        except Stopped:
            return
        except BaseException as error:
            if number < 0:
                self._failure = error
            elif isinstance(error, InputError) and error.source is None:
                error.source = block.source
            self._deliver(number, error)
            self._stop_from(number)

    def _fill(self, block: Block, number: int) -> tuple[list[Ending], int]:
        """Fill the block and pass the reading turn on; after the last block or an error, stop reading."""
        more = False
        try:
            try:
                more = self._inputs.fill(block)
            except InputError as error:
                error.source, self.unreported = self._inputs.source, self._inputs.endings()
                raise
            block.number = number
            return self._inputs.endings(), self._inputs.compressed_position()
        finally:
            with self._changed:
                self._turn_taken = False
                if not more:
                    self._stop = True
                    self._results[number + 1] = None
                    self._delivered.notify_all()
                self._changed.notify_all()

    def _result(self, block: Block, compressed: int, endings: list[Ending]) -> Result[T]:
        value = self._do(block)
        n_ended, text_bytes = block.n_docs - block.open_end, int(block.offsets[block.n_docs])
        return Result(
            value, block.source, n_ended, text_bytes, block.source_bytes, compressed, block.after, block.bad,
            block.metadata, endings,
        )  # fmt: skip

    def _take_turn(self) -> int | None:
        """Wait for the reading turn, and decompress ahead while waiting. Returns the number of the block to fill; None
        at the end."""
        while True:
            with self._changed:
                if self._stop:
                    return None
                if not self._turn_taken and not self._is_full():
                    self._turn_taken = True
                    self._n_filled += 1
                    return self._n_filled - 1
                task = self._inputs.readahead.claim()
                if task is None:
                    self._changed.wait()
            if task is not None:
                task()
