"""rank_words() ranks the words of a script in a corpus by the tokens that they would save as pieces.

    corpus ─▶ words: characters of one script and one space before them ─▶ counts, spilled to disk beyond max_memory
           ─▶ tokens(word) under the vocabulary ─▶ saved = times * (tokens - 1) ─▶ the n words that save the most

A word ends where the script changes. In Japanese, verbs and adjectives are kanji with endings in hiragana, so kanji
are counted with the hiragana that follow, and divided afterwards: see japanese.py. Savings are measured on isolated
words, although a piece may begin before a word in a text.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.train import Counter, SegmentStats, Units
from pyunitok.corpus.reading import Reading
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.packed import Offsets, Packed
from pyunitok.train.counting import UnitCounter
from pyunitok.train.sources import Corpus, Progress
from pyunitok.vocab import japanese, scripts

MAX_WORD_BYTES = 96  # longer runs are unlikely to be words
MIN_COUNT = 2
CHUNK_WORDS = 1 << 18  # words per call of the encoder


class Word(NamedTuple):
    piece: bytes
    times: int
    saved: int  # the tokens saved in the corpus


class WordFinder:
    """Counts the words of documents for UnitCounter, on one thread."""

    def __init__(self, pattern: Any, counter: Counter) -> None:
        self._pattern, self.counter = pattern, counter

    def add(self, data: np.ndarray[Any, Any], offsets: Offsets) -> None:
        documents = [data[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())]
        text = b"\n".join(documents).decode("utf-8", "replace")
        found = Tally(self._pattern.findall(text, concurrent=True))
        words = [(word.encode(), count) for word, count in found.items()]
        words = [(word, count) for word, count in words if len(word) <= MAX_WORD_BYTES]
        self.counter.add(Units.pack([word for word, _ in words], [count for _, count in words]))

    @property
    def memory_bytes(self) -> int:
        return self.counter.memory_bytes

    def stats(self) -> SegmentStats:
        return SegmentStats()


def rank_words(
    reading: Reading, tokenizer: Tokenizer, script: Sequence[str], n: int, *, max_memory: int = 0,
    folder: Path | None = None, progress: Progress = lambda done, total: None,
) -> list[Word]:  # fmt: skip
    """The n words that save the most, best first; ties are in byte order. A word that is one token saves nothing.

    script      names as in Unicode (Cyrillic, Han, …); "Japanese" is Han, Hiragana and Katakana, with the endings
    max_memory  bytes for counting; further counts are spilled to `folder` (0: no limit)
    """
    pattern = scripts.words(script)
    with UnitCounter(lambda counter: WordFinder(pattern, counter), max_memory, folder) as counter:
        Corpus(reading, hold=False).feed(counter, progress)
        units = counter.finish()
    if scripts.has_japanese(script):
        units = _divided(units)
    best: list[Word] = []
    for begin in range(0, len(units), CHUNK_WORDS):
        best = sorted([*best, *_saving(units, begin, tokenizer)], key=lambda word: (-word.saved, word.piece))[:n]
    return best


def _divided(units: Units) -> Units:
    """Divide runs of Japanese into words; keep other words."""
    if len(units) > japanese.MAX_RUNS:
        units = units.take(np.argsort(-units.counts.astype(np.int64), kind="stable")[: japanese.MAX_RUNS])
    runs = zip((item.decode() for item in units.items()), units.counts.tolist(), strict=True)
    words = Tally[str]()
    for word, times in japanese.divide(runs):
        words[word] += times
    ordered = sorted((word.encode(), times) for word, times in words.items())
    return Units.pack([word for word, _ in ordered], [times for _, times in ordered])


def _saving(units: Units, begin: int, tokenizer: Tokenizer) -> list[Word]:
    """The words in a chunk that would save tokens."""
    offsets = units.offsets[begin : begin + CHUNK_WORDS + 1]
    counts = units.counts[begin : begin + CHUNK_WORDS].astype(np.int64)
    n_tokens = np.diff(tokenizer.encode_batch(Packed(units.data, offsets)).offsets)
    chosen = np.flatnonzero((n_tokens > 1) & (counts >= MIN_COUNT))
    saved = counts * (n_tokens - 1)
    return [
        Word(units.data[offsets[i] : offsets[i + 1]].tobytes(), int(counts[i]), int(saved[i])) for i in chosen.tolist()
    ]
