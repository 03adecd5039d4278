"""The `inspect` command."""

from __future__ import annotations

import click

from pyunitok.tokens import inspect as about
from pyunitok.tokens.model import open_model
from pyunitok.vocab import known


@click.command()
@click.argument("path", metavar="MODEL|TOKENS")
def inspect(path: str) -> None:
    """Describe a model file or a token file.

    \b
    Example:
      pyunitok inspect unitok-v1
      pyunitok inspect ids.u16
    """
    rows = about.model_rows(open_model(path)) if path in known.NAMES else about.rows(path)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")
