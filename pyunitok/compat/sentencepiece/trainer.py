"""SentencePieceTrainer trains the same model as sentencepiece 0.2.3 with num_threads=1, byte for byte.

There are two exceptions. First, a shuffled sample (input_sentence_size) is the same in every run, whereas sentencepiece
0.2.3 draws a different sample in every process, regardless of set_random_generator_seed(). Second, if
character_coverage excludes U+2581 (which requires add_dummy_prefix=False), this trainer still splits at spaces, unlike
sentencepiece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyunitok.compat.sentencepiece import normalizer as normalizers
from pyunitok.disk.outfile import write_whole
from pyunitok.errors import TrainingError
from pyunitok.train import lines, modelfile
from pyunitok.train.lines import Batch
from pyunitok.train.sentencepiece import SentencePieceJob
from pyunitok.train.sources import SuppliedBatches
from pyunitok.train.specs import Specs, parse_arguments
from pyunitok.train.trained import silent

_NOT_FLAGS = {
    "sentence_iterator", "sentence_reader", "pretokenizer", "allow_inconsistent_pretokenization", "model_writer",
    "normalizer", "minloglevel",
}  # fmt: skip


class SentencePieceTrainer:
    """A namespace for the static method train()."""

    @staticmethod
    def train(arg: Any = None, logstream: Any = None, **kwargs: Any) -> None:
        """Train a model with the options of spm_train, as a string ("--input=a.txt --model_prefix=m") or keywords.

        input, sentence_iterator   files, or an iterator of str or bytes (sentence_reader is an alias)
        model_prefix, model_writer write PREFIX.model and PREFIX.vocab, or call model_writer.write(bytes)
        pretokenizer               a function that splits each normalized line
        allow_inconsistent_pretokenization   accept parts that differ from the line when joined
        normalizer                 a SentencePieceNormalizer to use instead of the normalization options
        logstream                  a stream that receives one line per phase
        """
        values = parse_arguments(arg) if isinstance(arg, str) else {}
        values.pop("minloglevel", None)
        values.update({name: value for name, value in kwargs.items() if name not in _NOT_FLAGS})
        normalizer = kwargs.get("normalizer")
        specs = Specs.parse(values, normalizer.serialized_normalizer_spec() if normalizer else None)
        items = kwargs.get("sentence_iterator") or kwargs.get("sentence_reader")
        writer = kwargs.get("model_writer")
        _check_ends(specs, items, writer)
        job = SentencePieceJob(
            specs, pretokenizer=kwargs.get("pretokenizer"), rules_folder=normalizers.data_dir(),
            may_differ=bool(kwargs.get("allow_inconsistent_pretokenization")),
            progress=_Log(logstream) if logstream is not None else silent,
        )  # fmt: skip
        proto = job.run(SuppliedBatches(_batches(specs, items), whole=items is not None))
        if writer is not None:
            writer.write(proto.SerializeToString())
            return
        prefix = specs.trainer.model_prefix.decode("utf-8", "surrogateescape")
        write_whole(Path(prefix + ".model"), proto.SerializeToString())
        write_whole(Path(prefix + ".vocab"), modelfile.vocabulary_text(proto))

    Train = train


def _check_ends(specs: Specs, items: Any, writer: Any) -> None:
    if (items is None) == (not specs.trainer.input):
        raise TrainingError("pass either input files or a sentence_iterator")
    if (writer is None) == (not specs.trainer.model_prefix):
        raise TrainingError("pass either a model_prefix or a model_writer")


def _batches(specs: Specs, items: Iterable[str | bytes] | None) -> Iterator[Batch]:
    return lines.from_files(specs.trainer.input) if items is None else lines.from_iterator(items)


class _Log:
    """Writes a line when a phase begins."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._phase = stream, ""

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase != self._phase:
            self._phase = phase
            self._stream.write(f"{phase}\n")
