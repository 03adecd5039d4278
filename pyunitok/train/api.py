"""train() trains a model on texts and returns a Tokenizer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyunitok.corpus import inputs
from pyunitok.corpus.raw_file import STDIN
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.corpus.source import Source as File
from pyunitok.disk.outfile import check_folder, check_target
from pyunitok.errors import NoTextError, OptionError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.train.checkpoint import Checkpoint, description, tidy
from pyunitok.train.lines import as_text, batched
from pyunitok.train.result import Record
from pyunitok.train.specs import check_settings
from pyunitok.train.trained import Clock, Progress, Trained, silent
from pyunitok.train.trainer import Trainer, Training
from pyunitok.train.trainers import TRAINERS

TEXTS_AT_ONCE = 256
MAX_VOCAB_SIZE = 1 << 24
N_NAMED = 5  # inputs listed in a message
Report = tuple[Path, Callable[[Trained], None]]
Texts = str | os.PathLike[str] | Iterable[str | bytes | os.PathLike[str]]


def train(texts: Texts, *, kind: str, vocab_size: int | Sequence[int], **options: Any) -> Tokenizer:
    """Train a model and return it; out= also saves it.

    texts        a path, a list of paths (files, folders, patterns or URLs, as in `pyunitok tokenize`), or any
                 other iterable of str or bytes, which is read once
    kind         "unigram", "bpe", "char", "word", "longest" or "bytepiece"
    vocab_size   bytepiece also accepts several: OUT.SIZE is written for each, and the largest is returned
    out          NAME.model, a SentencePiece model; NAME.vocab is written next to it. longest: a native model, or RWKV's
                 text format if the name ends in .txt. bytepiece: its own format. byte_level: see below
    compat       "sentencepiece": the model that sentencepiece 0.2.3 makes with num_threads=1, byte for byte;
                 "bytepiece": the model that bytepiece 0.6.3 makes
    threads      one per core by default
    max_memory   bytes for counting; further counts go to disk. longest: half of this memory holds the text; larger
                 texts are sampled
    separator, text_key, input_format, include, exclude    how files are found and read: as in tokenize()
    em, prior, prune, objective, em_iterations, em_tolerance, max_rounds    see UnigramOptions
    min_frequency, initial_alphabet, split_by, seed    see `pyunitok train unigram --help`
    byte_level   unigram, bpe: the symbols are the 256 bytes, as in GPT-2, and texts are not normalized. out is
                 NAME.json, a tokenizer.json of Hugging Face, or NAME.utk, a native model (or the format named by to=)
    pattern, special_tokens    bpe: byte-level BPE as Hugging Face's BpeTrainer trains it; special_tokens is a list or
                 "a,b,c". See `pyunitok train bpe --help`
    checkpoint   a folder for the result of each phase, from which an interrupted run resumes. It is removed at the
                 end. Other options and changed inputs are rejected. OUT.training.json records the run, so that a
                 repeated call only opens OUT
    overwrite    True: train even if OUT is complete. False: raise OutputError if OUT is a different run's model.
                 None: replace OUT
    progress     called with (phase, done, total); total 0: unknown
    settings     options of spm_train under its names, str as on its command line; input_format "tsv" reads lines that
                 consist of a text, a tab and the count of the text
    …            the other options of spm_train, or those of LongestOptions or BytePieceOptions

    Warns if the text yields fewer pieces than requested.
    """
    trained = run(texts, kind=kind, vocab_size=vocab_size, **options)
    if trained is None:
        return Tokenizer.from_file(outputs(kind, options["out"], vocab_size)[0])
    if trained.n_pieces < trained.n_wanted:
        warnings.warn(
            f"the model has {trained.n_pieces:,} pieces, not {trained.n_wanted:,}: "
            "the text has too few repeated substrings",
            stacklevel=3,  # the package imports this function lazily
        )
    return trained.tokenizer


def outputs(
    kind: str, out: str | os.PathLike[str], vocab_size: int | Sequence[int], **options: Any
) -> list[Path]:
    """The files that train() writes: the models, the largest first, then any others."""
    row, sizes = _row(kind, vocab_size)
    return row.files(Path(out), sizes, options)


def run(
    texts: Texts, *, kind: str, vocab_size: int | Sequence[int], out: str | os.PathLike[str] | None = None,
    threads: int | None = None, max_memory: int = 0, separator: bytes | None = None, text_key: str = "text",
    input_format: str = "auto", include: Sequence[str] = (), exclude: Sequence[str] = (), progress: Progress = silent,
    checkpoint: str | os.PathLike[str] | None = None, settings: Mapping[str, Any] | None = None,
    overwrite: bool | None = None, report: Report | None = None, **options: Any,
) -> Trained | None:  # fmt: skip
    """Like train(), but returns the result that the command reports, or None if an earlier run with this checkpoint
    is complete.

    report  a file and a function that writes it as the last step of the run
    """
    row, sizes = _row(kind, vocab_size)
    options, input_format = _merged(row, options, settings or {}, input_format)
    files = [] if out is None else row.files(Path(out), sizes, options)
    for file in files:
        check_target(file, overwrite=overwrite is not False or checkpoint is not None)
        check_folder(file)
    paths = _paths(texts)
    page, write_page = report or (None, None)
    if checkpoint is not None and (paths is None or STDIN in paths):
        raise OptionError("a checkpoint requires files, because stdin and iterators can be read only once")

    def find(arguments: Sequence[str]) -> list[File]:
        return inputs.find(
            arguments, input_format=input_format, text_key=text_key, include=include, exclude=exclude
        )

    if paths is not None and paths.count(STDIN) > 1:
        find(paths)  # raises
    found = None if paths is None else [find([path]) for path in paths]
    sources = [source for group in found or () for source in group]
    inputs.check_separator(sources, separator)
    what, record = None, None
    if checkpoint is not None:
        how: dict[str, Any] = {"separator": separator, "text_key": text_key, "input_format": input_format}
        how |= {"max_memory": max_memory} if row.is_sampled else {}
        what = description(kind, vocab_size, sources, options | how)
        record = None if out is None else Record(out, files, what)
        if record is not None and record.is_done(page, overwrite=overwrite):
            tidy(checkpoint, what)
            return None
    reading = Reading([], ReadingOptions(separator=separator, text_key=text_key, threads=threads))
    with Checkpoint(checkpoint, what, record) as kept:
        batches = batched(map(as_text, texts if paths is None else ()), TEXTS_AT_ONCE)  # type: ignore[arg-type]
        target = None if out is None else Path(out)
        training = Training(paths or [], found, batches, reading, sizes, target, max_memory, Clock(progress), kept)
        try:
            trained = row.run(training, options)
        except NoTextError as error:
            names = ", ".join([*training.arguments[:N_NAMED], *["…"] * (len(training.arguments) > N_NAMED)])
            raise NoTextError(f"{names}: {error}" if names else str(error)) from None
        if write_page is not None:
            write_page(trained)
        if record is not None:
            record.end(page)
        kept.remove()
    return trained


def _row(kind: str, vocab_size: int | Sequence[int]) -> tuple[Trainer, tuple[int, ...]]:
    """The trainer, and the distinct sizes, the largest first."""
    if kind not in TRAINERS:
        raise OptionError(f"kind must be one of {', '.join(TRAINERS)}, not {kind!r}")
    row, sizes = TRAINERS[kind], (vocab_size,) if isinstance(vocab_size, int) else tuple(vocab_size)
    if not isinstance(vocab_size, int) and not row.takes_sizes:
        others = " and ".join(row.name for row in TRAINERS.values() if row.takes_sizes)
        raise OptionError(f"vocab_size must be a number, not {vocab_size!r}: only {others} models can have several")
    if not all(1 <= size <= MAX_VOCAB_SIZE for size in sizes):
        raise OptionError(f"vocab_size must be 1 to {MAX_VOCAB_SIZE:,}, not {vocab_size!r}")
    return row, tuple(sorted(set(sizes), reverse=True))


def _merged(
    row: Trainer, options: dict[str, Any], settings: Mapping[str, Any], input_format: str
) -> tuple[dict[str, Any], str]:
    """The options and settings combined, and the input format: spm_train's formats describe text files."""
    check_settings(settings)
    if settings and not row.takes_settings:
        raise OptionError(f"settings are options of spm_train, which do not apply to {row.name} models")
    if twice := sorted(settings.keys() & options.keys()):
        raise OptionError(f"{twice[0]} is given twice: as an option and in --set")
    if "input_format" in settings:
        if input_format not in ("auto", "text"):
            raise OptionError(f"input_format is {input_format}, but --set says {settings['input_format']}")
        input_format = "text"
    return {**options, **settings}, input_format


def _paths(texts: Texts) -> list[str] | None:
    """The paths as strings; None if the texts are not paths."""
    paths = [texts] if isinstance(texts, str | os.PathLike) else texts
    if isinstance(paths, list | tuple) and all(isinstance(path, str | os.PathLike) for path in paths):
        return list(map(os.fspath, paths))
    return None


