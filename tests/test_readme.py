"""Runs every command line and every Python block of the README files and of tools/docs.

The commands and blocks of README.md run in order in a folder that resembles a fresh clone.

In the other files, each command line and each block runs in its own copy of a folder with the files that the examples
name (see `examples`). A Python block can use `text`, `docs`, `ids`, `packed`, `i` and `tok`. If the comment after
an expression is a Python literal, the expression must have that value.

Mark a block that requires a cluster or a network with `<!-- not run: reason -->` on the line above it.
"""

import ast
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import commands
import numpy as np
import pytest
import zstandard
from click.testing import CliRunner
from conftest import SHARED

from pyunitok.cli import COMMANDS, cli
from pyunitok.model.tokenizer import Tokenizer

ROOT = Path(__file__).parent.parent
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tools/docs").glob("*.md"))
NAMES = ["README.md", "csrc/README.md", "tools/README.md", *DOCS]
FILES = [name for name in NAMES if (ROOT / name).exists()]  # the tests may run without the rest of the source tree
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
MARK = re.compile(r"<!-- not run: .{5,} -->\n$")
# Lines that are never run, and the reasons.
NOT_RUN = {
    r"(\w+=\S+ )*pip install ": "installs",
    r"python -m pytest|python tools/check\.py|python setup\.py": "would run this test or rebuild the package",
    r"pyunitok serve ": "does not terminate",
    r"pyunitok .* --ray ": "requires a cluster",
}
MODELS = {  # name in the examples: path in the shared data
    "t5.model": "spm/t5_base.model", "llama2.model": "spm/llama2.model", "tokenizer.json": "hf/ortx_t5_small.json",
    "en.model": "bytepiece/bytepiece_80k.model", "bytepiece_80k.model": "bytepiece/bytepiece_80k.model",
}  # fmt: skip
PREAMBLE = """
import numpy as np
import pyunitok
text, docs, i = "The quick brown fox", ["one", "two two"], 5
tok = pyunitok.Tokenizer.default()
ids = np.arange(100, 110, dtype=np.uint16)  # valid ids in every model
packed = pyunitok.Packed(ids, [0, 4, 10])
"""


@dataclass(frozen=True)
class Block:
    """A fenced block of a README file; `line` is the number of its first line."""

    file: str
    line: int
    language: str
    code: str
    marked: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def blocks_of(name: str) -> list[Block]:
    text = (ROOT / name).read_text(encoding="utf-8")
    ret = []
    for found in FENCE.finditer(text):
        line, marked = text.count("\n", 0, found.start(2)) + 1, bool(MARK.search(text[: found.start()]))
        ret.append(Block(name, line, found[1], found[2], marked))
    return ret


BLOCKS = [block for name in FILES for block in blocks_of(name)]


def lines_of(block: Block) -> list[str]:
    """Return the command lines without comments, with continuation lines joined."""
    lines = block.code.replace("\\\n", " ").splitlines()
    return [line for line in (re.split(r"(?:^|\s)#\s", line)[0].strip() for line in lines) if line]


def runs(line: str) -> bool:
    return not all(any(re.match(pattern, part) for pattern in NOT_RUN) for part in line.split(" && "))


LINES = [
    pytest.param(line, id=f"{block.file}:{block.line}: {line[:60]}")
    for block in BLOCKS if block.language == "sh" and not block.marked and block.file != "README.md"
    for line in lines_of(block) if runs(line)
]  # fmt: skip
PYTHON = [pytest.param(block, id=str(block)) for block in BLOCKS
          if block.language == "python" and not block.marked and block.file != "README.md"]  # fmt: skip


