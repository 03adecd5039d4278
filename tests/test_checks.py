"""The problems that tools/check.py and tools/order.py find in the sources."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import pyunitok

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
check = pytest.importorskip("check")
order = check.order


def test_includes_point_downwards() -> None:
    check.check_includes()


@pytest.mark.parametrize(
    ("layer", "included", "is_right"),
    [
        ("encoders", "text/cut.h", True), ("encoders", "encoders/bpe.h", True), ("ground", "unitok.h", True),
        ("train", "suffix/sort.h", True), ("text", "encoders/bpe.h", False), ("suffix", "train/bpe.h", False),
        ("model", "unitok.h", False), ("model", "bpe.h", False), ("attic", "ground/common.h", False),
        ("model", "train/bpe.h", False), ("suffix", "unitok_search.h", True), ("train", "unitok_train.h", True),
        ("structures", "unitok_train.h", True), ("model", "unitok_train.h", False), ("train", "unitok_search.h", False),
    ],
)  # fmt: skip
def test_an_include(tmp_path: Path, layer: str, included: str, is_right: bool) -> None:
    folder = tmp_path / "csrc" / layer
    folder.mkdir(parents=True)
    (folder / "file.c").write_text(f'#include <stdint.h>\n  # include "{included}"\n')
    if is_right:
        check.check_includes(tmp_path)
    else:
        with pytest.raises(check.Failed, match=f"{layer}/file.c: .*{included}"):
            check.check_includes(tmp_path)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An empty repository for order.py to check."""
    monkeypatch.setattr(order, "ROOT", tmp_path)
    return tmp_path


def _package(root, files):
    for name, text in {"__init__.py": '_LAZY = {"open": "tokens.opening"}\n', **files}.items():
        path = root / "pyunitok" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("disk/a.py", "from pyunitok.tokens.manifest import Manifest", "disk imports tokens.manifest"),
        ("disk/a.py", "def f():\n    import pyunitok.run.plan", "a.py:2: disk imports run.plan"),
        ("corpus/a.py", "import pyunitok\npyunitok.open('x')", "a.py:2: corpus imports tokens.opening"),
        ("vocab/a.py", "from pyunitok import cli", "vocab imports cli"),
        ("attic/a.py", "", "attic is not in ROOMS"),
        ("tokens/a.py", "from pyunitok.tokens import b\nfrom pyunitok.disk import c\nimport pyunitok", None),
    ],
)
def test_imports_point_downwards(root, monkeypatch, name, text, wanted):
    _package(root, {name: text})
    monkeypatch.setattr(order, "EXCEPTIONS", {})
    found = list(order.upward_imports())
    assert (wanted in found[0]) if wanted else not found


@pytest.mark.parametrize(
    ("name", "text", "is_right"),
    [
        ("_c/a.py", "from pyunitok._lib import ffi, lib\nlib.unitok_encode()", True),
        ("train/a.py", "from pyunitok._c.train import Units", True),
        ("train/a.py", "x = 1\nfrom pyunitok._lib import lib", False),
        ("train/a.py", "x = 1\nimport pyunitok._lib", False),
        ("train/a.py", "x = 1\nfrom pyunitok import _lib", False),
        ("train/a.py", "x = 1\nfrom pyunitok._c.library import check, ffi", False),
        ("train/a.py", "from pyunitok._c import library\nlibrary.lib.unitok_encode()", False),
    ],
)
def test_only_the_c_package_uses_the_c_library(root, name, text, is_right):
    _package(root, {name: text})
    found = list(order.library_uses())
    assert not found if is_right else found == ["pyunitok/train/a.py:2: only pyunitok/_c uses the C library"]


def test_private_names_stay_in_their_package(root):
    _package(root, {"model/a.py": "x._codec = 1", "model/b.py": "x._codec", "run/a.py": "x._replace()\nx._codec"})
    assert list(order.private_uses()) == ["pyunitok/run/a.py:2: _codec is private to another folder"]


