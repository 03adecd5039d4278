"""The command line: output, exit codes, signals and pipes."""

import bz2
import gzip
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import commands
import numpy as np
import pytest
import zstandard
from click.testing import CliRunner
from conftest import decompressed, heed_interrupts
from toys import models

from pyunitok.cli import COMMANDS, cli
from pyunitok.cli.sections import Sectioned, name_of

ROOT = commands.ROOT
SAMPLE = ROOT / "tests/data/sample.jsonl.zst"
COMMAND = [sys.executable, "-c", "from pyunitok.cli import main; main()"]


@pytest.fixture
def folder(tmp_path):
    """A folder with a text file and a model file "toy" whose eod is 300."""
    models.greedy("the", " the").save(tmp_path / "toy")
    (tmp_path / "a.txt").write_bytes(b"the cat\nand the dog")
    return tmp_path


def pyunitok(folder: Path, *arguments: str, code: int = 0, stdin: bytes = b"") -> subprocess.CompletedProcess:
    done = commands.run(folder, *arguments, stdin=stdin)
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


def shell(folder: Path, line: str, *arguments: str) -> subprocess.CompletedProcess:
    """Run a line of bash, with {} replaced by the command and these arguments."""
    command = " ".join(f"'{part}'" for part in [*COMMAND, *arguments])
    env = commands.environment()
    return subprocess.run(["bash", "-c", line.format(command)], cwd=folder, capture_output=True, env=env)


def test_round_trip(folder):
    done = pyunitok(folder, "tokenize", "a.txt", "-o", "ids", "-m", "toy")
    assert b"reading a.txt as text (its name ends in .txt)" in done.stderr
    assert b"1 document, 19 bytes of text, 15 tokens, 1.267 bytes/token" in done.stderr
    assert np.memmap(folder / "ids", "<u2")[-1] == 300
    assert pyunitok(folder, "detokenize", "ids", "-o", "-").stdout == b"the cat\nand the dog"
    pyunitok(folder, "detokenize", "ids", "-o", "b.txt")
    assert (folder / "b.txt").read_bytes() == b"the cat\nand the dog"
    assert b"--overwrite" in pyunitok(folder, "detokenize", "ids", "-o", "b.txt", code=1).stderr
    np.array([1, 60000], "<u2").tofile(folder / "raw")
    assert b"60000" in pyunitok(folder, "detokenize", "raw", "-m", "toy", "-o", "c.txt", code=1).stderr
    assert not list(folder.glob("c.txt*"))


@pytest.mark.parametrize(("suffix", "decompress"), [
    (".gz", lambda path: gzip.decompress(path.read_bytes())), (".bz2", lambda path: bz2.decompress(path.read_bytes())),
    (".xz", lambda path: lzma.decompress(path.read_bytes())), (".zst", decompressed),
])  # fmt: skip
def test_detokenize_compresses(folder, suffix, decompress):
    """Regression: the file was plain text."""
    (folder / "empty.txt").write_bytes(b"")
    for inputs, text in ((["a.txt"], b"the cat\nand the dog"), (["a.txt", "a.txt"], b"the cat\nand the dog" * 2),
                         (["empty.txt"], b"")):  # fmt: skip
        pyunitok(folder, "tokenize", *inputs, "-o", "ids", "-m", "toy", "--overwrite")
        pyunitok(folder, "detokenize", "ids", "-o", f"b.txt{suffix}", "--overwrite")
        assert decompress(folder / f"b.txt{suffix}") == text


def test_the_sample_corpus(folder):
    done = pyunitok(folder, "tokenize", str(SAMPLE), "-o", "ids", "-m", "toy", "--threads", "2", "--block", "64K")
    lines = decompressed(SAMPLE).split(b"\n")
    texts = [json.loads(line)["text"] for line in lines if line]
    assert f"{len(texts)} documents".encode() in done.stderr
    back = pyunitok(folder, "detokenize", "ids", "-o", "-").stdout
    assert [json.loads(line)["text"] for line in back.split(b"\n") if line] == texts


