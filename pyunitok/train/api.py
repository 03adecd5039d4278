"""train(): texts in, a Tokenizer out."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyunitok.batch import available_cores
from pyunitok.corpus import inputs
from pyunitok.corpus.reading import Reading
from pyunitok.disk.outfile import write_whole
from pyunitok.errors import OptionError
from pyunitok.packed import Packed
from pyunitok.tokenizer import Tokenizer
from pyunitok.train import modelfile
from pyunitok.train.lines import Batch
from pyunitok.train.sentencepiece import Job, Progress, silent
from pyunitok.train.sources import Batches, Corpus, Source
from pyunitok.train.specs import MODEL_TYPES, Specs
from pyunitok.train.unigram import Round, UnigramOptions

TEXTS_AT_ONCE = 256
Texts = str | os.PathLike[str] | Iterable[str | bytes | os.PathLike[str]]
_OWN = set(UnigramOptions.__dataclass_fields__) - {"threads", "shrinking_factor"}
_CHOICES = {
    "em": ("expectation", "viterbi"), "prior": ("digamma", "mle"), "prune": ("loss", "probability", "frequency"),
    "objective": ("likelihood", "tokens"),
}  # fmt: skip


@dataclass(frozen=True)
class Phase:
    """A stretch of a training; peak_bytes is the process's memory at its highest until then."""

    name: str
    seconds: float
    peak_bytes: int


@dataclass
class Trained:
    """What a training gave: the model, and what there is to say of it."""

    tokenizer: Tokenizer
    proto: Any  # a ModelProto
    job: Job
    phases: list[Phase]
    rounds: list[Round]
    sample: list[bytes]
    is_held_back: bool
    n_sample_bytes: int = field(init=False)
    n_sample_tokens: int = field(init=False)
    n_sample_unknown: int = field(init=False)

    def __post_init__(self) -> None:
        ids = self.tokenizer.encode_batch(self.sample).data
        self.n_sample_bytes, self.n_sample_tokens = sum(map(len, self.sample)), len(ids)
        self.n_sample_unknown = int((ids == self.job.specs.trainer.unk_id).sum())


class _Clock:
    """Notes how long each phase takes, and passes progress on."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._name, self._began = progress, "", time.monotonic()
        self._seconds: dict[str, float] = {}
        self._peaks: dict[str, int] = {}

    def __call__(self, phase: str, done: int, total: int) -> None:
        name = phase.partition(",")[0]
        if name != self._name:
            self.end()
            self._name = name
        self._progress(phase, done, total)

    def end(self) -> None:
        now = time.monotonic()
        if self._name:
            self._seconds[self._name] = self._seconds.get(self._name, 0) + now - self._began
            self._peaks[self._name] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self._began = now

    def phases(self) -> list[Phase]:
        return [Phase(name, seconds, self._peaks[name]) for name, seconds in self._seconds.items()]


def train(texts: Texts, *, kind: str, vocab_size: int, **options: Any) -> Tokenizer:
    """Train a model and return it; out= also saves it.

    texts        a path, a list of paths (files, folders, patterns, URLs: as `pyunitok tokenize` takes them), or any
                 other iterable of str or bytes, which is read once
    kind         "unigram", "bpe", "char" or "word"
    out          NAME.model, a SentencePiece model; NAME.vocab is written beside it
    compat       "sentencepiece": the model that sentencepiece 0.2.3 makes with num_threads=1, byte for byte
    threads      cores to use; all of them by default
    max_memory   bytes for counting; beyond, counts are spilled to disk
    separator, text_key, input_format    how files are read: see Reading
    em, prior, prune, objective, em_iterations, em_tolerance, max_rounds    see UnigramOptions
    min_frequency, initial_alphabet, split_by, seed    see `pyunitok train unigram --help`
    progress     called with (phase, done, of how many)
    …            any option of spm_train, by its name there
    """
    return run(texts, kind=kind, vocab_size=vocab_size, **options).tokenizer


def run(
    texts: Texts, *, kind: str, vocab_size: int, out: str | os.PathLike[str] | None = None, compat: str | None = None,
    threads: int | None = None, max_memory: int = 0, separator: bytes | None = None, text_key: str = "text",
    input_format: str = "auto", min_frequency: int = 1, initial_alphabet: str = "", split_by: str = "space",
    seed: int = 0, progress: Progress = silent, folder: Path | None = None, **options: Any,
) -> Trained:  # fmt: skip
    """Like train(), with what the summary of the command says."""
    if kind not in MODEL_TYPES:
        raise OptionError(f"kind must be one of {', '.join(MODEL_TYPES)}, not {kind!r}")
    if compat not in (None, "sentencepiece"):
        raise OptionError(f"compat must be None or 'sentencepiece', not {compat!r}")
    if split_by not in ("space", "none"):
        raise OptionError(f"split_by must be space or none, not {split_by!r}")
    threads = threads or available_cores()
    own = {name: options.pop(name) for name in _OWN & options.keys()}
    specs = Specs.parse({"num_threads": threads, **options, "model_type": kind, "vocab_size": vocab_size})
    if split_by == "none":
        specs.trainer.split_by_whitespace = False
    if initial_alphabet:
        specs.trainer.required_chars += initial_alphabet.encode()
    job = Job(
        specs, compat=compat is not None, own=_own_options(own, compat, kind, specs, threads), seed=seed,
        max_memory=max_memory, folder=folder, min_frequency=min_frequency,
    )  # fmt: skip
    source = _source(texts, threads, separator, text_key, input_format, hold=not job.compat)
    clock = _Clock(progress)
    job.progress = clock
    proto = job.run(source)
    tokenizer = _save(proto, out)
    clock.end()
    is_held_back = isinstance(source, Corpus) and source.hold
    return Trained(tokenizer, proto, job, clock.phases(), job.rounds, source.sample, is_held_back)


def _own_options(own: dict[str, Any], compat: str | None, kind: str, specs: Specs, threads: int) -> UnigramOptions:
    if own and (compat is not None or kind != "unigram"):
        raise OptionError(f"{min(own)} is for unigram models without compat only")
    for name, value in own.items():
        if name in _CHOICES and value not in _CHOICES[name]:
            raise OptionError(f"{name} must be one of {', '.join(_CHOICES[name])}, not {value!r}")
    own.setdefault("em_iterations", specs.trainer.num_sub_iterations)
    return UnigramOptions(**own, shrinking_factor=specs.trainer.shrinking_factor, threads=threads)


def _source(
    texts: Texts, threads: int, separator: bytes | None, text_key: str, input_format: str, *, hold: bool
) -> Source:
    paths = [texts] if isinstance(texts, str | os.PathLike) else texts
    if isinstance(paths, list | tuple) and all(isinstance(path, str | os.PathLike) for path in paths):
        sources = inputs.find(list(map(os.fspath, paths)), input_format=input_format, text_key=text_key)
        return Corpus(Reading(sources, separator=separator, text_key=text_key, threads=threads), hold=hold)
    return Batches(_batches(paths), whole=False)


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
        write_whole(path, data)
        write_whole(path.with_suffix(".vocab"), modelfile.vocabulary_text(proto))
        return Tokenizer.from_file(path)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trained.model")
        path.write_bytes(data)
        return Tokenizer.from_file(path)


