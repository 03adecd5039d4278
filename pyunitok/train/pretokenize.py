"""Applies pre-tokenizers written in Python: lines are normalized and cut one by one, which is slower than in C."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from pyunitok._c.text import Normalizer
from pyunitok.errors import TrainingError

Pretokenizer = Callable[[str], Sequence[str]]
BOUNDARY = "\x1f"


def normalized(
    lines: Iterable[bytes], normalizer: Normalizer, symbols: Sequence[bytes], function: Pretokenizer, *, tsv: bool,
    may_differ: bool,
) -> Iterator[bytes]:  # fmt: skip
    """The lines, normalized, with boundaries between the parts that `function` returns.

    may_differ: the joined parts may differ from the line; without it, a difference raises TrainingError.
    """
    ordered = sorted({symbol.decode("utf-8", "replace") for symbol in symbols}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, ordered)) or r"(?!)")
    for number, line in enumerate(lines):
        text, tab, count = line.partition(b"\t") if tsv else (line, b"", b"")
        whole = pattern.sub(BOUNDARY, normalizer.normalize(text).decode("utf-8", "replace"))
        parts = list(function(whole))
        if not may_differ and "".join(parts) != whole:
            raise TrainingError(
                f"line {number}: the pretokenizer changed {whole[:80]!r} to {''.join(parts)[:80]!r}; to allow this, use"
                " allow_inconsistent_pretokenization=True"
            )
        yield BOUNDARY.join(parts).encode() + tab + count
