"""Overlap, longest spans and duplicates of small corpora in several files and shards, compared with brute force."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle import repeats as oracle
from toys import indexes

import pyunitok
from pyunitok import Tokenizer
from pyunitok.corpus.words import word_bounds
from pyunitok.index import duplicates
from pyunitok.index.overlap import UNITS, Unit

pytestmark = pytest.mark.usefixtures("both_kinds")

EOD = 300
PIECES = ["ab", "aab", "ba", "b a", " a", "bb", "日", *("日本".encode()[k : k + 1] for k in range(6)), "日本"]
TOKENIZER = Tokenizer.from_pieces(
    list(dict.fromkeys([*(bytes([b]) for b in range(256)), *(p.encode() if isinstance(p, str) else p for p in PIECES)]))
)
IS_INNER = [0x80 <= piece[0] < 0xC0 for piece in TOKENIZER.pieces()]
TEXTS = st.text("ab a日本", max_size=14) | st.sampled_from(["", "aaaaaaaaa", "abababab", "日日日日"])

@dataclass
class Corpus:
    """Documents that are divided into files and shards."""

    files: list[list[str]]
    eod: int | None
    order: str
    documents_per_shard: int

    @property
    def ids(self) -> list[list[int]]:
        return indexes.encode(TOKENIZER, [text.encode() for file in self.files for text in file])

    @property
    def documents(self) -> list[bytes]:
        return [text.encode() for file in self.files for text in file]

    @contextmanager
    def indexed(self) -> Iterator[tuple[Any, Path]]:
        """An index of the corpus, and its folder."""
        with tempfile.TemporaryDirectory() as name:
            encoded = [indexes.encode(TOKENIZER, [text.encode() for text in file]) for file in self.files]
            yield indexes.make(
                Path(name), TOKENIZER, encoded, eod=self.eod, order=self.order, left=False,
                documents_per_shard=self.documents_per_shard,
            ), Path(name)  # fmt: skip

# Queries may contain invalid UTF-8 and begin inside a character.
QUERIES = TEXTS.map(str.encode) | st.just(b"a\xffb") | st.builds(
    lambda text, k: text.encode()[k:], TEXTS, st.integers(0, 3)
)  # fmt: skip


def units_of(text: bytes, unit: str) -> list[tuple[int, int]]:
    """The (begin, end) of the units, in bytes."""
    if unit == "tokens":
        return [tuple(span) for span in TOKENIZER.encode_with_offsets(text)[1].tolist()]
    characters = list(text) if unit == "bytes" else text.decode("utf-8", "surrogateescape")
    sizes = [1 if unit == "bytes" else len(c.encode("utf-8", "surrogateescape")) for c in characters]
    places = list(accumulate(sizes, initial=0))
    if unit == "words":
        return [(places[begin], places[end]) for begin, end in oracle.words(text.decode("utf-8", "surrogateescape"))]
    return list(pairwise(places))

def corpora(*eods: int | None) -> st.SearchStrategy[Corpus]:
    files = st.lists(st.lists(TEXTS, max_size=5), min_size=1, max_size=3)
    return st.builds(Corpus, files, st.sampled_from(eods), st.sampled_from(["id", "bytes"]), st.integers(1, 4))

@fewer(2)
@given(corpora(EOD, None), st.lists(QUERIES, max_size=4), st.integers(1, 5), st.sampled_from(UNITS))
def test_overlap_matches_every_window(corpus: Corpus, texts: list[bytes], n: int, unit: Unit) -> None:
    with corpus.indexed() as (index, _):
        found = index.overlap(texts, n, unit)
    for k, text in enumerate(texts):
        units = units_of(text, unit)
        part = slice(int(found.offsets[k]), int(found.offsets[k + 1]))
        expected, share = oracle.overlap(corpus.documents, text, units, n)
        assert (found.counts[part].tolist(), found.share[k]) == (expected, share)
        assert found.is_short[k] == (len(units) < n) and found.hits()[k] == sum(map(bool, expected))
        windows = list(zip(found.begins[part].tolist(), found.ends[part].tolist(), strict=True))
        assert windows == [(units[i][0], units[i + n - 1][1]) for i in range(len(expected))]
        assert (found.documents[k] >= 0) == any(expected)
        if any(expected):
            begin, end = windows[expected.index(max(expected))]
            assert text[begin:end] in corpus.documents[found.documents[k]]

@fewer(2)
@given(corpora(EOD, None), QUERIES, QUERIES, st.integers(1, 9), st.none() | st.integers(1, 3), st.booleans())
def test_spans_are_the_longest(
    corpus: Corpus, text: bytes, more: bytes, min_bytes: int, max_count: int | None, whole_words: bool
) -> None:
    text += more
    units = units_of(text, "words" if whole_words else "characters")
    expected = oracle.longest_spans(corpus.documents, text, units, min_bytes)
    with corpus.indexed() as (index, _):
        found = index.spans(text, min_bytes, max_count, whole_words=whole_words)
    spans = list(zip(found.begins.tolist(), found.ends.tolist(), found.counts.tolist(), strict=True))
    assert spans == [span for span in expected if max_count is None or span[2] <= max_count]
    for begin, end, document in zip(found.begins, found.ends, found.documents, strict=True):
        assert found.text[begin:end] in corpus.documents[document]

@given(st.text(max_size=12) | st.text("aé日カ々ーｶﾞ\u0301กะກາខ្មကု3½_ -", max_size=12))
def test_words_are_runs_of_letters_marks_and_digits(text: str) -> None:
    places = [len(text[:k].encode("utf-8", "surrogatepass")) for k in range(len(text) + 1)]
    expected = [[places[begin], places[end]] for begin, end in oracle.words(text)]
    assert word_bounds(text.encode()).tolist() == expected

@fewer(2)
@given(corpora(EOD, None), st.integers(1, 5))
def test_repeated_spans_match_every_window(corpus: Corpus, n: int) -> None:
    documents = corpus.ids
    places = {where for starts in oracle.windows(documents, n).values() if len(starts) > 1 for where in starts}
    with corpus.indexed() as (index, _):
        found = [record for spans in duplicates.repeated_spans(index, n) for record in spans.records()]
    assert [(r["document"], *r["tokens"]) for r in found] == oracle.joined(sorted(places), n)
    for record in found:
        ids, (begin, end) = documents[record["document"]], record["tokens"]
        assert record["bytes"] == [len(TOKENIZER.decode_bytes(ids[:k])) for k in (begin, end)]
        windows = [ids[i : i + n] for i in range(begin, end - n + 1)]
        assert record["occurrences"] == max(oracle.count(documents, window) for window in windows)
        later = [(d, i) for d, i in oracle.later_starts(documents, n) if d == record["document"]]
        inside = {i + j for _, i in later if begin <= i and i + n <= end for j in range(n)}
        assert record["later_tokens"] == len(inside)

@fewer(2)
@given(corpora(EOD, None), st.integers(1, 5))
def test_the_first_occurrence_of_every_window_is_kept(corpus: Corpus, n: int) -> None:
    documents = corpus.ids
    expected = oracle.without_repeats(documents, n, IS_INNER)
    with corpus.indexed() as (index, folder):
        manifest, gone = duplicates.drop_repeats(index, folder / "out.u16", n)
        left = pyunitok.open(folder / "out.u16")
        left._tokenizer = TOKENIZER
        tail = [] if corpus.eod is None else [corpus.eod]
        assert [ids.tolist() for ids in left] == [[*ids, *tail] for ids in expected]
        assert gone == sum(map(len, documents)) - sum(map(len, expected)) == index.n_tokens - manifest.tokens
        for document in range(len(left)):
            left.text(document)  # raises UnicodeDecodeError if a character is cut
