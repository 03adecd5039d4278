"""tokenize --format writes only the files of the format, and writes them once, despite interruptions."""

import itertools
import json
import os
from pathlib import Path

import pytest
import readers
from click.testing import CliRunner
from test_cli import pyunitok as command
from toys import models

import pyunitok
from pyunitok.cli import cli
from pyunitok.export import FORMATS, Options, direct, module


@pytest.fixture
def folder(tmp_path):
    models.greedy().save(tmp_path / "toy")
    (tmp_path / "a.txt").write_bytes(b"ab|c")
    (tmp_path / "out").mkdir()
    return tmp_path


def run(folder, *more, code=0):
    arguments = ["tokenize", "a.txt", "-o", "out/ids", "-m", "toy", "--doc", "|", *more]
    return command(folder, *arguments, code=code).stderr.decode()


def names(folder):
    return {path.name for path in (folder / "out").iterdir()}


@pytest.mark.parametrize("to", FORMATS)
def test_every_format(folder, to):
    printed = run(folder, "--format", to)
    assert "2 documents" in printed
    assert names(folder) == {*module(to).names(Options("ids")), "ids.json"}
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (folder / "out").iterdir()}
    assert "already complete" in run(folder, "--format", to)
    assert before == {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (folder / "out").iterdir()}


def test_the_exported_tokens(folder):
    run(folder, "--format", "megatron", "--keep-tokens")
    assert readers.megatron(folder / "out", "ids") == [[97, 98, 300], [99, 300]]
    assert names(folder) == {"ids", "ids.ends", "ids.json", "ids.bin", "ids.idx"}
    assert (folder / "out/ids").stat().st_ino == (folder / "out/ids.bin").stat().st_ino
    assert pyunitok.open(folder / "out/ids").text(0) == "ab"
    assert "already complete" in run(folder, "--format", "megatron", "--keep-tokens")


def test_another_command_is_rejected(folder):
    run(folder, "--format", "nanogpt", "--val-fraction", "0.3")
    assert readers.nanogpt(folder / "out") == ([97, 98, 300], [99, 300])
    assert "exists; --overwrite" in run(folder, "--format", "nanogpt", code=1)
    assert "--overwrite starts again" in run(folder, "--format", "megatron", code=1)
    (folder / "a.txt").write_bytes(b"x|y")
    printed = run(folder, "--format", "nanogpt", "--val-fraction", "0.3", code=1)
    assert "input 1" in printed and "--overwrite starts again" in printed
    run(folder, "--format", "nanogpt", "--val-fraction", "0.3", "--overwrite")
    assert readers.nanogpt(folder / "out") == ([120, 300], [121, 300])
    (folder / "out/val.bin").write_bytes(b"")
    assert "no longer has 4 bytes" in run(folder, "--format", "nanogpt", "--val-fraction", "0.3", code=1)


def test_existing_files_are_detected_before_any_work(folder):
    (folder / "out/ids.idx").write_bytes(b"dear")
    assert "exists; --overwrite" in run(folder, "--format", "megatron", code=1)
    assert names(folder) == {"ids.idx"}
    assert "also writes a file named ids.bin" in command(
        folder, "tokenize", "a.txt", "-o", "out/ids.bin", "-m", "toy", "--format", "megatron", code=1
    ).stderr.decode()
    assert "does not apply to megatron" in run(folder, "--format", "megatron", "--shards", "2", code=1)
    assert "require --format" in run(folder, "--val-fraction", "0.1", code=2)


def killed_at(k, arguments):
    """Run the command in a process that dies before its k-th write or rename; return whether it died."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    calls = 0
    try:
        for owner, name in [(Path, "replace"), (Path, "unlink"), (direct, "write_whole"), (direct, "sync_folder")]:
            original = getattr(owner, name)

            def step(*args, original=original, **options):
                nonlocal calls
                calls += 1
                if calls == k:
                    os._exit(9)
                return original(*args, **options)

            setattr(owner, name, step)
        os._exit(CliRunner().invoke(cli, arguments).exit_code)
    finally:
        os._exit(8)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("to", ["megatron", "infini-gram"])
def test_killed_anywhere_and_resumed(folder, monkeypatch, to):
    """If the process dies at any step, running the same command again finishes the work."""
    monkeypatch.chdir(folder)
    arguments = ["tokenize", "a.txt", "-o", "out/ids", "-m", "toy", "--doc", "|", "--format", to]
    expected = None
    for k in itertools.count():
        for path in (folder / "out").iterdir():
            path.unlink()
        died = killed_at(k, arguments)
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, (k, result.output)
        found = {path.name: path.read_bytes() for path in (folder / "out").iterdir() if path.name != "ids.json"}
        expected = expected or found
        assert found == expected, k
        assert json.loads((folder / "out/ids.json").read_text())["exported"]["files"]
        if k and not died:
            break
    assert k > 8
