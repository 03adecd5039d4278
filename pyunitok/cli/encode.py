"""The `encode` and `decode` commands."""

from __future__ import annotations

import os
import sys

import click

from pyunitok.cli.arguments import model_option, stdin
from pyunitok.cli.columns import columns
from pyunitok.tokens.model import open_model


@click.command()
@click.argument("text", nargs=-1)
@model_option
@click.option("--pieces", is_flag=True, help="Print the pieces under their ids, as on a terminal.")
def encode(text: tuple[str, ...], model: str | None, pieces: bool) -> None:
    """Encode TEXT, or each line of stdin, and print the ids.

    On a terminal, or with --pieces, each piece is printed under its id. Spaces appear as U+2423 and control characters
    as escapes.

    \b
    Example:
      pyunitok encode "The quick brown fox"
    """
    tokenizer = open_model(model)
    for line in [os.fsencode(" ".join(text))] if text else (line.removesuffix(b"\n") for line in stdin()):
        ids = list(map(str, tokenizer.encode(line).tolist()))
        if pieces or sys.stdout.isatty():
            for row in columns(ids, tokenizer.encode_as_pieces(line)):
                click.echo(row)
        else:
            click.echo(" ".join(ids))


@click.command()
@click.argument("ids", nargs=-1)
@model_option
def decode(ids: tuple[str, ...], model: str | None) -> None:
    """Decode IDS, or each line of stdin, and print the text.

    \b
    Example:
      pyunitok decode 32762 15424 6482 9963    # The quick brown fox
    """
    tokenizer = open_model(model)
    for line in [list(ids)] if ids else (line.decode("ascii", "replace").split() for line in stdin()):
        try:
            numbers = [int(word) for word in (part for item in line for part in item.replace(",", " ").split())]
        except ValueError:
            raise click.UsageError(f"{' '.join(map(str, line))!r} is not a list of ids") from None
        click.echo(tokenizer.decode_bytes(numbers))
