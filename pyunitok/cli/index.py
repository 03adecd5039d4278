"""Implements the `index` command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

import pyunitok
from pyunitok.cli.arguments import SIZE, model_override_option
from pyunitok.cli.index_words import is_same_folder, store_more
from pyunitok.cli.progress import Meter, make_bar
from pyunitok.cli.report import report_export
from pyunitok.errors import count
from pyunitok.export.engines import ENGINES, write_engine_index
from pyunitok.index.build import build_index
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.plan import Limits

COMPACT_OPTIONS = ("block", "locate_every", "extract_every", "count_only")


@click.command()
@click.argument("tokens", metavar="TOKENS...", nargs=-1, required=True)
@click.option("-o", "--out", "folder", metavar="DIR", required=True, help="The folder of the index.")
@click.option(
    "--order", type=click.Choice(["bytes", "id"]),
    help="Sort by token bytes (the default, fastest for text queries) or by token ids.",
)  # fmt: skip
@click.option(
    "--compact",
    is_flag=True,
    help="Build compressed suffix arrays: a quarter of the size, but counting is 3 times slower.",
)
@click.option("--block", type=click.Choice(["128", "64"]), help="With --compact: 64 is faster but 5 % larger.")
@click.option(
    "--locate-every", type=click.IntRange(1, 1024), metavar="N",
    help="With --compact: store the position of every N-th token (a power of two).  [default: 32]",
)  # fmt: skip
@click.option(
    "--extract-every", type=click.IntRange(1, 1024), metavar="N",
    help="With --compact: allow reading to start at every N-th token.  [default: 64]",
)  # fmt: skip
@click.option("--count-only", is_flag=True, help="With --compact: support only counting, for 15 % less space.")
@click.option("--drop-tokens", is_flag=True, help="With --compact: store the token files in the index and remove them.")
@click.option("--words", is_flag=True, help="Also store words, for search -i and the like.")
@click.option("--fields", metavar="NAMES", help="Also store metadata fields, such as lang,year.")
@click.option("--left", is_flag=True, help="Also store the token before each suffix, 2 bytes per token.")
@click.option(
    "--max-memory", "max_memory_bytes", type=SIZE,
    help="Memory limit, such as 8G; by default, half of the machine's memory.",
)  # fmt: skip
@click.option("--shard-tokens", type=SIZE, help="Maximum shard size; by default, half of what fits in memory.")
@click.option("--threads", type=click.IntRange(1), help="Maximum shards sorted in parallel; by default, one per core.")
@click.option("--add", is_flag=True, help="Add TOKENS to the index in DIR without changing its shards.")
@click.option("--overwrite", is_flag=True, help="Replace the index in DIR.")
@model_override_option
@click.option("--ray", metavar="ADDRESS", help="Build the shards on a Ray cluster: auto, local or HOST:PORT.")
@click.option(
    "--format", "to", type=click.Choice(list(ENGINES)),
    help="Write an index for another search engine instead, from one token file.",
)  # fmt: skip
def index(tokens: tuple[str, ...], folder: str, to: str | None, model: Any, **options: Any) -> None:
    """Build a search index (sharded suffix arrays) over token files.

    The index refers to the token files by path, so do not move them. To resume an interrupted run, run the same command
    again; finished shards are kept. The index takes 4 bytes per token, or 6 with --left, or about 1.1 with --compact.
    With --compact, TOKENS can also be an index of suffix arrays, which are not sorted again. --words and --fields
    can be added later without sorting: TOKENS is then the folder of the index itself.

    \b
    Examples:
      pyunitok index ids.u16 -o idx
      pyunitok index more.u16 -o idx --add
      pyunitok index idx -o small --compact
      pyunitok index idx -o idx --words --fields lang,year
    """
    if to:
        others = ("order", "left", "add", "ray", "compact", "drop_tokens", "words", "fields", *COMPACT_OPTIONS)
        if any(options[name] for name in others):
            raise click.UsageError(
                "--format cannot be combined with --order, --left, --add, --ray, --words, --fields or --compact"
            )
        _write_format(to, tokens, Path(folder), model, options)
        return
    more = {name: options.pop(name) for name in ("words", "fields")}
    if any(more.values()) and is_same_folder(tokens, folder) and not options["drop_tokens"]:
        store_more(folder, model, **more)
        return
    if options["add"] and any(options[name] for name in ("order", "left", "overwrite")):
        raise click.UsageError("--add cannot be combined with --order, --left or --overwrite")
    options["compact"] = _compact(options)
    options["order"] = options["order"] or "bytes"
    with IndexMeter() as meter:
        manifest = build_index(tokens, folder, model=model, on_progress=meter.show, **options)
    if options["drop_tokens"]:
        n_bytes = sum(file.tokens for file in manifest.files) * int(manifest.dtype[-1])
        click.echo(f"{folder} stores the token files; removed {n_bytes:,} bytes of tokens", err=True)
    counts = f"{count(manifest.documents, 'document')}, {count(manifest.tokens, 'token')}"
    click.echo(f"{folder}: {count(len(manifest.shards), 'shard')}, {counts}, {meter.summary()}", err=True)
    store_more(folder, model, **more)


def _compact(options: dict[str, Any]) -> CompactOptions | None:
    """Moves the options of compact indexes out of `options`; None without --compact."""
    given = {name: int(value) for name in COMPACT_OPTIONS if (value := options.pop(name)) not in (None, False)}
    if not options["compact"]:
        if given:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in COMPACT_OPTIONS)
            raise click.UsageError(f"{flags} require --compact")
        return None
    if any(options[name] for name in ("order", "left", "add")):
        raise click.UsageError("--compact cannot be combined with --order, --left or --add")
    if given.pop("count_only", False):
        if "locate_every" in given or "extract_every" in given:
            raise click.UsageError("--count-only cannot be combined with --locate-every or --extract-every")
        given |= {"locate_every": 0, "extract_every": 0}
    return CompactOptions(**given)


def _write_format(to: str, tokens: tuple[str, ...], folder: Path, model: Any, options: dict[str, Any]) -> None:
    if len(tokens) != 1:
        raise click.UsageError("--format accepts only one token file")
    array = pyunitok.open(tokens[0], dtype="uint16", model=model)
    limits = Limits(options["max_memory_bytes"], options["shard_tokens"])
    with IndexMeter() as meter:
        written = write_engine_index(
            array, to, folder, limits=limits, threads=options["threads"], overwrite=options["overwrite"],
            on_progress=meter.show,
        )  # fmt: skip
    report_export(written)
    click.echo(f"{folder}: {to} index, {len(array.ids):,} tokens, {meter.summary()}", err=True)


class IndexMeter(Meter):
    """Shows a progress bar on a terminal, and reports how many shards an earlier run finished."""

    def __init__(self) -> None:
        super().__init__("indexing", "tokens")
        self._last: Any = None
        self._first_tokens = 0.0

    def __exit__(self, kind: Any = None, *_: object) -> None:
        self.close()
        if kind is not None and self._last is not None:
            click.echo(
                f"{self._last.shards} of {self._last.n_shards} shards are done; run the same command again to resume",
                err=True,
            )

    def show(self, progress: Any) -> None:
        if self._last is None:
            self._first_tokens = progress.tokens
            if progress.resumed:
                click.echo(f"resuming: {progress.resumed} of {progress.n_shards} shards are done", err=True)
        self._last = progress
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = make_bar(
                total=progress.total, initial=int(progress.tokens), desc=self._label, unit=" tokens", unit_scale=True
            )
        self._bar.set_postfix_str(f"{progress.shards} of {progress.n_shards} shards", refresh=False)
        self._bar.update(int(progress.tokens) - self._bar.n)

    def summary(self) -> str:
        if self._last is None:
            return "already complete"
        tokens = self._last.tokens - self._first_tokens
        return f"{self.seconds:.1f} s, {tokens / max(self.seconds, 1e-9) / 1e6:.1f} M tokens/s"
