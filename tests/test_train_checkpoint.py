"""Checkpoints of training: a killed run resumes and writes an identical model; full disks; changed inputs."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
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
from pyunitok._c.train import Units
from pyunitok.cli import cli
from pyunitok.errors import OptionError, OutputError, TrainingError
from pyunitok.train import counting, merging
from pyunitok.train.checkpoint import Checkpoint

LINES = text(11, 500)
KINDS: dict[str, dict[str, Any]] = {
    "unigram": {"kind": "unigram", "vocab_size": 190},
    "compat": {"kind": "unigram", "vocab_size": 190, "compat": "sentencepiece", "hard_vocab_limit": False},
    "tokens": {"kind": "unigram", "vocab_size": 190, "objective": "tokens", "split_by": "none"},
    "bytes": {"kind": "bpe", "vocab_size": 600, "byte_level": True, "to": "native"},
    "pattern": {"kind": "bpe", "vocab_size": 600, "pattern": "gpt2", "to": "native"},
    "bpe": {"kind": "bpe", "vocab_size": 300}, "word": {"kind": "word", "vocab_size": 100},
    "longest": {"kind": "longest", "vocab_size": 400}, "bytepiece": {"kind": "bytepiece", "vocab_size": 400},
}  # fmt: skip


def child(work: Callable[[], object]) -> int | str:
    """Run work() in a forked process. Return the signal that killed the process, or its error, or 0."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:  # report everything to the parent
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
    """Train, and send SIGKILL after this many calls of progress() and file renames."""
    left = [kills if kills is not None else -1]

    def count_down(*_: object) -> None:
        left[0] -= 1
        if left[0] == -1:
            os.kill(os.getpid(), signal.SIGKILL)

    replace = Path.replace

    def replaced(self: Path, target: Path) -> Path:
        count_down()  # the file is complete, but not renamed
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
    """Each run is killed a little later than the previous one and resumes from its files."""
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


def test_finished_phases_are_not_repeated(folder: Path) -> None:
    """After a kill, the second run skips counting and reports the notes of the first."""
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
    """The merges in the checkpoint of a killed training run."""
    monkeypatch.setattr(merging, "SAVE_SECONDS", 0)
    monkeypatch.setattr(merging, "STEP_WORK", 100)

    def kill(phase: str, n: int, total: int) -> None:
        if phase == "merge" and n > 120:
            os.kill(os.getpid(), signal.SIGKILL)

    assert child(lambda: train_bpe(kill, checkpoint="c")) == signal.SIGKILL
    return Path("c/merges.npz")


def test_merges_are_not_repeated(killed_among_merges: Path) -> None:
    """After a kill during the merges, the second run begins with the merges of the last checkpoint."""
    done: list[int] = []
    train_bpe(lambda *_: None)
    expected = Path("m.model").read_bytes()
    with np.load(killed_among_merges) as file:
        n_kept = len(file["counts"])
    train_bpe(lambda phase, n, total: done.append(n) if phase == "merge" else None, checkpoint="c")
    assert 100 < n_kept <= done[0] and Path("m.model").read_bytes() == expected


@pytest.mark.parametrize("damage", ["empty", "truncated", "repeated merge", "invalid symbol"])
def test_damaged_merges(killed_among_merges: Path, damage: str) -> None:
    path = killed_among_merges
    if damage in ("empty", "truncated"):
        path.write_bytes(path.read_bytes()[: 100 if damage == "truncated" else 0])
    else:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        arrays["symbols"][-1] = arrays["symbols"][0] if damage == "repeated merge" else 1 << 20
        with path.open("wb") as out:
            np.savez(out, **arrays)
    with pytest.raises(TrainingError, match=r"merges.npz is damaged .*: remove c to start again"):
        train_bpe(lambda *_: None, checkpoint="c")


def test_a_checkpoint_of_other_options_is_rejected(folder: Path) -> None:
    options = KINDS["unigram"]
    assert child(lambda: train(5, **options)) == signal.SIGKILL
    with pytest.raises(TrainingError, match="vocab_size was 190, now 191"):
        train(**{**options, "vocab_size": 191})
    with pytest.raises(TrainingError, match="prior was absent, now 'mle'"):
        train(**options, prior="mle")
    with pytest.raises(TrainingError, match="kind was unigram, now bpe"):
        train(**KINDS["bpe"])
    Path("1.txt").write_text("changed")
    with pytest.raises(TrainingError, match=r"the input 1.txt was \d+ bytes, changed at \d+, now 7 bytes"):
        train(**options)
    Path("1.txt").unlink()
    Path("1.txt").write_text("\n".join(LINES[1::3]))
    with pytest.raises(TrainingError, match=r"the input 1.txt was"):  # the size is unchanged, but the time differs
        train(**options)


