"""The compiled library as Python sees it: models, pointers to buffers, and one check() that raises.

No module outside pyunitok/_c touches the library.
"""

from __future__ import annotations

import os
import threading
from array import array
from struct import calcsize
from typing import Any

import numpy as np

from pyunitok._c import kinds
from pyunitok.packed import Bytes, Ids, Offsets, Scores

try:
    from pyunitok._lib import ffi as ffi
    from pyunitok._lib import lib as lib
except ModuleNotFoundError as error:
    raise ImportError(
        "the C library of pyunitok is not built in this folder: run `pip install -e .` here, or Python elsewhere"
    ) from error
from pyunitok.errors import CpuError, IdError, ModelFormatError, UnitokError, VocabularyError

CPUS = {"portable": 0, "sse2": 1, "avx2": 2, "avx512": 3, "neon": 4}
ENGINES = {"double-array": 0, "hat": 1}
ENCODE_SLACK: int = lib.UNITOK_ENCODE_SLACK
ID_MAX: int = lib.UNITOK_ID_MAX
WIDE_ID_MAX: int = lib.UNITOK_WIDE_ID_MAX
MODEL_FLAGS: dict[str, int] = {
    name: getattr(lib, f"UNITOK_{name.upper()}")
    for name in (
        "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix", "byte_fallback",
        "merge_unknown", "float64", "restart_at_space", "restart_after_newline", "bytes", "byte_pieces_match",
        "listed_merges", "ignore_merges",
    )
}  # fmt: skip
PIECE_TYPES: dict[str, int] = {
    name: getattr(lib, f"UNITOK_PIECE_{name.upper()}")
    for name in ("normal", "unknown", "control", "user_defined", "unused", "byte")
}
CHECKSUM_AT: int = lib.UNITOK_NATIVE_CHECKSUM_AT
CHECKED_FROM: int = lib.UNITOK_NATIVE_CHECKED_FROM
_decode, _from_buffer, _buffer = lib.unitok_decode, ffi.from_buffer, ffi.buffer
_new_undefined = ffi.new_allocator(should_clear_after_alloc=False)
_FEW_IDS, _FEW_BYTES = 256, 4096  # so many are decoded in one call


class RoomError(ValueError):
    """The array for ids is too small for these documents."""


