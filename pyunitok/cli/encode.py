"""Implements the `encode` and `decode` commands."""

from __future__ import annotations

import os
import sys

import click

from pyunitok.cli.arguments import model_option, stdin
from pyunitok.cli.columns import columns, shown
from pyunitok.tokens.model import open_model


@click.command()
@click.argument("text", nargs=-1)
@model_option
@click.option("--pieces", is_flag=True, help="Print the pieces under their ids, as on a terminal.")
@click.option("--offsets", is_flag=True, help="Print a tab-separated line per id: id, begin and end in bytes, text.")
@click.option("--plain", is_flag=True, help="Encode special tokens in the text as plain text.")
@click.option("--add-special", is_flag=True, help="Add the special tokens of the template in a tokenizer.json.")
def encode(
    text: tuple[str, ...], model: str | None, pieces: bool, offsets: bool, plain: bool, add_special: bool
) -> None:
    """Encode TEXT, or each line of stdin, and print the ids.

    On a terminal, or with --pieces, each piece is printed under its id. Spaces appear as U+2423 and control characters
    as escapes.

    \b
    Examples:
      pyunitok encode "The quick brown fox"
      pyunitok encode --offsets "The quick brown fox"
    """
    if ((pieces or offsets) and (plain or add_special)) or (pieces and offsets):
        raise click.UsageError("--pieces and --offsets cannot be combined with each other, --plain or --add-special")
    tokenizer = open_model(model)
    how = ({"special": False} if plain else {}) | ({"add_special": True} if add_special else {})
    for line in [os.fsencode(" ".join(text))] if text else (line.removesuffix(b"\n") for line in stdin()):
        if offsets:
            found, spans = tokenizer.encode_with_offsets(line)
            for id_, (begin, end) in zip(found.tolist(), spans.tolist(), strict=True):
                click.echo(f"{id_}\t{begin}\t{end}\t{shown(line[begin:end].decode('utf-8', 'replace'))}")
            continue
        ids = list(map(str, tokenizer.encode(line, **how).tolist()))
        if pieces or (sys.stdout.isatty() and not (plain or add_special)):
            for row in columns(ids, tokenizer.encode_as_pieces(line)):
                click.echo(row)
        else:
            click.echo(" ".join(ids))


@click.command()
@click.argument("ids", nargs=-1)
@model_option
@click.option(
    "--skip-special/--keep-special", default=True, show_default=True,
    help="Byte-level BPE and Hugging Face models: omit special tokens, or print them.",
)
def decode(ids: tuple[str, ...], model: str | None, skip_special: bool) -> None:
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
        if skip_special:
            click.echo(tokenizer.decode_bytes(numbers))
        else:
            click.echo(tokenizer.decode(numbers, "replace", skip_special=False))
