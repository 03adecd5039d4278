"""The only module that touches the compiled library: handles, buffers, and one check() that raises."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from pyunitok._lib import ffi, lib
except ModuleNotFoundError as error:
    raise ImportError(
        "the C library of pyunitok is not built in this folder: run `pip install -e .` here, or Python elsewhere"
    ) from error
from pyunitok.errors import CpuError, IdError, ModelFormatError, UnitokError, VocabularyError

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Ids = np.ndarray[Any, np.dtype[np.uint16]]
Offsets = np.ndarray[Any, np.dtype[np.int64]]

CPUS = {"portable": 0, "sse2": 1, "avx2": 2, "avx512": 3, "neon": 4}
ENGINES = {"double-array": 0, "hat": 1}
ENCODE_SLACK: int = lib.UNITOK_ENCODE_SLACK
ID_MAX: int = lib.UNITOK_ID_MAX
CHECKSUM_AT: int = lib.UNITOK_NATIVE_CHECKSUM_AT
CHECKED_FROM: int = lib.UNITOK_NATIVE_CHECKED_FROM

_ERRORS: dict[int, type[Exception]] = {
    lib.UNITOK_ERROR_MEMORY: MemoryError,
    lib.UNITOK_ERROR_ARGUMENT: ValueError,
    lib.UNITOK_ERROR_VOCABULARY: VocabularyError,
    lib.UNITOK_ERROR_FORMAT: ModelFormatError,
    lib.UNITOK_ERROR_ID: IdError,
    lib.UNITOK_ERROR_CPU: CpuError,
}


def check(status: int, error: Any) -> None:
    """Raise what `error` says if `status` is not UNITOK_OK; the exception carries .item and .position."""
    if status == 0:
        return
    message: str = ffi.string(error.message).decode()
    if status == lib.UNITOK_ERROR_ID:
        message = f"id {error.item} at position {error.position}: {message}"
    elif error.position >= 0:
        message = f"{message} (byte {error.position})"
    exception = _ERRORS.get(status, UnitokError)(message)
    exception.item = int(error.item)  # type: ignore[attr-defined]
    exception.position = int(error.position)  # type: ignore[attr-defined]
    raise exception


_POINTERS = {np.dtype(np.uint8): "uint8_t[]", np.dtype(np.uint16): "uint16_t[]", np.dtype(np.int64): "int64_t[]"}


def pointer(array: np.ndarray[Any, Any], *, writable: bool = False) -> Any:
    """A C array over `array`, not copied: it must be one-dimensional, contiguous, and of a dtype that C here knows."""
    if array.ndim != 1 or not array.flags.c_contiguous or array.dtype not in _POINTERS:
        raise ValueError(f"expected a contiguous uint8, uint16 or int64 vector, not {array.dtype}{array.shape}")
    return ffi.from_buffer(_POINTERS[array.dtype], array, require_writable=writable)


def cpu_supported(name: str) -> bool:
    return bool(lib.unitok_cpu_supported(CPUS[name]))


def engine_number(engine: str) -> int:
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}")
    return ENGINES[engine]


def cpu_number(cpu: str | None) -> int:
    if cpu is not None and cpu not in CPUS:
        raise ValueError(f"cpu must be None or one of {', '.join(CPUS)}, not {cpu!r}")
    return -1 if cpu is None else CPUS[cpu]


class Model:
    """An immutable C model: shared by threads, freed with its last reference. `keep` is what the C side borrows."""

    __slots__ = ("_keep", "handle", "info")

    def __init__(self, handle: Any, keep: Any = None) -> None:
        info = ffi.new("unitok_model_info *")
        lib.unitok_model_get_info(handle, info)
        self.info: Any = info
        self.handle: Any = ffi.gc(handle, lib.unitok_model_free, int(info.memory_bytes))
        self._keep = keep

    @classmethod
    def new(
        cls, data: Bytes, offsets: Offsets, ids: Offsets, *,
        eod_id: int | None, fallback_id: int | None, engine: str, cpu: str | None,
    ) -> Model:  # fmt: skip
        ret, error = ffi.new("unitok_model **"), ffi.new("unitok_error *")
        if len(offsets) != len(ids) + 1 or int(offsets[-1]) > len(data):
            raise ValueError("the pieces' offsets do not fit their ids or their bytes")
        status = lib.unitok_model_new(
            pointer(data), pointer(offsets), pointer(ids), len(ids), -1 if eod_id is None else eod_id,
            -1 if fallback_id is None else fallback_id, engine_number(engine), cpu_number(cpu), ret, error,
        )  # fmt: skip
        check(status, error)
        return cls(ret[0])

    @classmethod
    def load(cls, image: Any, *, engine: str, cpu: str | None) -> Model:
        """Open a native image in place; `image` is any buffer (a memory map), kept alive with the model."""
        ret, error = ffi.new("unitok_model **"), ffi.new("unitok_error *")
        buffer = ffi.from_buffer("uint8_t[]", image)
        check(lib.unitok_model_load(buffer, len(buffer), engine_number(engine), cpu_number(cpu), ret, error), error)
        return cls(ret[0], keep=(buffer, image))

    def save(self) -> bytearray:
        out = bytearray(lib.unitok_model_save(self.handle, ffi.NULL, 0))
        lib.unitok_model_save(self.handle, ffi.from_buffer("uint8_t[]", out, require_writable=True), len(out))
        return out

    def piece(self, id_: int) -> bytes | None:
        """The bytes of a piece; None where the id has none."""
        n_bytes = ffi.new("int64_t *")
        data = lib.unitok_model_piece(self.handle, id_, n_bytes)
        return None if n_bytes[0] < 0 else ffi.buffer(data, n_bytes[0])[:]

    def pieces(self) -> tuple[Bytes, Offsets]:
        """Copies of all pieces by id: uint8[...], int64[n_ids + 1]; an id without a piece is empty."""
        data, offsets = ffi.new("uint8_t **"), ffi.new("uint32_t **")
        lib.unitok_model_pieces(self.handle, data, offsets)
        bounds = np.frombuffer(ffi.buffer(offsets[0], 4 * (self.info.n_ids + 1)), np.uint32).astype(np.int64)
        return np.frombuffer(ffi.buffer(data[0], int(bounds[-1]))[:], np.uint8), bounds

    def find(self, piece: bytes) -> int:
        return int(lib.unitok_model_find(self.handle, piece, len(piece)))

    def split(self, text: Any) -> int:
        buffer = ffi.from_buffer("uint8_t[]", text)
        return int(lib.unitok_split(self.handle, buffer, len(buffer)))

    def encode_ends(self, text: bytes) -> tuple[Ids, Offsets]:
        ids = np.empty(len(text) + ENCODE_SLACK, np.uint16)
        ends = np.empty(len(text) + 1, np.int64)
        n = lib.unitok_encode_ends(self.handle, text, len(text), pointer(ids), pointer(ends))
        return ids[:n].copy(), ends[:n].copy()

    def decode_batch(
        self, ids: Ids, offsets: Offsets, *, drop_last: bool = False, separator: bytes = b""
    ) -> tuple[Bytes, Offsets]:
        if int(offsets[-1]) > len(ids):
            raise ValueError("the offsets reach past the ids")
        sizes = np.empty(len(offsets), np.int64)
        error = ffi.new("unitok_error *")

        def call(out: Any, capacity: int) -> None:
            status = lib.unitok_decode_batch(
                self.handle, pointer(ids), pointer(offsets), len(offsets) - 1, drop_last, separator, len(separator),
                out, capacity, pointer(sizes), error,
            )  # fmt: skip
            check(status, error)

        call(ffi.NULL, -1)
        out = np.empty(int(sizes[-1]), np.uint8)
        call(pointer(out), len(out))
        if int(sizes[-1]) != len(out):
            raise ValueError("the ids changed while they were decoded")
        return out, sizes


_encode = lib.unitok_encode
_SMALL_BYTES = 4096  # texts up to here are encoded into a buffer that is used again


class Scratch:
    """What one thread needs to encode with one model: the memo of segments met, and a buffer for short results."""

    __slots__ = ("_ids", "_ids_pointer", "_model", "_model_handle", "handle")

    def __init__(self, model: Model) -> None:
        handle = lib.unitok_scratch_new(model.handle)
        if handle == ffi.NULL:
            raise MemoryError("not enough memory for an encoder's scratch")
        self._model = model  # must outlive the scratch
        self._model_handle = model.handle
        self.handle: Any = ffi.gc(handle, lib.unitok_scratch_free, int(lib.unitok_scratch_memory_bytes(handle)))
        self._ids: Ids = np.empty(_SMALL_BYTES + ENCODE_SLACK, np.uint16)
        self._ids_pointer: Any = pointer(self._ids)

    def clear(self) -> None:
        """Forget the segments met."""
        lib.unitok_scratch_clear(self.handle)

    def encode(self, text: bytes) -> Ids:
        """uint16[n]: the ids of one document."""
        n_bytes = len(text)
        if n_bytes <= _SMALL_BYTES:
            return np.array(self._ids[: _encode(self._model_handle, self.handle, text, n_bytes, self._ids_pointer)])
        ids = np.empty(n_bytes + ENCODE_SLACK, np.uint16)
        n = _encode(self._model_handle, self.handle, text, n_bytes, pointer(ids))
        ids.resize(n, refcheck=False)
        return ids

    def count(self, text: bytes) -> int:
        ids = self._ids if len(text) <= _SMALL_BYTES else np.empty(len(text) + ENCODE_SLACK, np.uint16)
        return int(_encode(self._model_handle, self.handle, text, len(text), pointer(ids)))

    def encode_each(self, texts: list[bytes], ids: Ids) -> Offsets:
        """Encode each text where it lies, one call a text, into `ids`; int64[n + 1]: their offsets there.

        `ids` must have room for every byte and ENCODE_SLACK more.
        """
        if len(ids) < sum(map(len, texts)) + ENCODE_SLACK:
            raise ValueError("a buffer is too small for these documents")
        out, model, scratch = pointer(ids, writable=True), self._model_handle, self.handle
        done, offsets = 0, [0]
        for text in texts:
            done += _encode(model, scratch, text, len(text), out + done)
            offsets.append(done)
        return np.array(offsets, np.int64)

    def encode_batch(
        self, data: Bytes, offsets: Offsets, ids: Ids, id_offsets: Offsets, *,
        eod_id: int = -1, open_end: bool = False, plain: bool = False,
    ) -> int:  # fmt: skip
        """Encode documents data[offsets[i]:offsets[i + 1]] into `ids`; fills id_offsets[0..n] and returns the number of
        ids. `ids` must have room for every byte, every eod and ENCODE_SLACK more."""
        n_docs = len(offsets) - 1
        needed = int(offsets[-1] - offsets[0]) + n_docs * (eod_id >= 0) + ENCODE_SLACK
        if int(offsets[-1]) > len(data) or len(ids) < needed or len(id_offsets) <= n_docs:
            raise ValueError("a buffer is too small for these documents")
        flags = lib.UNITOK_ENCODE_OPEN_END * open_end | lib.UNITOK_ENCODE_PLAIN * plain
        error = ffi.new("unitok_error *")
        status = lib.unitok_encode_batch(
            self._model_handle, self.handle, pointer(data), pointer(offsets), n_docs, eod_id, flags,
            pointer(ids, writable=True), pointer(id_offsets, writable=True), error,
        )  # fmt: skip
        check(status, error)
        return int(id_offsets[n_docs])


def split_documents(text: Bytes, n_bytes: int, separator: bytes, offsets: Offsets) -> tuple[int, int]:
    """Cut text[:n_bytes] at `separator` in place: (documents, bytes consumed); see csrc/unitok.h."""
    if not 0 <= n_bytes <= len(text) or not separator or len(offsets) < 3:
        raise ValueError("no separator, or a buffer that is too small")
    consumed = ffi.new("int64_t *")
    n_docs = lib.unitok_split_documents(
        pointer(text, writable=True), n_bytes, separator, len(separator), pointer(offsets, writable=True),
        len(offsets) - 1, consumed,
    )  # fmt: skip
    return int(n_docs), int(consumed[0])


def json_unescape(json: bytes, n_strings: int, out: Bytes, offsets: Offsets) -> int:
    """Unescape strings laid end to end into a packed list: how many before the first bad one; see csrc/unitok.h."""
    if len(out) < len(json) or len(offsets) <= n_strings:
        raise ValueError("a buffer is too small for these strings")
    buffer = ffi.from_buffer("uint8_t[]", json)
    return int(
        lib.unitok_json_unescape(
            buffer, len(json), n_strings, pointer(out, writable=True), pointer(offsets, writable=True)
        )
    )
