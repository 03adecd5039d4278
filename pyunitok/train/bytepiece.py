"""BytePiece: a model of byte n-grams cuts the texts into pieces, and the pieces' counts make a Unigram model.

    texts ──1──▶ n-grams ──▶ model ──2──▶ pieces ──▶ the common ones, into which the others are cut
          (read)                  (read again)          ──▶ those that are used ──▶ the most frequent ──▶ …

With compat the pieces, ids and counts are those of bytepiece 0.6.3. Otherwise a bug is fixed: after a character that is
so rare that the model does not contain its bytes, bytepiece cuts the rest of the line into single bytes. Without
compat, only the character is cut into bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import cast

import numpy as np

from pyunitok._c.sharing import share_out
from pyunitok._c.train import Counter, Counts, SegmentStats, Units, merge
from pyunitok._c.train_lexicon import Lattice, Lexicon
from pyunitok._c.train_ngrams import MAX_ORDER, NgramModel, NgramTable
from pyunitok.errors import NoTextError, OptionError, TrainingError
from pyunitok.packed import Bytes
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.counting import Settled, Store, UnitCounter
from pyunitok.train.ngrams import NgramReader, PieceReader, decimal_digits
from pyunitok.train.options import check, option, options_of
from pyunitok.train.rereading import Rereading
from pyunitok.train.sources import TextSource
from pyunitok.train.trained import Progress, silent
from pyunitok.vocab import bytepiece as format_

N_SPECIAL = len(format_.SPECIAL_PIECES)
MIN_VOCAB_SIZE = N_SPECIAL + 256
MAX_PIECES = (1 << 23) - 2  # the maximum number of pieces that occur min_count times or more: see unitok_lexicon
UNITS_AT_ONCE_BYTES = 1 << 18


@dataclass(frozen=True)
class BytePieceOptions:
    """The options of bytepiece.Trainer, under its names.

    max_vocab_size  the vocabulary size of each model to make, including <pad>, <bos> and <eos>
    compat          produce the same model as bytepiece 0.6.3
    """

    order: int = option(6, "Maximum bytes in an n-gram.", least=1, most=MAX_ORDER)
    max_vocab_size: tuple[int, ...] = (10000,)
    max_piece_length: float = option(36, "In bytes.")
    min_count: int = option(2, "Leave out rarer n-grams and pieces. Use 32 or more for large corpora.")
    isolate_digits: bool = option(False, "Make every digit a separate piece.")
    ensure_unicode: bool = option(True, "No piece begins inside a character.", is_pair=True)
    compat: bool = False

    def __post_init__(self) -> None:
        check(options_of(type(self)), vars(self))
        if not self.max_vocab_size:
            raise OptionError("vocab_size must be a number or a non-empty list of numbers")
        if min(self.max_vocab_size) < MIN_VOCAB_SIZE:
            size = min(self.max_vocab_size)
            raise OptionError(f"vocab_size is {size}; it must be at least {MIN_VOCAB_SIZE}: all bytes are pieces")


@dataclass
class BytePieceJob:
    """One training run.

    max_memory  bytes for counting; 0: no limit
    checkpoint  saves the n-grams and the pieces, or supplies those of an earlier run
    stats       the size of the texts, after counting
    sizes       (number of pieces, number of tokens in all texts) for each intermediate vocabulary
    """

    options: BytePieceOptions
    threads: int = 1
    max_memory: int = 0
    progress: Progress = silent
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    stats: SegmentStats = field(default_factory=SegmentStats)
    sizes: list[tuple[int, int]] = field(default_factory=list)

    def run(self, source: TextSource) -> list[Units]:
        """The pieces of each vocabulary, sorted by bytes; the largest vocabulary first."""
        if (saved := self.checkpoint.load("counts")) is not None:
            arrays, stats = saved
            self.stats = SegmentStats(**stats)
            source.sample += arrays["sample"].items()
            return self._prune(arrays["pieces"])
        pieces = self._pieces(source)
        sample = Units.pack(source.sample, [0] * len(source.sample))
        self.checkpoint.save("counts", vars(self.stats), pieces=pieces, sample=sample)
        return self._prune(pieces)

    def _pieces(self, source: TextSource) -> Units:
        """The common pieces, sorted by bytes. Rare pieces are cut into common ones, which add to their counts."""
        options, is_digit = self.options, decimal_digits() if self.options.isolate_digits else None
        with Rereading(source, self.threads, self.checkpoint.folder) as texts:
            models = [self._model(texts, is_digit)]
            budget = max(self.max_memory - models[0].memory_bytes, self.max_memory // 4)

            def reader(counter: Counter) -> PieceReader:
                return PieceReader(
                    models[0], is_digit, counter, ensure_unicode=options.ensure_unicode, lenient=not options.compat
                )

            with UnitCounter(reader, budget, self.checkpoint.folder) as counter:
                texts.feed(counter, lambda done, total: self.progress("count pieces", done, total))
                models.clear()  # frees its memory for the next phase
                self.progress("sort pieces", 0, 0)
                return self._common(counter.settle())

    def _model(self, texts: Rereading, is_digit: Bytes | None) -> NgramModel:
        if (saved := self.checkpoint.load("ngrams")) is not None:
            arrays, (stats, total) = saved
            self.stats = SegmentStats(**stats)
            return NgramModel.load(self.options.order, arrays, total)
        model = self._counted_model(texts, is_digit)
        self.checkpoint.save("ngrams", (vars(self.stats), model.total), **model.arrays())
        return model

    def _counted_model(self, texts: Rereading, is_digit: Bytes | None) -> NgramModel:
        options, folder = self.options, self.checkpoint.folder
        with UnitCounter(lambda _: NgramReader(options.order, is_digit), self.max_memory, folder) as counter:
            texts.feed(counter, lambda done, total: self.progress("count n-grams", done, total))
            self.stats = counter.stats()
            if self.stats.n_bytes == 0:
                raise NoTextError("there is no text to train on")
            self.progress("sort n-grams", 0, 0)
            ngrams = counter.settle()
            model = self._measured(ngrams, options.min_count)
            if self.max_memory and model.memory_bytes > self.max_memory:
                raise self._too_large(ngrams, model.memory_bytes)
            _scan(model, ngrams)
        model.finish()
        return model

    def _measured(self, ngrams: Settled, min_count: int) -> NgramModel:
        """The model after the first pass over the n-grams, which determines its size."""
        model = NgramModel(self.options.order, min_count)
        _scan(model, ngrams)
        return model

    def _too_large(self, ngrams: Settled, n_bytes: int) -> TrainingError:
        """The error; its message suggests a sufficient min_count if there is one."""
        count, needed, before = max(self.options.min_count, 1), n_bytes, 0
        while needed > self.max_memory and needed != before:
            before, count = needed, 2 * count
            needed = self._measured(ngrams, count).memory_bytes
        enough = f" ({count} is enough)" if needed <= self.max_memory else ""
        return TrainingError(
            f"the n-grams that occur {self.options.min_count} times or more need {n_bytes >> 20} MiB; raise"
            f" --max-memory or --min-count{enough}"
        )

    # -------------------------------------------------------------------------------------------- Pruning ----

    def _common(self, counted: Settled) -> Units:
        options, common = self.options, Store(0)
        for chunk in counted.chunks():
            common.add(chunk.take(np.flatnonzero(self._is_common(chunk))))
        pieces = merge(Units.pack([bytes([byte]) for byte in range(256)], [0] * 256), common.units())
        pieces.counts[pieces.counts == 0] = 1  # bytes that do not occur
        if len(pieces) > MAX_PIECES:
            raise TrainingError(
                f"{len(pieces):,} pieces occur {options.min_count} times or more, but the maximum is {MAX_PIECES:,};"
                " raise --min-count"
            )
        counts = pieces.counts
        counts += self._vocabulary(pieces).recounted(self._rare(chunk) for chunk in counted.chunks())
        return pieces

    def _vocabulary(self, pieces: Units) -> WeightedPieces:
        return WeightedPieces(pieces, self.threads, lambda done, total: self.progress("prune pieces", done, total))

    def _prune(self, pieces: Units) -> list[Units]:
        """Prune the common pieces to each vocabulary size."""
        vocabulary = self._vocabulary(pieces)
        vocabulary.drop_unused()
        self._note(vocabulary)
        ret = []
        for size in sorted(self.options.max_vocab_size, reverse=True):
            vocabulary = vocabulary.limited(size - N_SPECIAL)
            self._note(vocabulary)
            ret.append(vocabulary.pieces())
        return ret

    def _note(self, vocabulary: WeightedPieces) -> None:
        size = int(np.count_nonzero(vocabulary.counts)) + N_SPECIAL, int(vocabulary.counts.sum())
        if size not in self.sizes:
            self.sizes.append(size)

    def _rare(self, pieces: Units) -> Units:
        """The same pieces, with the count of each common piece set to 0."""
        return Units(pieces.data, pieces.offsets, np.where(self._is_common(pieces), 0, pieces.counts).astype(np.uint64))

    def _is_common(self, pieces: Units) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        n_bytes, options = np.diff(pieces.offsets), self.options
        common = (n_bytes <= options.max_piece_length) & (pieces.counts >= max(options.min_count, 0))
        ret: np.ndarray[tuple[int], np.dtype[np.bool_]] = common | (n_bytes == 1)
        return ret


def _scan(model: NgramModel, ngrams: Settled) -> None:
    """Pass all n-grams to the model once."""
    if ngrams.spilled is None:
        model.scan_tables(cast("list[NgramTable]", ngrams.tables))
    else:
        for chunk in ngrams.chunks():
            model.scan(chunk)
    model.end_pass()


class WeightedPieces:
    """Pieces with their counts, the weights of a Unigram model. A count of 0 removes a piece."""

    def __init__(self, pieces: Units, threads: int, progress: Callable[[int, int], None]) -> None:
        self._all, self.counts = pieces, pieces.counts.copy()
        self._threads, self._progress = threads, progress
        self._lexicon = Lexicon(pieces, threads)
        self._lattices = [Lattice() for _ in range(threads)]

    def pieces(self) -> Units:
        """The pieces that are not removed."""
        left = self._all.take(np.flatnonzero(self.counts))
        return Units(left.data, left.offsets, self.counts[self.counts > 0])

    def recounted(self, texts: Iterator[Units]) -> Counts:
        """How often each piece occurs in the best paths of the texts. self.counts does not change."""
        alive = (self.counts > 0).view(np.uint8)
        scores = np.log(np.maximum(self.counts, 1).astype(np.float64)) - np.log(int(self.counts.sum()))
        used = np.zeros((self._threads, len(alive)), np.uint64)
        n_done, n_all = [0] * self._threads, 0

        def parts() -> Iterator[tuple[Units, int, int]]:
            nonlocal n_all
            for units in texts:
                n_all += len(units)
                step = np.arange(0, int(units.offsets[-1]) + UNITS_AT_ONCE_BYTES, UNITS_AT_ONCE_BYTES)
                bounds = np.unique(np.minimum(np.searchsorted(units.offsets, step), len(units))).tolist()
                for begin, end in pairwise(bounds):
                    yield units, begin, end

        def work(thread: int, part: tuple[Units, int, int]) -> None:
            self._lexicon.recount(self._lattices[thread], alive, scores, *part, used[thread])
            n_done[thread] += part[2] - part[1]

        share_out(parts(), self._threads, work, lambda: self._progress(sum(n_done), n_all))
        ret: Counts = used.sum(axis=0, dtype=np.uint64)
        return ret

    def drop_unused(self) -> None:
        """Recount with the pieces as texts until each remaining piece encodes to itself."""
        n_before = -1
        while (n := int(np.count_nonzero(self.counts))) != n_before:
            n_before = n
            self.counts = self.recounted(iter([Units(self._all.data, self._all.offsets, self.counts)]))

    def limited(self, n_pieces: int) -> WeightedPieces:
        """The single bytes and the most frequent other pieces, n_pieces in total. If counts are equal, the longer
        piece is kept, then the first in byte order."""
        pieces = self.pieces()
        if len(pieces) <= n_pieces:
            return self
        n_bytes = np.diff(pieces.offsets)
        order = np.lexsort((-n_bytes, -pieces.counts.astype(np.int64), n_bytes > 1))  # stable
        ret = WeightedPieces(pieces.take(np.sort(order[:n_pieces])), self._threads, self._progress)
        ret.counts += ret.recounted(iter([pieces.take(np.sort(order[n_pieces:]))]))
        ret.drop_unused()
        return ret


def counts_of(pieces: Units) -> dict[bytes, int]:
    return dict(zip(pieces.items(), pieces.counts.tolist(), strict=True))


def entries(counts: Mapping[bytes, int]) -> format_.Entries:
    """piece -> (id, count). Ids follow the length of the pieces, then byte order."""
    ordered = sorted(counts, key=lambda piece: (len(piece), piece))
    return {piece: (i + N_SPECIAL, counts[piece]) for i, piece in enumerate(ordered)}
