"""Byte-level BPE with a pattern: its files match those of tokenizers' BpeTrainer; blocks, threads, memory, resuming."""

from __future__ import annotations

import json
import warnings
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tokenizers
import zstandard
from click.testing import CliRunner
from conftest import fewer, find_shared
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import train_bpe_ids
from test_train_sentencepiece import text
from tokenizers import decoders, models, pre_tokenizers, trainers

import pyunitok
from pyunitok._c.text import Pattern
from pyunitok._c.train import Counter, Segmenter, Splitter, Units
from pyunitok._c.train_bpe import BpeTrainer
from pyunitok.cli import cli
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.errors import OptionError, PatternError, TrainingError
from pyunitok.train import api, merging, pattern_bpe
from pyunitok.vocab import open_model, patterns
from pyunitok.vocab.byte_level import CHARACTERS, bytes_of, shown
from pyunitok.vocab.convert import convert
from pyunitok.vocab.huggingface import writer
from pyunitok.vocab.vocabulary import Vocabulary, pack

NAMES = ["gpt2", "cl100k", "llama3", "qwen2", "o200k", "starcoder"]
END = pattern_bpe.END_OF_TEXT
DOCS = ["\n".join(text(seed, 60)) + "  \n\n x" for seed in range(8)]


def of_tokenizers(
    docs: Iterable[str], pattern: str, size: int, special: Sequence[str] = (END,), **options: Any
) -> tokenizers.Tokenizer:
    """The model that tokenizers' BpeTrainer trains."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    regexes = patterns.tokenizers_regexes(patterns.parts_for_tokenizers(pattern))
    splits = [
        pre_tokenizers.Digits(individual_digits=True) if regex == r"\p{HfNumeric}"
        else pre_tokenizers.Split(tokenizers.Regex(regex), "isolated")
        for regex in regexes
    ]  # fmt: skip
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])  # type: ignore[assignment]
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=False, use_regex=False)  # type: ignore[assignment]
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False, **options,
    )  # fmt: skip
    tokenizer.train_from_iterator(docs, trainer)
    return tokenizer


def written(path: Path) -> dict[str, Any]:
    """The tokenizer.json of a native model."""
    model, about = open_model(path)
    ret: dict[str, Any] = json.loads(writer.write(Vocabulary.of(model, about)))
    return ret


def assert_same(path: Path, expected: tokenizers.Tokenizer) -> None:
    ours, theirs = written(path), json.loads(expected.to_str())
    assert ours["model"]["vocab"] == theirs["model"]["vocab"]
    assert ours["model"]["merges"] == theirs["model"]["merges"]
    for name in ("added_tokens", "pre_tokenizer", "normalizer", "post_processor"):
        assert ours[name] == theirs[name]


# --------------------------------------------------------------------------------------------------- counting ----

TEXTS = st.binary(max_size=80) | st.text("ab'sS1 \n\r.é日\u3000", max_size=200).map(str.encode)


def counted(splitter: Splitter) -> dict[bytes, int]:
    units = splitter.counter.export()
    return dict(zip(units.items(), units.counts.tolist(), strict=True))


@given(st.lists(TEXTS, max_size=4), st.sampled_from([*NAMES, "dsv3", r"a+|\d{2}"]), st.booleans())
@fewer(2)
def test_counts_of_pieces(texts: list[bytes], pattern: str, twice: bool) -> None:
    compiled, expected = Pattern(patterns.parts_for_tokenizers(pattern)), Tally[bytes]()
    splitter = Splitter(compiled, Counter())
    for part in [texts, texts] if twice else [texts]:
        splitter.add(*pack(part))
        for one in part:
            expected.update(one[a:b] for a, b in pairwise(compiled.split(one).tolist()))
        assert counted(splitter) == expected


@given(TEXTS, TEXTS, st.sampled_from([*NAMES, "dsv3", r"a+|\d{2}", r"\s+(?!\S)|\s|\S+"]))
def test_last_cut(before: bytes, after: bytes, pattern: str) -> None:
    """Whatever text follows, splitting both sides separately yields the pieces of the complete text."""
    compiled = Pattern(patterns.parts_for_tokenizers(pattern))
    at, whole = compiled.last_cut(memoryview(before)), before + after
    ends = {*compiled.split(whole[:at]).tolist(), *(compiled.split(whole[at:]) + at).tolist()}
    assert 0 <= at <= max(0, len(before) - 1)
    assert sorted(ends) == compiled.split(whole).tolist() or not whole


def test_position_of_the_last_cut() -> None:
    compiled = Pattern(patterns.parts_for_tokenizers("gpt2"))
    for one, at in {b"ab cd": 2, b"ab  ": 2, b"ab": 0, b"": 0, "日本".encode(): 0, b"ab\xe6\x97": 0, b"a1": 1}.items():
        assert compiled.last_cut(memoryview(one)) == at, one


# ---------------------------------------------------------------------------------------------------- merging ----

WORDS = st.dictionaries(st.text("abc", min_size=1, max_size=14), st.integers(1, 4), min_size=1, max_size=25)
HARD = {"abab": 1, "babab": 3, "aabb": 2, "bbbbbb": 1, "aaaaa": 2, "abcabc": 2, "bcab": 2, "cabbc": 1, "bca": 3}


@given(WORDS, st.sampled_from([8, 20, 400]), st.integers(0, 3))
@example(HARD, 400, 0)
@fewer(2)
def test_oracle_matches_the_trainer_of_tokenizers(words: dict[str, int], size: int, min_count: int) -> None:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split("|", "removed")  # type: ignore[assignment]
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, min_frequency=min_count, special_tokens=["<s>"])
    tokenizer.train_from_iterator(("|".join([word] * count) for word, count in words.items()), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    names, merges = train_bpe_ids.train(words, "", size, special=["<s>"], min_count=min_count)
    assert model["vocab"] == {name: id_ for id_, name in enumerate(names)}
    assert [tuple(merge) for merge in model["merges"]] == merges


def merged(
    words: dict[str, int], size: int, *, min_count: int = 0, threads: int = 1, work: int = 1 << 20,
    n_first: int = 0,
) -> Any:  # fmt: skip
    """The pieces and the merges, as the oracle returns them. The run resumes after n_first merges."""
    alphabet = sorted({*"".join(words)})
    units = Units.pack([bytes_of(word) for word in words], list(words.values()))
    trainer = BpeTrainer(None, units, None, threads)
    if n_first:
        other = BpeTrainer(None, units)
        while other.step(n_first, min_count=min_count, max_work=work):
            pass
        trainer.resume(*other.merges())
    while trainer.step(size - len(alphabet), min_count=min_count, max_work=work):
        pass
    names = alphabet + [shown(piece) for piece in trainer.pieces().items()]
    return names, [(names[left], names[right]) for left, right in trainer.merges()[0].tolist()]


HEAVY = st.dictionaries(
    st.text("abĠÃ", min_size=1, max_size=30), st.integers(1, 3) | st.integers(1, 300), min_size=1, max_size=60
)


@given(
    HEAVY, st.sampled_from([8, 20, 60, 400]), st.integers(0, 9), st.integers(1, 4), st.sampled_from([1, 90, 1 << 20]),
    st.integers(0, 9),
)
@example(HARD, 400, 0, 2, 1, 0)
@example({word: 1000 * count for word, count in HARD.items()}, 30, 0, 1, 1 << 20, 3)
def test_merges_match_the_oracle(
    words: dict[str, int], size: int, min_count: int, threads: int, work: int, n_first: int
) -> None:
    expected = train_bpe_ids.train(words, "", size, min_count=min_count)
    n_first = min(n_first, size - len({*"".join(words)}))
    assert merged(words, size, min_count=min_count, threads=threads, work=work, n_first=n_first) == expected


# ----------------------------------------------------------------------------------------------------- models ----


@pytest.mark.parametrize("pattern", [*NAMES, r"\p{L}+|\p{N}{1,2}", r"[^\S\n]+|\S+|\n"])
@pytest.mark.parametrize("size", [300, 700, 3000])
def test_files_match_tokenizers(tmp_path: Path, pattern: str, size: int) -> None:
    special = [END, "<|pad|>"]
    options: dict[str, Any] = {"kind": "bpe", "pattern": pattern, "special_tokens": special}
    with pytest.warns(UserWarning) if size == 3000 else pytest.MonkeyPatch.context():
        native = pyunitok.train(iter(DOCS), vocab_size=size, out=tmp_path / "a.utk", **options)
    expected = of_tokenizers(DOCS, pattern, size, special)
    assert_same(tmp_path / "a.utk", expected)
    assert native.eod_id == 0 and native.vocab_size == expected.get_vocab_size() <= size
    for one in [*DOCS, "the  é日本\r\n\n 12345's"]:
        assert native.encode(one).tolist() == expected.encode(one, add_special_tokens=False).ids


@pytest.mark.filterwarnings("ignore::pyunitok.errors.ModelWarning")
def test_a_tokenizer_json(tmp_path: Path) -> None:
    """The file loads in `tokenizers` and in pyunitok, and equals the conversion of a native model."""
    options: dict[str, Any] = {"kind": "bpe", "pattern": "o200k", "vocab_size": 500}
    ours = pyunitok.train(iter(DOCS), out=tmp_path / "a.json", **options)
    pyunitok.train(iter(DOCS), out=tmp_path / "a.utk", **options)
    loaded = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_bytes()) == written(tmp_path / "a.utk")
    for one in [*DOCS, f"a{END}\n\nb"]:
        assert ours.encode(one).tolist() == loaded.encode(one, add_special_tokens=False).ids
    assert ours.decode(ours.encode(DOCS[0])) == DOCS[0]


@pytest.mark.parametrize("name, pattern", [
    ("en_web", "gpt2"), ("code", "cl100k"), ("zh", "llama3"), ("ja", "o200k"), ("ru", "qwen2"), ("ar", "o200k"),
    ("emoji", "gpt2"), ("multi", "cl100k"), ("logs", "qwen2"), ("hi", "llama3"),
])  # fmt: skip
def test_real_text_matches_tokenizers(tmp_path: Path, name: str, pattern: str) -> None:
    reader = zstandard.ZstdDecompressor().stream_reader(find_shared(f"corpora/{name}.txt.zst").read_bytes())
    one = reader.read(400_000).decode(errors="ignore")
    docs = [one[at : at + 5000] for at in range(0, len(one), 5000)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": doc}) + "\n" for doc in docs))
    pyunitok.train(
        tmp_path / "a.jsonl", kind="bpe", vocab_size=6000, pattern=pattern, out=tmp_path / "a.utk", threads=2
    )
    assert_same(tmp_path / "a.utk", of_tokenizers(docs, pattern, 6000))


def test_any_bytes(tmp_path: Path) -> None:
    docs = [b"\xff\xfe ab\xc3", b"\x80\x80\x80\x80", b"ab \xf0\x9f ab\x00\x00\x00"] * 20
    tokenizer = pyunitok.train(iter(docs), kind="bpe", vocab_size=262, pattern="gpt2", out=tmp_path / "a.utk")
    assert [tokenizer.decode_bytes(tokenizer.encode(doc)) for doc in docs] == docs
    assert b"\x80\x80" in {tokenizer.id_to_bytes(k) for k in range(tokenizer.vocab_size)}


# --------------------------------------------------------------------------- blocks, threads, memory, resuming ----


def test_blocks_threads_and_memory_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One document spans many blocks, without a newline at which it could be divided."""
    one = " ".join(DOCS).replace("\n", "  ") * 3
    (tmp_path / "a.txt").write_text(one, newline="")
    expected = of_tokenizers([one], "cl100k", 600)
    for k, (block_bytes, options) in enumerate([(1 << 20, {}), (100, {"threads": 3}), (64, {"max_memory": 300_000})]):
        monkeypatch.setattr(api, "ReadingOptions", partial(ReadingOptions, block_bytes=block_bytes))
        out = tmp_path / f"{k}.utk"
        pyunitok.train(tmp_path / "a.txt", kind="bpe", vocab_size=600, pattern="cl100k", out=out, **options)
        assert_same(out, expected)


