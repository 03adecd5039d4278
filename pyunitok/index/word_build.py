"""add_words() adds words to an index: a lexicon, and for each shard its words as ids and their suffix array.

    decoded documents ──▶ words ──▶ provisional ids (spilled) ──▶ final ids ──▶ NNNNN.words ──▶ lexicon.words
                            └─▶ dict ──▶ sorted ─────────────────────┘

The suffix arrays of the tokens are not read or changed. lexicon.words is written last; it names the state of the index
and the other files, so that files of different runs are never combined.

    DIR/lexicon.words    text: uint8, the words in UTF-8; offsets: uint64[words + 2]; counts: uint64[words + 1]
    DIR/00000.words      words: uint32[n], the ids of the words of the shard, and a 0 after each document
                         sa: uint32[n], the suffix array of `words`
                         starts: uint32[words + 2]: suffixes starts[w] to starts[w + 1] - 1 begin with word w
                         ends: uint32[documents], the position of the 0 after each document
                         marks, mark_tokens, mark_skips: uint32[m] each: word marks[k] begins mark_skips[k] bytes into
                         token mark_tokens[k] of the shard; every 128th word of a document is marked, except the first

lexicon.py explains the ids of words.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok.corpus.words import word_bounds, words_of
from pyunitok.disk.outfile import OutputLock
from pyunitok.index.columns import write_columns
from pyunitok.index.lexicon import sort_key
from pyunitok.index.manifest import shard_name
from pyunitok.index.opened import Index, open_index
from pyunitok.index.suffix import suffix_array
from pyunitok.index.word_shard import LEXICON, LEXICON_NAME, SHARD, state_of
from pyunitok.tokens.manifest import StrPath

MARK_EVERY = 128  # words
DOCUMENTS = 4096  # documents whose ends are read at a time
SPILL_WORDS = 1 << 20

Array = np.ndarray[Any, Any]


def add_words(
    folder: StrPath, *, model: Any = None, on_progress: Callable[[float], None] = lambda _: None
) -> None:  # fmt: skip
    """Add words to the index in a folder, or update them after more token files have been added.

    model        replaces the model that the token files name
    on_progress  called with the completed share, 0 to 1

    Does nothing if the words are up to date. Takes about 8 bytes on disk per word, and as much memory as the
    words of the largest shard take on disk.
    """
    folder = Path(folder)
    lock = OutputLock(folder / LEXICON_NAME)
    try:
        index = open_index(folder, model=model)
        if not (index.has_words and index.words.is_current):
            _Builder(index, on_progress).run()
    finally:
        lock.release()


class _Builder:
    def __init__(self, index: Index, on_progress: Callable[[float], None]) -> None:
        self._index, self._on_progress = index, on_progress
        self._ids: dict[str, int] = {}  # provisional: in the order of first occurrence, from 1 on
        self._n_done, self._total = 0, 2 * max(1, index.n_tokens)

    def run(self) -> None:
        index, folder = self._index, self._index.folder
        (folder / LEXICON_NAME).unlink(missing_ok=True)  # the lexicon names the files that are about to be replaced
        for stale in folder.glob("*.words"):
            stale.unlink()
        with tempfile.TemporaryFile(dir=folder) as spilled:
            marks = [self._read(number, spilled) for number in range(len(index.shards))]
            words = sorted(self._ids, key=sort_key)
            final = np.zeros(len(words) + 1, np.uint32)
            final[[self._ids[word] for word in words]] = np.arange(1, len(words) + 1, dtype=np.uint32)
            self._ids.clear()
            counts, digests = np.zeros(len(words) + 1, np.uint64), []
            spilled.seek(0)
            for number, (n, columns) in enumerate(marks):
                ids = final[np.fromfile(spilled, np.uint32, n)]
                found = self._write(number, ids, len(words), columns)
                digests.append(found[0])
                counts += found[1]
        data = [word.encode() for word in words]
        offsets = np.cumsum([0, 0, *map(len, data)], dtype=np.uint64)
        columns = {"text": np.frombuffer(b"".join(data), np.uint8), "offsets": offsets, "counts": counts}
        about = {"version": 1, "index": state_of(index.manifest), "shards": digests}
        write_columns(folder / LEXICON_NAME, LEXICON, columns, about)

    def _read(self, number: int, spilled: Any) -> tuple[int, dict[str, Array]]:
        """Spills the provisional ids of a shard. Returns their number and the other columns of the shard."""
        ids, ends, marks = self._ids, list[int](), list[tuple[int, int, int]]()
        n, waiting = 0, array("I")
        for begin, tokens, text in decoded_documents(self._index, number):
            found = words_of(text)
            if len(found) > MARK_EVERY:
                marks += [(n + k, begin + token, skip) for k, token, skip in self._marks(tokens, text)]
            for word in found:
                if word not in ids:
                    ids[word] = len(ids) + 1
            waiting.extend(map(ids.__getitem__, found))
            waiting.append(0)
            if len(waiting) >= SPILL_WORDS:
                waiting.tofile(spilled)
                del waiting[:]
            n += len(found) + 1
            ends.append(n - 1)
            self._n_done += len(tokens) + 1
            if not len(ends) % 256:
                self._on_progress(min(1.0, self._n_done / self._total))
        waiting.tofile(spilled)
        spilled.flush()
        columns = np.array(marks, np.uint32).reshape(-1, 3).T
        names = ("marks", "mark_tokens", "mark_skips")
        return n, {"ends": np.array(ends, np.uint32), **dict(zip(names, columns, strict=True))}

    def _marks(self, tokens: Array, text: bytes) -> Iterator[tuple[int, int, int]]:
        """Yields (word, token, skip) for every MARK_EVERY-th word of a document."""
        begins = word_bounds(text)[MARK_EVERY::MARK_EVERY, 0]
        ends = np.cumsum(self._index.tables.sizes[tokens], dtype=np.int64)
        begins += int(ends[-1]) - len(text)  # skips the space that decoding drops
        at = np.searchsorted(ends, begins, "right")
        skips = begins - ends[at] + self._index.tables.sizes[tokens[at]]
        yield from zip(range(MARK_EVERY, MARK_EVERY * (len(begins) + 1), MARK_EVERY), at.tolist(), skips.tolist(),
                       strict=True)  # fmt: skip

    def _write(self, number: int, ids: Array, n_words: int, columns: dict[str, Array]) -> tuple[str, Array]:
        """Returns the digest of the file and the counts of its words."""
        share = len(self._index.shards[number]) / self._total
        done = 0.5 + sum(len(shard) for shard in self._index.shards[:number]) / self._total
        sa = suffix_array(ids, on_progress=lambda x: self._on_progress(min(1.0, done + share * x)))
        counts = np.bincount(ids, minlength=n_words + 1).astype(np.uint64)
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)
        columns = {"words": ids, "sa": sa.astype(np.uint32, copy=False), "starts": starts, **columns}
        path = self._index.folder / shard_name(number, ".words")
        return write_columns(path, SHARD, columns, {"version": 1}), counts


def decoded_documents(index: Index, number: int) -> Iterator[tuple[int, Array, bytes]]:
    """Yields for each document of a shard its first token, its tokens without the eod, and its decoded text."""
    shard, tables = index.shards[number], index.tables
    decoded = tables.decoded + [b""] * (len(tables.sizes) - len(tables.decoded))
    begin = 0
    for first in range(0, len(shard.ends), DOCUMENTS):
        ends = shard.ends[first : first + DOCUMENTS].astype(np.int64) - shard.begin
        for end in ends.tolist():
            if not begin <= end <= len(shard):
                raise shard.damaged()
            tokens = np.asarray(shard.ids[begin : max(begin, end - (index.eod is not None))])
            text = b"".join(map(decoded.__getitem__, tokens.tolist()))
            if len(tokens) and tables.drops_space[tokens[0]]:
                text = text[1:]
            yield begin, tokens, text
            begin = end

