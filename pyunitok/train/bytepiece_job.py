"""Training BytePiece from texts to files: where texts come from, a model for each size, what there is to say of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyunitok.corpus.reading import Reading
from pyunitok.corpus.source import Source as File
from pyunitok.errors import OptionError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.train import bytepiece
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.lines import Batch
from pyunitok.train.result import Record, write_models
from pyunitok.train.sources import Batches, Corpus, Source
from pyunitok.train.trained import Clock, Progress, Size, Trained
from pyunitok.vocab import bytepiece as format_
from pyunitok.vocab import nfc

OPTIONS = set(bytepiece.Options.__dataclass_fields__) - {"max_vocab_size", "compat"}


def run(
    texts: list[File] | Iterator[Batch], vocab_size: int | Sequence[int], reading: Reading, *,
    out: str | os.PathLike[str] | None, max_memory: int, progress: Progress, checkpoint: Checkpoint | None = None,
    compat: str | None = None, folder: Path | None = None, **given: Any,
) -> Trained:  # fmt: skip
    """texts: files, or batches. reading: how files are read; its sources are replaced. given: see bytepiece.Options."""
    if compat not in (None, "bytepiece"):
        raise OptionError(f"compat must be None or 'bytepiece', not {compat!r}")
    if unknown := sorted(given.keys() - OPTIONS):
        raise OptionError(f"there is no option {unknown[0]} for BytePiece models")
    sizes = sizes_of(vocab_size)
    options = bytepiece.Options(max_vocab_size=sizes, compat=compat is not None, **given)
    paths = [] if out is None else paths_of(out, sizes)
    clock = Clock(progress)
    if checkpoint is not None:
        folder = folder or checkpoint.folder
    job = bytepiece.Job(options, reading.threads, max_memory, folder, clock, checkpoint)
    source: Source
    if isinstance(texts, list):
        source = Corpus(replace(reading, sources=texts), hold=not options.compat, split=nfc.split)
    else:
        source = Batches(texts, whole=False)
    models = job.run(source)
    clock("save", 0, 0)
    record = None if checkpoint is None else checkpoint.record
    tokenizer = _save([bytepiece.entries(model) for model in models], paths, record)
    clock.end()
    pieces = [piece for piece in models[0].items() if len(piece) > 1]
    types = {"learned": len(pieces), "byte": 256, "control": bytepiece.N_SPECIAL}
    on_the_way = [Size(n_pieces, n_tokens) for n_pieces, n_tokens in job.sizes]
    notes = [("text", f"{job.stats.n_bytes:,} bytes")]
    is_held_back = isinstance(source, Corpus) and source.hold
    return Trained(
        tokenizer, pieces, types, notes, clock.phases(), on_the_way, job.stats.n_bytes, source.sample, is_held_back
    )


def sizes_of(vocab_size: int | Sequence[int]) -> tuple[int, ...]:
    """Each once, the largest first."""
    return (vocab_size,) if isinstance(vocab_size, int) else tuple(sorted(set(vocab_size), reverse=True))


def paths_of(out: str | os.PathLike[str], sizes: Sequence[int]) -> list[Path]:
    """A file for each size: OUT, or OUT.SIZE where there are several, as bytepiece names them."""
    return [Path(out)] if len(sizes) == 1 else [Path(f"{os.fspath(out)}.{size}") for size in sizes]


def _save(models: list[format_.Entries], paths: list[Path], record: Record | None) -> Tokenizer:
    """The tokenizer of the first."""
    write_models({path: format_.write(entries) for path, entries in zip(paths, models, strict=False)}, record)
    path = paths[0] if paths else Path("trained.model")
    vocabulary = format_.vocabulary_of(models[0], str(path))
    model = vocabulary.build(engine="double-array", cpu=None)
    return Tokenizer(model, vocabulary.about(path.stem), path=str(path) if paths else None)
