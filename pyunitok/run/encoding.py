"""Encoder encodes a block of documents. A tokenizing run passes it to corpus/workers.py, which calls it in threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from pyunitok._c import library
from pyunitok._c import scratch as c_scratch
from pyunitok.corpus.block import Block
from pyunitok.corpus.position import BEGINNING, Position
from pyunitok.corpus.workers import Carry
from pyunitok.errors import InputError, LimitError
from pyunitok.packed import Ids, Offsets
from pyunitok.run.plan import Plan
from pyunitok.tokens.verify_block import verify_block


@dataclass
class Encoded:
    """One block's ids.

    ids    plan.dtype[>= n_ids]; give the array back with Encoder.reuse()
    ends   where documents end in the block, in tokens from its start
    """

    ids: Ids
    n_ids: int
    ends: Offsets

    def data_of_ids(self) -> memoryview:
        """The ids as bytes."""
        data: memoryview = self.ids[: self.n_ids].view(np.uint8).data
        return data

    def data_of_ends(self, n_before: int) -> memoryview:
        """The ends as bytes, counted in tokens from the start of the output."""
        data: memoryview = (self.ends + n_before).view(np.uint8).data
        return data


class Encoder:
    """Encodes blocks; thread-safe. Scratches are kept for later runs, because a scratch needs about 16 MB of text to
    warm up, and a unit of a run on a cluster is not much larger.

    carry  the encoder's state between two parts of a document, in hexadecimal, for Workers
    """

    def __init__(self, plan: Plan, start: Position = BEGINNING) -> None:
        self.carry = Carry(start.state)
        self._plan = plan
        self._held, self._changed = 0, threading.Condition()  # bytes of memory for documents being encoded
        self._dtype = plan.tokenizer.codec.dtype
        self._idle: list[Ids] = []

    def __call__(self, block: Block) -> Encoded:
        plan, has_eod = self._plan, self._plan.eod_id is not None
        carries = plan.tokenizer.codec.carries_state
        continues = carries and block.n_docs > 0 and block.inside > 0
        state = c_scratch.State(self.carry.take(block.number)) if continues else c_scratch.State()
        ids, id_offsets, n_ids = self._encode(block, state)
        if carries and block.open_end:
            block.after = replace(block.after, state=state.hexadecimal())
            self.carry.put(block.number + 1, block.after.state)
        if plan.options.verify and block.n_docs:
            verify_block(plan.tokenizer, block, ids, id_offsets, eod=has_eod, name=plan.sources[block.source].name)
        ends = id_offsets[1 : block.n_docs + 1 - block.open_end]
        if ids.dtype != plan.dtype:
            ids = ids[:n_ids].astype(plan.dtype)
        return Encoded(ids, n_ids, ends)

    def reuse(self, encoded: Encoded) -> None:
        """Take back an array whose ids have been written."""
        self._idle.append(encoded.ids)

    def _encode(self, block: Block, state: c_scratch.State) -> tuple[Ids, Offsets, int]:
        """The block's ids in a reused array, the offsets of the documents in it, and the number of ids."""
        plan, n_docs = self._plan, block.n_docs
        offsets = block.offsets[: n_docs + 1]
        capacity = int(offsets[-1]) + n_docs + library.ENCODE_SLACK
        ids = self._idle.pop() if self._idle else np.empty(0, self._dtype)
        id_offsets = np.empty(n_docs + 1, np.int64)
        eod_id = -1 if plan.eod_id is None else plan.eod_id
        sampling = plan.sampling_of(block.source, block.first_document)
        while True:
            if len(ids) < capacity or ids.dtype != self._dtype:
                ids = np.empty(max(capacity, plan.options.block_bytes + 4096), self._dtype)
            try:
                with self._memory_for(block), plan.tokenizer.codec.scratch() as scratch:
                    n_ids = scratch.encode_batch(
                        block.data, offsets, ids, id_offsets, eod_id=eod_id, open_start=block.inside > 0,
                        open_end=block.open_end, state=state, sampling=sampling, documents=block.numbers,
                    )  # fmt: skip
                return ids, id_offsets, n_ids
            except library.CapacityError:
                capacity = 2 * len(ids)
            except InputError as error:
                raise InputError(f"{self._name_of(block, error.document or 0)}: {error}") from None

    def _name_of(self, block: Block, k: int) -> str:
        number = block.first_document + k if block.numbers is None else int(block.numbers[k])
        return f"{self._plan.sources[block.source].name}: document {number}"

    @contextmanager
    def _memory_for(self, block: Block) -> Iterator[None]:
        """Wait until the other threads leave enough memory for the longest document. Raises LimitError if the document
        exceeds the budget."""
        limit, sizes = self._plan.rules_memory_bytes, np.diff(block.offsets[: block.n_docs + 1])
        n_bytes = self._plan.memory_factor * int(sizes.max(initial=0))
        if n_bytes > limit:
            raise LimitError(
                f"{self._name_of(block, int(sizes.argmax()))} has {sizes.max():,} bytes, and encoding it takes about"
                f" {n_bytes:,} bytes of memory, more than half of --max-memory; raise it to {2 * n_bytes}, or split"
                " the document"
            )
        with self._changed:
            self._changed.wait_for(lambda: self._held + n_bytes <= limit)
            self._held += n_bytes
        try:
            yield
        finally:
            with self._changed:
                self._held -= n_bytes
                self._changed.notify_all()
