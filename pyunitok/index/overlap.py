"""The part of Index that compares texts with the corpus: which of their windows and spans occur in it, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pyunitok.errors import LimitError
from pyunitok.index.hits import Int64s
from pyunitok.index.search import Text
from pyunitok.index.sequences import U16, TokenSearch
from pyunitok.packed import as_bytes

MAX_SPAN = 1 << 20  # tokens


@dataclass
class Overlap:
    """Which windows of n tokens of some texts occur in the corpus.

    n          tokens in a window
    offsets    int64[texts + 1]: the windows of text k are counts[offsets[k]:offsets[k + 1]], the first from its token 0
    counts     int64[windows]: how often each occurs
    documents  int64[windows]: a document of the index that has it; -1 where none has
    covered    float64[texts]: the share of a text's tokens in windows that occur; 0 for shorter texts
    """

    n: int
    offsets: Int64s
    counts: Int64s
    documents: Int64s
    covered: np.ndarray[tuple[int], np.dtype[np.float64]]

    def __len__(self) -> int:
        return len(self.covered)

    def hits(self) -> Int64s:
        """int64[texts]: how many windows of each text occur."""
        found = np.concatenate(([0], np.cumsum(self.counts > 0)))
        ret: Int64s = found[self.offsets[1:]] - found[self.offsets[:-1]]
        return ret


@dataclass
class Spans:
    """The longest parts of a text that occur in the corpus, none within another; int64[n] each.

    begins, ends    in tokens of the text
    byte_begins, byte_ends  in its bytes
    counts          how often each occurs
    documents       a document of the index that has it
    """

    begins: Int64s
    ends: Int64s
    byte_begins: Int64s
    byte_ends: Int64s
    counts: Int64s
    documents: Int64s

    def __len__(self) -> int:
        return len(self.begins)


class Overlaps(TokenSearch):
    """Texts are encoded by the model of the index. Their first and last tokens can differ from those that the same text
    has within a document, so windows at the ends of a text may be missed."""

    def overlap(self, texts: Iterable[Text], n: int = 13) -> Overlap:
        """Which windows of n tokens of each text occur in the corpus, and how often (contamination of a test set). Some
        µs a window and shard."""
        if n < 1:
            raise LimitError(f"a window must have at least one token, not {n}")
        encoded = self.tokenizer.encode_batch([as_bytes(text) for text in texts])
        ids, bounds = encoded.data.astype(np.uint16), encoded.offsets
        n_windows = np.maximum(np.diff(bounds) - n + 1, 0)
        offsets: Int64s = np.concatenate(([0], np.cumsum(n_windows))).astype(np.int64)
        begins = np.arange(offsets[-1]) + np.repeat(bounds[:-1] - offsets[:-1], n_windows)
        counts, documents = self._windows(ids, begins, begins + n)
        marks = np.zeros(len(ids) + 1, np.int64)  # +1 where a window that occurs begins, -1 where one ends
        np.add.at(marks, begins[counts > 0], 1)
        np.add.at(marks, begins[counts > 0] + n, -1)
        inside = np.concatenate(([0], np.cumsum(np.cumsum(marks[:-1]) > 0)))
        sizes = np.diff(bounds)
        covered = (inside[bounds[1:]] - inside[bounds[:-1]]) / np.maximum(sizes, 1)
        return Overlap(n, offsets, counts, documents, covered)

    def spans(self, text: Text, min_tokens: int = 6, max_count: int | None = None) -> Spans:
        """The longest parts of a text, at least min_tokens long and (with max_count) at most so frequent, that occur in
        the corpus; those within a longer one left out. One binary search a token and shard."""
        ids, places = self.tokenizer.encode_with_offsets(as_bytes(text))
        ids = ids.astype(np.uint16)
        lengths = np.zeros(len(ids), np.int64)
        for shard in self.c:
            shard.longest(ids, MAX_SPAN, lengths)
        ends = np.arange(len(ids)) + lengths
        before = np.concatenate(([0], np.maximum.accumulate(ends)))[:-1]
        begins = np.flatnonzero((ends > before) & (lengths >= max(1, min_tokens)))
        ends = ends[begins]
        counts, documents = self._windows(ids, begins, ends)
        if max_count is not None:
            kept = counts <= max_count
            begins, ends, counts, documents = begins[kept], ends[kept], counts[kept], documents[kept]
        byte_begins, byte_ends = places[begins, 0], places[ends - 1, 1]
        return Spans(begins, ends, byte_begins, byte_ends, counts, documents)

    def _windows(self, ids: U16, begins: Int64s, ends: Int64s) -> tuple[Int64s, Int64s]:
        """int64[n] counts of ids[begins[k]:ends[k]], and int64[n] documents that have them, or -1."""
        counts = np.zeros(len(begins), np.int64)
        documents = np.full(len(begins), -1, np.int64)
        for number, shard in enumerate(self.c):
            lo, hi = shard.tokens(ids, begins, ends)
            new = np.flatnonzero((hi > lo) & (documents < 0))
            tokens = self.shards[number].positions(lo[new])
            documents[new] = self._documents_at(number, tokens) + self.first_document(number)
            counts += hi - lo
        return counts, documents

