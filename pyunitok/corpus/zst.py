"""ZstdStream: a .zst file to its true end, whatever frames it is made of.

python-zstandard does the decompression, but its reader ends alike where a file ends and where a file was cut
short. So a FrameScanner follows the bytes on their way to it and tells the two apart:

    RawFile ──▶ FrameSource (scans, hands out one frame's bytes at a time) ──▶ stream_reader ──▶ buffer

The decoder asks for more only when it has taken all it was given, and zstd keeps a frame's last byte back
until its output is out and its checksum and size are verified. So whatever it complains of lies in the frame
that is being handed out, and when it asks for more after the last frame, that frame is complete for it too.
"""

from __future__ import annotations

import zstandard

from pyunitok.corpus.frames import MAX_WINDOW_BYTES, FrameError, FrameHeader, FrameScanner
from pyunitok.corpus.stream import CHUNK_BYTES, RawFile
from pyunitok.errors import InputError


class FrameSource:
    """The file that the decoder reads from: the frames one by one, checked in form.

    frame_at  where in the file the frame under way begins
    drained   the decoder has taken all frames and asked for more
    """

    def __init__(self, raw: RawFile) -> None:
        self.frame_at = 0
        self.drained = False
        self._raw = raw
        self._chunk = b""  # read from the file; from _at on not yet scanned
        self._at = 0
        self._scanner = FrameScanner()
        self._checked = False  # the header of the frame under way is one that can be read

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
        self.drained = True


class ZstdStream:
    """One frame or many, skippable ones anywhere, windows up to 2 GiB, checksums verified.

    Memory: the largest window that a frame so far declares, and a chunk of the file.
    """

    def __init__(self, raw: RawFile) -> None:
        self.name = raw.name
        self._raw = raw
        self._source = FrameSource(raw)
        self._reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).stream_reader(
            self._source,  # type: ignore[arg-type]
            read_size=CHUNK_BYTES,
            read_across_frames=True,
            closefd=False,
        )

    def readinto(self, buffer: memoryview) -> int:
        n = 0
        while n < len(buffer):
            try:
                n_read = self._reader.readinto(buffer[n:])
            except zstandard.ZstdError as error:
                raise self._corrupt(str(error)) from error
            if n_read == 0:
                if not self._source.drained:
                    raise self._corrupt("decoder and headers disagree on where it ends")
                break
            n += n_read
        return n

    def compressed_position(self) -> int:
        return self._source.position

    def close(self) -> None:
        self._reader.close()  # type: ignore[no-untyped-call]
        self._raw.close()

    def _corrupt(self, reason: str) -> InputError:
        return InputError(
            f"{self.name}: byte {self._source.position}: corrupt zstd data, here or before, in the frame that"
            f" begins at byte {self._source.frame_at} ({reason})"
        )
