"""Training BytePiece: the calls of that section of csrc/unitok_train.h."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pyunitok._c.library import check, ffi, lib, pointer
from pyunitok._c.train import Counter, Counts, Units
from pyunitok._c.train_lexicon import Doubles
from pyunitok.packed import Bytes, Offsets

MAX_ORDER: int = lib.UNITOK_NGRAM_MAX_ORDER
KEY_BYTES = 8
N_FEW = 256 + 65536  # n-grams of one and of two bytes
CHUNK_NGRAMS = 1 << 15
SCANNED_AT_ONCE = 1 << 22
STEP_BYTES = 1 << 20  # added in one call: Ctrl-C waits for its end


class Ngrams:
    """A table of byte n-grams, for one thread at a time. In Units an n-gram has 8 bytes: csrc/train/ngrams.h."""

    def __init__(self, order: int, is_digit: Bytes | None) -> None:
        ret, error = ffi.new("unitok_ngrams **"), ffi.new("unitok_error *")
        check(lib.unitok_ngrams_new(order, _optional(is_digit), ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_ngrams_free)
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
        error = ffi.new("unitok_error *")
        check(lib.unitok_ngrams_sort(self.handle, error), error)

    def clear(self) -> None:
        error = ffi.new("unitok_error *")
        check(lib.unitok_ngrams_clear(self.handle, error), error)

    def export(self) -> Units:
        """All of them, after sort()."""
        return self._next(ffi.new("unitok_ngram_place *"), len(self))

    def chunks(self) -> Iterator[Units]:
        """The same in parts."""
        place = ffi.new("unitok_ngram_place *")
        while len(part := self._next(place, CHUNK_NGRAMS)):
            yield part

    def _next(self, place: Any, n: int) -> Units:
        keys, counts = np.empty((2, n), np.uint64)
        n = int(lib.unitok_ngrams_export(self.handle, place, n, pointer(keys), pointer(counts)))
        offsets = np.arange(n + 1, dtype=np.int64) * KEY_BYTES
        return Units(keys[:n].astype(">u8").view(np.uint8), offsets, counts[:n])


class NgramModel:
    """The common n-grams and the logarithms of their counts. Immutable once finish() is done; shared by threads.

    Give scan() all n-grams, end the pass, and both again; then finish it.
    """

    def __init__(self, order: int, min_count: int) -> None:
        ret, error = ffi.new("unitok_ngram_model **"), ffi.new("unitok_error *")
        check(lib.unitok_ngram_model_new(order, max(min_count, 0), ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_ngram_model_free)
        self.total = 0
        self._logs: Doubles  # once it is finished

    def scan(self, ngrams: Units) -> None:
        error = ffi.new("unitok_error *")
        keys = np.ascontiguousarray(ngrams.data).view(">u8").astype(np.uint64)
        check(lib.unitok_ngram_model_scan(self.handle, pointer(keys), pointer(ngrams.counts), len(keys), error), error)

    def scan_tables(self, tables: Sequence[Ngrams]) -> None:
        """scan() of all that sorted tables hold together."""
        handles = ffi.new("unitok_ngrams *[]", [table.handle for table in tables])
        places = ffi.new("unitok_ngram_place[]", len(tables))
        done, error = ffi.new("int32_t *"), ffi.new("unitok_error *")
        while not done[0]:
            status = lib.unitok_ngram_model_scan_tables(
                self.handle, handles, len(tables), places, SCANNED_AT_ONCE, done, error
            )
            check(status, error)

    def end_pass(self) -> None:
        error = ffi.new("unitok_error *")
        check(lib.unitok_ngram_model_end_pass(self.handle, error), error)

    @property
    def memory_bytes(self) -> int:
        """Known after the first pass."""
        return int(lib.unitok_ngram_model_memory_bytes(self.handle))

    def finish(self) -> None:
        """Take the logarithms, by numpy: that is how bytepiece's are computed."""
        tables = ffi.new("unitok_ngram_tables *")
        lib.unitok_ngram_model_get_tables(self.handle, tables)
        self.total, self._logs = int(tables.total), _logs()
        lib.unitok_ngram_model_finish(self.handle, float(np.log(self.total)), pointer(self._logs))
        arrays = self.arrays()
        _take_logs(arrays["few"])
        _take_logs(arrays["large"][1::2])

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """What load() takes; views of its memory."""
        tables = ffi.new("unitok_ngram_tables *")
        lib.unitok_ngram_model_get_tables(self.handle, tables)
        sizes = np.array(list(tables.n_slots), np.int64)
        return {
            "few": _view(tables.few, N_FEW),
            "slots": _view(tables.slots, int(sizes.sum())),
            "n_slots": sizes,
            "large": _view(tables.large, 2 * tables.n_large_slots),
        }

    @classmethod
    def load(cls, order: int, arrays: Mapping[str, np.ndarray[Any, Any]], total: int) -> NgramModel:
        """A finished model of the arrays of another. ValueError for what is none."""
        ret, error = ffi.new("unitok_ngram_model **"), ffi.new("unitok_error *")
        few, slots, n_slots, large = (arrays[name] for name in ("few", "slots", "n_slots", "large"))
        if len(few) != N_FEW or len(n_slots) != MAX_ORDER + 1 or n_slots.min() < 0 or n_slots.sum() != len(slots):
            raise ValueError("not the n-grams of a model")
        tables, logs = ffi.new("unitok_ngram_tables *"), _logs()
        tables.few, tables.slots, tables.n_slots = pointer(few), pointer(slots), n_slots.tolist()
        tables.large, tables.n_large_slots = pointer(large), len(large) // 2
        log_total = float(np.log(total))
        check(lib.unitok_ngram_model_load(order, tables, log_total, pointer(logs), ret, error), error)
        model = cls.__new__(cls)
        model.handle, model.total = ffi.gc(ret[0], lib.unitok_ngram_model_free), total
        model._logs = logs
        return model


