"""Bindings for the section "Encoding and sampling" of csrc/unitok.h."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok._c.library import ENCODE_SLACK, CapacityError, allocate, call, copied, ffi, lib, optional, pointer
from pyunitok._c.model import Model
from pyunitok._c.text import Sections
from pyunitok.errors import UnitokError
from pyunitok.packed import Bytes, Ids, Offsets

METHODS = {"lattice": 0, "nbest": 1, "viterbi": 2, "dropout": 3}
_encode, _unpack = lib.unitok_encode, ffi.unpack
_SMALL_BYTES = 4096  # texts up to this size are encoded into a reused buffer
_NO_CAPACITY, _TOO_LONG = -2, -3


def capacity_for(n_bytes: int) -> int:
    """A capacity, in ids, that suffices for most texts of n_bytes, or for all of them if the model does not normalize.
    The encoder requires space for three ids per byte of the next 8 KiB."""
    return n_bytes + n_bytes // 8 + 3 * min(n_bytes, 9000) + ENCODE_SLACK


def sampling(method: str, alpha: float, seed: int, *, n_best: int = 0, source: int = 0, document: int = 0) -> Any:
    """Build a unitok_sampling."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be within 0..2**64 - 1, not {seed}")
    ret = ffi.new("unitok_sampling *")
    ret.method, ret.n_best, ret.alpha, ret.seed, ret.input, ret.document = (
        METHODS[method], n_best, alpha, seed, source, document
    )  # fmt: skip
    return ret


class State:
    """The encoder's state between two parts of a document, a unitok_state. A new State starts a document."""

    __slots__ = ("handle",)

    def __init__(self, hexadecimal: str = "") -> None:
        """Restore a state from the result of hexadecimal(). Raises ValueError for any other text."""
        self.handle: Any = ffi.new("unitok_state *")
        if hexadecimal:
            data = bytes.fromhex(hexadecimal)
            if lib.unitok_state_load(data, len(data), self.handle, ffi.NULL):
                raise ValueError("not the state of an encoder")

    def hexadecimal(self) -> str:
        """The state as text, portable between machines."""
        out = bytearray(lib.UNITOK_STATE_BYTES)
        lib.unitok_state_save(self.handle, ffi.from_buffer("uint8_t[]", out, require_writable=True))
        return out.hex()


Path = tuple[Offsets, float]  # int64[n, 4] spans, as from encode_spans, and the score


def _take_paths(handle: Any) -> list[Path]:
    """Copy all paths of a unitok_paths and free it."""
    spans, score, paths = ffi.new("unitok_span **"), ffi.new("double *"), []
    try:
        for k in range(lib.unitok_paths_count(handle)):
            n = lib.unitok_paths_get(handle, k, spans, score)
            paths.append((copied(spans[0], 4 * n, np.int64).reshape(n, 4), float(score[0])))
    finally:
        lib.unitok_paths_free(handle)
    return paths


def _failed(code: int, text: bytes) -> Exception:
    if code == _TOO_LONG:
        return UnitokError(
            f"a text of {len(text):,} bytes is too long: a part that cannot be cut exceeds 536,870,912 bytes; "
            "divide the text into shorter documents"
        )
    return MemoryError("not enough memory to encode this text")


