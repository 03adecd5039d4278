"""ZstdFrames reads a .zst file to its end, in independent chunks.

python-zstandard does the decompression, but its reader does not detect a truncated file, so a FrameScanner follows
the bytes:

    RawFile ──▶ FrameSource (returns the bytes of one frame at a time) ─┬─▶ complete frames, several per chunk
                                                                        └─▶ a frame too large for memory: a stream

The decoder reads more input only after using all that it has, and zstd consumes the last byte of a frame only after it
has returned all output and verified the checksum. So an error is always in the current frame, and when the decoder
reads past the last byte of a frame, that frame is complete.
"""

from __future__ import annotations

from functools import partial

import zstandard

from pyunitok.corpus.frame_source import Frame, FrameSource, Group, window_bytes
from pyunitok.corpus.frames import MAX_WINDOW_BYTES, FrameHeader, FrameScanner
from pyunitok.corpus.raw_file import CHUNK_BYTES, RawFile
from pyunitok.corpus.readahead import STREAM_BYTES, Bytes, Chunk, spare_buffer
from pyunitok.corpus.small_frames import REUSED_WINDOW_BYTES
from pyunitok.errors import InputError

ONLY_FRAME_BYTES = 1 << 22  # a file that consists of one larger frame is streamed
GROUP_BYTES = 1 << 19  # no more frames are added to a chunk of this size
STEP_BYTES = 1 << 12  # bytes fed to the decoder of a large frame at a time


