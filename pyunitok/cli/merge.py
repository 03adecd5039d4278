"""The command merge."""

from __future__ import annotations

from pathlib import Path

import click

from pyunitok.cli.progress import Meter
from pyunitok.errors import count
from pyunitok.run.merge import join, parts_of


@click.command()
@click.argument("parts", metavar="PART...", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o", "--out", metavar="OUT", required=True, help="The token file; OUT.ends and OUT.json are written beside it."
)
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
def merge(parts: tuple[str, ...], out: str, overwrite: bool) -> None:
    """Join finished token files in the given order.

    All parts must have the same model, eod and dtype. For a run with --shard, give all shards in order; the result is
    identical to the output of the undivided run. A folder OUT.parts, left by tokenize --ray, stands for the parts in
    it. The parts' hashes are verified as they are read; the parts are kept.

    \b
    Example:
      pyunitok merge ids.u16.*-of-8 -o ids.u16
      pyunitok merge ids.u16.parts -o ids.u16
    """
    paths = parts_of(parts)
    with Meter("merging", "ids") as meter:
        manifest, was_there = join(paths, Path(out), overwrite=overwrite, on_progress=meter.show)
    counts = f"{count(manifest.documents, 'document')}, {count(manifest.tokens, 'token')}"
    if was_there:
        click.echo(f"already complete: {out}, {counts}", err=True)
    else:
        click.echo(f"{count(len(paths), 'part')}, {counts}, {meter.seconds:.1f} s", err=True)
