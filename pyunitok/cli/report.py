"""What commands tell the user: formats decided, a progress bar, a closing line."""

from __future__ import annotations

import sys
from typing import Any

import click


def report_formats(sources: list[Any]) -> None:
    """One line for each way that a format was decided, with the first file it was decided for."""
    decided: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        decided.setdefault((source.format, source.reason), []).append(source.path)
    for (format_, reason), paths in decided.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        click.echo(f"reading {paths[0]}{more} as {format_} ({reason})", err=True)


def report_done(manifest: Any, seconds: float) -> None:
    rate = manifest.bytes / max(seconds, 1e-9) / 1e6
    ratio = manifest.bytes / manifest.tokens if manifest.tokens else 0.0
    click.echo(
        f"{manifest.documents:,} documents, {manifest.bytes:,} bytes, {manifest.tokens:,} tokens, "
        f"{ratio:.3f} bytes/token, {rate:.0f} MB/s",
        err=True,
    )


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
