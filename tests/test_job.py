"""pyunitok.tokenize(), which does everything that the command does; and `python -m pyunitok`."""

import inspect
import json
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import commands
import numpy as np
import pytest
from toys import models

import pyunitok
from pyunitok import OptionError, OutputError
from pyunitok.cli.tokenize import tokenize as command
from pyunitok.job import Job
from pyunitok.model.sampling import Sample
from pyunitok.run.options import TokenizeOptions
from pyunitok.run.parts import tokenize_in_parts


@pytest.fixture
def folder(tmp_path, monkeypatch, toy):
    toy.save(tmp_path / "toy")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_bytes(b"the cat\nand the dog")
    lines = [json.dumps({"t": {"x": f"the {k}"}, "text": "no"}) + "\n" for k in "abc"]
    (tmp_path / "in/b.jsonl").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess:
    done = commands.run(Path.cwd(), *arguments)
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


def test_python_m(folder):
    done = commands.python(folder, "-m", "pyunitok", "encode", "-m", "toy", "the")
    assert (done.returncode, done.stdout) == (0, run("encode", "-m", "toy", "the").stdout)


def test_the_call_matches_the_command(folder):
    run("tokenize", "in", "-o", "ids", "-m", "toy", "--doc", r"\n", "--text-key", "t.x", "--metadata", "--eod", "7")
    seen = []
    manifest = pyunitok.tokenize(
        "in", folder / "own", "toy", separator="\n", text_key="t.x", metadata=True, eod=7, threads=2,
        on_progress=lambda progress: seen.append(progress.documents),
    )  # fmt: skip
    for suffix in ("", ".ends", ".meta.jsonl.zst"):
        assert (folder / f"own{suffix}").read_bytes() == (folder / f"ids{suffix}").read_bytes()
    assert manifest.documents == 5 == seen[-1]
    assert manifest.text_bytes == len("the cat" + "and the dog" + 3 * "the a")
    assert manifest.input_bytes == sum(path.stat().st_size for path in (folder / "in").iterdir())
    assert manifest == pyunitok.open("own").manifest
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("own*")}
    assert pyunitok.tokenize("in", "own", "toy", separator="\n", text_key="t.x", metadata=True, eod=7) == manifest
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_one_signature():
    """tokenize(), its options and the command have the same parameters."""
    call = inspect.signature(pyunitok.tokenize).parameters
    options = {field.name: field for field in fields(TokenizeOptions)}
    own = {"inputs", "out", "model", "on_progress", "on_start"}
    assert set(call) - own == set(options)
    for name, field in options.items():
        assert name == "format_options" or call[name].default == field.default, name
    exports = {"name", "val_fraction", "shards", "shard_tokens", "eot", "token_dtype", "rename_ids"}
    taken = {parameter.name for parameter in command.params} - exports
    of_command = {"dry_run", "stats_json", "pattern"}
    assert taken - of_command == set(options) - {"format_options"} | {"inputs", "out", "model"}


def test_conflicting_options(folder, toy):
    for options in (
        {"unit_bytes": 5}, {"keep_parts": True}, {"ray": "auto", "shard": (0, 2)}, {"keep_tokens": True},
        {"format_options": {"eot": 5}}, {"input_format": "csv"}, {"dtype": "int8"}, {"on_error": "ignore"},
        {"eod": "none"}, {"eod": True}, {"eod": 70000}, {"separator": ""}, {"shard": (2, 2)}, {"spool": "x"},
        {"sample": Sample(0.1, 1, method="dropout")}, {"ray": "auto", "format": "npy", "keep_parts": True},
    ):  # fmt: skip
        with pytest.raises(OptionError):
            pyunitok.tokenize("in", "ids", toy, **options)
        assert not list(folder.glob("ids*"))
    with pytest.raises(OptionError, match="cannot be stdout"):
        pyunitok.tokenize("in", "-", toy)
    with pytest.raises(OptionError, match="OUT is a URL"):
        pyunitok.tokenize("in", "memory://a/ids", toy, format="npy")
    none = models.greedy(eod=None)
    with pytest.raises(OptionError, match="no eod"):
        pyunitok.tokenize("in", "ids", none)
    with pytest.raises(pyunitok.ModelFormatError, match="the model file 'gone' does not exist"):
        pyunitok.tokenize("in", "ids", "gone")
    assert pyunitok.tokenize("in/a.txt", "ids", none, eod=None).eod is None


