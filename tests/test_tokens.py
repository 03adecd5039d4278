"""Token files: which files open() accepts or rejects, and the messages."""

import json
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from test_pipeline import run
from toys.models import BYTES

import pyunitok
from pyunitok.cli import cli
from pyunitok.errors import ModelFormatError, OutputError
from pyunitok.model.tokenizer import Tokenizer


@pytest.fixture
def made(tmp_path):
    """A folder with a token file of two documents, and the model file that its manifest names."""
    Tokenizer.from_pieces([*BYTES, "the"], eod=300).save(tmp_path / "model.utk")
    toy = Tokenizer.from_file(tmp_path / "model.utk")
    (tmp_path / "a.txt").write_bytes(b"the|\xff|")
    run(toy, [tmp_path / "a.txt"], tmp_path / "ids", separator=b"|")
    return tmp_path


def test_documents(made):
    docs = pyunitok.open(made / "ids")
    assert len(docs) == 2
    assert docs[0].tolist() == [256, 300]
    assert docs[-1].tolist() == [255, 300]
    assert [ids.tolist() for ids in docs] == [[256, 300], [255, 300]]
    assert docs.text(0) == "the"
    assert docs.text_bytes(1) == b"\xff"
    assert docs.text(1, errors="replace") == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        docs.text(1)
    with pytest.raises(IndexError, match=r"document 2 is out of range: .* has 2"):
        docs[2]
    assert isinstance(docs.ids, np.memmap)
    assert (docs.ids.dtype, docs.ends.dtype) == (np.uint16, np.uint64)
    assert docs.eod_id == 300
    assert "2 documents" in repr(docs)


def test_the_model_is_found_and_checked(made):
    assert pyunitok.open(made / "ids").tokenizer.vocab_size == 301
    Tokenizer.from_pieces([*BYTES, "other"], eod=300).save(made / "model.utk")
    with pytest.raises(ModelFormatError, match="a different vocabulary"):
        _ = pyunitok.open(made / "ids").tokenizer
    (made / "model.utk").unlink()
    with pytest.raises(ModelFormatError, match="is missing; pass it"):
        _ = pyunitok.open(made / "ids").tokenizer


def test_bare_file(tmp_path):
    np.array([1, 2, 65535], "<u2").tofile(tmp_path / "bare")
    with pytest.raises(OutputError, match="dtype='uint16'"):
        pyunitok.open(tmp_path / "bare")
    docs = pyunitok.open(tmp_path / "bare", dtype="uint16")
    assert (len(docs), docs[0].tolist(), docs.eod_id) == (1, [1, 2, 65535], None)
    with pytest.raises(ModelFormatError, match="pass its model"):
        docs.text(0)
    toy = Tokenizer.from_pieces(BYTES)
    np.array([104, 105], "<u4").tofile(tmp_path / "bare4")
    assert pyunitok.open(tmp_path / "bare4", dtype="uint32", model=toy).text(0) == "hi"
    with pytest.raises(ValueError, match="uint16 or uint32"):
        pyunitok.open(tmp_path / "bare4", dtype="O")
    (tmp_path / "odd").write_bytes(b"abc")
    with pytest.raises(OutputError, match="is not a multiple of"):
        pyunitok.open(tmp_path / "odd", dtype="uint16")


def test_an_empty_file_opens(tmp_path):
    toy = Tokenizer.from_pieces(BYTES)
    (tmp_path / "a.txt").write_bytes(b"")
    docs = run(toy, [tmp_path / "a.txt"], tmp_path / "ids", separator=b"\n", eod=None)
    assert (len(docs), len(docs.ids)) == (0, 0)


