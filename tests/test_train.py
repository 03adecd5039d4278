"""train(): the default mode, sources, counting on disk, and the command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from oracle import train_unigram
from test_train_sentencepiece import text

import pyunitok
from pyunitok._c import train as c_train
from pyunitok._c import train_lexicon as c_train_lexicon
from pyunitok.cli.train import train as command
from pyunitok.corpus.inputs import find
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.errors import OptionError, OutputError, TrainingError
from pyunitok.train import counting, sources, unigram
from pyunitok.train.api import run

TEXT = "\n".join(text(11, 3000))
SPACES = ("split_by_whitespace", "split_by_script", "split_by_number")
IDENTITY: dict[str, Any] = {"normalization_rule_name": "identity"}


def pieces(tokenizer: pyunitok.Tokenizer) -> list[str]:
    return [tokenizer.id_to_piece(i) for i in range(tokenizer.vocab_size)]


# ----------------------------------------------------------------------------------------------------- Sources ----


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_paths_and_iterators(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    options: dict[str, Any] = {"kind": kind, "vocab_size": 400, "compat": "sentencepiece", "hard_vocab_limit": False}
    expected = pieces(pyunitok.train(path, out=tmp_path / "m.model", **options))
    assert pieces(pyunitok.Tokenizer.from_file(tmp_path / "m.model")) == expected
    assert (tmp_path / "m.vocab").read_bytes().count(b"\n") == len(expected)
    for texts in (iter(TEXT.split("\n")), (line.encode() for line in TEXT.split("\n")), iter([TEXT])):
        assert pieces(pyunitok.train(texts, **options)) == expected


def test_jsonl_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"body": line}) + "\n" for line in TEXT.split("\n")))
    options: dict[str, Any] = {"kind": "bpe", "vocab_size": 400, "compat": "sentencepiece", "hard_vocab_limit": False}
    a = pyunitok.train(tmp_path / "a.txt", **options)
    b = pyunitok.train([tmp_path / "a.jsonl"], text_key="body", **options)
    assert pieces(a) == pieces(b)


def test_a_sample_is_held_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    trained = run(tmp_path / "a.txt", kind="bpe", vocab_size=300)
    held = b"".join(trained.sample)
    assert 0 < len(held) <= len(TEXT.encode()) // 32 and TEXT.encode().endswith(held)
    assert trained.job is not None and trained.job.stats.n_bytes == len(TEXT.encode()) - len(held)
    assert trained.in_sample.n_tokens > 0


def test_the_sample_covers_all_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample contains lines from every input, spread over large inputs, and at least HELD_BYTES bytes."""
    monkeypatch.setattr(sources, "HELD_BYTES", 2000)
    for name, n_lines in (("a", 300), ("b", 20_000), ("c", 400)):
        lines = (f"{name}{k:05d} {k * 7919 % 1000} the text of this line" for k in range(n_lines))
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    corpus = sources.Corpus(Reading(find([str(tmp_path)]), ReadingOptions(block_bytes=8192, threads=1)))
    list(corpus.batches())
    held = [line for line in b"\n".join(corpus.sample).decode().splitlines() if line]
    numbers = {name: [int(line[1:6]) for line in held if line[0] == name] for name in "abc"}
    assert all(numbers.values()) and sum(map(len, held)) >= sources.HELD_BYTES
    assert max(numbers["b"]) > 15_000 and min(numbers["b"]) < 5_000
    assert sum(map(len, held)) < 3 * sources.HELD_BYTES


# ------------------------------------------------------------------------------------- Threads and memory ----


@pytest.mark.parametrize("options", [{}, {"objective": "tokens"}, {"em": "viterbi", "prior": "mle"}])
def test_the_model_does_not_depend_on_threads(tmp_path: Path, options: dict[str, Any]) -> None:
    paths = [tmp_path / f"{i}.txt" for i in range(6)]
    for i, path in enumerate(paths):
        path.write_text("\n".join(text(20 + i, 300)))
    made = {
        (tmp_path / "m.model").read_bytes()
        for threads in (1, 2, 5)
        if run(paths, kind="unigram", vocab_size=300, out=tmp_path / "m.model", threads=threads, **options,
               num_threads=1)
    }  # fmt: skip
    assert len(made) == 1


def counted(texts: list[str], max_memory: int) -> tuple[Counter[bytes], int]:
    rules = c_train.Rules(set(SPACES), 16)

    def make(counter: c_train.Counter) -> c_train.Segmenter:
        return c_train.Segmenter(None, rules, counter, flags=c_train.CUT, max_line_bytes=1000)

    with counting.UnitCounter(make, max_memory) as counter:
        for item in texts:
            data = np.frombuffer(item.encode(), np.uint8)
            counter.add(data, np.array([0, len(data)], np.int64))
        units = counter.finish()
        assert units.items() == sorted(units.items())
        return Counter(dict(zip(units.items(), units.counts.tolist(), strict=True))), counter.n_runs


