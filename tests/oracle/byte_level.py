"""Byte-level BPE, slow and obvious. Encodes one of the pieces into which the pattern has split a text.

A merge is (left, right), and has a rank. If no merges are listed, as in tiktoken, two adjacent pieces merge if their
concatenation has an id, and this id is the rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ByteModel:
    ids: Mapping[bytes, int]
    merges: Mapping[tuple[bytes, bytes], int] | None = None  # None: as in tiktoken
    ignore_merges: bool = False

    def rank(self, left: bytes, right: bytes) -> float:
        if self.merges is None:
            return self.ids.get(left + right, math.inf)
        return self.merges.get((left, right), math.inf)

    def encode(self, piece: bytes) -> list[int]:
        """Merge the pair with the lowest rank first, the leftmost one on ties. Bytes without an id are dropped."""
        if self.ignore_merges and piece in self.ids:
            return [self.ids[piece]]
        symbols = [bytes([byte]) for byte in piece if bytes([byte]) in self.ids]
        while len(symbols) > 1:
            rank, at = min((self.rank(*symbols[k : k + 2]), k) for k in range(len(symbols) - 1))
            if rank == math.inf:
                break
            symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
        return [self.ids[symbol] for symbol in symbols]
