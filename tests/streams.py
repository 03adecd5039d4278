"""Defines streams with short reads, and functions that collect the output of the corpus readers."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

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
    """A file whose reads are randomly shorter than requested."""

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
    """Read a ByteStream to its end, `size` bytes at a time. Every read except the last must fill the buffer."""
    out = bytearray()
    buffer = bytearray(size)
    while (n := stream.readinto(memoryview(buffer))) == size:
        out += buffer
    out += buffer[:n]
    assert stream.readinto(memoryview(buffer)) == 0
    return bytes(out)


@dataclass
class Read:
    """The output of a DocumentReader: the reassembled documents, and what the reader reports about them."""

    documents: list[bytes] = field(default_factory=list)
    n_bytes: int = 0
    numbers: list[int] = field(default_factory=list)
    bad: list = field(default_factory=list)
    metadata: list[bytes] = field(default_factory=list)

    def __iter__(self):
        return iter((self.documents, self.n_bytes))


def read_documents(reader, block_bytes: int, n_offsets: int = 5, check_pieces=None) -> Read:
    """Read a DocumentReader to its end."""
    block = Block(np.zeros(block_bytes, np.uint8), np.zeros(n_offsets, np.int64))
    ret = Read()
    going_on = False
    while True:
        more = reader.fill(block)
        block.finish()
        ret.n_bytes += block.source_bytes
        ret.bad += block.bad
        ret.metadata += block.metadata
        assert more == (block.n_docs > 0 or bool(block.bad))
        if not more:
            break
        assert block.offsets[0] == 0 and (np.diff(block.offsets[: block.n_docs + 1]) >= 0).all()
        for i in range(block.n_docs):
            piece = block.data[block.offsets[i] : block.offsets[i + 1]].tobytes()
            number = block.first_document + i if block.numbers is None else int(block.numbers[i])
            if i == 0 and going_on:
                ret.documents[-1] += piece
                assert ret.numbers[-1] == number
            else:
                ret.documents.append(piece)
                ret.numbers.append(number)
        going_on = block.open_end
        if going_on and check_pieces:
            check_pieces(block)
        memoryview(block.data)[:] = b"*" * len(block.data)  # the reader must not rely on the block's old contents
        if reader.finished:
            break
    assert not going_on and not reader.fill(block)
    return ret


def split_at_multiples(k: int):
    """A split() that returns the largest multiple of k bytes."""
    return lambda text: len(text) // k * k


def split_sometimes(seed: int):
    """A split() that often returns 0 and otherwise a random position."""
    chance = random.Random(seed)
    return lambda text: chance.choice((0, chance.randint(0, len(text))))
