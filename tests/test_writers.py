"""Every file that the package writes goes through pyunitok/disk/outfile.py: links are not followed, and the file is
locked, synced before it gets its final name, and complete under that name.

The tests watch system calls, so they do not depend on how a file is written."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import commands
import pytest
from commands import run

import pyunitok
from pyunitok.disk import outfile
from pyunitok.disk.outfile import new_file, write_whole
from pyunitok.disk.reports import check_report, write_report
from pyunitok.errors import OutputError
from pyunitok.tokens import page

PACKAGE = Path(pyunitok.__file__).parent
LINES = [json.dumps({"text": f"{k % 7} the quick brown fox jumps over the lazy dog. " * 3, "n": k}) for k in range(60)]
TRAIN = "corpus.txt --vocab-size 300 --threads 1 -o new"
EXPORTS = ["megatron", "nanogpt", "llm.c", "datatrove", "dolma", "infini-gram", "tokengrams", "npy"]

COMMANDS = {
    "tokenize": "tokenize corpus.jsonl bad.jsonl -o new --metadata --on-error skip --stats-json stats.json -m m.utk",
    "tokenize --format": "tokenize corpus.jsonl -o new --format nanogpt --val-fraction 0.1 -m m.utk",
    "merge": "merge ids.u16.0-of-2 ids.u16.1-of-2 -o new",
    "deduplicate": "deduplicate corpus.jsonl -o new --min-bytes 9 --ranges r.jsonl.zst --json s.json --on-error skip",
    "decontaminate": "decontaminate corpus.jsonl -o new --against items.jsonl --field q -n 3 --report hits.jsonl.zst",
    "duplicates": "duplicates idx -o new.jsonl --min-tokens 5",
    "duplicates .zst": "duplicates idx -o new.jsonl.zst --min-tokens 5",
    "duplicates --drop": "duplicates idx -o new --drop --min-tokens 5",
    "detokenize": "detokenize ids.u16 -o new",
    "index": "index ids.u16 -o newidx --left",
    "index --add": "index more.u16 -o idx --add",
    "stats --json": "stats ids.u16 --json new.json",
    "stats --html": "stats ids.u16 --html new.html",
    "stats --png": "stats ids.u16 --png new.png",
    "vocab edit": "vocab edit v.txt -o new.txt --add words.txt --json new.json",
    "vocab edit --to native": "vocab edit v.txt -o new.utk --add words.txt",
    "vocab diff": "vocab diff m.utk v.txt --json new.json",
    "train unigram": f"train unigram {TRAIN}.model --report new.html",
    "train unigram --checkpoint": f"train unigram {TRAIN}.model --checkpoint kept",
    "train bpe": f"train bpe {TRAIN}.model",
    "train bpe --byte-level": f"train bpe {TRAIN}.json --byte-level",
    "train bpe .utk": f"train bpe {TRAIN}.utk --byte-level",
    "train longest": f"train longest {TRAIN}.txt",
    "train longest .utk": f"train longest {TRAIN}.utk --checkpoint kept",
    "train bytepiece": f"train bytepiece {TRAIN}.model --also-size 290",
    "convert native": "convert v.txt new",
    "convert rwkv": "convert m.utk new --to rwkv",
    "convert sentencepiece": "convert s.model new --to sentencepiece",
    "convert huggingface": "convert g.json new --to huggingface",
    "convert bytepiece": "convert b.model new --to bytepiece",
    **{f"export {to}": f"export ids.u16 --to {to} -o new" for to in EXPORTS},
    "export --copy": "export ids.u16 --to npy -o new --copy",
    "index --format infini-gram": "index ids.u16 -o new --format infini-gram",
    "index --format tokengrams": "index ids.u16 -o new --format tokengrams",
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of all commands."""
    folder: Path = tmp_path_factory.mktemp("writers")
    (folder / "corpus.jsonl").write_text("\n".join(LINES) + "\n")
    (folder / "more.jsonl").write_text("\n".join(LINES[:9]) + "\n")
    (folder / "bad.jsonl").write_text('{"text": "one"}\n{"text": \n')
    (folder / "corpus.txt").write_text("\n".join(json.loads(line)["text"] for line in LINES))
    (folder / "words.txt").write_text("lazy\nzebra\n")
    (folder / "items.jsonl").write_text('{"q": "3 the quick brown fox"}\n')
    for line in (
        "train longest corpus.txt -o v.txt --vocab-size 300",
        "convert v.txt m.utk",
        "tokenize corpus.jsonl -o ids.u16 -m m.utk",
        "tokenize more.jsonl -o more.u16 -m m.utk",
        "tokenize corpus.jsonl more.jsonl -o ids.u16 --shard 0/2 -m m.utk",
        "tokenize corpus.jsonl more.jsonl -o ids.u16 --shard 1/2 -m m.utk",
        "index ids.u16 -o idx",
        "train unigram corpus.txt -o s.model --vocab-size 320 --byte-fallback",
        "train bpe corpus.txt -o g.json --vocab-size 300 --byte-level",
        "train bytepiece corpus.txt -o b.model --vocab-size 300",
    ):
        done = run(folder, *line.split())
        assert done.returncode == 0, (line, done.stderr)
    return folder


