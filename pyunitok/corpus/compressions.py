"""Contains the table of compressions. To add one, add a row, and write a module if no library reads
such files to their end."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass

import zstandard

from pyunitok.corpus import frame_index, members
from pyunitok.corpus.raw_file import RawFile
from pyunitok.corpus.readahead import Producer, Streamed
from pyunitok.corpus.zst import ZstdFrames

ZSTD_LEVEL, GZIP_LEVEL = 3, 6
MISSING = "this Python was built without {}; use another Python, or decompress the file"


@dataclass(frozen=True)
class Compression:
    """A compression format.

    name      the name in manifests
    title     the name in messages
    producer  (file, max_frame_bytes, max_memory_bytes) → Producer of the file's text. Several threads decompress frames
              of up to max_frame_bytes; max_memory_bytes limits the dictionary of an xz file
    suffixes  file name suffixes
    magic     matches the first bytes of files with this compression; takes precedence over the file name
    divide    (path, size_bytes, n_bytes) → offsets where independent ranges begin, each of at least n_bytes except the
              last; None if files cannot be divided
    needs     (a module that some Python builds lack, what to do if it is missing)
    compress  (text) → a complete frame, member or stream that contains the text; None if such files cannot be written
    """

    name: str
    title: str
    producer: Callable[[RawFile, int, int], Producer]
    suffixes: tuple[str, ...] = ()
    magic: re.Pattern[bytes] | None = None
    divide: Callable[[str, int, int], list[int]] | None = None
    needs: tuple[str, str] | None = None
    compress: Callable[[bytes], bytes] | None = None


def _zst(text: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(text)


def _bz2(text: bytes) -> bytes:
    import bz2

    return bz2.compress(text)


def _xz(text: bytes) -> bytes:
    import lzma

    return lzma.compress(text)


NONE = Compression(
    "none", "", lambda raw, *_: Streamed(raw, any_place=True),
    divide=lambda _, size_bytes, n_bytes: [*range(0, size_bytes, n_bytes)], compress=lambda text: text,
)  # fmt: skip
COMPRESSIONS = {
    row.name: row
    for row in (
        NONE,
        Compression(
            "zst", "zstd", lambda raw, max_frame_bytes, _: ZstdFrames(raw, max_frame_bytes), (".zst", ".zstd"),
            re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), frame_index.divide, compress=_zst,
        ),
        Compression(
            "gz", "gzip", lambda raw, *_: Streamed(members.gzip(raw)), (".gz",), re.compile(rb"\x1f\x8b\x08"),
            compress=lambda text: gzip.compress(text, GZIP_LEVEL, mtime=0),
        ),
        # Text may begin with "BZh" and a digit; in bzip2, a block header or an end marker follows.
        Compression(
            "bz2", "bzip2", lambda raw, *_: Streamed(members.bzip2(raw)), (".bz2",),
            re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), needs=("bz2", MISSING.format("bz2")), compress=_bz2,
        ),
        Compression(
            "xz", "xz", lambda raw, _, max_memory_bytes: Streamed(members.xz(raw, max_memory_bytes)), (".xz",),
            re.compile(rb"\xfd7zXZ\0"), needs=("lzma", MISSING.format("lzma")), compress=_xz,
        ),
    )
}  # fmt: skip


def by_suffix(suffix: str) -> Compression:
    """The compression with this suffix, or NONE."""
    return next((row for row in COMPRESSIONS.values() if suffix in row.suffixes), NONE)


def by_start(start: bytes) -> Compression:
    """The compression of a file with these first bytes, or NONE."""
    return next((row for row in COMPRESSIONS.values() if row.magic and row.magic.match(start)), NONE)
