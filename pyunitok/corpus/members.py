"""gzip, bzip2 and xz files to their true end: one or more members, each complete in itself.

    RawFile ──▶ _chunk ──▶ decoder of the current member (zlib, bz2, lzma; all release the GIL) ──▶ buffer

The standard library's decoders verify each member's checksums and sizes and find its end. This file makes sure that
whole members follow each other up to the end of the file.
"""

from __future__ import annotations

import zlib
from typing import Any

from pyunitok.corpus.raw_file import CHUNK_BYTES, RawFile
from pyunitok.errors import InputError


class MemberStream:
    """A ByteStream over members. The formats differ in:

    form, member  the names of the format and of its members, for messages
    padding       zero bytes after a member come in multiples of this number

    Anything else after a member is an error, as it is for gzip and xz: it may be the damaged start of another member.
    """

    form: str
    member: str
    padding = 1

    def __init__(self, raw: RawFile) -> None:
        self.name = raw.name
        self._raw = raw
        self._chunk = b""  # read, not yet consumed by a decoder
        self._decoder: Any = None  # of the current member
        self._member_at = 0
        self._n_members = 0

    def _new_decoder(self) -> Any:
        """An object with eof, unused_data and decompress(data, max_length). Input that it does not use at once is in
        unconsumed_tail, or is kept, and needs_input is False."""
        raise NotImplementedError

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

    def close(self) -> None:
        self._raw.close()

    def _next_member(self) -> bool:
        """Skip padding; whether another member begins."""
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
        if n_zeros % self.padding:
            raise InputError(f"{self.name}: byte {at}: {n_zeros} zero bytes are not valid {self.form} padding")
        if not self._chunk:
            if not self._n_members:
                raise InputError(f"{self.name}: byte 0: empty; a {self.form} file has at least one {self.member}")
            return False
        self._member_at = at
        self._n_members += 1
        self._decoder = self._new_decoder()
        return True

    def _decompress(self, max_bytes: int) -> bytes:
        """Up to max_bytes of the current member; an empty result does not mean that it has ended."""
        decoder = self._decoder
        hungry = getattr(decoder, "needs_input", True)
        if hungry and not self._chunk:
            # zlib may still hold output when it has used all input, so the end of the file alone is not an error.
            self._chunk = self._raw.read(CHUNK_BYTES)
        at_end = hungry and not self._chunk
        try:
            piece: bytes = decoder.decompress(self._chunk if hungry else b"", max_bytes)
        except MemoryError:
            raise
        except Exception as error:  # zlib.error, OSError, LZMAError: each library has its own
            raise self._failed(error) from error
        if decoder.eof:
            self._chunk = decoder.unused_data
            self._decoder = None
        elif hungry:
            self._chunk = getattr(decoder, "unconsumed_tail", b"")
        if at_end and not piece and self._decoder is not None:
            raise InputError(
                f"{self.name}: byte {self._raw.position}: the file ends inside the {self.form} {self.member} that"
                f" begins at byte {self._member_at}"
            )
        return piece


    def _failed(self, error: Exception) -> InputError:
        return InputError(
            f"{self.name}: byte {self.compressed_position()}: corrupt {self.form} data, here or near, in the"
            f" {self.member} that begins at byte {self._member_at} ({error})"
        )


class GzipStream(MemberStream):
    """One gzip member or many (RFC 1952), each with its CRC and length verified by zlib."""

    form, member = "gzip", "member"

    def _new_decoder(self) -> Any:
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)


class Bz2Stream(MemberStream):
    """One bzip2 stream or many, as pbzip2 and cat make them, each block with its CRC verified."""

    form, member = "bzip2", "stream"

    def _new_decoder(self) -> Any:
        import bz2  # only now: some Pythons are built without it

        return bz2.BZ2Decompressor()


class XzStream(MemberStream):
    """One .xz stream or many, with padding between them; checks verified. Memory: the dictionary; the stream is
    refused if the decoder would need more than max_memory_bytes."""

    form, member, padding = "xz", "stream", 4

    def __init__(self, raw: RawFile, max_memory_bytes: int) -> None:
        super().__init__(raw)
        self._max_memory_bytes = max_memory_bytes

    def _new_decoder(self) -> Any:
        import lzma

        return lzma.LZMADecompressor(lzma.FORMAT_XZ, self._max_memory_bytes)

    def _failed(self, error: Exception) -> InputError:
        if "limit exceeded" not in str(error):
            return super()._failed(error)
        return InputError(
            f"{self.name}: byte {self._member_at}: the xz stream that begins here needs more than"
            f" {self._max_memory_bytes} bytes of memory for its dictionary; raise the limit (--max-memory)"
        )
