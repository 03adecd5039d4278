"""The table of trainers: train() and the command support a new trainer once it has a row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from toys import models

import pyunitok
from pyunitok.cli import cli
from pyunitok.errors import OptionError
from pyunitok.packed import Packed
from pyunitok.train import options
from pyunitok.train.options import option
from pyunitok.train.sources import Corpus
from pyunitok.train.trained import Trained
from pyunitok.train.trainer import Trainer, Training
from pyunitok.train.trainers import TRAINERS
from pyunitok.vocab import native


@dataclass
class LinesOptions:
    most_bytes: int = option(9, "Maximum bytes in a piece.", least=1, most=20, section="Pieces")
    case: str = option("as-is", "Case of letters.", type=("as-is", "lower"), section="Pieces")


def train_lines(training: Training, given: dict[str, Any]) -> Trained:
    """A trainer whose pieces are the first lines of the texts."""
    chosen = options.read(LinesOptions, given, "made-up")
    source = training.source(hold=False)
    assert isinstance(source, Corpus) and training.out is not None
    text = b"".join(bytes(item) for block, offsets in source.blocks() for item in Packed(block.data, offsets))
    lines = (text.lower() if chosen.case == "lower" else text).split(b"\n")
    pieces = list(dict.fromkeys(line for line in lines if 1 < len(line) <= chosen.most_bytes))
    pieces = pieces[: training.sizes[0] - 256]
    made = models.greedy(*pieces, eod=None, name="made up")
    tokenizer = training.write({training.out: native.write(made.codec.model, made.codec.about)})
    return training.trained(tokenizer, pieces, {"learned": len(pieces), "byte": 256}, [], [], len(text), source)


def test_a_made_up_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Trainer("lines", "Train on lines.", options.options_of(LinesOptions), train_lines, out_help="Made up.")
    monkeypatch.setitem(TRAINERS, "lines", row)
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("Hello\nWORLD\nlonger than nine\nx")

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(cli, ["train", *arguments])
        assert done.exit_code == code, (done.output, done.exception)
        return done.output + str(done.exception or "")

    assert "lines" in run("--help") and "Train on lines." in run("--help")
    shown = run("lines", "--help")
    assert "Made up." in shown and "Pieces:" in shown and "--case [as-is|lower]" in shown and "[default: 9; " in shown
    arguments = ["lines", "a.txt", "-o", "m.utk", "--vocab-size", "258", "--checkpoint", "c"]
    assert "258: 2 learned, 256 byte" in run(*arguments, "--case", "lower")
    assert pyunitok.Tokenizer.from_file("m.utk").piece_to_id("world") == 257
    assert run(*arguments, "--case", "lower") == "already complete: m.utk\n"
    assert "99 is not in the range" in run(*arguments, "--most-bytes", "99", code=2)
    with pytest.raises(OptionError, match=r"most_bytes is 99; it must be within 1\.\.20"):
        pyunitok.train("a.txt", kind="lines", vocab_size=258, most_bytes=99)
    with pytest.raises(OptionError, match="there is no option em for made-up models"):
        pyunitok.train("a.txt", kind="lines", vocab_size=258, em="viterbi")
    tokenizer = pyunitok.train("a.txt", kind="lines", vocab_size=257, out="n.utk")
    assert tokenizer.vocab_size == 257 and tokenizer.piece_to_id("Hello") == 256