@pytest.fixture(scope="session")
def examples(tmp_path_factory, rwkv) -> Path:
    """A folder with all files that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "tests").symlink_to(ROOT / "tests")
    (folder / "tools").symlink_to(ROOT / "tools")
    sample = ROOT / "tests/data/sample.jsonl.zst"
    reader = zstandard.ZstdDecompressor().stream_reader(sample.read_bytes(), read_across_frames=True)
    lines = reader.read().splitlines(keepends=True)
    shutil.copy(sample, folder / "corpus.jsonl.zst")
    for name in ("corpus", "crawl", "books", "moved", "in"):
        (folder / name).mkdir()
    for k in range(2):
        part = zstandard.compress(b"".join(lines[100 * k : 100 * k + 100]))
        (folder / f"corpus/{k}.jsonl.zst").write_bytes(part)
        (folder / f"moved/{k}.jsonl.zst").write_bytes(part)
        (folder / f"books/{k}.txt").write_text(f"Chapter {k}.\n\nIt was a dark and stormy night.\n", encoding="utf-8")
    (folder / "crawl/a.jsonl").write_bytes(b"".join(lines[:20]) + b"{broken\n")
    (folder / "phrases.txt").write_text("the\nof the\n")
    (folder / "questions.jsonl").write_text('{"question": "What is the third word of this line?", "answer": "the"}\n')
    for name in ("clean", "unique"):
        shutil.copytree(folder / "corpus", folder / name)
    (folder / "a.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (folder / "a.zst").write_bytes(zstandard.compress(b"one\n\ntwo\n\nthree"))
    for name, path in MODELS.items():
        if (SHARED / "data/models" / path).exists():
            (folder / name).symlink_to(SHARED / "data/models" / path)
    shutil.copy(rwkv.path, folder / "rwkv_vocab_v20230424.txt")
    rwkv.save(folder / "rwkv.utk")
    if (folder / "t5.model").exists():
        Tokenizer.from_file(folder / "t5.model").save(folder / "t5.utk")
    np.arange(100, 200, dtype="<u2").tofile(folder / "bare.bin")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for arguments in (["corpus", "-o", "ids.u16", "--metadata"], ["a.zst", "--doc", r"\n\n", "-o", "a.u16"],
                          ["books", "-o", "more.u16"],
                          *(["corpus", "-o", "ids.u16", "--shard", f"{k}/8"] for k in range(8))):  # fmt: skip
            command(["tokenize", *arguments])
        command(["index", "ids.u16", "-o", "idx", "--words", "--fields", "lang,year"])
    return folder


@pytest.fixture
def folder(examples, tmp_path, monkeypatch) -> Path:
    shutil.copytree(examples, tmp_path / "x", symlinks=True)
    monkeypatch.chdir(tmp_path / "x")
    return tmp_path / "x"


def command(arguments: list[str]) -> None:
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    if done.exception:
        raise done.exception
    assert done.exit_code in (0, 3), done.output


def remove_outputs(words: list[str], folder: Path) -> None:
    """Remove the outputs of a command, which may exist as inputs of other examples."""
    outputs = [words[k + 1] for k in range(len(words) - 1) if words[k] in ("-o", "--out") and "--add" not in words]
    outputs += words[3:4] if words[1:2] == ["convert"] else []
    for name in outputs:
        for path in folder.glob(f"{name.rstrip('/')}*") if name not in ("-", ".") else []:
            if re.fullmatch(re.escape(Path(name).name) + r"(\.(ends|json|meta\.jsonl\.zst))?", path.name):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("line", LINES)
def test_command_lines(folder, line):
    parts = [part for part in line.split(" && ") if not any(re.match(pattern, part) for pattern in NOT_RUN)]
    for part in parts:
        words = shlex.split(part)
        skip_without(part, folder)
        remove_outputs(words, folder)
        if words[0] == "pyunitok" and not re.search(r"[|<>$;&]", part):
            command([name for word in words[1:] for name in expanded(part, word, folder)])
        else:
            shell(part, folder)


def expanded(part: str, word: str, folder: Path) -> list[str]:
    """Expand a glob pattern as the shell would, unless it is quoted."""
    if not re.search(r"[*?]", word) or f"'{word}'" in part or f'"{word}"' in part:
        return [word]
    return sorted(str(path.relative_to(folder)) for path in folder.glob(word)) or [word]


def shell(part: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash with the pyunitok and python under test."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "pyunitok").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pyunitok "$@"\n')
    (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tools / "zstdcat").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{ZSTDCAT}" "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    environment = commands.environment(PATH=f"{tools}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {part}"], env=environment, capture_output=True, check=False)
    assert done.returncode in (0, 3, 141), f"{part}: {done.stderr.decode()}"  # 141 is SIGPIPE, from `| head`
    return done


ZSTDCAT = "import sys, zstandard; sys.stdout.buffer.write(zstandard.decompress(open(sys.argv[1], 'rb').read()))"


def skip_without(code: str, folder: Path) -> None:
    if "from datasketch import" in code:
        pytest.importorskip("datasketch")
    for name in MODELS:
        if name in code and not (folder / name).exists():
            pytest.skip(f"{name} is not available")


@pytest.mark.parametrize("block", PYTHON)
def test_python_blocks(folder, block):
    skip_without(block.code, folder)
    program = folder / "block.py"
    program.write_text(PREAMBLE + "\n".join(checks(block.code)), encoding="utf-8")
    done = commands.python(folder, str(program))
    assert done.returncode == 0, f"{block}\n{done.stderr.decode()}"


@pytest.mark.slow
def test_readme_in_order(tmp_path, monkeypatch):
    """Regression: the first search found nothing, and merge had no shards."""
    for name in ("tests", "tools", "csrc"):
        if not (ROOT / name).exists():
            pytest.skip(f"{name} is not available")
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    for block in BLOCKS:
        if block.file != "README.md" or block.marked:
            continue
        if block.language == "python":
            (tmp_path / "block.py").write_text("\n".join(checks(block.code)), encoding="utf-8")
            shell("python block.py", tmp_path)
        for line in lines_of(block) if block.language == "sh" else []:
            parts = [part for part in line.split(" && ") if not any(re.match(pattern, part) for pattern in NOT_RUN)]
            for part in parts:
                done = shell(part, tmp_path)
                if re.match("pyunitok (search|encode|inspect|stats|detokenize)", part):
                    assert done.stdout and not done.stderr.startswith(b"0 "), f"{block}: {part} shows nothing"


def checks(code: str) -> list[str]:
    """Return the program's lines, with an assertion for each expression whose comment is a literal."""
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        last = lines[statement.end_lineno - 1]
        comment = last.encode()[statement.end_col_offset :].decode().partition("#")[2].strip()
        if isinstance(statement, ast.Expr) and statement.lineno == statement.end_lineno:
            try:
                ast.literal_eval(comment)
            except (SyntaxError, ValueError):
                continue
            expression = ast.unparse(statement.value)
            lines[statement.lineno - 1] = f"_ = {expression}; assert _ == {comment}, _"
    return lines