class ZstdFrames:
    """Produces chunks of one or more frames; verifies checksums and sizes.

    A frame larger than max_frame_bytes, compressed or decompressed, is streamed, as is a file of one long frame, which
    several threads cannot share. Windows of up to 2 GiB are supported.
    Memory: max_frame_bytes or, for a stream, the window of the frame.
    """

    def __init__(self, raw: RawFile, max_frame_bytes: int) -> None:
        self._raw = raw
        self._n_file_bytes = raw.n_bytes
        self._max_frame_bytes = max_frame_bytes
        self._source = FrameSource(raw)
        self._large: _LargeFrame | None = None
        self._large_at: int | None = None  # the offset of the large frame, until its first chunk has been made
        self._error: InputError | None = None  # an error to raise after the preceding chunks
        self._contexts: list[zstandard.ZstdDecompressor] = []  # idle decoders, at most one per thread

    def produce(self, spare: list[bytearray]) -> Chunk | None:
        """A chunk with complete frames that are not yet decompressed, or with the next bytes of a large frame."""
        while True:
            if self._large is not None:
                chunk = self._produce_large(self._large, spare)
                if chunk is not None:
                    return chunk
            frames = self._next_frames()
            if frames:
                work = partial(self._decompress, frames, spare)
                return Chunk(sum(frame.cost for frame in frames), frames[0].at, work=work)
            if self._error is not None:
                raise self._error
            if self._large is None:
                return None

    def _produce_large(self, large: _LargeFrame, spare: list[bytearray]) -> Chunk | None:
        """The next bytes of a large frame; None at its end."""
        buffer = spare_buffer(spare, STREAM_BYTES)
        n = self.stream_into(memoryview(buffer)[:STREAM_BYTES])
        if n:
            frame_at, self._large_at = self._large_at, None
            return Chunk(STREAM_BYTES, frame_at, memoryview(buffer)[:n], buffer=buffer)
        spare.append(buffer)
        return None

    def _next_frames(self) -> list[Frame | Group]:
        """The next frames that are not large: the rest of a chunk of the file, or one frame that ends in a later chunk.
        """
        frames: list[Frame | Group] = []
        n_bytes = 0
        while n_bytes < GROUP_BYTES and not (frames and self._source.at_chunk_end) and self._error is None:
            try:
                frame = self._next_frame(GROUP_BYTES - n_bytes)
            except InputError as error:
                self._error = error
                break
            if frame is None:
                break
            frames.append(frame)
            n_bytes += max(frame.most_bytes, len(frame.data))
        return frames

    def stream_into(self, buffer: memoryview) -> int | None:
        if self._large is None:
            return None
        n = self._large.readinto(buffer)
        if n < len(buffer):
            self._large.close()
            self._large = None
        return n if n else None

    def place(self, n_bytes: int) -> tuple[int, int] | None:
        return None

    def compressed_position(self) -> int:
        return self._source.position

    def close(self) -> None:
        if self._large is not None:
            self._large.close()
        self._raw.close()

    def _next_frame(self, max_small_bytes: int) -> Frame | Group | None:
        """The next frame that is not large, or small frames of about max_small_bytes. None at the end, or if the next
        frame is large and was put into self._large."""
        source, chunks, n_bytes = self._source, list[bytes](), 0
        while True:
            group = source.take_small(max_small_bytes)
            if group is not None:
                if group.data:
                    return group
                continue
            chunk = source.read(CHUNK_BYTES)
            if not chunk:
                return None
            chunks.append(chunk)
            n_bytes += len(chunk)
            header = source.header
            if header is not None and header.skippable:
                chunks, n_bytes = [], 0
            elif self._is_too_large(n_bytes) or self._is_only_frame():
                self._large, self._large_at = _LargeFrame(source, chunks, self._raw.name), source.frame_at
                return None
            elif source.frame_done:
                assert header is not None
                return Frame(b"".join(chunks), source.frame_at, source.most_bytes, header)

    def _is_too_large(self, n_compressed: int) -> bool:
        most_bytes = self._source.most_bytes + window_bytes(self._source.header)
        return max(n_compressed, most_bytes) > self._max_frame_bytes

    def _is_only_frame(self) -> bool:
        """Whether the file is a single frame that is too long to decompress at once."""
        source = self._source
        whole = source.frame_done and source.frame_at == 0 and source.position == self._n_file_bytes
        return whole and source.most_bytes > ONLY_FRAME_BYTES

    def _decompress(
        self, frames: list[Frame | Group], spare: list[bytearray]
    ) -> tuple[Bytes, InputError | None, bytearray | None]:
        """(bytes, error, buffer) of some frames, up to the first corrupt frame. Thread-safe.

        A single frame is decompressed into a spare buffer.
        """
        try:
            context = self._contexts.pop()
        except IndexError:
            context = _new_context()
        if len(frames) == 1 and isinstance(frame := frames[0], Frame) and frame.header.content_bytes:
            buffer = spare_buffer(spare, frame.header.content_bytes + 1)
            data = _decompress_into(buffer, context, frame)
            if data is not None:
                self._contexts.append(context)
                return data, None, buffer
        parts: list[Bytes] = []
        error = None
        for frame in frames:
            try:
                if isinstance(frame, Group):
                    self._decompress_group(context, frame, parts)
                else:
                    parts.append(_decompress_frame(context, frame, self._raw.name))
            except InputError as failure:
                error = failure
                break
            if isinstance(frame, Frame) and window_bytes(frame.header) > REUSED_WINDOW_BYTES:
                context = _new_context()
        self._contexts.append(context)
        return parts[0] if len(parts) == 1 else b"".join(parts), error, None

    def _decompress_group(self, context: zstandard.ZstdDecompressor, group: Group, parts: list[Bytes]) -> None:
        """Append the bytes of the frames of a group to `parts`. Raises InputError at the first corrupt frame."""
        buffer = memoryview(bytearray(group.most_bytes + 1))  # one extra byte, so that all frames are read to the end
        try:
            n_bytes = context.stream_reader(group.data, read_across_frames=True).readinto(buffer)
        except zstandard.ZstdError:
            for frame in group.frames():
                parts.append(_decompress_frame(context, frame, self._raw.name))
            return
        # The buffer may be far too large if sizes were unknown.
        parts.append(buffer[:n_bytes] if 2 * n_bytes >= len(buffer) else bytes(buffer[:n_bytes]))


def _new_context() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)


def _decompress_into(buffer: bytearray, context: zstandard.ZstdDecompressor, frame: Frame) -> memoryview | None:
    """The bytes of a frame of known size; None if it is corrupt. The buffer must be at least 1 byte larger than that
    size; otherwise the decoder does not check the end of the frame."""
    try:
        n_bytes = context.stream_reader(frame.data).readinto(buffer)
    except zstandard.ZstdError:
        return None
    return memoryview(buffer)[:n_bytes] if n_bytes == frame.header.content_bytes else None


