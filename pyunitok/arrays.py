"""numpy, imported when something of it is first used; and vectors that need none of it.

Importing numpy takes longer than a short run of `pyunitok tokenize`, which does without.
"""

from __future__ import annotations

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


def vector(code: str, n: int) -> memoryview:
    """n zeros of a type of the module `array`: "B", "H", "I" or "q". It slices, counts and assigns as numpy's does."""
    item_bytes = {"B": 1, "H": 2, "I": 4, "q": 8}[code]
    return memoryview(bytearray(item_bytes * n)).cast(code)  # type: ignore[call-overload, no-any-return]