class Scratch:
    """The working memory of one thread for one model: the memo of segments, and a buffer for short results."""

    __slots__ = ("_ids", "_ids_pointer", "_model", "_model_handle", "handle")

    def __init__(self, model: Model) -> None:
        model.complete()
        self._model = model  # must outlive the scratch
        self._model_handle = model.handle
        self.handle: Any = allocate("scratch", model.handle)
        self._ids: Any = np.empty(capacity_for(_SMALL_BYTES), model.dtype)
        self._ids_pointer: Any = pointer(self._ids)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._model.dtype

    def encode(self, text: bytes) -> Any:
        """The ids of one document, as an array."""
        n_bytes = len(text)
        if n_bytes <= _SMALL_BYTES:
            n = _encode(self._model_handle, self.handle, text, n_bytes, self._ids_pointer, len(self._ids))
            if n >= 0:
                return self._ids[:n].copy()
        return self._encode_large(text)

    def encode_list(self, text: bytes) -> list[int]:
        """The ids of one document, as a list."""
        n_bytes = len(text)
        if n_bytes <= _SMALL_BYTES:
            n = _encode(self._model_handle, self.handle, text, n_bytes, self._ids_pointer, len(self._ids))
            if n >= 0:
                ids: list[int] = _unpack(self._ids_pointer, n)
                return ids
        found: list[int] = self._encode_large(text).tolist()
        return found

    def _encode_large(self, text: bytes) -> Ids:
        capacity = capacity_for(len(text))
        while True:
            ids: Ids = np.empty(capacity, self._model.dtype)
            n = _encode(self._model_handle, self.handle, text, len(text), pointer(ids), capacity)
            if n >= 0:
                ids.resize(n, refcheck=False)
                return ids
            if n != _NO_CAPACITY:
                raise _failed(n, text)
            capacity *= 2

    def count(self, text: bytes) -> int:
        n = -1
        if len(text) <= _SMALL_BYTES:
            n = int(_encode(self._model_handle, self.handle, text, len(text), self._ids_pointer, len(self._ids)))
        return n if n >= 0 else len(self._encode_large(text))

    def encode_spans(self, text: bytes) -> Offsets:
        """int64[n, 4]: id, begin and end in the text, end in the normalized text; see unitok_span."""
        capacity = len(text) + ENCODE_SLACK
        while True:
            spans = np.empty((capacity, 4), np.int64)
            buffer = ffi.cast("unitok_span *", ffi.from_buffer(spans))
            n = lib.unitok_encode_spans(self._model_handle, self.handle, text, len(text), buffer, capacity)
            if n >= 0:
                found: Offsets = spans[:n].copy()
                return found
            if n != _NO_CAPACITY:
                raise _failed(n, text)
            capacity *= 2

    def encode_batch(
        self, data: Bytes, offsets: Offsets, ids: Ids, id_offsets: Offsets, *,
        eod_id: int = -1, open_start: bool = False, open_end: bool = False, state: State | None = None,
        sampling: Any = None, documents: Offsets | None = None, prepared: bool = False,
    ) -> int:  # fmt: skip
        """Encode documents data[offsets[i]:offsets[i + 1]] into `ids`, fill id_offsets[0..n] and return the number of
        ids. Raises CapacityError if `ids` may be too small; a size of one id per byte and per eod, plus ENCODE_SLACK,
        usually suffices.

        sampling   a result of sampling(): draw a sample of each document
        documents  with sampling: int64[n] document numbers; None if they are consecutive
        prepared   the documents are already normalized; see UNITOK_ENCODE_PREPARED
        """
        n_docs = len(offsets) - 1
        if int(offsets[-1]) > len(data) or len(id_offsets) <= n_docs or ids.dtype != self._model.dtype:
            raise ValueError("a buffer is too small for these documents, or has the wrong dtype")
        flags = lib.UNITOK_ENCODE_OPEN_START * open_start | lib.UNITOK_ENCODE_OPEN_END * open_end
        flags |= lib.UNITOK_ENCODE_PREPARED * prepared
        head = (self._model_handle, self.handle)
        tail = (
            pointer(data), pointer(offsets), n_docs, eod_id, flags, ffi.NULL if state is None else state.handle,
            pointer(ids, writable=True), len(ids), pointer(id_offsets, writable=True),
        )  # fmt: skip
        if sampling is None:
            call(lib.unitok_encode_batch, *head, *tail)
        else:
            sampling.documents = optional(documents)
            call(lib.unitok_sample_batch, *head, sampling, *tail)
        return int(id_offsets[n_docs])

    def encode_documents(self, data: Bytes, offsets: Offsets, *, sampling: Any = None) -> tuple[Ids, Offsets]:
        """Like encode_batch(), but returns new arrays: the ids, and their int64[n + 1] offsets."""
        capacity, id_offsets = capacity_for(int(offsets[-1] - offsets[0])), np.empty(len(offsets), np.int64)
        while True:
            ids: Ids = np.empty(capacity, self._model.dtype)
            try:
                n = self.encode_batch(data, offsets, ids, id_offsets, sampling=sampling)
            except CapacityError:
                capacity *= 2
                continue
            ids.resize(n, refcheck=False)
            return ids, id_offsets

    def encode_sections(self, sections: Sections, ids: Ids, id_offsets: Offsets) -> int:
        """Like encode_batch, but for texts that are divided into sections."""
        n = len(sections.given)
        if int(sections.offsets[-1]) > len(sections.data) or len(id_offsets) <= n or ids.dtype != self._model.dtype:
            raise ValueError("a buffer is too small for these sections, or has the wrong dtype")
        call(
            lib.unitok_encode_sections, self._model_handle, self.handle, pointer(sections.data),
            pointer(sections.offsets), pointer(sections.given), n, pointer(ids, writable=True), len(ids),
            pointer(id_offsets, writable=True),
        )  # fmt: skip
        return int(id_offsets[n])

    def nbest(self, text: bytes, n: int) -> list[Path]:
        """The n best paths, best first."""
        ret = ffi.new("unitok_paths **")
        call(lib.unitok_nbest, self._model_handle, self.handle, text, len(text), n, ret)
        return _take_paths(ret[0])

    def sample_paths(self, text: bytes, n: int, sampling: Any, *, distinct: bool, include_best: bool) -> list[Path]:
        """Draw n samples, with the logarithms of their probabilities."""
        ret = ffi.new("unitok_paths **")
        flags = lib.UNITOK_SAMPLE_DISTINCT * distinct | lib.UNITOK_SAMPLE_INCLUDE_BEST * include_best
        call(lib.unitok_sample_paths, self._model_handle, self.handle, sampling, text, len(text), n, flags, ret)
        return _take_paths(ret[0])

    def entropy(self, text: bytes, alpha: float) -> float:
        ret = ffi.new("double *")
        call(lib.unitok_entropy, self._model_handle, self.handle, text, len(text), alpha, ret)
        return float(ret[0])
