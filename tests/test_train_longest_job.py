"""`train longest`: options, weights, sampling, formats; the trainer itself is tested in test_train_longest.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from test_train_longest import PROSE
from test_train_sentencepiece import text

import pyunitok
from pyunitok import Tokenizer
from pyunitok.cli.train import train as command
from pyunitok.errors import NoTextError, OptionError
from pyunitok.packed import Packed
from pyunitok.train.api import run
from pyunitok.train.longest import train_longest
from pyunitok.train.longest_job import SampledText

TEXT = "\n".join(text(11, 800))
WORDY = [PROSE[i : i + 60] for i in range(0, len(PROSE), 60)]


def pieces(tokenizer: Tokenizer) -> list[bytes]:
    return [tokenizer.id_to_bytes(i) for i in range(1, tokenizer.vocab_size)]


@pytest.mark.parametrize("name", ["m.txt", "m.utk"])
def test_command(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_bytes(b"\n".join(WORDY))
    out = tmp_path / name
    arguments = ["longest", str(tmp_path / "a.txt"), "-o", str(out), "--vocab-size", "300"]
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "300: 43 learned, 256 byte, 1 end of document" in done.output and "held out" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.txt", name])
    tokenizer = Tokenizer.from_file(out)
    assert tokenizer.vocab_size == 300 and tokenizer.eod_id == 0
    assert pieces(tokenizer) == sorted(pieces(tokenizer))
    assert out.read_bytes().startswith(b"1 '\\x00' 1\n") == (name == "m.txt")
    assert tokenizer.decode_bytes(tokenizer.encode(PROSE)) == PROSE


def test_rules_from_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    arguments = ["longest", str(tmp_path / "a.txt"), "-o", str(tmp_path / "m.utk"), "--vocab-size", "500"]
    for flags, options in (
        (["--closed-words"], {"closed_words": True}),
        (["--no-leading-spaces"], {"leading_spaces": False}),
    ):
        done = CliRunner().invoke(command, [*arguments, *flags, "--overwrite"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        expected = run(tmp_path / "a.txt", kind="longest", vocab_size=500, **options)  # type: ignore[arg-type]
        assert pieces(Tokenizer.from_file(tmp_path / "m.utk")) == pieces(expected.tokenizer)


def test_the_job_matches_the_trainer(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": TEXT}) + "\n" + json.dumps({"text": "and more"}))
    got = run(tmp_path / "a.jsonl", kind="longest", vocab_size=400, max_words=2, split_digits=True)
    from pyunitok._c.train_greedy import GreedyRules
    from pyunitok.train.longest import WeightedText

    held = b"\n".join(got.sample)
    documents = [TEXT.encode(), b"and more"]
    assert held == documents[-1]
    source = WeightedText(Packed.from_documents(documents[:-1]))
    rules = GreedyRules(max_words=2, max_digits=1, leading_spaces=1)
    assert pieces(got.tokenizer) == train_longest([source], 399, rules=rules)
    assert got.sizes[-1].n_tokens < got.sizes[0].n_tokens
    from_iterator = pyunitok.train(iter([TEXT]), kind="longest", vocab_size=400, max_words=2, split_digits=True)
    assert pieces(from_iterator) == pieces(got.tokenizer)


def test_options(tmp_path: Path) -> None:
    options: dict[str, Any] = {"kind": "longest", "vocab_size": 500}
    free = pieces(pyunitok.train(iter([TEXT]), **options))
    apart = pieces(pyunitok.train(iter([TEXT]), split_by="space", max_digits=2, max_piece_bytes=9, **options))
    assert any(b" " in piece.strip() for piece in free) and not any(b" " in piece[1:].strip() for piece in apart)
    assert max(map(len, apart)) <= 9

    def learned(**more: Any) -> list[bytes]:
        return [piece for piece in pieces(pyunitok.train(iter([TEXT]), **options, **more)) if len(piece) > 1]

    assert any(re.search(rb"[a-z] ", piece) for piece in learned())
    assert not any(re.search(rb"[a-z] ", piece) for piece in learned(closed_words=True))
    assert not any(piece.endswith(b" ") and piece.strip() for piece in learned())
    assert any(piece.endswith(b" ") and piece.strip() for piece in learned(leading_spaces=False))
    assert b"zyxwv" in pieces(pyunitok.train(iter([TEXT]), required=["zyxwv"], **options))


def test_weights_and_equal_bytes(tmp_path: Path) -> None:
    """The weights determine which of two languages gets more of the 33 learned pieces."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/1.txt").write_bytes(PROSE * 6)
    (tmp_path / "b.txt").write_bytes(b"".join(bytes(range(65, 91))[k % 26 : k % 26 + 4] + b"." for k in range(900)))
    inputs = [str(tmp_path / "a"), str(tmp_path / "b.txt")]

    def upper(**options: Any) -> int:
        tokenizer = pyunitok.train(inputs, kind="longest", vocab_size=290, **options)
        return sum(piece[0] < 91 for piece in pieces(tokenizer) if len(piece) > 1)

    plain, equal, light = upper(), upper(equal_bytes=True), upper(equal_bytes=True, weights={inputs[1]: 0.001})
    assert light <= plain < equal
    assert upper(weights={inputs[1]: 20.0}) > plain