def test_headers_stay_short(root):
    (root / "csrc").mkdir()
    for name, n_lines in order.HEADER_LINES.items():
        (root / "csrc" / name).write_text("\n" * n_lines, encoding="utf-8")
    assert not list(order.long_headers())
    limit = order.HEADER_LINES["unitok.h"]
    (root / "csrc/unitok.h").write_text("\n" * (limit + 1), encoding="utf-8")
    assert list(order.long_headers()) == [f"csrc/unitok.h: {limit + 1} lines, at most {limit}"]


@pytest.mark.parametrize(
    ("name", "begin", "line", "end", "wanted"),
    [
        ("tools/a.py", "x = 1\n@y\ndef f():\n", "    x += 1\n", "", "a.py:3: f has {} lines"),
        ("tests/test_a.py", "class A:\n    async def f(self):\n", "        x = 1\n", "", "tests/test_a.py:2: f has"),
        ("csrc/text/a.c", "int a[] = {\n 1,\n};\nint f(int b,\n      int c)\n{", "\n", "}\n", "a.c:4: f has {} lines"),
        ("csrc/text/a.h", "TARGET(X) static int NAME(f)(int b)\n{", "\n", "}\n", "a.h:1: f has {} lines"),
    ],
)
def test_functions_stay_short(root, name, begin, line, end, wanted):
    path = root / name
    path.parent.mkdir(parents=True)
    path.write_text(begin + line * 60 + end, encoding="utf-8")
    ((_, _, n_lines),) = order.functions_of(path)
    (found,) = order.long_functions()
    assert n_lines > 60 and wanted.format(n_lines) in found
    path.write_text(begin + line * (60 - (n_lines - 60)) + end, encoding="utf-8")
    assert [n for _, _, n in order.functions_of(path)] == [60]
    assert not list(order.long_functions())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def f():\n    import json", "pyunitok/disk/a.py:2: json is not imported at the top"),
        ("class A:\n    def f(self):\n        def g():\n            from pyunitok import b", "a.py:4: pyunitok is"),
        ("if TYPE_CHECKING:\n    from pyunitok.disk.b import C", "a.py:2: pyunitok.disk.b is not"),
        ("try:\n    import fcntl\nexcept ImportError:\n    import json", None),
        ("def f():\n    import pyarrow.parquet\n    from matplotlib.figure import Figure", None),
    ],
)
def test_imports_are_at_the_top(root, text, wanted):
    _package(root, {"disk/a.py": text, "__init__.py": "_LAZY = {}\ndef f():\n    import json"})
    found = list(order.late_imports())
    assert (len(found) == 1 and wanted in found[0]) if wanted else not found


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["tokens/a.py", "from pyunitok.tokens import b", "tokens/b.py", "import pyunitok.tokens.a"], "tokens.b"),
        (["tokens/opening.py", "import pyunitok.tokens.b", "tokens/b.py", "import pyunitok\npyunitok.open"], "b"),
        (["disk/a.py", "if TYPE_CHECKING:\n    import pyunitok.disk.b", "disk/b.py", "import pyunitok.disk.a"], "b"),
        (["disk/__init__.py", "def f():\n    import pyunitok.disk.a", "disk/a.py", "import pyunitok.disk"], "disk.a"),
        (["disk/__init__.py", "", "disk/a.py", "from pyunitok.disk import b", "disk/b.py", "import pyunitok"], None),
    ],
)  # fmt: skip
def test_imports_have_no_cycle(root, files, wanted):
    _package(root, dict(zip(files[::2], files[1::2], strict=True)))
    found = list(order.circles())
    assert ("in a cycle" in found[0] and wanted in found[0]) if wanted else not found


def test_class_names_are_unique(root):
    text = "class Tokenizer: pass\nclass Shard: pass\nif True:\n    class Inner: pass"
    _package(root, {"model/a.py": text, "compat/bytepiece.py": "class Tokenizer: pass", "run/b.py": "class B: ..."})
    assert not list(order.repeated_classes())
    _package(root, {"run/c.py": "import os\nclass Shard: pass"})
    assert list(order.repeated_classes()) == ["pyunitok/model/a.py:2, pyunitok/run/c.py:2: classes with the name Shard"]


