"""Pictures of Stats: document lengths, frequencies by rank; as a PNG, or as a page of HTML that needs nothing else."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.outfile import check_target, write_whole
from pyunitok.errors import OutputError
from pyunitok.tokens.stats import Stats

Rows = list[tuple[str, str]]


def rows(found: Stats) -> Rows:
    """What the terminal shows, (name, value) a line."""
    out = [
        ("tokens", f"{found.tokens:,}"),
        ("documents", f"{found.documents:,}"),
        ("text", "?" if found.bytes is None else f"{found.bytes:,} bytes"),
        ("bytes/token", "?" if found.bytes_per_token is None else f"{found.bytes_per_token:.3f}"),
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


def top_rows(found: Stats) -> list[tuple[str, str, str, str]]:
    """(id, piece, count, share) of the most frequent."""
    return [
        (str(p.id), repr(p.piece) if p.piece is not None else "?", f"{p.count:,}", f"{100 * p.share:.3f} %")
        for p in found.top
    ]


def write(found: Stats, path: Path, *, page: bool) -> None:
    """A page of HTML, or a PNG. OutputError where matplotlib is not installed, or the file cannot be written."""
    check_target(path, overwrite=True)
    image = io.BytesIO()
    draw(found).savefig(image, format="svg" if page else "png", dpi=120)
    write_whole(path, _page(found, image.getvalue()).encode() if page else image.getvalue())


def draw(found: Stats) -> Any:
    """A matplotlib Figure of three histograms."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise OutputError("pictures need matplotlib: pip install 'pyunitok[plot]'") from None
    figure = Figure(figsize=(9, 10), layout="constrained")
    plots: list[Callable[[Any, Stats], None]] = [_lengths, _ranks, _frequencies]
    for axes, plot in zip(figure.subplots(3), plots, strict=True):
        plot(axes, found)
    return figure


def _lengths(axes: Any, found: Stats) -> None:
    edges, documents = found.histogram_tokens
    if edges:
        axes.stairs(documents, edges, fill=True)
    axes.set(title="Document lengths", xlabel="tokens", ylabel="documents", xscale="symlog")


def _ranks(axes: Any, found: Stats) -> None:
    counts = np.sort(found.counts[found.counts > 0])[::-1]
    if len(counts):
        # A line of a few hundred points says as much as one of 65,536, and keeps the page small.
        at = np.unique(np.geomspace(1, len(counts), 400).astype(np.int64)) - 1
        axes.plot(at + 1, counts[at])
        axes.set(xscale="log", yscale="log")
    axes.set(title="Frequency by rank", xlabel="rank", ylabel="occurrences")


def _frequencies(axes: Any, found: Stats) -> None:
    counts = found.counts[found.counts > 0]
    if len(counts):
        bins = np.geomspace(1, counts.max() + 1, 50)
        axes.hist(counts, bins)
        axes.set(xscale="log")
    axes.set(title="How many pieces occur how often", xlabel="occurrences", ylabel="pieces")


def _page(found: Stats, svg: bytes) -> str:
    def table(lines: list[Any]) -> str:
        cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in line) for line in lines)
        return "<table>" + "".join(f"<tr>{line}</tr>" for line in cells) + "</table>"

    image = base64.b64encode(svg).decode()
    return (
        "<!doctype html><meta charset=utf-8>"
        f"<title>{html.escape(found.path)}</title>"
        "<style>body{font-family:sans-serif;max-width:60em;margin:2em auto}td{padding:.1em .8em .1em 0;"
        "vertical-align:top}img{width:100%}</style>"
        f"<h1>{html.escape(found.path)}</h1>{table(rows(found))}"
        f'<img alt="histograms" src="data:image/svg+xml;base64,{image}">'
        f"<h2>Most frequent</h2>{table(top_rows(found))}\n"
    )
