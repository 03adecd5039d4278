"""Type checkers see the package's types, even in an editable install."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = 'import pyunitok\nreveal_type(pyunitok.open("x"))\nreveal_type(pyunitok.open(["x", "y"]))\n'


@pytest.mark.slow
def test_mypy_sees_an_editable_install(tmp_path):
    """Regression: the install was an import hook, which mypy cannot follow."""
    pytest.importorskip("mypy")
    if not (ROOT / "pyunitok/py.typed").exists():
        pytest.skip("the package is not in this tree")
    source = tmp_path / "source"
    shutil.copytree(ROOT / "pyunitok", source / "pyunitok", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    (source / "setup.py").write_text("from setuptools import setup\nsetup()\n")  # building the C library takes minutes
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "outer.pth").write_text(sysconfig.get_path("purelib"))  # pip, setuptools and the dependencies of the types
    install = [python, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "-e", source]
    subprocess.run(install, check=True, capture_output=True)
    (tmp_path / "program.py").write_text(PROGRAM)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--python-executable", python, "--strict", "program.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout
    assert '"pyunitok.tokens.array.TokenArray"' in checked.stdout
    assert '"pyunitok.tokens.several.TokenArrays"' in checked.stdout
