"""Implements the `export` command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import pyunitok
from pyunitok.cli.export_options import export_options
from pyunitok.cli.report import report_export
from pyunitok.errors import OutputError
from pyunitok.export import FORMATS, Exported, Options
from pyunitok.export.files import WrittenFile
from pyunitok.index.stored import restore_token_files

TOKENS = "tokens"  # stands for the token files of a compact index instead of another tool's format


@click.command()
@click.argument("tokens", metavar="TOKENS")
@click.option(
    "--to", "to", type=click.Choice([*FORMATS, TOKENS]), required=True, help="The tool that will read the files."
)
@click.option("-o", "--out", "folder", metavar="DIR", required=True, help="The folder for the files.")
@export_options
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
def export(tokens: str, to: str, folder: str, **options: Any) -> None:
    """Export a token file in another tool's format.

    If the tool's file has the same bytes as TOKENS, it becomes a hard link or a reflink, or a copy if neither is
    possible. The files appear only when all of them are complete. `--to tokens` restores the token files of a compact
    index byte for byte; if there is only one, -o is its name.

    \b
    Examples:
      pyunitok export ids.u16 --to megatron -o training/
      pyunitok export ids.u16 --to nanogpt --val-fraction 0.01 -o data/corpus/
      pyunitok export small --to tokens -o ids.u16
    """
    if to == TOKENS:
        report_export(_restored(tokens, folder, **options))
    else:
        report_export(pyunitok.export_tokens(tokens, to, folder, **options))


def _restored(index: str, out: str, *, name: str | None, copy: bool, overwrite: bool, **options: Any) -> Exported:
    if name is not None or copy:
        raise OutputError("--to tokens cannot be combined with --name or --copy")
    Options(TOKENS, **options).check((), TOKENS)
    paths = restore_token_files(Path(index), Path(out), overwrite=overwrite)
    return Exported([WrittenFile(path, path.stat().st_size, "written") for path in paths], [])
