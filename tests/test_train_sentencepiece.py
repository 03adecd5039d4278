"""In compatible mode, trainers write models that are byte-identical to those of sentencepiece 0.2.3."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import sentencepiece
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle import train_bpe
from train_options import AUTOMATIC, SETS, check_same, pieces, reference, trained

from pyunitok._c import train as c_train
from pyunitok._c import train_bpe as c_train_bpe
from pyunitok.errors import TrainingError
from pyunitok.train.specs import Specs, parse_arguments

KINDS = ["unigram", "bpe", "word", "char"]
LANGUAGES = """The cat sat on the mat, and 12 cats sat on 345 mats. It's a cat's life! Das Mädchen
läuft über die Straße. 東京都に行きました。ひらがなとカタカナー、漢字。 кошка сидела
на ковре 1999 года قطة على السجادة\t two  spaces
def f(x): return x[0]  # e\u0301te\u0301 中国的猫坐在垫子上,它很高兴。"""


def text(seed: int, n_lines: int) -> list[str]:
    """Lines in a few languages, with words drawn from a Zipf distribution."""
    random = np.random.default_rng(seed)
    words = LANGUAGES.split(" ") + ["".join(random.choice(list("abcdeéж東1"), n)) for n in random.integers(1, 9, 300)]
    ranks = np.minimum(random.zipf(1.3, 12 * n_lines), len(words)) - 1
    return [" ".join(words[i] for i in ranks[k * 12 : k * 12 + 12]).replace("\n", " ") for k in range(n_lines)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SETS)
def test_models_match_sentencepiece(kind: str, name: str) -> None:
    options = {"vocab_size": 400, "model_type": kind, "hard_vocab_limit": False, **SETS[name]}
    check_same(options, text(1, 600), may_fail=True)


@pytest.mark.parametrize("vocab_size", [300, 420, 700])
def test_bpe_with_automatic_coverage(vocab_size: int) -> None:
    options = {"model_type": "bpe", "hard_vocab_limit": False, "vocab_size": vocab_size, **AUTOMATIC}
    check_same(options, text(2, 500))


@pytest.mark.parametrize("corpus", [[" "], ["   ", "\t", ""], ["\u3000"], ["\x1f"], ["<s>"], [""], ["\u2585"]])
def test_automatic_coverage_of_white_space(corpus: list[str]) -> None:
    """sentencepiece trains a model that contains only bytes, unless all lines are empty."""
    options = {"model_type": "bpe", "hard_vocab_limit": False, "vocab_size": 300, **AUTOMATIC}
    expected = reference(options, sentence_iterator=iter(corpus))
    if isinstance(expected, str):
        with pytest.raises(TrainingError, match="no text"):
            trained(options, corpus)
    else:
        assert trained(options, corpus).SerializeToString() == expected.SerializeToString()


@given(
    st.lists(st.text(st.sampled_from("ab \u2581é東7."), min_size=1, max_size=12), min_size=1, max_size=12),
    st.sampled_from(KINDS), st.sampled_from(sorted(SETS)), st.integers(8, 60),
)  # fmt: skip
@fewer(2)
def test_tiny_corpora(corpus: list[str], kind: str, name: str, vocab_size: int) -> None:
    options = {"model_type": kind, "hard_vocab_limit": False, "normalization_rule_name": "identity", **SETS[name]}
    options["vocab_size"] = vocab_size
    expected = reference(options, sentence_iterator=iter(corpus))
    if isinstance(expected, str):
        with pytest.raises(TrainingError):
            trained(options, corpus)
        return
    found = trained(options, corpus)
    if kind == "bpe" and pieces(found) != pieces(expected):
        # Of several pairs with the same piece and count, sentencepiece merges a random one.
        assert has_same_piece_twice(corpus)
        return
    assert found.SerializeToString() == expected.SerializeToString()


def has_same_piece_twice(corpus: list[str]) -> bool:
    """Whether a text contains a repeat such as "xx" or "xyxy", which can create pairs with the same piece and count."""
    joined = "\n".join(corpus)
    return any(joined[i : i + n] == joined[i + n : i + 2 * n] for n in (1, 2, 3) for i in range(len(joined)))


TIMES = st.integers(1, 5) | st.integers(1, 10**6)  # includes large counts, because rare pairs are omitted at first


@given(st.lists(st.tuples(st.text("abc\u2581", min_size=1, max_size=9), TIMES), min_size=1, max_size=9))
def test_bpe_matches_the_oracle(words: list[tuple[str, int]]) -> None:
    counted: Counter[str] = Counter()
    for word, count in words:
        for part in train_bpe.split_words(word):
            counted[part] += count
    units = c_train.Units.pack([word.encode() for word in counted], list(counted.values()))
    rules = c_train.Rules({"split_by_whitespace"}, 16)
    for min_count, n_pieces in ((0, 30), (2, 30), (0, 3), (1000, 9)):
        trainer = c_train_bpe.BpeTrainer(rules, units)
        while trainer.step(n_pieces, min_count=min_count, max_work=1):
            pass
        found = trainer.pieces()
        expected = train_bpe.train(counted, n_pieces, min_count=min_count)
        assert list(zip(found.items(), found.counts.tolist(), strict=True)) == [(p.encode(), n) for p, n in expected]


