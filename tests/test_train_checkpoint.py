"""Checkpoints of trainings: killed anywhere and started again, the model is the same; full disks; changed inputs."""

from __future__ import annotations

import os
import resource
import signal
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from test_train_sentencepiece import text

import pyunitok
from pyunitok.cli.train import train as command
from pyunitok.errors import OptionError, OutputError, TrainingError
from pyunitok.train import checkpoint, counting, merging
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.native import Units

LINES = text(11, 500)
KINDS: dict[str, dict[str, Any]] = {
    "unigram": {"kind": "unigram", "vocab_size": 190},
    "compat": {"kind": "unigram", "vocab_size": 190, "compat": "sentencepiece", "hard_vocab_limit": False},
    "tokens": {"kind": "unigram", "vocab_size": 190, "objective": "tokens", "split_by": "none"},
    "bytes": {"kind": "bpe", "vocab_size": 600, "byte_level": True, "to": "native"},
    "bpe": {"kind": "bpe", "vocab_size": 300}, "word": {"kind": "word", "vocab_size": 100},
    "longest": {"kind": "longest", "vocab_size": 400}, "bytepiece": {"kind": "bytepiece", "vocab_size": 400},
}  # fmt: skip


def child(work: Callable[[], object]) -> int | str:
    """What becomes of work() in a process of its own: the signal that killed it, 0, or what it raised."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:  # the parent shall hear of everything
            os.write(writer, f"{type(error).__name__}: {error}\n{traceback.format_exc()}"[:9000].encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read()
    _, status = os.waitpid(pid, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else said or 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for k in range(3):
        (tmp_path / f"{k}.txt").write_text("\n".join(LINES[k::3]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(kills: int | None = None, **options: Any) -> None:
    """SIGKILL at the call of that number, of progress or of what saves a checkpoint."""
    left = [kills if kills is not None else -1]

    def count_down(*_: object) -> None:
        left[0] -= 1
        if left[0] == -1:
            os.kill(os.getpid(), signal.SIGKILL)

    replace = Path.replace

    def replaced(self: Path, target: Path) -> Path:
        count_down()  # written in whole, but not yet there
        ret = replace(self, target)
        count_down()
        return ret

    if kills is not None:
        Path.replace = replaced  # type: ignore[method-assign,assignment]
    paths = [f"{k}.txt" for k in range(3)]
    pyunitok.train(paths, out="m.model", progress=count_down, threads=1, checkpoint="c", **options)


QUICK = ("unigram", "bpe", "longest")


@pytest.mark.parametrize("name", [k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in KINDS])
def test_killed_and_resumed(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each run is killed a little later than the one before; what it finds of those before it only helps."""
    monkeypatch.setattr(merging, "SAVE_SECONDS", 0)
    monkeypatch.setattr(merging, "STEP_WORK", 1000)
    options = KINDS[name]
    train(**options)
    expected = Path("m.model").read_bytes()
    assert not Path("c").exists()
    Path("m.model").unlink()
    n_kills, at = 0, 0
    while (status := child(partial(train, at, **options))) == signal.SIGKILL:
        assert not Path("m.model").exists() or Path("m.model").read_bytes() == expected
        n_kills, at = n_kills + 1, at + (1 if n_kills < 6 else 3)
    assert status == 0, status
    assert n_kills >= 6 and Path("m.model").read_bytes() == expected
    assert not Path("c").exists() and not list(folder.glob("*.partial"))


