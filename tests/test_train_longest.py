"""Training greedy vocabularies: rounds compared with the oracle, the rules, and properties of the result."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from conftest import fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import greedy as oracle
from toys.models import BYTES

from pyunitok import Tokenizer
from pyunitok._c.train_greedy import PAIRS, VALUES, GreedyCounts, GreedyRound, GreedyRules
from pyunitok.packed import Packed
from pyunitok.train.longest import WeightedText, train_longest

TEXTS = st.one_of(
    st.lists(st.sampled_from([b"a", b"b", b"ab", b" ", b"ba ", "é".encode(), b"\n"]), max_size=30).map(b"".join),
    st.binary(max_size=20),
)
SMALL = st.lists(st.sampled_from([b"a", b"b", b" ", b"\xc3", b"\xa9"]), min_size=2, max_size=5).map(b"".join)
FREE = GreedyRules(256, 256, 1000, 1000)


def counted(round_: GreedyRound, sources: list[tuple[list[bytes], int]], damping: int = 0) -> GreedyCounts:
    counts = GreedyCounts(round_)
    for documents, weight in sources:
        for document in documents:  # the documents of a source may be split across calls
            packed = Packed.from_documents([document])
            counts.count(packed.data, packed.offsets, VALUES | PAIRS)
        counts.end_source(weight, damping)
    return counts


@given(st.sets(SMALL, max_size=12), st.lists(st.tuples(st.lists(TEXTS, max_size=4), st.integers(1, 5)), max_size=3),
       st.sampled_from([0, 1, 3]))  # fmt: skip
def test_a_round(extra, sources, damping):
    round_ = GreedyRound([*BYTES, *extra], FREE)
    counts = counted(round_, sources, damping)
    uses, values, pairs = oracle.count({*BYTES, *extra}, sources, damping)
    got = counts.pieces()
    for k, piece in enumerate(round_.pieces):
        assert (got[0][k], got[1][k]) == (uses[piece], values[piece]), piece
    lefts, rights, gains, n_sources = counts.pairs()
    assert set(n_sources.tolist()) <= set(range(1, len(sources) + 1))
    mine = {(round_.pieces[a], round_.pieces[b]): n for a, b, n in zip(lefts, rights, gains, strict=True)}
    assert mine == {pair: n for pair, n in pairs.items() if FREE.allow(b"".join(pair))}
    n_tokens = sum(len(oracle.encode({*BYTES, *extra}, text)) for documents, _ in sources for text in documents)
    assert counts.totals == (n_tokens, sum(len(text) for documents, _ in sources for text in documents))


@given(st.lists(st.tuples(st.lists(TEXTS, max_size=3), st.integers(1, 3)), min_size=1, max_size=5))
@settings(fewer(3))
def test_sums_of_threads(sources):
    round_ = GreedyRound([*BYTES, b"ab", b"ba"], FREE)
    whole = counted(round_, sources)
    half = counted(round_, sources[::2])
    half.merge(counted(round_, sources[1::2]))
    assert half.totals == whole.totals
    for mine, theirs in zip(half.pieces(), whole.pieces(), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert pair_set(half) == pair_set(whole)


def pair_set(counts: GreedyCounts) -> set[tuple[int, ...]]:
    return set(zip(*(array.tolist() for array in counts.pairs()), strict=True))


PARTS = [b"a", b"Z", b"_", b"@", b"1", b" ", b"\n", b"\n\n", b"\t", b"\xe2", b"\x82", b"\xf0\x9f", b"\xff", b"zz",
         *map(str.encode, "é€")]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map(b"".join), st.integers(1, 10), st.integers(1, 12),
       st.integers(1, 3), st.integers(0, 3), st.integers(0, 1), st.integers(0, 1))  # fmt: skip
def test_rules(piece, max_piece_bytes, max_run_bytes, max_words, max_digits, closed_words, leading_spaces):
    rules = GreedyRules(max_piece_bytes, max_run_bytes, max_words, max_digits, closed_words, leading_spaces)
    assert rules.allow(piece) == oracle.allows(piece, *rules)


def test_leading_spaces():
    """Pieces may include the space before a word, but never the one after it."""
    pieces = train_longest([WeightedText(Packed.from_documents([PROSE]))], 700, rules=GreedyRules(leading_spaces=1))
    assert not [piece for piece in pieces if piece.endswith(b" ") and piece.strip()]
    free = train_longest([WeightedText(Packed.from_documents([PROSE]))], 700)
    assert [piece for piece in free if piece.endswith(b" ") and piece.strip()]
    tokens, more = (len(greedy_tokens(PROSE, kept)) for kept in (pieces, free))
    assert tokens < more


def greedy_tokens(text, pieces):
    return Tokenizer.from_pieces(pieces).encode(text)


def test_every_byte_must_be_a_piece():
    with pytest.raises(ValueError, match="every byte must be a piece"):
        GreedyRound([*BYTES[1:], b"ab"], FREE)


SOURCE = b"the cat sat on the mat. the dog sat on the log; 1234567 cats.\n    return self.value\n" * 3
LINES = [f"{a} {b} {c} in the house of the {a}\n".encode() for a in ("king", "queen") for b in ("sees", "hears")
         for c in ("a bird", "the sea", "nothing")]  # fmt: skip
WORDS = ["".join(random.Random(k).choices("aeioubdfglmnprst", k=2 + k % 7)) for k in range(300)]
PROSE = " ".join(random.Random(1).choices(WORDS, range(300, 0, -1), k=6000)).encode()
SOURCES = [
    WeightedText(Packed.from_documents([PROSE])),
    WeightedText(Packed.from_documents([SOURCE])),
    WeightedText(Packed.from_documents(LINES), 2.0),
]


@pytest.mark.parametrize("n_pieces", [256, 270, 300])
def test_number_of_pieces(n_pieces):
    pieces = train_longest(SOURCES, n_pieces)
    assert len(pieces) == n_pieces and pieces == sorted(set(pieces)) and set(BYTES) <= set(pieces)


def test_more_pieces_than_the_text_yields():
    pieces = train_longest(SOURCES, 5000)
    assert 300 < len(pieces) < 5000


def test_threads_and_order_do_not_matter():
    once = train_longest(SOURCES, 300)
    assert train_longest(SOURCES[::-1], 300, threads=3) == once


def test_pieces_obey_the_rules():
    pieces = train_longest(SOURCES, 400, rules=GreedyRules(12, 128, 1, 1))
    assert all(re.fullmatch(rb"\s*\S*", piece) and not re.search(rb"\d\d", piece) for piece in pieces)
    assert any(b" " in piece.strip() for piece in train_longest(SOURCES[2:], 280))


def test_required_pieces_are_kept():
    assert b"xyzzy" in train_longest(SOURCES, 300, required=[b"xyzzy"])
    with pytest.raises(ValueError, match="n_pieces must be at least 257 "):
        train_longest(SOURCES, 256, required=[b"xyzzy"])


def test_a_repetitive_source_is_damped():
    template = Packed.from_documents([b"Permission is hereby granted" * 3000])
    language = [WeightedText(Packed.from_documents([line * 3])) for line in LINES * 3]
    plain, damped = (train_longest([WeightedText(template, 1.0, damping), *language], 275) for damping in (0, 5))
    assert sum(len(piece) for piece in damped if piece in b"Permission is hereby granted") < sum(
        len(piece) for piece in plain if piece in b"Permission is hereby granted"
    )


def test_a_caller_may_reject_pieces():
    pieces = train_longest(SOURCES, 300, required=[b"eel"], allowed=lambda piece: b"e" not in piece)
    assert len(pieces) == 300 and {piece for piece in pieces if b"e" in piece} == {b"e", b"eel"}
    assert sum(b"e" in piece for piece in train_longest(SOURCES, 300)) > 1


def test_closed_words_of_any_script():
    text = " ".join(["слово, дело", "η λέξη και", "müssen können,"] * 99).encode()
    rules = GreedyRules(closed_words=1)
    pieces = train_longest([WeightedText(Packed.from_documents([text]))], 300, rules=rules)
    assert not any(re.search(rb"[\x80-\xff][ ,]", piece) for piece in pieces)
    assert " können".encode() in pieces and ", дело".encode() in pieces


def test_long_pieces_must_repeat_in_several_sources():
    own = WeightedText(Packed.from_documents([b"https://example.com/a/b/c " * 50]))
    shared = [WeightedText(Packed.from_documents([b"international relations " * 9])) for _ in range(2)]
    pieces = train_longest([own, *shared], 300, min_sources=2, long_bytes=10)
    assert any(len(piece) >= 10 for piece in pieces)
    assert all(piece in b"international relations " * 9 for piece in pieces if len(piece) >= 10)


def test_the_vocabulary_is_a_model():
    pieces = train_longest(SOURCES, 400)
    model = Tokenizer.from_pieces(pieces)
    assert model.decode_bytes(model.encode(PROSE)) == PROSE


def test_better_than_the_most_frequent_strings():
    parts = Counter(PROSE[i : i + n] for n in range(2, 7) for i in range(len(PROSE)))
    frequent = sorted(parts, key=lambda part: -parts[part] * (len(part) - 1))[:144]
    trained = Tokenizer.from_pieces(train_longest(SOURCES[:1], 400))
    assert trained.count(PROSE) < 0.9 * Tokenizer.from_pieces([*BYTES, *frequent]).count(PROSE)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(256, 280))
@settings(fewer(5))
def test_any_text_can_be_trained_on(texts, n_pieces):
    sources = [WeightedText(Packed.from_documents([text])) for text in texts]
    pieces = train_longest(sources, n_pieces)
    assert 256 <= len(pieces) <= n_pieces
    n_before = sum(len(oracle.encode(BYTES, text)) for text in texts)
    assert sum(len(oracle.encode(pieces, text)) for text in texts) <= n_before


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_and_interrupts(threads):
    """Each round reports its bytes, and an exception in the callback ends the run immediately."""
    seen: dict[str, int] = {}
    total = sum(len(source.documents.data) for source in SOURCES)

    def progress(phase: str, done: int, of: int) -> None:
        assert seen.get(phase, 0) < done <= of == total
        seen[phase] = done

    train_longest(SOURCES, 270, progress=progress, threads=threads)
    if threads == 1:  # with more threads, the reporting thread may finish first
        assert {phase.partition(",")[0] for phase in seen} >= {"grow", "refine"}
        assert all(done == total for phase, done in seen.items() if phase.startswith("refine"))

    def interrupt(phase: str, done: int, of: int) -> None:
        raise KeyboardInterrupt

    if threads == 1:
        with pytest.raises(KeyboardInterrupt):
            train_longest(SOURCES, 270, progress=interrupt, threads=threads)
