"""encode_batch() encodes many documents in threads into one packed list of ids.

    documents   | d0 d1 d2 d3 | d4 d5 | d6 … |      each thread takes consecutive documents, about equally many bytes
    one array   | ids ···     | ids ··| ids · |     and has its own region: a text has at most one id per byte
                | ids | ids | ids |                 finally the gaps are closed and unused memory is returned
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from pyunitok._c import library
from pyunitok._c import scratch as c_scratch
from pyunitok.errors import OptionError
from pyunitok.model.codec import Codec
from pyunitok.packed import Bytes, Ids, Offsets, Packed, as_bytes

GROUP_BYTES = 1 << 20  # documents are packed and encoded in groups of this size, which fits in a core's cache
WHOLE_BYTES = 4096  # documents of this average size are not packed, which would take a tenth of the time
THREAD_BYTES = 1 << 20  # a thread is worth starting for this much text


def available_cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int | None) -> None:
    """OptionError for less than one thread. None is valid: the callee chooses the number."""
    if threads is not None and threads < 1:
        raise OptionError(f"threads must be at least 1, not {threads}; leave it out to use every core")


def threads_or_cores(threads: int | None) -> int:
    """`threads`, or one per core if it is None. OptionError like check_threads()."""
    check_threads(threads)
    return threads or available_cores()


class BatchDocuments(Protocol):
    sizes: Offsets

    def encode(self, scratch: c_scratch.Scratch, begin: int, end: int, region: Ids) -> Offsets:
        """Encode documents begin..end-1 into `region`. Returns int64[end - begin + 1], their offsets there."""


class PackedDocuments:
    """Documents in a packed list."""

    def __init__(self, packed: Packed) -> None:
        if packed.data.dtype != np.uint8:
            raise TypeError(f"expected a Packed of uint8, not of {packed.data.dtype}")
        self._packed = packed
        self.sizes: Offsets = np.diff(packed.offsets)

    def encode(self, scratch: c_scratch.Scratch, begin: int, end: int, region: Ids) -> Offsets:
        data, bounds = self._packed.data, self._packed.offsets[begin : end + 1]
        return _encode_groups(scratch, bounds, region, lambda first, stop: (data, bounds[first : stop + 1]))


class ListedDocuments:
    """Documents as a list of bytes objects."""

    def __init__(self, items: list[bytes]) -> None:
        self._items = items
        self.sizes: Offsets = np.fromiter(map(len, items), np.int64, len(items))

    def encode(self, scratch: c_scratch.Scratch, begin: int, end: int, region: Ids) -> Offsets:
        sizes = self.sizes[begin:end]
        if sizes.sum() >= WHOLE_BYTES * len(sizes):
            return scratch.encode_each(self._items[begin:end], region)
        starts = np.concatenate(([0], np.cumsum(sizes)))

        def packed(first: int, stop: int) -> tuple[Bytes, Offsets]:
            data = np.frombuffer(b"".join(self._items[begin + first : begin + stop]), np.uint8)
            return data, starts[first : stop + 1] - starts[first]

        return _encode_groups(scratch, starts, region, packed)


def _encode_groups(
    scratch: c_scratch.Scratch,
    starts: Offsets,
    region: Ids,
    packed: Callable[[int, int], tuple[Bytes, Offsets]],
) -> Offsets:
    """Encode documents, which begin at `starts`, in groups of about GROUP_BYTES; packed(first, stop) returns a group.

    Python checks for Ctrl-C between groups.
    """
    offsets, first, n_docs = np.zeros(len(starts), np.int64), 0, len(starts) - 1
    while first < n_docs:
        stop = int(np.searchsorted(starts, starts[first] + GROUP_BYTES, "right")) - 1
        stop = max(stop, first + 1)
        own = offsets[first : stop + 1]
        done = int(own[0])
        scratch.encode_batch(*packed(first, stop), region[done:], own)
        own += done
        first = stop
    return offsets


def encode_batch(codec: Codec, documents: BatchDocuments, threads: int | None) -> Packed:
    """See Tokenizer.encode_batch."""
    sizes = documents.sizes
    n_docs, n_bytes = len(sizes), int(sizes.sum())
    wanted = min(available_cores(), n_bytes // THREAD_BYTES) if threads is None else threads
    n_parts = max(1, min(wanted, n_docs))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    cuts = [int(np.searchsorted(starts, n_bytes * part // n_parts)) for part in range(n_parts)] + [n_docs]
    bounds = [int(starts[cut]) for cut in cuts]
    encode = _into_several if codec.model.kind.has_spec else _into_one_array
    return encode(codec, documents, cuts, bounds)


def _into_one_array(codec: Codec, documents: BatchDocuments, cuts: list[int], bounds: list[int]) -> Packed:
    """A text has at most one id per byte, so the region of every part in one array is known before it is encoded."""
    regions = [bound + part * library.ENCODE_SLACK for part, bound in enumerate(bounds)]
    ids = np.empty(regions[-1] + library.ENCODE_SLACK, codec.dtype)

    def encode_part(part: int) -> Offsets:
        with codec.scratch() as scratch:
            return documents.encode(scratch, cuts[part], cuts[part + 1], ids[regions[part] : regions[part + 1]])

    regions[-1] += library.ENCODE_SLACK  # after the last part, too
    parts = _map(encode_part, len(cuts) - 1)
    end = 0
    for part, ends in enumerate(parts):
        count = int(ends[-1])
        if part:
            ids[end : end + count] = ids[regions[part] : regions[part] + count]
            ends += end
        end += count
    ids.resize(end, refcheck=False)
    return Packed(ids, np.concatenate([parts[0][:1], *(ends[1:] for ends in parts)]))


def _into_several(codec: Codec, documents: BatchDocuments, cuts: list[int], bounds: list[int]) -> Packed:
    """A text may have more ids than bytes, so every part has an array that is doubled until they fit."""

    def encode_part(part: int) -> tuple[Ids, Offsets]:
        capacity = c_scratch.capacity_for(bounds[part + 1] - bounds[part])
        with codec.scratch() as scratch:
            while True:
                ids: Ids = np.empty(capacity, codec.dtype)
                try:
                    ends = documents.encode(scratch, cuts[part], cuts[part + 1], ids)
                    return ids[: ends[-1]], ends
                except library.CapacityError:
                    capacity *= 2

    parts = _map(encode_part, len(cuts) - 1)
    offsets, end = [np.zeros(1, np.int64)], 0
    for ids, ends in parts:
        offsets.append(ends[1:] + end)
        end += len(ids)
    return Packed(np.concatenate([ids for ids, _ in parts]), np.concatenate(offsets))


def _map(function: Any, n: int) -> list[Any]:
    if n == 1:
        return [function(0)]
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(function, range(n)))


def documents_of(docs: Iterable[str | bytes] | Packed) -> BatchDocuments:
    """TypeError and UnicodeEncodeError name the document."""
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
