"""Bindings for the section "Models and decoding" of csrc/unitok.h."""

from __future__ import annotations

import os
import threading
from array import array
from typing import Any

import numpy as np

from pyunitok._c import kinds
from pyunitok._c.library import buffer_of, call, copied, cpu_number, create, engine_number, ffi, lib, optional, pointer
from pyunitok.packed import Bytes, Ids, Offsets, Scores

_decode, _from_buffer, _buffer = lib.unitok_decode, ffi.from_buffer, ffi.buffer
_new_undefined = ffi.new_allocator(should_clear_after_alloc=False)
_FEW_IDS, _FEW_BYTES = 256, 4096  # the limits of decode_few


def _info_of(handle: Any) -> Any:
    info = ffi.new("unitok_model_info *")
    lib.unitok_model_get_info(handle, info)
    return info


_completing = {"lock": threading.Lock()}  # held while a model is being completed
if hasattr(os, "register_at_fork"):  # in the child, the lock may be held by a thread that fork() did not copy
    os.register_at_fork(after_in_child=lambda: _completing.update(lock=threading.Lock()))


class Model:
    """An immutable C model, shared by threads. `keep` holds the objects that C borrows.

    The first Scratch calls complete(), which builds most of the tables that only encoding needs.

    kind      its row in kinds.py
    id_code   the type code of its ids for `array.array`: "H", or "I" if the largest id needs more than 16 bits
    """

    __slots__ = ("_keep", "_types", "handle", "id_code", "info", "kind")

    def __init__(self, handle: Any, keep: Any = None) -> None:
        info = _info_of(handle)
        self.info: Any = info
        self.kind = next(kind for kind in kinds.KINDS.values() if kind.number == info.kind)
        self.id_code = "H" if info.id_bytes == 2 else "I"
        self.handle: Any = handle
        self._keep = keep
        self._types: Bytes | None = None  # the type of each id

    @classmethod
    def new(
        cls, data: Bytes, offsets: Offsets, ids: Offsets, *, kind: str = "longest", flags: int = 0,
        scores: Scores | None = None, types: Bytes | None = None, charsmap: bytes = b"", unknown_surface: bytes = b"",
        eod_id: int | None, fallback_id: int | None = None, merges: Offsets | None = None,
        pattern: bytes = b"", engine: str = "double-array", cpu: str | None = None,
    ) -> Model:  # fmt: skip
        """See unitok_spec and unitok_model_new in csrc/unitok.h."""
        spec = ffi.new("unitok_spec *")
        if len(offsets) != len(ids) + 1 or int(offsets[-1]) > len(data):
            raise ValueError("the offsets of the pieces do not match their ids or their bytes")
        if any(array is not None and len(array) != len(ids) for array in (scores, types)):
            raise ValueError("the numbers of scores, types and pieces differ")
        spec.kind, spec.flags, spec.n_pieces = kinds.KINDS[kind].number, flags, len(ids)
        map_, surface = buffer_of(charsmap), buffer_of(unknown_surface)
        spec.data, spec.offsets, spec.ids = pointer(data), pointer(offsets), pointer(ids)
        spec.charsmap, spec.n_charsmap_bytes = map_, len(charsmap)
        spec.unknown_surface, spec.n_unknown_surface_bytes = surface, len(unknown_surface)
        spec.scores, spec.types = optional(scores), optional(types)
        if merges is not None:
            spec.merges, spec.n_merges = pointer(merges), len(merges) // 3
        pattern_ = ffi.from_buffer("uint8_t[]", pattern)
        spec.pattern, spec.n_pattern_bytes = pattern_, len(pattern)
        spec.eod_id = -1 if eod_id is None else eod_id
        spec.fallback_id = -1 if fallback_id is None else fallback_id
        return cls(create("model", spec, engine_number(engine), cpu_number(cpu)))

    @classmethod
    def load(cls, image: Any, *, engine: str, cpu: str | None) -> Model:
        """Open a native image in place. The model keeps `image`, a buffer such as a memory map, alive."""
        buffer = buffer_of(image)
        numbers = engine_number(engine), cpu_number(cpu)
        return cls(create("model", buffer, len(buffer), *numbers, how="load"), keep=(buffer, image))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the model's ids: uint16 or uint32."""
        return np.dtype(self.id_code)

    def complete(self) -> None:
        """Build the tables that encoding needs, unless they exist. `info` does not change afterwards."""
        if self.info.is_complete:
            return
        with _completing["lock"]:
            if self.info.is_complete:
                return
            call(lib.unitok_model_complete, self.handle)
            self.info = _info_of(self.handle)

    def save(self) -> bytearray:
        out = bytearray(lib.unitok_model_save(self.handle, ffi.NULL, 0))
        lib.unitok_model_save(self.handle, buffer_of(out, writable=True), len(out))
        return out

    def piece(self, id_: int) -> bytes | None:
        """The bytes of a piece, or None if the id has no piece."""
        n_bytes = ffi.new("int64_t *")
        data = lib.unitok_model_piece(self.handle, id_, n_bytes)
        return None if n_bytes[0] < 0 else ffi.buffer(data, n_bytes[0])[:]

    def pieces(self) -> tuple[Bytes, Offsets]:
        """Copies of all pieces in the order of their ids: uint8[...] and int64[n_ids + 1] offsets. The entry of an
        id without a piece is empty."""
        data, offsets = ffi.new("uint8_t **"), ffi.new("uint32_t **")
        lib.unitok_model_pieces(self.handle, data, offsets)
        bounds = copied(offsets[0], self.info.n_ids + 1, np.uint32).astype(np.int64)
        return copied(data[0], int(bounds[-1]), np.uint8), bounds

    def normalize(self, text: bytes) -> bytes:
        """The normalized text, with U+2581 for spaces."""
        capacity = len(text) + len(text) // 2 + 64
        while True:
            out = _new_undefined("uint8_t[]", capacity)
            n = lib.unitok_model_normalize(self.handle, text, len(text), out, ffi.NULL, capacity)
            if n <= capacity:
                normalized: bytes = _buffer(out, n)[:]
                return normalized
            capacity = n

    def spec(self) -> dict[str, Any]:
        """Copies of the arguments of Model.new that built the model. Not available for greedy longest prefix."""
        spec = lib.unitok_model_spec(self.handle)
        n, n_merges = int(spec.n_pieces), int(spec.n_merges)
        offsets = copied(spec.offsets, n + 1, np.int64)

        def bytes_of(data: Any, n_bytes: int) -> bytes:
            return ffi.buffer(data, n_bytes)[:] if n_bytes else b""

        return {
            "data": np.frombuffer(bytes_of(spec.data, int(offsets[-1])), np.uint8),
            "offsets": offsets,
            "ids": copied(spec.ids, n, np.int64),
            "scores": copied(spec.scores, n, np.float64),
            "types": copied(spec.types, n, np.uint8),
            "charsmap": bytes_of(spec.charsmap, spec.n_charsmap_bytes),
            "unknown_surface": bytes_of(spec.unknown_surface, spec.n_unknown_surface_bytes),
            "merges": copied(spec.merges, 3 * n_merges, np.int64) if n_merges else None,
            "pattern": bytes_of(spec.pattern, spec.n_pattern_bytes),
        }

    def pattern(self) -> bytes:
        """The pattern of the pre-tokenizer; empty if there is none."""
        spec = lib.unitok_model_spec(self.handle)
        return ffi.buffer(spec.pattern, spec.n_pattern_bytes)[:] if spec != ffi.NULL and spec.n_pattern_bytes else b""

    def is_byte(self, id_: int) -> bool:
        """Whether the id is a byte piece."""
        return bool(lib.unitok_model_piece_type(self.handle, id_) == lib.UNITOK_PIECE_BYTE)

    def is_text(self, id_: int) -> bool:
        """Whether the id has a piece that is not a control symbol."""
        return int(lib.unitok_model_piece_type(self.handle, id_)) not in (0, lib.UNITOK_PIECE_CONTROL)

    def piece_types(self) -> Bytes:
        """uint8[n_ids]: the enum unitok_piece_type of each id, 0 if it has no piece."""
        if self._types is None:
            types, spec = np.zeros(self.info.n_ids, np.uint8), lib.unitok_model_spec(self.handle)
            if spec == ffi.NULL:  # greedy longest prefix has no types
                types[np.diff(self.pieces()[1]) > 0] = lib.UNITOK_PIECE_NORMAL
            else:
                types[copied(spec.ids, spec.n_pieces, np.int64)] = copied(spec.types, spec.n_pieces, np.uint8)
            self._types = types
        return self._types

    def bounds_of_runs(self, ids: Ids) -> Offsets:
        """Where `ids` must be divided, including 0 and the end: after each id that may decode to nothing and precedes a
        byte piece."""
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
        buffer = buffer_of(text)
        return int(lib.unitok_split(self.handle, buffer, len(buffer)))

    def decode_few(self, ids: list[int]) -> bytes | None:
        """A faster decode_batch for one document. Returns None if the caller must use decode_batch instead, because the
        document is large, an id is not an integer or not in this model, or a byte piece follows a control symbol."""
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
            raise ValueError(f"the offsets extend past the end of the ids, or the ids are not {self.dtype}")
        sizes = np.empty(len(offsets), np.int64)
        given = (pointer(ids), pointer(offsets), len(offsets) - 1, drop_last, separator, len(separator))
        call(lib.unitok_decode_batch, self.handle, *given, ffi.NULL, -1, pointer(sizes))
        out = np.empty(int(sizes[-1]), np.uint8)
        call(lib.unitok_decode_batch, self.handle, *given, pointer(out), len(out), pointer(sizes))
        if int(sizes[-1]) != len(out):
            raise ValueError("the ids changed while they were being decoded")
        return out, sizes
