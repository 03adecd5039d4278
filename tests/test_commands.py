"""The Python functions behind commands: build_index, merge, verify, export_tokens, duplicates."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pyunitok
from pyunitok.errors import OutputError

NAMES = ("build_index", "duplicates", "export_tokens", "merge", "verify")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a.u16, made from a.txt, whose two documents share a prefix, and b.u16, made from b.txt."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("one two three four five six\none two three four five six seven\n")
    Path("b.txt").write_text("another text\n")
    for name in ("a", "b"):
        pyunitok.tokenize(f"{name}.txt", f"{name}.u16", separator="\n")


@pytest.mark.parametrize("name", NAMES)
def test_each_function_is_documented(name: str) -> None:
    """The docstring describes every parameter and contains an example."""
    function = getattr(pyunitok, name)
    doc = function.__doc__
    parameters = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]
    assert [parameter for parameter in parameters if f"    {parameter} " not in doc] == []
    assert f"pyunitok.{name}(" in doc


def test_names_do_not_shadow_packages_or_import_them() -> None:
    code = (
        "import sys, pyunitok; assert 'numpy' not in sys.modules; pyunitok.verify, pyunitok.export_tokens\n"
        "import pyunitok.index.build, pyunitok.export\n"
        "assert pyunitok.index.__path__ and pyunitok.export.__path__"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(pyunitok.__file__).parent.parent)


def test_build_index_and_verify() -> None:
    manifest = pyunitok.build_index("a.u16", "idx", max_memory_bytes=1 << 30, threads=1)
    assert (manifest.documents, len(manifest.shards)) == (2, 1)
    assert pyunitok.build_index("a.u16", "idx").created == manifest.created  # already finished, so not rewritten
    assert pyunitok.build_index(["b.u16"], "idx", add=True).documents == 3
    index = pyunitok.open_index("idx")
    assert index.count("text") == 1 and pyunitok.verify("idx") == []
    with pytest.raises(OutputError, match="is an index"):
        pyunitok.verify("idx", inputs=True)
    path = next(Path("idx").glob("*.sa"))
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    assert path.name in pyunitok.verify("idx")[0]


def test_verify_tokens() -> None:
    assert pyunitok.verify("a.u16") == pyunitok.verify("a.u16", inputs=True) == pyunitok.verify("a.u16", "a.txt") == []
    Path("a.txt").write_text("one two\n")
    (problem,) = pyunitok.verify("a.u16", inputs=True)
    assert problem.startswith("a.txt: document 0 ")
    Path("a.u16").write_bytes(bytes(Path("a.u16").stat().st_size))
    assert "have changed" in pyunitok.verify("a.u16", inputs=["a.txt"])[0]


def test_merge() -> None:
    manifest = pyunitok.merge(["a.u16", Path("b.u16")], "all.u16")
    assert manifest.documents == 3 and pyunitok.verify("all.u16", inputs=True) == []
    assert pyunitok.merge(["a.u16", "b.u16"], "all.u16").created == manifest.created
    with pytest.raises(OutputError, match=r"all\.u16"):
        pyunitok.merge(["b.u16", "a.u16"], "all.u16")
    pyunitok.merge(["b.u16", "a.u16"], "all.u16", overwrite=True)
    assert pyunitok.open("all.u16").text(0) == "another text"


def test_export_tokens() -> None:
    exported = pyunitok.export_tokens("a.u16", "megatron", "out", name="corpus", copy=True)
    assert {file.path.name for file in exported.files} == {"corpus.bin", "corpus.idx"}
    assert {file.how for file in exported.files} == {"copied", "written"}
    with pytest.raises(OutputError, match="does not apply"):
        pyunitok.export_tokens(pyunitok.open("a.u16"), "npy", "out", val_fraction=0.5)


def test_duplicates() -> None:
    pyunitok.build_index(["a.u16"], "idx")
    found = pyunitok.duplicates("idx", "spans.jsonl", 4)
    spans: list[Any] = [json.loads(line) for line in Path("spans.jsonl").read_text().splitlines()]
    assert found.spans == len(spans) == 2 and found.tokens == sum(b - a for a, b in (s["tokens"] for s in spans))
    dropped = pyunitok.duplicates(pyunitok.open_index("idx"), "unique.u16", 4, drop=True)
    assert dropped.spans is None and dropped.manifest and dropped.tokens == found.tokens // 2
    assert pyunitok.open("unique.u16").text(1) == " seven" and pyunitok.verify("unique.u16", inputs=True) == []
