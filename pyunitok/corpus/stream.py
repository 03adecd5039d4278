"""Opens a Source as a ByteStream of its decompressed bytes, or as a seekable file."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import BinaryIO

from pyunitok.corpus.block import ByteStream
from pyunitok.corpus.compressions import COMPRESSIONS
from pyunitok.corpus.position import Position
from pyunitok.corpus.range_cache import RangeCache
from pyunitok.corpus.raw_file import CHUNK_BYTES, RawFile
from pyunitok.corpus.readahead import ReadAhead, ReadAheadStream
from pyunitok.corpus.source import Source
from pyunitok.corpus.unchanged import Unchanged
from pyunitok.disk import remote
from pyunitok.disk.url import is_url
from pyunitok.errors import InputError

MAX_DECODER_BYTES = 1 << 30  # default memory limit of a decoder
ALONE_FRAME_BYTES = 1 << 20  # a single thread streams larger zstd frames


def decompressed(raw: RawFile, compression: str, max_memory_bytes: int = MAX_DECODER_BYTES) -> ByteStream:
    """The decompressed bytes of `raw`; `compression` is one of COMPRESSIONS."""
    return ReadAheadStream(COMPRESSIONS[compression].producer(raw, ALONE_FRAME_BYTES, max_memory_bytes), raw.name)


def open_raw(source: Source) -> RawFile:
    """The stored bytes of a source. Raises InputError if the file has changed since it was found."""
    raw = RawFile(source.address)
    try:
        raw.expect(None if source.is_range else source.size_bytes, source.mtime_ns)
    except InputError:
        raw.close()
        raise
    return raw


def open(source: Source, max_memory_bytes: int = MAX_DECODER_BYTES) -> ByteStream:
    """The decompressed bytes of a source, from its beginning. A pipe can be opened only once."""
    return source.opened or decompressed(open_raw(source), source.compression, max_memory_bytes)


def open_readahead(
    source: Source, start: Position, readahead: ReadAhead, max_frame_bytes: int,
    max_memory_bytes: int = MAX_DECODER_BYTES,
) -> ReadAheadStream:  # fmt: skip
    """The decompressed bytes of a source from `start` on. Idle threads may decompress them: see ReadAhead.claim."""
    raw = open_raw(source)
    try:
        if start.file_at:
            raw.begin_at(start.file_at)
        producer = COMPRESSIONS[source.compression].producer(raw, max_frame_bytes, max_memory_bytes)
        return ReadAheadStream(producer, raw.name, readahead, (start.file_at, start.file_bytes))
    except BaseException:
        raw.close()
        raise


def open_seekable(source: Source) -> BinaryIO | RangeCache:
    """The stored file of a source, for random access."""
    try:
        if not is_url(source.path):
            with contextlib.ExitStack() as stack:  # closes the file after an error
                local = stack.enter_context(Path(source.path).open("rb"))
                Unchanged(local, source.name).expect(source.size_bytes, source.mtime_ns)
                stack.pop_all()
            return local
        file = remote.open_file(source.address)
    except OSError as error:
        raise InputError(f"{source.name}: cannot be opened: {error.strerror}") from error
    if not file.seekable():
        file.close()
        raise InputError(f"{source.name}: the server does not support range requests; download the file first")
    return RangeCache(io.BufferedReader(file, 1 << 16))


def skip(stream: ByteStream, n_bytes: int, position: int) -> None:
    """Read and discard n_bytes, up to `position` of the text. Raises InputError if the text ends earlier."""
    buffer = memoryview(bytearray(min(n_bytes, CHUNK_BYTES)))
    n_left = n_bytes
    while n_left:
        n_read = stream.readinto(buffer[:n_left])
        if n_read == 0:
            raise InputError(
                f"{stream.name}: the text ends before byte {position}, where the run resumes; --overwrite starts again"
            )
        n_left -= n_read

