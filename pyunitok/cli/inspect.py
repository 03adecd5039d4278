"""The command inspect."""

from __future__ import annotations

import click

from pyunitok.cli.arguments import NAMES, load_model
from pyunitok.tokens import inspect as about


@click.command()
@click.argument("path", metavar="MODEL|TOKENS")
def inspect(path: str) -> None:
    """Describe a model file or a token file.

    \b
    Example:
      pyunitok inspect unitok-v1
      pyunitok inspect ids.u16
    """
    rows = about.model_rows(load_model(path)) if path in NAMES else about.rows(path)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")
