"""SentencePieceTrainer writes the same files as sentencepiece for the same calls."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from test_train_sentencepiece import text

import pyunitok.compat.sentencepiece as compat
from pyunitok.errors import TrainingError


@pytest.fixture()
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(text(7, 400)))
    return path


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_files(corpus: Path, kind: str) -> None:
    outputs = []
    for module in (sentencepiece, compat):
        prefix = corpus.with_name("m")  # the same for both, because the model contains the prefix
        module.SentencePieceTrainer.Train(
            f"--input={corpus} --model_prefix={prefix} --vocab_size=300 --model_type={kind} --num_threads=1"
            " --hard_vocab_limit=false --minloglevel=2"
        )
        outputs.append([prefix.with_suffix(end).read_bytes() for end in (".model", ".vocab")])
    assert outputs[0] == outputs[1]


def test_keywords_and_callbacks(corpus: Path) -> None:
    def options(module: Any) -> dict[str, Any]:
        return {
            "model_type": "unigram", "vocab_size": 250, "num_threads": 1, "hard_vocab_limit": False, "minloglevel": 2,
            "user_defined_symbols": ["a,b", '"', "<x>"], "pretokenizer": lambda line: line.split("a", 1),
            "allow_inconsistent_pretokenization": True,
            "normalizer": module.SentencePieceNormalizer(rule_name="identity", add_dummy_prefix=False),
        }  # fmt: skip

    outputs = []
    for module in (sentencepiece, compat):
        with corpus.open("rb") as file:
            out = io.BytesIO()
            module.SentencePieceTrainer.train(sentence_iterator=file, model_writer=out, **options(module))
            outputs.append(out.getvalue())
    assert outputs[0] == outputs[1]
    compat.SentencePieceProcessor(model_proto=outputs[1])


def test_logstream(corpus: Path) -> None:
    log, out = io.StringIO(), io.BytesIO()
    compat.SentencePieceTrainer.train(
        input=[corpus], model_writer=out, vocab_size=300, hard_vocab_limit=False, logstream=log
    )
    assert log.getvalue().startswith("count\n")


@pytest.mark.parametrize("options, message", [
    ({"model_prefix": "m"}, "input files"), ({"input": "x", "sentence_iterator": ["x"], "model_prefix": "m"}, "either"),
    ({"input": "x"}, "model_prefix"), ({"input": "/nowhere", "model_prefix": "m"}, "/nowhere"),
    ({"sentence_iterator": ["x"], "model_prefix": "m", "normalizer": None, "no_such": 1}, "no_such"),
])  # fmt: skip
def test_errors(options: dict[str, Any], message: str) -> None:
    for expected in (TrainingError, RuntimeError, ValueError):
        with pytest.raises(expected, match=message):
            compat.SentencePieceTrainer.train(**options)
    with pytest.raises(TypeError, match="str or bytes"):
        compat.SentencePieceTrainer.train(sentence_iterator=[1], model_writer=io.BytesIO())
    with pytest.raises(TrainingError, match="normalizer"):
        compat.SentencePieceTrainer.train(
            sentence_iterator=["x"], model_writer=io.BytesIO(), add_dummy_prefix=True,
            normalizer=compat.SentencePieceNormalizer(rule_name="identity"),
        )  # fmt: skip


def test_failed_training_leaves_no_files(corpus: Path) -> None:
    with pytest.raises(TrainingError, match="too high"):
        compat.SentencePieceTrainer.train(input=[corpus], model_prefix=corpus.with_name("m"), vocab_size=30000)
    assert [path.name for path in corpus.parent.iterdir()] == ["corpus.txt"]
