"""The report of a training as a page of HTML: the summary, charts, the most frequent and the longest pieces."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.disk.outfile import write_whole
from pyunitok.tokens import page
from pyunitok.tokens.page import Table
from pyunitok.train.trained import Size, Trained

N_SHOWN = 50


def write(trained: Trained, path: Path, title: str) -> None:
    """OutputError where matplotlib is not installed, or the file cannot be written."""
    svg = page.image(draw(trained), "svg")
    parts = [
        page.picture(svg, "Charts of density by vocabulary size, piece lengths and piece frequencies"),
        "<h2>Most frequent pieces in the sample</h2>" + page.table(frequent_table(trained), [1]),
        "<h2>Longest pieces</h2>" + page.table(longest_table(trained), [0]),
    ]
    write_whole(path, page.page(f"Training of {title}", trained.rows(), parts).encode())


def draw(trained: Trained) -> Any:
    """A matplotlib Figure."""
    plots: list[page.Plot] = [
        lambda axes: _lengths(axes, trained),
        lambda axes: page.by_rank(axes, trained.counts, "Frequency of pieces in the sample by rank"),
    ]
    if len(trained.sizes) > 1:
        plots.insert(0, lambda axes: _densities(axes, trained))
    return page.figure(plots)


def _densities(axes: Any, trained: Trained) -> None:
    sizes = best_sizes(trained.sizes)
    axes.plot([size.n_pieces for size in sizes], [trained.n_bytes / size.n_tokens for size in sizes], marker=".")
    axes.set(title="Bytes per token by vocabulary size, of the text trained on", xscale="log",
             xlabel="pieces in the vocabulary that training went through", ylabel="bytes per token")  # fmt: skip


def best_sizes(sizes: list[Size]) -> list[Size]:
    """By size, without those that a smaller vocabulary beats: a greedy one has such on its way."""
    ret: list[Size] = []
    for size in sorted(sizes, key=lambda size: (size.n_pieces, size.n_tokens)):
        if size.n_tokens and (not ret or size.n_tokens < ret[-1].n_tokens):
            ret.append(size)
    return ret


def _lengths(axes: Any, trained: Trained) -> None:
    lengths = Counter(map(_n_chars, trained.pieces))
    axes.bar(list(lengths), list(lengths.values()), width=0.9)
    axes.set(title="Piece lengths", xlabel="characters", ylabel="pieces")


def _n_chars(piece: bytes) -> int:
    return len(piece.decode("utf-8", "replace"))


def frequent_table(trained: Trained) -> Table:
    """The pieces that the sample takes most often."""
    best = np.argsort(-trained.counts, kind="stable")[:N_SHOWN]
    total = max(1, trained.n_sample_tokens)
    lines = [
        (str(id_), trained.tokenizer.id_to_piece(id_), f"{trained.counts[id_]:,}",
         f"{100 * trained.counts[id_] / total:.3f} %")
        for id_ in best.tolist() if trained.counts[id_]
    ]  # fmt: skip
    return [("id", "piece", "count", "share"), *lines]


def longest_table(trained: Trained) -> Table:
    """The longest pieces."""
    longest = sorted(trained.pieces, key=lambda piece: (-_n_chars(piece), piece))[:N_SHOWN]
    return [("piece", "characters"), *((repr(p.decode("utf-8", "replace")), str(_n_chars(p))) for p in longest)]