def test_blocks_are_run_or_marked():
    """A block of commands must be run, or marked with a reason."""
    for block in BLOCKS:
        if block.language not in ("sh", "python"):
            assert not re.search(r"^(pyunitok|python|\$) ", block.code, re.M), f"{block}: not marked as sh or python"
            assert not block.marked, f"{block}: such blocks are never run"
    assert sum(block.marked for block in BLOCKS) <= 5, "too many blocks are not run"


def test_every_command_is_shown():
    shown = "\n".join(block.code for block in BLOCKS if block.language == "sh")
    assert set(COMMANDS) <= set(re.findall(r"pyunitok ([a-z]+)", shown))


def test_tools_exist():
    for name in FILES:
        for tool in re.findall(r"python (tools/\S+\.py)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / tool).exists()


def test_concordance(tmp_path: Path) -> None:
    """The concordance in the README is the output of the command above it."""
    text = (ROOT / "tools/docs/searching.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\npyunitok search idx (.*)\n```\n\n```text\n((.*\n)+?)```", text)
    assert block
    for arguments in (
        ["tokenize", str(ROOT / "tests/data/sample.jsonl.zst"), "-o", str(tmp_path / "ids.u16")],
        ["index", str(tmp_path / "ids.u16"), "-o", str(tmp_path / "idx")],
    ):  # fmt: skip
        assert CliRunner().invoke(cli, arguments).exit_code == 0
    result = CliRunner().invoke(cli, ["search", str(tmp_path / "idx"), *shlex.split(block[1])])
    assert result.stdout + result.stderr == block[2]