def test_conflict_markers_and_long_prose(root):
    (root / "a.py").write_text("x\n" + "<" * 7 + " HEAD\ny\n", encoding="utf-8")
    (root / "title.md").write_text("Title\n=======\n\n" + "a " * 61 + "\n|" + "-" * 200 + "|\n", encoding="utf-8")
    assert list(order.conflict_markers()) == ["a.py:2: a conflict marker"]
    assert list(order.long_lines()) == ["title.md:4: 122 columns"]


def test_packages_missing_from_setuptools(root):
    _package(root, {"attic/a.py": ""})
    (root / "pyproject.toml").write_text("[tool.setuptools.packages.find]\n", encoding="utf-8")
    assert list(order.unfound_packages()) == ["pyunitok/attic: has modules but no __init__.py"]
    (root / "pyunitok/attic/__init__.py").touch()
    assert not list(order.unfound_packages())
    (root / "pyproject.toml").write_text("[tool.setuptools]\npackages = []\n", encoding="utf-8")
    assert "packages are listed" in next(order.unfound_packages())


def test_files_missing_from_a_release(tmp_path, monkeypatch):
    monkeypatch.setattr(order, "tracked", lambda: [check.ROOT / "pyunitok/a.py", check.ROOT / ".ci/run"])
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("pyunitok/b.py", "")
    with pytest.raises(check.Failed, match=r"the sdist lacks pyunitok.a\.py\nthe wheel lacks pyunitok.a\.py"):
        check.check_files(tmp_path, tmp_path / "a.whl")
    _package(tmp_path, {"a.py": ""})
    with zipfile.ZipFile(tmp_path / "a.whl", "a") as wheel:
        wheel.writestr("pyunitok/a.py", "")
    check.check_files(tmp_path, tmp_path / "a.whl")
    with zipfile.ZipFile(tmp_path / "a.whl", "a") as wheel:
        wheel.writestr("pyunitok/_lib.so", b"\x7fELF .debug_info")
    with pytest.raises(check.Failed, match=r"_lib\.so contains debug information"):
        check.check_files(tmp_path, tmp_path / "a.whl")


@pytest.mark.skipif(not (order.ROOT / ".ci/run").exists(), reason="the sdist has no .ci/run")
def test_ci_runs_every_step():
    (steps,) = re.findall(r"^tally python tools/check\.py ([a-z ]+)", (order.ROOT / ".ci/run").read_text(), re.M)
    assert {*steps.split(), "tests"} == set(check.STEPS)  # CI runs the tests with the README's command


def test_conda_requires_what_the_package_requires():
    """The recipe has the dependencies of pyproject.toml, with the lower bounds that apply before Python 3.15."""
    tomllib = pytest.importorskip("tomllib")  # CPython 3.11
    recipe = yaml.safe_load((order.ROOT / "tools/conda/recipe.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((order.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [line.partition(";")[0] for line in project["project"]["dependencies"] if ">= '3.15'" not in line]
    found = [line.replace(" ", "").removeprefix("python-") for line in recipe["requirements"]["run"][1:]]
    assert found == wanted
    host = [line.replace(" ", "") for line in recipe["requirements"]["host"][2:]]
    assert host == [line.partition(";")[0] for line in project["build-system"]["requires"] if "< '3.15'" in line]
    assert recipe["context"]["version"] == pyunitok.__version__


def test_actions_are_pinned_by_hash():
    workflows = sorted((order.ROOT / ".github/workflows").glob("*.yml"))
    used = [line for path in workflows for line in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))]
    assert [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", line)] == []


@pytest.mark.parametrize(("ci", "result"), [("1", check.Failed), ("", check.Skipped)])
def test_checking_the_oldest_dependencies_requires_their_python(monkeypatch, ci, result):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(result, match=r"python3\.11 is not installed"):
        check.check_lowest(None)


@pytest.mark.skipif(not (order.ROOT / "pyunitok").exists(), reason="the package is not in this tree")
def test_this_tree_has_no_problems():
    assert order.faults() == []