def test_rules_in_a_file_that_changed(folder: Path) -> None:
    Path("rules.tsv").write_text("41\t61\n")
    options = {**KINDS["bpe"], "normalization_rule_tsv": "rules.tsv"}
    assert child(lambda: train(3, **options)) == signal.SIGKILL
    Path("rules.tsv").write_text("42\t62\n")
    with pytest.raises(TrainingError, match="the content of normalization_rule_tsv was"):
        train(**options)


def test_invalid_checkpoint_folders(folder: Path) -> None:
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
        first = data.find(b"\x93NUMPY")  # changes the data of an array, because some bytes of a zip file are unused
        data[first + 128 if first >= 0 else len(data) // 2] ^= 0x80
    path.write_bytes(data)
    with pytest.raises(TrainingError, match="remove"):
        train(**options)


def test_two_runs_at_once(folder: Path) -> None:
    with Checkpoint("c", {}), pytest.raises(OutputError, match="another process"):
        Checkpoint("c", {})


def test_save_and_load(tmp_path: Path) -> None:
    units = Units.pack([b"a", b"", b"\xff\x00"], [1, 1 << 63, 0])
    with Checkpoint(tmp_path / "c", {"a": 1}) as kept:
        assert kept.load("counts") is None
        kept.save("counts", [1, "b"], x=units)
        arrays, values = kept.load("counts") or ({}, None)
        assert values == [1, "b"]
        again = arrays["x"]
        assert again.items() == units.items() and again.counts.tolist() == units.counts.tolist()
        kept.remove()
    assert not (tmp_path / "c").exists()


def limited(n_bytes: int, work: Callable[[], object]) -> Callable[[], object]:
    """Limit the size of files to simulate a full disk."""

    def run() -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        return work()

    return run


@pytest.mark.parametrize("what, options", [
    ("raise --max-memory", {"max_memory": 200_000}), ("counts.npz: cannot be written", {"checkpoint": "c"}),
    ("m.vocab: cannot be written", {}),
])  # fmt: skip
def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch, what: str, options: dict[str, Any]) -> None:
    """Errors for spilled counts, a checkpoint and the model say what to do, and no model is left."""
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