def test_names_of_outputs(folder, toy):
    def outputs(**options):
        return sorted(Path(name).name for name in Job("in/a.txt", "x/ids", toy, TokenizeOptions(**options)).outputs())

    assert outputs() == ["ids", "ids.ends", "ids.json"]
    assert outputs(metadata=True) == ["ids", "ids.ends", "ids.json", "ids.meta.jsonl.zst"]
    assert outputs(format="npy") == ["ids.ends.npy", "ids.json", "ids.npy"]
    assert outputs(format="npy", keep_tokens=True) == ["ids", "ids.ends", "ids.ends.npy", "ids.json", "ids.npy"]
    url = Job("in/a.txt", "memory://b/ids", toy, TokenizeOptions(metadata=True)).outputs()
    assert url == [f"memory://b/ids{suffix}" for suffix in ("", ".ends", ".json", ".meta.jsonl.zst")]
    assert not (folder / "x").exists()


def test_parts_of_a_run_without_its_text_inputs(folder, toy):
    """The error lists the change. Regression: it was 'a separator (--doc) is for text files'."""
    options = TokenizeOptions(separator=b"\n", text_key="t.x", ray="local", keep_parts=True)
    tokenize_in_parts(Job("in", "ids", toy, options).plan)
    Path("in/a.txt").unlink()
    job = Job("in", "ids", toy, options)
    with pytest.raises(OutputError, match=r"ids\.parts was started by another .*\(number of inputs: was 2, now 1"):
        tokenize_in_parts(job.plan)
    shutil.rmtree("ids.parts")
    with pytest.raises(OptionError, match="is for text files"):
        Job("in", "ids", toy, options)


def test_exporting_creates_the_folder(folder, toy):
    """As in `export`. Regression: tokenize() failed with 'cannot be written: No such file or directory'."""
    manifest = pyunitok.tokenize("in/a.txt", "far/away/ids", toy, format="npy")
    assert len(np.load(folder / "far/away/ids.npy")) == manifest.tokens
    assert pyunitok.tokenize("in/a.txt", "far/away/ids", toy, format="npy").tokens == manifest.tokens
    with pytest.raises(OutputError):
        pyunitok.tokenize("in/a.txt", "in/a.txt/ids", toy, format="npy")


def test_a_report_that_cannot_be_written_fails_before_any_work(folder):
    """Regression: the error came after days of work."""
    done = run("tokenize", "in/a.txt", "-o", "ids", "-m", "toy", "--stats-json", "gone/stats.json", code=1)
    assert b"the folder gone does not exist" in done.stderr
    assert not list(folder.glob("ids*"))
    run("tokenize", "in/a.txt", "-o", "ids", "-m", "toy", "--stats-json", "stats.json")
    stats = json.loads((folder / "stats.json").read_bytes())
    assert (stats["bytes"], stats["text_bytes"], stats["inputs"][0]["documents"]) == (19, 19, 1)


@pytest.mark.parametrize("shard", ["0/99999999999", "5/100000000"])
def test_too_many_shards(folder, shard):
    """Regression: the command took 48 seconds and 7 GB, or all memory."""
    done = run("tokenize", "in", "-o", "ids", "-m", "toy", "--shard", shard, code=2)
    assert b"at most 1,000,000" in done.stderr
    assert not list(folder.glob("ids*"))


def test_a_shard_does_not_read_the_others(folder, toy):
    """Inputs and outputs share a folder: files of other shards are not read."""
    for k in range(3):
        pyunitok.tokenize("in", "in/ids", toy, shard=(k, 3), text_key="t.x")
    joined = pyunitok.tokenize("in/a.txt", "whole", toy)
    assert joined.tokens and sorted(path.name for path in Path("in").glob("ids.*-of-3")) == [
        f"ids.{k}-of-3" for k in range(3)
    ]


def test_text_bytes_do_not_depend_on_the_format(folder, toy):
    """Regression: the same documents gave 3.508 bytes per token from JSON lines and 3.154 from Parquet."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = [f'the "{k}"\n\\ である' * 9 for k in range(200)]
    Path("a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    parquet.write_table(pyarrow.table({"text": texts}), "a.parquet")
    Path("a.txt").write_text("|".join(texts))
    separators = {"jsonl": None, "parquet": None, "txt": "|"}
    made = [pyunitok.tokenize(f"a.{kind}", f"{kind}.ids", toy, separator=by) for kind, by in separators.items()]
    assert {manifest.text_bytes for manifest in made} == {sum(len(text.encode()) for text in texts)}
    assert len({manifest.bytes_per_token for manifest in made}) == 1
    assert [manifest.input_bytes for manifest in made] == [
        Path("a.jsonl").stat().st_size, made[0].text_bytes, Path("a.txt").stat().st_size
    ]  # fmt: skip