@given(st.lists(st.lists(st.binary(max_size=9), max_size=5), max_size=6), st.integers(1, 40), st.integers(0, 3))
def test_sampling(batches: list[list[bytes]], limit: int, seed: int) -> None:
    """A sample fits within the limit, keeps the order of the text, and does not depend on batches."""
    documents = [document for batch in batches for document in batch]

    def kept(groups: list[list[bytes]]) -> tuple[list[bytes], SampledText]:
        sample = SampledText(limit, seed)
        for batch in groups:
            packed = Packed.from_documents(batch)
            sample.add(0, packed.data, packed.offsets)
        sources = sample.texts([1.0], equal=False, damping=7)
        assert all(source.damping == 7 for source in sources)
        return [item.tobytes() for source in sources for item in source.documents], sample

    one_by_one, sample = kept([[document] for document in documents])
    assert sum(map(len, one_by_one)) == sample.n_kept_bytes <= limit
    assert sample.n_bytes == sum(map(len, documents))
    rest = iter(documents)
    assert all(document in rest for document in one_by_one)
    if sample.n_bytes <= limit:
        assert [d for d in one_by_one if d] == [d for d in kept(batches)[0] if d] == [d for d in documents if d]


def test_a_sample_is_taken_if_memory_is_limited(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    trained = run(tmp_path / "a.txt", kind="longest", vocab_size=300, max_memory=40_000, separator=b"\n")
    (note,) = (value for name, value in trained.notes if name == "sampled")
    assert 5000 < int(note.split()[0].replace(",", "")) <= 20_000


@pytest.mark.parametrize("options, message", [
    ({"vocab_size": 256}, "257"), ({"split_by": "comma"}, "split_by"), ({"max_piece_bytes": 300}, r"1\.\.256"),
    ({"weights": {"nowhere": 1.0}}, "nowhere"), ({"weights": {"PATH": 0.0}}, "above 0"), ({"em": "viterbi"}, "em"),
    ({"to": "json"}, "native, rwkv"), ({"max_words": 0}, "max_words"),
])  # fmt: skip
def test_errors(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("some text")
    if "weights" in options:
        options["weights"] = {name.replace("PATH", str(path)): w for name, w in options["weights"].items()}
    with pytest.raises(OptionError, match=message):
        pyunitok.train(path, **{"kind": "longest", "vocab_size": 300, **options})


@pytest.mark.parametrize("weight", ["=2", "books", "books=heavy"])
def test_invalid_weights(tmp_path: Path, weight: str) -> None:
    arguments = ["longest", "a.txt", "-o", str(tmp_path / "m"), "--vocab-size", "300", "--weight", weight]
    assert CliRunner().invoke(command, arguments).exit_code == 2


def test_very_little_text() -> None:
    """A text without repeated pairs yields only bytes; no text is an error."""
    with pytest.raises(NoTextError):
        pyunitok.train(iter([""]), kind="longest", vocab_size=300)
    tokenizer = pyunitok.train(iter(["a"]), kind="longest", vocab_size=300)
    assert tokenizer.vocab_size == 257 and np.array_equal(tokenizer.encode("ab"), [98, 99])
