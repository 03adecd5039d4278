"""Implements the `detokenize` command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any

import click

import pyunitok
from pyunitok.cli.arguments import model_override_option
from pyunitok.cli.progress import ByteMeter
from pyunitok.corpus.compressions import by_suffix
from pyunitok.corpus.rewriting import compressed, empty
from pyunitok.disk.outfile import check_target, new_file
from pyunitok.index.opening import is_index, open_shards
from pyunitok.tokens.detokenize import detokenize as write_documents
from pyunitok.tokens.manifest import sidecars


@click.command()
@click.argument("tokens", metavar="TOKENS")
@click.option(
    "-o", "--out", metavar="OUT", required=True,
    help="The file to write, compressed if its name ends in .gz, .bz2, .xz or .zst; or - for stdout.",
)  # fmt: skip
@model_override_option
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
def detokenize(tokens: str, out: str, model: Any, overwrite: bool) -> None:
    """Decode a token file back to text.

    Text inputs are restored byte for byte. JSONL and Parquet inputs become JSON lines that contain only the text.
    Several inputs are concatenated. TOKENS can also be an index, whose token files may have been dropped.

    \b
    Example:
      pyunitok detokenize ids.u16 -o - | head -c 300
    """
    target = Path(out)
    if out != "-":
        check_target(target, overwrite=overwrite)
        own = [path for path in (Path(tokens), *sidecars(tokens)) if path.exists()]
        if target.exists() and any(map(target.samefile, own)):
            raise click.UsageError(f"{out} is part of the token file; choose another OUT")
    # A raw file of ids has no manifest, so it requires -m.
    arrays: list[Any] = (
        open_shards(tokens, model=model).arrays if is_index(tokens)
        else [pyunitok.open(tokens, dtype="uint16" if model else None, model=model)]
    )  # fmt: skip
    tokenizer = arrays[0].tokenizer
    if not tokenizer.lossless:
        click.echo("note: the model is lossy: text may be normalized, and special tokens may be missing", err=True)
    if out == "-":
        for array in arrays:
            write_documents(array, tokenizer, sys.stdout.buffer, lambda _: None)
        sys.stdout.buffer.flush()
        return
    compression = by_suffix(target.suffix).name
    known = [array.manifest.bytes for array in arrays if array.manifest]
    meter = ByteMeter("detokenizing", sum(known) if len(known) == len(arrays) else None)
    with new_file(target, overwrite=overwrite) as file, meter:
        n_bytes = sum(write_documents(array, tokenizer, _Compressed(file, compression), meter.add) for array in arrays)
        if not n_bytes:
            file.write(empty(compression))


class _Compressed:
    """A file that stores everything written as one frame per call."""

    def __init__(self, file: IO[bytes], compression: str) -> None:
        self._file, self._compression = file, compression

    def write(self, data: memoryview) -> int:
        self._file.write(compressed(bytes(data), self._compression))
        return len(data)
