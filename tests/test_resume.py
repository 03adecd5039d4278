"""Interrupted runs resume, and their output is byte-identical to that of an uninterrupted run."""

import errno
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import commands
import crash
import pytest
import zstandard
from conftest import heed_interrupts
from hypothesis import settings
from test_cli import pyunitok
from toys import models

from pyunitok.tokens.metadata import errors_path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="requires signals, /proc and O_DIRECT")

EXPENSIVE = settings().max_examples >= 1000
TOKENIZE = ["tokenize", "in", "-o", "ids", "-m", "toy", "--block", "8K", "--threads", "2", "--doc", "\\n", "--metadata"]
TOKENIZE_LINES = ["tokenize", "bad.jsonl", *TOKENIZE[2:-3], "--metadata"]  # each line is a document
WORDS = ["the", "cat", " the", "である", "a", "aaaa", "\n", " ", '"', "x" * 50]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """A folder with the model "toy" and, in "in", files of short lines, a long line, JSON in frames, gzip, nothing."""
    folder = tmp_path_factory.mktemp("corpus")
    models.greedy("the", " the", "aa", b"ab" * 20).save(folder / "toy")
    (folder / "in").mkdir()
    rng = random.Random(1)

    def text(n_words):
        return "".join(rng.choices(WORDS, k=n_words))

    (folder / "in/a.txt").write_text(text(30_000))
    lines = [json.dumps({"text": text(rng.randrange(300)), "id": k}) for k in range(300)]
    data = ("\n".join(lines) + "\n\n\n").encode()
    frames = (zstandard.compress(data[k : k + 20_000]) for k in range(0, len(data), 20_000))
    (folder / "in/b.jsonl.zst").write_bytes(b"".join(frames))
    (folder / "in/c.txt").write_bytes(b"a" * 90_001 + b"ab" * 30_000)
    (folder / "in/d.txt").write_bytes(b"")
    (folder / "in/e.txt.gz").write_bytes(gzip.compress(text(20_000).encode()))
    pyunitok(folder, *TOKENIZE[:3], "whole", *TOKENIZE[4:])
    return folder


@pytest.fixture
def folder(corpus) -> Path:
    """The corpus without any output."""
    for path in corpus.glob("ids*"):
        path.unlink()
    return corpus


def run_crash(folder: Path, spec: dict, **options) -> subprocess.CompletedProcess[bytes]:
    """Run crash.py in a new process."""
    return commands.python(folder, crash.__file__, json.dumps(spec), **options)


def crashes(folder: Path, spec: dict) -> dict:
    """The result that crash.py prints for a spec with "points" or "kills"."""
    done = run_crash(folder, spec)
    assert not done.returncode, done.stderr.decode()
    return json.loads(done.stdout)


