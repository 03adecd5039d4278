"""The command convert."""

from __future__ import annotations

import click

FORMATS = ("native", "sentencepiece", "bytepiece", "rwkv")


@click.command()
@click.argument("source", metavar="IN", type=click.Path(exists=True, dir_okay=False))
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False))
@click.option("--to", type=click.Choice(FORMATS), default="native", show_default=True, help="The format of OUT.")
def convert(source: str, target: str, to: str) -> None:
    """Write the model file IN as OUT, in another format.

    What the format cannot hold is refused, with the reason; what it can hold only nearly is said.

    \b
    Example:
      pyunitok convert t5.model t5.unitok
      pyunitok convert t5.unitok t5.model --to sentencepiece
    """
    from pyunitok.vocab.convert import convert as convert_file

    for note in convert_file(source, target, to):
        click.echo(f"note: {note}", err=True)