def test_what_is_done_is_not_done_again(folder: Path) -> None:
    """Killed after the counting: the second run has no such phase, and reports what the first one saw."""
    options = {**KINDS["unigram"], "max_sentence_length": 60}
    seen: list[str] = []

    def kill_after_seeds(phase: str, done: int, total: int) -> None:
        if phase.startswith("expectation"):
            os.kill(os.getpid(), signal.SIGKILL)

    def run(progress: Any) -> Any:
        return pyunitok.train.api.run("0.txt", out="m.model", progress=progress, checkpoint="c", **options)  # type: ignore[attr-defined]

    assert child(lambda: run(kill_after_seeds)) == signal.SIGKILL
    assert {path.name for path in Path("c").iterdir()} >= {"training.json", "counts.npz", "seeds.npz"}
    got = run(lambda phase, done, total: seen.append(phase.partition(",")[0]))
    assert "count" not in seen and "seeds" not in seen and "expectation" in seen
    fresh = pyunitok.train.api.run("0.txt", out="m.model", **options)  # type: ignore[attr-defined]
    assert got.notes == fresh.notes and got.sample == fresh.sample and fresh.job.stats.n_too_long
    assert got.sizes == fresh.sizes


def train_bpe(progress: Any, **more: Any) -> None:
    pyunitok.train("0.txt", out="m.model", progress=progress, **KINDS["bpe"], **more)


