"""Adding words to an index with the `index` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pyunitok.cli.progress import Meter, make_bar
from pyunitok.errors import count
from pyunitok.index.opened import open_index
from pyunitok.index.opening import is_index
from pyunitok.index.word_build import add_words

STEPS = 1000  # of the progress bar


def is_same_folder(tokens: Sequence[str], folder: str) -> bool:
    """Whether the only argument is the folder of the index itself."""
    return len(tokens) == 1 and is_index(tokens[0]) and Path(tokens[0]).resolve() == Path(folder).resolve()


def store_words(folder: str, model: Any) -> None:
    """Store words, with a progress bar on a terminal."""
    with WordMeter() as meter:
        add_words(folder, model=model, on_progress=meter.show)
    words = open_index(folder, model=model).words
    n_distinct = len(words.lexicon) - 1
    click.echo(f"{folder}: {count(words.n_words, 'word')}, {n_distinct:,} distinct, {meter.seconds:.1f} s", err=True)


class WordMeter(Meter):
    """Shows the completed share."""

    def __init__(self) -> None:
        super().__init__("words", "words")

    def show(self, share: float) -> None:
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = make_bar(total=STEPS, desc=self._label, unit="‰")
        self._bar.update(int(STEPS * share) - self._bar.n)