@pytest.mark.parametrize(("doc", "n_docs"), [("file", 1), ("line", 2), ("t", 4), (r"\n", 2), (r"\x74he", 3)])
def test_documents(folder, doc, n_docs):
    pyunitok(folder, "tokenize", "a.txt", "-o", "ids", "-m", "toy", "--doc", doc)
    assert len(np.fromfile(folder / "ids.ends", "<u8")) == n_docs
    assert pyunitok(folder, "detokenize", "ids", "-o", "-").stdout == b"the cat\nand the dog"


def test_stdin(folder):
    text = b'{"text": "the"}\n{"text": "dog"}\n'
    done = pyunitok(folder, "tokenize", "-", "-o", "ids", "-m", "toy", stdin=zstandard.compress(text))
    assert b"as jsonl" in done.stderr
    assert np.fromfile(folder / "ids", "<u2").tolist() == [256, 300, *b"dog", 300]


def test_eod(folder):
    pyunitok(folder, "tokenize", "a.txt", "-o", "ids", "-m", "toy", "--eod", "7", "--doc", "line")
    assert np.fromfile(folder / "ids", "<u2")[-1] == 7
    pyunitok(folder, "tokenize", "a.txt", "-o", "ids", "-m", "toy", "--eod", "none", "--overwrite")
    assert np.fromfile(folder / "ids", "<u2")[-1] == ord("g")
    assert pyunitok(folder, "detokenize", "ids", "-o", "-").stdout == b"the cat\nand the dog"
    models.greedy(eod=None).save(folder / "bare")
    done = pyunitok(folder, "tokenize", "a.txt", "-o", "x", "-m", "bare", code=2)
    assert b"--eod none" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["tokenize", "a.txt", "-m", "toy"], 2, "Missing option '-o'"),
        (["tokenize", "-o", "x"], 2, "Missing argument 'IN...'"),
        (["tokenize", "a.txt", "-o", "x", "-m", "toy", "--eod", "65536"], 2, "0..65535"),
        (["tokenize", "a.txt", "-o", "x", "-m", "toy", "--doc", ""], 2, "separator"),
        (["tokenize", "bad.jsonl", "-o", "x", "-m", "toy", "--doc", "line"], 2, "text files, but all inputs are jsonl"),
        (["train", "bpe", "bad.jsonl", "-o", "x", "--vocab-size", "9", "--doc", "line"], 2, "all inputs are jsonl"),
        (["train", "longest", "bad.jsonl", "-o", "x", "--vocab-size", "300", "--doc", "line"], 2, "inputs are jsonl"),
        (["export", "a.txt", "-o", "x"], 2, "Choose from: megatron, nanogpt, "),
        (["tokenize", "a.txt", "-o", "x", "-m", "toy", "--block", "big"], 2, "is not a valid size"),
        (["tokenize", "none.txt", "-o", "x", "-m", "toy"], 1, "none.txt"),
        (["tokenize", "a.txt", "-o", "x", "-m", "none"], 1, "none"),
        (["tokenize", "a.txt", "-o", "x", "-m", "a.txt"], 1, "a.txt: not a model"),
        (["tokenize", "a.txt", "-o", "no/such/folder/x", "-m", "toy"], 1, "no/such/folder"),
        (["tokenize", "bad.jsonl", "-o", "x", "-m", "toy"], 1, "bad.jsonl: line 2"),
        (["tokenize", "long.jsonl", "-o", "x", "-m", "toy", "--max-line", "1K"], 1, "long.jsonl: line 1"),
        (["tokenize", "cut.txt.zst", "-o", "x", "-m", "toy"], 1, "cut.txt.zst: byte"),
        (["detokenize", "a.txt", "-o", "-", "-m", "toy"], 1, "run this first: pyunitok tokenize a.txt"),
        (["detokenize", "none", "-o", "-"], 1, "none: no such token file"),
        (["inspect", "none"], 1, "none"),
        (["decode", "-m", "toy", "299"], 1, "id 299 at position 0"),
        (["decode", "-m", "toy", "word"], 2, "'word' is not a list of ids"),
        (["nonsense"], 2, "unknown command 'nonsense'"),
    ],
)
def test_errors_name_the_place_and_the_fix(folder, arguments, code, message):
    (folder / "bad.jsonl").write_text('{"text": "a"}\n{"text": 1}\n')
    (folder / "long.jsonl").write_text(json.dumps({"text": "a" * 2000}))
    (folder / "cut.txt.zst").write_bytes(zstandard.compress(b"the" * 1000)[:-1])
    assert message in pyunitok(folder, *arguments, code=code).stderr.decode()
    assert not (folder / "x").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(folder, number, code):
    arguments = ["tokenize", "-", "-o", "ids", "-m", "toy", "--input-format", "text", "--block", "1K"]
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, env=commands.environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    process.stdin.write(b"the " * 10_000)
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not (folder / "ids.partial").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)
    process.send_signal(number)
    process.wait(timeout=30)  # stdin is still open, so a thread is blocked reading it
    _, stderr = process.communicate()
    assert process.returncode == code, stderr.decode()
    assert b"Traceback" not in stderr
    assert not (folder / "ids").exists()


