"""Error messages for new users: each names the file and says what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import commands
import pytest

from pyunitok.corpus import inputs, sniff
from pyunitok.disk import remote
from pyunitok.errors import InputError, OutputError
from pyunitok.export.files import Folder


def stderr_of(folder: Path, *arguments: str, code: int = 1) -> str:
    done = commands.run(folder, *arguments)
    assert done.returncode == code, done.stderr.decode()
    return done.stderr.decode()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "c.jsonl").write_text('{"text": "the quick brown fox"}\n')
    commands.run(tmp_path, "tokenize", "c.jsonl", "-o", "ids.u16")
    return tmp_path


def test_a_mistyped_command(corpus: Path) -> None:
    printed = stderr_of(corpus, "serach", "idx", code=2)
    assert printed.endswith("error: unknown command 'serach'; did you mean 'search'?\n")
    assert "did you mean" not in stderr_of(corpus, "qqqqq", code=2)


@pytest.mark.parametrize("arguments", [("tokenize",), ("tokenize", "--nope"), ("search", "idx"), ("nothing",)])
def test_every_error_has_the_same_prefix(corpus: Path, arguments: tuple[str, ...]) -> None:
    printed = stderr_of(corpus, *arguments, code=2)
    assert "\nerror: " in printed and "Error" not in printed and printed.startswith("Usage: ")


def test_unquoted_query_words_get_advice(corpus: Path) -> None:
    stderr_of(corpus, "index", "ids.u16", "-o", "idx", code=0)
    assert "pyunitok search idx 'the quick fox'" in stderr_of(corpus, "search", "idx", "the", "quick", "fox", code=2)


@pytest.mark.parametrize("command", ["index c.jsonl -o idx", "stats c.jsonl", "export c.jsonl --to npy -o x"])
def test_text_must_be_tokenized_first(corpus: Path, command: str) -> None:
    printed = stderr_of(corpus, *command.split())
    assert "c.jsonl is text, not tokens" in printed and "pyunitok tokenize c.jsonl -o ids.u16" in printed


def test_one_document_is_singular(corpus: Path) -> None:
    assert "1 document, " in stderr_of(corpus, "index", "ids.u16", "-o", "idx", code=0)
    assert b"1 document, " in commands.run(corpus, "inspect", "ids.u16").stdout


def test_utf16(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_bytes("hello there\n".encode("utf-16"))
    printed = stderr_of(tmp_path, "tokenize", "a b.txt", "-o", "ids.u16")
    assert "a b.txt: UTF-16 text, not UTF-8 text; convert it first: iconv" in printed
    assert "--input-format" not in printed
    assert "iconv" not in str(sniff.not_text("a", "a PNG image"))


class Refusing:
    """An fsspec file system whose server does not answer; `cause` is the underlying error."""

    def __init__(self, cause: Exception | None) -> None:
        self._cause = cause

    def invalidate_cache(self) -> None:
        pass

    def info(self, path: str) -> Any:
        raise FileNotFoundError(path) from self._cause


@pytest.mark.slow
@pytest.mark.parametrize("status", [None, 403, 404])
def test_a_network_failure_is_not_a_missing_file(monkeypatch: pytest.MonkeyPatch, status: int | None) -> None:
    cause: Any = ValueError("Cannot connect to host")
    if status is not None:
        cause.status = status
    monkeypatch.setattr(remote, "file_system", lambda url: (Refusing(cause), url))
    with pytest.raises(InputError) as caught:
        inputs.find(["https://example.com/a.jsonl"])
    assert ("no such file" in str(caught.value)) == (status == 404)
    assert ("cannot be listed: Cannot connect" in str(caught.value)) == (status != 404)


def test_an_export_to_a_full_disk_names_the_file(tmp_path: Path) -> None:
    """Regression: closing the file flushed its buffer, which raised the error again without the file name."""
    folder, message = Folder(tmp_path / "out"), r"out/x: cannot be written: No space left on device"
    with pytest.raises(OutputError, match=message), folder.write("x") as file:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, file.fileno())
        file.write(b"some bytes")


def test_an_os_error_names_the_file(corpus: Path) -> None:
    printed = stderr_of(corpus, "index", "ids.u16", "-o", "/proc/idx")
    assert printed == "error: /proc/idx: No such file or directory\n"
