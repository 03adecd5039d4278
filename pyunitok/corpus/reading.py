"""Reading and InputBlocks turn corpus files into one sequence of blocks. workers.py uses them in several threads.

    Reading ──▶ InputBlocks:  file, file, …  ──▶ stream ──▶ reader ──▶ block, block, …
    (options)            (opened in turn)   (bytes)    (documents)

To read a corpus in one thread:

    reading = Reading(inputs.find(["corpus/"]), ReadingOptions(separator=b"\\n"))
    with contextlib.closing(InputBlocks(reading)) as corpus:
        n_bytes = sum(block.source_bytes for block in corpus.blocks())

Documents are divided only where Reading.split allows, so results do not depend on the block size or the number of
threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyunitok.corpus import stream
from pyunitok.corpus.block import Block, DocumentReader, Split, whole
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.readahead import ReadAhead, ReadAheadStream
from pyunitok.corpus.sniff import MAX_INVALID, not_text, share_invalid, why_not_text
from pyunitok.corpus.source import Source
from pyunitok.corpus.text import MAX_DOCS
from pyunitok.errors import InputWarning, LimitError
from pyunitok.model.batch import available_cores, check_threads

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 256 << 20
MAX_MEMORY_BYTES = 1 << 30

# Memory for unfinished blocks in addition to two per thread, so that a slow consumer does not stall the workers.
WAITING_BYTES = 16 << 20
READAHEAD_BYTES = 32 << 20  # bytes of text decompressed ahead, if memory allows
MIN_BLOCK_BYTES = 1 << 16  # the memory budget counts smaller blocks as this large
MAX_FRAME_BYTES = 64 << 20  # the largest frame that is decompressed in one call, if memory allows
MIN_READAHEAD_BYTES = 2 << 20
MAX_WARNINGS = 3  # the maximum number of warnings about files that are not UTF-8
WRITING_BYTES = 16 << 20  # the memory of output buffers


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The user's options for reading a corpus.

    separator         the separator between documents in text files; None: each file is one document
    text_key          the field or column with the text of JSON lines and Parquet files: see json_text.key_path
    on_error          for a JSON line or row without text: "raise" InputError; "skip" it and list it in block.bad; or
                      "skip-file", which also makes tokenizing skip damaged files
    metadata          fill block.metadata
    threads           number of workers; None: one per core
    block_bytes       approximate size of a block's text
    max_line_bytes    a longer JSON line is an error
    max_memory_bytes  for reading and for waiting results: see MemoryBudget
    """

    separator: bytes | None = None
    text_key: str = "text"
    on_error: str = "raise"
    metadata: bool = False
    threads: int | None = None
    block_bytes: int = BLOCK_BYTES
    max_line_bytes: int = MAX_LINE_BYTES
    max_memory_bytes: int = MAX_MEMORY_BYTES

    def __post_init__(self) -> None:
        check_threads(self.threads)

    @property
    def n_threads(self) -> int:
        return self.threads or available_cores()

    @property
    def skip_bad(self) -> bool:
        """Whether to skip lines and rows without text."""
        return self.on_error != "raise"


DEFAULTS = ReadingOptions()


@dataclass(frozen=True)
class Reading:
    """A corpus and the options for reading it.

    sources       the files of the corpus, in order: see inputs.find
    split         where a document longer than a block may be divided: see block.Split. By default documents are never
                  divided, so each must fit in memory
    result_bytes  memory of a worker's result per byte of text
    whole_rows    read all columns of Parquet files, into Block.raw
    """

    sources: Sequence[Source]
    options: ReadingOptions = DEFAULTS
    split: Split = whole
    result_bytes: int = 1
    whole_rows: bool = False

    @property
    def useful_threads(self) -> int:
        """The number of threads, or 1 if the corpus is a single block."""
        if len(self.sources) != 1 or not self.sources[0].is_plain:
            return self.options.n_threads
        n_bytes = self.sources[0].size_bytes
        return self.options.n_threads if n_bytes is None or n_bytes > self.options.block_bytes else 1


