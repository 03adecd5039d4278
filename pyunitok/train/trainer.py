"""Trainer, a row of the table in trainers.py; and Training, the argument of its run()."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pyunitok.corpus.block import Split
from pyunitok.corpus.reading import Reading
from pyunitok.corpus.source import Source as File
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.lines import Batch
from pyunitok.train.options import Option
from pyunitok.train.result import write_models
from pyunitok.train.sources import Corpus, SuppliedBatches, TextSource, after_newline
from pyunitok.train.trained import Clock, MeasuredSize, Rows, Trained


@dataclass
class Training:
    """The arguments of train() that every trainer needs.

    arguments   the inputs as they were named
    files       the files of each input; None: the texts are in `batches`
    reading     how files are read; it lists no files
    sizes       the sizes of the vocabularies, the largest first
    out         the model's file; None: the model stays in memory
    max_memory  bytes; 0: no limit
    """

    arguments: Sequence[str]
    files: list[list[File]] | None
    batches: Iterator[Batch]
    reading: Reading
    sizes: tuple[int, ...]
    out: Path | None
    max_memory: int
    clock: Clock
    checkpoint: Checkpoint

    def source(self, *, hold: bool = True, split: Split = after_newline) -> TextSource:
        """The texts. hold: hold out lines of files as a sample."""
        if self.files is None:
            return SuppliedBatches(self.batches, whole=False)
        files = [file for files in self.files for file in files]
        return Corpus(replace(self.reading, sources=files), hold=hold, split=split)

    def write(self, files: Mapping[Path, bytes | bytearray]) -> Tokenizer:
        """Write the files of the model in this order, and open the last one."""
        write_models(files, self.checkpoint.record)
        return Tokenizer.from_file([*files][-1])

    def trained(
        self, tokenizer: Tokenizer, pieces: list[bytes], types: dict[str, int], notes: Rows, sizes: list[MeasuredSize],
        n_bytes: int, source: TextSource, **more: Any,
    ) -> Trained:  # fmt: skip
        """The result, at the end of the run: see Trained."""
        self.clock.end()
        return Trained(
            tokenizer, pieces, types, notes, self.clock.phases(), sizes, n_bytes, source.sample, source.is_held_out,
            n_wanted=self.sizes[0], **more,
        )  # fmt: skip


class Trainer(NamedTuple):
    """A row of the table.

    name             the name of the kind of models, and of the command
    help             the help of the command: a sentence, details, and an example
    options          the options of the command, besides those that all trainers have
    run              trains a model with the options that were given
    files            the files to write for `out`: the models, the largest first, then any others
    out_help         help of --out
    memory_help      help of --max-memory
    takes_settings   whether it takes the options of spm_train
    takes_sizes      whether it makes models of several sizes in one run
    is_sampled       whether a text that exceeds --max-memory is sampled
    """

    name: str
    help: str
    options: Sequence[Option]
    run: Callable[[Training, dict[str, Any]], Trained]
    files: Callable[[Path, tuple[int, ...], Mapping[str, Any]], list[Path]] = lambda out, sizes, options: [out]
    out_help: str = "The model."
    memory_help: str = "Memory for counting; further counts go to disk (in TMPDIR). The result does not change."
    takes_settings: bool = False
    takes_sizes: bool = False
    is_sampled: bool = False
