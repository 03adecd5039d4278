"""Divider: where an unfinished document can be divided if C encodes it only after other steps, such as added tokens.

    document    … fox ␣jumps | ␣over ␣␣<mask> ␣the …     | a cut of the C model that is not beside a token
                                    └─ <mask> strips the spaces on its left, so there is none

A few bytes on both sides decide on a cut. If normalization keeps them, it is one in the normalized text, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyunitok._c import model as c_model
from pyunitok._c.text import Finder

_CUT_REACH = 16  # bytes on both sides of a cut that decide on it: two characters each, see csrc/text/cut_pattern.c
_TRIES = 1000


class Divider:
    """is_kept  (text, at, reach): whether both sides of text[at] can be normalized independently, and normalization
             keeps the bytes up to `reach` away; None: texts are not normalized
    """

    def __init__(
        self, model: c_model.Model, finders: Iterable[Finder | None],
        is_kept: Callable[[Any, int, int], bool] | None = None,
    ) -> None:  # fmt: skip
        self._model, self._is_kept = model, is_kept
        self._finders = [finder for finder in finders if finder is not None]
        self._reach = max([_CUT_REACH * (is_kept is not None), *(finder.longest for finder in self._finders)])

    def last(self, text: Any) -> int:
        """See Codec.split. The last of the positions that are tried, from the end of the text, or 0."""
        text = memoryview(text)
        at = len(text) - self._reach
        for _ in range(_TRIES):
            at = self._model.split(text[:at]) if at > 0 else 0
            if at == 0 or self._is_free(text, at):
                return at
        return 0

    def _is_free(self, text: memoryview, at: int) -> bool:
        """Whether the rules before encoding allow to divide the text there."""
        if self._is_kept is not None and not self._is_kept(text, at, self._reach):
            return False
        return not any(finder.reaches(text, at) for finder in self._finders)
