"""The first texts of a BPE model: encoded from its pieces, as the tables take longer to build than they do.

sentencepiece opens a model of 32,000 pieces and encodes a sentence in 4 ms, one of 256,000 in 26 ms; their tables take
20 and 300 ms. So they are built when there are more short texts to encode than 4 bytes a piece: these take half as long
without them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok._c import scratch as c_scratch
from pyunitok._lib import lib

FIRST_BYTES: int = lib.UNITOK_FIRST_BYTES  # the longest text


class FirstScratch(c_scratch.Scratch):
    """Leaves its model incomplete while it encodes short texts, and not too many; then it turns into a Scratch."""

    __slots__ = ()

    def __init__(self, model: library.Model) -> None:
        self._model, self._model_handle = model, model.handle
        self._ids = np.empty(c_scratch.room_for(FIRST_BYTES), model.dtype)
        self._ids_pointer = library.pointer(self._ids)

    def __getattr__(self, name: str) -> Any:
        """`handle`, which all other calls need, is not there yet."""
        if name != "handle":
            raise AttributeError(name)
        self._become_whole()
        return self.handle

    def _become_whole(self) -> None:
        super().__init__(self._model)
        self.__class__ = c_scratch.Scratch  # type: ignore[assignment]

    def _first(self, text: bytes) -> int:
        """How many ids there are in self._ids; -1, and this is a Scratch now, where it must find them."""
        model = self._model
        if not model.info.is_complete and model.first_bytes > 0:
            model.first_bytes -= len(text)
            n: int = lib.unitok_encode_first(model.handle, text, len(text), self._ids_pointer, len(self._ids))
            if n >= 0:
                return n
        self._become_whole()
        return -1

    def encode(self, text: bytes) -> Any:
        n = self._first(text)
        return np.array(self._ids[:n]) if n >= 0 else self.encode(text)

    def encode_list(self, text: bytes) -> list[int]:
        n = self._first(text)
        return self._ids[:n].tolist() if n >= 0 else self.encode_list(text)


def new_scratch(model: library.Model) -> c_scratch.Scratch:
    """One with which encoding begins at once."""
    return c_scratch.Scratch(model) if model.info.is_complete else FirstScratch(model)
