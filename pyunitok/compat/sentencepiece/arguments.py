"""Converts arguments (texts, ids, pieces) of all types that sentencepiece accepts. Raises the same exceptions."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from pyunitok.packed import Offsets

_INT32 = np.iinfo(np.int32)


def text_of(text: Any) -> bytes:
    """The text as bytes. Raises TypeError if it is not text, RuntimeError if it is a str with a lone surrogate."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(f"Input must be str or bytes, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise RuntimeError(f"the text cannot be encoded as UTF-8: {error}") from None


def texts_of(texts: Iterable[Any]) -> list[bytes]:
    """The texts as bytes. Raises TypeError if an item is not text or is a str with a lone surrogate."""
    return [_piece_of(text, "List elements must be str or bytes") for text in texts]


def pieces_of(pieces: Any, problem: str = "List elements must be str or bytes") -> list[bytes]:
    """Like texts_of, but for any sequence. Calls len(pieces) only once."""
    return [_piece_of(pieces[i], problem) for i in range(len(pieces))]


def _piece_of(piece: Any, problem: str) -> bytes:
    if isinstance(piece, bytes | bytearray):
        return bytes(piece)
    if isinstance(piece, str):
        try:
            return piece.encode()
        except UnicodeEncodeError as error:
            raise TypeError(f"{problem}, and a str must be valid Unicode: {error}") from None
    raise TypeError(f"{problem}, not {type(piece).__name__}")


def is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def ids_of(ids: Any) -> Offsets:
    """int64[n] from a flat list, tuple, array or buffer of integers. Raises TypeError for anything else."""
    if isinstance(ids, str | bytes | dict) or not is_sequence(ids):
        raise TypeError("Input must be an integer buffer, list of integers, or a sequence of integers.")
    if isinstance(ids, np.ndarray | memoryview):
        array = np.asarray(ids)
        if array.dtype.kind not in "iu" or array.ndim != 1:
            raise TypeError(f"Buffer must be of integer type and 1-dimensional, not {array.dtype}{array.shape}")
        clipped: Offsets = np.clip(array, _INT32.min, _INT32.max).astype(np.int64)
        return clipped
    items = list(ids)
    try:
        array = np.array(items) if items else np.empty(0, np.int64)
        if array.dtype.kind not in "iub":
            array = np.array([operator.index(item) for item in items])
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.dtype.kind not in "iub" or array.ndim != 1 or _outside(array):
        raise TypeError("Input must be an integer buffer, list of integers, or a sequence of integers.")
    return array.astype(np.int64)


def _outside(array: np.ndarray[Any, Any]) -> bool:
    return bool(len(array) and (array.max() > _INT32.max or array.min() < _INT32.min))


def check_ids(ids: Offsets, n_pieces: int) -> None:
    """Raises IndexError for an id that is not in the model."""
    wrong = np.flatnonzero((ids < 0) | (ids >= n_pieces))
    if len(wrong):
        raise IndexError(
            f"piece id is out of range: {ids[wrong[0]]} at position {wrong[0]}; the model has {n_pieces} pieces"
        )


def number(value: Any, name: str) -> int:
    """The value as int. Raises TypeError if it is not an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be int, not {type(value).__name__}") from None


def float32_of(value: Any, name: str) -> float:
    """Round to the nearest float32. Raises TypeError if it is not a number."""
    if isinstance(value, str | bytes) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"{name} must be float, not {type(value).__name__}")
    return float(np.float32(value))
