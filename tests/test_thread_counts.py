"""Invalid thread counts are errors. Regression: threads=0 sometimes meant the default, and sometimes one thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_cli import commands_of

import pyunitok
from pyunitok.cli import COMMANDS, cli
from pyunitok.corpus.reading import ReadingOptions
from pyunitok.errors import OptionError
from pyunitok.export.engines import write_engine_index
from pyunitok.index.build import build_index
from pyunitok.index.plan import Limits
from pyunitok.tokens.counting import count_ids
from pyunitok.tokens.stats import stats
from pyunitok.tokens.verify import verify
from pyunitok.tokens.verify_text import verify_text
from pyunitok.train.editing import edit_vocabulary
from pyunitok.train.longest import train_longest

TOK = pyunitok.Tokenizer.default()
CALLS: dict[str, Callable[[Path, int], Any]] = {
    "tokenize": lambda ids, n: pyunitok.tokenize(str(ids), ids.with_suffix(".new"), threads=n),
    "tokenize on a cluster": lambda ids, n: pyunitok.tokenize(
        str(ids), ids.with_suffix(".new"), ray="local", threads=n
    ),
    "train": lambda ids, n: pyunitok.train(iter(["a"]), kind="bpe", vocab_size=300, threads=n),
    "train bytepiece": lambda ids, n: pyunitok.train(iter(["a"]), kind="bytepiece", vocab_size=300, threads=n),
    "train longest": lambda ids, n: pyunitok.train(iter(["a"]), kind="longest", vocab_size=300, threads=n),
    "train_longest": lambda ids, n: train_longest([], 300, threads=n),
    "edit": lambda ids, n: edit_vocabulary("rwkv-world", None, threads=n),
    "encode_batch": lambda ids, n: TOK.encode_batch(["a"], threads=n),
    "verify": lambda ids, n: verify(pyunitok.open(ids), TOK, threads=n),
    "verify_text": lambda ids, n: verify_text(pyunitok.open(ids), TOK, [], threads=n),
    "stats": lambda ids, n: stats(pyunitok.open(ids), threads=n),
    "count_ids": lambda ids, n: count_ids(pyunitok.open(ids).ids, threads=n),
    "decontaminate": lambda ids, n: pyunitok.decontaminate(
        ids.with_name("a.txt"), ids.with_name("clean"), ids.with_name("a.txt"), reading=ReadingOptions(threads=n)
    ),
    "deduplicate": lambda ids, n: pyunitok.deduplicate(
        ids.with_name("a.txt"), ids.with_name("clean"), reading=ReadingOptions(threads=n)
    ),
    "build_index": lambda ids, n: build_index([ids], ids.with_suffix(".index"), threads=n),
    "index for tokengrams": lambda ids, n: write_engine_index(
        pyunitok.open(ids), "tokengrams", ids.with_suffix(".grams"), limits=Limits(), threads=n
    ),
}


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    (folder / "a.txt").write_text("one two")
    pyunitok.tokenize(str(folder / "a.txt"), folder / "ids")
    return folder / "ids"


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("threads", [0, -1])
def test_calls_reject_invalid_numbers(ids: Path, name: str, threads: int) -> None:
    before = sorted(ids.parent.iterdir())
    with pytest.raises(OptionError, match=f"threads must be at least 1, not {threads}; omit it to use every core"):
        CALLS[name](ids, threads)
    assert sorted(ids.parent.iterdir()) == before


TAKING = [names for names, command in commands_of(cli) if any("--threads" in p.opts for p in command.params)]


@pytest.mark.parametrize("words", TAKING, ids=" ".join)
def test_commands_reject_invalid_numbers(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*words, "--threads", "0"])
    assert result.exit_code == 2 and "'--threads': 0 is not in the range x>=1" in result.output


def test_commands_with_threads() -> None:
    taking = {"decontaminate", "deduplicate", "duplicates", "index", "stats", "tokenize", "train", "verify", "vocab"}
    assert {words[0] for words in TAKING} == taking <= set(COMMANDS)
