"""FrameScanner finds the end of a zstd frame from its headers alone (RFC 8878, section 3.1).

    zstd frame      magic 28 B5 2F FD | descriptor 1 | window 0-1 | dictionary id 0-4 | content size 0-8
                    | blocks: header 3 (bit 0: last, bits 1-2: type, bits 3-23: size), content
                    | checksum 0 or 4
    skippable frame magic 5x 2A 4D 18 | size 4 | content

When a zstd decoder runs out of input, it cannot tell whether the last frame is complete; FrameScanner can. It parses 3
bytes of each block (at most 128 KiB decompressed) and does no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE_MAGICS = tuple(bytes([0x50 + low]) + b"\x2a\x4d\x18" for low in range(16))
MAX_WINDOW_BYTES = 1 << 31  # `zstd --long=31`; the maximum that decoders support

MAX_BLOCK_BYTES = 1 << 17  # the maximum decompressed size of a block

_DICTIONARY_ID_BYTES = (0, 1, 2, 4)
_RLE, _RESERVED = 1, 3  # block types


class FrameError(ValueError):
    """These bytes are not a valid zstd frame; `at` is the offset of the error in the frame."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True)
class FrameHeader:
    """The header of a frame."""

    skippable: bool
    window_bytes: int = 0
    content_bytes: int | None = None  # the decompressed size; None if the header does not state it
    dictionary_id: int = 0
    has_checksum: bool = False
    skip_bytes: int = 0  # the content size of a skippable frame

    def most_bytes(self, n_blocks: int) -> int:
        """An upper bound on the decompressed size of a frame of n_blocks blocks."""
        if self.content_bytes is not None:
            return self.content_bytes
        return n_blocks * min(MAX_BLOCK_BYTES, self.window_bytes)


def header_size(start: bytes) -> int:
    """The size of the header that begins with `start`, or a number above len(start) if more bytes determine the size.

    Raises FrameError if no frame begins with `start`.
    """
    if start[:4] != ZSTD_MAGIC:
        if start[:4] in SKIPPABLE_MAGICS:
            return 8
        if not any(magic.startswith(start[:4]) for magic in (ZSTD_MAGIC, *SKIPPABLE_MAGICS)):
            raise FrameError("no zstd frame begins here", 0)
        return 5
    if len(start) < 5:
        return 5
    descriptor = start[4]
    single_segment = descriptor >> 5 & 1
    content_flag = descriptor >> 6
    content_size_bytes = 1 << content_flag if content_flag or single_segment else 0
    return 5 + (1 - single_segment) + _DICTIONARY_ID_BYTES[descriptor & 3] + content_size_bytes


def parse_header(start: bytes) -> FrameHeader:
    """The header at the beginning of `start`, which has at least header_size(start) bytes. Raises FrameError."""
    size = header_size(start)
    if start[:4] != ZSTD_MAGIC:
        return FrameHeader(True, skip_bytes=int.from_bytes(start[4:8], "little"))
    descriptor = start[4]
    if descriptor & 8:
        raise FrameError("reserved bit set in the frame header", 4)
    at = 5
    window = None
    if not descriptor >> 5 & 1:
        base = 1 << (10 + (start[at] >> 3))
        window = base + base // 8 * (start[at] & 7)
        at += 1
    id_end = at + _DICTIONARY_ID_BYTES[descriptor & 3]
    content = None
    if size > id_end:
        # Sizes below 256 take one byte, so the two-byte field stores the size minus 256.
        content = int.from_bytes(start[id_end:size], "little") + (256 if size - id_end == 2 else 0)
    window = content or 0 if window is None else window
    return FrameHeader(False, window, content, int.from_bytes(start[at:id_end], "little"), bool(descriptor & 4))


class FrameScanner:
    """Scans one frame, fed in chunks of any size.

    header    the FrameHeader, once all its bytes have been fed
    done      whether the last byte of the frame has been fed
    n_bytes   bytes of the frame fed so far
    n_blocks  block headers fed so far
    block_at  offset in the frame of the block that contains the next byte, or of that byte if it is not in a block
    """

    def __init__(self) -> None:
        self.header: FrameHeader | None = None
        self.done = False
        self.n_bytes = self.n_blocks = self._block_at = 0
        self._skip = 0  # bytes of content to skip
        self._part = b""  # the beginning of a header that is split across chunks
        self._last = False  # whether the frame ends after the skipped bytes

    @property
    def block_at(self) -> int:
        inside = self._skip or (self.header is not None and self._part)
        return self._block_at if inside else self.n_bytes

    def feed(self, chunk: bytes, at: int = 0, n_wanted: int | None = None) -> int:
        """Scan chunk[at:], the next bytes of the file. Returns the index in chunk where the frame ends, or len(chunk).

        n_wanted: also stop at the first block boundary after this many bytes. Raises FrameError.
        """
        begin = at
        stop = len(chunk) if n_wanted is None else min(len(chunk), at + n_wanted)
        try:
            while not self.done:
                if self._skip > len(chunk) - at:
                    self._skip -= len(chunk) - at
                    at = len(chunk)
                    break
                at += self._skip
                self._skip = 0
                if self._last:
                    self.done = True
                elif at >= stop:
                    break
                elif self.header is not None and not self._part and len(chunk) - at >= 3:
                    at = self._blocks(chunk, at, stop, self.n_bytes - begin)
                elif at < len(chunk):
                    at = self._header_piece(chunk, at, self.n_bytes - begin)
        except FrameError as error:
            error.at += self.n_bytes - begin
            raise
        self.n_bytes += at - begin
        return at

    def skip_content(self) -> int:
        """Skip content. Returns the number of bytes that the caller need not read; they count as fed."""
        n_bytes, self._skip = self._skip, 0
        self.n_bytes += n_bytes
        self.done |= self._last
        return n_bytes

    def _blocks(self, chunk: bytes, at: int, stop: int, base: int) -> int:
        """Skip the blocks that begin before `stop` and whose headers are complete in chunk. This is the hot loop.
        chunk[i] is byte base + i of the frame. Returns the index in chunk where to continue."""
        end = min(len(chunk) - 3, stop - 1)
        block_at = at
        while at <= end:
            header = chunk[at] | chunk[at + 1] << 8 | chunk[at + 2] << 16
            kind = header >> 1 & 3
            if kind == _RESERVED:
                raise FrameError("reserved block type", at)
            self.n_blocks += 1
            block_at = at
            at += 3 + (1 if kind == _RLE else header >> 3)
            if header & 1:
                assert self.header is not None
                self._last = True
                at += 4 * self.header.has_checksum
                break
        self._block_at = base + block_at
        if at > len(chunk):
            self._skip = at - len(chunk)
            at = len(chunk)
        return at

    def _header_piece(self, chunk: bytes, at: int, base: int) -> int:
        """Complete and parse a frame header, or a block header that is split across chunks."""
        part = self._part
        start = at - len(part)
        try:
            size = header_size(part) if self.header is None else 3
            more = chunk[at : at + size - len(part)]
            at += len(more)
            part += more
            if self.header is not None:
                self._part = part if len(part) < size else b""
                self._block_at = base + start
                if not self._part:
                    self._blocks(part, 0, 3, base + start)
            else:
                size = header_size(part)
                self._part = part if len(part) < size else b""
                if not self._part:
                    self.header = parse_header(part)
                    self._skip, self._last = self.header.skip_bytes, self.header.skippable
        except FrameError as error:
            error.at += start
            raise
        return at
