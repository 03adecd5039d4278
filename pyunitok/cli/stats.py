"""Implements the `stats` command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import pyunitok
from pyunitok.cli.arguments import model_override_option
from pyunitok.cli.progress import ByteMeter
from pyunitok.disk.reports import check_report, write_report
from pyunitok.errors import InputError, printable
from pyunitok.index.opening import is_index
from pyunitok.tokens import stats_page
from pyunitok.tokens.stats import stats as stats_of

MAX_INPUTS = 20  # number of inputs listed on the terminal


@click.command()
@click.argument("tokens", metavar="TOKENS")
@click.option("--top", type=click.IntRange(0), default=20, show_default=True, help="Number of frequent pieces to list.")
@click.option("--json", "json_path", metavar="FILE", help="Write all counts to FILE as JSON; - is stdout.")
@click.option("--html", "html_path", metavar="FILE", help="Write a page with histograms (requires the plot extra).")
@click.option("--png", "png_path", metavar="FILE", help="Write only the histograms (requires the plot extra).")
@model_override_option
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default, one per core.")
def stats(
    tokens: str, top: int, json_path: str | None, html_path: str | None, png_path: str | None, model: Any,
    threads: int | None,
) -> None:  # fmt: skip
    """Show token file statistics: bytes per token, document lengths, inputs, frequent and unused pieces.

    \b
    Examples:
      pyunitok stats ids.u16
      pyunitok stats ids.u16 --top 100 --html stats.html
    """
    for report in (json_path, html_path, png_path):
        if report and report != "-":
            check_report(Path(report))
    if is_index(tokens):
        raise InputError(
            f"{tokens} is an index, but stats reads token files; use those that the index was built from or, if they"
            f" were dropped, restore them first: pyunitok export {tokens} --to tokens -o ids.u16"
        )
    array = pyunitok.open(tokens, model=model)
    with ByteMeter("counting", array.ids.nbytes, "ids") as meter:
        found = stats_of(array, top=top, threads=threads, on_ids=lambda n: meter.add(n * array.ids.itemsize))
    for path, page in ((html_path, True), (png_path, False)):
        if path:
            stats_page.write(found, Path(path), as_page=page)
    text = json.dumps(found.to_json(), indent=1)
    if json_path == "-":
        click.echo(text)
        return
    if json_path:
        write_report(Path(json_path), text.encode() + b"\n")
    lines = stats_page.rows(found)
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        click.echo(f"{name:<{width}}  {printable(value)}")
    if len(found.inputs) > 1:
        rows = stats_page.lines_of(stats_page.input_table(found)[: 1 + MAX_INPUTS], left=[0, 1])
        click.echo("\n" + "\n".join(map(printable, rows)))
        if len(found.inputs) > MAX_INPUTS:
            click.echo(f"and {len(found.inputs) - MAX_INPUTS:,} more inputs; --html and --json list them")
    if found.top:
        click.echo("\nmost frequent\n" + "\n".join(stats_page.lines_of(stats_page.top_table(found), left=[1])))
