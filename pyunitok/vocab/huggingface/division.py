"""Divider finds where an unfinished document can be divided if other steps, such as added tokens, come before C.

    document    … fox ␣jumps | ␣over ␣␣<mask> ␣the …     | a cut of the C model that no token touches
                                    └─ no cut: <mask> strips the spaces on its left

Whether a position is a cut depends on a few bytes on both sides. If normalization keeps these bytes, the position is a
cut of the normalized text, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyunitok._c import model as c_model
from pyunitok._c.text import Finder

_CUT_REACH = 16  # bytes on each side that determine a cut, at most two characters: csrc/text/cut_pattern.c
_TRIES = 1000


class Divider:
    """is_kept  is_kept(text, at, reach) tells whether the texts before and after text[at] can be normalized
             independently, and normalization leaves the bytes within `reach` of `at` unchanged; None: texts are
             not normalized
    """

    def __init__(
        self, model: c_model.Model, finders: Iterable[Finder | None],
        is_kept: Callable[[Any, int, int], bool] | None = None,
    ) -> None:  # fmt: skip
        self._model, self._is_kept = model, is_kept
        self._finders = [finder for finder in finders if finder is not None]
        self._reach = max([_CUT_REACH * (is_kept is not None), *(finder.longest for finder in self._finders)])

    def last(self, text: Any) -> int:
        """See Codec.split. Tries up to _TRIES cuts of the model, from the end of the text; 0 if none is allowed."""
        text = memoryview(text)
        at = len(text) - self._reach
        for _ in range(_TRIES):
            at = self._model.split(text[:at]) if at > 0 else 0
            if at == 0 or self._is_free(text, at):
                return at
        return 0

    def _is_free(self, text: memoryview, at: int) -> bool:
        """Whether the steps before C allow dividing the text there."""
        if self._is_kept is not None and not self._is_kept(text, at, self._reach):
            return False
        return not any(finder.reaches(text, at) for finder in self._finders)
