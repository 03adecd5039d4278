"""train(): texts in, a Tokenizer out. Each kind's trainer is imported when it is asked for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pyunitok.batch import threads_or_cores
from pyunitok.corpus import inputs
from pyunitok.corpus.reading import Reading
from pyunitok.corpus.source import STDIN
from pyunitok.corpus.source import Source as File
from pyunitok.errors import NoTextError, OptionError
from pyunitok.packed import Packed
from pyunitok.tokenizer import Tokenizer
from pyunitok.train.checkpoint import Checkpoint, description
from pyunitok.train.lines import Batch
from pyunitok.train.specs import check_settings
from pyunitok.train.trained import Progress, Trained, silent

TEXTS_AT_ONCE = 256
MAX_VOCAB_SIZE = 1 << 24
N_NAMED = 5  # inputs that a message lists
KINDS = ("unigram", "bpe", "word", "char", "longest", "bytepiece")
Texts = str | os.PathLike[str] | Iterable[str | bytes | os.PathLike[str]]


def train(texts: Texts, *, kind: str, vocab_size: int | Sequence[int], **options: Any) -> Tokenizer:
    """Train a model and return it; out= also saves it.

    texts        a path, a list of paths (files, folders, patterns, URLs: as `pyunitok tokenize` takes them), or any
                 other iterable of str or bytes, which is read once
    kind         "unigram", "bpe", "char", "word", "longest" or "bytepiece"
    vocab_size   bytepiece: also several; OUT.SIZE is written of each, and the largest is returned
    out          NAME.model, a SentencePiece model; NAME.vocab is written beside it. longest: a native model, or RWKV's
                 text where the name ends in .txt. bytepiece: its own format. byte_level: see there
    compat       "sentencepiece": the model that sentencepiece 0.2.3 makes with num_threads=1, byte for byte;
                 "bytepiece": that of bytepiece 0.6.3
    threads      cores to use; all of them by default
    max_memory   bytes for counting; beyond, counts are spilled to disk. longest: twice the text that is trained on
    separator, text_key, input_format, include, exclude    how files are found and read: as in tokenize()
    em, prior, prune, objective, em_iterations, em_tolerance, max_rounds    see UnigramOptions
    min_frequency, initial_alphabet, split_by, seed    see `pyunitok train unigram --help`
    byte_level   unigram, bpe: the symbols are the 256 bytes, as in GPT-2, and texts are not normalized. out is
                 NAME.json, a tokenizer.json of Hugging Face, or NAME.utk, a native model (or what to= says)
    checkpoint   a folder for what each phase gives, so that a training that is stopped and started again resumes;
                 it is removed in the end. Other options or changed inputs are refused
    progress     called with (phase, done, of how many)
    settings     options of spm_train by their names there, str as on its command line; input_format "tsv" reads lines
                 of a text, a tab and its count
    …            the same as keywords, but for input_format; for longest those of GreedyOptions, for bytepiece those of
                 pyunitok.train.bytepiece.Options

    Warns if the text gives fewer pieces than were asked for.
    """
    trained = run(texts, kind=kind, vocab_size=vocab_size, **options)
    if trained.n_pieces < trained.n_wanted:
        warnings.warn(
            f"the model has {trained.n_pieces:,} pieces, not {trained.n_wanted:,}: the text has too few that repeat",
            stacklevel=3,  # the package imports this function late
        )
    return trained.tokenizer


def run(texts: Texts, *, kind: str, vocab_size: int | Sequence[int], **options: Any) -> Trained:
    """Like train(), with what the summary of the command says."""
    paths = _paths(texts)
    sizes = [vocab_size] if isinstance(vocab_size, int) else vocab_size
    if not all(1 <= size <= MAX_VOCAB_SIZE for size in sizes):
        raise OptionError(f"vocab_size must be 1 to {MAX_VOCAB_SIZE:,}, not {vocab_size!r}")
    try:
        trained = _run(paths, kind, vocab_size, **options)
    except NoTextError as error:
        names = paths[:N_NAMED] + ["…"] * (len(paths) > N_NAMED) if isinstance(paths, list) else []
        raise NoTextError(f"{', '.join(names)}: {error}" if names else str(error)) from None
    trained.n_wanted = vocab_size if isinstance(vocab_size, int) else max(vocab_size)
    return trained


def _run(
    paths: list[str] | Iterable[Any], kind: str, vocab_size: int | Sequence[int], *,
    out: str | os.PathLike[str] | None = None, threads: int | None = None, max_memory: int = 0,
    separator: bytes | None = None, text_key: str = "text", input_format: str = "auto",
    include: Sequence[str] = (), exclude: Sequence[str] = (), progress: Progress = silent,
    checkpoint: str | os.PathLike[str] | None = None, settings: Mapping[str, Any] | None = None, **options: Any,
) -> Trained:  # fmt: skip
    if kind not in KINDS:
        raise OptionError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    settings = settings or {}
    check_settings(settings)
    if settings and kind in ("longest", "bytepiece"):
        raise OptionError(f"settings are options of spm_train; {kind} models have none of them")
    if twice := sorted(settings.keys() & options.keys()):
        raise OptionError(f"{twice[0]} is given twice: as an option and in --set")
    if "input_format" in settings:
        if input_format not in ("auto", "text"):
            raise OptionError(f"input_format is {input_format} and in --set {settings['input_format']}: choose one")
        input_format = "text"

    def find(arguments: Sequence[str]) -> list[File]:
        return inputs.find(
            arguments, input_format=input_format, text_key=text_key, include=include, exclude=exclude
        )

    reading = Reading([], separator=separator, text_key=text_key, threads=threads_or_cores(threads))
    if checkpoint is not None and (not isinstance(paths, list) or STDIN in paths):
        raise OptionError("a checkpoint is for texts in files: stdin and iterators can be read only once")
    asked = {**options, **settings, "separator": separator, "text_key": text_key, "input_format": input_format}
    if kind == "bytepiece":
        from pyunitok.train import bytepiece_job

        texts_in = find(paths) if isinstance(paths, list) else None
        with _checkpoint(checkpoint, kind, vocab_size, texts_in, asked) as kept:
            trained = bytepiece_job.run(
                texts_in or _batches(paths), vocab_size, reading, out=out, max_memory=max_memory, progress=progress,
                checkpoint=kept, **options,
            )  # fmt: skip
            if kept is not None:
                kept.remove()
        return trained
    if not isinstance(vocab_size, int):
        raise OptionError(f"vocab_size must be a number, not {vocab_size!r}; several are for bytepiece models")
    if kind == "longest":
        from pyunitok.train import greedy_job, greedy_text

        if unknown := sorted(options.keys() - greedy_job.GreedyOptions.__dataclass_fields__):
            raise OptionError(f"there is no option {unknown[0]} for greedy vocabularies")
        own = greedy_job.GreedyOptions(**options)
        files = greedy_text.files_of(paths, own.weights, find) if isinstance(paths, list) else None
        asked["max_memory"] = max_memory  # decides on what sample
        found = None if files is None else files.sources
        with _checkpoint(checkpoint, kind, vocab_size, found, asked) as kept:
            trained = greedy_job.run(
                files or _batches(paths), vocab_size, own, reading, out=out, max_memory=max_memory, progress=progress,
                checkpoint=kept,
            )  # fmt: skip
            if kept is not None:
                kept.remove()
        return trained
    from pyunitok.train import sentencepiece_job

    sources = find(paths) if isinstance(paths, list) else None
    with _checkpoint(checkpoint, kind, vocab_size, sources, asked) as kept:
        trained = sentencepiece_job.run(
            _batches(paths) if sources is None else sources, kind, vocab_size, reading, out=out, max_memory=max_memory,
            progress=progress, checkpoint=kept, settings=settings, **options,
        )  # fmt: skip
        if kept is not None:
            kept.remove()
    return trained


def _checkpoint(
    folder: str | os.PathLike[str] | None, kind: str, vocab_size: int | Sequence[int], sources: list[File] | None,
    asked: dict[str, Any],
) -> AbstractContextManager[Checkpoint | None]:  # fmt: skip
    if folder is None:
        return nullcontext()
    assert sources is not None
    return Checkpoint(folder, description(kind, vocab_size, sources, asked))


def _paths(texts: Texts) -> list[str] | Iterable[Any]:
    """Paths as strings, if that is what they are."""
    paths = [texts] if isinstance(texts, str | os.PathLike) else texts
    if isinstance(paths, list | tuple) and all(isinstance(path, str | os.PathLike) for path in paths):
        return list(map(os.fspath, paths))
    return paths


def _batches(texts: Iterable[Any]) -> Iterator[Batch]:
    batch: list[str | bytes] = []
    for text in texts:
        if not isinstance(text, str | bytes):
            raise TypeError(f"an iterable of texts gave {type(text).__name__}; it must give str or bytes")
        batch.append(text)
        if len(batch) == TEXTS_AT_ONCE:
            packed = Packed.from_documents(batch)
            yield packed.data, packed.offsets
            batch = []
    packed = Packed.from_documents(batch)
    yield packed.data, packed.offsets
