"""IndexInputs tells which input each document of an index came from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from pyunitok.index.hits import Int64s
from pyunitok.tokens.array import TokenArray


class IndexInputs:
    """The inputs of all token files, in order.

    paths   the path of each input; None for a token file without a manifest, which counts as one input
    files   the number of each input's token file
    bounds  int64[inputs + 1]: input k has documents bounds[k] to bounds[k + 1] - 1 of the index
    """

    def __init__(self, arrays: Sequence[TokenArray]) -> None:
        self.paths: list[str | None] = []
        self.files: list[int] = []
        sizes = []
        for number, array in enumerate(arrays):
            records = array.manifest.inputs if array.manifest else []
            known: list[tuple[str | None, int]] = [(record.path, record.documents) for record in records]
            if sum(n for _, n in known) != len(array):
                known = [(None, len(array))]
            self.paths += [path for path, _ in known]
            self.files += [number] * len(known)
            sizes += [n for _, n in known]
        self.bounds: Int64s = np.cumsum([0, *sizes], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.paths)

    def name_of(self, path: str) -> str:
        """The path relative to the common folder of all local inputs, so that the paths of local folders are not
        disclosed. URLs are returned unchanged."""
        return os.path.relpath(path, self._folder) if Path(path).is_absolute() else path

    @cached_property
    def _folder(self) -> str:
        """The common folder of all inputs with absolute paths."""
        return os.path.commonpath([Path(path).parent for path in self.paths if path and Path(path).is_absolute()])

    def of(self, documents: Int64s) -> Int64s:
        """int64[n]: the inputs of these documents."""
        numbers: Int64s = np.searchsorted(self.bounds, documents, "right").astype(np.int64) - 1
        return numbers
