"""Converts ids to read-only int32 NumPy arrays, each with its own buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class VectorBuffer(bytes):
    """The buffer of an array of ids."""

    def data_address(self) -> int:
        address: int = np.frombuffer(self, np.uint8).__array_interface__["data"][0]
        return address


def as_array(ids: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """int32[n], read-only."""
    return np.frombuffer(memoryview(VectorBuffer(np.array(ids, np.int32).tobytes())), np.int32)
