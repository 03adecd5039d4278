"""numpy, imported when something of it is first used; and vectors that need none of it.

Importing numpy takes longer than a short run of `pyunitok tokenize`, which does without.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]
    Ids = np.ndarray[Any, np.dtype[np.uint16]] | np.ndarray[Any, np.dtype[np.uint32]]  # as wide as the largest id
    Offsets = np.ndarray[Any, np.dtype[np.int64]]
    Scores = np.ndarray[Any, np.dtype[np.float64]]
else:

    class _Numpy:
        """Each name of numpy is looked up once."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()
    Bytes = Ids = Offsets = Scores = Any

__all__ = ["Bytes", "Ids", "Offsets", "Scores", "np", "vector"]


_MAPPED_FROM_BYTES = 1 << 17
_OF_THIS_PROCESS = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


def vector(code: str, n: int) -> memoryview:
    """n zeros of a type of the module `array`: "B", "H", "I" or "q". It slices, counts and assigns as numpy's does.

    Of a large one, only the memory that is used is touched: a small file needs little of a block.
    """
    n_bytes = {"B": 1, "H": 2, "I": 4, "q": 8}[code] * n
    data = bytearray(n_bytes) if n_bytes < _MAPPED_FROM_BYTES else mmap.mmap(-1, n_bytes, **_OF_THIS_PROCESS)
    return memoryview(data).cast(code)  # type: ignore[call-overload, no-any-return]
