"""Finds runs of small zstd frames, because a file may have millions of them, one per document.

    chunk   … │ frame │ frame │ empty │ skippable │ frame │ a frame of two blocks …
              ╰ span ─┴ span ─╯                   ╰ span ─╯ end

Three bytes determine the end of a one-block frame, so one loop finds such frames without a FrameScanner for each.
FrameScanner (frames.py) handles unusual and invalid frames. Empty and skippable frames are not decompressed; their
headers, and the checksums of empty frames, are checked here.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyunitok.corpus.frames import MAX_BLOCK_BYTES, MAX_WINDOW_BYTES, ZSTD_MAGIC, header_size

REUSED_WINDOW_BYTES = 1 << 23  # a decoder with a larger window is not reused

_RAW, _RLE, _COMPRESSED = 0, 1, 2
_EMPTY_CHECKSUM = b"\x99\xe9\xd8\x51"  # the low half of the XXH64 of an empty string


def _window_byte(n_bytes: int) -> int:
    """The descriptor of a window of n_bytes; n_bytes must be a power of two."""
    return (n_bytes.bit_length() - 11) << 3


_MAX_WINDOW = _window_byte(MAX_WINDOW_BYTES)
_REUSED_WINDOW = _window_byte(REUSED_WINDOW_BYTES)


# The header size for each descriptor byte; 0 if the reserved bit is set or a dictionary is required.
_HEADER_SIZES = [0 if d & 0b1011 else header_size(ZSTD_MAGIC + bytes([d])) for d in range(256)]


@dataclass
class SmallFrames:
    """The result of follow(). All offsets are in the chunk.

    begins      the start of each frame that is not skippable
    spans       (begin, end) of each frame that is neither skippable nor empty
    end         the end of the last frame
    most_bytes  an upper bound on the decompressed size of the spans
    """

    begins: list[int]
    spans: list[tuple[int, int]]
    end: int
    most_bytes: int


def follow(chunk: bytes, at: int, max_bytes: int) -> SmallFrames:
    """The complete small frames in chunk[at:], up to the first frame that is not small, or up to about max_bytes of
    decompressed data."""
    begins: list[int] = []
    spans: list[tuple[int, int]] = []
    n, most_bytes, sizes = len(chunk), 0, _HEADER_SIZES
    while at + 9 <= n and most_bytes < max_bytes:  # only skippable frames are shorter
        if not chunk.startswith(ZSTD_MAGIC, at):
            if not (chunk[at] & 0xF0 == 0x50 and chunk.startswith(b"\x2a\x4d\x18", at + 1)):
                break
            end = at + 8 + int.from_bytes(chunk[at + 4 : at + 8], "little")
            if end > n:
                break
            at = end
            continue
        descriptor = chunk[at + 4]
        block = at + sizes[descriptor]
        if block == at or block + 3 > n:
            break
        header = chunk[block] | chunk[block + 1] << 8 | chunk[block + 2] << 16
        kind, size = header >> 1 & 3, header >> 3
        end = block + 3 + (1 if kind == _RLE else size) + (descriptor & 4)
        if not header & 1 or kind > _COMPRESSED or end > n or size > MAX_BLOCK_BYTES:
            break
        window = 0 if descriptor & 0x20 else chunk[at + 5]
        n_content_at = at + (5 if descriptor & 0x20 else 6)
        known = n_content_at < block
        most = MAX_BLOCK_BYTES if kind == _COMPRESSED else size
        if known:
            n_content = int.from_bytes(chunk[n_content_at:block], "little") + (256 if block - n_content_at == 2 else 0)
            if n_content > most or (kind != _COMPRESSED and n_content != size) or (n_content == 0) != (size == 0):
                break
            most = n_content
        if size == 0 and kind == _RAW:
            if window > _MAX_WINDOW or (descriptor & 4 and chunk[end - 4 : end] != _EMPTY_CHECKSUM):
                break
        elif size == 0 or window > _REUSED_WINDOW:
            break
        else:
            most_bytes += most
            spans.append((at, end))
        begins.append(at)
        at = end
    return SmallFrames(begins, spans, at, most_bytes)
