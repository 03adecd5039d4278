"""Implements the `convert` command."""

from __future__ import annotations

import click

from pyunitok.vocab.convert import FORMATS
from pyunitok.vocab.convert import convert as convert_file


@click.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT", type=click.Path())
@click.option("--to", type=click.Choice(FORMATS), default="native", show_default=True, help="The format of OUT.")
@click.option("--pattern", metavar="NAME|REGEX", help="The pattern of IN, if it is an unknown tiktoken file.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
def convert(source: str, target: str, to: str, pattern: str | None, overwrite: bool) -> None:
    """Convert a model to another file format. IN is a model file, a folder that contains one, unitok-v1 or
    rwkv-world.

    Fails if the format cannot represent the model, and prints a note for each minor loss of information.

    \b
    Examples:
      pyunitok convert t5.model t5.utk
      pyunitok convert rwkv-world rwkv.utk
      pyunitok convert t5.utk t5.model --to sentencepiece
      pyunitok convert gpt.utk tokenizer.json --to huggingface
      pyunitok convert cl100k_base.tiktoken tokenizer.json --to huggingface
      pyunitok convert gpt.utk FOLDER --to vocab-merges
    """
    for note in convert_file(source, target, to, overwrite=overwrite, pattern=pattern):
        click.echo(f"note: {note}", err=True)
