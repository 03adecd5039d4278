"""Writes the report of a training run, an HTML page: the summary, charts, and the most frequent and longest pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.reports import write_report
from pyunitok.tokens import page
from pyunitok.tokens.page import Table
from pyunitok.train.trained import Trained
from pyunitok.vocab.lists import escape

N_SHOWN = 50
LOG_RATIO = 4  # largest vocabulary / smallest, above which the axis of sizes is logarithmic


def write(trained: Trained, path: Path, title: str, how: Sequence[tuple[str, str]] = ()) -> None:
    """Write the report. how: rows about the command line. Raises OutputError if matplotlib is not installed or the file
    cannot be written."""
    svg = page.image(draw(trained), "svg")
    parts = [
        page.picture(svg, "Charts of density by vocabulary size, piece lengths and piece frequencies"),
        "<div class=side><div><h2>Most frequent pieces in the sample</h2>",
        page.table(frequent_table(trained), [1], code=1),
        "</div><div><h2>Longest pieces</h2>",
        page.table(longest_table(trained), [0], code=0),
        "<h2>Time and memory</h2>",
        page.table(phase_table(trained), [0]),
        "</div></div>",
    ]
    rows = [*how, *trained.facts()]
    write_report(path, page.page(f"Training of {title}", rows, parts).encode())


def draw(trained: Trained) -> Any:
    """A matplotlib Figure."""
    plots: list[page.Plot] = [
        lambda axes: _lengths(axes, trained),
        lambda axes: page.by_rank(
            axes, trained.in_sample.counts, f"Frequency of pieces by rank, in {trained.sample_name()}"
        ),
    ]
    curve = trained.curve()
    if len(curve) > 1:
        plots.insert(0, lambda axes: _densities(axes, trained, curve))
    return page.figure(plots)


def _densities(axes: Any, trained: Trained, curve: list[tuple[int, float]]) -> None:
    numbers, densities = [n for n, _ in curve], [density for _, density in curve]
    sample = trained.sample_name()
    axes.plot(numbers, densities, marker=".", label=f"in {sample}" if trained.first_merges else "the text trained on")
    if trained.in_sample.n_tokens:
        numbers.append(trained.tokenizer.vocab_size)
        densities.append(trained.in_sample.n_bytes / trained.in_sample.n_tokens)
        axes.plot(numbers[-1:], densities[-1:], "o", label=f"the model, in {sample}")
    axes.set(title="Bytes per token by vocabulary size", ylabel="bytes per token", ylim=(0, 1.1 * max(densities)),
             xlabel="pieces in the vocabulary",
             xscale="log" if max(numbers) > LOG_RATIO * min(numbers) else "linear")  # fmt: skip
    axes.legend(loc="lower right", frameon=False)


def _lengths(axes: Any, trained: Trained) -> None:
    lengths = Counter(map(_n_chars, trained.pieces))
    axes.bar(list(lengths), list(lengths.values()), width=0.9)
    axes.set(title="Piece lengths", xlabel="characters", ylabel="pieces")


def _n_chars(piece: bytes) -> int:
    return len(piece.decode("utf-8", "replace"))


def frequent_table(trained: Trained) -> Table:
    """The most frequent pieces of the sample."""
    best = np.argsort(-trained.in_sample.counts, kind="stable")[:N_SHOWN]
    total = max(1, trained.in_sample.n_tokens)
    lines = [
        (str(id_), escape(trained.tokenizer.id_to_piece(id_).encode()), f"{trained.in_sample.counts[id_]:,}",
         f"{100 * trained.in_sample.counts[id_] / total:.3f} %")
        for id_ in best.tolist() if trained.in_sample.counts[id_]
    ]  # fmt: skip
    return [("id", "piece", "count", "share"), *lines]


def longest_table(trained: Trained) -> Table:
    """The longest pieces."""
    longest = sorted(trained.pieces, key=lambda piece: (-_n_chars(piece), piece))[:N_SHOWN]
    return [("piece", "characters"), *((escape(piece), str(_n_chars(piece))) for piece in longest)]


def phase_table(trained: Trained) -> Table:
    """Time and memory of each phase."""
    lines = [(p.name, f"{p.seconds:.1f}", f"{p.peak_bytes / (1 << 20):,.0f}") for p in trained.all_phases()]
    return [("phase", "seconds", "peak MiB"), *lines]
