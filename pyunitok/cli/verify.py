"""Implements the `verify` command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pyunitok.cli.arguments import model_override_option
from pyunitok.cli.progress import ByteMeter
from pyunitok.index.verify import checks


@click.command()
@click.argument("tokens", metavar="TOKENS|DIR")
@click.argument("inputs", metavar="[IN]...", nargs=-1)
@click.option("--inputs", "named", is_flag=True, help="Also compare with the inputs named in the manifest.")
@model_override_option
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default, one per core.")
def verify(tokens: str, inputs: tuple[str, ...], named: bool, model: Any, threads: int | None) -> None:
    """Check the integrity of a token file or an index.

    For a token file, checks hashes, document ends, ids and counts; for an index, hashes, order and tables.

    With IN or --inputs, each document is also decoded and compared with its input byte by byte. Pass the
    tokenized files as IN in their original order; they may have moved. --inputs reads them from the paths in the
    manifest. The output of `duplicates --drop` cannot be compared because it lacks some of the text.

    \b
    Examples:
      pyunitok verify ids.u16
      pyunitok verify ids.u16 --inputs
      pyunitok verify idx
    """
    if inputs and named:
        raise click.UsageError("--inputs cannot be combined with IN")
    if Path(tokens).is_dir() and (inputs or named):
        raise click.UsageError("an index has no inputs to compare; verify its token files instead")
    problems: list[str] = []
    done = []
    for check in checks(tokens, inputs or named, model=model, threads=threads):
        if check.note:
            click.echo(f"note: {check.note}", err=True)
        with ByteMeter(check.label, check.n_bytes) as meter:
            problems = check.run(meter.add)
        n_bytes = meter.progress.bytes
        done.append(check.summary.format(bytes=n_bytes, rate=n_bytes / max(meter.seconds, 1e-9) / 1e6))
        if problems:
            break
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    click.echo(f"{tokens}: {'damaged' if problems else 'intact'}; {'; '.join(done)}", err=True)
    if problems:
        raise SystemExit(1)
