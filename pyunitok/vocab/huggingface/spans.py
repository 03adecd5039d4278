"""Adjusts the spans of tokens as `tokenizers` does: to complete characters, and without white space if the
post-processors trim them."""

from __future__ import annotations

import numpy as np

from pyunitok.packed import Offsets
from pyunitok.vocab import utf8

_BYTE_LEVEL_SPACE = "\u0120"


def trimmed(table: Offsets, data: bytes, names: list[str], trims: tuple[bool, ...]) -> Offsets:
    """int64[n, 3]: ids, begins and ends, in bytes of `data`. A token inside a character gets the span of that
    character.

    names  the tokens as text, which determines how much is trimmed
    trims  see decoders.Template
    """
    sizes = [len(character.encode("utf-8", "surrogateescape")) for character in utf8.escaped(data)]
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    begins = (np.searchsorted(starts, table[:, 1], "right") - 1).tolist()
    ends = np.searchsorted(starts, table[:, 2]).tolist()
    for with_prefix in trims:
        for k, name in enumerate(names):
            begins[k], ends[k] = _trim(begins[k], ends[k], name, k == 0, with_prefix)
    return np.column_stack((table[:, 0], starts[begins], starts[ends]))


def _trim(begin: int, end: int, name: str, is_first: bool, with_prefix: bool) -> tuple[int, int]:
    """Trims a span, given in characters, as process_offsets in `tokenizers` does."""
    n_leading, n_trailing = (len(name) - len(rest) for rest in (_stripped(name, True), _stripped(name, False)))
    if n_leading == 1 and (is_first or begin == 0) and with_prefix:
        n_leading = 0
    begin = min(begin + n_leading, end)
    if end >= n_trailing:
        end = max(end - n_trailing, begin)
    return begin, end


def _stripped(name: str, is_left: bool) -> str:
    spaced = name.replace(_BYTE_LEVEL_SPACE, " ")
    return spaced.lstrip(_WHITE_SPACE) if is_left else spaced.rstrip(_WHITE_SPACE)


# White_Space of Unicode; str.strip() would also remove U+001C to U+001F
_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
