"""The command verify."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

import click

import pyunitok
from pyunitok.cli.arguments import model_override_option
from pyunitok.cli.progress import Meter
from pyunitok.corpus.inputs import find
from pyunitok.errors import ModelFormatError, VocabularyError, count
from pyunitok.index.shard import open_shards
from pyunitok.index.verify import bytes_to_check, verify_index
from pyunitok.run.plan import Progress
from pyunitok.tokens.verify import verify as verify_tokens
from pyunitok.tokens.verify_text import sources_of, verify_text


@click.command()
@click.argument("tokens", metavar="TOKENS|DIR")
@click.argument("inputs", metavar="[IN]...", nargs=-1)
@click.option("--inputs", "named", is_flag=True, help="Also compare with the inputs named in the manifest.")
@model_override_option
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default one per core.")
def verify(tokens: str, inputs: tuple[str, ...], named: bool, model: Any, threads: int | None) -> None:
    """Check the integrity of a token file or an index.

    For a token file, checks hashes, document ends, ids and counts; for an index, hashes, order and tables.

    With IN or --inputs, each document is also decoded and compared with its input byte by byte. IN are the tokenized
    files in the original order; they may have moved. --inputs reads them from the paths in the manifest. The output of
    `duplicates --drop` cannot be compared because it lacks some of the text.

    \b
    Example:
      pyunitok verify ids.u16
      pyunitok verify ids.u16 --inputs
      pyunitok verify idx
    """
    if inputs and named:
        raise click.UsageError("--inputs cannot be combined with IN")
    if Path(tokens).is_dir():
        if inputs or named:
            raise click.UsageError("an index has no inputs to compare; verify its token files instead")
        _verify_index(tokens, model)
        return
    array = pyunitok.open(tokens, model=model)
    assert array.manifest is not None  # open() requires one unless it gets a dtype
    try:
        tokenizer: Any = array.tokenizer
    except (ModelFormatError, VocabularyError) as error:
        if inputs or named or model:
            raise
        tokenizer = None
        click.echo(f"note: ids are not checked: {error}", err=True)
    total = array.ids.nbytes + array.ends.nbytes
    checking = _Checking("checking", total)
    with checking:
        problems = verify_tokens(array, tokenizer, threads=threads, on_bytes=checking.on_bytes)
    checked = f"{total:,} bytes of tokens checked, {checking.rate:,.0f} MB/s"
    if not problems and (inputs or named):
        # The format here is a placeholder: sources_of takes the formats from the manifest.
        found = find(inputs, input_format="text") if inputs else None
        sources = sources_of(array.manifest.inputs, found)
        checking = _Checking("comparing", array.manifest.bytes)
        with checking:
            problem = verify_text(array, tokenizer, sources, threads=threads, on_bytes=checking.on_bytes)
        problems = [problem] if problem else []
        if abridged := sum(record.abridged for record in array.manifest.inputs):
            skipped = f"skipped {count(abridged, 'input')} from which `duplicates --drop` removed text"
            click.echo(f"note: {skipped}", err=True)
        checked += f"; {checking.progress.bytes:,} bytes of text compared, {checking.rate:,.0f} MB/s"
    _report(problems, f"{tokens}: {'damaged' if problems else 'intact'}; {checked}")


def _report(problems: list[str], summary: str) -> None:
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    click.echo(summary, err=True)
    if problems:
        raise SystemExit(1)


def _verify_index(folder: str, model: Any) -> None:
    opened = open_shards(folder, model=model)
    total = bytes_to_check(opened)
    checking = _Checking("checking", total)
    with checking:
        problems = verify_index(opened, on_bytes=checking.on_bytes)
    counts = f"{count(len(opened.shards), 'shard')}, {total:,} bytes, {opened.manifest.tokens:,} tokens in order"
    _report(problems, f"{folder}: damaged" if problems else f"{folder}: intact; {counts}")


class _Checking(Meter):
    """A Meter that several threads can update; rate is in MB/s."""

    def __init__(self, label: str, n_bytes: int) -> None:
        super().__init__(label)
        self.progress = Progress(compressed_total=n_bytes)
        self._adding = Lock()

    def on_bytes(self, n: int) -> None:
        with self._adding:
            self.progress.bytes += n
            self.progress.compressed += n
            self.show(self.progress)

    @property
    def rate(self) -> float:
        return self.progress.bytes / max(self.seconds, 1e-9) / 1e6
