"""Implements the `inspect` command."""

from __future__ import annotations

from typing import Any

import click

from pyunitok.cli.arguments import pattern_option, with_pattern
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens import inspect as about
from pyunitok.tokens.model import open_model
from pyunitok.vocab import known


@click.command()
@click.argument("path", metavar="MODEL|TOKENS", callback=with_pattern)
@pattern_option
def inspect(path: Any) -> None:
    """Describe a model file, a folder that contains one, or a token file.

    \b
    Examples:
      pyunitok inspect unitok-v1
      pyunitok inspect ids.u16
      pyunitok inspect my.tiktoken --pattern cl100k
    """
    is_model = isinstance(path, Tokenizer) or path in known.NAMES
    rows = about.model_rows(open_model(path)) if is_model else about.rows(path)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")