class Watch:
    """Records the files of a folder that are opened for writing, and renames of files that were not synced."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        sys.addaudithook(self._on_event)

    @contextlib.contextmanager
    def on(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
        self.opened: dict[str, None] = {}
        self.synced: set[int] = set()
        self.faults: list[str] = []
        fsync = os.fsync

        def synced(fd: int) -> None:
            fsync(fd)
            self.synced.add(os.fstat(fd).st_ino)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", synced)
            self.folder = folder
            try:
                yield self
            finally:
                self.folder = None

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            self._add(arguments[0])
        if event == "os.rename":
            source = Path(arguments[0])
            status = source.stat()
            if status.st_ino not in self.synced and status.st_nlink == 1:
                self.faults.append(f"{source.name} was renamed before it was synced")

    def _add(self, name: str) -> None:
        assert self.folder is not None
        path = self.folder / name
        if self.folder in path.parents and not path.is_dir():  # O_TMPFILE opens a directory
            self.opened[str(path.relative_to(self.folder))] = None


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_no_link_is_followed(
    name: str, corpus: Path, tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: `duplicates -o F` destroyed the target of F.partial, and `tokenize --stats-json F` that of F."""
    monkeypatch.setattr(page, "image", lambda *_: b'<svg viewBox="0 0 1 1"></svg>')  # because drawing takes a second
    words = COMMANDS[name].split()
    before = {path.relative_to(corpus) for path in corpus.rglob("*")}
    folder = tmp_path / "x"

    def again(link: str | None = None) -> Any:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(corpus, folder)
        if link is not None:
            (folder / link).parent.mkdir(exist_ok=True)
            (folder / link).unlink(missing_ok=True)
            (folder / link).symlink_to(tmp_path / "dear")
        return run(folder, *words)

    with watch.on(folder, monkeypatch):
        done = again()
    assert done.returncode in (0, 3), done.stderr
    assert not watch.faults
    left = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.relative_to(folder) not in before}
    assert not [path for path in left if path.endswith(".partial")]
    names = {*watch.opened, *(f"{path}.partial" for path in left if (folder / path).is_file())}
    assert names
    for link in sorted(names):
        (tmp_path / "dear").write_text("dear")
        done = again(link)
        assert (tmp_path / "dear").read_text() == "dear", f"{link} was followed"
        assert b"defect" not in done.stderr, done.stderr


# ------------------------------------------------------------------------------------------------ all writes ---

# Modules that open, rename or create files, the calls that they use, and the reasons.
ALLOWED = {
    "clean/parts.py": {"shutil.copyfileobj"},  # into a file that new_file() opened
    "clean/workspace.py": {"TemporaryFile"},
    "disk/outfile.py": {"open", "os.open", "replace"},  # all writes go through this module
    "disk/reports.py": {"open"},  # writes to pipes and devices
    "export/files.py": {"open", "os.link"},  # a reflink and a link to the token file, under a partial name
    "run/units.py": {"replace"},  # moves finished files to the folder of the parts
    "train/counting.py": {"TemporaryFile"},  # counts that exceed the memory limit
    "train/rereading.py": {"SpooledTemporaryFile"},  # a pipe that is read twice
    "index/word_build.py": {"TemporaryFile", "tofile"},  # words that have not been numbered yet
    "cli/__init__.py": {"os.open"},  # opens /dev/null
}  # fmt: skip
ALWAYS = {"write_text", "write_bytes", "touch", "rename", "tofile", "savetxt", "symlink_to", "hardlink_to", "mkstemp",
          "TemporaryDirectory", "TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile", "mkdtemp"}  # fmt: skip
IN_OS = {"os.open", "os.link", "os.symlink", "os.replace", "os.rename", "os.truncate"}
IN_OS |= {"shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copyfileobj", "shutil.move", "shutil.copytree"}


def writing_calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The (line, name) of each call that may write, rename or link a file."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        full = ast.unparse(node.func)
        name = full.rpartition(".")[2]
        if full == "rwkv.write_text":  # returns bytes
            continue
        if full in IN_OS or name in ALWAYS:
            yield node.lineno, full if full in IN_OS else name
        elif name == "replace" and len(node.args) == 1 and not node.keywords and full != "replace":
            yield node.lineno, name  # Path.replace(); str.replace() has two arguments
        elif name == "open" and any(map(is_writing_mode, [*node.args, *(k.value for k in node.keywords)])):
            yield node.lineno, name


def is_writing_mode(node: ast.expr) -> bool:
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and set(text) <= set("rwaxbt+") and bool(set(text) & set("wax+"))


def test_no_writer_bypasses_outfile() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        for line, name in writing_calls(ast.parse(path.read_text(encoding="utf-8"))):
            assert name in ALLOWED.get(where, ()), f"{where}:{line}: {name} writes a file: use pyunitok/disk/outfile.py"
            found.setdefault(where, set()).add(name)
    assert found == ALLOWED, "ALLOWED lists calls that no longer exist"


