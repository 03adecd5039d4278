"""FrameSource reads a .zst file frame by frame and checks the headers. Frame and Group contain complete frames.

    RawFile ──▶ chunk ──▶ FrameScanner, or follow() for many small frames ──▶ bytes, to the end of the frame
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyunitok.corpus.frames import MAX_WINDOW_BYTES, FrameError, FrameHeader, FrameScanner
from pyunitok.corpus.raw_file import CHUNK_BYTES, RawFile
from pyunitok.corpus.small_frames import SmallFrames, follow
from pyunitok.errors import InputError


def window_bytes(header: FrameHeader | None) -> int:
    """The memory of a decoder in addition to its output: the window, unless the frame states its content size."""
    return header.window_bytes if header is not None and header.content_bytes is None else 0


@dataclass(frozen=True)
class Frame:
    """A complete frame: its bytes, its offset in the file, and an upper bound on its decompressed size."""

    data: bytes
    at: int
    most_bytes: int
    header: FrameHeader

    @property
    def cost(self) -> int:
        return len(self.data) + self.most_bytes + window_bytes(self.header)


class Group:
    """Adjacent small frames, decompressed together."""

    def __init__(self, chunk: bytes, base: int, found: SmallFrames) -> None:
        self.most_bytes = found.most_bytes
        self.data = b"".join([chunk[begin:end] for begin, end in found.spans])
        self.at = base + found.spans[0][0] if found.spans else 0
        self._places = [(base + begin, end - begin) for begin, end in found.spans]  # (offset in the file, size)

    @property
    def cost(self) -> int:
        return len(self.data) + self.most_bytes

    def frames(self) -> Iterator[Frame]:
        """The frames, one at a time."""
        begin = 0
        for file_at, n_bytes in self._places:
            data, scanner = self.data[begin : begin + n_bytes], FrameScanner()
            scanner.feed(data)
            assert scanner.done and scanner.header is not None
            yield Frame(data, file_at, scanner.header.most_bytes(scanner.n_blocks), scanner.header)
            begin += n_bytes


class FrameSource:
    """Reads a file for a decoder, frame by frame.

    frame_at  the offset of the current frame in the file
    """

    def __init__(self, raw: RawFile) -> None:
        self.frame_at = raw.position
        self._raw = raw
        self._chunk = b""  # bytes read from the file, scanned up to _at
        self._at = 0
        self._scanner = FrameScanner()
        self._checked = False  # whether the header of the current frame has been checked

    @property
    def frame_done(self) -> bool:
        """Whether the last byte of the current frame has been returned."""
        return self._scanner.done

    @property
    def header(self) -> FrameHeader | None:
        """The header of the current frame, once its bytes have been returned."""
        return self._scanner.header

    @property
    def most_bytes(self) -> int:
        """An upper bound on the decompressed size of the returned part of the current frame."""
        return self._scanner.header.most_bytes(self._scanner.n_blocks) if self._scanner.header else 0

    @property
    def at_chunk_end(self) -> bool:
        """Whether all bytes read from the file have been returned."""
        return self._at == len(self._chunk)

    @property
    def position(self) -> int:
        """The offset of the next byte in the file."""
        return self._raw.position - len(self._chunk) + self._at

    def read(self, n_bytes: int) -> bytes:
        """The next bytes of the current frame or, after its end, of the next one; empty at the end of the file.

        n_bytes is ignored. Raises InputError if the file is not a sequence of complete, supported frames.
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

    def take_small(self, max_bytes: int) -> Group | None:
        """The next small frames among the bytes already read from the file; None if there are none."""
        if not self._scanner.done:
            return None
        base, found = self.position - self._at, follow(self._chunk, self._at, max_bytes)
        if found.end == self._at:
            return None
        self._at = found.end
        return Group(self._chunk, base, found)

    def _check_header(self, header: FrameHeader) -> None:
        where = f"{self._raw.name}: byte {self.frame_at}: the zstd frame that begins here needs"
        if header.dictionary_id:
            raise InputError(f"{where} dictionary {header.dictionary_id}; run zstd -d -D DICTIONARY on the file")
        if header.window_bytes > MAX_WINDOW_BYTES:
            raise InputError(f"{where} a window of {header.window_bytes} bytes; the limit is 2 GiB")
        self._checked = True

    def _check_end(self) -> None:
        if self._scanner.n_bytes:
            raise InputError(
                f"{self._raw.name}: byte {self.position}: the file ends inside the zstd frame that begins at"
                f" byte {self.frame_at}"
            )
        if self.position == 0:
            raise InputError(f"{self._raw.name}: byte 0: empty; a zstd file must have at least one frame")