def test_resumes_after_merges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text(" ".join(DOCS))
    options: dict[str, Any] = {"kind": "bpe", "vocab_size": 600, "pattern": "gpt2", "checkpoint": tmp_path / "c"}
    step, n_steps = BpeTrainer.step, 0

    def interrupted(self: BpeTrainer, n_pieces: int, **more: Any) -> bool:
        nonlocal n_steps
        n_steps += 1
        if n_steps == 5:
            raise KeyboardInterrupt
        return step(self, n_pieces, **{**more, "max_work": 2000})

    with monkeypatch.context() as patch:
        patch.setattr(BpeTrainer, "step", interrupted)
        patch.setattr(merging, "SAVE_SECONDS", 0)
        with pytest.raises(KeyboardInterrupt):
            pyunitok.train(tmp_path / "a.txt", out=tmp_path / "a.utk", **options)
    with np.load(tmp_path / "c/merges.npz") as saved:
        assert 0 < len(saved["counts"]) < 600 - 257
    pyunitok.train(tmp_path / "a.txt", out=tmp_path / "a.utk", **options)
    assert_same(tmp_path / "a.utk", of_tokenizers([" ".join(DOCS)], "gpt2", 600))


def test_resumes_after_counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": doc}) + "\n" for doc in DOCS))
    options: dict[str, Any] = {"kind": "bpe", "vocab_size": 600, "pattern": "gpt2", "checkpoint": tmp_path / "c"}

    def interrupted(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BpeTrainer, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pyunitok.train(tmp_path / "a.jsonl", out=tmp_path / "a.utk", **options)
    assert (tmp_path / "c/counts.npz").exists()
    with pytest.raises(TrainingError, match="pattern"):
        pyunitok.train(tmp_path / "a.jsonl", out=tmp_path / "a.utk", **{**options, "pattern": "qwen2"})
    with monkeypatch.context() as patch:
        patch.delattr(Segmenter, "add")  # the texts are not read again
        pyunitok.train(tmp_path / "a.jsonl", out=tmp_path / "a.utk", **options)
    assert_same(tmp_path / "a.utk", of_tokenizers(DOCS, "gpt2", 600))


# ---------------------------------------------------------------------------------------------------- options ----


def test_special_tokens_and_ids(tmp_path: Path) -> None:
    options: dict[str, Any] = {"kind": "bpe", "pattern": "gpt2", "vocab_size": 400}
    tokenizer = pyunitok.train(iter(DOCS), special_tokens=f'<s>,"a,b",<s>,{END}', out=tmp_path / "a.utk", **options)
    assert [tokenizer.id_to_piece(k) for k in range(4)] == ["<s>", "a,b", END, "!"]
    assert tokenizer.eod_id == 2 and tokenizer.vocab_size == 400
    names = "".join(bytes_of(c).decode("latin-1") for c in sorted(CHARACTERS))
    assert b"".join(tokenizer.id_to_bytes(3 + k) for k in range(256)) == names.encode("latin-1")
    without = pyunitok.train(iter(DOCS), special_tokens=[], out=tmp_path / "b.utk", **options)
    assert without.eod_id is None and without.encode("!").tolist() == [0]
    assert_same(tmp_path / "b.utk", of_tokenizers(DOCS, "gpt2", 400, []))


SPECIAL = ["<s>", "</s>", "<|a|>", "日本", "ab", "<unk>", "ba", "a b"]
WITH_SPECIAL = st.lists(st.text("ab<s>/| ", max_size=20) | st.sampled_from(SPECIAL), min_size=1, max_size=40)


@given(WITH_SPECIAL, st.permutations(SPECIAL), st.integers(0, 8), st.sampled_from([264, 270, 290]), st.integers(1, 3))
@example(["x<s>", "<s>y", "<s>y<s>"] * 3, SPECIAL, 1, 263, 1)  # (<s>, y) and (x, <s>) tie
@fewer(2)
def test_special_tokens_inside_words(words: list[str], special: list[str], n: int, size: int, threads: int) -> None:
    docs, pattern = ["".join(words), *words], r"\S+|\s+"
    if not "".join(docs):
        return
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = Path(folder) / "a.utk"
        options: dict[str, Any] = {"special_tokens": special[:n], "pattern": pattern, "threads": threads}
        native = pyunitok.train(iter(docs), kind="bpe", vocab_size=size, out=out, **options)
        expected = of_tokenizers(docs, pattern, size, special[:n])
        assert_same(out, expected)
        expected.encode_special_tokens = True
        assert [native.encode(one, special=False).tolist() for one in docs] == [
            expected.encode(one, add_special_tokens=False).ids for one in docs
        ]
        convert(out, Path(folder) / "a.json", "huggingface")
        loaded = pyunitok.Tokenizer.from_file(Path(folder) / "a.json")
        assert [loaded.encode(one, special=False).tolist() for one in docs] == [
            native.encode(one, special=False).tolist() for one in docs
        ]


def test_special_tokens_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = ["x<s> <s>y <s>y<s> a<|a|>b<|a|> " * 9, DOCS[0]]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": doc}) + "\n" for doc in docs))
    options: dict[str, Any] = {"kind": "bpe", "vocab_size": 290, "pattern": r"\S+|\s+", "special_tokens": SPECIAL}
    step, n_steps = BpeTrainer.step, 0

    def interrupted(self: BpeTrainer, n_pieces: int, **more: Any) -> bool:
        nonlocal n_steps
        n_steps += 1
        if n_steps == 12:
            raise KeyboardInterrupt
        return step(self, n_pieces, **{**more, "max_work": 1})

    with monkeypatch.context() as patch:
        patch.setattr(BpeTrainer, "step", interrupted)
        patch.setattr(merging, "SAVE_SECONDS", 0)
        with pytest.raises(KeyboardInterrupt):
            pyunitok.train(tmp_path / "a.jsonl", out=tmp_path / "a.utk", checkpoint=tmp_path / "c", **options)
    with np.load(tmp_path / "c/merges.npz") as saved:
        assert 2 < len(saved["counts"]) < 20
    pyunitok.train(tmp_path / "a.jsonl", out=tmp_path / "a.utk", checkpoint=tmp_path / "c", **options)
    assert_same(tmp_path / "a.utk", of_tokenizers(docs, options["pattern"], 290, SPECIAL))


def test_smaller_models_of_special_tokens(tmp_path: Path) -> None:
    """To measure smaller vocabularies, the report derives the models that training would produce."""
    docs, options = ["x<s> <s>y <s>y<s> ab abx" * 9], {"pattern": r"\S+|\s+", "special_tokens": ["<s>", "ab"]}
    pyunitok.train(iter(docs), kind="bpe", vocab_size=270, out=tmp_path / "a.utk", **options)
    vocabulary = Vocabulary.of(*open_model(tmp_path / "a.utk"))
    for n in range(1, 12):
        smaller = pyunitok.train(iter(docs), kind="bpe", vocab_size=258 + n, **options)
        other = pattern_bpe.first_merges(vocabulary, 2, n)
        assert other.encode(docs[0], special=False).tolist() == smaller.encode(docs[0], special=False).tolist()


def test_a_special_token_that_names_other_bytes() -> None:
    options: dict[str, Any] = {"kind": "bpe", "vocab_size": 300, "pattern": r"\s*\S+", "special_tokens": ["Ġa"]}
    pyunitok.train(iter(["xa b"] * 9), **options)
    with pytest.raises(TrainingError, match=r"'Ġa' is also the name of the bytes b' a'; the word b' ab' contains"):
        pyunitok.train(iter(["x ab"] * 9), **options)


@pytest.mark.parametrize("options, error, message", [
    ({"pattern": "gtp2"}, OptionError, "no pattern named 'gtp2'; did you mean gpt2"),
    ({"pattern": r"(a)\1"}, PatternError, "byte"),
    ({"kind": "unigram"}, OptionError, "pattern is for bpe models"),
    ({"compat": "sentencepiece"}, OptionError, "compat cannot be given with pattern; only byte_level,"),
    ({"split_by": "none"}, OptionError, "split_by cannot be given with pattern"),
    ({"control_symbols": "a"}, OptionError, "control_symbols cannot be given with pattern"),
    ({"max_sentencepiece_length": 9}, OptionError, "max_sentencepiece_length cannot be given with pattern"),
    ({"settings": {"unk_id": "3"}}, OptionError, "unk_id cannot be given with pattern"),
    ({"special_tokens": ["a"]}, OptionError, "'a' must have at least two bytes"),
    ({"special_tokens": ["Ġ"]}, OptionError, "'Ġ' is the name of a byte"),
    ({"pattern": None}, OptionError, "special_tokens requires pattern"),
    ({"vocab_size": 256}, TrainingError, "bytes and special tokens alone need 257"),
    ({"out": "a.model"}, OptionError, "name a byte-level model NAME.json"),
])  # fmt: skip
def test_invalid_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"kind": "bpe", "vocab_size": 400, "pattern": "gpt2", "special_tokens": [END]}
    with pytest.raises(error, match=message):
        pyunitok.train(iter(DOCS), **{**given, **options})
    assert not Path("a.model").exists()