# ---------------------------------------------------------------------------------------------------- outfile.py


def test_a_new_file_is_complete_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with pytest.raises(ZeroDivisionError), new_file(path) as file:
        file.write(b"half")
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []
    with new_file(path) as file:
        file.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one"
    with pytest.raises(OutputError, match=r"new exists"), new_file(path, overwrite=False):
        pass
    (tmp_path / "new.partial").write_bytes(b"left by a process that was killed")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with new_file(path) as file:
        file.write(b"first")
        with pytest.raises(OutputError, match=r"new: another process is writing it"):
            write_whole(path, b"second")
        with pytest.raises(OutputError, match=r"another process"):
            outfile.OutFile(tmp_path / "new.partial")
    assert path.read_bytes() == b"first"


def test_a_file_renamed_between_open_and_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a process that had opened the file before the rename truncated the finished file."""
    import fcntl

    path, flock, n_calls = tmp_path / "new", fcntl.flock, 0
    (tmp_path / "new.partial").write_bytes(b"finished by another")

    def flock_late(fd: int, how: int) -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            (tmp_path / "new.partial").rename(path)
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", flock_late)
    file = outfile.OutFile(tmp_path / "new.partial")
    assert path.read_bytes() == b"finished by another"
    file.write(memoryview(b"ours"))
    file.finish(path)
    assert path.read_bytes() == b"ours" and n_calls == 2


def test_an_error_of_another_file_names_that_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"), new_file(tmp_path / "new"):
        (tmp_path / "missing").read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="requires /dev/full")
def test_reports_to_pipes_and_devices(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    check_report(pipe)
    write_report(pipe, b"into the pipe")
    reader.join()
    assert read == [b"into the pipe"] and pipe.is_fifo()
    write_report(Path("/dev/null"), b"x")
    with pytest.raises(OutputError, match=r"/dev/full: cannot be written: No space left"):
        write_report(Path("/dev/full"), b"x")
    with pytest.raises(OutputError, match=r"the folder .*missing does not exist"):
        check_report(tmp_path / "missing/file")


@pytest.fixture
def stdout(tmp_path: Path) -> Path:
    """A substitute for /dev/stdout, so that a failing test does no damage."""
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    return tmp_path / "stdout"


def pyunitok_into(file: Any, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a new process, with its standard output redirected to this file."""
    return commands.python(Path.cwd(), "-m", "pyunitok", *arguments, stdout=file, stderr=subprocess.PIPE, timeout=60)


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_a_report_to_dev_stdout(corpus: Path, tmp_path: Path, stdout: Path, kind: str) -> None:
    """Regression: as root, /dev/stdout itself was replaced by a file."""
    words = ("stats", str(corpus / "ids.u16"), "--top", "0", "--json", str(stdout))
    if kind == "pipe":
        text = pyunitok_into(subprocess.PIPE, *words).stdout
    else:
        with (tmp_path / "out").open("wb") as file:
            pyunitok_into(file, *words)
        text = (tmp_path / "out").read_bytes()
    assert stdout.is_symlink()
    report, end = json.JSONDecoder().raw_decode(text.decode())
    assert report["documents"] == 60 and "documents" in text.decode()[end:]


def test_standard_output_is_not_replaced(corpus: Path, tmp_path: Path, stdout: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        done = pyunitok_into(file, "convert", str(corpus / "m.utk"), str(stdout), "--overwrite")
    assert done.returncode == 1 and b"own stdout or stderr" in done.stderr
    assert stdout.is_symlink()


@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_interrupted_duplicates_leave_no_folder(corpus: Path, tmp_path: Path, how: str) -> None:
    """Regression: the folder `.pyunitok-duplicates-*` was left next to the output."""
    program = (
        "import os, signal\n"
        "from pyunitok.index import windows\n"
        "are_equal = windows.TokenWindows.are_equal\n"
        "def stopped(*arguments):\n"
        f"    os.kill(os.getpid(), signal.{how})\n"
        "    return are_equal(*arguments)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "windows.TokenWindows.are_equal = stopped\n"
        "from pyunitok.cli import main\n"
        "main()\n"
    )
    out = tmp_path / "dups.jsonl"
    words = ["-c", program, "duplicates", str(corpus / "idx"), "--min-tokens", "5", "-o", str(out)]
    done = commands.python(tmp_path, *words, timeout=60)
    assert done.returncode == (130 if how == "SIGINT" else -9), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ([] if how == "SIGINT" else ["dups.jsonl.partial"])
    assert run(corpus, "duplicates", "idx", "--min-tokens", "5", "-o", str(out)).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["dups.jsonl"]


def test_one_run_of_duplicates_at_a_time(corpus: Path, tmp_path: Path) -> None:
    """Regression: two runs wrote into the same file."""
    with new_file(tmp_path / "dups.jsonl"):
        done = run(corpus, "duplicates", "idx", "-o", str(tmp_path / "dups.jsonl"))
    assert done.returncode == 1 and b"another process is writing it" in done.stderr