@given(st.lists(st.text("ab\u2581é\n0", max_size=30), max_size=20))
def test_counts_do_not_depend_on_spilling(texts: list[str]) -> None:
    whole, n_runs = counted(texts, 0)
    assert n_runs == 0
    original = counting.Store
    try:
        counting.Store = lambda limit: original(0)  # type: ignore[assignment,misc]
        spilled, n_runs = counted(texts, 1)
    finally:
        counting.Store = original  # type: ignore[misc]
    assert spilled == whole
    assert n_runs == len(texts)


def test_blocks_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "RUN_BLOCK_BYTES", 64)
    texts = ["\u2581".join(line.split()) for line in text(3, 60)]
    whole, _ = counted(texts, 0)
    monkeypatch.setattr(counting, "Store", lambda limit, store=counting.Store: store(0))
    assert counted(texts, 1)[0] == whole


def test_dropped_words_are_reported() -> None:
    store = counting.Store(900)
    store.add(c_train.Units.pack([b"%d" % i for i in range(10)], [1 + i for i in range(10)]))
    store.add(c_train.Units.pack([b"x%d" % i for i in range(10)], [1] * 10))
    units = store.units()
    assert store.min_count > 1
    assert units.counts.min() >= store.min_count
    assert len(units) + store.n_dropped_units == 20
    assert int(units.counts.sum()) + store.n_dropped == 65


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting.tempfile, "TemporaryFile", lambda dir: Path("/dev/full").open("wb"))  # noqa: SIM115
    with pytest.raises(OutputError, match=r"No space left on device.*--max-memory"):
        counted(["ab cd"], 1)


# --------------------------------------------------------------------------------------------------- Unigram ----

WORDS = st.dictionaries(st.text("abé", min_size=1, max_size=9), st.integers(1, 50), min_size=1, max_size=8)


def lexicon_of(words: dict[str, int], extra: list[str]) -> tuple[c_train_lexicon.Lexicon, list[str]]:
    names = sorted({c for word in words for c in word[1:]} | set(extra), key=str.encode) or ["z"]
    return c_train_lexicon.Lexicon(c_train.Units.pack([name.encode() for name in names], [0] * len(names))), names


@given(WORDS, st.lists(st.text("abé", min_size=1, max_size=4), max_size=8), st.integers(0, 80))
def test_expectations_match_the_oracle(words: dict[str, int], extra: list[str], shift: int) -> None:
    lexicon, names = lexicon_of(words, extra)
    # The product of the probabilities is far below the smallest double, so scaling is required.
    scores = np.array([-1.5 - shift - 0.3 * i for i in range(len(names))])
    unknown = float(scores.min() - 10)
    units = c_train.Units.pack([word.encode() for word in words], list(words.values()))
    model = c_train_lexicon.Scored(c_train_lexicon.Lattice(), np.ones(len(names), np.uint8), scores, unknown)
    sums = np.zeros(len(names), np.uint64)
    unit = 2.0**40
    likelihood = lexicon.expect(model, np.exp(scores), float(np.exp(unknown)), units, 0, len(units), unit, sums)
    expected, total = train_unigram.expect(dict(zip(names, scores.tolist(), strict=True)), unknown, words)
    assert np.allclose(sums / unit, [expected[name] for name in names], rtol=1e-9, atol=1e-9)
    assert np.isclose(likelihood, total, rtol=1e-9)


@given(WORDS, st.lists(st.text("abé", min_size=1, max_size=4), max_size=8))
def test_losses_match_the_oracle(words: dict[str, int], extra: list[str]) -> None:
    lexicon, names = lexicon_of(words, extra)
    scores = np.array([-1.5 - (0.37 + 0.6 * i) ** 0.5 for i in range(len(names))])
    unknown = float(scores.min() - 10)
    units = c_train.Units.pack([word.encode() for word in words], list(words.values()))
    model = c_train_lexicon.Scored(c_train_lexicon.Lattice(), np.ones(len(names), np.uint8), scores, unknown)
    used = np.zeros(len(names))
    lexicon.paths(model, units, 0, len(units), used)
    given_scores = dict(zip(names, scores.tolist(), strict=True))
    uses = train_unigram.uses(given_scores, unknown, words)
    assert used.tolist() == [uses[name] for name in names]
    losses = np.empty(len(names))
    if used.sum():
        lexicon.losses(model, 0, len(names), used, float(used.sum()), losses)
        assert np.allclose(losses, [train_unigram.loss(given_scores, unknown, uses, name) for name in names])


def test_a_word_always_before_a_space_is_found() -> None:
    corpus = ["zebraquux " * 300 + "and", "and other words, too " * 50]
    assert "▁zebraquux" in pieces(pyunitok.train(iter(corpus), kind="unigram", vocab_size=40, **IDENTITY))
    options = {"compat": "sentencepiece", "hard_vocab_limit": False, **IDENTITY}
    compat = run(iter(corpus), kind="unigram", vocab_size=40, **options)
    assert "▁zebraquux" not in pieces(compat.tokenizer)


