"""What commands tell the user: formats decided, a progress bar, a closing line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pyunitok.errors import printable


def report_formats(sources: list[Any]) -> None:
    """One line for each way that a format was decided, with the first file it was decided for."""
    decided: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        decided.setdefault((source.format, source.reason), []).append(source.path)
    for (format_, reason), paths in decided.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        click.echo(f"reading {printable(paths[0])}{more} as {format_} ({printable(reason)})", err=True)


def report_survey(plan: Any, spool: Any = None) -> None:
    """For --dry-run, to stdout: a line for each input, and what would come of them."""
    from pyunitok.run.survey import survey
    from pyunitok.run.upload import own_urls
    from pyunitok.tokens.manifest import sidecars

    found = survey(plan)
    outputs = own_urls(spool.url) if spool else [plan.out, *sidecars(plan.out)]
    for source in plan.sources:
        size = "unknown" if source.size_bytes is None else f"{source.size_bytes:,}"
        path, reason = printable(source.path), printable(source.reason)
        click.echo(f"{size:>18}  {source.format}, {source.compression}  {path}  ({reason})")
    sizes = [source.size_bytes for source in plan.sources]
    total = "of unknown size" if None in sizes else f"of {sum(sizes):,} bytes"
    click.echo(f"would read {len(sizes):,} inputs {total}")
    click.echo(f"would write {', '.join(map(str, outputs))}, beginning: {found.begins}")
    if found.text_bytes is not None and found.tokens is not None:
        n_bytes = found.tokens * plan.dtype.itemsize
        click.echo(f"about {found.text_bytes:,} bytes of text, {found.tokens:,} tokens, {n_bytes:,} bytes of output")


class Resuming:
    """Says where a run goes on, how far it came, and how to go on with one that stops."""

    def __init__(self, out: Path, overwrite: bool, spool: Any = None) -> None:
        self._out, self._overwrite, self._spool = out, overwrite, spool
        self._start: Any = None

    def on_start(self, start: Any) -> None:
        """For pipeline.tokenize."""
        self._start = start
        if start.bytes and not start.complete:
            click.echo(f"going on after {start.documents:,} documents, {start.bytes:,} bytes", err=True)

    def on_file(self, url: str, n_bytes: int) -> None:
        """For upload.tokenize_to."""
        click.echo(f"uploading {url}, {n_bytes:,} bytes", err=True)

    def __enter__(self) -> Resuming:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        from pyunitok.run.journal import journal_path

        if kind is not None and self._start is not None and journal_path(self._out).exists():
            but = " without --overwrite" if self._overwrite else ""
            click.echo(f"what is done is kept: the same command{but} goes on from there", err=True)
        elif kind is not None and self._spool and self._out.exists() and not issubclass(kind, Exception):
            click.echo(self._spool.advice(), err=True)

    def report_done(self, manifest: Any, seconds: float) -> None:
        counts = f"{manifest.documents:,} documents, {manifest.bytes:,} bytes, {manifest.tokens:,} tokens"
        if self._start.complete:
            click.echo(f"already complete: {self._spool.url if self._spool else self._out}, {counts}", err=True)
            return
        rate = (manifest.bytes - self._start.bytes) / max(seconds, 1e-9) / 1e6
        ratio = manifest.bytes / manifest.tokens if manifest.tokens else 0.0
        click.echo(f"{counts}, {ratio:.3f} bytes/token, {rate:.0f} MB/s", err=True)


class Meter:
    """A progress bar on a terminal, nothing elsewhere; and the seconds it took."""

    def __init__(self, label: str) -> None:
        from time import monotonic

        self._label, self._clock = label, monotonic
        self._started = monotonic()
        self._bar: Any = None
        self.seconds = 0.0

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = self._clock() - self._started
        if self._bar is not None:
            self._bar.close()

    def show(self, progress: Any) -> None:
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                total=progress.compressed_total, desc=self._label, unit="B", unit_scale=True, leave=False, delay=0.5
            )
        seconds = max(self._clock() - self._started, 1e-9)
        text = f"{progress.bytes / seconds / 1e6:.0f} MB/s of text"
        if progress.tokens:
            text += f", {progress.bytes / progress.tokens:.2f} bytes/token"
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(progress.compressed - self._bar.n)


def report_export(exported: Any) -> None:
    """A line a file, and what the user should know."""
    for written in exported.files:
        click.echo(f"{written.path}: {written.how}, {written.n_bytes:,} bytes", err=True)
    for note in exported.notes:
        click.echo(f"note: {note}", err=True)
