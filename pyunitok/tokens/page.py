"""Builds self-contained HTML pages of numbers, tables and matplotlib charts as inline SVG.

The SVG is inline so that its text and axes use the page's colour in light and dark mode."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyunitok.errors import OutputError

Rows = list[tuple[str, str]]
Table = list[tuple[str, ...]]  # the first row is the header
Plot = Callable[[Any], None]  # draws on matplotlib's Axes
INK = "#1a1b1c"  # the colour of text and axes in charts; pages replace it with their own colour
INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


def require_plots() -> None:
    """Raise OutputError if matplotlib is not installed; call this before any work."""
    figure([])


def figure(plots: Sequence[Plot], height: float = 3) -> Any:
    """A matplotlib Figure of stacked charts. Raises OutputError if matplotlib is not installed."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise OutputError("charts require matplotlib; install it with: pip install 'pyunitok[plot]'") from None
    style: Any = dict.fromkeys(INKED, INK)
    with rc_context(style):
        ret = Figure(figsize=(6.5, height * max(1, len(plots))), layout=ConstrainedLayoutEngine(h_pad=0.12))
        for number, plot in enumerate(plots, 1):
            axes = ret.add_subplot(len(plots), 1, number)
            plot(axes)
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
            axes.set_axisbelow(True)
            for axis in (axes.xaxis, axes.yaxis):
                _label(axis)
    return ret


def _label(axis: Any) -> None:
    """Label round values with short numbers, even on a logarithmic axis that spans less than two powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if axis.get_scale() == "log" and high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_formatter(NullFormatter())


def image(drawn: Any, format_: str) -> bytes:
    """Render a Figure as "svg", for picture(), or as "png"."""
    from matplotlib import rc_context

    file = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "pyunitok"}):
        drawn.savefig(file, format=format_, dpi=120, transparent=format_ == "svg")
    return file.getvalue()


def _short(value: float) -> str:
    """Formats 1,500,000 as 1.5M."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def per_doubling(axes: Any, edges: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> None:
    """Draw bars whose area on the logarithmic axis is the count, so that bins of different widths are comparable."""
    edges = np.maximum(edges - 0.5, 0.5)  # centres integers in their bins
    widths = np.log2(edges[1:] / edges[:-1])
    axes.stairs(np.divide(counts, widths, where=widths > 0, out=np.zeros(len(counts))), edges, fill=True)
    axes.set(xscale="log")


def by_rank(axes: Any, counts: np.ndarray[Any, Any], title: str) -> None:
    """Plot how often each piece occurs, the most frequent first, on logarithmic axes."""
    counts = np.sort(counts[counts > 0])[::-1]
    if len(counts):
        # A few hundred points look the same as 65,536 and keep the page small.
        at = np.unique(np.geomspace(1, len(counts), 400).astype(np.int64)) - 1
        axes.plot(at + 1, counts[at])
        axes.set(xscale="log", yscale="log")
    axes.set(title=title, xlabel="rank, the most frequent piece first", ylabel="occurrences")


STYLE = """
:root{color-scheme:light dark;--line:#8884}
body{font:15px/1.45 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em}
h1{font-size:1.5em;overflow-wrap:anywhere}h2{font-size:1.15em;margin-top:2em}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1.5em}dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}
.wide{overflow-x:auto}table{border-collapse:collapse}
th,td{padding:.2em .9em .2em 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;white-space:nowrap}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.wide svg{display:block;width:100%;max-width:48em;height:auto;margin-top:1.2em}
.wide svg text{font-family:system-ui,sans-serif!important}
.side{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22em,100%),1fr));gap:0 3em}
code{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--line);border-radius:3px;padding:.1em 0}
"""


def page(title: str, rows: Rows, parts: Sequence[str]) -> str:
    """The HTML of the page; `parts` follow the rows."""
    name = html.escape(title)
    shown = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>" for key, value in rows)
    head = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{name}</title>",
        f'<meta name=viewport content="width=device-width"><style>{STYLE}</style>',
        f"<h1>{name}</h1>",
        f"<dl>{shown}</dl>",
    ]
    return "\n".join([*head, *parts]) + "\n"


def picture(svg: bytes, alt: str) -> str:
    """Embed the SVG of image() in a page, with the page's colour instead of INK and without external URLs."""
    text = re.sub("<metadata>.*?</metadata>", "", svg.decode(), flags=re.DOTALL).replace(INK, "currentColor")
    found = re.search(r'<svg[^>]*(viewBox="[^"]*")[^>]*>', text)
    assert found is not None
    start = f'<svg role=img aria-label="{html.escape(alt)}" {found[1]}>'
    return f"<div class=wide>{start}{text[found.end() :].strip()}</div>"


def table(cells: Table, left: Sequence[int], code: int | None = None) -> str:
    """An HTML table. The columns in `left` contain text, and all others numbers; column `code` contains pieces."""

    def row(line: tuple[str, ...], tag: str) -> str:
        marks = ["" if k in left else " class=n" for k in range(len(line))]
        shown = [
            f"<code>{html.escape(cell)}</code>" if tag == "td" and k == code else html.escape(cell)
            for k, cell in enumerate(line)
        ]
        return "".join(f"<{tag}{mark}>{cell}</{tag}>" for mark, cell in zip(marks, shown, strict=True))

    body = "".join(f"<tr>{row(line, 'td')}</tr>" for line in cells[1:])
    return f"<div class=wide><table><tr>{row(cells[0], 'th')}</tr>{body}</table></div>"


def summary(title: str, rows: Rows) -> str:
    """A small HTML table for a notebook, to be returned by `_repr_html_`."""
    body = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
    return f"<table><caption>{html.escape(title)}</caption>{body}</table>"
