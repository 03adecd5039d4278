"""The commands encode and decode: text and ids by hand."""

from __future__ import annotations

import os
import sys

import click

from pyunitok.cli.arguments import load_model, model_option, stdin


@click.command()
@click.argument("text", nargs=-1)
@model_option
@click.option("--pieces", is_flag=True, help="The pieces too, coloured on a terminal.")
def encode(text: tuple[str, ...], model: str | None, pieces: bool) -> None:
    """Show the ids of TEXT, or of each line of stdin.

    On a terminal the pieces stand above their ids; with --pieces they do everywhere.

    \b
    Example:
      pyunitok encode "The quick brown fox"
    """
    tokenizer = load_model(model)
    for line in [os.fsencode(" ".join(text))] if text else (line.removesuffix(b"\n") for line in stdin()):
        if pieces or sys.stdout.isatty():
            shown = tokenizer.encode_as_pieces(line)
            colours = ("cyan", "yellow", "green", "magenta")
            click.echo("".join(click.style(piece, fg="black", bg=colours[k % 4]) for k, piece in enumerate(shown)))
        click.echo(" ".join(map(str, tokenizer.encode(line).tolist())))


@click.command()
@click.argument("ids", nargs=-1)
@model_option
def decode(ids: tuple[str, ...], model: str | None) -> None:
    """Show the text of IDS, or of each line of ids on stdin.

    \b
    Example:
      pyunitok decode 11080 17065 10139 14398 58552 10080
    """
    tokenizer = load_model(model)
    for line in [list(ids)] if ids else (line.decode("ascii", "replace").split() for line in stdin()):
        try:
            numbers = [int(word) for word in (part for item in line for part in item.replace(",", " ").split())]
        except ValueError:
            raise click.UsageError(f"not an id among {' '.join(map(str, line))!r}") from None
        click.echo(tokenizer.decode_bytes(numbers))
