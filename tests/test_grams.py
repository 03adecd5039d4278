"""Finding n-grams of words, bytes and ids, compared with lists of units."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle import grams as oracle

from pyunitok._c.grams import MAX_LENGTHS, MAX_UNITS, Grams, WordRules
from pyunitok.corpus.words import case_folds, word_bounds, word_classes, word_rules
from pyunitok.packed import Packed

# Few distinct letters, so that n-grams repeat. Includes combining marks, kana, invalid bytes, and case folds that
# change the length.
PIECES = ["a", "b", "A", "ab", "ß", "ss", "SS", "İ", "i̇", "é", "e\u0301", "\u0301", "日", "本", "カ", "ก", "1", "²",
          "-", " ", ", ", "\n", "'", "_", "ﬁ", "fi", "\u1f80", "𐐀", "𐐨"]  # fmt: skip
TEXTS = st.lists(st.sampled_from([piece.encode() for piece in PIECES] + [b"\xff", b"\xe3\x81", b"\xed\xa0\x80"]),
                 max_size=40).map(b"".join)  # fmt: skip


def hits(found: np.ndarray) -> list[tuple[int, ...]]:
    return sorted(tuple(hit) for hit in found.tolist())


def pack(texts: list[bytes]) -> Packed:
    return Packed.from_documents(texts)


@pytest.mark.parametrize("unit", ["words", "bytes"])
@given(items=st.lists(TEXTS, max_size=6), documents=st.lists(TEXTS, max_size=4), data=st.data())
def test_text_like_the_oracle(unit, items, documents, data):
    n = data.draw(st.integers(1, 6))
    min_units = data.draw(st.integers(1, n))
    if items:  # so that there are hits
        documents = [*documents, b" ".join(data.draw(st.lists(st.sampled_from(items), max_size=4)))]
    split = oracle.words if unit == "words" else oracle.characters
    packed, searched = pack(items), pack(documents)
    grams = Grams(packed.data, packed.offsets, n, min_units, word_rules() if unit == "words" else None)
    units = [split(item) for item in items]
    found = oracle.find(units, [split(document) for document in documents], n, min_units)
    assert hits(grams.find(searched.data, searched.offsets)) == sorted(found)
    assert grams.starts.tolist() == np.cumsum([0, *map(len, units)]).tolist()
    places: dict = {}
    repeats = []
    for gram, place in oracle.grams(units, n, min_units):
        if gram in places:
            repeats.append([places[gram], place])
        places.setdefault(gram, place)
    assert grams.n_grams == len(places)
    assert sorted(grams.repeats.tolist()) == sorted(repeats)


@given(st.lists(st.lists(st.integers(0, 3), max_size=12), max_size=5), st.lists(st.integers(0, 3), max_size=60))
def test_ids_like_the_oracle(items, document):
    data = np.array([id_ for item in items for id_ in item], np.uint32) + 70_000
    offsets = np.cumsum([0, *map(len, items)])
    grams = Grams(data, offsets, 4, 3)
    units = [[(id_, k, k + 1) for k, id_ in enumerate(item)] for item in [*items, document]]
    searched = np.array(document, np.uint32) + 70_000
    found = grams.find(searched, np.array([0, len(document)]))
    assert hits(found) == sorted(oracle.find(units[:-1], units[-1:], 4, 3))


@given(TEXTS)
def test_words_are_those_of_the_index(text):
    packed = pack([text])
    grams = Grams(packed.data, packed.offsets, 1, 1, word_rules())
    found = grams.find(packed.data, packed.offsets)
    assert np.stack((found["begin"], found["end"]), 1).tolist() == word_bounds(text).tolist()


def test_characters_are_assigned_where_they_are_sought():
    classes = word_classes()
    for code in [*range(0x40000, 0xE0000), *range(0xE1000, sys.maxunicode + 1)]:
        assert unicodedata.category(chr(code)) in ("Cn", "Co")
    assert not classes[0x40000:0xE0000].any() and not classes[0xE1000:].any()
    assert classes[ord("a")] and classes[0x2A6DF] and classes[0x3134A] and classes[0xE0100]


def test_every_character():
    """Each character by itself, and between two letters, is divided and folded as in the oracle."""
    codes = [code for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    documents = [f"{chr(code)} x{chr(code)}y".encode() for code in codes[::7]]
    packed = pack(documents)
    grams = Grams(packed.data, packed.offsets, 1, 1, word_rules())
    units = [oracle.words(document) for document in documents]
    first: dict = {}
    for gram, place in oracle.grams(units, 1, 1):
        first.setdefault(gram[0], place)
    wanted = [(k, i, begin, end, first[word]) for k, words in enumerate(units)
              for i, (word, begin, end) in enumerate(words)]  # fmt: skip
    assert hits(grams.find(packed.data, packed.offsets)) == wanted


@fewer(10)
@given(st.integers(0, 2**32))
def test_many_grams(seed):
    """Searches for so many n-grams that tags and bits of the filter collide. Nearly every lookup passes the filter,
    either by chance or because the n-gram is in the items."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 40, 30_000).astype(np.uint32)
    grams = Grams(data, np.array([0, len(data)]), 3, 3)
    known: dict = {}
    for place in range(len(data) - 2):
        known.setdefault(tuple(data[place : place + 3].tolist()), place)
    document = rng.integers(0, 40, 5_000).astype(np.uint32)
    wanted = [(0, k, k, k + 3, known[gram]) for k in range(len(document) - 2)
              if (gram := tuple(document[k : k + 3].tolist())) in known]  # fmt: skip
    assert grams.n_grams == len(known)
    assert hits(grams.find(document, np.array([0, len(document)]))) == wanted


