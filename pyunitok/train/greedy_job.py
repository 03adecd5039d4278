"""Training a greedy vocabulary from texts to a model: options, text, pieces, ids.

files ──▶ text in memory, weighted ──train_longest──▶ pieces, by bytes ──▶ ids 1, 2, 3, …; 0 ends a document
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pyunitok._c.train import Units
from pyunitok._c.train_greedy import MAX_PIECE_BYTES, GreedyRules
from pyunitok.corpus.reading import Reading
from pyunitok.errors import NoTextError, OptionError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.train import greedy_text, longest
from pyunitok.train.checkpoint import Checkpoint, pack, unpack
from pyunitok.train.greedy_text import Files, Text
from pyunitok.train.lines import Batch
from pyunitok.train.longest import State, Step
from pyunitok.train.result import Record, write_models
from pyunitok.train.sources import Batches, Corpus
from pyunitok.train.trained import Clock, Progress, Size, Trained
from pyunitok.vocab import convert, native
from pyunitok.vocab.vocabulary import Vocabulary

FORMATS = ("native", "rwkv")
MAX_VOCAB_SIZE = 1 << 22
MAX_TEXT_BYTES = 1 << 30
EOD = 0


@dataclass(frozen=True)
class GreedyOptions:
    """How a greedy vocabulary is trained. The command's help says what each option means.

    closed_words, leading_spaces  see GreedyRules
    weights  by input as it was named; equal_bytes: every input counts as if all had the same number of bytes
    to       the format of the file: None goes by its name, RWKV's text for .txt
    """

    split_by: str = "none"
    max_words: int = 4
    split_digits: bool = False
    max_digits: int = 3
    max_piece_bytes: int = 32
    closed_words: bool = False
    leading_spaces: bool = True
    weights: Mapping[str, float] = field(default_factory=dict)
    equal_bytes: bool = False
    min_sources: int = 1
    damping: int = 0
    required: Sequence[str | bytes] = ()
    to: str | None = None
    seed: int = 0

    def rules(self) -> GreedyRules:
        """OptionError names what is wrong."""
        if self.split_by not in ("space", "none"):
            raise OptionError(f"split_by must be space or none, not {self.split_by!r}")
        if self.to not in (None, *FORMATS):
            raise OptionError(f"to must be one of {', '.join(FORMATS)}, not {self.to!r}")
        for name in ("max_words", "max_digits", "max_piece_bytes", "min_sources"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.max_piece_bytes > MAX_PIECE_BYTES:
            raise OptionError(f"max_piece_bytes is {self.max_piece_bytes}; it must be at most {MAX_PIECE_BYTES}")
        words = 1 if self.split_by == "space" else self.max_words
        digits = 1 if self.split_digits else self.max_digits
        run = max(self.max_piece_bytes, GreedyRules().max_run_bytes)
        return GreedyRules(self.max_piece_bytes, run, words, digits, int(self.closed_words), int(self.leading_spaces))


def run(
    texts: Files | Iterator[Batch], vocab_size: int, options: GreedyOptions, reading: Reading,
    *, out: str | os.PathLike[str] | None, max_memory: int, progress: Progress, checkpoint: Checkpoint | None = None,
) -> Trained:  # fmt: skip
    """texts: files and the number of the input of each, or batches. reading: how files are read."""
    rules = options.rules()
    if not 257 + len(options.required) <= vocab_size <= MAX_VOCAB_SIZE:
        raise OptionError(
            f"vocab_size is {vocab_size}; it must be within {257 + len(options.required)}..{MAX_VOCAB_SIZE}: the 256"
            " bytes, the end of documents and the required pieces are part of it"
        )
    clock = Clock(progress)
    text = Text(max_memory // 2 or MAX_TEXT_BYTES, options.seed)
    sample, is_held_back, weights = _read(texts, options, reading, text, clock)
    if not text.n_bytes:
        raise NoTextError("there is no text to train on")
    state, steps = (None, []) if checkpoint is None else _load(checkpoint)

    def after_round(state: State) -> None:
        if checkpoint is not None:
            _store(checkpoint, state, steps)

    pieces = longest.train_longest(
        text.sources(weights, equal=options.equal_bytes, damping=options.damping), vocab_size - 1, rules=rules,
        required=[item.encode() if isinstance(item, str) else item for item in options.required],
        min_sources=options.min_sources, threads=reading.threads, on_step=steps.append, state=state,
        after_round=after_round, progress=clock,
    )  # fmt: skip
    clock("save", 0, 0)
    tokenizer = _save(pieces, out, options.to, None if checkpoint is None else checkpoint.record)
    clock.end()
    notes = [("text", f"{text.n_bytes:,} bytes")]
    if text.n_kept_bytes < text.n_bytes:
        notes.append(("sampled", f"{text.n_kept_bytes:,} bytes of these; --max-memory has room for no more"))
    types = {"learned": len(pieces) - 256, "byte": 256, "end of document": 1}
    sizes = [Size(step.n_pieces + 1, step.n_tokens) for step in steps]
    n_bytes = steps[-1].n_bytes if steps else 0
    learned = [piece for piece in pieces if len(piece) > 1]
    return Trained(tokenizer, learned, types, notes, clock.phases(), sizes, n_bytes, sample, is_held_back)


def _read(
    texts: Files | Iterator[Batch], options: GreedyOptions, reading: Reading, text: Text, clock: Clock,
) -> tuple[list[bytes], bool, list[float]]:  # fmt: skip
    """(the sample, whether it was held back, the weight of each group)."""
    if isinstance(texts, Files):
        corpus = Corpus(replace(reading, sources=texts.sources))
        items = ((texts.groups[block.source], block.data, offsets) for block, offsets in corpus.blocks())
        greedy_text.collect(text, items, lambda done: clock("read", done, 0))
        return corpus.sample, True, [options.weights.get(path, 1.0) for path in texts.arguments]
    if options.weights:
        raise OptionError("weights are for inputs that are files")
    batches = Batches(texts, whole=False)
    greedy_text.collect(text, ((0, *batch) for batch in batches.batches()), lambda done: clock("read", done, 0))
    return batches.sample, False, [1.0]


def _store(checkpoint: Checkpoint, state: State, steps: list[Step]) -> None:
    pieces = sorted(state.pieces)
    arrays = {
        **pack("pieces", Units.pack(pieces, [0] * len(pieces))),
        **pack("dropped", Units.pack(list(state.dropped), list(state.dropped.values()))),
    }
    checkpoint.save("greedy", arrays, [state.phase, state.n_rounds, state.swap, state.n_settled, steps])


def _load(checkpoint: Checkpoint) -> tuple[State | None, list[Step]]:
    saved = checkpoint.load("greedy")
    if saved is None:
        return None, []
    arrays, (phase, n_rounds, swap, n_settled, steps) = saved
    dropped = unpack("dropped", arrays)
    rounds = dict(zip(dropped.items(), dropped.counts.tolist(), strict=True))
    state = State(set(unpack("pieces", arrays).items()), rounds, phase, n_rounds, swap, n_settled)
    return state, [Step(*step) for step in steps]


def _save(
    pieces: list[bytes], out: str | os.PathLike[str] | None, to: str | None, record: Record | None
) -> Tokenizer:
    ids = range(EOD + 1, EOD + 1 + len(pieces))
    tokenizer = Tokenizer.from_pieces(dict(zip(pieces, ids, strict=True)), eod=EOD, name="longest")
    if out is None:
        return tokenizer
    path = Path(out)
    if (to or ("rwkv" if path.suffix == ".txt" else "native")) == "rwkv":
        vocabulary = Vocabulary.pack(pieces, np.array(ids), eod_id=EOD, eod_piece="<eod>", name="longest")
        data: bytes | bytearray = convert.rwkv_text(vocabulary)
    else:
        data = native.write(tokenizer._core.model, tokenizer._core.about)
    write_models({path: data}, record)
    return Tokenizer.from_file(path)
