"""The options of the default Unigram trainer compared with the oracle, and the effects of other options."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import fewer
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import train_unigram as oracle
from test_train_sentencepiece import text

import pyunitok
from pyunitok._c import train as c_train
from pyunitok.train import unigram
from pyunitok.train.api import run
from pyunitok.train.unigram import UnigramOptions, UnigramState, UnigramTrainer

WORDS = st.dictionaries(st.text("abé", min_size=1, max_size=6), st.integers(1, 400), min_size=2, max_size=6)
IDENTITY: dict[str, Any] = {"normalization_rule_name": "identity"}
LINES = text(11, 500)


def seeds_of(words: dict[str, int]) -> dict[str, float]:
    """Every substring of up to 4 characters, with the product of its count and its length."""
    found: dict[str, float] = {}
    for word, count in words.items():
        for i in range(len(word)):
            for j in range(i + 1, min(len(word), i + 4) + 1):
                found[word[i:j]] = found.get(word[i:j], 0) + count * (j - i)
    return found


@pytest.mark.parametrize("options", [
    {}, {"em": "viterbi"}, {"prior": "mle"}, {"prune": "probability"}, {"prune": "frequency"}, {"objective": "tokens"},
    {"em_iterations": 1}, {"em_iterations": 6, "em_tolerance": 0.01}, {"max_rounds": 1}, {"max_rounds": 2},
    {"shrinking_factor": 0.5}, {"prune": "sparse"}, {"prune": "sparse", "em": "viterbi", "shrinking_factor": 0.9},
    {"em": "viterbi", "prior": "mle", "prune": "probability", "objective": "tokens"},
])  # fmt: skip
def test_models_match_the_oracle(options: dict[str, Any]) -> None:
    n_compared = 0

    @given(WORDS, st.integers(2, 9))
    @settings(fewer(3), derandomize=True)  # rounding decides ties in one of several thousand examples
    def compare(words: dict[str, int], vocab_size: int) -> None:
        nonlocal n_compared
        values = seeds_of(words)
        names = sorted(values, key=str.encode)
        assume(len(names) > vocab_size)
        pieces = c_train.Units.pack([name.encode() for name in names], [0] * len(names))
        doubles = np.array([values[name] for name in names])
        counts = np.array([values[name] / len(name) for name in names])
        state = unigram.first_state(pieces, doubles, counts)
        start = dict(zip(names, state.scores.tolist(), strict=True))
        by_name = dict(zip(names, counts.tolist(), strict=True))
        ties: list[float] = []
        try:
            expected, n_rounds = oracle.train(words, start, by_name, int(vocab_size * 1.1), ties=ties, **options)
        except oracle.Unclear:
            assume(False)
        ordered = sorted(words, key=str.encode)
        units = c_train.Units.pack([word.encode() for word in ordered], [words[word] for word in ordered])
        trainer = UnigramTrainer(state, units, UnigramOptions(**options), lambda *_: None)
        trainer.train(vocab_size, lambda state: None)
        got = trainer.state
        same = got.pieces.items() == sorted(piece.encode() for piece in expected) and len(got.rounds) == n_rounds
        same = same and np.allclose(got.scores, [expected[piece.decode()] for piece in got.pieces.items()], rtol=1e-6)
        assume(same or not ties)  # rounding decides ties, and the oracle may round differently
        assert same, (got.pieces.items(), got.scores, len(got.rounds), expected, n_rounds)
        n_compared += 1

    compare()
    assert n_compared > 5


def test_rounds_of_sparse_pruning_resume() -> None:
    """The threshold is part of the state, so training can resume after any round."""
    words = {"abcabc": 90, "bcab": 51, "cab": 34, "aabb": 17, "ccc": 8}
    names = sorted(seeds_of(words))
    pieces = c_train.Units.pack([name.encode() for name in names], [0] * len(names))
    values = np.array([seeds_of(words)[name] for name in names])
    units = c_train.Units.pack([word.encode() for word in sorted(words)], [words[word] for word in sorted(words)])
    options = UnigramOptions(prune="sparse", shrinking_factor=0.9)
    states: list[UnigramState] = []
    first = UnigramTrainer(unigram.first_state(pieces, values, values), units, options, lambda *_: None)
    first.train(5, lambda state: states.append(replace(state, rounds=list(state.rounds))))
    assert len(states) > 2
    for state in states:
        again = UnigramTrainer(state, units, options, lambda *_: None)
        again.train(5, lambda state: None)
        assert again.state.scores.tolist() == first.state.scores.tolist()


def names_of(tokenizer: pyunitok.Tokenizer) -> set[str]:
    return {tokenizer.id_to_piece(i) for i in range(tokenizer.vocab_size)}


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word"])
def test_min_frequency(kind: str) -> None:
    """Words below the minimum frequency have no effect."""
    lines = ["often often often rare"]
    assert any("r" in name.strip("<>") for name in names_of(pyunitok.train(iter(lines), kind=kind, vocab_size=40)))
    kept = names_of(pyunitok.train(iter(lines), kind=kind, vocab_size=40, min_frequency=2))
    assert kept == names_of(pyunitok.train(iter(["often often often"]), kind=kind, vocab_size=40))


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_initial_alphabet(kind: str) -> None:
    assert {"字", "ü"} <= names_of(pyunitok.train(iter(LINES), kind=kind, vocab_size=300, initial_alphabet="字ü"))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_split_by_none(kind: str) -> None:
    """The result equals that of split_by_whitespace=False, the corresponding option of sentencepiece."""
    one = pyunitok.train(iter(LINES), kind=kind, vocab_size=300, split_by="none")
    other = pyunitok.train(iter(LINES), kind=kind, vocab_size=300, split_by_whitespace=False)
    assert names_of(one) == names_of(other) != names_of(pyunitok.train(iter(LINES), kind=kind, vocab_size=300))


def test_automatic_coverage() -> None:
    """Rare characters compete with other pieces; those that save too few tokens are encoded as bytes."""
    lines = [*LINES, *["éà" * 9] * 40, "字 ü"]
    options: dict[str, Any] = {
        "kind": "unigram", "vocab_size": 410, "prune": "sparse", "byte_fallback": True, **IDENTITY
    }  # fmt: skip
    names = names_of(pyunitok.train(iter(lines), auto_character_coverage=True, **options))
    assert not {"字", "ü"} & names and any("é" in name for name in names)
    assert {"字", "ü"} <= names_of(pyunitok.train(iter(lines), character_coverage=1.0, **options))
    tokenizer = pyunitok.train(iter(lines), auto_character_coverage=True, **options)
    assert tokenizer.decode(tokenizer.encode("字 ü words")) == "字 ü words"
    with pytest.raises(pyunitok.errors.TrainingError, match="prune=sparse"):  # type: ignore[attr-defined]
        pyunitok.train(iter(lines), auto_character_coverage=True, **{**options, "prune": "loss"})


def test_lines_that_are_too_long_are_reported() -> None:
    got = run(iter([*LINES, "x" * 700, "y" * 800]), kind="bpe", vocab_size=300, max_sentence_length=600)
    assert ("too long", "2 lines with 1,500 bytes were left out") in got.notes
    got = run(iter([*LINES, "x" * 70_000]), kind="bpe", vocab_size=300)  # the default has no limit
    assert not [name for name, _ in got.notes if name == "too long"]


def test_max_rounds_limits_the_rounds() -> None:
    rounds = [run(iter(LINES), kind="unigram", vocab_size=190, max_rounds=n, **IDENTITY).job for n in (0, 2)]
    assert all(job is not None for job in rounds)
    sizes = [[item.n_after for item in job.rounds] for job in rounds if job is not None]
    assert len(sizes[1]) <= 2 and all(a >= b for a, b in pairwise(sizes[0]))
