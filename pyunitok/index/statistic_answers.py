"""Makes the answers about word statistics, as JSON objects, for the command and the page. Infinite values are null."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyunitok.index.opened import Index, open_index
from pyunitok.index.opening import is_index
from pyunitok.index.word_query import WordOptions
from pyunitok.index.word_statistics import collocations, dispersion, key_words

Answer = dict[str, Any]
MAX_HITS = 1_000_000  # the maximum number of hits read for collocations; if there are more, a sample is read


def collocates(
    index: Index, text: str, options: WordOptions, left: int, right: int, measure: str, min_count: int, offset: int,
    limit: int, max_hits: int = MAX_HITS,
) -> Answer:  # fmt: skip
    """The collocates of a query."""
    found = collocations(
        index, text, left, right, measure=measure, min_count=min_count, limit=offset + limit, options=options,
        max_hits=max_hits,
    )  # fmt: skip
    return {"distinct": found.distinct, "approx": found.approx, "collocations": _finite(found.rows[offset:])}


def keys(
    index: Index, where: Sequence[str], against: Index | Sequence[str] | None, options: WordOptions, measure: str,
    min_count: int, offset: int, limit: int,
) -> Answer:  # fmt: skip
    """Words that are frequent in some documents, compared with a reference."""
    found = key_words(
        index, where, against=against, measure=measure, min_count=min_count, limit=offset + limit, options=options
    )
    return {"distinct": found.distinct, "keyness": _finite(found.rows[offset:])}


def spread(index: Index, text: str, options: WordOptions, parts: str) -> Answer:
    """The dispersion of a query over a number of equal parts, or over the values of a field."""
    is_number = parts.isascii() and parts.isdecimal() and len(parts) < 9
    found = dispersion(index, text, int(parts) if is_number else parts, options=options)
    columns = zip(found.parts, found.sizes.tolist(), found.hits.tolist(), strict=True)
    values = {"dp": found.dp, "dp_norm": found.dp_norm, "juilland_d": found.juilland_d, "arf": found.arf}
    rows = [{"part": part, "words": size, "count": hits} for part, size, hits in columns]
    return {"count": found.count, "approx": found.approx, **_finite([values])[0], "parts": rows}


def reference(name: str) -> Index | list[str] | None:
    """The reference that a user names: the folder of an index, a condition, or "" for all other documents."""
    if is_index(name):
        return open_index(Path(name))
    return [name] if name else None


def _finite(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in row.items()} for row in rows
    ]