def _view(array: Any, n: int) -> Counts:
    return np.frombuffer(ffi.buffer(array, 8 * n), np.uint64)


def _logs() -> Doubles:
    counts = np.arange(lib.UNITOK_NGRAM_LOGS, dtype=np.uint64)
    _take_logs(counts)
    return counts.view(np.float64)


def _take_logs(counts: Counts) -> None:
    """In place. By parts that are contiguous: numpy may compute others by another function, with another last bit."""
    with np.errstate(divide="ignore"):
        for begin in range(0, len(counts), CHUNK_NGRAMS):
            part = counts[begin : begin + CHUNK_NGRAMS]
            part[:] = np.log(part.astype(np.float64)).view(np.uint64)


def _optional(array: Bytes | None) -> Any:
    return ffi.NULL if array is None else pointer(array)


class NgramCutter:
    """Cuts texts into pieces by a finished model and counts the pieces in `counter`. For one thread at a time."""

    def __init__(
        self, model: NgramModel, is_digit: Bytes | None, counter: Counter, *, ensure_unicode: bool, mended: bool
    ) -> None:
        flags = lib.UNITOK_NGRAM_ENSURE_UNICODE * ensure_unicode | lib.UNITOK_NGRAM_MENDED * mended
        ret, error = ffi.new("unitok_ngram_cutter **"), ffi.new("unitok_error *")
        check(
            lib.unitok_ngram_cutter_new(model.handle, counter.handle, _optional(is_digit), flags, ret, error), error
        )
        self.handle: Any = ffi.gc(ret[0], lib.unitok_ngram_cutter_free)
        self._keep = model, is_digit, counter

    def add(self, data: Bytes, offsets: Offsets) -> None:
        """Cut the chunks of packed documents, and count their pieces."""
        _add(lib.unitok_ngram_cutter_add, self.handle, data, offsets)


def _add(function: Any, handle: Any, data: Bytes, offsets: Offsets) -> None:
    """Add packed documents in steps, so that Ctrl-C works between them."""
    cursor, error, n_docs = ffi.new("unitok_cursor *"), ffi.new("unitok_error *"), len(offsets) - 1
    c_data, c_offsets = pointer(data), pointer(offsets)
    while cursor.document < n_docs:
        check(function(handle, c_data, c_offsets, n_docs, STEP_BYTES, cursor, error), error)
