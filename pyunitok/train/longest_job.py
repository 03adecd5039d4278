"""`train longest`: options, the text in memory, the trainer, and the ids of the pieces.

    files ──▶ text in memory, weighted ──train_longest──▶ pieces, by bytes ──▶ ids 1, 2, 3, …; 0 ends a document
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyunitok._c.train import Units
from pyunitok._c.train_greedy import MAX_PIECE_BYTES, GreedyRules
from pyunitok.errors import NoTextError, OptionError
from pyunitok.model.tokenizer import Tokenizer, from_vocabulary
from pyunitok.packed import Bytes, Offsets, Packed
from pyunitok.train import longest, options
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.longest import LongestState, Step, WeightedText
from pyunitok.train.options import option
from pyunitok.train.sources import Corpus, TextSource
from pyunitok.train.trained import MeasuredSize, Trained
from pyunitok.train.trainer import Trainer, Training
from pyunitok.vocab import native, rwkv
from pyunitok.vocab.vocabulary import Vocabulary

FORMATS = ("native", "rwkv")
MAX_VOCAB_SIZE = 1 << 22
MAX_TEXT_BYTES = 1 << 30
EOD = 0
SOURCE_BYTES = 16 << 20  # the size of a WeightedText, small enough for threads to share a file
MAX_RATIO = 1 << 20  # between the weights of two inputs
Marks = np.ndarray[Any, np.dtype[np.uint64]]


def parse_weight(text: str) -> tuple[str, float]:
    """Parse IN=W into the input and its weight."""
    path, _, number = text.rpartition("=")
    if not path:
        raise ValueError(f"{text!r} is not IN=W; try books/=2")
    return path, float(number)


@dataclass(frozen=True)
class LongestOptions:
    """The options of `train longest`. The name of the file determines the format, unless `to` is given."""

    to: str | None = option(None, "The file's format. Default: rwkv for NAME.txt.", type=FORMATS)
    split_by: str = option("none", "space: pieces contain at most one word.", type=("space", "none"), section="Pieces")
    max_words: int = option(4, "Maximum words in a piece.", least=1, section="Pieces")
    max_piece_bytes: int = option(
        32, "Maximum bytes in a piece; runs of one byte, such as indentation, may have 128.", least=1,
        most=MAX_PIECE_BYTES, section="Pieces",
    )  # fmt: skip
    split_digits: bool = option(False, "Make every digit a separate piece.", section="Pieces")
    max_digits: int = option(3, "Maximum digits in a row.", least=1, section="Pieces")
    closed_words: bool = option(
        False, "Pieces end where a word or number ends, as in unitok-v1. Large vocabularies encode faster.",
        section="Pieces",
    )  # fmt: skip
    leading_spaces: bool = option(
        True, "A space belongs to the word after it: only white-space pieces end with a space.", is_pair=True,
        section="Pieces",
    )  # fmt: skip
    weights: Mapping[str, float] = field(
        default_factory=dict,
        metadata={"option": options.Option(
            "weights", "Count each token of this input W times. May be repeated.", parse_weight, flag="weight",
            metavar="IN=W", collect=dict, section="Weights",
        )},
    )  # fmt: skip
    equal_bytes: bool = option(False, "Weight all inputs as if they had the same number of bytes.", section="Weights")
    damping: int = option(
        0, "Beyond this many repeats within an input, the count of a text grows logarithmically. 0: never.", least=0,
        section="Weights",
    )  # fmt: skip
    seed: int = option(0, "Seed of the sample, if --max-memory requires one.", section="Weights")
    min_sources: int = 1  # this and `required`: see train_longest
    required: Sequence[str | bytes] = ()

    def rules(self) -> GreedyRules:
        words = 1 if self.split_by == "space" else self.max_words
        digits = 1 if self.split_digits else self.max_digits
        run = max(self.max_piece_bytes, GreedyRules().max_run_bytes)
        return GreedyRules(self.max_piece_bytes, run, words, digits, int(self.closed_words), int(self.leading_spaces))


def _run(training: Training, given: dict[str, Any]) -> Trained:
    chosen = options.read(LongestOptions, given, "longest")
    required = [item.encode() if isinstance(item, str) else item for item in chosen.required]
    vocab_size, least = training.sizes[0], 257 + len(required)
    if not least <= vocab_size <= MAX_VOCAB_SIZE:
        raise OptionError(
            f"vocab_size is {vocab_size}; it must be within {least}..{MAX_VOCAB_SIZE}: the 256 bytes, the end of"
            " documents and the required pieces are part of it"
        )
    weights = _weights(training, chosen)
    text, source = SampledText(training.max_memory // 2 or MAX_TEXT_BYTES, chosen.seed), training.source()
    for group, data, offsets in _batches(training, source):
        text.add(group, data, offsets)
        training.clock("read", text.n_bytes, 0)
    if not text.n_bytes:
        raise NoTextError("there is no text to train on")
    state, steps = _load(training.checkpoint)
    pieces = longest.train_longest(
        text.texts(weights, equal=chosen.equal_bytes, damping=chosen.damping), vocab_size - 1, rules=chosen.rules(),
        required=required, min_sources=chosen.min_sources, threads=training.reading.options.n_threads,
        on_step=steps.append, state=state, after_round=lambda state: _store(training.checkpoint, state, steps),
    progress=training.clock, )  # fmt: skip
    training.clock("save", 0, 0)
    tokenizer = _save(pieces, training, chosen.to)
    notes = [("text", f"{text.n_bytes:,} bytes")]
    if text.n_kept_bytes < text.n_bytes:
        notes.append(("sampled", f"{text.n_kept_bytes:,} of these bytes; raise --max-memory for more"))
    return training.trained(
        tokenizer, [piece for piece in pieces if len(piece) > 1],
        {"learned": len(pieces) - 256, "byte": 256, "end of document": 1}, notes,
        [MeasuredSize(step.n_pieces + 1, step.n_tokens) for step in steps], steps[-1].n_bytes if steps else 0, source,
    )  # fmt: skip


def _weights(training: Training, chosen: LongestOptions) -> list[float]:
    """The weight of each input. Raises OptionError if a weight is given for a name that is not an input."""
    if chosen.weights and training.files is None:
        raise OptionError("weights require inputs that are files")
    for name, weight in chosen.weights.items():
        if name not in training.arguments:
            inputs = ", ".join(training.arguments)
            raise OptionError(f"--weight {name}={weight:g}: {name} is not an input; the inputs are {inputs}")
        if not (math.isfinite(weight) and weight > 0):
            raise OptionError(f"the weight of {name} is {weight:g}; it must be above 0")
    return [chosen.weights.get(name, 1.0) for name in training.arguments] or [1.0]


def _batches(training: Training, source: TextSource) -> Iterable[tuple[int, Bytes, Offsets]]:
    """Batches of documents, each with the number of its input."""
    if not isinstance(source, Corpus):
        return ((0, data, offsets) for data, offsets in source.batches())
    groups = [number for number, files in enumerate(training.files or []) for _ in files]
    return ((groups[block.source], block.data, offsets) for block, offsets in source.blocks())


def _store(checkpoint: Checkpoint, state: LongestState, steps: list[Step]) -> None:
    pieces = sorted(state.pieces)
    checkpoint.save(
        "longest", [state.phase, state.n_rounds, state.swap, state.n_settled, steps],
        pieces=Units.pack(pieces, [0] * len(pieces)),
        dropped=Units.pack(list(state.dropped), list(state.dropped.values())),
    )  # fmt: skip


def _load(checkpoint: Checkpoint) -> tuple[LongestState | None, list[Step]]:
    saved = checkpoint.load("longest")
    if saved is None:
        return None, []
    arrays, (phase, n_rounds, swap, n_settled, steps) = saved
    dropped = dict(zip(arrays["dropped"].items(), arrays["dropped"].counts.tolist(), strict=True))
    state = LongestState(set(arrays["pieces"].items()), dropped, phase, n_rounds, swap, n_settled)
    return state, [Step(*step) for step in steps]


def _save(pieces: list[bytes], training: Training, to: str | None) -> Tokenizer:
    ids = np.arange(EOD + 1, EOD + 1 + len(pieces))
    vocabulary = Vocabulary.pack(pieces, ids, eod_id=EOD, eod_piece="<eod>", name="longest")
    if training.out is None:
        return from_vocabulary(vocabulary)
    if (to or ("rwkv" if training.out.suffix == ".txt" else "native")) == "rwkv":
        return training.write({training.out: rwkv.write_text(vocabulary)})
    return training.write({training.out: native.write(vocabulary.build(), vocabulary.about(vocabulary.name))})


# ------------------------------------------------------------------------------------------------------- Text ----


@dataclass
class _Chunk:
    """Documents from one input. marks: the random number of each document."""

    group: int
    data: Bytes
    offsets: Offsets
    marks: Marks

    def below(self, bound: int) -> _Chunk:
        kept = self.marks < np.uint64(bound)
        sizes = np.diff(self.offsets)
        offsets = np.zeros(int(kept.sum()) + 1, np.int64)
        np.cumsum(sizes[kept], out=offsets[1:])
        return _Chunk(self.group, self.data[np.repeat(kept, sizes)], offsets, self.marks[kept])


@dataclass
class SampledText:
    """The text to train on, in memory, in parts of equal size. add() extends it.

    If it exceeds max_bytes, documents are sampled. The sample depends only on the seed, the order of the documents and
    max_bytes: each document gets a random number that depends on the seed and the document's position, and is kept if
    the random number is below a bound, which is halved whenever the text exceeds max_bytes.
    """

    max_bytes: int
    seed: int = 0
    n_bytes: int = 0
    n_documents: int = 0
    n_kept_bytes: int = 0
    _bound: int = 1 << 63
    _chunks: list[_Chunk] = field(default_factory=list)
    _open: list[_Chunk] = field(default_factory=list)
    _open_bytes: int = 0

    def add(self, group: int, data: Bytes, offsets: Offsets) -> None:
        """Add a copy of documents from an input."""
        n = len(offsets) - 1
        marks = _marks(self.seed, self.n_documents, n)
        self.n_documents += n
        self.n_bytes += int(offsets[-1] - offsets[0])
        if self._open and (self._open[0].group != group or self._open_bytes >= SOURCE_BYTES):
            self._close()
        chunk = _Chunk(group, data[offsets[0] : offsets[-1]].copy(), offsets - offsets[0], marks)
        chunk = chunk if self._bound == 1 << 63 else chunk.below(self._bound)
        self._open.append(chunk)
        self._open_bytes += len(chunk.data)
        self.n_kept_bytes += len(chunk.data)
        while self.n_kept_bytes > self.max_bytes:
            self._bound //= 2
            self._chunks = [chunk.below(self._bound) for chunk in self._chunks]
            self._open = [chunk.below(self._bound) for chunk in self._open]
            self._open_bytes = sum(len(chunk.data) for chunk in self._open)
            self.n_kept_bytes = self._open_bytes + sum(len(chunk.data) for chunk in self._chunks)

    def _close(self) -> None:
        sizes = np.concatenate([np.diff(chunk.offsets) for chunk in self._open])
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        data = np.concatenate([chunk.data for chunk in self._open])
        marks = np.concatenate([chunk.marks for chunk in self._open])
        self._chunks.append(_Chunk(self._open[0].group, data, offsets, marks))
        self._open, self._open_bytes = [], 0

    def texts(self, weights: Sequence[float], *, equal: bool, damping: int) -> list[WeightedText]:
        """The complete text. weights: the weight of each input; equal: weight all inputs as if they had the same
        number of bytes; damping: the damping of each WeightedText."""
        if self._open:
            self._close()
        sizes = [0] * len(weights)
        for chunk in self._chunks:
            sizes[chunk.group] += len(chunk.data)
        scaled = [weight / (max(size, 1) if equal else 1) for weight, size in zip(weights, sizes, strict=True)]
        least = min((weight for weight, size in zip(scaled, sizes, strict=True) if size), default=1.0)
        return [
            WeightedText(Packed(chunk.data, chunk.offsets), min(scaled[chunk.group] / least, MAX_RATIO), damping)
            for chunk in self._chunks if len(chunk.data)
        ]  # fmt: skip


def _marks(seed: int, first: int, n: int) -> Marks:
    """Random numbers below 2^63 for documents first..first+n-1: SplitMix64, see csrc/ground/rng.h."""
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + first + 1) & (1 << 64) - 1)
    z = np.arange(n, dtype=np.uint64) + start
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    marks: Marks = (z ^ z >> np.uint64(31)) >> np.uint64(1)
    return marks


TRAINER = Trainer(
    "longest", """Train a greedy vocabulary, such as RWKV World's.

    The encoder always takes the longest piece that matches. Training searches for pieces that then yield few
    tokens. Ids start at 1, in the order of the pieces' bytes; 0 ends a document. The text is kept in memory, in
    up to half of --max-memory; larger texts are sampled.

    \b
    Example:
      pyunitok train longest corpus.jsonl.zst -o world.txt --vocab-size 65536
      pyunitok train longest en/ zh/ -o mix.utk --vocab-size 32000 --equal-bytes --weight zh/=2 --split-digits
      pyunitok train longest corpus/ -o fast.utk --vocab-size 65280 --closed-words
    """, options.options_of(LongestOptions), _run, memory_help="Half of it holds the text; larger texts are sampled.",
    is_sampled=True,
)  # fmt: skip