def test_broken_pipe(folder):
    (folder / "long.txt").write_bytes(b"the cat " * 500_000)
    pyunitok(folder, "tokenize", "long.txt", "-o", "ids", "-m", "toy")
    done = shell(folder, "set -o pipefail; {} | head -c 10", "detokenize", "ids", "-o", "-")
    assert (done.returncode, done.stdout, done.stderr) == (141, b"the cat th", b"")
    done = shell(folder, "set -o pipefail; {} | head -c 10", "vocab", "list", "unitok-v1")
    assert (done.returncode, len(done.stdout), done.stderr) == (141, 10, b"")


def test_encode_and_decode(folder):
    assert pyunitok(folder, "encode", "-m", "toy", "the", "cat").stdout == b"256 32 99 97 116\n"
    done = pyunitok(folder, "encode", "-m", "toy", "--pieces", stdin=b"the\n\xff\n")
    assert done.stdout.decode().splitlines() == ["256", "the", "255", "<0xFF>"]
    assert pyunitok(folder, "decode", "-m", "toy", "256", "33").stdout == b"the!\n"
    assert pyunitok(folder, "decode", "-m", "toy", stdin=b"256, 33\n255\n").stdout == b"the!\n\xff\n"


def test_inspect(folder):
    shown = pyunitok(folder, "inspect", "toy").stdout.decode()
    assert re.search(r"pieces +258, the longest of 4 bytes", shown)
    assert re.search(r"eod +300 \(<eod>\)", shown)
    pyunitok(folder, "tokenize", "a.txt", "-o", "ids", "-m", "toy")
    shown = pyunitok(folder, "inspect", "ids").stdout.decode()
    assert re.search(r"tokens +15 \(<u2, 1.267 bytes/token\)", shown)
    assert re.search(r"input +a.txt \(text, 1 document, 19 bytes\)", shown)


def test_every_command_has_help_with_an_example():
    for name in COMMANDS:
        command = cli.get_command(None, name)
        assert command.name == name
        assert re.search("Examples?:", command.help), name
        assert f"pyunitok {name}" in command.help
        assert COMMANDS[name] == command.get_short_help_str(500)
    assert list(COMMANDS) == sorted(COMMANDS)


def test_out_names_only_outputs():
    """Regression: verify, stats, export, detokenize and index called their input OUT."""
    for name in COMMANDS:
        command = cli.get_command(None, name)
        written = [p for p in command.params if "--out" in p.opts or p.name == "target"]
        read = [p for p in command.params if isinstance(p, click.Argument) and p not in written]
        assert not [p.name for p in read if re.search(r"\bOUT\b", p.metavar or "")], name
        if not any(p.metavar == "OUT" for p in written) and not isinstance(command, click.Group):
            assert not re.search(r"\bOUT\b", command.get_help(click.Context(command))), name


