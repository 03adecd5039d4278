"""What the tests of the corpus readers share: streams that misbehave, and readers put back together."""

from __future__ import annotations

import random

import numpy as np

from pyunitok.corpus.block import Block


class Bytes:
    """A ByteStream over bytes."""

    name = "test"

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def readinto(self, buffer: memoryview) -> int:
        piece = self.data[self.at : self.at + len(buffer)]
        buffer[: len(piece)] = piece
        self.at += len(piece)
        return len(piece)

    def compressed_position(self) -> int:
        return self.at

    def close(self) -> None: ...


class OddFile:
    """A file whose reads come back shorter than asked for, by chance."""

    def __init__(self, data: bytes, seed: int, most: int = 20) -> None:
        self.data = data
        self.at = 0
        self.random = random.Random(seed)
        self.most = most

    def read(self, n_bytes: int) -> bytes:
        n_bytes = min(n_bytes, self.random.randint(1, self.most))
        piece = self.data[self.at : self.at + n_bytes]
        self.at += len(piece)
        return piece

    def fileno(self) -> int:
        raise OSError("no file")

    def readinto(self, buffer: memoryview) -> int:
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None: ...


def read_all(stream, size: int) -> bytes:
    """A ByteStream to its end, `size` bytes at a time; each read but the last must fill the buffer."""
    out = bytearray()
    buffer = bytearray(size)
    while (n := stream.readinto(memoryview(buffer))) == size:
        out += buffer
    out += buffer[:n]
    assert stream.readinto(memoryview(buffer)) == 0
    return bytes(out)


def read_documents(
    reader, block_bytes: int, n_offsets: int = 5, check_pieces=None
) -> tuple[list[bytes], int]:
    """A DocumentReader to its end: the documents put together again, and the sum of source_bytes."""
    block = Block(np.zeros(block_bytes, np.uint8), np.zeros(n_offsets, np.int64))
    docs: list[bytes] = []
    going_on = False
    n_bytes = 0
    while True:
        more = reader.fill(block)
        block.finish()
        n_bytes += block.source_bytes
        assert more == (block.n_docs > 0)
        if not more:
            break
        assert block.offsets[0] == 0 and (np.diff(block.offsets[: block.n_docs + 1]) >= 0).all()
        for i in range(block.n_docs):
            piece = block.data[block.offsets[i] : block.offsets[i + 1]].tobytes()
            if i == 0 and going_on:
                docs[-1] += piece
            else:
                docs.append(piece)
        going_on = block.open_end
        if going_on and check_pieces:
            check_pieces(block)
        block.data[:] = 0x2A  # nothing may be kept there
    assert not going_on and not reader.fill(block)
    return docs, n_bytes


def split_at_multiples(k: int):
    """A split that allows pieces of multiples of k bytes."""
    return lambda text: len(text) // k * k


def split_sometimes(seed: int):
    """A split that is often 0 and else anywhere."""
    chance = random.Random(seed)
    return lambda text: chance.choice((0, chance.randint(0, len(text))))
