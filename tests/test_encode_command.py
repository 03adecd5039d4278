"""The `encode` command on and off a terminal, and errors without tracebacks."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import commands
import pytest
from click.testing import CliRunner
from toys import models
from toys.sentencepieces import BPE, NORMAL, SPACE, UNIGRAM, WORD, make

from pyunitok import Tokenizer
from pyunitok.cli import cli
from pyunitok.cli.columns import columns
from pyunitok.errors import OptionError
from pyunitok.model.sampling import Sample


def test_columns() -> None:
    lines = list(columns(["1", "22", "4444", "5"], ["the", " a\n", "日", "\x1b\u200b\\"]))
    assert lines == ["1   22   4444 5", "the \u2423a\\n 日   \\x1b\\u{200b}\\\\"]
    assert list(columns([], [])) == ["", ""]


def on_terminal(folder: Path, *arguments: str, **environment: str) -> str:
    """The output of a command on a terminal of 30 columns."""
    leader, follower = pty.openpty()
    command, env = [sys.executable, "-m", "pyunitok", *arguments], commands.environment(COLUMNS="30", TERM="xterm")
    process = subprocess.Popen(command, cwd=folder, stdout=follower, stderr=follower, env=env | environment)
    os.close(follower)
    out = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
    process.wait()
    os.close(leader)
    return out.decode().replace("\r\n", "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    models.greedy("the", " cat", eod=None).save(tmp_path / "toy")
    return tmp_path


def test_on_a_terminal(folder: Path) -> None:
    plain = on_terminal(folder, "encode", "-m", "toy", "the cat\nthe cat sat, the", NO_COLOR="1")
    assert plain.splitlines() == [
        "256 257  10 256 257  32 115 97", "the \u2423cat \\n the \u2423cat \u2423  s   a",
        "116 44 32 256", "t   ,  \u2423  the",
    ]  # fmt: skip
    coloured = on_terminal(folder, "encode", "-m", "toy", "the cat", NO_COLOR="")
    assert "\x1b[30m\x1b[46mthe\x1b[0m" in coloured
    assert "\x1b[" not in on_terminal(folder, "encode", "-m", "toy", "the cat", TERM="dumb", NO_COLOR="")


SAMPLES = [
    ("toy", "alpha=0.1,seed=1", "greedy longest-prefix models encode a text in only one way"),
    ("word", "alpha=0.1,seed=1", "word models encode a text in only one way"),
    ("unigram", "alpha=0.1,seed=1,method=foo", "lattice or viterbi, not 'foo'"),
    ("unigram", "alpha=0.1,seed=1,method=dropout", "for this Unigram model must be lattice or viterbi, not 'dropout'"),
    ("unigram", "alpha=nan,seed=1", "alpha must be a finite number, not nan"),
    ("unigram", "alpha=0.1,seed=-1", "seed must be within 0..2"),
    ("unigram", "alpha=0.1,seed=18446744073709551616", "seed must be within 0..2"),
    ("unigram", "alpha=0.1,seed=1,nbest=2000", "nbest must be at most 1024, not 2000"),
    ("bpe", "alpha=2,seed=1", "alpha must be within 0..1 for BPE"),
    ("bpe", "alpha=0.1,seed=1,method=viterbi", "for this BPE model must be dropout, not 'viterbi'"),
]


@pytest.mark.parametrize(("name", "sample", "message"), SAMPLES)
def test_samples_that_cannot_be_drawn(name: str, sample: str, message: str, folder: Path) -> None:
    """Regression: each of these ended with a traceback."""
    piece = (SPACE + b"a", -1.0, NORMAL)
    for kind, number in (("word", WORD), ("unigram", UNIGRAM), ("bpe", BPE)):
        (folder / kind).write_bytes(make([piece], model_type=number).SerializeToString())
    (folder / "a.txt").write_text("a a")
    line = ["tokenize", str(folder / "a.txt"), "-m", str(folder / name), "-o", str(folder / "ids"), "--eod", "2"]
    result = CliRunner().invoke(cli, [*line, "--sample", sample])
    assert isinstance(result.exception, OptionError) and message in str(result.exception)
    values: dict[str, Any] = dict(part.split("=") for part in sample.split(","))
    kinds = {"alpha": float, "seed": int, "nbest": int, "method": str}
    values = {key: kinds[key](value) for key, value in values.items()}
    with pytest.raises(OptionError):
        Sample(**values).of(Tokenizer.from_file(folder / name), 0, 0)


def test_an_internal_error_has_no_traceback_by_default(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from pyunitok import Tokenizer; Tokenizer.encode = lambda *_: int('x');"
        "from pyunitok.cli import main; main()"
    )
    for is_shown in (False, True):
        env = commands.environment(PYUNITOK_TRACEBACK="1" * is_shown)
        done = commands.python(folder, "-c", code, "encode", "-m", "toy", "a", env=env)
        assert done.returncode == 1 and (b"Traceback" in done.stderr) == is_shown
        assert b"ValueError: invalid literal" in done.stderr
