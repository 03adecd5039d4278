"""Implements the `merge` command."""

from __future__ import annotations

from pathlib import Path

import click

from pyunitok.cli.progress import Meter
from pyunitok.errors import count
from pyunitok.run.merge import join, parts_of


@click.command()
@click.argument("parts", metavar="PART...", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--out", metavar="OUT", required=True, help="The token file to write, with OUT.ends and OUT.json.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
def merge(parts: tuple[str, ...], out: str, overwrite: bool) -> None:
    """Concatenate finished token files in the given order.

    All parts must have the same model, eod and dtype. The shards of `tokenize --shard`, in order, give the same output
    as an unsharded run. The folder OUT.parts that `tokenize --ray` leaves can be passed instead of the parts in it.
    Hashes of the parts are verified, and parts are not deleted.

    \b
    Examples:
      pyunitok merge ids.u16.*-of-8 -o ids.u16
      pyunitok merge ids.u16.parts -o ids.u16
    """
    paths = parts_of(parts)
    with Meter("merging", "ids") as meter:
        manifest, was_complete = join(paths, Path(out), overwrite=overwrite, on_progress=meter.show)
    counts = f"{count(manifest.documents, 'document')}, {count(manifest.tokens, 'token')}"
    if was_complete:
        click.echo(f"already complete: {out}, {counts}", err=True)
    else:
        click.echo(f"{count(len(paths), 'part')}, {counts}, {meter.seconds:.1f} s", err=True)
