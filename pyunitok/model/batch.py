"""encode_batch() encodes many documents on several threads into one packed list of ids.

    documents   | d0 d1 d2 d3 | d4 d5 | d6 … |    each thread takes consecutive documents of about equal total size
    groups      | g | g | g | g | g   | g | g |   of about a MiB, each encoded into its own array
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Protocol

import numpy as np

from pyunitok.errors import OptionError
from pyunitok.model.codec import Codec
from pyunitok.packed import Bytes, Ids, Offsets, Packed, as_bytes, ranges

GROUP_BYTES = 1 << 20  # documents are packed and encoded in groups of this size, which fits in a core's cache
THREAD_BYTES = 1 << 20  # the amount of text for which starting another thread pays off


def available_cores() -> int:
    """The number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int | None) -> None:
    """Raise OptionError if `threads` is less than 1. None is valid: the callee chooses the number."""
    if threads is not None and threads < 1:
        raise OptionError(f"threads must be at least 1, not {threads}; omit it to use every core")


def threads_or_cores(threads: int | None) -> int:
    """`threads`, or one per core if it is None. Raises OptionError like check_threads()."""
    check_threads(threads)
    return threads or available_cores()


class BatchDocuments(Protocol):
    sizes: Offsets

    def packed(self, begin: int, end: int) -> tuple[Bytes, Offsets]:
        """Documents begin..end-1 as a packed list."""


class PackedDocuments:
    """Documents in a packed list."""

    def __init__(self, packed: Packed) -> None:
        if packed.data.dtype != np.uint8:
            raise TypeError(f"expected a Packed of uint8, not of {packed.data.dtype}")
        self._packed = packed
        self.sizes: Offsets = np.diff(packed.offsets)

    def packed(self, begin: int, end: int) -> tuple[Bytes, Offsets]:
        return self._packed.data, self._packed.offsets[begin : end + 1]


class ListedDocuments:
    """Documents as a list of bytes objects."""

    def __init__(self, items: list[bytes]) -> None:
        self._items = items
        self.sizes: Offsets = np.fromiter(map(len, items), np.int64, len(items))

    def packed(self, begin: int, end: int) -> tuple[Bytes, Offsets]:
        packed = Packed.from_documents(self._items[begin:end])
        return packed.data, packed.offsets


def encode_batch(codec: Codec, documents: BatchDocuments, threads: int | None) -> Packed:
    """See Tokenizer.encode_batch."""
    starts: Offsets = np.concatenate(([0], np.cumsum(documents.sizes)))
    n_docs, n_bytes = len(documents.sizes), int(starts[-1])
    wanted = min(available_cores(), n_bytes // THREAD_BYTES) if threads is None else threads
    n_parts = max(1, min(wanted, n_docs))
    cuts = [int(np.searchsorted(starts, n_bytes * part // n_parts)) for part in range(n_parts)] + [n_docs]

    def encode_part(part: int) -> list[tuple[Ids, Offsets]]:
        begin, end = cuts[part], cuts[part + 1]
        groups = ranges(starts[begin : end + 1], GROUP_BYTES)  # Python checks for Ctrl-C between groups
        with codec.scratch() as scratch:
            return [scratch.encode_documents(*documents.packed(begin + a, begin + b)) for a, b in groups]

    if n_parts == 1:
        parts = [encode_part(0)]
    else:
        with ThreadPoolExecutor(n_parts) as pool:
            parts = list(pool.map(encode_part, range(n_parts)))
    all_ids, offsets, n_ids = [np.empty(0, codec.dtype)], [np.zeros(1, np.int64)], 0
    for ids, ends in chain.from_iterable(parts):
        all_ids.append(ids)
        offsets.append(ends[1:] + n_ids)
        n_ids += len(ids)
    return Packed(np.concatenate(all_ids), np.concatenate(offsets))


def documents_of(docs: Iterable[str | bytes] | Packed) -> BatchDocuments:
    """Wrap documents for encode_batch(). Raises TypeError or UnicodeEncodeError, which names the document."""
    if isinstance(docs, Packed):
        return PackedDocuments(docs)
    items: list[bytes] = []
    try:
        items.extend(map(as_bytes, docs))
    except TypeError as error:
        raise TypeError(f"document {len(items)}: {error}") from None
    except UnicodeEncodeError as error:
        error.reason = f"{error.reason} (document {len(items)})"
        raise
    return ListedDocuments(items)