@pytest.mark.parametrize("name", ["ids", "ids.ends"])
def test_sidecars_that_do_not_match(made, name):
    whole = (made / name).read_bytes()
    (made / name).write_bytes(whole[: -8 if name == "ids.ends" else -2])
    with pytest.raises(OutputError, match="do not belong together"):
        pyunitok.open(made / "ids")
    (made / name).write_bytes(whole[:-1])
    with pytest.raises(OutputError, match="is not a multiple of"):
        pyunitok.open(made / "ids")


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m | {"format": "x"},
        lambda m: m | {"version": 2},
        lambda m: [m],
        lambda m: m | {"inputs": [1]},
        lambda m: m | {"dtype": "O", "tokens": 1},  # NumPy would read the file as pointers and crash
        lambda m: m | {"model": None},
        lambda m: m | {"eod": "0"},
        lambda m: m | {"documents": -1},
        lambda m: m | {"inputs": [m["inputs"][0] | {"separator": 1}]},
    ],
)
def test_manifests_of_another_kind(made, change):
    path = made / "ids.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(OutputError, match=r"ids\.json"):
        pyunitok.open(made / "ids")


def test_pickles_contain_the_path_but_not_the_tokens(made, tmp_path, monkeypatch):
    """Regression: a worker that received a token file of 2.3 GB took 6.7 GB of memory."""
    np.zeros(1_000_000, "<u2").tofile(tmp_path / "bare")
    bare = pyunitok.open(tmp_path / "bare", dtype="uint16")
    monkeypatch.chdir(made)
    docs = pyunitok.open("ids")
    assert docs.text(0) == "the"  # loads the model, which is not pickled
    told = pyunitok.open("ids", model="model.utk")
    monkeypatch.chdir("/")
    for array in (bare, docs):
        assert len(pickle.dumps(array)) < 300
    for array in (bare, docs, told):
        again = pickle.loads(pickle.dumps(array))
        assert isinstance(again.ids, np.memmap)
        assert [ids.tolist() for ids in again] == [ids.tolist() for ids in array]
    (made / "model.utk").unlink()
    assert pickle.loads(pickle.dumps(told)).text(0) == "the"


def test_files_that_are_missing(made):
    """The message is the same for every function."""
    with pytest.raises(FileNotFoundError, match="gone: no such token file"):
        pyunitok.open(made / "gone")
    with pytest.raises(OutputError, match="not a file"):
        pyunitok.open(made)
    (made / "ids.ends").rename(made / "x")
    with pytest.raises(FileNotFoundError, match=r"its document-ends file .*ids\.ends is missing"):
        pyunitok.open(made / "ids")
    (made / "ids.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"its manifest .*ids\.json is missing"):
        pyunitok.open(made / "ids")


@pytest.mark.parametrize("name", ["inspect", "verify", "stats", "detokenize", "export"])
def test_every_command_has_the_same_message_for_missing_files(made, monkeypatch, name):
    monkeypatch.chdir(made)
    for path in ("ids", "ids.ends", "ids.json"):
        (made / path).rename(made / f"ids.u16{path[3:] and '.' + path[4:]}")
    more = {"detokenize": ["-o", "-"], "export": ["--to", "npy", "-o", "to"]}.get(name, [])

    def says(path, message):
        done = CliRunner().invoke(cli, [name, path, *more])
        assert done.exit_code == 1 and isinstance(done.exception, FileNotFoundError)
        assert str(done.exception).startswith(message)

    says("gone", "gone: no such ")
    (made / "ids.u16.ends").rename(made / "x")
    says("ids.u16", "ids.u16: its document-ends file ids.u16.ends is missing")
    (made / "ids.u16.json").unlink()
    says("ids.u16", "ids.u16: its manifest ids.u16.json is missing")


def test_the_manifest_names_the_version(made):
    manifest = json.loads((made / "ids.json").read_text())
    assert manifest["model"]["path"] == str(made / "model.utk")
    assert manifest["model"]["sha256"] == Tokenizer.from_file(made / "model.utk").sha256
    assert {"eod": 300, "dtype": "<u2", "tokens": 4, "documents": 2, "bytes": 6}.items() <= manifest.items()
    record = manifest["inputs"][0]
    assert {"size": 6, "separator": "|", "ends_with_separator": True, "documents": 2}.items() <= record.items()
