"""Bindings for the section "BytePiece" of csrc/unitok_train.h."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pyunitok._c.library import call, create, ffi, lib, optional, pointer
from pyunitok._c.train import Counter, Counts, Units
from pyunitok._c.train_lexicon import Doubles
from pyunitok.packed import Bytes, Offsets

MAX_ORDER: int = lib.UNITOK_NGRAM_MAX_ORDER
KEY_BYTES = 8
N_FEW = 256 + 65536  # the number of n-grams of one or two bytes
CHUNK_NGRAMS = 1 << 15
SCANNED_AT_ONCE = 1 << 22
STEP_BYTES = 1 << 20  # bytes added between checks for Ctrl-C


class NgramTable:
    """A table of byte n-grams. Not thread-safe. In Units, an n-gram has 8 bytes; see csrc/train/ngrams.h."""

    def __init__(self, order: int, is_digit: Bytes | None) -> None:
        self.handle: Any = create("ngrams", order, optional(is_digit))
        self._keep = is_digit

    def __len__(self) -> int:
        return int(lib.unitok_ngrams_count(self.handle))

    @property
    def memory_bytes(self) -> int:
        return int(lib.unitok_ngrams_memory_bytes(self.handle))

    def add(self, data: Bytes, offsets: Offsets) -> None:
        """Count the n-grams within the chunks of packed documents."""
        _add(lib.unitok_ngrams_add, self.handle, data, offsets)

    def sort(self) -> None:
        call(lib.unitok_ngrams_sort, self.handle)

    def clear(self) -> None:
        call(lib.unitok_ngrams_clear, self.handle)

    def export(self) -> Units:
        """All n-grams. Requires sort()."""
        return self._next(ffi.new("unitok_ngram_place *"), len(self))

    def chunks(self) -> Iterator[Units]:
        """The n-grams of export(), in chunks."""
        place = ffi.new("unitok_ngram_place *")
        while len(part := self._next(place, CHUNK_NGRAMS)):
            yield part

    def _next(self, place: Any, n: int) -> Units:
        keys, counts = np.empty((2, n), np.uint64)
        n = int(lib.unitok_ngrams_export(self.handle, place, n, pointer(keys), pointer(counts)))
        offsets = np.arange(n + 1, dtype=np.int64) * KEY_BYTES
        return Units(keys[:n].astype(">u8").view(np.uint8), offsets, counts[:n])


class NgramModel:
    """The common n-grams and the logarithms of their counts. Immutable after finish().

    Call scan() for all n-grams and then end_pass(); repeat both once; then call finish().
    """

    def __init__(self, order: int, min_count: int) -> None:
        self.handle: Any = create("ngram_model", order, max(min_count, 0))
        self.total = 0
        self._logs: Doubles  # set by finish()

    def scan(self, ngrams: Units) -> None:
        keys = np.ascontiguousarray(ngrams.data).view(">u8").astype(np.uint64)
        call(lib.unitok_ngram_model_scan, self.handle, pointer(keys), pointer(ngrams.counts), len(keys))

    def scan_tables(self, tables: Sequence[NgramTable]) -> None:
        """Like scan(), for the combined n-grams of sorted tables."""
        handles = ffi.new("unitok_ngrams *[]", [table.handle for table in tables])
        places = ffi.new("unitok_ngram_place[]", len(tables))
        n, done = len(tables), ffi.new("int32_t *")
        while not done[0]:
            call(lib.unitok_ngram_model_scan_tables, self.handle, handles, n, places, SCANNED_AT_ONCE, done)

    def end_pass(self) -> None:
        call(lib.unitok_ngram_model_end_pass, self.handle)

    @property
    def memory_bytes(self) -> int:
        """The memory that the finished model uses; valid after the first pass."""
        return int(lib.unitok_ngram_model_memory_bytes(self.handle))

    def finish(self) -> None:
        """Compute the logarithms with NumPy, as bytepiece does."""
        self.total, self._logs = int(self._tables().total), _logs()
        lib.unitok_ngram_model_finish(self.handle, float(np.log(self.total)), pointer(self._logs))
        arrays = self.arrays()
        _take_logs(arrays["few"])
        _take_logs(arrays["large"][1::2])

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """The arguments of load(), as views of this model's memory."""
        tables = self._tables()
        sizes = np.array(list(tables.n_slots), np.int64)
        return {
            "few": _view(tables.few, N_FEW),
            "slots": _view(tables.slots, int(sizes.sum())),
            "n_slots": sizes,
            "large": _view(tables.large, 2 * tables.n_large_slots),
        }

    def _tables(self) -> Any:
        ret = ffi.new("unitok_ngram_tables *")
        lib.unitok_ngram_model_get_tables(self.handle, ret)
        return ret

    @classmethod
    def load(cls, order: int, arrays: Mapping[str, np.ndarray[Any, Any]], total: int) -> NgramModel:
        """A finished model made from the arrays() of another model. Raises ValueError if they are invalid."""
        few, slots, n_slots, large = (arrays[name] for name in ("few", "slots", "n_slots", "large"))
        if len(few) != N_FEW or len(n_slots) != MAX_ORDER + 1 or n_slots.min() < 0 or n_slots.sum() != len(slots):
            raise ValueError("these are not the tables of an n-gram model")
        tables, logs = ffi.new("unitok_ngram_tables *"), _logs()
        tables.few, tables.slots, tables.n_slots = pointer(few), pointer(slots), n_slots.tolist()
        tables.large, tables.n_large_slots = pointer(large), len(large) // 2
        model = cls.__new__(cls)
        model.handle = create("ngram_model", order, tables, float(np.log(total)), pointer(logs), how="load")
        model.total, model._logs = total, logs
        return model


def _view(array: Any, n: int) -> Counts:
    return np.frombuffer(ffi.buffer(array, 8 * n), np.uint64)


def _logs() -> Doubles:
    counts = np.arange(lib.UNITOK_NGRAM_LOGS, dtype=np.uint64)
    _take_logs(counts)
    return counts.view(np.float64)


def _take_logs(counts: Counts) -> None:
    """Replace counts with logarithms, computed in contiguous copies: NumPy may round differently in other arrays."""
    with np.errstate(divide="ignore"):
        for begin in range(0, len(counts), CHUNK_NGRAMS):
            part = counts[begin : begin + CHUNK_NGRAMS]
            part[:] = np.log(part.astype(np.float64)).view(np.uint64)


class NgramCutter:
    """Cuts texts into pieces with a finished model and counts the pieces in `counter`. Not thread-safe."""

    def __init__(
        self, model: NgramModel, is_digit: Bytes | None, counter: Counter, *, ensure_unicode: bool, lenient: bool
    ) -> None:
        flags = lib.UNITOK_NGRAM_ENSURE_UNICODE * ensure_unicode | lib.UNITOK_NGRAM_LENIENT * lenient
        self.handle: Any = create("ngram_cutter", model.handle, counter.handle, optional(is_digit), flags)
        self._keep = model, is_digit, counter

    def add(self, data: Bytes, offsets: Offsets) -> None:
        """Cut the chunks of packed documents and count their pieces."""
        _add(lib.unitok_ngram_cutter_add, self.handle, data, offsets)


def _add(function: Any, handle: Any, data: Bytes, offsets: Offsets) -> None:
    """Add packed documents in steps, so that Ctrl-C takes effect between steps."""
    cursor, docs = ffi.new("unitok_cursor *"), (pointer(data), pointer(offsets), len(offsets) - 1)
    while cursor.document < len(offsets) - 1:
        call(function, handle, *docs, STEP_BYTES, cursor)
