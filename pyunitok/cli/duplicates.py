"""Implements the `duplicates` command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pyunitok.cli.arguments import SIZE, model_override_option
from pyunitok.errors import count
from pyunitok.index.duplicates import drop_repeats, write_repeats
from pyunitok.index.opened import open_index


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option(
    "-o", "--out", metavar="OUT", required=True, type=click.Path(),
    help="The list of spans to write or, with --drop, the token file.",
)  # fmt: skip
@click.option("--min-tokens", type=click.IntRange(1), default=50, show_default=True, help="Minimum span length.")
@click.option("--drop", is_flag=True, help="Write a token file that keeps only the first occurrence of each span.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
@click.option("--max-memory", "max_memory_bytes", type=SIZE, default="1G", show_default=True, help="Memory budget.")
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default, one per core.")
@model_override_option
def duplicates(
    folder: str, out: str, min_tokens: int, drop: bool, overwrite: bool, max_memory_bytes: int, threads: int | None,
    model: Any,
) -> None:  # fmt: skip
    """List repeated text in an index, or remove it.

    Writes one JSON line per repeated span: its document, its range in tokens and in bytes, the count of its most
    frequent part, and the number of its tokens that repeat earlier text.

    Temporary files next to OUT take up to 52 bytes per token of the index. The result depends on neither memory nor
    threads.

    \b
    Examples:
      pyunitok duplicates idx --min-tokens 50 -o dups.jsonl.zst
      pyunitok duplicates idx --min-tokens 50 --drop -o unique.u16
    """
    index = open_index(folder, model=model)
    command: Any = drop_repeats if drop else write_repeats
    with click.progressbar(length=1000, label="comparing", file=sys.stderr) as bar:
        found, n = command(
            index, Path(out), min_tokens, overwrite=overwrite, max_memory_bytes=max_memory_bytes, threads=threads,
            on_progress=lambda share: bar.update(round(share * 1000) - bar.pos),
        )  # fmt: skip
    if drop:
        click.echo(f"{out}: kept {found.tokens:,} of {index.n_tokens:,} tokens; {n:,} were repeats", err=True)
    else:
        click.echo(f"{out}: {count(found, 'span')}, {n:,} of {index.n_tokens:,} tokens", err=True)