@dataclass(frozen=True)
class MemoryBudget:
    """Divides max_memory_bytes.

    n_unfinished     maximum number of blocks that have been read but whose results have not been taken
    readahead_bytes  for text decompressed ahead, and for the frames that contain it
    max_frame_bytes  largest zstd frame that is decompressed in one call, in parallel with other frames; larger ones are
                     streamed
    seekable_bytes   for readers of seekable files such as Parquet, if the corpus contains any

    Not counted: the model, the window of a streamed zstd frame, and documents or lines longer than a block.
    """

    n_unfinished: int
    readahead_bytes: int
    max_frame_bytes: int
    seekable_bytes: int = 0

    @classmethod
    def of(cls, reading: Reading) -> MemoryBudget:
        """Raises LimitError if max_memory_bytes is too low for the number of threads and the block size."""
        threads, limit = reading.options.n_threads, reading.options.max_memory_bytes
        block = max(reading.options.block_bytes, MIN_BLOCK_BYTES)
        result = block * reading.result_bytes
        formats = [FORMATS[source.format] for source in reading.sources]
        own = block * max([format_.n_buffers for format_ in formats], default=1)
        rest = limit - threads * (own + 16 * MAX_DOCS) - WRITING_BYTES
        least = (threads + 1) * result + MIN_READAHEAD_BYTES
        if rest < least:
            smaller = " or a smaller --block" if reading.options.block_bytes != BLOCK_BYTES else ""
            raise LimitError(
                f"{threads} threads with blocks of {block} bytes need {limit - rest + least} bytes of memory, more"
                f" than the limit of {limit} (--max-memory); raise it, or use fewer --threads{smaller}"
            )
        n_unfinished = 2 * threads + WAITING_BYTES // block
        n_unfinished = max(threads + 1, min(n_unfinished, (rest - MIN_READAHEAD_BYTES) // 2 // result))
        ahead = rest - n_unfinished * result
        kinds = {format_.seekable for format_ in formats}
        seekable = ahead if kinds == {True} else ahead // 2 if True in kinds else 0
        ahead = max(MIN_READAHEAD_BYTES, ahead - seekable)
        # Just below the limit, one more frame may be started, which takes this size twice: compressed and decompressed.
        max_frame = min(ahead // (2 * threads + 4), MAX_FRAME_BYTES)
        if threads == 1:
            max_frame = min(max_frame, stream.ALONE_FRAME_BYTES)  # stream larger frames: no other thread would help
        return cls(n_unfinished, ahead - 2 * max_frame, max_frame, seekable)


@dataclass(frozen=True)
class Ending:
    """The end of an input.

    source_bytes  bytes not counted in any block: blank lines at the end
    at            the position of the end
    """

    source: int
    source_bytes: int
    ends_with_separator: bool | None
    at: Position


class InputBlocks:
    """All inputs as one sequence of blocks, from `start` on. Earlier inputs are not opened.

    source  the number of the input that is being read or was read last

    Not thread-safe: only one thread at a time may call fill(). Any thread may run tasks from readahead.claim().
    """

    def __init__(self, reading: Reading, start: Position | None = None) -> None:
        self._reading = reading
        self.start = start or BEGINNING
        self.source = self.start.source - 1
        self._stream: Any = None  # a ByteStream, or a reader of a seekable file
        self._reader: DocumentReader | None = None
        self._compressed_before = sum(source.size_bytes or 0 for source in reading.sources[: self.start.source])
        self._endings: list[Ending] = []
        self._n_warnings = 0
        self.budget = MemoryBudget.of(reading)
        self.readahead = ReadAhead(
            self.budget.readahead_bytes, READAHEAD_BYTES, len(reading.sources), self._open_readahead, self.start.source
        )

    def blocks(self) -> Iterator[Block]:
        """All blocks, completed. They share one buffer, so each is valid only until the next one is requested."""
        block = self.new_block()
        while self.fill(block):
            block.finish()
            yield block

    def new_block(self) -> Block:
        """An empty block for fill()."""
        return Block(np.empty(self._reading.options.block_bytes, np.uint8))

    def fill(self, block: Block) -> bool:
        """Fill the block with the next documents. The caller completes it with block.finish().

        Returns False when all inputs have been read; block.after is then the end of the last input.
        """
        while True:
            if self._reader is None:
                if self.source + 1 >= len(self._reading.sources):
                    block.clear()
                    block.source, block.after = self.source + 1, Position(self.source + 1)
                    return False
                self.source += 1
                self._open(self._reading.sources[self.source])
            assert self._reader is not None
            block.source = self.source
            more = self._reader.fill(block)
            if not more or self._reader.finished:
                self._finish(0 if more else block.source_bytes, block.after)
                block.after = Position(self.source + 1)
            elif isinstance(self._stream, ReadAheadStream):
                file_at, file_bytes = self._stream.place(block.after.bytes)
                block.after = replace(block.after, file_at=file_at, file_bytes=file_bytes)
            if more:
                return True

    def endings(self) -> list[Ending]:
        """The endings of the inputs that ended since the last call."""
        endings, self._endings = self._endings, []
        return endings

    def compressed_position(self) -> int:
        """The number of stored bytes read so far, including all files before the start."""
        return self._compressed_before + (self._stream.compressed_position() if self._stream else 0)

    def close(self) -> None:
        """Close all files. No other thread may use this object afterwards."""
        if self._stream is not None:
            self._finish_stream()
        self.readahead.close()

    def _start_of(self, number: int) -> Position:
        return self.start if number == self.start.source else Position(number)

    def _open_readahead(self, number: int) -> ReadAheadStream | None:
        source = self._reading.sources[number]
        if source.opened is not None or FORMATS[source.format].seekable:
            return None
        return stream.open_readahead(
            source, self._start_of(number), self.readahead, self.budget.max_frame_bytes,
            self._reading.options.max_memory_bytes,
        )  # fmt: skip

    def _open(self, source: Source) -> None:
        reading, format_, start = self._reading, FORMATS[source.format], self._start_of(self.source)
        self._stream = self.readahead.take(self.source) or source.opened
        check_start = None if source.is_forced else self._check_start
        budget_bytes = self.budget.seekable_bytes
        if not format_.seekable:
            stream.skip(self._stream, start.bytes - start.file_bytes, start.bytes)
        opened = stream.open_seekable(source) if format_.seekable else self._stream
        self._reader = format_.reader(opened, source, reading, start, check_start, budget_bytes)
        self._stream = self._reader if format_.seekable else opened

    def _check_start(self, start: bytes) -> None:
        """Raise InputError if the current file is not text. Warn if much of it is invalid UTF-8."""
        name, why, share = self._reading.sources[self.source].name, why_not_text(start), share_invalid(start)
        if why is not None:
            raise not_text(name, why)
        if share > MAX_INVALID:
            self._n_warnings += 1
            if self._n_warnings <= MAX_WARNINGS:
                last = "; further files like this are not reported" if self._n_warnings == MAX_WARNINGS else ""
                warnings.warn(
                    f"{name}: {share:.0%} of the first {len(start)} bytes are not valid UTF-8; is the text in another"
                    f" encoding? `iconv -f LATIN1 -t UTF-8` converts Latin-1{last}",
                    InputWarning, stacklevel=1,
                )  # fmt: skip

    def _finish(self, unseen_bytes: int, at: Position) -> None:
        assert self._reader is not None
        self._endings.append(Ending(self.source, unseen_bytes, self._reader.ends_with_separator, at))
        self._finish_stream()

    def _finish_stream(self) -> None:
        assert self._stream is not None
        self._compressed_before += self._stream.compressed_position()
        self._stream.close()
        self._stream = self._reader = None
