"""The installed package: its public names, encoding, light imports, and the files that it ships."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import click
import pytest
from toys import models

import pyunitok
from pyunitok.cli import COMMANDS, cli

ROOT = Path(__file__).resolve().parent.parent
C_FILES = sorted((ROOT / "csrc").rglob("*.[ch]"))


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_public_names() -> None:
    assert [name for name in pyunitok.__all__ if not hasattr(pyunitok, name)] == []
    with pytest.raises(AttributeError, match="nonsense"):
        _ = pyunitok.nonsense


def test_version() -> None:
    assert metadata.version("pyunitok") == pyunitok.__version__


def test_encodes() -> None:
    """The compiled library works. This test is run on every wheel."""
    tok = models.greedy("the", " the", eod=None)
    ids = tok.encode(b"the the\xff")
    assert ids.tolist() == [256, 257, 255]
    assert tok.decode_bytes(ids) == b"the the\xff"


def test_help_imports_little() -> None:
    """`pyunitok --help` imports neither the C library nor any commands, and no dependency except click."""
    heavy = {"numpy", "cffi", "_cffi_backend", "pyunitok._lib", "zstandard", "msgspec", "xxhash", "tqdm"}
    heavy |= {f"pyunitok.cli.{name}" for name in COMMANDS} | {"dataclasses", "json", "pathlib"}
    out = python(
        "import sys\n"
        "from pyunitok.cli import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "print('modules:', *sys.modules)"
    )
    help_text, _, modules = out.partition("modules:")
    assert "tokenize" in help_text
    assert heavy & set(modules.split()) == set()


@pytest.mark.parametrize(("name", "text"), [("a.txt", "a short text\n"), ("a.jsonl", '{"text": "a short text\\n"}\n')])
def test_a_short_run_imports_little(tmp_path: Path, name: str, text: str) -> None:
    """`pyunitok tokenize a.txt` imports no optional packages, and no modules for training, indexing or search."""
    heavy = {"emoji", "fsspec", "kaomoji_dataset", "matplotlib", "pyarrow", "ray", "regex", "starlette", "uvicorn"}
    heavy |= {"pyunitok.train", "pyunitok.index", "pyunitok.cli.train"}
    (tmp_path / name).write_text(text)
    arguments = ["tokenize", str(tmp_path / name), "-o", str(tmp_path / "a.u16")]
    out = python(
        "import sys\n"
        "from pyunitok.cli import cli\n"
        f"cli.main({arguments!r}, standalone_mode=False)\n"
        "print('modules:', *sys.modules)"
    )
    assert heavy & set(out.partition("modules:")[2].split()) == set()
    tokens = pyunitok.open(tmp_path / "a.u16")
    assert pyunitok.Tokenizer.default().decode_bytes(tokens[0][:-1]) == b"a short text\n"


@pytest.mark.skipif(not C_FILES, reason="requires the source tree")
def test_c_files_begin_with_their_purpose() -> None:
    """Line 1 of each file in csrc/ states its name and its purpose."""
    nameless = [path.name for path in C_FILES if not path.read_text("utf-8").startswith(f"/* {path.name} - ")]
    assert nameless == []


@pytest.mark.skipif(not C_FILES or sys.platform == "win32", reason="requires the source tree, and not MSVC")
def test_building_without_a_compiler(tmp_path: Path) -> None:
    """Regression: the message was only "No such file or directory: 'gcc'", after a warning from cffi."""
    pytest.importorskip("setuptools", minversion="77")
    command = [sys.executable, "setup.py", "-q", "build_ext", "--force", "-b", str(tmp_path), "-t", str(tmp_path)]
    env = os.environ | {"CC": "no-such-compiler"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, env=env)
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot compile the C library: ")
    assert "no-such-compiler" in done.stderr and "apt-get install gcc libc6-dev python3-dev" in done.stderr


@pytest.mark.skipif(not C_FILES, reason="requires the source tree")
def test_licence_files_are_shipped() -> None:
    """setuptools ships the files in `license-files`: LICENSE, and NOTICE, which credits the vocabulary's sources."""
    assert 'license-files = ["LICENSE", "NOTICE"]' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert (ROOT / "LICENSE").is_file() and (ROOT / "NOTICE").is_file()


def test_types_are_shipped() -> None:
    assert (Path(pyunitok.__file__).parent / "py.typed").is_file()


def test_serve_names_the_packages_to_install(tmp_path: Path) -> None:
    """`serve --help` works without starlette. Regression: the command's module imported it at the top."""
    start = "import sys; sys.modules['starlette'] = None; from pyunitok.cli import main; "
    assert "Usage:" in python(f"{start}sys.argv = ['pyunitok', 'serve', '--help']; main()")
    command = [sys.executable, "-c", f"{start}sys.argv = ['pyunitok', 'serve', {str(tmp_path)!r}]; main()"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("error: starlette")
    assert done.stderr.endswith("is not installed: pip install 'pyunitok[serve]'\n")


def test_groups_list_their_commands() -> None:
    """click-man finds the commands of a group in its attribute `commands`."""
    assert list(cli.commands) == list(COMMANDS)
    assert isinstance(train := cli.commands["train"], click.Group)
    assert {"unigram", "bpe"} < set(train.commands)


@pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="setup.py is not in this tree")
def test_python_versions_that_a_wheel_supports() -> None:
    limited_api = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["limited_api"]
    assert limited_api((3, 10), is_free_threaded=False, is_debug=False) == "cp310"
    assert limited_api((3, 15), is_free_threaded=False, is_debug=False) == "cp310"
    assert limited_api((3, 14), is_free_threaded=True, is_debug=False) is None
    assert limited_api((3, 15), is_free_threaded=True, is_debug=False) == "cp315"
    assert limited_api((3, 13), is_free_threaded=False, is_debug=True) is None