def test_long_grams_and_many_hits():
    """Searches for an n-gram longer than the delay of lookups, and finds more hits than the first buffer holds."""
    item = b"".join(b"w%d " % k for k in range(1500))
    packed = pack([item])
    grams = Grams(packed.data, packed.offsets, 1000, 1000, word_rules())
    searched = pack([item.upper() * 4, item[5:]])
    found = grams.find(searched.data, searched.offsets)
    assert len(found) == 4 * 501 + 499  # the second document begins with the third word
    assert found["gram"].tolist() == [*range(501)] * 4 + [*range(2, 501)]


def test_memory_is_16_bytes_per_gram():
    rng = np.random.default_rng(5)
    data = rng.integers(0, 50_000, 1_000_000).astype(np.uint32)
    grams = Grams(data, np.array([0, len(data)]), 13, 13)
    assert grams.n_grams == len(data) - 12
    assert grams.memory_bytes <= 16 * grams.n_grams + 4096


def test_arguments():
    packed = pack([b"a b c"])
    for n, min_units in ((0, 0), (3, 4), (3, 0), (MAX_UNITS + 1, MAX_UNITS), (MAX_LENGTHS + 1, 1)):
        with pytest.raises(ValueError, match=r"range|lengths"):
            Grams(packed.data, packed.offsets, n, min_units, word_rules())
    classes, (folds, longer) = word_classes(), case_folds()
    with pytest.raises(ValueError, match="out of range"):
        WordRules(classes + 1, folds, longer)
    with pytest.raises(ValueError, match="out of range"):
        WordRules(classes, folds, longer[:1])
    with pytest.raises(ValueError, match="not a code point"):
        WordRules(classes, folds, longer + 0x110000)
    grams = Grams(packed.data, packed.offsets, 3, 3, word_rules())
    with pytest.raises(ValueError, match="wrong type"):
        grams.find(np.array([1], np.uint32), np.array([0, 1]))


def test_nothing_to_find():
    empty = pack([])
    grams = Grams(empty.data, empty.offsets, 13, 8, word_rules())
    searched = pack([b"some text", b""])
    assert len(grams.find(searched.data, searched.offsets)) == 0
    short = pack([b"too short", b""])
    grams = Grams(short.data, short.offsets, 13, 8, word_rules())
    assert grams.n_grams == 0
    assert len(grams.find(short.data, short.offsets)) == 0