@pytest.mark.parametrize("options", [
    {"em": "viterbi"}, {"prior": "mle"}, {"prune": "probability"}, {"prune": "frequency"}, {"objective": "tokens"},
    {"em_iterations": 5, "em_tolerance": 0.1}, {"max_rounds": 1}, {"min_frequency": 3}, {"split_by": "none"},
])  # fmt: skip
def test_options(options: dict[str, Any]) -> None:
    trained = run(iter(TEXT.split("\n")), kind="unigram", vocab_size=210, **IDENTITY, **options)
    assert trained.job is not None and trained.tokenizer.vocab_size == 210
    if "max_rounds" in options:
        assert len(trained.job.rounds) == 1
    if "split_by" in options:
        assert any("▁" in piece[1:] for piece in pieces(trained.tokenizer))
    assert trained.tokenizer.decode(trained.tokenizer.encode("the cat sat on the mat")) == "the cat sat on the mat"


def test_the_objective_tokens_yields_fewer_tokens() -> None:
    random = np.random.default_rng(5)
    stems = ["".join(random.choice(list("abcdefgh"), 5)) for _ in range(60)]
    words = [stem + end for stem in stems for end in ("", "ing", "ed", "er", "s")]
    corpus = [" ".join(words[i] for i in random.zipf(1.2, 30) % len(words)) for _ in range(500)]

    def density(**options: Any) -> float:
        tokenizer = pyunitok.train(iter(corpus), kind="unigram", vocab_size=60, **options)
        return len("\n".join(corpus)) / len(tokenizer.encode("\n".join(corpus)))

    assert density(objective="tokens") > density()


def test_rounds_shrink() -> None:
    job = run(iter(TEXT.split("\n")), kind="unigram", vocab_size=210).job
    assert job is not None
    rounds = job.rounds
    assert all(isinstance(item, unigram.PruningRound) and item.n_after <= item.n_before for item in rounds)


def test_no_piece_has_frequency_zero() -> None:
    corpus = ["ab" * 5 + " cd"] * 3
    own = pieces(pyunitok.train(iter(corpus), kind="bpe", vocab_size=60, **IDENTITY))
    compat = pieces(pyunitok.train(
        iter(corpus), kind="bpe", vocab_size=60, compat="sentencepiece", hard_vocab_limit=False, **IDENTITY
    ))  # fmt: skip
    assert len(own) < len(compat)


@pytest.mark.parametrize("options, message", [
    ({"kind": "bert"}, "kind"), ({"compat": "hf"}, "compat"), ({"em": "soft"}, "em must be"),
    ({"kind": "bpe", "em": "viterbi"}, "unigram models"), ({"split_by": "comma"}, "split_by"),
    ({"compat": "sentencepiece", "prune": "loss"}, "without compat"), ({"no_such": 1}, "no_such"),
])  # fmt: skip
def test_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises((OptionError, TrainingError), match=message):
        pyunitok.train(iter(["a"]), **{"kind": "unigram", "vocab_size": 100, **options})


# --------------------------------------------------------------------------------------------------- Command ----


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_command(tmp_path: Path, kind: str) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "m.model"
    path.write_text("x" * 3000 + "\n" + TEXT)
    arguments = [kind, str(path), "-o", str(out), "--vocab-size", "300", "--max-sentence-length", "2000",
                 "--set", "unk_id=2", "--set", "eos_id=0", "--no-split-by-number"]  # fmt: skip
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "1 unknown" in done.output and "bytes per token" in done.output and "1 lines with 3,000 bytes" in done.output
    tokenizer = pyunitok.Tokenizer.from_file(out)
    assert tokenizer.id_to_piece(2) == "<unk>"
    with pytest.raises(OutputError, match="--overwrite"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert CliRunner().invoke(command, [*arguments, "--overwrite"], catch_exceptions=False).exit_code == 0


def test_command_as_sentencepiece(tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "m.model"
    path.write_text(TEXT)
    arguments = [str(path), "-o", str(out), "--vocab-size", "300", "--compat", "sentencepiece", "--no-hard-vocab-limit"]
    assert CliRunner().invoke(command, ["unigram", *arguments], catch_exceptions=False).exit_code == 0
    expected = pyunitok.train(path, kind="unigram", vocab_size=300, compat="sentencepiece", hard_vocab_limit=False)
    assert pieces(pyunitok.Tokenizer.from_file(out)) == pieces(expected)


def test_a_failed_command_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab cd")
    with pytest.raises(TrainingError, match="raise vocab_size"):
        CliRunner().invoke(
            command, ["bpe", str(tmp_path / "a.txt"), "-o", str(tmp_path / "m.model"), "--vocab-size", "4"],
            catch_exceptions=False,
        )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