@pytest.fixture
def killed_among_merges(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a killed training has kept of its merges."""
    monkeypatch.setattr(merging, "SAVE_SECONDS", 0)
    monkeypatch.setattr(merging, "STEP_WORK", 100)

    def kill(phase: str, n: int, total: int) -> None:
        if phase == "merge" and n > 120:
            os.kill(os.getpid(), signal.SIGKILL)

    assert child(lambda: train_bpe(kill, checkpoint="c")) == signal.SIGKILL
    return Path("c/merges.npz")


def test_merges_are_not_made_again(killed_among_merges: Path) -> None:
    """Killed among the merges: the second run begins with those of the last checkpoint."""
    done: list[int] = []
    train_bpe(lambda *_: None)
    expected = Path("m.model").read_bytes()
    with np.load(killed_among_merges) as file:
        n_kept = len(file["counts"])
    train_bpe(lambda phase, n, total: done.append(n) if phase == "merge" else None, checkpoint="c")
    assert 100 < n_kept <= done[0] and Path("m.model").read_bytes() == expected


@pytest.mark.parametrize("damage", ["empty", "cut", "a merge twice", "a symbol"])
def test_damaged_merges(killed_among_merges: Path, damage: str) -> None:
    path = killed_among_merges
    if damage in ("empty", "cut"):
        path.write_bytes(path.read_bytes()[: 100 if damage == "cut" else 0])
    else:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        arrays["symbols"][-1] = arrays["symbols"][0] if damage == "a merge twice" else 1 << 20
        with path.open("wb") as out:
            np.savez(out, **arrays)
    with pytest.raises(TrainingError, match=r"merges.npz is damaged .*: remove c to start again"):
        train_bpe(lambda *_: None, checkpoint="c")


def test_another_training_is_refused(folder: Path) -> None:
    options = KINDS["unigram"]
    assert child(lambda: train(5, **options)) == signal.SIGKILL
    with pytest.raises(TrainingError, match="vocab_size was 190 and is 191"):
        train(**{**options, "vocab_size": 191})
    with pytest.raises(TrainingError, match="prior was not there and is 'mle'"):
        train(**options, prior="mle")
    with pytest.raises(TrainingError, match="kind was unigram and is bpe"):
        train(**KINDS["bpe"])
    Path("1.txt").write_text("changed")
    with pytest.raises(TrainingError, match=r"the input 1.txt was \d+ bytes, changed at \d+ and is 7 bytes"):
        train(**options)
    Path("1.txt").unlink()
    Path("1.txt").write_text("\n".join(LINES[1::3]))
    with pytest.raises(TrainingError, match=r"the input 1.txt was"):  # as large, but changed later
        train(**options)


def test_rules_in_a_file_that_changed(folder: Path) -> None:
    Path("rules.tsv").write_text("41\t61\n")
    options = {**KINDS["bpe"], "normalization_rule_tsv": "rules.tsv"}
    assert child(lambda: train(3, **options)) == signal.SIGKILL
    Path("rules.tsv").write_text("42\t62\n")
    with pytest.raises(TrainingError, match="the content of normalization_rule_tsv was"):
        train(**options)


def test_folders_that_are_none(folder: Path) -> None:
    Path("c").mkdir()
    Path("c/mine.txt").write_text("x")
    with pytest.raises(TrainingError, match=r"mine.txt, which is not part of a checkpoint"):
        train(**KINDS["bpe"])
    assert Path("c/mine.txt").exists()
    with pytest.raises(OutputError, match="cannot create the checkpoint folder"):
        pyunitok.train("0.txt", checkpoint="0.txt", **KINDS["bpe"])
    for texts in (iter(["a"]), "-"):
        with pytest.raises(OptionError, match="checkpoint"):
            pyunitok.train(texts, checkpoint="d", **KINDS["bpe"])


@pytest.mark.parametrize("name", ["counts.npz", "training.json"])
@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damage(folder: Path, name: str, damage: str) -> None:
    options = KINDS["unigram"]
    assert child(lambda: train(12, **options)) == signal.SIGKILL
    path = Path("c", name)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[len(data) // 2 :]
    else:
        first = data.find(b"\x93NUMPY")  # the header of an array is 128 bytes long; not every byte of a zip matters
        data[first + 128 if first >= 0 else len(data) // 2] ^= 0x80
    path.write_bytes(data)
    with pytest.raises(TrainingError, match="remove"):
        train(**options)


def test_two_at_once(folder: Path) -> None:
    with Checkpoint("c", {}), pytest.raises(OutputError, match="another process"):
        Checkpoint("c", {})


def test_save_and_load(tmp_path: Path) -> None:
    units = Units.pack([b"a", b"", b"\xff\x00"], [1, 1 << 63, 0])
    with Checkpoint(tmp_path / "c", {"a": 1}) as kept:
        assert kept.load("counts") is None
        kept.save("counts", checkpoint.pack("x", units), [1, "b"])
        arrays, values = kept.load("counts") or ({}, None)
        assert values == [1, "b"]
        again = checkpoint.unpack("x", arrays)
        assert again.items() == units.items() and again.counts.tolist() == units.counts.tolist()
        kept.remove()
    assert not (tmp_path / "c").exists()


def limited(n_bytes: int, work: Callable[[], object]) -> Callable[[], object]:
    """No file may grow beyond this: what a full disk is to a program."""

    def run() -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        return work()

    return run


@pytest.mark.parametrize("what, options", [
    ("raise --max-memory", {"max_memory": 200_000}), ("counts.npz: cannot be written", {"checkpoint": "c"}),
    ("m.vocab: cannot be written", {}),
])  # fmt: skip
def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch, what: str, options: dict[str, Any]) -> None:
    """Spilled counts, a checkpoint, the model: each says what to do, and no model is left."""
    monkeypatch.setattr(counting, "RUN_BLOCK_BYTES", 64)
    paths = ["0.txt", "1.txt"]

    def work() -> object:
        return pyunitok.train(paths, out="m.model", kind="bpe", vocab_size=300, threads=1, **options)

    if "max_memory" in options:
        noise = np.random.default_rng(1).integers(97, 123, 200_000, np.uint8).tobytes()
        Path("0.txt").write_bytes(b"\n".join(noise[i : i + 40] for i in range(0, len(noise), 40)))
    said = child(limited(512, work))
    assert isinstance(said, str) and said.startswith("OutputError") and what in said.splitlines()[0], said
    assert not Path("m.model").exists() and not Path("m.model.partial").exists()


def test_command(folder: Path) -> None:
    arguments = ["bpe", "0.txt", "-o", "m.model", "--vocab-size", "300", "--checkpoint", "c"]
    assert CliRunner().invoke(command, arguments, catch_exceptions=False).exit_code == 0
    assert Path("m.model").exists() and not Path("c").exists()
