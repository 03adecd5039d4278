"""ZstdFrames: a .zst file to its true end, whatever frames it is made of, in pieces that need nothing from each other.

python-zstandard does the decompression, but its reader ends alike where a file ends and where a file was cut
short. So a FrameScanner follows the bytes on their way to it and tells the two apart:

    RawFile ──▶ FrameSource (scans, hands out one frame's bytes at a time) ─┬─▶ whole frames, some to a piece
                                                                            └─▶ a frame too large to hold: a stream

The decoder asks for more only when it has taken all it was given, and zstd keeps a frame's last byte back
until its output is out and its checksum and size are verified. So whatever it complains of lies in the frame that it
was given, and when it asks for more after the last byte of a frame, that frame is complete for it too.
"""

from __future__ import annotations

from dataclasses import dataclass

import zstandard

from pyunitok.corpus.ahead import STREAM_BYTES, Piece, spare_buffer
from pyunitok.corpus.frames import MAX_WINDOW_BYTES, FrameError, FrameHeader, FrameScanner
from pyunitok.corpus.stream import CHUNK_BYTES, RawFile
from pyunitok.errors import InputError

KEPT_WINDOW_BYTES = 1 << 23
ONLY_FRAME_BYTES = 1 << 22
GROUP_BYTES = 1 << 19  # frames go into one piece until they hold so much


class FrameSource:
    """The file that the decoder reads from: the frames one by one, checked in form.

    frame_at  where in the file the frame under way begins
    """

    def __init__(self, raw: RawFile) -> None:
        self.frame_at = raw.position
        self._raw = raw
        self._chunk = b""  # read from the file; from _at on not yet scanned
        self._at = 0
        self._scanner = FrameScanner()
        self._checked = False  # the header of the frame under way is one that can be read

    @property
    def frame_done(self) -> bool:
        """The last byte of the frame under way has been handed out."""
        return self._scanner.done

    @property
    def header(self) -> FrameHeader | None:
        """Of the frame under way, once its bytes have been handed out."""
        return self._scanner.header

    @property
    def most_bytes(self) -> int:
        """What the frame under way decompresses to at most, as far as it has been handed out."""
        return self._scanner.header.most_bytes(self._scanner.n_blocks) if self._scanner.header else 0

    @property
    def at_chunk_end(self) -> bool:
        """The next bytes must be read from the file first."""
        return self._at == len(self._chunk)

    @property
    def position(self) -> int:
        """Bytes of the file behind us."""
        return self._raw.position - len(self._chunk) + self._at

    def read(self, n_bytes: int) -> bytes:
        """The next bytes of the frame under way or, where that is done, of the next one; none at the end.

        n_bytes is a wish. Raises InputError where the file is no sequence of whole frames, or needs what we
        have not.
        """
        if self._scanner.done:
            self._scanner = FrameScanner()
            self._checked = False
            self.frame_at = self.position
        if self._at == len(self._chunk):
            self._chunk = self._raw.read(CHUNK_BYTES)
            self._at = 0
            if not self._chunk:
                self._check_end()
                return b""
        begin = self._at
        try:
            self._at = self._scanner.feed(self._chunk, begin)
        except FrameError as error:
            raise InputError(f"{self._raw.name}: byte {self.frame_at + error.at}: {error}") from error
        if not self._checked and self._scanner.header is not None:
            self._check_header(self._scanner.header)
        return self._chunk[begin : self._at]

    def _check_header(self, header: FrameHeader) -> None:
        where = f"{self._raw.name}: byte {self.frame_at}: the zstd frame that begins here needs"
        if header.dictionary_id:
            raise InputError(
                f"{where} dictionary {header.dictionary_id}; decompress it first: zstd -d -D DICTIONARY"
            )
        if header.window_bytes > MAX_WINDOW_BYTES:
            raise InputError(f"{where} a window of {header.window_bytes} bytes; at most 2 GiB can be read")
        self._checked = True

    def _check_end(self) -> None:
        if self._scanner.n_bytes:
            raise InputError(
                f"{self._raw.name}: byte {self.position}: the file ends inside the zstd frame that begins at"
                f" byte {self.frame_at}"
            )
        if self.position == 0:
            raise InputError(f"{self._raw.name}: byte 0: empty; a zstd file has at least one frame")


@dataclass(frozen=True)
class _Frame:
    """A whole frame: its bytes, where they begin in the file, and how many bytes it gives at most."""

    data: bytes
    at: int
    most_bytes: int
    header: FrameHeader


