"""Presents Stats as rows for the terminal, charts in a PNG, or a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.reports import check_report, write_report
from pyunitok.tokens import page
from pyunitok.tokens.page import Rows, Table
from pyunitok.tokens.stats import Stats, bins

MAX_INPUTS = 500  # the maximum number of inputs listed on the page


def rows(found: Stats) -> Rows:
    """The statistics as (name, value) rows."""
    out = [
        ("tokens", f"{found.tokens:,}"),
        ("documents", f"{found.documents:,}"),
        ("text", "?" if found.bytes is None else f"{found.bytes:,} bytes"),
        ("bytes/token", _ratio(found.bytes_per_token)),
        ("entropy", f"{found.entropy_bits:.3f} bits/token"),
        ("ids used", f"{found.used:,}" + ("" if found.vocabulary is None else f" of {found.vocabulary:,}")),
    ]
    for unit, quantiles in (("tokens", found.document_tokens), ("bytes", found.document_bytes)):
        if quantiles:
            shown = [f"{_percent(q)} {value:,.0f}" for q, value in quantiles.items()]
            out.append((f"{unit}/document", ", ".join(shown)))
    if found.vocabulary is not None:
        never = found.vocabulary - found.used
        examples = " ".join(f"{piece.piece!r}" for piece in found.never_used)
        out.append(("never used", f"{never:,}" + (f": {examples}" if never else "")))
    return out


def _percent(quantile: str) -> str:
    names = {"0.0": "min", "0.5": "median", "1.0": "max", "mean": "mean"}
    return names.get(quantile) or f"{100 * float(quantile):g} %"


def _ratio(value: float | None) -> str:
    return "?" if value is None else f"{value:.3f}"


def top_table(found: Stats) -> Table:
    """The most frequent pieces."""
    return [
        ("id", "piece", "count", "share"),
        *(
            (str(p.id), repr(p.piece) if p.piece is not None else "?", f"{p.count:,}", f"{100 * p.share:.3f} %")
            for p in found.top
        ),
    ]


def input_table(found: Stats) -> Table:
    """The inputs, at most MAX_INPUTS."""
    return [
        ("input", "format", "documents", "bytes", "tokens", "bytes/token"),
        *(
            (each.path, each.format, f"{each.documents:,}", f"{each.bytes:,}", f"{each.tokens:,}",
             _ratio(each.bytes_per_token))
            for each in found.inputs[:MAX_INPUTS]
        ),
    ]  # fmt: skip


def length_table(found: Stats) -> Table:
    """The quantiles of document lengths."""
    heads = ["documents", *(_percent(q) for q in found.document_tokens)]
    lines = [("tokens", found.document_tokens), ("bytes", found.document_bytes or {})]
    return [tuple(heads), *((unit, *(f"{n:,.0f}" for n in of.values())) for unit, of in lines if of)]


def lines_of(table: Table, left: Sequence[int]) -> list[str]:
    """A table as lines of text. The columns in `left` are left-aligned, all others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    sides = ["<" if k in left else ">" for k in range(len(widths))]
    lines = ["  ".join(f"{cell:{side}{n}}" for cell, side, n in zip(row, sides, widths, strict=True)) for row in table]
    return [line.rstrip() for line in lines]


def write(found: Stats, path: Path, *, as_page: bool) -> None:
    """Write an HTML page or a PNG. Raises OutputError if matplotlib is not installed or the file cannot be written."""
    check_report(path)
    drawn = page.image(draw(found), "svg" if as_page else "png")
    write_report(path, _page(found, drawn).encode() if as_page else drawn)


def draw(found: Stats) -> Any:
    """A matplotlib Figure of three charts."""
    return page.figure([
        lambda axes: _lengths(axes, found),
        lambda axes: page.by_rank(axes, found.counts, "Frequency of pieces by rank"),
        lambda axes: _frequencies(axes, found),
    ])  # fmt: skip


def _lengths(axes: Any, found: Stats) -> None:
    edges, documents = found.histogram_tokens
    empty = documents[0] if documents else 0
    if len(edges) > 2:
        page.per_doubling(axes, np.array(edges[1:]), np.array(documents[1:]))
    note = f" (excluding {empty:,} empty ones)" if empty else ""
    axes.set(title=f"Document lengths{note}", xlabel="tokens in a document", ylabel="documents per doubling of length")


def _frequencies(axes: Any, found: Stats) -> None:
    counts = found.counts[found.counts > 0]
    if len(counts):
        edges = bins(int(counts.max()))[1:]
        page.per_doubling(axes, edges, np.histogram(counts, edges)[0])
    axes.set(title="Number of pieces by frequency", xlabel="occurrences of a piece", ylabel="pieces per doubling")


def _page(found: Stats, svg: bytes) -> str:
    shown = [("model", found.model or "unknown"), *(row for row in rows(found) if not row[0].endswith("/document"))]
    more = len(found.inputs) - MAX_INPUTS
    parts = [
        "<h2>Document lengths</h2>" + page.table(length_table(found), [0]) if found.document_tokens else "",
        page.picture(svg, "Charts of document lengths and piece frequencies"),
        "<h2>Most frequent pieces</h2>" + page.table(top_table(found), [1]) if found.top else "",
        "<h2>Inputs</h2>" + page.table(input_table(found), [0, 1]) if found.inputs else "",
        f"<p>and {more:,} more inputs</p>" if more > 0 else "",
    ]
    return page.page(f"Token statistics of {found.path}", shown, parts)
