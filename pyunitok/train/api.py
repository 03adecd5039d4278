"""train(): texts in, a Tokenizer out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyunitok.batch import available_cores
from pyunitok.corpus import inputs
from pyunitok.corpus.reading import Reading
from pyunitok.corpus.source import STDIN
from pyunitok.corpus.source import Source as File
from pyunitok.disk.outfile import write_whole
from pyunitok.errors import OptionError
from pyunitok.packed import Packed
from pyunitok.tokenizer import Tokenizer
from pyunitok.train import bytepiece_job, greedy_job, greedy_text, modelfile, normalization
from pyunitok.train.checkpoint import Checkpoint, description
from pyunitok.train.greedy_job import GreedyOptions
from pyunitok.train.lines import Batch
from pyunitok.train.sentencepiece import Job, silent
from pyunitok.train.sources import Batches, Corpus, Source
from pyunitok.train.specs import MODEL_TYPES, Specs
from pyunitok.train.trained import Clock, Progress, Rows, Trained
from pyunitok.train.unigram import UnigramOptions
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED

TEXTS_AT_ONCE = 256
KINDS = (*MODEL_TYPES, "longest", "bytepiece")
TYPES = {
    NORMAL: "learned", UNKNOWN: "unknown", CONTROL: "control", USER_DEFINED: "user-defined", UNUSED: "unused",
    BYTE: "byte",
}  # fmt: skip
Texts = str | os.PathLike[str] | Iterable[str | bytes | os.PathLike[str]]
_OWN = set(UnigramOptions.__dataclass_fields__) - {"threads", "shrinking_factor"}
_CHOICES = {
    "em": ("expectation", "viterbi"), "prior": ("digamma", "mle"),
    "prune": ("loss", "probability", "frequency", "sparse"), "objective": ("likelihood", "tokens"),
}  # fmt: skip


def train(texts: Texts, *, kind: str, vocab_size: int | Sequence[int], **options: Any) -> Tokenizer:
    """Train a model and return it; out= also saves it.

    texts        a path, a list of paths (files, folders, patterns, URLs: as `pyunitok tokenize` takes them), or any
                 other iterable of str or bytes, which is read once
    kind         "unigram", "bpe", "char", "word", "longest" or "bytepiece"
    vocab_size   bytepiece: also several; OUT.SIZE is written of each, and the largest is returned
    out          NAME.model, a SentencePiece model; NAME.vocab is written beside it. longest: a native model, or RWKV's
                 text where the name ends in .txt. bytepiece: its own format
    compat       "sentencepiece": the model that sentencepiece 0.2.3 makes with num_threads=1, byte for byte;
                 "bytepiece": that of bytepiece 0.6.3
    threads      cores to use; all of them by default
    max_memory   bytes for counting; beyond, counts are spilled to disk. longest: twice the text that is trained on
    separator, text_key, input_format    how files are read: see Reading
    em, prior, prune, objective, em_iterations, em_tolerance, max_rounds    see UnigramOptions
    min_frequency, initial_alphabet, split_by, seed    see `pyunitok train unigram --help`
    checkpoint   a folder for what each phase gives, so that a training that is stopped and started again resumes;
                 it is removed in the end. Other options or changed inputs are refused
    progress     called with (phase, done, of how many)
    …            any option of spm_train, by its name there; for longest those of GreedyOptions, for bytepiece those of
                 pyunitok.train.bytepiece.Options
    """
    return run(texts, kind=kind, vocab_size=vocab_size, **options).tokenizer


def run(
    texts: Texts, *, kind: str, vocab_size: int | Sequence[int], out: str | os.PathLike[str] | None = None,
    threads: int | None = None, max_memory: int = 0, separator: bytes | None = None, text_key: str = "text",
    input_format: str = "auto", progress: Progress = silent,
    checkpoint: str | os.PathLike[str] | None = None, **options: Any,
) -> Trained:  # fmt: skip
    """Like train(), with what the summary of the command says."""
    if kind not in KINDS:
        raise OptionError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    reading = Reading([], separator=separator, text_key=text_key, threads=threads or available_cores())
    paths = _paths(texts)
    if checkpoint is not None and (not isinstance(paths, list) or STDIN in paths):
        raise OptionError("a checkpoint is for texts in files: stdin and iterators can be read only once")
    asked = {**options, "separator": separator, "text_key": text_key, "input_format": input_format}
    if kind == "bytepiece":
        texts_in = inputs.find(paths, input_format=input_format, text_key=text_key) if isinstance(paths, list) else None
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
        if unknown := sorted(options.keys() - GreedyOptions.__dataclass_fields__):
            raise OptionError(f"there is no option {unknown[0]} for greedy vocabularies")
        own = GreedyOptions(**options)
        files = greedy_text.files_of(paths, own.weights, input_format, text_key) if isinstance(paths, list) else None
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
    sources = None
    if isinstance(paths, list):
        sources = inputs.find(paths, input_format=input_format, text_key=text_key)
    with _checkpoint(checkpoint, kind, vocab_size, sources, asked) as kept:
        job = _job(kind, vocab_size, reading.threads, max_memory=max_memory, **options)
        job.checkpoint = kept
        if kept is not None:
            job.folder = job.folder or kept.folder
        source: Source = Batches(_batches(paths), whole=False)
        if sources is not None:
            source = Corpus(replace(reading, sources=sources), hold=not job.compat)
        trained = _run(job, source, out, progress)
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


def _run(job: Job, source: Source, out: str | os.PathLike[str] | None, progress: Progress) -> Trained:
    job.progress = clock = Clock(progress)
    proto = job.run(source)
    tokenizer = _save(proto, out)
    clock.end()
    normalizer = normalization.normalizer(job.specs)
    learned = [piece.piece for piece in proto.pieces if piece.type in (NORMAL, USER_DEFINED)]
    types = {name: sum(piece.type == number for piece in proto.pieces) for number, name in TYPES.items()}
    return Trained(
        tokenizer, learned, types, _notes(job), clock.phases(), job.sizes, job.stats.n_bytes, source.sample,
        isinstance(source, Corpus) and source.hold, proto, job, normalizer.normalize,
    )  # fmt: skip


def _job(
    kind: str, vocab_size: int, threads: int, *, max_memory: int, compat: str | None = None, min_frequency: int = 1,
    initial_alphabet: str = "", split_by: str = "space", seed: int = 0, folder: Path | None = None, **options: Any,
) -> Job:  # fmt: skip
    if compat not in (None, "sentencepiece"):
        raise OptionError(f"compat must be None or 'sentencepiece', not {compat!r}")
    if split_by not in ("space", "none"):
        raise OptionError(f"split_by must be space or none, not {split_by!r}")
    own = {name: options.pop(name) for name in _OWN & options.keys()}
    specs = Specs.parse({"num_threads": threads, **options, "model_type": kind, "vocab_size": vocab_size})
    if split_by == "none":
        specs.trainer.split_by_whitespace = False
    if initial_alphabet:
        specs.trainer.required_chars += initial_alphabet.encode()
    return Job(
        specs, compat=compat is not None, own=_own_options(own, compat, kind, specs, threads), seed=seed,
        max_memory=max_memory, folder=folder, min_frequency=min_frequency,
    )  # fmt: skip


def _notes(job: Job) -> Rows:
    """Of the text: how much there was, and what was left out."""
    stats = job.stats
    ret = [("text", f"{stats.n_bytes:,} bytes, {stats.n_lines:,} lines")]
    if stats.n_too_long:
        ret.append(("too long", f"{stats.n_too_long:,} lines with {stats.n_too_long_bytes:,} bytes were left out"))
    if stats.n_reserved:
        ret.append(("reserved", f"{stats.n_reserved:,} lines hold U+2585 and were left out"))
    if job.left_out[0]:
        units, n, least = job.left_out
        ret.append(("rare", f"{units:,} words seen fewer than {least} times ({n:,} in all) did not fit --max-memory"))
    return ret


def _own_options(own: dict[str, Any], compat: str | None, kind: str, specs: Specs, threads: int) -> UnigramOptions:
    if own and (compat is not None or kind != "unigram"):
        raise OptionError(f"{min(own)} is for unigram models without compat only")
    for name, value in own.items():
        if name in _CHOICES and value not in _CHOICES[name]:
            raise OptionError(f"{name} must be one of {', '.join(_CHOICES[name])}, not {value!r}")
    own.setdefault("em_iterations", specs.trainer.num_sub_iterations)
    return UnigramOptions(**own, shrinking_factor=specs.trainer.shrinking_factor, threads=threads)


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


def _save(proto: Any, out: str | os.PathLike[str] | None) -> Tokenizer:
    data: bytes = proto.SerializeToString()
    if out is not None:
        path = Path(out)
        write_whole(path.with_suffix(".vocab"), modelfile.vocabulary_text(proto))
        write_whole(path, data)  # last: where it is, all is done
        return Tokenizer.from_file(path)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trained.model")
        path.write_bytes(data)
        return Tokenizer.from_file(path)