def _decompress_frame(context: zstandard.ZstdDecompressor, frame: Frame, name: str) -> bytes:
    """The bytes of a frame. Raises InputError if it is corrupt."""
    try:
        # decompress() ignores the content of a frame that claims to be empty.
        if frame.header.content_bytes != 0:
            return context.decompress(frame.data, frame.most_bytes, allow_extra_data=False)
        reason = "decoder and headers disagree on where it ends"
    except zstandard.ZstdError as error:
        reason = str(error)
    return _decompress_blocks(frame, name, reason)


def _decompress_blocks(frame: Frame, name: str, reason: str) -> bytes:
    """Decompress a frame block by block to find the corrupt block; `reason` is the error if all blocks are valid."""
    scanner, decoder = FrameScanner(), _new_context().decompressobj()
    parts: list[bytes] = []
    at = 0
    while not scanner.done:
        block_at = frame.at + scanner.block_at
        begin, at = at, scanner.feed(frame.data, at, 1)
        try:
            parts.append(decoder.decompress(frame.data[begin:at]))
        except zstandard.ZstdError as error:
            raise _corrupt(name, block_at, frame.at, str(error)) from error
    n_bytes = sum(map(len, parts))
    _check_size(name, frame.at, frame.header, n_bytes)
    if not decoder.eof or n_bytes > frame.most_bytes:
        raise _corrupt(name, frame.at, frame.at, reason)
    return b"".join(parts)


class _FrameFile:
    """A file of one frame that returns a few blocks at a time: `chunks`, then the next bytes of the source.

    block_at  offset in the file of the first block of the last read
    """

    def __init__(self, source: FrameSource, chunks: list[bytes]) -> None:
        self.block_at = source.frame_at
        self._source = source
        self._frame_at = source.frame_at
        self._scanner = FrameScanner()
        self._chunks = chunks[::-1]
        self._chunk = b""
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._scanner.done

    def read(self, n_bytes: int) -> bytes:
        if self._scanner.done:
            return b""
        if self._at == len(self._chunk):
            self._chunk = self._chunks.pop() if self._chunks else self._source.read(CHUNK_BYTES)
            self._at = 0
        self.block_at = self._frame_at + self._scanner.block_at
        n_wanted = n_bytes if self._scanner.header is not None else 1  # first only the header
        begin, self._at = self._at, self._scanner.feed(self._chunk, self._at, n_wanted)
        return self._chunk[begin : self._at]


class _LargeFrame:
    """One frame as a stream."""

    def __init__(self, source: FrameSource, chunks: list[bytes], name: str) -> None:
        assert source.header is not None
        self._header, self._frame_at = source.header, source.frame_at
        self._name = name
        self._n_bytes = 0
        self._file = _FrameFile(source, chunks)  # a separate object to avoid a reference cycle with the decoder
        self._reader = _new_context().stream_reader(
            self._file,  # type: ignore[arg-type]
            read_size=STEP_BYTES,
            read_across_frames=False,
            closefd=False,
        )

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer unless the frame ends first."""
        n = 0
        while n < len(buffer):
            try:
                n_read = self._reader.readinto(buffer[n:])
            except zstandard.ZstdError as error:
                raise _corrupt(self._name, self._file.block_at, self._frame_at, str(error)) from error
            if n_read == 0:
                if not self._file.at_end:
                    reason = "decoder and headers disagree on where it ends"
                    raise _corrupt(self._name, self._file.block_at, self._frame_at, reason)
                _check_size(self._name, self._frame_at, self._header, self._n_bytes)
                break
            n += n_read
            self._n_bytes += n_read
        return n

    def close(self) -> None:
        self._reader.close()  # type: ignore[no-untyped-call]


def _check_size(name: str, frame_at: int, header: FrameHeader, n_bytes: int) -> None:
    """Check the content size, because the decoder does not check it if the last block is empty."""
    if header.content_bytes not in (None, n_bytes):
        stated = header.content_bytes
        raise _corrupt(name, frame_at, frame_at, f"its header states {stated} bytes; the frame has {n_bytes}")


def _corrupt(name: str, at: int, frame_at: int, reason: str) -> InputError:
    """The error for corrupt data. `at` is the offset of the corrupt block or, if that is unknown, of its frame."""
    block = "" if at == frame_at else "in the block that begins here, "
    return InputError(
        f"{name}: byte {at}: corrupt zstd data, {block}in the frame that begins at byte {frame_at} ({reason})"
    )
