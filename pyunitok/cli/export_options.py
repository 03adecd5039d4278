"""Defines the options that `export` and `tokenize --format` share."""

from __future__ import annotations

from typing import Any

import click

from pyunitok.export import FORMATS, MAX_SHARD_TOKENS, Options


def _option(name: str, text: str, **settings: Any) -> Any:
    """Declare the option for a field of export.Options. The help begins with the formats that use the field."""
    formats = ", ".join(to for to, module in FORMATS.items() if name in module.TAKES)
    default = Options.__dataclass_fields__[name].default
    return click.option(f"--{name.replace('_', '-')}", default=default, help=f"{formats}: {text}", **settings)


def export_options(command: Any) -> Any:
    """Add these options to a command."""
    for option in reversed((
        click.option("--name", help="Base name of the files; by default, the name of the token file."),
        click.option("--copy", is_flag=True, help="Copy tokens even if a link is possible."),
        _option("val_fraction", "put the last documents, with this share of the tokens, into val.bin.",
                type=click.FloatRange(0, 1, max_open=True), metavar="SHARE"),
        _option("shard_tokens", "maximum tokens per file; by default, 2^31 - 1.",
                type=click.IntRange(1, MAX_SHARD_TOKENS), metavar="N"),
        _option("eot", "id to write before each document if the token file has no eod.",
                type=click.IntRange(0), metavar="ID"),
        _option("shards", "number of shards.", type=click.IntRange(1), metavar="N"),
        _option("token_dtype", "uint32 avoids false separators and takes 2 more bytes per token.",
                type=click.Choice(["uint16", "uint32"])),
        _option("rename_ids", "avoid false separators; renamed.npy maps the ids in queries and results.", is_flag=True),
    )):  # fmt: skip
        command = option(command)
    return command
