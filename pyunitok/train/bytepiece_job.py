"""`train bytepiece`: its options, a file for each size, and the statistics of the largest model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyunitok.model.tokenizer import from_vocabulary
from pyunitok.train import bytepiece, options
from pyunitok.train.bytepiece import BytePieceJob, BytePieceOptions
from pyunitok.train.options import Option
from pyunitok.train.result import write_models
from pyunitok.train.trained import MeasuredSize, Trained
from pyunitok.train.trainer import Trainer, Training
from pyunitok.vocab import bytepiece as format_
from pyunitok.vocab import nfc

COMPAT = Option("compat", "Produce exactly the same model as bytepiece 0.6.3.", ("bytepiece",))


def _files(out: Path, sizes: tuple[int, ...], given: Mapping[str, Any]) -> list[Path]:
    """OUT or, if there are several sizes, OUT.SIZE for each, as in bytepiece."""
    return [out] if len(sizes) == 1 else [Path(f"{out}.{size}") for size in sizes]


def _run(training: Training, given: dict[str, Any]) -> Trained:
    compat = given.pop("compat", None)
    COMPAT.check(compat)
    given |= {"max_vocab_size": training.sizes, "compat": compat is not None}
    chosen = options.read(BytePieceOptions, given, "bytepiece")
    job = BytePieceJob(
        chosen, training.reading.options.n_threads, training.max_memory, training.clock, training.checkpoint
    )
    source = training.source(hold=not chosen.compat, split=nfc.split)
    models = job.run(source)
    training.clock("save", 0, 0)
    entries = [bytepiece.entries(bytepiece.counts_of(model)) for model in models]
    paths = [] if training.out is None else _files(training.out, training.sizes, given)
    files = {path: format_.write(model) for path, model in zip(paths, entries, strict=False)}
    write_models(files, training.checkpoint.record)
    path = str(paths[0]) if paths else None
    vocabulary = format_.vocabulary_of(entries[0], path or "trained.model")
    pieces = [piece for piece in models[0].items() if len(piece) > 1]
    return training.trained(
        from_vocabulary(vocabulary, path=path), pieces,
        {"learned": len(pieces), "byte": 256, "control": bytepiece.N_SPECIAL},
        [("text", f"{job.stats.n_bytes:,} bytes")], [MeasuredSize(*size) for size in job.sizes], job.stats.n_bytes,
        source,
    )  # fmt: skip


TRAINER = Trainer(
    "bytepiece", """Train a BytePiece model.

    A model of byte n-grams finds the pieces. The texts are read twice, so stdin and pipes are copied to a temporary
    file.

    \b
    Example:
      pyunitok train bytepiece corpus.jsonl.zst -o zh.model --vocab-size 32000
      pyunitok train bytepiece wiki/ -o wiki.model --vocab-size 80000 --also-size 40000 --min-count 32
    """, [COMPAT, *options.options_of(BytePieceOptions)], _run, _files,
    out_help="The model, or with --also-size the prefix of NAME.SIZE.", takes_sizes=True,
)  # fmt: skip
