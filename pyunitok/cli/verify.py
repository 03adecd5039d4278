"""The command verify."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

import click

import pyunitok
from pyunitok.cli.progress import Meter
from pyunitok.corpus.inputs import find
from pyunitok.errors import ModelFormatError, VocabularyError, count
from pyunitok.index.shard import open_shards
from pyunitok.index.verify import bytes_to_check, verify_index
from pyunitok.run.plan import Progress
from pyunitok.tokens.model import open_model
from pyunitok.tokens.verify import verify as verify_tokens
from pyunitok.tokens.verify_text import sources_of, verify_text


@click.command()
@click.argument("tokens", metavar="TOKENS|DIR")
@click.argument("inputs", metavar="[IN]...", nargs=-1)
@click.option("--inputs", "named", is_flag=True, help="Compare with the inputs that the manifest names.")
@click.option("-m", "--model", metavar="MODEL", help="Model to use instead of the one that the manifest names.")
@click.option("--threads", type=click.IntRange(1), help="Number of threads; by default one per core.")
def verify(tokens: str, inputs: tuple[str, ...], named: bool, model: str | None, threads: int | None) -> None:
    """Check that a token file (hashes, document ends, ids, counts) or an index (hashes, order, tables) is intact.

    With IN or --inputs, every document is also decoded and compared with its input, byte by byte. IN are the files that
    were tokenized, in the same order, wherever they are now; their formats are taken from the manifest. --inputs reads
    them from the paths in the manifest, which must be files on this machine. What `duplicates --drop` wrote cannot
    be compared, because text of the inputs is missing there.

    \b
    Example:
      pyunitok verify ids.u16
      pyunitok verify ids.u16 --inputs
      pyunitok verify idx
    """
    if inputs and named:
        raise click.UsageError("give the inputs, or --inputs, not both")
    if Path(tokens).is_dir():
        if inputs or named:
            raise click.UsageError("an index has no inputs to compare: verify its token files")
        _verify_index(tokens, model)
        return
    array = pyunitok.open(tokens, model=open_model(model) if model else None)
    assert array.manifest is not None  # open() without a dtype
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
        faults = verify_tokens(array, tokenizer, threads=threads, on_bytes=checking.on_bytes)
    checked = f"{total:,} bytes of tokens checked, {checking.rate:,.0f} MB/s"
    if not faults and (inputs or named):
        # This only finds the files; the manifest says how to read them.
        found = find(inputs, input_format="text") if inputs else None
        sources = sources_of(array.manifest.inputs, found)
        checking = _Checking("comparing", array.manifest.bytes)
        with checking:
            fault = verify_text(array, tokenizer, sources, threads=threads, on_bytes=checking.on_bytes)
        faults = [fault] if fault else []
        if abridged := sum(record.abridged for record in array.manifest.inputs):
            click.echo(
                f"note: not compared with {count(abridged, 'input')}: `duplicates --drop` left out text of theirs",
                err=True,
            )
        checked += f"; {checking.progress.bytes:,} bytes of text compared, {checking.rate:,.0f} MB/s"
    for fault in faults:
        click.echo(f"error: {fault}", err=True)
    click.echo(f"{tokens}: {'damaged' if faults else 'intact'}; {checked}", err=True)
    if faults:
        raise SystemExit(1)


def _verify_index(folder: str, model: str | None) -> None:
    opened = open_shards(folder, model=open_model(model) if model else None)
    total = bytes_to_check(opened)
    checking = _Checking("checking", total)
    with checking:
        faults = verify_index(opened, on_bytes=checking.on_bytes)
    for fault in faults:
        click.echo(f"error: {fault}", err=True)
    counts = f"shards: {len(opened.shards)}, {total:,} bytes, {opened.manifest.tokens:,} tokens in order"
    click.echo(f"{folder}: damaged" if faults else f"{folder}: intact; {counts}", err=True)
    if faults:
        raise SystemExit(1)


class _Checking(Meter):
    """A Meter that adds up what it is told, from any thread; rate is in MB/s."""

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
