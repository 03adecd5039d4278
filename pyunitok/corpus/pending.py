"""PendingDocuments holds documents that have been read but are not yet in blocks."""

from __future__ import annotations

import numpy as np

from pyunitok.corpus.block import Block, Split
from pyunitok.corpus.text import CARRY_SHARE, MAX_DOCS
from pyunitok.packed import Bytes, Offsets


class PendingDocuments:
    """Adjacent documents, some of which are already in blocks:

        data   [ o u t f o x b r o w n l a z y ]        next     the next document
                 0     3     6         11      15        inside   how many bytes of it are already in blocks
                 ends

    data    uint8[]
    ends    int64[n + 1]; ends[0] is the beginning of the first document
    inside  the initial value of `inside`
    """

    def __init__(self, data: Bytes, ends: Offsets, inside: int = 0) -> None:
        self._data, self._ends = data, ends
        self.next, self.inside = 0, inside

    def __len__(self) -> int:
        """The number of documents that are not yet completely in blocks."""
        return len(self._ends) - 1 - self.next

    def put(self, block: Block, split: Split) -> bool:
        """Put more documents into the block, which has MAX_DOCS + 1 offsets. Returns False if nothing fits or nothing
        is left."""
        return bool(len(self)) and (self._put_complete(block) or self._put_piece(block, split))

    def _put_complete(self, block: Block) -> bool:
        """Put the documents that fit completely, or the rest of the current one. Returns False if nothing fits."""
        first, at = self.next, int(block.offsets[block.n_docs])
        begin = int(self._ends[first]) + self.inside
        behind = int(np.searchsorted(self._ends, begin + len(block.data) - at, side="right")) - 1
        behind = min(behind, first + MAX_DOCS - block.n_docs)
        if behind <= first:
            return False
        end = int(self._ends[behind])
        block.data[at : at + end - begin] = self._data[begin:end]
        before, block.n_docs = block.n_docs, block.n_docs + behind - first
        block.offsets[before + 1 : block.n_docs + 1] = self._ends[first + 1 : behind + 1] + (at - begin)
        self.next, self.inside = behind, 0
        return True

    def _put_piece(self, block: Block, split: Split) -> bool:
        """Put a piece of the next document, which does not fit completely. Returns False if the block is complete."""
        begin, end = int(self._ends[self.next]) + self.inside, int(self._ends[self.next + 1])
        at = int(block.offsets[block.n_docs])
        capacity = len(block.data) - at
        if block.n_docs and (capacity == 0 or (end - begin) * CARRY_SHARE <= len(block.data)):
            return False
        block.data[at:] = self._data[begin : begin + capacity]
        size = split(block.data.data[at:]) if capacity else 0
        if size:
            block.n_docs += 1
            block.offsets[block.n_docs] = at + size
            block.open_end = True
            self.inside += size
        elif block.n_docs == 0:  # an indivisible piece is longer than the block
            block.grow(max(capacity, 1))
            return True
        return False
