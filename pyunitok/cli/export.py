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
                     help="Name of the files where the format leaves it open; by default the token file's."),
        click.option("--copy", is_flag=True, help="Copy tokens even if a link is possible."),
        click.option("--val-fraction", type=click.FloatRange(0, 1, max_open=True), default=0.0, metavar="SHARE",
                     help="nanogpt: share of the tokens that goes to val.bin, from the last documents."),
        click.option("--shard-tokens", type=click.IntRange(1, (1 << 31) - 1), default=(1 << 31) - 1, metavar="N",
                     help="llm.c: most tokens in a file; by default 2^31 - 1."),
        click.option("--eot", type=click.IntRange(0), metavar="ID",
                     help="llm.c: the id before each document, if the token file has no eod."),
        click.option("--shards", type=click.IntRange(1), default=1, metavar="N", help="infini-gram: number of shards."),
        click.option("--token-dtype", type=click.Choice(["uint16", "uint32"]),
                     help="infini-gram: uint32 avoids false separators, for 2 more bytes per token."),
        click.option("--rename-ids", is_flag=True,
                     help="infini-gram: avoid false separators; translate queries and answers with renamed.npy."),
    )):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.argument("tokens", metavar="TOKENS")
@click.option("--to", "to", type=click.Choice(FORMATS), required=True, help="The tool to write for.")
@click.option("-o", "--out", "folder", metavar="DIR", required=True, help="The folder to write into.")
@export_options
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
def export(
    tokens: str, to: str, folder: str, base: str | None, copy: bool, overwrite: bool, **options: Any
) -> None:
    """Write a token file for another tool.

    If the tool's token file has the same bytes as TOKENS, it is made as a hard link, else as a reflink, and copied only
    across file systems. The files appear once all of them are complete.

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