def test_an_index_for_another_engine_accepts_one_token_file(folder):
    done = pyunitok(folder, "index", "ids", "more", "-o", "idx", "--format", "tokengrams", code=2)
    assert b"--format accepts only one token file" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_non_blocking_pipe(folder):
    """EAGAIN is not the end of the file."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    process = subprocess.Popen(
        [*COMMAND, "tokenize", "-", "-o", "ids", "-m", "toy", "--input-format", "text", "--doc", "line"],
        cwd=folder, env=commands.environment(), stdin=reading, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(reading)
    for _ in range(3):
        os.write(writing, b"the cat\n" * 10)
        time.sleep(0.4)
    os.close(writing)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0, stderr.decode()
    assert b"30 documents" in stderr


def test_overwrite_protects_inputs(folder):
    (folder / "in").mkdir()
    (folder / "in/1.txt").write_bytes(b"one")
    (folder / "in/2.txt").write_bytes(b"precious")
    done = pyunitok(folder, "tokenize", "in", "-o", "in/2.txt", "-m", "toy", "--overwrite", code=1)
    assert b"in/2.txt is both an input and the output" in done.stderr
    assert (folder / "in/2.txt").read_bytes() == b"precious"
    for _ in range(2):  # the second run must ignore the output of the first
        pyunitok(folder, "tokenize", "in", "-o", "in/ids", "-m", "toy", "--overwrite")
        assert len(np.fromfile(folder / "in/ids.ends", "<u8")) == 2
    done = pyunitok(folder, "detokenize", "in/ids", "-o", "in/ids.ends", "--overwrite", code=2)
    assert b"is part of the token file" in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_special_files_are_not_replaced(folder):
    os.mkfifo(folder / "fifo")
    for command in (["tokenize", "a.txt", "-m", "toy"], ["detokenize", "ids"]):
        if command[0] == "detokenize":
            pyunitok(folder, "tokenize", "a.txt", "-o", "ids", "-m", "toy")
        assert b"not a regular file" in pyunitok(folder, *command, "-o", "fifo", "--overwrite", code=1).stderr
    assert (folder / "fifo").is_fifo()
    (folder / "there").mkdir()
    assert b"is a directory" in pyunitok(folder, "tokenize", "a.txt", "-o", "there", "-m", "toy", code=1).stderr
    assert b"cannot be stdout" in pyunitok(folder, "tokenize", "a.txt", "-o", "-", "-m", "toy", code=2).stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_full_disk(folder):
    pyunitok(folder, "tokenize", "a.txt", "-o", "ids", "-m", "toy")
    for command in (["detokenize", "ids", "-o", "-"], ["encode", "the"], ["--help"]):
        done = shell(folder, "{} > /dev/full", *command)
        assert (done.returncode, done.stderr) == (1, b"error: standard output: No space left on device\n")
    (folder / "big.txt").write_bytes(os.urandom(1 << 19).hex().encode())
    done = shell(folder, "ulimit -f 500; trap '' XFSZ; {}", "tokenize", "big.txt", "-o", "big", "-m", "toy")
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
    assert b"big.partial: byte" in done.stderr
    assert not (folder / "big").exists()


def test_shards_and_merge(folder):
    for k in range(3):
        (folder / f"{k}.txt").write_bytes(b"the cat\n" * (k + 1))
    texts = ["0.txt", "1.txt", "2.txt", "a.txt"]
    command = ["tokenize", *texts, "-m", "toy", "--doc", "line"]
    pyunitok(folder, *command, "-o", "whole")
    for k in range(3):
        pyunitok(folder, *command, "-o", "ids", "--shard", f"{k}/3", "--stats-json", f"stats{k}")
    done = shell(folder, "{} ids.*-of-3 -o ids", "merge")
    assert b"3 parts, 8 documents" in done.stderr, done.stderr
    assert (folder / "ids").read_bytes() == (folder / "whole").read_bytes()
    rows = [row for k in range(3) for row in json.loads((folder / f"stats{k}").read_text())["inputs"]]
    assert [row["path"] for row in rows] == texts
    assert sum(row["bytes"] for row in rows) == sum((folder / name).stat().st_size for name in texts)
    assert all(row["tokens"] and row["bytes_per_token"] > 1 and row["seconds"] >= 0 for row in rows)
    assert b"already complete" in shell(folder, "{} ids.*-of-3 -o ids", "merge").stderr
    done = pyunitok(folder, "merge", "ids.0-of-3", "ids.2-of-3", "-o", "x", code=1)
    assert b"missing shards (of 3): 1" in done.stderr
    assert re.search(r"shard +1/3", pyunitok(folder, "inspect", "ids.1-of-3").stdout.decode())
    for wrong in ("3/3", "1", "a/b", "0/0", "-1/3"):
        assert b"shard" in pyunitok(folder, *command, "-o", "ids", "--shard", wrong, code=2).stderr


def test_shards_are_not_inputs(folder):
    """Shards may be written into the input folder."""
    (folder / "in").mkdir()
    for k in range(4):
        (folder / f"in/{k}.txt").write_bytes(b"the cat")
    for k in range(4):
        pyunitok(folder, "tokenize", "in", "-m", "toy", "-o", "in/ids", "--shard", f"{k}/4")
    assert b"already complete" in pyunitok(
        folder, "tokenize", "in", "-m", "toy", "-o", "in/ids", "--shard", "0/4"
    ).stderr
    assert b"4 documents" in shell(folder, "{} in/ids.?-of-4 -o in/ids", "merge").stderr


def test_dry_run(folder):
    (folder / "b.jsonl.zst").write_bytes(zstandard.compress(b'{"text": "the dog"}\n' * 50_000))
    command = ["tokenize", "a.txt", "b.jsonl.zst", "-m", "toy", "-o", "ids"]
    before = sorted(path.name for path in folder.iterdir())
    printed = pyunitok(folder, *command, "--dry-run").stdout.decode()
    assert sorted(path.name for path in folder.iterdir()) == before
    assert re.search(r" 19  text, none  a.txt  \(its name ends in .txt\)\n", printed)
    assert "would read 2 inputs of " in printed
    assert "would write ids, ids.ends, ids.json (from the start)\n" in printed
    done = pyunitok(folder, *command).stderr.decode()
    estimated = re.findall(r"([\d,]+) (?:bytes of text|tokens)", printed)
    counted = re.findall(r"([\d,]+) (?:bytes of text|tokens)", done)
    for estimate, count in zip(estimated, counted, strict=True):
        assert abs(int(estimate.replace(",", "")) / int(count.replace(",", "")) - 1) < 0.02
    assert "(already complete)" in pyunitok(folder, *command, "--dry-run").stdout.decode()
    assert b"made by another command" in pyunitok(folder, *command, "--eod", "7", "--dry-run", code=1).stderr
    printed = pyunitok(folder, "tokenize", "-", "-m", "toy", "-o", "x", "--dry-run", stdin=b"the").stdout.decode()
    assert "would read 1 input of unknown size" in printed
    assert "about" not in printed


@pytest.mark.skipif(not Path("/proc/self/task").exists() or os.cpu_count() == 1, reason="needs /proc and two cores")
def test_numpy_starts_no_threads():
    program = "import os, sys; from pyunitok.cli import main; sys.argv[1:] = ['--version']; main(); import numpy"
    program += "; print(len(os.listdir('/proc/self/task')))"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stdout.split()[-1] == b"1"


def commands_of(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands_of(command, *names, name)
        else:
            yield (*names, name), command


@pytest.mark.parametrize("names, command", list(commands_of(cli)))
def test_help_lists_each_option_once(names, command):
    """Help longer than 60 lines must be divided into sections, which list only existing options."""
    shown = CliRunner().invoke(cli, [*names, "--help"], terminal_width=80).output
    options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    for name in map(name_of, options):
        assert len(re.findall(rf"^  (-\w, )?--(\[no-\])?{name}( |$)", shown, re.M)) == 1, name
    if isinstance(command, Sectioned):
        listed = [name for some in command.sections.values() for name in some]
        known = {name_of(option) for option in command.params if isinstance(option, click.Option)}
        assert len(listed) == len(set(listed)) and set(listed) <= known
        for heading in command.sections:
            assert f"\n{heading}:\n" in shown
    else:
        assert shown.count("\n") <= 60
    assert shown.count("[") == shown.count("]")
