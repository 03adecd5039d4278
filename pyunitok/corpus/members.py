"""MemberStream reads gzip, bzip2 and xz files, which are sequences of members, to the end of the file.

    RawFile ──▶ _chunk ──▶ decoder of the current member (zlib, bz2, lzma; all release the GIL) ──▶ buffer

The standard library's decoders find the end of a member and verify its checksums and sizes. This module verifies that
the file consists of complete members.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from pyunitok.corpus.raw_file import CHUNK_BYTES, RawFile
from pyunitok.errors import InputError


class MemberStream:
    """A ByteStream over members, each decompressed by a new decoder.

    form, member  the names of the format and of its members, for messages
    new_decoder   returns an object with eof, unused_data and decompress(data, max_length). Input that it does not use
                  at once is left in unconsumed_tail, or is buffered while needs_input is False
    padding       the number of zero bytes after a member must be a multiple of this number
    max_memory_bytes  the memory limit of a decoder, for messages

    Any other data after a member is an error, as in gzip and xz, because it may be the damaged start of a member.
    """

    def __init__(
        self, raw: RawFile, form: str, member: str, new_decoder: Callable[[], Any], *,
        padding: int = 1, max_memory_bytes: int = 0,
    ) -> None:  # fmt: skip
        self.name, self.close = raw.name, raw.close
        self._raw, self._form, self._member, self._padding = raw, form, member, padding
        self._max_memory_bytes = max_memory_bytes
        self._new_decoder = new_decoder
        self._chunk = b""  # read from the file, not yet consumed by a decoder
        self._decoder: Any = None  # the decoder of the current member
        self._member_at = 0
        self._n_members = 0

    def readinto(self, buffer: memoryview) -> int:
        n = 0
        while n < len(buffer):
            if self._decoder is None and not self._next_member():
                break
            piece = self._decompress(len(buffer) - n)
            buffer[n : n + len(piece)] = piece
            n += len(piece)
        return n

    def compressed_position(self) -> int:
        return self._raw.position - len(self._chunk)

    def _next_member(self) -> bool:
        """Skip padding. Returns whether another member begins."""
        n_zeros = 0
        while True:
            if self._n_members:
                n_held = len(self._chunk)
                self._chunk = self._chunk.lstrip(b"\0")
                n_zeros += n_held - len(self._chunk)
            if self._chunk:
                break
            self._chunk = self._raw.read(CHUNK_BYTES)
            if not self._chunk:
                break
        at = self.compressed_position()
        if n_zeros % self._padding:
            raise InputError(f"{self.name}: byte {at}: {n_zeros} zero bytes are not valid {self._form} padding")
        if not self._chunk:
            if not self._n_members:
                raise InputError(f"{self.name}: byte 0: empty; a {self._form} file has at least one {self._member}")
            return False
        self._member_at = at
        self._n_members += 1
        self._decoder = self._new_decoder()
        return True

    def _decompress(self, max_bytes: int) -> bytes:
        """Up to max_bytes of the current member. An empty result does not mean that the member has ended."""
        decoder = self._decoder
        hungry = getattr(decoder, "needs_input", True)
        if hungry and not self._chunk:
            # zlib may still have buffered output after using all input, so the end of the file alone is not an error.
            self._chunk = self._raw.read(CHUNK_BYTES)
        at_end = hungry and not self._chunk
        try:
            piece: bytes = decoder.decompress(self._chunk if hungry else b"", max_bytes)
        except MemoryError:
            raise
        except Exception as error:  # zlib.error, OSError or LZMAError
            raise self._failed(error) from error
        if decoder.eof:
            self._chunk = decoder.unused_data
            self._decoder = None
        elif hungry:
            self._chunk = getattr(decoder, "unconsumed_tail", b"")
        if at_end and not piece and self._decoder is not None:
            raise InputError(
                f"{self.name}: byte {self._raw.position}: the file ends inside the {self._form} {self._member} that"
                f" begins at byte {self._member_at}"
            )
        return piece

    def _failed(self, error: Exception) -> InputError:
        if "limit exceeded" in str(error):  # LZMAError
            return InputError(
                f"{self.name}: byte {self._member_at}: the {self._form} {self._member} that begins here needs more"
                f" than {self._max_memory_bytes} bytes of memory for its dictionary; raise --max-memory"
            )
        return InputError(
            f"{self.name}: byte {self.compressed_position()}: corrupt {self._form} data near here, in the"
            f" {self._member} that begins at byte {self._member_at} ({error})"
        )


def gzip(raw: RawFile) -> MemberStream:
    """A gzip file (RFC 1952). zlib verifies the CRC and length of each member."""
    return MemberStream(raw, "gzip", "member", lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS))


def bzip2(raw: RawFile) -> MemberStream:
    """A bzip2 file, which may contain several streams, as written by pbzip2. The CRC of each block is verified."""
    import bz2  # some Pythons are built without it

    return MemberStream(raw, "bzip2", "stream", bz2.BZ2Decompressor)


def xz(raw: RawFile, max_memory_bytes: int) -> MemberStream:
    """An xz file. Memory: the dictionary. A stream that requires more than max_memory_bytes is an error."""
    import lzma  # some Pythons are built without it

    def new_decoder() -> Any:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, max_memory_bytes)

    return MemberStream(raw, "xz", "stream", new_decoder, padding=4, max_memory_bytes=max_memory_bytes)
