"""Training a SentencePiece model from texts to a file: options, where texts come from, what there is to say of it."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyunitok.corpus.reading import Reading
from pyunitok.corpus.source import Source as File
from pyunitok.errors import OptionError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Packed
from pyunitok.train import byte_level, modelfile, normalization
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.lines import Batch
from pyunitok.train.result import Record, write_models
from pyunitok.train.sentencepiece import Job
from pyunitok.train.sources import Batches, Corpus, Source
from pyunitok.train.specs import Specs
from pyunitok.train.trained import Clock, Progress, Rows, Trained
from pyunitok.train.unigram import UnigramOptions
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED

TYPES = {
    NORMAL: "learned", UNKNOWN: "unknown", CONTROL: "control", USER_DEFINED: "user-defined", UNUSED: "unused",
    BYTE: "byte",
}  # fmt: skip
_OWN = set(UnigramOptions.__dataclass_fields__) - {"threads", "shrinking_factor"}
_CHOICES = {
    "em": ("expectation", "viterbi"), "prior": ("digamma", "mle"),
    "prune": ("loss", "probability", "frequency", "sparse"), "objective": ("likelihood", "tokens"),
}  # fmt: skip


def run(
    texts: list[File] | Iterator[Batch], kind: str, vocab_size: int, reading: Reading, *,
    out: str | os.PathLike[str] | None, max_memory: int, progress: Progress, checkpoint: Checkpoint | None = None,
    **options: Any,
) -> Trained:  # fmt: skip
    """texts: files, or batches. reading: how files are read; its sources are replaced. options: see api.train."""
    job = _job(kind, vocab_size, reading.threads, max_memory=max_memory, **options)
    job.checkpoint = checkpoint
    if checkpoint is not None:
        job.folder = job.folder or checkpoint.folder
    if isinstance(texts, list):
        source: Source = Corpus(replace(reading, sources=texts), hold=not job.compat)
    else:
        source = Batches(texts, whole=False)
    return _train(job, source, out, progress)


def _train(job: Job, source: Source, out: str | os.PathLike[str] | None, progress: Progress) -> Trained:
    job.progress = clock = Clock(progress)
    if job.byte_level:
        return _train_byte_level(job, source, out, clock)
    proto = job.run(source)
    tokenizer = _save(proto, out, _record(job))
    clock.end()
    normalizer = normalization.normalizer(job.specs)
    learned = [piece.piece for piece in proto.pieces if piece.type in (NORMAL, USER_DEFINED)]
    of_type = Counter(piece.type for piece in proto.pieces)
    types = {name: of_type[number] for number, name in TYPES.items()}
    return Trained(
        tokenizer, learned, types, _notes(job), clock.phases(), job.sizes, job.stats.n_bytes, source.sample,
        isinstance(source, Corpus) and source.hold, proto, job, normalizer.normalize,
        first_merges=partial(_first_merges, proto) if job.specs.kind == "bpe" else None,
        n_merges=sum(map(_is_merge, proto.pieces)),
    )  # fmt: skip


def _train_byte_level(job: Job, source: Source, out: str | os.PathLike[str] | None, clock: Clock) -> Trained:
    if out is not None:
        byte_level.format_of(out, job.to)  # raises before the work
    vocabulary = job.run_byte_level(source)
    tokenizer = byte_level.save(vocabulary, out, job.to, _record(job))
    clock.end()
    pieces = [piece.tobytes() for piece in Packed(vocabulary.data, vocabulary.offsets)]
    n_control = len(byte_level.controls(job.specs))
    learned = pieces[n_control + 256 :]
    types = {"learned": len(learned), "byte": 256, "control": n_control}
    held = isinstance(source, Corpus) and source.hold
    return Trained(
        tokenizer, learned, types, _notes(job), clock.phases(), job.sizes, job.stats.n_bytes, source.sample, held,
        job=job, n_merges=len(learned),
        first_merges=partial(byte_level.first_merges, vocabulary, n_control) if job.specs.kind == "bpe" else None,
    )  # fmt: skip


def _job(
    kind: str, vocab_size: int, threads: int, *, max_memory: int, compat: str | None = None, min_frequency: int = 1,
    initial_alphabet: str = "", split_by: str = "space", seed: int = 0, folder: Path | None = None,
    byte_level: bool = False, to: str | None = None, settings: Mapping[str, Any], **options: Any,
) -> Job:  # fmt: skip
    if compat not in (None, "sentencepiece"):
        raise OptionError(f"compat must be None or 'sentencepiece', not {compat!r}")
    if byte_level and compat:
        raise OptionError("byte_level is ours: there is no compatible model with it")
    if to is not None and not byte_level:
        raise OptionError("to is for byte-level models: others are SentencePiece models")
    if split_by not in ("space", "none"):
        raise OptionError(f"split_by must be space or none, not {split_by!r}")
    own = {name: options.pop(name) for name in _OWN & options.keys()}
    specs = Specs.parse({"num_threads": threads, **options, **settings, "model_type": kind, "vocab_size": vocab_size})
    if split_by == "none":
        specs.trainer.split_by_whitespace = False
    if initial_alphabet:
        specs.trainer.required_chars += initial_alphabet.encode()
    return Job(
        specs, compat=compat is not None, own=_own_options(own, compat, kind, specs, threads), seed=seed,
        max_memory=max_memory, folder=folder, min_frequency=min_frequency, byte_level=byte_level, to=to,
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


def _record(job: Job) -> Record | None:
    return None if job.checkpoint is None else job.checkpoint.record


def _is_merge(piece: Any) -> bool:
    return piece.type == NORMAL and len(piece.piece.decode()) > 1


def _first_merges(proto: Any, n_merges: int) -> Tokenizer:
    """The BPE model after its first n_merges merges."""
    smaller = type(proto)()
    smaller.CopyFrom(proto)
    later = [k for k, piece in enumerate(proto.pieces) if _is_merge(piece)][n_merges:]
    for k in reversed(later):
        del smaller.pieces[k]
    return _save(smaller, None)


def _save(proto: Any, out: str | os.PathLike[str] | None, record: Record | None = None) -> Tokenizer:
    data: bytes = proto.SerializeToString()
    if out is not None:
        path = Path(out)
        write_models({path.with_suffix(".vocab"): modelfile.vocabulary_text(proto), path: data}, record)
        return Tokenizer.from_file(path)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trained.model")
        path.write_bytes(data)
        return Tokenizer.from_file(path)
