"""ZstdStream: a .zst file to its true end, whatever frames it is made of.

python-zstandard does the decompression, but its reader ends alike at the end of a frame and at the end of a file that was
cut short. So it is given one frame at a time, whose extent a FrameScanner reads off the headers:

    RawFile ──▶ FrameSource (scans, hands out one frame) ──▶ stream_reader ──▶ the caller's buffer

A frame is complete when the scanner has seen its last byte and the decoder has taken all of them and asks for more: zstd
keeps a frame's last byte back until its output is out, and has by then verified the checksum and the content size.
"""

from __future__ import annotations

from typing import Any

import zstandard

from pyunitok.corpus.frames import MAX_WINDOW_BYTES, FrameError, FrameHeader, FrameScanner
from pyunitok.corpus.stream import CHUNK_BYTES, RawFile
from pyunitok.errors import InputError


class FrameSource:
    """The file that the decoder reads from: the bytes of one frame, then nothing; next_frame() goes on to the next.

    frame_at  where in the file that frame begins
    drained   the decoder has taken the whole frame and asked for more
    """

    def __init__(self, raw: RawFile) -> None:
        self.frame_at = 0
        self.drained = False
        self._raw = raw
        self._chunk = b""  # read from the file; from self._at on not yet scanned
        self._at = 0
        self._scanner = FrameScanner()
        self._ready = b""  # scanned and not yet handed out: the frame's header

    @property
    def position(self) -> int:
        """Bytes of the file behind us."""
        return self._raw.position - (len(self._chunk) - self._at)

    def next_frame(self) -> FrameHeader | None:
        """The header of the next frame that holds data; None at the end of the file. Skippable ones are passed over."""
        while True:
            self.frame_at = self.position
            self.drained = False
            self._scanner = scanner = FrameScanner()
            ready = []
            while scanner.header is None or (scanner.header.skippable and not scanner.done):
                piece = self._scan()
                if not piece and scanner.n_bytes == 0:
                    return None
                if not piece:
                    raise self._truncated()
                if scanner.header is None or not scanner.header.skippable:
                    ready.append(piece)
            if not scanner.header.skippable:
                self._ready = b"".join(ready)
                return scanner.header

    def read(self, n_bytes: int) -> bytes:
        """The next bytes of the frame, more than n_bytes where they lie ready; none once all have been handed out."""
        if self._ready:
            ready, self._ready = self._ready, b""
            return ready
        if self._scanner.done:
            self.drained = True
            return b""
        piece = self._scan()
        if not piece:
            raise self._truncated()
        return piece

    def _scan(self) -> bytes:
        """The next bytes of the file that belong to the frame; none at the end of the file."""
        if self._at == len(self._chunk):
            self._chunk = self._raw.read(CHUNK_BYTES)
            self._at = 0
        begin = self._at
        try:
            self._at = self._scanner.feed(self._chunk, begin)
        except FrameError as error:
            raise InputError(f"{self._raw.name}: byte {self.frame_at + error.at}: {error}") from error
        if begin == 0 and self._at == len(self._chunk):
            return self._chunk
        return self._chunk[begin : self._at]

    def _truncated(self) -> InputError:
        return InputError(
            f"{self._raw.name}: byte {self.position}: the file ends inside the zstd frame that begins at byte"
            f" {self.frame_at}"
        )


class ZstdStream:
    """One frame or many, skippable ones anywhere, windows up to 2 GiB, checksums verified.

    Memory: the declared window of the frame under way, and some chunks of the file.
    """

    def __init__(self, raw: RawFile) -> None:
        self.name = raw.name
        self._raw = raw
        self._source = FrameSource(raw)
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        self._reader: Any = None  # of the frame under way
        self._content_bytes: int | None = None  # that the frame still owes, where it says

    def readinto(self, buffer: memoryview) -> int:
        n = 0
        while n < len(buffer):
            if self._reader is None and not self._next_frame():
                break
            try:
                n_read = self._reader.readinto(buffer[n:])
            except zstandard.ZstdError as error:
                raise self._corrupt(str(error)) from error
            n += n_read
            if self._content_bytes is not None:
                self._content_bytes -= n_read
            if n_read == 0:
                self._end_frame()
        return n

    def compressed_position(self) -> int:
        return self._source.position

    def close(self) -> None:
        self._reader = None
        self._raw.close()

    def _next_frame(self) -> bool:
        header = self._source.next_frame()
        if header is None:
            if self._source.position == 0:
                raise InputError(f"{self.name}: byte 0: empty; a zstd file has at least one frame")
            return False
        where = f"{self.name}: byte {self._source.frame_at}: the zstd frame that begins here needs"
        if header.dictionary_id:
            raise InputError(f"{where} dictionary {header.dictionary_id}; decompress it first: zstd -d -D DICTIONARY")
        if header.window_bytes > MAX_WINDOW_BYTES:
            raise InputError(f"{where} a window of {header.window_bytes} bytes; at most 2 GiB can be read")
        self._content_bytes = header.content_bytes
        self._reader = self._decompressor.stream_reader(
            self._source, read_size=CHUNK_BYTES, read_across_frames=False, closefd=False
        )
        return True

    def _end_frame(self) -> None:
        """The decoder gave nothing more; the scanner must agree that the frame is complete."""
        if not self._source.drained or self._content_bytes not in (None, 0):
            raise self._corrupt("decoder and headers disagree on where it ends")
        self._reader = None

    def _corrupt(self, reason: str) -> InputError:
        return InputError(
            f"{self.name}: byte {self._source.position}: corrupt zstd data in the frame that begins at byte"
            f" {self._source.frame_at} ({reason})"
        )
