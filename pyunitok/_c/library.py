"""The basics of all bindings: constants from the headers, pointers to buffers, and calls that turn C errors into
exceptions."""

from __future__ import annotations

from struct import calcsize
from typing import Any

import numpy as np

try:
    from pyunitok._lib import ffi as ffi
    from pyunitok._lib import lib as lib
except ModuleNotFoundError as error:
    raise ImportError(
        "the C library of pyunitok has not been built in this folder; run `pip install -e .` here, or start Python in"
        " another folder"
    ) from error
from pyunitok.errors import CpuError, IdError, ModelFormatError, PatternError, UnitokError, VocabularyError

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
        "listed_merges", "ignore_merges", "pattern",
    )
}  # fmt: skip
TOKEN_FLAGS: dict[str, int] = {
    name: getattr(lib, f"UNITOK_TOKEN_{name.upper()}") for name in ("single_word", "lstrip", "rstrip", "special")
}
PIECE_TYPES: dict[str, int] = {
    name: getattr(lib, f"UNITOK_PIECE_{name.upper()}")
    for name in ("normal", "unknown", "control", "user_defined", "unused", "byte")
}
CHECKSUM_AT: int = lib.UNITOK_NATIVE_CHECKSUM_AT
CHECKED_FROM: int = lib.UNITOK_NATIVE_CHECKED_FROM


class CapacityError(ValueError):
    """The array for the ids is too small."""


_ERRORS: dict[int, type[Exception]] = {
    lib.UNITOK_ERROR_MEMORY: MemoryError,
    lib.UNITOK_ERROR_ARGUMENT: ValueError,
    lib.UNITOK_ERROR_VOCABULARY: VocabularyError,
    lib.UNITOK_ERROR_FORMAT: ModelFormatError,
    lib.UNITOK_ERROR_ID: IdError,
    lib.UNITOK_ERROR_CPU: CpuError,
    lib.UNITOK_ERROR_CAPACITY: CapacityError,
    lib.UNITOK_ERROR_PATTERN: PatternError,
}


def check(status: int, error: Any) -> None:
    """Raise `error` unless `status` is UNITOK_OK; the exception has .item and .position."""
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


def call(function: Any, *arguments: Any) -> None:
    """Call a function of the library whose last argument receives an error, and raise that error, if any."""
    error = ffi.new("unitok_error *")
    check(function(*arguments, error), error)


def create(name: str, *arguments: Any, how: str = "new") -> Any:
    """Call unitok_NAME_HOW(). When the last reference to the result is gone, unitok_NAME_free() frees it."""
    ret = ffi.new(f"unitok_{name} **")
    call(getattr(lib, f"unitok_{name}_{how}"), *arguments, ret)
    return ffi.gc(ret[0], getattr(lib, f"unitok_{name}_free"))


def allocate(name: str, *arguments: Any) -> Any:
    """Like create(), for a unitok_NAME_new() that returns the result, or NULL if out of memory."""
    handle = getattr(lib, f"unitok_{name}_new")(*arguments)
    if handle == ffi.NULL:
        raise MemoryError(f"not enough memory for the {name}")
    return ffi.gc(handle, getattr(lib, f"unitok_{name}_free"))


def buffer_of(data: Any, *, writable: bool = False) -> Any:
    """A uint8_t array over bytes or any other buffer, without a copy."""
    return ffi.from_buffer("uint8_t[]", data, require_writable=writable)


def copied(data: Any, n: int, dtype: Any) -> Any:
    """A NumPy array with a copy of the n items at a C pointer."""
    return np.frombuffer(ffi.buffer(data, n * np.dtype(dtype).itemsize)[:], dtype)


def optional(array: np.ndarray[Any, Any] | None) -> Any:
    """A pointer to the array, or NULL."""
    return ffi.NULL if array is None else pointer(array)


_POINTERS = {"f": "float[]", "d": "double[]"}  # keyed by `struct` format codes, several of which may be the same type
_POINTERS |= {code: f"uint{8 * calcsize(code)}_t[]" for code in "BHILQ"}
_POINTERS |= {code: f"int{8 * calcsize(code)}_t[]" for code in "ilq"}


def pointer(array: np.ndarray[Any, Any] | memoryview, *, writable: bool = False) -> Any:
    """A C array over `array`, which must be one-dimensional, contiguous and of a supported dtype. The result keeps
    `array` alive if it is an ndarray; the caller must keep a memoryview alive.
    """
    view = memoryview(array)  # type: ignore[arg-type]
    if view.ndim != 1 or not view.c_contiguous or view.format not in _POINTERS:
        raise ValueError(f"expected a contiguous vector of numbers, not {view.format}{view.shape}")
    ret = ffi.from_buffer(_POINTERS[view.format], array, require_writable=writable)
    # A cast releases the buffer of a memoryview. If the garbage collector clears a memoryview whose buffer is still
    # exported, Python crashes.
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
