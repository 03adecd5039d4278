"""Measures which lines of C and Python the tests execute: python tools/code_coverage.py [PYTEST ARGUMENTS]

Builds the library for gcov in a copy of this tree, runs the tests there, and prints the share of lines covered in each
folder. Writes an HTML report to build/coverage. Requires `pip install -e '.[coverage]'` and gcc.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build/coverage"
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.so", "*.pyd", "*.egg-info", "build", "dist", "_lib.c")
GCOV = "--coverage -O1 -fprofile-update=atomic"


def run(tree: Path, *words: str, **more: str) -> None:
    subprocess.run([sys.executable, *words], cwd=tree, env=os.environ | more, check=True)


def python_lines(report: Any) -> dict[str, tuple[int, int]]:
    """(number of executed lines, number of lines) for each folder of the package."""
    ret: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for name, file in report["files"].items():
        folder, summary = Path(name).parent.as_posix(), file["summary"]
        ret[folder] = (ret[folder][0] + summary["covered_lines"], ret[folder][1] + summary["num_statements"])
    return ret


def c_lines(report: Any) -> dict[str, tuple[int, int]]:
    ret: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for file in report["files"]:
        folder = Path(file["filename"]).parent.as_posix()
        ret[folder] = (ret[folder][0] + file["line_covered"], ret[folder][1] + file["line_total"])
    return ret


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name, "tree")
        shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
        flags = {"UNITOK_CFLAGS": GCOV, "UNITOK_LDFLAGS": "--coverage", "CC": "gcc"}
        run(tree, "setup.py", "-q", "build_ext", "--inplace", **flags)
        shown = ["--cov=pyunitok", "--cov-report=", "-p", "no:cacheprovider"]
        arguments = sys.argv[1:] or ["-q", "-n", "auto"]
        run(tree, "-m", "pytest", *shown, *arguments, PYTHONPATH=str(tree))
        run(tree, "-m", "coverage", "json", "-q", "-o", str(OUT / "python.json"))
        run(tree, "-m", "coverage", "html", "-q", "-d", str(OUT / "python"))
        gcovr = ["-m", "gcovr", "--filter", "csrc/", "--root", str(tree), "--gcov-ignore-errors=no_working_dir_found"]
        run(tree, *gcovr, "--json-summary", str(OUT / "c.json"), "--html-details", str(OUT / "c.html"))
    rows = python_lines(json.loads((OUT / "python.json").read_bytes()))
    rows |= c_lines(json.loads((OUT / "c.json").read_bytes()))
    for folder, (n_run, n_lines) in sorted(rows.items()):
        print(f"{folder:32} {n_run:7,} of {n_lines:7,} lines  {100 * n_run / max(1, n_lines):5.1f} %")
    for language in ("csrc", "pyunitok"):
        found = [counts for folder, counts in rows.items() if folder.startswith(language)]
        n_run, n_lines = (sum(column) for column in zip(*found, strict=True))
        print(f"{language + ', all':32} {n_run:7,} of {n_lines:7,} lines  {100 * n_run / n_lines:5.1f} %")


if __name__ == "__main__":
    main()