def test_no_text() -> None:
    with pytest.raises(TrainingError, match="no text to train on"):
        pyunitok.train(iter([""]), kind="bpe", vocab_size=400, pattern="gpt2")


def test_min_frequency(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="pieces, not 3,000"):
        pyunitok.train(
            iter(DOCS), kind="bpe", vocab_size=3000, pattern="gpt2", min_frequency=20, out=tmp_path / "a.utk"
        )
    assert_same(tmp_path / "a.utk", of_tokenizers(DOCS, "gpt2", 3000, min_frequency=20))


def test_command(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(DOCS))
    out = tmp_path / "t.utk"
    arguments = ["train", "bpe", str(tmp_path / "a.txt"), "-o", str(out), "--vocab-size", "500", "--pattern", "cl100k"]
    done = CliRunner().invoke(cli, [*arguments, "--special-tokens", "<s>,</s>"], catch_exceptions=False)
    assert done.exit_code == 0 and "256 byte, 2 control" in done.output and f"written        {out}\n" in done.output
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "t.utk"}
    convert(out, tmp_path / "t.json", "huggingface")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "t.json")).token_to_id("</s>") == 1
    done = CliRunner().invoke(cli, [*arguments, "--overwrite", "--split-digits"])
    assert done.exit_code == 1 and "split_digits cannot be given with pattern" in str(done.exception)
    help_ = CliRunner().invoke(cli, ["train", "bpe", "--help"]).output
    assert "--pattern NAME|REGEX" in help_ and "--special-tokens" in help_
    assert "--pattern" not in CliRunner().invoke(cli, ["train", "unigram", "--help"]).output
