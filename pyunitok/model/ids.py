"""Converts ids, which users pass as any sequence of integers, to the arrays that C takes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pyunitok.errors import IdError
from pyunitok.packed import Ids, Packed


def as_ids(ids: Iterable[int], dtype: np.dtype[Any]) -> Ids:
    """dtype[n] from any sequence of integers. Raises IdError, which names the first id that does not fit, and its
    position."""
    is_array = hasattr(ids, "__array__")  # NumPy arrays, and tensors, whose packages need not be imported
    array = np.asarray(ids) if is_array else _array_of(ids)
    if array.dtype == dtype and array.ndim == 1:
        return np.ascontiguousarray(array)
    if is_array and (array.dtype.kind == "O" or array.size == 0):
        array = _array_of(array.tolist())  # objects need not be integers; empty arrays are float64 by default
    if array.ndim != 1 or array.dtype.kind not in "iuO":
        raise TypeError(f"ids must be a sequence of integers, not {array.dtype}{list(array.shape)}")
    largest = np.iinfo(dtype).max
    wrong = np.flatnonzero((array < 0) | (array > largest))
    if len(wrong):
        raise IdError(f"id {array[wrong[0]]} at position {wrong[0]} is not within 0..{largest}")
    return array.astype(dtype)


def _array_of(ids: Iterable[int]) -> np.ndarray[Any, Any]:
    items: Sequence[int] = ids if isinstance(ids, list | tuple | range) else list(ids)
    try:
        return np.array(list(map(operator.index, items)), object)
    except TypeError:
        position = next(k for k, item in enumerate(items) if not _is_integer(item))
        held = type(items[position]).__name__
        raise TypeError(f"ids must be integers, but the item at position {position} is of type {held}") from None


def _is_integer(item: object) -> bool:
    try:
        operator.index(item)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def as_batch(batch: Packed | Iterable[Iterable[int]], dtype: np.dtype[Any]) -> Packed:
    """A Packed of ids from a Packed or from sequences of integers. Raises the errors of as_ids, naming the sequence."""
    if isinstance(batch, Packed):
        if batch.data.dtype != dtype:
            raise TypeError(f"expected a Packed of {dtype}, not of {batch.data.dtype}")
        return batch
    items: list[Ids] = []
    for number, ids in enumerate(batch):
        try:
            items.append(as_ids(ids, dtype))
        except (TypeError, IdError) as error:
            raise type(error)(f"sequence {number}: {error}") from None
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=offsets[1:])
    return Packed(np.concatenate(items) if items else np.empty(0, dtype), offsets)
