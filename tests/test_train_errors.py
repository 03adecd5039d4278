"""Errors of `train` and `vocab`: messages name the file and the remedy; exit codes."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from test_train_sentencepiece import text

import pyunitok
from pyunitok.cli import main
from pyunitok.disk.outfile import write_whole
from pyunitok.errors import NoTextError, OptionError, OutputError

LINES = text(11, 300)
KINDS = ["unigram", "bpe", "char", "word", "longest", "bytepiece"]


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str]:
    """Run the command; return its exit code and its output."""
    monkeypatch.setattr(sys, "argv", ["pyunitok", *map(str, arguments)])
    code: Any = 0
    try:
        main()
    except SystemExit as error:
        code = error.code
    printed = capsys.readouterr()
    return code, printed.out + printed.err


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    (tmp_path / "t.txt").write_text("\n".join(LINES))
    (tmp_path / "empty.txt").touch()
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: command(monkeypatch, capsys, *arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_no_text(run: Any, tmp_path: Path, kind: str) -> None:
    """Regression: `train longest` wrote a vocabulary trained on no text, with exit code 0."""
    code, printed = run("train", kind, "empty.txt", "-o", "m.model", "--vocab-size", "300")
    assert code == 1 and printed.startswith("error: empty.txt: there is no text to train on")
    assert not (tmp_path / "m.model").exists()
    with pytest.raises(NoTextError, match=r"^there is no text to train on"):
        pyunitok.train(iter([]), kind=kind, vocab_size=300)


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_pieces_than_requested(run: Any, kind: str) -> None:
    code, printed = run("train", kind, "t.txt", "-o", "m.model", "--vocab-size", "90000")
    assert code == 0 and "90,000 were requested; the text yields no more" in printed
    code, printed = run("train", kind, "t.txt", "-o", "n.model", "--vocab-size", "280")
    assert code == 0 and ("were requested" not in printed or kind in ("unigram", "char", "word"))


def test_folders_are_checked_before_training(run: Any, tmp_path: Path) -> None:
    code, printed = run("train", "bpe", "t.txt", "-o", "none/m.model", "--vocab-size", "300")
    assert code == 1 and "none/m.model: cannot be written: the folder none does not exist; create it first" in printed
    pytest.importorskip("matplotlib")
    code, printed = run("train", "bpe", "t.txt", "-o", "m.model", "--vocab-size", "300", "--report", "none/r.html")
    assert code == 1 and "the folder none does not exist" in printed and not (tmp_path / "m.model").exists()
    code, printed = run("vocab", "edit", "unitok-v1", "-o", "none/v.txt")
    assert code == 1 and "the folder none does not exist" in printed


@pytest.mark.parametrize("arguments", [
    ["--character-coverage", "7"], ["--set", "foo=1"], ["--set", "unk_id=abc"], ["--set", "foo"],
    ["--normalization-rule-name", "nope"],
])  # fmt: skip
def test_wrong_options_are_usage_errors(run: Any, arguments: list[str]) -> None:
    code, _ = run("train", "bpe", "t.txt", "-o", "m.model", "--vocab-size", "300", *arguments)
    assert code == 2


@pytest.mark.parametrize("setting", [
    "separator=x", "text_key=q", "model_type=unigram", "input=zzz", "max_memory=5", "threads=1", "kind=word",
    "vocab_size=9", "model_prefix=x", "num_threads=1", "checkpoint=x", "settings=x", "input_format=parquet",
])  # fmt: skip
def test_set_accepts_only_options_of_spm_train(run: Any, setting: str) -> None:
    """Regression: some of these had no effect, and some raised a TypeError."""
    code, printed = run("train", "bpe", "t.txt", "-o", "m.model", "--vocab-size", "300", "--set", setting)
    assert code == 2 and setting.partition("=")[0] in printed and "Traceback" not in printed
    assert not Path("m.model").exists()


def test_an_option_is_set_once(run: Any) -> None:
    arguments = ["train", "bpe", "t.txt", "-o", "m.model", "--vocab-size", "300", "--set", "character_coverage=1"]
    code, printed = run(*arguments, "--character-coverage", "0.9")
    assert code == 2 and "character_coverage is given twice" in printed
    assert run(*arguments)[0] == 0


def test_tsv_is_read_by_the_command(run: Any, tmp_path: Path) -> None:
    """Regression: with --set input_format=tsv, the counts were treated as text to train on."""
    spm = pytest.importorskip("sentencepiece")
    lines = [line for line in LINES if "\t" not in line]
    (tmp_path / "t.tsv").write_text("".join(f"{line}\t{k % 9 + 1}\n" for k, line in enumerate(lines)))
    options = ["--vocab-size", "300", "--compat", "sentencepiece", "--threads", "1", "--set", "input_format=tsv"]
    assert run("train", "bpe", "t.tsv", "-o", "m.model", *options)[0] == 0
    spm.SentencePieceTrainer.train(
        input="t.tsv", model_prefix="theirs", model_type="bpe", vocab_size=300, input_format="tsv", num_threads=1,
        minloglevel=2,
    )
    ours, theirs = (spm.SentencePieceProcessor(model_file=name) for name in ("m.model", "theirs.model"))
    assert [ours.id_to_piece(k) for k in range(300)] == [theirs.id_to_piece(k) for k in range(300)]


def test_a_model_records_only_the_options_given(run: Any) -> None:
    assert run("train", "bpe", "t.txt", "-o", "m.model", "--vocab-size", "300")[0] == 0
    from pyunitok.vocab import sentencepiece_proto

    proto = sentencepiece_proto.message("ModelProto").FromString(Path("m.model").read_bytes())
    assert not proto.trainer_spec.HasField("auto_character_coverage")


def test_the_number_of_pieces(run: Any) -> None:
    code, printed = run("train", "bpe", "t.txt", "-o", "m.model", "--vocab-size", str((1 << 24) + 1))
    assert code == 2 and "--vocab-size" in printed
    with pytest.raises(OptionError, match="vocab_size must be 1 to 16,777,216"):
        pyunitok.train(iter(LINES), kind="bpe", vocab_size=(1 << 24) + 1)
    with pytest.warns(UserWarning, match=r"has \d+ pieces, not 30,000: the text has too few repeated substrings"):
        pyunitok.train(iter(LINES), kind="bpe", vocab_size=30_000)


def test_include_and_exclude(run: Any, tmp_path: Path) -> None:
    """The message about binary data suggests both options."""
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/a.txt").write_text("\n".join(LINES))
    (tmp_path / "corpus/b.dat").write_bytes(bytes(range(256)) * 40)
    arguments = ["--vocab-size", "300"]
    for kind in ("bpe", "longest", "bytepiece"):
        code, printed = run("train", kind, "corpus/b.dat", "-o", f"{kind}.model", *arguments)
        assert code == 1 and "b.dat: binary data" in printed and "--exclude" in printed
        for option in (["--exclude", "*.dat"], ["--include", "*.txt"]):
            code, _ = run("train", kind, "corpus", "-o", f"{kind}.model", *arguments, *option, "--overwrite")
            assert code == 0


def test_a_device_is_not_replaced(run: Any, tmp_path: Path) -> None:
    """Regression: a device was replaced if the user had permission."""
    (tmp_path / "target").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "target"):
        with pytest.raises(OutputError, match=r"not a regular file|is a directory"):
            write_whole(tmp_path / name, b"x")
    code, _ = run("vocab", "edit", "unitok-v1", "--dry-run", "--json", "target")
    assert code == 1
    assert not (tmp_path / "pipe").is_file()


def test_vocab(run: Any) -> None:
    code, printed = run("vocab", "edit", "nofile", "-o", "v.txt")
    expected = "the model file 'nofile' does not exist; pass a file or one of the names unitok-v1 and rwkv-world"
    assert code == 1 and expected in printed
    code, printed = run("vocab", "edit", "unitok-v1", "-o", "v.utk", "--remove-unused", "empty.txt")
    assert code == 1 and "empty.txt: contains no text" in printed and not Path("v.utk").exists()
    code, printed = run("vocab", "edit", "unitok-v1", "-o", "v.utk", "--script", "Latin")
    assert code == 2 and "--add-words, --script" in printed


def test_help_lists_only_options_with_an_effect(run: Any) -> None:
    shown = {kind: run("train", kind, "--help")[1] for kind in KINDS}
    for kind, printed in shown.items():
        assert ("split-digits" in printed) == (kind in ("unigram", "bpe", "longest")), kind
        assert ("NAME.vocab" in printed) == (kind not in ("longest", "bytepiece")), kind
        assert ("--byte-level" in printed) == (kind in ("unigram", "bpe")), kind
        assert "--exclude" in printed and ("--closed-words" in printed) == (kind == "longest"), kind
    assert run("train", "char", "t.txt", "-o", "m.model", "--vocab-size", "300", "--split-digits")[0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_leaves_no_files(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Neither a partial model nor a .vocab file is left, because either would block the next attempt."""
    fsync, partial = os.fsync, tmp_path / "m.model.partial"

    def full(fd: int) -> None:
        if partial.exists() and os.path.samestat(os.fstat(fd), partial.stat()):
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(fd)

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(os, "fsync", full)
    code, printed = run("train", kind, "t.txt", "-o", "m.model", "--vocab-size", "280")
    assert code == 1 and "m.model: cannot be written: No space left on device" in printed
    assert sorted(tmp_path.iterdir()) == before
