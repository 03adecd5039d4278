"""The command inspect."""

from __future__ import annotations

import click

from pyunitok.cli.arguments import DEFAULT_MODEL, load_model


@click.command()
@click.argument("path", metavar="MODEL|OUT")
def inspect(path: str) -> None:
    """Say what a model file or a token file is.

    \b
    Example:
      pyunitok inspect rwkv-world
      pyunitok inspect ids.u16
    """
    from pyunitok.tokens import inspect as about

    if path == DEFAULT_MODEL or not about.is_token_file(path):
        rows = about.model_rows(load_model(path))
    else:
        rows = about.token_rows(path)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")
