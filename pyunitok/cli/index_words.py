"""Adds words and fields to an index, for the `index` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pyunitok.cli.progress import Meter, make_bar
from pyunitok.errors import count
from pyunitok.index.field_build import add_fields
from pyunitok.index.opened import open_index
from pyunitok.index.opening import is_index
from pyunitok.index.word_build import add_words

STEPS = 1000  # the number of steps of the progress bar


def is_same_folder(tokens: Sequence[str], folder: str) -> bool:
    """Whether the only argument is the folder of the index itself."""
    return len(tokens) == 1 and is_index(tokens[0]) and Path(tokens[0]).resolve() == Path(folder).resolve()


def store_more(folder: str, model: Any, words: bool, fields: str | None) -> None:
    """Store words and fields in an index. Shows a progress bar on a terminal."""
    if words:
        with ShareMeter("words") as meter:
            add_words(folder, model=model, on_progress=meter.show)
        found = open_index(folder, model=model).words
        sizes = f"{count(found.n_words, 'word')}, {len(found.lexicon) - 1:,} distinct"
        click.echo(f"{folder}: {sizes}, {meter.seconds:.1f} s", err=True)
    if fields:
        with ShareMeter("fields") as meter:
            add_fields(folder, fields.split(","), model=model, on_progress=meter.show)
        names = ", ".join(open_index(folder, model=model).fields.names)
        click.echo(f"{folder}: fields {names}, {meter.seconds:.1f} s", err=True)


class ShareMeter(Meter):
    """Shows the completed share."""

    def show(self, share: float) -> None:
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = make_bar(total=STEPS, desc=self._label, unit="‰")
        self._bar.update(int(STEPS * share) - self._bar.n)
