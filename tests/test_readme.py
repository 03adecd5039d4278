"""The README is held to the code: its commands and options exist, its Python runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyunitok.cli import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.S))
PYTHON = re.findall(r"```python\n(.*?)```", README, re.S)


def test_commands_exist():
    named = set(re.findall(r"pyunitok ([a-z]+)", SHELL))
    assert named == set(cli.commands), "the README shows every command, and no other"


def test_options_exist():
    known = {option for command in cli.commands.values() for param in command.params for option in param.opts}
    of_others = {"--help", "--inplace", "--threads", "--head", "--address"}
    section = README[README.index("## Command line") : README.index("## Python")]
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", section)) <= known | of_others


def test_tools_exist():
    for tool in re.findall(r"python (tools/\S+\.py)", README):
        assert (ROOT / tool).exists()


def test_first_steps(tmp_path, rwkv):
    """The first line's command and the ten lines of Python, as they stand."""
    command = re.search(r"&& pyunitok (tokenize .*)", README)[1].split()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command[1] = str(ROOT / command[1])
    command += ["-m", rwkv.path]
    run = [sys.executable, "-c", "from pyunitok.cli import main; main()", *command]
    subprocess.run(run, cwd=tmp_path, env=environment, check=True, capture_output=True)
    pytest.importorskip("pyrwkv_tokenizer")
    done = subprocess.run([sys.executable, "-c", PYTHON[0]], cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert b"478 documents, 469936 tokens" in done.stdout
