"""The command export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pyunitok.cli.report import report_export

FORMATS = ["megatron", "nanogpt", "llm.c", "datatrove", "dolma", "infini-gram", "tokengrams", "npy"]


def export_options(command: Any) -> Any:
    """What export takes, and tokenize with --format."""
    for option in reversed((
        click.option("--name", "base",
                     help="What files are called, where the format leaves it open; OUT's name by default."),
        click.option("--val-fraction", type=click.FloatRange(0, 1, max_open=True), default=0.0,
                     help="nanogpt: the share of the tokens, in the last documents, that becomes val.bin."),
        click.option("--shards", type=click.IntRange(1), default=1, help="infini-gram: parts of about as many tokens."),
        click.option("--shard-tokens", type=click.IntRange(1, (1 << 31) - 1), default=(1 << 31) - 1,
                     help="llm.c: the most tokens in a file; 2^31 - 1 by default."),
        click.option("--eot", type=click.IntRange(0), help="llm.c: the id before each document, if OUT has no eod."),
        click.option("--token-dtype", type=click.Choice(["uint16", "uint32"]),
                     help="infini-gram: uint32 has no false separators; 2 bytes a token more, 34 GB a CPU to index."),
        click.option("--rename-ids", is_flag=True,
                     help="infini-gram: no false separators; queries and answers go through renamed.npy."),
        click.option("--copy", is_flag=True, help="Copy tokens even where a link would do."),
    )):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.argument("tokens", metavar="OUT")
@click.option("--to", "to", type=click.Choice(FORMATS), required=True, help="The tool that is to read it.")
@click.option("-o", "--out", "folder", metavar="DIR", required=True, help="The folder to write into.")
@export_options
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
def export(
    tokens: str, to: str, folder: str, base: str | None, copy: bool, overwrite: bool, **options: Any
) -> None:
    """Write a token file for another tool.

    Tokens are not copied where the tool's file is ours under another name: they are hard-linked, else reflinked, and
    copied only across file systems. The files appear when all of them are complete.

    \b
    Example:
      pyunitok export ids.u16 --to megatron -o training/
      pyunitok export ids.u16 --to nanogpt --val-fraction 0.01 -o data/corpus/
    """
    import pyunitok
    from pyunitok.export import Options, default_name, export

    array = pyunitok.open(tokens)
    chosen = Options(base or default_name(Path(tokens)), **options)
    report_export(export(array, to, Path(folder), chosen, copy=copy, overwrite=overwrite))
