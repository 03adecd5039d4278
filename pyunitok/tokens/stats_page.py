"""Stats for people: rows for the terminal, charts as PNG, and a page of HTML that needs nothing besides itself."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.outfile import check_target, write_whole
from pyunitok.errors import OutputError
from pyunitok.tokens.stats import Stats, bins

MAX_INPUTS = 500  # that the page lists
Rows = list[tuple[str, str]]
Table = list[tuple[str, ...]]  # the first row holds the heads


def rows(found: Stats) -> Rows:
    """The figures of the whole file, (name, value) a line."""
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
    """How long documents are."""
    heads = ["documents", *(_percent(q) for q in found.document_tokens)]
    lines = [("tokens", found.document_tokens), ("bytes", found.document_bytes or {})]
    return [tuple(heads), *((unit, *(f"{n:,.0f}" for n in of.values())) for unit, of in lines if of)]


def lines_of(table: Table, left: Sequence[int]) -> list[str]:
    """A table as lines of text: columns `left` begin at the left, all others, of numbers, end at the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    sides = ["<" if k in left else ">" for k in range(len(widths))]
    lines = ["  ".join(f"{cell:{side}{n}}" for cell, side, n in zip(row, sides, widths, strict=True)) for row in table]
    return [line.rstrip() for line in lines]


def write(found: Stats, path: Path, *, page: bool) -> None:
    """A page of HTML, or a PNG. OutputError where matplotlib is not installed, or the file cannot be written."""
    check_target(path, overwrite=True)
    image = io.BytesIO()
    draw(found).savefig(image, format="svg" if page else "png", dpi=120)
    write_whole(path, _page(found, image.getvalue()).encode() if page else image.getvalue())


def draw(found: Stats) -> Any:
    """A matplotlib Figure of three charts."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter
    except ImportError:
        raise OutputError("pictures need matplotlib: pip install 'pyunitok[plot]'") from None
    figure = Figure(figsize=(9, 10), layout="constrained")
    plots: list[Callable[[Any, Stats], None]] = [_lengths, _ranks, _frequencies]
    for axes, plot in zip(figure.subplots(3), plots, strict=True):
        plot(axes, found)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.set_axisbelow(True)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    return figure


def _short(value: float) -> str:
    """1,500,000 as 1.5M."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def _per_doubling(axes: Any, edges: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> None:
    """Bars whose area, on the logarithmic axis, is the count: bins of different widths can be compared."""
    edges = np.maximum(edges - 0.5, 0.5)  # a whole number lies in the middle of its bin
    widths = np.log2(edges[1:] / edges[:-1])
    axes.stairs(np.divide(counts, widths, where=widths > 0, out=np.zeros(len(counts))), edges, fill=True)
    axes.set(xscale="log")


def _lengths(axes: Any, found: Stats) -> None:
    edges, documents = found.histogram_tokens
    empty = documents[0] if documents else 0
    if len(edges) > 2:
        _per_doubling(axes, np.array(edges[1:]), np.array(documents[1:]))
    note = f" (without {empty:,} empty)" if empty else ""
    axes.set(title=f"Document lengths{note}", xlabel="tokens in a document", ylabel="documents per doubling of length")


def _ranks(axes: Any, found: Stats) -> None:
    counts = np.sort(found.counts[found.counts > 0])[::-1]
    if len(counts):
        # A line of a few hundred points says as much as one of 65,536, and keeps the page small.
        at = np.unique(np.geomspace(1, len(counts), 400).astype(np.int64)) - 1
        axes.plot(at + 1, counts[at])
        axes.set(xscale="log", yscale="log")
    axes.set(title="Frequency of pieces by rank", xlabel="rank, the most frequent piece first", ylabel="occurrences")


def _frequencies(axes: Any, found: Stats) -> None:
    counts = found.counts[found.counts > 0]
    if len(counts):
        edges = bins(int(counts.max()))[1:]
        _per_doubling(axes, edges, np.histogram(counts, edges)[0])
    axes.set(title="How many pieces occur how often", xlabel="occurrences of a piece", ylabel="pieces per doubling")


STYLE = """
:root{color-scheme:light dark;--line:#8884}
body{font:15px/1.45 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em}
h1{font-size:1.5em;overflow-wrap:anywhere}h2{font-size:1.15em;margin-top:2em}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1.5em}dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}
.wide{overflow-x:auto}table{border-collapse:collapse}
th,td{padding:.2em .9em .2em 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;white-space:nowrap}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
img{width:100%;margin-top:1.2em;background:#fff;border-radius:6px}
"""


def _page(found: Stats, svg: bytes) -> str:
    name = html.escape(found.path)
    shown = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>" for key, value in rows(found)
                    if not key.endswith("/document"))  # fmt: skip
    more = len(found.inputs) - MAX_INPUTS
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Token statistics of {name}</title>",
        f'<meta name=viewport content="width=device-width"><style>{STYLE}</style>',
        f"<h1>Token statistics of {name}</h1>",
        f"<dl><dt>model</dt><dd>{html.escape(found.model or 'unknown')}</dd>{shown}</dl>",
        "<h2>Document lengths</h2>" + _table(length_table(found), [0]) if found.document_tokens else "",
        f'<img alt="Charts of document lengths and piece frequencies" src="data:image/svg+xml;base64,'
        f'{base64.b64encode(svg).decode()}">',
        "<h2>Most frequent pieces</h2>" + _table(top_table(found), [1]) if found.top else "",
        "<h2>Inputs</h2>" + _table(input_table(found), [0, 1]) if found.inputs else "",
        f"<p>and {more:,} more inputs</p>" if more > 0 else "",
    ]
    return "\n".join(parts) + "\n"


def _table(table: Table, left: Sequence[int]) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        marks = ["" if k in left else " class=n" for k in range(len(cells))]
        return "".join(f"<{tag}{mark}>{html.escape(cell)}</{tag}>" for mark, cell in zip(marks, cells, strict=True))

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in table[1:])
    return f"<div class=wide><table><tr>{row(table[0], 'th')}</tr>{body}</table></div>"
