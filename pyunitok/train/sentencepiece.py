"""Trains SentencePiece models as sentencepiece 0.2.3 does, from batches of lines to a ModelProto.

    lines ──count──▶ units ──alphabet, fold──▶ units ──the kind's trainer──▶ pieces ──assemble──▶ ModelProto
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok._c import train as c_train
from pyunitok._c.train import Counter, Rules, Segmenter, SegmentStats, Units
from pyunitok._c.train_lexicon import Floats, Numbers
from pyunitok.errors import ModelFormatError, TrainingError
from pyunitok.train import alphabet as alphabets
from pyunitok.train import byte_level, checks, lines, merging, modelfile, normalization, seeding, unigram, unigram_exact
from pyunitok.train.alphabet import Alphabet
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.counting import UnitCounter
from pyunitok.train.modelfile import Piece
from pyunitok.train.pretokenize import Pretokenizer, normalized
from pyunitok.train.sources import SuppliedBatches, TextSource
from pyunitok.train.specs import Specs
from pyunitok.train.trained import MeasuredSize, Progress, silent
from pyunitok.train.unigram import PruningRound, UnigramOptions, UnigramState, UnigramTrainer
from pyunitok.train.unigram_exact import ExactState
from pyunitok.vocab.vocabulary import Vocabulary

MAX_LINE_BYTES = (1 << 28) - 1


def _relax(spec: Any) -> None:
    """Change the defaults for training without `compat`: lines may have any length, and a text with too few pieces
    yields a smaller model."""
    if not spec.HasField("max_sentence_length"):
        spec.max_sentence_length = MAX_LINE_BYTES
    if not spec.HasField("hard_vocab_limit"):
        spec.hard_vocab_limit = False


@dataclass
class SentencePieceJob:
    """One training run.

    compat         train the same model as sentencepiece 0.2.3 with num_threads=1
    pretokenizer   cuts each normalized line; may_differ: its parts may differ from the line
    own            options for training a Unigram model without `compat`
    min_frequency  ignore units that occur less often
    max_memory     bytes for counting; 0: no limit. Ignored for Unigram models with `compat`
    seed           the seed for sampling input_sentence_size lines
    checkpoint     saves the result of each phase, or supplies that of an earlier run
    byte_level     train a model whose symbols are bytes, by run_byte_level(); not with `compat`
    rules_folder   the folder of named normalization rules; None: the rules in this package
    """

    specs: Specs
    compat: bool = True
    pretokenizer: Pretokenizer | None = None
    may_differ: bool = False
    own: UnigramOptions = field(default_factory=UnigramOptions)
    min_frequency: int = 1
    max_memory: int = 0
    seed: int = 0
    rules_folder: Path | None = None
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    byte_level: bool = False
    progress: Progress = silent
    stats: SegmentStats = field(default_factory=SegmentStats)
    rounds: list[PruningRound] = field(default_factory=list)
    sizes: list[MeasuredSize] = field(default_factory=list)
    left_out: tuple[int, int, int] = (0, 0, 1)  # see UnitCounter.finish: units, their occurrences, min_count

    def run(self, source: TextSource) -> Any:
        """Train a model, and return its ModelProto."""
        specs = self.specs
        if not self.compat:
            _relax(specs.trainer)
        sparse = not self.compat and self.own.prune == "sparse"
        checks.check(specs, has_pretokenizer=self.pretokenizer is not None, auto_coverage_in_unigram=sparse)
        normalization.complete(specs, self.rules_folder)
        meta = checks.MetaPieces(specs)
        units = self._counted(source, meta.symbols())
        by_char = c_train.count_chars(units, self.own.threads)
        # With auto_character_coverage, if all lines are white space, sentencepiece trains a model of bytes alone.
        chosen = alphabets.choose(by_char, specs.trainer, may_be_empty=self.compat and self.stats.n_lines > 0)
        if specs.kind.is_subword:
            alphabets.check_capacity(chosen, len(meta), specs.trainer)
        n_pieces = specs.trainer.vocab_size - len(meta)
        counted = [units]
        del units
        pieces = getattr(self, f"_{specs.kind.name}")(counted, chosen, n_pieces)
        if specs.trainer.use_all_vocab:
            specs.trainer.vocab_size = len(pieces) + len(meta)
        self.progress("save", 0, 0)
        return modelfile.assemble(specs, meta, pieces)

    def run_byte_level(self, source: TextSource) -> Vocabulary:
        """Train a byte-level model, which requires `byte_level`: see byte_level.py."""
        specs, special = self.specs, byte_level.controls(self.specs)
        _relax(specs.trainer)
        byte_level.prepare(specs)
        normalization.complete(specs, self.rules_folder)
        units = byte_level.mapped(self._counted(source, []))
        if not len(units):
            raise TrainingError(
                "there is no text to train on: lines are empty, too long, or contain reserved characters"
            )
        counted, chosen = [units], byte_level.alphabet(units)
        del units
        n_pieces = specs.trainer.vocab_size - len(special)
        if specs.kind.has_merges:
            vocabulary = self._byte_level_bpe(counted, n_pieces - 256, special)
        else:
            vocabulary = byte_level.of_scores(self._own_unigram(counted, chosen, n_pieces), special)
        modelfile.check_size(specs, len(vocabulary.ids))
        self.progress("save", 0, 0)
        return vocabulary

    def _byte_level_bpe(self, counted: list[Units], n_merges: int, special: list[bytes]) -> Vocabulary:
        by_char = c_train.count_chars(counted[0], self.own.threads)
        trainer = merging.merge(
            self.rules(byte_level=True), counted, n_merges, min_count=2, threads=self.own.threads,
            checkpoint=self.checkpoint, progress=lambda done, total: self.progress("merge", done, total),
        )  # fmt: skip
        return byte_level.of_merges(trainer, int(np.count_nonzero(by_char)), special)

    # ------------------------------------------------------------------------------------------------ Counting ----

    def rules(self, *, byte_level: bool = False) -> Rules:
        """The rules for units and pieces. byte_level: the characters of the units stand for bytes."""
        spec = self.specs.trainer
        if self.specs.kind.is_word:
            return Rules({"split_by_whitespace"}, spec.max_sentencepiece_length)
        flags = {
            "split_by_whitespace": spec.split_by_whitespace, "whitespace_as_suffix": spec.treat_whitespace_as_suffix,
            "whitespace_only": spec.allow_whitespace_only_pieces, "split_by_script": spec.split_by_unicode_script,
            "split_by_number": spec.split_by_number, "split_digits": spec.split_digits, "byte_level": byte_level,
        }  # fmt: skip
        return Rules({name for name, on in flags.items() if on}, spec.max_sentencepiece_length)

    def _counted(self, source: TextSource, symbols: list[bytes]) -> Units:
        """The units of all lines, from the checkpoint or the source."""
        if (saved := self.checkpoint.load("counts")) is not None:
            arrays, (stats, left_out) = saved
            self.stats, self.left_out = SegmentStats(**stats), tuple(left_out)
            source.sample += arrays["sample"].items()
            return arrays["units"]  # type: ignore[no-any-return]
        units = self._count(source, symbols)
        sample = Units.pack(source.sample, [0] * len(source.sample))
        self.checkpoint.save("counts", (vars(self.stats), self.left_out), units=units, sample=sample)
        return units

    def _ranked(self, units: Units, by_char: c_train.Counts) -> tuple[Units, Floats, Numbers]:
        """The seeds, from the checkpoint or the units: see seeding.ranked."""
        if (saved := self.checkpoint.load("seeds")) is not None:
            return saved[0]["seeds"], saved[0]["values"], saved[0]["order"]
        seeds, values, order = seeding.ranked(
            self.rules(byte_level=self.byte_level), units, by_char, self.specs.trainer, compat=self.compat,
            threads=self.own.threads, progress=self.progress,
        )  # fmt: skip
        self.checkpoint.save("seeds", seeds=seeds, values=values, order=order)
        return seeds, values, order

    def _count(self, source: TextSource, symbols: list[bytes]) -> Units:
        """The units of all lines."""
        spec, rules, normalizer = self.specs.trainer, self.rules(), normalization.normalizer(self.specs)
        tsv = spec.input_format == b"tsv"
        kind, exact = self.specs.kind, self.compat and self.specs.kind.has_scores
        flags = c_train.TSV * tsv | c_train.CUT * (not kind.is_word and not exact) | c_train.FOLLOWERS * exact
        source = self._sampled(source, tsv)
        delimiter, max_bytes = spec.pretokenization_delimiter, spec.max_sentence_length
        if self.pretokenizer is not None:
            usable = lines.usable(max_bytes, tsv=tsv)
            chosen = (line for line in lines.split(source.batches(), whole=source.whole) if usable(line))
            cut = normalized(chosen, normalizer, symbols, self.pretokenizer, tsv=tsv, may_differ=self.may_differ)
            source = SuppliedBatches(lines.batched(cut), whole=True)
            symbols, delimiter, max_bytes = [], b"", MAX_LINE_BYTES

        def make(counter: Counter) -> Segmenter:
            return Segmenter(
                normalizer if self.pretokenizer is None else None, rules, counter, symbols=symbols,
                flags=flags | c_train.WHOLE * source.whole, max_line_bytes=min(max_bytes, MAX_LINE_BYTES),
                delimiter=delimiter,
            )  # fmt: skip

        try:
            if exact:
                return self._count_in_order(source, make(Counter(ordered=not spec.split_by_whitespace)))
            with UnitCounter(make, self.max_memory, self.checkpoint.folder) as counter:
                source.feed(counter, lambda done, total: self.progress("count", done, total))
                self.stats = counter.stats()
                self.progress("sort", 0, 0)
                units = counter.finish(sort=kind.has_scores)
                self.left_out = counter.left_out
        except ModelFormatError as error:
            raise TrainingError(str(error)) from None
        if self.min_frequency > 1:
            units = units.take(np.flatnonzero(units.counts >= self.min_frequency))
        return units

    def _count_in_order(self, source: TextSource, segmenter: Segmenter) -> Units:
        """Count in one thread, because sentencepiece's seeds depend on the order of units."""
        n_bytes = 0
        for data, offsets in source.batches():
            segmenter.add(data, offsets)
            n_bytes += int(offsets[-1] - offsets[0])
            self.progress("count", n_bytes, 0)
        segmenter.finish()
        self.stats = segmenter.stats()
        return segmenter.counter.export()

    def _sampled(self, source: TextSource, tsv: bool) -> TextSource:
        spec = self.specs.trainer
        n = spec.input_sentence_size
        if not n:
            return source
        test = lines.usable(spec.max_sentence_length, tsv=tsv)
        every = lines.split(source.batches(), whole=source.whole)
        shuffled = spec.shuffle_input_sentence
        chosen = lines.sample(every, n, self.seed, test) if shuffled else islice(filter(test, every), n)
        return SuppliedBatches(lines.from_iterator(chosen), whole=True)

    # ------------------------------------------------------------------------------------------------ Trainers ----

    # `counted` is a list whose only item is the units: a trainer pops it, so that it can free their memory.

    def _fold(self, counted: list[Units], chosen: Alphabet, how: int, *, ordered: bool = False) -> Units:
        """The units with unknown characters folded; sorted by bytes unless ordered. Empties the list."""
        if how == c_train.FOLD_CUT:
            return c_train.fold_sorted(counted.pop(), chosen.keep)
        counter = Counter(ordered=ordered)
        c_train.fold(counted.pop(), chosen.keep, how, counter)
        if not ordered:
            counter.sort()
        return counter.export()

    def _unigram(self, counted: list[Units], chosen: Alphabet, n_pieces: int) -> list[Piece]:
        if not self.compat:
            return self._own_unigram(counted, chosen, n_pieces)
        spec = self.specs.trainer
        ordered = not spec.split_by_whitespace
        followed = self._fold(counted, chosen, c_train.FOLD_WHOLE, ordered=ordered)
        units = self._fold([followed], chosen, c_train.FOLD_STRIP, ordered=ordered)
        seeds, values, order = self._ranked(followed, c_train.count_chars(units))
        del followed
        scores = np.empty(len(values), np.float32)
        scores[order] = unigram_exact.initial_scores(values[order])
        if not ordered:
            units = units.take(np.argsort(-units.counts.astype(np.int64), kind="stable"))
        state = ExactState(seeds, scores, order)
        if (saved := self.checkpoint.load("rounds")) is not None:
            state = ExactState(**saved[0], sizes=saved[1])
        trainer = unigram_exact.ExactTrainer(state, units, self.progress)
        del seeds, values, scores, order, state, units  # so that the trainer can free them
        trainer.train(spec.vocab_size, spec.shrinking_factor, spec.num_sub_iterations, self._after_exact_round)
        return unigram_exact.finalize(trainer.pieces(), trainer.min_score, chosen, n_pieces)

    def _own_unigram(self, counted: list[Units], chosen: Alphabet, n_pieces: int) -> list[Piece]:
        spec = self.specs.trainer
        units = self._fold(counted, chosen, c_train.FOLD_CUT)
        if (saved := self.checkpoint.load("rounds")) is not None:
            rounds, threshold = saved[1]
            state = UnigramState(**saved[0], rounds=[PruningRound(*item) for item in rounds], threshold=threshold)
        else:
            pieces, values, _ = self._ranked(units, c_train.count_chars(units))
            doubles = values.astype(np.float64)
            state = unigram.first_state(pieces, doubles, doubles / seeding.count_chars_of(pieces))
            del pieces, values, doubles
        trainer = UnigramTrainer(state, units, self.own, self.progress)
        trainer.train(spec.vocab_size, self._after_round)
        self.rounds = trainer.state.rounds
        self.sizes = [MeasuredSize(item.n_before, item.n_tokens) for item in self.rounds]
        scores = trainer.state.scores.astype(np.float32)
        names = dict(zip(trainer.state.pieces.items(), scores, strict=True))
        return unigram_exact.finalize(names, scores.min(), chosen, n_pieces)

    def _after_round(self, state: UnigramState) -> None:
        values = [astuple(item) for item in state.rounds], state.threshold
        self.checkpoint.save(
            "rounds", values, pieces=state.pieces, scores=state.scores, seed_counts=state.seed_counts
        )

    def _after_exact_round(self, state: ExactState) -> None:
        self.checkpoint.save("rounds", state.sizes, pieces=state.pieces, scores=state.scores, order=state.order)

    def _bpe(self, counted: list[Units], chosen: Alphabet, n_pieces: int) -> list[Piece]:
        auto = self.specs.trainer.auto_character_coverage
        by_char = c_train.count_chars(counted[0], self.own.threads) if auto else None
        return merging.train(
            self.rules(), counted, n_pieces, chosen, min_count=0 if self.compat else 2, threads=self.own.threads,
            by_char=by_char, checkpoint=self.checkpoint,
            progress=lambda done, total: self.progress("merge", done, total),
        )  # fmt: skip

    def _char(self, counted: list[Units], chosen: Alphabet, n_pieces: int) -> list[Piece]:
        return self._by_share(chosen.pieces(), np.array(list(chosen.required.values()), np.uint64), n_pieces)

    def _word(self, counted: list[Units], chosen: Alphabet, n_pieces: int) -> list[Piece]:
        folded = self._fold(counted, chosen, c_train.FOLD_WHOLE)  # sorted by bytes
        folded = folded.take(np.argsort(-folded.counts.astype(np.int64), kind="stable"))
        return self._by_share(folded.items(), folded.counts, n_pieces)

    def _by_share(self, pieces: list[bytes], counts: c_train.Counts, n_pieces: int) -> list[Piece]:
        """The first n_pieces pieces without unknown characters, each with the logarithm of its share."""
        if n_pieces < 0:
            raise TrainingError(f"vocab_size is {self.specs.trainer.vocab_size}; the symbols alone need more")
        shares = c_train.log_shares(counts, int(counts.sum())).tolist()
        known = [item for item in zip(pieces, shares, strict=True) if lines.RESERVED not in item[0]]
        return known if self.specs.trainer.use_all_vocab else known[:n_pieces]