@pytest.mark.parametrize("kind", KINDS)
def test_text_with_nul(kind: str) -> None:
    """Regression: NUL became a piece, and the model could not be opened. NUL is an unknown character."""
    corpus = [*["ab\0cd ab abcd\0 cab", "abc cab"] * 20, "\0\0 x"]
    check_same({"model_type": kind, "vocab_size": 30, "hard_vocab_limit": False}, corpus)


def test_counts_are_64_bits_wide() -> None:
    many = 1 << 33
    units = c_train.Units.pack([b"ab", b"cd"], [many + 1, many])
    trainer = c_train_bpe.BpeTrainer(c_train.Rules(set(), 16), units)
    while trainer.step(2, min_count=0, max_work=1 << 20):
        pass
    assert trainer.pieces().counts.tolist() == [many + 1, many]


def test_weighted_lines() -> None:
    corpus = ["low lower lowest\t5", "newer wider new\t3", "the low\t 7"]
    for kind in KINDS:
        check_same({"model_type": kind, "vocab_size": 25, "input_format": "tsv", "hard_vocab_limit": False}, corpus)
    for wrong in ("no count", "a\tb", "a\t0", "a\t1\t2"):
        with pytest.raises(TrainingError, match="tab"):
            trained({"input_format": "tsv", "model_type": "bpe"}, [wrong])


def test_weighted_lines_that_are_not_split() -> None:
    """Regression: a line of weight w was counted as w - 1 sentences and one more; "▁" had the score -1.388912678."""
    options = {"vocab_size": 40, "input_format": "tsv", "hard_vocab_limit": False, "split_by_whitespace": False}
    corpus = ["the cat sat on the mat\t1000"]
    expected = reference(options, sentence_iterator=iter(corpus))
    assert {piece.piece: piece.score for piece in expected.pieces}["▁".encode()] == np.float32(-1.388913631)
    assert trained(options, corpus).SerializeToString() == expected.SerializeToString()


@given(
    st.lists(st.tuples(st.text("ab é東", max_size=12), st.sampled_from([1, 2, 7, 1000])), min_size=1, max_size=8),
    st.booleans(), st.integers(8, 40),
)  # fmt: skip
@fewer(2)
def test_tiny_weighted_corpora(weighted: list[tuple[str, int]], split: bool, vocab_size: int) -> None:
    corpus = [f"{line}\t{weight}" for line, weight in weighted]
    options = {"input_format": "tsv", "hard_vocab_limit": False, "split_by_whitespace": split}
    check_same(options | {"vocab_size": vocab_size}, corpus, may_fail=True)


def test_a_pretokenizer() -> None:
    def cut(line: str) -> list[str]:
        return [line[i : i + 3] for i in range(0, len(line), 3)]

    options = {"model_type": "bpe", "vocab_size": 300, "hard_vocab_limit": False}
    check_same(options, text(3, 200), pretokenizer=cut)
    with pytest.raises(TrainingError, match="allow_inconsistent"):
        trained(options, text(3, 200), pretokenizer=lambda line: ["hello"])


def test_a_sample_depends_only_on_the_seed() -> None:
    options = {"model_type": "bpe", "vocab_size": 300, "hard_vocab_limit": False, "input_sentence_size": 101}
    models = [trained(options, text(4, 900), seed=seed).SerializeToString() for seed in (1, 1, 2)]
    assert models[0] == models[1] != models[2]


@pytest.mark.parametrize("options, message", [
    ({"vocab_size": 0}, "vocab_size"), ({"shrinking_factor": 0.4}, "0.5..0.95"),
    ({"use_all_vocab": True}, "word and char"),
    ({"unk_id": -1}, "unk_id"), ({"bos_id": 0}, "bos_id"), ({"control_symbols": "<unk>"}, "unknown piece"),
    ({"control_symbols": ["a", "a"]}, "twice"), ({"vocab_size": "many"}, "vocab_size"), ({"frobs": 1}, "frobs"),
    ({"model_type": "bert"}, "unigram or bpe"), ({"input_sentence_size": 50}, "over 100"),
    ({"escape_whitespaces": False}, "escape_whitespaces"), ({"vocab_size": 10}, "raise vocab_size"),
    ({"normalization_rule_name": "of mine"}, "of mine"), ({"byte_fallback": "maybe"}, "maybe"),
])  # fmt: skip
def test_invalid_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        trained({"model_type": "bpe", **options}, text(5, 50))
    assert isinstance(reference({"model_type": "bpe", **options}, sentence_iterator=iter(text(5, 50))), str)


def test_arguments_in_a_string() -> None:
    values = parse_arguments("--model_type=char --byte_fallback --control_symbols=a,b --vocab_size=7 --vocab_size=8")
    spec = Specs.parse(values).trainer
    assert (spec.model_type, spec.byte_fallback, spec.vocab_size) == (4, True, 7)
    assert list(spec.control_symbols) == [b"a", b"b"]


def test_retired_options_warn() -> None:
    with pytest.warns(UserWarning, match="accept_language"):
        Specs.parse({"accept_language": "en"})


def test_the_model_loads() -> None:
    proto = trained({"model_type": "bpe", "vocab_size": 300, "hard_vocab_limit": False}, text(6, 300))
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    assert processor.decode(processor.encode("The cat sat")) == "The cat sat"