_ERRORS: dict[int, type[Exception]] = {
    lib.UNITOK_ERROR_MEMORY: MemoryError,
    lib.UNITOK_ERROR_ARGUMENT: ValueError,
    lib.UNITOK_ERROR_VOCABULARY: VocabularyError,
    lib.UNITOK_ERROR_FORMAT: ModelFormatError,
    lib.UNITOK_ERROR_ID: IdError,
    lib.UNITOK_ERROR_CPU: CpuError,
    lib.UNITOK_ERROR_CAPACITY: RoomError,
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


_POINTERS = {"f": "float[]", "d": "double[]"}  # by the letters of the module struct, of which several may be one type
_POINTERS |= {code: f"uint{8 * calcsize(code)}_t[]" for code in "BHILQ"}
_POINTERS |= {code: f"int{8 * calcsize(code)}_t[]" for code in "ilq"}


def pointer(array: np.ndarray[Any, Any] | memoryview, *, writable: bool = False) -> Any:
    """A C array over `array`, not copied: it must be one-dimensional, contiguous, and of a dtype that C here knows. The
    caller keeps a memoryview alive; an array stays alive by itself.
    """
    view = memoryview(array)  # type: ignore[arg-type]
    if view.ndim != 1 or not view.c_contiguous or view.format not in _POINTERS:
        raise ValueError(f"expected a contiguous vector of numbers, not {view.format}{view.shape}")
    ret = ffi.from_buffer(_POINTERS[view.format], array, require_writable=writable)
    # No export of a memoryview may outlive this: the garbage collector would clear the memoryview first, and crash.
    return ffi.cast(_POINTERS[view.format].replace("[]", " *"), ret) if isinstance(array, memoryview) else ret


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


def _info_of(handle: Any) -> Any:
    info = ffi.new("unitok_model_info *")
    lib.unitok_model_get_info(handle, info)
    return info


class _Completing:
    """The lock under which models are completed. A child has its own: a fork may come while another thread holds it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = threading.Lock()


_completing = _Completing()


class Model:
    """An immutable C model: shared by threads, freed with its last reference. `keep` is what the C side borrows.

    Tables that only encoding needs are mostly built later, by complete(), which the first Scratch calls.

    kind      its row in kinds.py
    id_code   of its ids, in the module `array`: "H", or "I" where the largest does not fit
    checksum  that the native file which it was read from has been found to have, else None
    """

    __slots__ = ("_keep", "_types", "checksum", "handle", "id_code", "info", "kind")

    def __init__(self, handle: Any, keep: Any = None) -> None:
        info = _info_of(handle)
        self.info: Any = info
        self.kind = kinds.by_number(info.kind)
        self.id_code = "H" if info.id_bytes == 2 else "I"
        self.handle: Any = ffi.gc(handle, lib.unitok_model_free, int(info.memory_bytes))
        self._keep = keep
        self.checksum: int | None = None
        self._types: Bytes | None = None  # of every id

    @classmethod
    def new(
        cls, data: Bytes, offsets: Offsets, ids: Offsets, *, kind: str = "longest", flags: int = 0,
        scores: Scores | None = None, types: Bytes | None = None, charsmap: bytes = b"", unknown_surface: bytes = b"",
        eod_id: int | None, fallback_id: int | None = None, merges: Offsets | None = None,
        engine: str = "double-array", cpu: str | None = None,
    ) -> Model:  # fmt: skip
        """See unitok_spec and unitok_model_new in csrc/unitok.h."""
        ret, error, spec = ffi.new("unitok_model **"), ffi.new("unitok_error *"), ffi.new("unitok_spec *")
        if len(offsets) != len(ids) + 1 or int(offsets[-1]) > len(data):
            raise ValueError("the pieces' offsets do not fit their ids or their bytes")
        if any(array is not None and len(array) != len(ids) for array in (scores, types)):
            raise ValueError("the numbers of scores, types and pieces differ")
        spec.kind, spec.flags, spec.n_pieces = kinds.KINDS[kind].number, flags, len(ids)
        map_, surface = ffi.from_buffer("uint8_t[]", charsmap), ffi.from_buffer("uint8_t[]", unknown_surface)
        spec.data, spec.offsets, spec.ids = pointer(data), pointer(offsets), pointer(ids)
        spec.charsmap, spec.n_charsmap_bytes = map_, len(charsmap)
        spec.unknown_surface, spec.n_unknown_surface_bytes = surface, len(unknown_surface)
        spec.scores = ffi.NULL if scores is None else pointer(scores)
        spec.types = ffi.NULL if types is None else pointer(types)
        if merges is not None:
            spec.merges, spec.n_merges = pointer(merges), len(merges) // 3
        spec.eod_id = -1 if eod_id is None else eod_id
        spec.fallback_id = -1 if fallback_id is None else fallback_id
        check(lib.unitok_model_new(spec, engine_number(engine), cpu_number(cpu), ret, error), error)
        return cls(ret[0])

    @classmethod
    def load(cls, image: Any, *, engine: str, cpu: str | None) -> Model:
        """Open a native image in place; `image` is any buffer (a memory map), kept alive with the model."""
        ret, error = ffi.new("unitok_model **"), ffi.new("unitok_error *")
        buffer = ffi.from_buffer("uint8_t[]", image)
        number = engine_number(engine)
        check(lib.unitok_model_load(buffer, len(buffer), number, cpu_number(cpu), ret, error), error)
        return cls(ret[0], keep=(buffer, image))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its ids: uint16 or uint32."""
        return np.dtype(self.id_code)

    def complete(self) -> None:
        """Build what encoding needs, if that is still to be done; info is final then."""
        if self.info.is_complete:
            return
        with _completing.lock:
            if self.info.is_complete:
                return
            error = ffi.new("unitok_error *")
            check(lib.unitok_model_complete(self.handle, error), error)
            self.info = _info_of(self.handle)

    def save(self) -> bytearray:
        out = bytearray(lib.unitok_model_save(self.handle, ffi.NULL, 0))
        lib.unitok_model_save(self.handle, ffi.from_buffer("uint8_t[]", out, require_writable=True), len(out))
        return out

    def piece(self, id_: int) -> bytes | None:
        """The bytes of a piece; None if the id has none."""
        n_bytes = ffi.new("int64_t *")
        data = lib.unitok_model_piece(self.handle, id_, n_bytes)
        return None if n_bytes[0] < 0 else ffi.buffer(data, n_bytes[0])[:]

    def packed_pieces(self) -> tuple[memoryview, memoryview]:
        """All pieces by id: uint8[...], uint32[n_ids + 1]; an id without a piece is empty. Valid while the model is."""
        data, offsets = ffi.new("uint8_t **"), ffi.new("uint32_t **")
        lib.unitok_model_pieces(self.handle, data, offsets)
        bounds = memoryview(ffi.buffer(offsets[0], 4 * (self.info.n_ids + 1))).cast("B").cast("I")
        return memoryview(ffi.buffer(data[0], bounds[-1])), bounds

    def pieces(self) -> tuple[Bytes, Offsets]:
        """Copies of packed_pieces(): uint8[...], int64[n_ids + 1]."""
        data, bounds = self.packed_pieces()
        return np.frombuffer(bytes(data), np.uint8), np.asarray(bounds).astype(np.int64)

    def normalize(self, text: bytes) -> bytes:
        """The text as it is encoded, with U+2581 for spaces."""
        room = len(text) + len(text) // 2 + 64
        while True:
            out = _new_undefined("uint8_t[]", room)
            n = lib.unitok_model_normalize(self.handle, text, len(text), out, ffi.NULL, room)
            if n <= room:
                normalized: bytes = _buffer(out, n)[:]
                return normalized
            room = n

    def spec(self) -> dict[str, Any]:
        """Copies of what it was built from, in the terms of Model.new; not for greedy longest prefix."""
        spec = lib.unitok_model_spec(self.handle)
        n, n_merges = int(spec.n_pieces), int(spec.n_merges)
        offsets = np.frombuffer(ffi.buffer(spec.offsets, 8 * (n + 1))[:], np.int64)

        def bytes_of(data: Any, n_bytes: int) -> bytes:
            return ffi.buffer(data, n_bytes)[:] if n_bytes else b""

        return {
            "data": np.frombuffer(bytes_of(spec.data, int(offsets[-1])), np.uint8),
            "offsets": offsets,
            "ids": np.frombuffer(ffi.buffer(spec.ids, 8 * n)[:], np.int64),
            "scores": np.frombuffer(ffi.buffer(spec.scores, 8 * n)[:], np.float64),
            "types": np.frombuffer(ffi.buffer(spec.types, n)[:], np.uint8),
            "charsmap": bytes_of(spec.charsmap, spec.n_charsmap_bytes),
            "unknown_surface": bytes_of(spec.unknown_surface, spec.n_unknown_surface_bytes),
            "merges": np.frombuffer(ffi.buffer(spec.merges, 24 * n_merges)[:], np.int64) if n_merges else None,
        }

    def is_byte(self, id_: int) -> bool:
        """Whether the id is a byte piece."""
        return bool(lib.unitok_model_piece_type(self.handle, id_) == lib.UNITOK_PIECE_BYTE)

    def is_text(self, id_: int) -> bool:
        """Whether the id has a piece that is not a control symbol."""
        return int(lib.unitok_model_piece_type(self.handle, id_)) not in (0, lib.UNITOK_PIECE_CONTROL)

    def scores(self) -> tuple[Offsets, Scores]:
        """Copies of int64[n] ids and float64[n] scores, piece by piece; not for greedy longest prefix."""
        spec = lib.unitok_model_spec(self.handle)
        ids = np.frombuffer(ffi.buffer(spec.ids, 8 * spec.n_pieces)[:], np.int64)
        return ids, np.frombuffer(ffi.buffer(spec.scores, 8 * spec.n_pieces)[:], np.float64)

    def piece_types(self) -> Bytes:
        """uint8[n_ids]: the enum unitok_piece_type of each id, 0 where it has no piece."""
        if self._types is None:
            types, spec = np.zeros(self.info.n_ids, np.uint8), lib.unitok_model_spec(self.handle)
            if spec == ffi.NULL:  # greedy longest prefix has no types
                types[np.diff(self.pieces()[1]) > 0] = lib.UNITOK_PIECE_NORMAL
            else:
                n = int(spec.n_pieces)
                ids = np.frombuffer(ffi.buffer(spec.ids, 8 * n), np.int64)
                types[ids] = np.frombuffer(ffi.buffer(spec.types, n), np.uint8)
            self._types = types
        return self._types

    def bounds_of_runs(self, ids: Ids) -> Offsets:
        """Where to divide `ids` so that byte pieces do not meet across a piece that may decode to nothing."""
        cuts: list[int] = []
        if self.info.flags & lib.UNITOK_BYTE_FALLBACK:
            types = self.piece_types()[np.minimum(ids, self.info.n_ids - 1)]
            may_be_empty = np.isin(types[:-1], (lib.UNITOK_PIECE_CONTROL, lib.UNITOK_PIECE_UNKNOWN, 0))
            is_cut = may_be_empty & (types[1:] == lib.UNITOK_PIECE_BYTE)
            cuts = (np.flatnonzero(is_cut) + 1).tolist()
        return np.array([0, *cuts, len(ids)], np.int64)

    def find(self, piece: bytes) -> int:
        return int(lib.unitok_model_find(self.handle, piece, len(piece)))

    def split(self, text: Any) -> int:
        self.complete()
        buffer = ffi.from_buffer("uint8_t[]", text)
        return int(lib.unitok_split(self.handle, buffer, len(buffer)))

    def decode_few(self, ids: list[int]) -> bytes | None:
        """What decode_batch makes of one document. None where that must be asked: ids that are too many, that are no
        integers, that the model does not have, or byte pieces right behind control symbols."""
        if len(ids) > _FEW_IDS:
            return None
        try:
            items = array(self.id_code, ids)
        except (TypeError, OverflowError):
            return None
        out = _new_undefined("uint8_t[]", _FEW_BYTES)
        n = _decode(self.handle, _from_buffer(items), len(items), out, _FEW_BYTES)
        return _buffer(out, n)[:] if n >= 0 else None

    def decode_batch(
        self, ids: Ids, offsets: Offsets, *, drop_last: bool = False, separator: bytes = b""
    ) -> tuple[Bytes, Offsets]:
        if int(offsets[-1]) > len(ids) or ids.dtype != self.dtype:
            raise ValueError(f"the offsets reach past the ids, or these are not {self.dtype}")
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
