"""Makes a concordance: one line for each hit, with the text before and after the hit."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyunitok.errors import printable
from pyunitok.index.hits import Hit
from pyunitok.index.opened import Index
from pyunitok.index.search import Order


@dataclass(frozen=True)
class Line:
    """A hit and the text around it."""

    hit: Hit
    before: str
    match: str
    after: str


def concordance(
    index: Index, query: Any, *, limit: int = 20, offset: int = 0, sort: Order = "rank", seed: int = 0,
    before: int = 40, after: int = 40,
) -> tuple[list[Line], int, bool]:  # fmt: skip
    """Returns (lines, the total number of occurrences, whether that number is a lower bound).

    query  text, or a sequence of ids
    sort   the order, as in Index.find
    """
    find = index.find if isinstance(query, str | bytes) else index.find_tokens
    hits = find(query, limit, offset, sort, seed)
    lines = [
        Line(hit, *context.shown())
        for hit, context in zip(hits, index.context_batch(hits, before, after), strict=True)
    ]
    return lines, hits.total, hits.approx


def as_record(index: Index, line: Line) -> dict[str, Any]:
    """A line of the concordance as a JSON object."""
    hit = line.hit
    place = {"document": hit.document, "begin": hit.begin, "end": hit.end, "source": index.source(hit.document)}
    fields = index.fields.of(hit.document) if index.fields.is_current else {}
    text = {"before": line.before, "match": line.match, "after": line.after}
    return place | text | ({"fields": fields} if fields else {})


def spreadsheet_cell(value: Any) -> Any:
    """A value for a CSV file. Text that a spreadsheet would treat as a formula is prefixed with an apostrophe, and
    control characters, which a terminal would interpret, are escaped."""
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return value
    text = _CONTROLS.sub(lambda found: printable(found[0]), value)
    return "'" + text if value[:1] in ("=", "+", "-", "@", "\t", "\r") else text


_CONTROLS = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # except tabs and newlines


def aligned(lines: Sequence[Line], before: int, width: int | None = None) -> list[tuple[str, str, str, str]]:
    """("document:byte", before, match, after) for each line, padded so that all matches begin in the same terminal
    column. The text after the match is truncated at column `width`."""
    texts = [tuple(map(_flat, (line.before, line.match, line.after))) for line in lines]
    shown = [(f"{line.hit.document}:{line.hit.begin}", *text) for line, text in zip(lines, texts, strict=True)]
    margin = max((len(place) for place, *_ in shown), default=0)
    columns = min(before, max((_columns(left) for _, left, _, _ in shown), default=0))
    ret = []
    for place, left, match, right in shown:
        while _columns(left) > columns:  # wide characters take two columns
            left = left[1:]
        available = None if width is None else width - margin - 2 - columns - _columns(match)
        while available is not None and right and _columns(right) > available:
            right = right[:-1]
        ret.append((place.rjust(margin), " " * (columns - _columns(left)) + left, match, right))
    return ret


def _flat(text: str) -> str:
    """The text on one line: newlines become ⏎, and other control characters become spaces."""
    return "".join("⏎" if c == "\n" else " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)


def _columns(text: str) -> int:
    """The number of terminal columns that a text takes up."""
    return sum(
        0 if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )  # fmt: skip