def finish(folder: Path, *command: str, code: int = 0, stdin: bytes = b"") -> str:
    """Run the command to its end, with checkpoints every few ms; return its output."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in crash.TUNE.items():
            patched.setattr(name, value)
        done = commands.run_forked(folder, *(command or TOKENIZE), stdin=stdin)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == code, said
    assert "Traceback" not in said
    return said


def check_outputs(folder: Path) -> None:
    """Assert that the files equal those of an uninterrupted run, and that there are no others."""
    assert sorted(path.name for path in folder.glob("ids*")) == crash.FILES
    for suffix in ("", ".ends", ".meta.jsonl.zst"):  # regression: metadata frames ended at checkpoints
        assert (folder / f"ids{suffix}").read_bytes() == (folder / f"whole{suffix}").read_bytes(), suffix
    ids, whole = (crash.timeless(folder / f"{name}.json") for name in ("ids", "whole"))
    for manifest in (ids, whole):
        del manifest["hash"]  # chunk sizes differ; test_pipeline.py tests the hashes
    assert ids == whole


def stop_half_way(folder: Path, *options: str, command: list[str] = TOKENIZE, **options_of_start) -> None:
    """Kill a run after its third checkpoint. Its files and any earlier output remain."""
    spec = {"command": [*command, *options], "checkpoints": 3}
    done = run_crash(folder, spec, timeout=60, **options_of_start)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert (folder / "ids.journal.partial").exists()


# ------------------------------------------------------------------------------------------------------ crashes


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("power", [False, True])
def test_stopped_at_any_system_call(folder, power, overwrite):
    """Kill the run between any two steps of checkpoints and of the commit, with and without a power failure."""
    points = None if EXPENSIVE else [*range(-18, 0), *range(4, 80, 25 if overwrite else 6)]
    spec = {"command": TOKENIZE, "points": points, "power": power}
    if overwrite:
        spec |= {"command": [*TOKENIZE, "--overwrite"], "older": [*TOKENIZE, "--eod", "7"]}
    result = crashes(folder, spec)
    assert result["wrong"] == []
    assert result["stopped"] >= 3  # the exact number depends on thread timing
    assert result["resumed"] > result["stopped"] // 4
    check_outputs(folder)


@pytest.mark.slow
def test_killed_at_any_time(folder):
    spec = {"command": TOKENIZE, "kills": 200 if EXPENSIVE else 20}
    result = crashes(folder, spec)
    assert (result["wrong"], result["killed"]) == (0, spec["kills"])
    assert result["whole"] >= 1
    assert result["resumed"] >= (20 if EXPENSIVE else 0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_no_work_is_lost_after_a_signal(folder, number, code):
    """The signal triggers a last checkpoint, so no work is repeated."""
    text = (folder / "in/a.txt").read_bytes()
    command = ["tokenize", "-", "in/c.txt", *TOKENIZE[2:], "--input-format", "text"]
    pyunitok(folder, *command, stdin=text)
    for path in folder.glob("ids*"):
        path.rename(folder / path.name.replace("ids", "other"))
    process = subprocess.Popen(
        [sys.executable, "-c", "from pyunitok.cli import main; main()", *command],
        cwd=folder, env=commands.environment(), stdin=PIPE, stderr=PIPE, preexec_fn=heed_interrupts,
    )  # fmt: skip
    process.stdin.write(text[:150_000])
    process.stdin.flush()
    while not (folder / "ids.ends.partial").exists():
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(number)
    process.wait(timeout=30)
    said = process.stderr.read().decode()
    assert (process.returncode, "run the same command to resume" in said) == (code, True), said
    process.stdin.close()
    said = pyunitok(folder, *command, stdin=text).stderr.decode()
    n_bytes = int(said.split("documents, ")[1].split(" bytes")[0].replace(",", ""))
    assert "resuming after" in said
    assert n_bytes > 100_000
    for suffix in ("", ".ends"):
        assert (folder / f"ids{suffix}").read_bytes() == (folder / f"other{suffix}").read_bytes()


# -------------------------------------------------------------------------------------------- full and faulty disks


def test_a_full_disk(folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    done = run_crash(folder, {"command": TOKENIZE}, preexec_fn=limit, timeout=60)
    said = done.stderr.decode()
    assert done.returncode == 1, said
    assert "ids.partial: byte" in said
    assert "File too large" in said
    assert "run the same command to resume" in said
    assert "resuming after" in finish(folder)
    check_outputs(folder)


@pytest.mark.parametrize("kilobytes", [64, 800, 1464])
def test_a_full_file_system(folder, tmp_path, kilobytes):
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", tmp_path]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("cannot mount a file system")
    command = [*TOKENIZE[:3], str(tmp_path / "ids"), *TOKENIZE[4:]]
    try:
        said = finish(folder, *command, code=1)
        assert "No space left on device" in said
        subprocess.run(["mount", "-o", "remount,size=20m", tmp_path], check=True)
        finish(folder, *command)
        for path in tmp_path.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    check_outputs(folder)


def test_truncated_and_changed_partial_files(folder):
    stop_half_way(folder)
    for suffix in ("", ".ends", ".meta.jsonl.zst"):
        partial = folder / f"ids{suffix}.partial"
        data = partial.read_bytes()
        for wrong in (data[:1], bytes(len(data)), None):
            partial.unlink() if wrong is None else partial.write_bytes(wrong)
            said = finish(folder, code=1)
            assert partial.name in said
            assert "--overwrite starts again" in said
            assert not (folder / "ids").exists()
            partial.write_bytes(data)
    finish(folder)
    check_outputs(folder)
    stop_half_way(folder, "--overwrite")
    (folder / "ids.partial").write_bytes(b"")
    finish(folder, *TOKENIZE, "--overwrite")
    check_outputs(folder)


def test_bytes_written_after_the_last_checkpoint_do_not_matter(folder):
    stop_half_way(folder)
    for suffix in ("", ".ends"):
        with (folder / f"ids{suffix}.partial").open("ab") as file:
            file.write(os.urandom(100_000))
    finish(folder)
    check_outputs(folder)


def test_skipped_lines_are_listed_once(folder):
    """There are bad lines before and after the interruption; the list is byte-identical."""
    lines = [json.dumps({"text": "the cat " * 99} if k % 7 else {"text": k}) for k in range(700)]
    (folder / "bad.jsonl").write_text("\n".join(lines))
    command = [*TOKENIZE_LINES, "--on-error", "skip"]
    pyunitok(folder, *command, code=3)
    whole = {suffix: (folder / f"ids{suffix}").read_bytes() for suffix in ("", ".ends", ".errors.jsonl")}
    assert whole[".errors.jsonl"].count(b"\n") == 100
    for path in folder.glob("ids*"):
        path.unlink()
    stop_half_way(folder, command=command)
    assert errors_path(folder / "ids").with_name("ids.errors.jsonl.partial").stat().st_size > 0
    said = finish(folder, *command, code=3)
    assert "resuming after" in said
    assert "100 bad lines" in said
    assert {suffix: (folder / f"ids{suffix}").read_bytes() for suffix in whole} == whole
    assert "already complete" in finish(folder, *command, code=3)


def test_a_bad_line_is_skipped_on_resume(folder):
    """The runs with and without --on-error skip are killed. Regression: that option was suggested and then rejected."""
    lines = [json.dumps({"text": "the cat " * 99} if k < 400 or k % 7 else {"text": k}) for k in range(700)]
    (folder / "bad.jsonl").write_text("\n".join(lines))
    raises = TOKENIZE_LINES
    skips = [*raises, "--on-error", "skip"]
    pyunitok(folder, *skips, code=3)
    whole = {suffix: (folder / f"ids{suffix}").read_bytes() for suffix in ("", ".ends", ".errors.jsonl")}
    manifest = crash.timeless(folder / "ids.json")
    del manifest["hash"]
    for path in folder.glob("ids*"):
        path.unlink()
    stop_half_way(folder, command=raises)
    assert "--on-error skip" in finish(folder, *raises, code=1)
    begun = (folder / "ids.partial").read_bytes()
    stop_half_way(folder, command=skips)
    assert (folder / "ids.partial").read_bytes().startswith(begun)
    assert "on error: was skip, now raise, but " in finish(folder, *raises, code=1)
    assert "resuming after" in finish(folder, *skips, code=3)
    assert {suffix: (folder / f"ids{suffix}").read_bytes() for suffix in whole} == whole
    found = crash.timeless(folder / "ids.json")
    del found["hash"]
    assert found == manifest


def test_damaged_journals(folder):
    stop_half_way(folder)
    journal = folder / "ids.journal.partial"
    data = journal.read_bytes()
    rng = random.Random(2)
    damaged = [b"", data[:1], data[:-1], data[: len(data) // 2], data + b"\n", data.replace(b"journal 2", b"journal 3")]
    for at in (0, 30, *rng.sample(range(len(data)), 3)):
        damaged.append(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
    for wrong in damaged:
        journal.write_bytes(wrong)
        assert "ids.journal.partial: " in finish(folder, code=1)
        assert not (folder / "ids").exists()
    journal.write_bytes(data)
    finish(folder)
    check_outputs(folder)


def test_a_read_error(folder, monkeypatch):
    """Reading fails, as it may on a network file system; repeating the command resumes the run."""
    from pyunitok.cli.tokenize import tokenize
    from pyunitok.corpus.raw_file import RawFile
    from pyunitok.errors import InputError

    monkeypatch.chdir(folder)
    for name, value in crash.TUNE.items():
        monkeypatch.setattr(name, value)
    read = RawFile.readinto

    def failing(raw, buffer):
        if raw.name.endswith("c.txt") and raw.position > 70_000:
            raise raw._failed(OSError(errno.EIO, "Input/output error"))
        return read(raw, buffer)

    with monkeypatch.context() as patched:
        patched.setattr(RawFile, "readinto", failing)
        with pytest.raises(InputError, match=r"c\.txt: byte \d+: cannot be read: Input/output error"):
            tokenize.main(TOKENIZE[1:], standalone_mode=False)
    assert (folder / "ids.journal.partial").exists()
    tokenize.main(TOKENIZE[1:], standalone_mode=False)
    check_outputs(folder)


# ------------------------------------------------------------------------------- the same command, or a different one


def test_a_finished_output(folder):
    finish(folder)
    times = {path.name: path.stat().st_mtime_ns for path in folder.glob("ids*")}
    assert "already complete: ids, 5,229 documents" in finish(folder)
    assert "already complete" in finish(folder, *TOKENIZE, "--threads", "1", "--block", "1M")
    assert times == {path.name: path.stat().st_mtime_ns for path in folder.glob("ids*")}
    said = finish(folder, *TOKENIZE, "--eod", "7", code=1)
    assert "ids exists, and was made by another command (eod: was 300, now 7); --overwrite" in said
    with (folder / "ids.ends").open("ab") as file:
        file.write(b"12345678")
    assert "ids.ends does not have" in finish(folder, code=1)
    (folder / "ids.json").unlink()
    assert "ids exists; --overwrite" in finish(folder, code=1)
    finish(folder, *TOKENIZE, "--overwrite")
    check_outputs(folder)


def test_another_command_is_rejected_with_a_reason(folder):
    stop_half_way(folder)
    models.greedy().save(folder / "other-toy")
    changes = {
        "model sha256: ": ["-m", "other-toy"],
        "eod: was 300, now none": ["--eod", "none"],
        'separator: was "\\n", now none': ["--doc", "file"],
        'text key: was "text", now "body"': ["--text-key", "body"],
    }
    for said, options in changes.items():
        found = finish(folder, *TOKENIZE, *options, code=1)
        assert f"ids is unfinished, and was started by another command ({said}" in found
    finish(folder)
    check_outputs(folder)


def test_overwriting_starts_again_and_can_be_resumed(folder):
    """The older file is kept until the new one is complete; the run resumes without --overwrite."""
    finish(folder, *TOKENIZE, "--eod", "7")
    old = (folder / "ids").read_bytes()
    stop_half_way(folder, "--overwrite")
    assert (folder / "ids").read_bytes() == old
    assert "resuming after" in finish(folder)
    check_outputs(folder)


# -------------------------------------------------------------------------------------------------------- stdin


def stdin_command(folder: Path) -> list[str]:
    (folder / "text").write_bytes((folder / "in/a.txt").read_bytes() + (folder / "in/c.txt").read_bytes())
    command = ["tokenize", "-", *TOKENIZE[2:], "--input-format", "text"]
    pyunitok(folder, *command, stdin=(folder / "text").read_bytes())
    for path in folder.glob("ids*"):
        path.rename(folder / path.name.replace("ids", "piped"))
    return command


@pytest.mark.parametrize("pack", [bytes, zstandard.compress])
def test_stdin_is_compared_and_skipped(folder, pack):
    command = stdin_command(folder)
    text = (folder / "text").read_bytes()
    (folder / "packed").write_bytes(pack(text))
    with (folder / "packed").open("rb") as file:
        stop_half_way(folder, command=command, stdin=subprocess.Popen(["cat"], stdin=file, stdout=PIPE).stdout)
    state = json.loads((folder / "ids.journal.partial").read_bytes().splitlines()[2])
    n_known = state["progress"]["pipes"]["0"]["n_bytes"]
    assert n_known > 150_000
    for at in (0, n_known // 2, n_known - 1):
        other = bytearray(text)
        other[at] ^= 1
        said = finish(folder, *command, stdin=pack(bytes(other)), code=1)
        begin = at // 131_072 * 131_072
        end = min(begin + 131_072, n_known)
        assert f"<stdin>: not the input of the interrupted run: its bytes {begin} to {end} differ" in said
    assert "it ends at byte 50000, but had " in finish(folder, *command, stdin=pack(text[:50_000]), code=1)
    assert "resuming after" in finish(folder, *command, stdin=pack(text))
    for suffix in ("", ".ends"):
        assert (folder / f"ids{suffix}").read_bytes() == (folder / f"piped{suffix}").read_bytes()
    assert "already complete" in finish(folder, *command, stdin=pack(text))
    assert "its bytes 0 to 131072 differ" in finish(folder, *command, stdin=pack(b"x" + text[1:]), code=1)
    assert f"it is longer than before ({len(text)} bytes)" in finish(folder, *command, stdin=pack(text + b"x"), code=1)
    assert f"it ends at byte {len(text) - 1}" in finish(folder, *command, stdin=pack(text[:-1]), code=1)


# --------------------------------------------------------------------------------------------------- two writers


def test_two_processes_with_one_output(folder):
    """The second writer is rejected while the first holds the lock, but not if the first was killed."""
    from pyunitok.disk.outfile import OutputLock
    from pyunitok.errors import OutputError

    out = folder / "ids"
    lock = OutputLock(out)
    assert "ids: another process is writing it" in finish(folder, code=1)
    assert "ids: another process is writing it" in finish(folder, *TOKENIZE, "--overwrite", code=1)
    with pytest.raises(OutputError, match="another process is writing it"):
        OutputLock(out)
    lock.release()
    lock.release()
    assert not lock.path.exists()
    lock.path.write_bytes(b"")  # left by a killed process
    finish(folder)
    check_outputs(folder)


def test_the_lock_covers_the_whole_commit(folder, monkeypatch):
    """A second run is attempted at every step of the commit."""
    from pyunitok.cli.tokenize import tokenize

    monkeypatch.chdir(folder)
    said = []

    def trying(call):
        def tried(*arguments, **options):
            said.append(finish(folder, *TOKENIZE, "--overwrite", code=1))
            return call(*arguments, **options)

        return tried

    for name in ("replace", "unlink"):
        monkeypatch.setattr(Path, name, trying(getattr(Path, name)))
    tokenize.main(TOKENIZE[1:], standalone_mode=False)
    monkeypatch.undo()
    assert len(said) >= 6
    assert all("another process is writing it" in line for line in said)
    check_outputs(folder)