@pytest.mark.parametrize("kind", ["bpe", "bytepiece"])
@pytest.mark.parametrize("kept", [False, True])
def test_killed_with_counts_on_disk(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, kept: bool) -> None:
    """Regression: `pyunitok-train-*` files with gigabytes of counts stayed in the temporary folder."""
    Path("tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    monkeypatch.setattr(counting, "RUN_BLOCK_BYTES", 64)
    noise = np.random.default_rng(1).integers(97, 123, 200_000, np.uint8).tobytes()
    Path("0.txt").write_bytes(b"\n".join(noise[i : i + 40] for i in range(0, len(noise), 40)))
    options: dict[str, Any] = {"kind": kind, "vocab_size": 300, "max_memory": 1_000_000, "threads": 2}
    if kept:
        options["checkpoint"] = "c"
    read = counting.Runs.read

    def killed(runs: counting.Runs) -> Any:
        os.write(spilled, b"%d" % (len(runs) > 0))
        os.kill(os.getpid(), signal.SIGKILL)
        return read(runs)

    reader, spilled = os.pipe()
    monkeypatch.setattr(counting.Runs, "read", killed)
    assert child(lambda: pyunitok.train("0.txt", out="m.model", **options)) == signal.SIGKILL
    assert os.read(reader, 10) == b"1"
    assert not list(Path("tmp").iterdir())
    assert {path.suffix for path in Path("c").glob("*")} <= {".json", ".partial", ".npz"}


COMMANDS = {
    "unigram": "unigram -o m.model --vocab-size 190", "bpe": "bpe -o m.model --vocab-size 300",
    "word": "word -o m.model --vocab-size 100", "char": "char -o m.model --vocab-size 20",
    "byte level": "bpe -o m.json --vocab-size 600 --byte-level", "longest": "longest -o m.txt --vocab-size 400",
    "native": "longest -o m.utk --vocab-size 400", "bytepiece": "bytepiece -o m.model --vocab-size 400",
    "bytepieces": "bytepiece -o m.model --vocab-size 400 --also-size 350",
}  # fmt: skip
WRITTEN = {
    "unigram": ["m.model", "m.vocab"], "bpe": ["m.model", "m.vocab"], "word": ["m.model", "m.vocab"],
    "char": ["m.model", "m.vocab"], "byte level": ["m.json"], "longest": ["m.txt"], "native": ["m.utk"],
    "bytepiece": ["m.model"], "bytepieces": ["m.model.400", "m.model.350"],
}  # fmt: skip


def run_command(words: str, *more: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["train", *words.split(), "0.txt", "1.txt", "--checkpoint", "c", *more])
    if done.exception and not code:
        raise done.exception
    assert done.exit_code == code, done.output
    return f"{done.output}{done.exception or ''}"


def state_of(names: list[str]) -> list[tuple[int, bytes]]:
    return [(Path(name).stat().st_ino, Path(name).read_bytes()) for name in names]


@pytest.mark.parametrize("name", COMMANDS)
def test_repeating_a_finished_run(folder: Path, name: str) -> None:
    """Regression: repeating the command failed because the model existed. Only a different run must fail."""
    words, written = COMMANDS[name], WRITTEN[name]
    run_command(words)
    assert {path.name for path in folder.iterdir()} - {"0.txt", "1.txt", "2.txt"} == {
        *written, f"{words.split()[2]}.training.json"
    }  # fmt: skip
    before = state_of(written)
    for more in ([], ["--threads", "1"]):
        assert run_command(words, *more) == f"already complete: {' and '.join(written)}\n"
    assert state_of(written) == before and not Path("c").exists()
    size = words.replace("--vocab-size 1", "--vocab-size 2") if name == "unigram" else f"{words} --text-key t"
    assert "is the result of another training run: " in run_command(size, code=1)
    Path("0.txt").touch()
    assert "another training run: the input 0.txt was" in run_command(words, code=1)
    assert state_of(written) == before
    run_command(words, "--overwrite")
    assert [data for _, data in state_of(written)] == [data for _, data in before]
    assert "already complete" in run_command(words)


def test_missing_and_changed_results(folder: Path) -> None:
    words = COMMANDS["bpe"]
    run_command(words)
    before = [data for _, data in state_of(WRITTEN["bpe"])]
    Path("m.vocab").unlink()
    missing = "m.vocab is missing, although this training run wrote it; --overwrite trains again"
    assert missing in run_command(words, code=1)
    Path("m.vocab").write_bytes(before[1])
    Path("m.model").write_bytes(before[0] + b"x")
    assert "m.model has changed since this training run wrote it; --overwrite" in run_command(words, code=1)
    assert Path("m.model").read_bytes() == before[0] + b"x"
    run_command(words, "--overwrite")
    assert [data for _, data in state_of(WRITTEN["bpe"])] == before
    Path("m.vocab").unlink()
    Path("m.model").unlink()
    assert "written" in run_command(words)  # it trained again
    assert [data for _, data in state_of(WRITTEN["bpe"])] == before
    for damaged in (b"", b"[]", b'{"format": "pyunitok training"}', b"[" * 100_000):
        Path("m.model.training.json").write_bytes(damaged)
        assert "m.model exists; --overwrite replaces it" in run_command(words, code=1)


def test_the_record_moves_with_its_files(folder: Path) -> None:
    """The record contains paths relative to its own folder."""
    run_command(COMMANDS["bpe"].replace("m.model", "sub/m.model"), code=1)
    Path("sub").mkdir()
    run_command(COMMANDS["bpe"].replace("m.model", "sub/m.model"))
    Path("sub").rename("moved")
    assert "already complete" in run_command(COMMANDS["bpe"].replace("m.model", "moved/m.model"))


def test_the_report_belongs_to_the_run(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    words = COMMANDS["bpe"]
    run_command(words, "--report", "r.html")
    for more in ([], ["--report", "r.html"], ["--report", str(folder / "r.html")]):
        assert "already complete" in run_command(words, *more)
    said = run_command(words, "--report", "other.html", code=1)
    assert "other.html was not written by this training run, which is complete; --overwrite trains again" in said
    Path("r.html").write_text("mine")
    assert "r.html has changed" in run_command(words, "--report", "r.html", code=1)
    assert Path("r.html").read_text() == "mine"


def test_killed_while_the_report_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the report is missing, the same command resumes, and accepts its own model."""
    from pyunitok.tokens import page
    from pyunitok.train import report_page

    monkeypatch.setattr(page, "require_plots", lambda: None)
    monkeypatch.setattr(report_page, "write", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    words = COMMANDS["unigram"]
    assert child(lambda: run_command(words, "--report", "r.html")) == signal.SIGKILL
    before = state_of(WRITTEN["unigram"])
    assert Path("c/training.json").exists() and not Path("r.html").exists()
    assert "checkpoint of another training run" in run_command(words.replace("190", "191"), "--overwrite", code=1)
    assert "m.model is the result of another training run" in run_command(words.replace("190", "191"), code=1)
    Path("m.model").write_bytes(b"mine")
    assert "m.model has changed since" in run_command(words, code=1)
    Path("m.model").write_bytes(before[0][1])
    monkeypatch.setattr(report_page, "write", lambda trained, path, *_: path.write_text(str(trained.n_wanted)))
    assert "seeds" not in run_command(words, "--report", "r.html")
    assert Path("r.html").read_text() == "190" and not Path("c").exists()
    assert [data for _, data in state_of(WRITTEN["unigram"])] == [data for _, data in before]
    assert "already complete" in run_command(words, "--report", "r.html")


@pytest.mark.parametrize("name", ["bpe", "bytepieces"])
def test_killed_between_the_files(folder: Path, name: str) -> None:
    """If one file is missing, the same command writes both."""
    from pyunitok.train import result

    words, written = COMMANDS[name], WRITTEN[name]
    run_command(words)
    before = [data for _, data in state_of(written)]
    for path in written:
        Path(path).unlink()

    def kill_after_one() -> None:
        write, n = result.write_whole, [0]

        def write_one(path: Path, data: bytes) -> None:
            if path.name in written and n[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            n[0] += path.name in written
            write(path, data)

        result.write_whole = write_one  # type: ignore[assignment]
        run_command(words)

    assert child(kill_after_one) == signal.SIGKILL
    assert sum(Path(path).exists() for path in written) == 1
    run_command(words)
    assert [data for _, data in state_of(written)] == before and not Path("c").exists()


def test_a_repeated_call(folder: Path) -> None:
    """A repeated call opens the existing model. Without a checkpoint or with other options, a new one is trained."""
    options: dict[str, Any] = {"out": "m.model", "checkpoint": "c", **KINDS["bpe"]}
    first = pyunitok.train("0.txt", **options)
    made = Path("m.model").stat().st_ino
    again = pyunitok.train("0.txt", **options, progress=lambda *_: pytest.fail("it trains"))
    assert again.vocab_size == first.vocab_size and Path("m.model").stat().st_ino == made
    pyunitok.train("0.txt", **options, overwrite=True)
    assert Path("m.model").stat().st_ino != made
    with pytest.raises(OutputError, match="another training run: vocab_size was 300, now 301"):
        pyunitok.train("0.txt", **{**options, "vocab_size": 301}, overwrite=False)
    with pytest.raises(OutputError, match=r"m\.model exists"):
        pyunitok.train("0.txt", out="m.model", overwrite=False, **KINDS["bpe"])
    assert pyunitok.train("0.txt", **{**options, "vocab_size": 301}).vocab_size == 301
    several = {"kind": "bytepiece", "vocab_size": [350, 400], "out": "b", "checkpoint": "c"}
    sizes = [pyunitok.train("0.txt", **several).vocab_size for _ in range(2)]  # type: ignore[arg-type]
    assert sizes[0] == sizes[1]


def test_killed_while_the_folder_is_removed(folder: Path) -> None:
    words = COMMANDS["bpe"]
    run_command(words)
    remove = Checkpoint.remove

    def killed() -> None:
        Checkpoint.remove = lambda self: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        run_command(words, "--overwrite")

    assert child(killed) == signal.SIGKILL and Path("c/training.json").exists()
    assert Checkpoint.remove is remove
    assert "already complete" in run_command(words) and not Path("c").exists()