class ZstdFrames:
    """Makes pieces of one frame or many, skippable ones anywhere, windows up to 2 GiB, checksums verified.

    A frame that takes more than max_frame_bytes, compressed or not, is decompressed as a stream; so is a file of one
    long frame, which no other thread could help with.
    Memory: max_frame_bytes; in a stream the frame's window.
    """

    def __init__(self, raw: RawFile, max_frame_bytes: int) -> None:
        self._raw = raw
        self._n_file_bytes = raw.n_bytes
        self._max_frame_bytes = max_frame_bytes
        self._source = FrameSource(raw)
        self._large: _LargeFrame | None = None
        self._large_at: int | None = None  # where that begins, until a piece has said so
        self._error: InputError | None = None  # behind the frames that have been made into pieces
        self._contexts: list[zstandard.ZstdDecompressor] = []  # idle; a thread each

    def produce(self, spare: list[bytearray]) -> Piece | None:
        """Some whole frames, not yet decompressed; or the next bytes of a large one."""
        if self._large is not None:
            buffer = spare_buffer(spare)
            n = self.stream_into(memoryview(buffer))
            if n:
                frame_at, self._large_at = self._large_at, None
                return Piece(STREAM_BYTES, frame_at, memoryview(buffer)[:n], buffer=buffer)
            spare.append(buffer)
        frames: list[_Frame] = []
        n_bytes = 0
        while n_bytes < GROUP_BYTES and not (frames and self._source.at_chunk_end) and self._error is None:
            try:
                frame = self._next_frame()
            except InputError as error:
                self._error = error
                break
            if frame is None:
                break
            frames.append(frame)
            n_bytes += max(frame.most_bytes, len(frame.data))
        if frames:
            cost = sum(len(frame.data) + frame.most_bytes + _window_bytes(frame.header) for frame in frames)
            return Piece(cost, frames[0].at, work=lambda: self._decompress(frames))
        if self._error is not None:
            raise self._error
        return self.produce(spare) if self._large is not None else None

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

    def _next_frame(self) -> _Frame | None:
        """The next frame that can be held, or None: at the end, or before a frame that is to be _large."""
        source, chunks, n_bytes = self._source, list[bytes](), 0
        while True:
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
                return _Frame(b"".join(chunks), source.frame_at, source.most_bytes, header)

    def _is_too_large(self, n_compressed: int) -> bool:
        most_bytes = self._source.most_bytes + _window_bytes(self._source.header)
        return max(n_compressed, most_bytes) > self._max_frame_bytes

    def _is_only_frame(self) -> bool:
        """The frame handed out is all of the file, and so long that it should not be waited for."""
        source = self._source
        whole = source.frame_done and source.frame_at == 0 and source.position == self._n_file_bytes
        return whole and source.most_bytes > ONLY_FRAME_BYTES

    def _decompress(self, frames: list[_Frame]) -> tuple[bytes, InputError | None]:
        """The bytes of some frames; up to the first that is broken, and the error. Any number of threads at once."""
        try:
            context = self._contexts.pop()
        except IndexError:
            context = _new_context()
        parts: list[bytes] = []
        error = None
        for frame in frames:
            try:
                parts.append(_decompress_frame(context, frame))
            except zstandard.ZstdError as failure:
                error = _corrupt(self._raw.name, frame.at + len(frame.data), frame.at, str(failure))
                error.__cause__ = failure
                break
            if _window_bytes(frame.header) > KEPT_WINDOW_BYTES:
                context = _new_context()
        self._contexts.append(context)
        return parts[0] if len(parts) == 1 else b"".join(parts), error


def _new_context() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)


def _window_bytes(header: FrameHeader | None) -> int:
    """What the decoder holds besides the output, and keeps: a window, where it does not know how long the output is."""
    return header.window_bytes if header is not None and header.content_bytes is None else 0


def _decompress_frame(context: zstandard.ZstdDecompressor, frame: _Frame) -> bytes:
    if frame.header.content_bytes != 0:
        return context.decompress(frame.data, frame.most_bytes, allow_extra_data=False)
    one = context.decompressobj()  # decompress() does not look into a frame that says it is empty
    data = one.decompress(frame.data)
    if data or not one.eof:
        raise zstandard.ZstdError("not as empty as it says")
    return b""


class _FrameFile:
    """What the decoder reads one frame from: the bytes already handed out, then those that the source still has."""

    def __init__(self, source: FrameSource, chunks: list[bytes]) -> None:
        self._source = source
        self._chunks = chunks[::-1]

    @property
    def at_end(self) -> bool:
        return not self._chunks and self._source.frame_done

    def read(self, n_bytes: int) -> bytes:
        if self._chunks:
            return self._chunks.pop()
        return b"" if self._source.frame_done else self._source.read(n_bytes)


class _LargeFrame:
    """One frame as a stream."""

    def __init__(self, source: FrameSource, chunks: list[bytes], name: str) -> None:
        self._source = source
        self._name = name
        self._file = _FrameFile(source, chunks)  # apart from this object: in a circle the decoder would live on
        self._reader = _new_context().stream_reader(
            self._file,  # type: ignore[arg-type]
            read_size=CHUNK_BYTES,
            read_across_frames=False,
            closefd=False,
        )

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer, short only at the end of the frame."""
        n = 0
        while n < len(buffer):
            try:
                n_read = self._reader.readinto(buffer[n:])
            except zstandard.ZstdError as error:
                raise _corrupt(self._name, self._source.position, self._source.frame_at, str(error)) from error
            if n_read == 0:
                if not self._file.at_end:
                    reason = "decoder and headers disagree on where it ends"
                    raise _corrupt(self._name, self._source.position, self._source.frame_at, reason)
                break
            n += n_read
        return n

    def close(self) -> None:
        self._reader.close()  # type: ignore[no-untyped-call]


def _corrupt(name: str, at: int, frame_at: int, reason: str) -> InputError:
    return InputError(
        f"{name}: byte {at}: corrupt zstd data, here or before, in the frame that begins at byte {frame_at} ({reason})"
    )
