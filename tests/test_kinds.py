"""The table of model kinds: one row is all that Python needs to support a kind."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from toys.sentencepieces import NORMAL, SPACE, UNIGRAM, make

import pyunitok
from pyunitok._c.kinds import KINDS
from pyunitok.cli import cli
from pyunitok.train.trainers import TRAINERS


def test_a_made_up_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command accepts models of a made-up kind, which is another name for one of the C library's kinds."""
    row = KINDS["unigram"]._replace(
        name="toy", algorithm="toy 7", title="Toy", summary="Toy: made up", sampling=("lattice",)
    )
    monkeypatch.delitem(KINDS, "unigram")
    monkeypatch.setitem(KINDS, "toy", row)
    monkeypatch.chdir(tmp_path)
    model = make([(SPACE, -1.0, NORMAL), (b"a", -1.5, NORMAL), (b"b", -2.0, NORMAL), (b"ab", -3.0, NORMAL)])
    assert model.trainer_spec.model_type == UNIGRAM
    Path("m.model").write_bytes(model.SerializeToString())
    Path("a.txt").write_text("ab b a ab")

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == code, (done.output, done.exception)
        return done.output + str(done.exception or "")

    run("convert", "m.model", "m.utk", "--to", "native")
    run("convert", "m.utk", "again.model", "--to", "sentencepiece")
    for name in ("m.model", "m.utk", "again.model"):
        assert "Toy: made up" in run("inspect", name)
        assert run("encode", "-m", name, "ab b") == run("encode", "-m", "m.model", "ab b")
    run("tokenize", "a.txt", "-o", "ids.u16", "-m", "m.utk", "--sample", "alpha=0.5,seed=1", "--verify")
    assert json.loads(Path("ids.u16.json").read_text())["algorithm"] == "toy 7"
    run("verify", "ids.u16")
    run("index", "ids.u16", "-o", "idx")
    assert run("search", "idx", "ab", "--count").split()[0] == "2"
    assert "the method for this Toy model must be lattice" in run(
        "tokenize", "a.txt", "-o", "x.u16", "-m", "m.utk", "--sample", "alpha=0.5,seed=1,method=viterbi", code=1
    )
    assert "this is toy" in run("vocab", "edit", "m.utk", "-o", "v.utk", code=1)


def test_no_other_module_compares_the_name_of_a_kind() -> None:
    root = Path(pyunitok.__file__).parent
    names = {*KINDS, *TRAINERS}
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                found = {item.value for item in ast.walk(node) if isinstance(item, ast.Constant)} & names
                assert not found, f"{path}:{node.lineno}: {ast.unparse(node)}"
