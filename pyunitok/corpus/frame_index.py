"""Finds where the frames of a .zst file begin, from its seek table or from the frame headers."""

from __future__ import annotations

import struct
from typing import BinaryIO

from pyunitok.corpus.frames import FrameError, FrameScanner, header_size, parse_header
from pyunitok.corpus.raw_file import CHUNK_BYTES
from pyunitok.corpus.small_frames import follow
from pyunitok.disk.url import is_url
from pyunitok.errors import InputError

_TABLE_MAGIC = 0x8F92EAB1
_TABLE_FRAME_MAGIC = 0x184D2A5E
_FOOTER_BYTES = 9
_HEADER_BYTES = 18  # the size of the longest frame header


def divide(path: str, _size_bytes: int, n_bytes: int) -> list[int]:
    """The offsets where ranges of complete frames begin, each of at least n_bytes except the last. A file at a URL is
    one range, because finding its frames would download most of it."""
    begins = [0]
    for at in [] if is_url(path) else frame_begins(path):
        if at - begins[-1] >= n_bytes:
            begins.append(at)
    return begins


def frame_begins(path: str) -> list[int]:
    """The offsets where the zstd frames of a file begin, except skippable frames. Raises InputError if the file is
    not a sequence of complete frames."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            table = read_table(file)
            return scan(file, path) if table is None else table
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def read_table(file: BinaryIO) -> list[int] | None:
    """The offsets where frames begin according to the seek table; None if there is no table, or if it contradicts the
    frame headers."""
    n_file = file.seek(0, 2)
    if n_file < _FOOTER_BYTES + 8:
        return None
    file.seek(n_file - _FOOTER_BYTES)
    n_frames, descriptor, magic = struct.unpack("<IBI", file.read(_FOOTER_BYTES))
    n_entry = 12 if descriptor & 0x80 else 8
    n_table = n_frames * n_entry + _FOOTER_BYTES
    table_at = n_file - n_table - 8
    if magic != _TABLE_MAGIC or descriptor & 0x7C or table_at < 0:
        return None
    file.seek(table_at)
    if struct.unpack("<II", file.read(8)) != (_TABLE_FRAME_MAGIC, n_table):
        return None
    table = file.read(n_frames * n_entry)
    begins, at = list[int](), 0
    for k in range(n_frames):
        n_compressed, n_decompressed = struct.unpack_from("<II", table, k * n_entry)
        skippable = _agrees(file, at, n_decompressed)
        if skippable is None or n_compressed == 0:
            return None
        if not skippable:
            begins.append(at)
        at += n_compressed
    return begins if at == table_at else None


def _agrees(file: BinaryIO, at: int, n_decompressed: int) -> bool | None:
    """Whether the frame at this byte is skippable; None if no frame begins there, or if its header states a size other
    than n_decompressed."""
    file.seek(at)
    start = file.read(_HEADER_BYTES)
    try:
        if header_size(start) > len(start):
            return None
        header = parse_header(start)
    except FrameError:
        return None
    if header.skippable:
        return True if n_decompressed == 0 else None
    return False if header.content_bytes in (None, n_decompressed) else None


def scan(file: BinaryIO, name: str) -> list[int]:
    """The offsets where frames begin according to the frame and block headers."""
    n_file = file.seek(0, 2)
    begins, frame_at = list[int](), 0
    n_ahead = CHUNK_BYTES
    while frame_at < n_file:
        file.seek(frame_at)
        chunk = file.read(n_ahead)
        small = follow(chunk, 0, n_file)
        begins += [frame_at + begin for begin in small.begins]
        frame_at += small.end
        n_ahead = CHUNK_BYTES if small.end else _HEADER_BYTES
        if small.end:
            continue
        scanner, at = FrameScanner(), frame_at
        while not scanner.done:
            file.seek(at)
            chunk = file.read(_HEADER_BYTES)
            try:
                at += scanner.feed(chunk) + scanner.skip_content()
            except FrameError as error:
                raise InputError(f"{name}: byte {frame_at + error.at}: {error}") from error
            if at > n_file or (not chunk and not scanner.done):
                raise InputError(
                    f"{name}: byte {n_file}: the file ends inside the zstd frame that begins at byte {frame_at}"
                )
        assert scanner.header is not None
        if not scanner.header.skippable:
            begins.append(frame_at)
        frame_at = at
    return begins
