"""Shards and merge: joined parts equal the undivided run, and errors name the parts that do not match."""

import sys
from pathlib import Path

import crash
import pytest
from conftest import PIECES
from hypothesis import given
from hypothesis import strategies as st
from test_pipeline import restored
from test_resume import crashes, run_crash
from toys.plans import make_plan

import pyunitok
from pyunitok.corpus import inputs
from pyunitok.corpus.source import Source
from pyunitok.errors import InputError, OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run import shard as shards
from pyunitok.run.merge import join, merge
from pyunitok.run.pipeline import tokenize
from pyunitok.run.plan import Callbacks
from pyunitok.run.shard import shard_suffix
from pyunitok.tokens.metadata import errors_path


@pytest.fixture
def corpus(tmp_path) -> Path:
    (tmp_path / "in").mkdir()
    for k, text in enumerate([b"the cat\n" * 900, b"", b"a\n\nb", b"one", "である\n".encode() * 300, b"x" * 99, b"\n"]):
        (tmp_path / f"in/{k}.txt").write_bytes(text)
    return tmp_path


def make(toy, corpus, name, shard=None, **options) -> Path:
    """A token file of the corpus, or of one shard of it."""
    out, sources, part = corpus / name, inputs.find([str(corpus / "in")]), None
    if shard:
        sources, part = shards.take(sources, *shard)
        out = Path(f"{out}{shard_suffix(*shard)}")
    tokenize(make_plan(sources, out, toy, **{"eod": 300, "separator": b"\n"} | options, shard=part))
    return out


@pytest.mark.parametrize("count", [1, 2, 3, 7, 11])
def test_all_shards_merged_are_the_whole_run(toy, corpus, count):
    whole = make(toy, corpus, "whole")
    parts = [make(toy, corpus, "part", (k, count)) for k in range(count)]
    manifest, was_there = join(parts, corpus / "ids")
    assert not was_there
    for suffix in ("", ".ends"):
        assert (corpus / f"ids{suffix}").read_bytes() == (corpus / f"whole{suffix}").read_bytes()
    assert crash.timeless(corpus / "ids.json") == crash.timeless(corpus / "whole.json")
    assert manifest.hash == pyunitok.open(whole, model=toy).manifest.hash
    assert sorted(path.name for path in corpus.glob("ids*")) == ["ids", "ids.ends", "ids.json"]
    assert join(parts, corpus / "ids")[1]
    first = [pyunitok.open(part, model=toy).manifest.shard["first_input"] for part in parts]
    n_inputs = [len(pyunitok.open(part, model=toy).manifest.inputs) for part in parts]
    assert first == [sum(n_inputs[:k]) for k in range(count)]
    started = []
    tokenize(
        make_plan(inputs.find([str(corpus / "in")]), corpus / "ids", toy, 300, b"\n"),
        Callbacks(on_start=started.append),
    )  # without --shard, the command finds a finished run
    assert started[0].complete


@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(1, 12))
def test_ranges(sizes, count):
    """Shards are in order, contain every input once, and exceed their share by at most one input."""
    found = shards.ranges(sizes, count)
    assert [k for begin, end in found for k in range(begin, end)] == list(range(len(sizes)))
    assert len(found) == count
    weights = [size + 1 for size in sizes]
    for begin, end in found:
        assert sum(weights[begin:end]) <= sum(weights) / count + max(weights, default=0)


def test_names_sort_as_shards_do():
    names = ["ids" + shard_suffix(k, 12) for k in range(12)]
    assert names == sorted(names)
    assert names[3] == "ids.03-of-12"
    assert "ids" + shard_suffix(0, 10) == "ids.0-of-10"


def test_pipes_cannot_be_divided():
    with pytest.raises(InputError, match="a pipe cannot be divided"):
        shards.take([Source("-", "text", "none")], 0, 2)


def test_any_token_files(toy, corpus):
    first = make(toy, corpus, "first")
    second = make(toy, corpus, "second", separator=None)
    merge([second, first, second], corpus / "ids")
    array = pyunitok.open(corpus / "ids", model=toy)
    text = b"".join((corpus / f"in/{k}.txt").read_bytes() for k in range(7))
    assert restored(array) == text * 3
    parts = [pyunitok.open(path, model=toy) for path in (second, first, second)]
    assert [ids.tolist() for ids in array] == [ids.tolist() for part in parts for ids in part]
    assert array.manifest.run is None
    with pytest.raises(OutputError, match=r"ids exists, and was made by another command \(tokens: "):
        merge([first, second], corpus / "ids")
    merge([first, second], corpus / "ids", overwrite=True)


def test_metadata_and_lists_of_bad_lines_are_joined(toy, corpus):
    (corpus / "in/3.jsonl").write_bytes(b'{"text":"the","n":1}\n{"text":1}\n')
    (corpus / "in/8.jsonl").write_bytes(b'no\n{"text":"cat","n":2}\n')
    options = {"metadata": True, "on_error": "skip"}
    whole = pyunitok.open(make(toy, corpus, "whole", **options), model=toy)
    merge([make(toy, corpus, "part", (k, 3), **options) for k in range(3)], corpus / "ids")
    assert list(pyunitok.open(corpus / "ids", model=toy).all_metadata) == list(whole.all_metadata)
    errors = errors_path(corpus / "ids").read_bytes()
    assert errors == errors_path(corpus / "whole").read_bytes()
    assert errors.count(b"\n") == 2
    plain = make(toy, corpus, "plain", on_error="skip")
    with pytest.raises(OutputError, match=r"plain does not match .*whole: metadata False instead of True"):
        merge([corpus / "whole", plain], corpus / "x")


def test_incomplete_sets_of_shards(toy, corpus):
    parts = [make(toy, corpus, "part", (k, 4)) for k in range(4)]
    ids = corpus / "ids"
    for wrong, message in [
        ([0, 1, 3], r"missing shards \(of 4\): 2"),
        ([3], r"missing shards \(of 4\): 0, 1, 2"),
        ([0, 1, 2, 2, 3], "part.2-of-4 and .*part.2-of-4 are both shard 2/4"),
        ([0, 2, 1, 3], "part.2-of-4 is shard 2/4, not shard 1; list the shards in order"),
    ]:
        with pytest.raises(OutputError, match=message):
            merge([parts[k] for k in wrong], ids)
    other = make(toy, corpus, "other", (3, 4), separator=None)
    with pytest.raises(OutputError, match=r"other.3-of-4 does not match .*part.0-of-4: options "):
        merge([*parts[:3], other], ids)
    fifth = make(toy, corpus, "part", (3, 5))
    with pytest.raises(OutputError, match=r"part.3-of-5 does not match .*: number of shards 5 instead of 4"):
        merge([*parts[:3], fifth], ids)
    with pytest.raises(OutputError, match=r"number of shards none instead of 4"):
        merge([*parts, make(toy, corpus, "whole")], ids)
    (corpus / "in/1.txt").write_bytes(b"more")
    late = make(toy, corpus, "late", (3, 4))
    with pytest.raises(OutputError, match=r"late.3-of-4 does not match .*: inputs of all shards "):
        merge([*parts[:3], late], ids)
    assert not list(corpus.glob("ids*"))


def test_parts_that_do_not_match(toy, corpus):
    part, ids = make(toy, corpus, "part"), corpus / "ids"
    other_model = Tokenizer.from_pieces(PIECES[:-1], eod=300)
    for options, message in [({"eod": None}, "eod none instead of 300"), ({"toy": other_model}, "model sha256 ")]:
        other = make(options.pop("toy", toy), corpus, "other", **options, overwrite=True)
        with pytest.raises(OutputError, match=rf"other does not match .*part: {message}"):
            merge([part, other], ids)
    with pytest.raises(OutputError, match="is both an input and the output"):
        merge([part, part], part, overwrite=True)
    with pytest.raises(OutputError, match="not a finished token file"):
        merge([part, corpus / "none"], ids)
    with pytest.raises(OutputError, match="no parts"):
        merge([], ids)
    (corpus / "part.journal.partial").write_bytes(b"x")
    with pytest.raises(OutputError, match="part is not finished"):
        merge([part], ids)


def test_damaged_parts(toy, corpus):
    part = make(toy, corpus, "part")
    for suffix in ("", ".ends"):
        path = corpus / f"part{suffix}"
        data = path.read_bytes()
        path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        with pytest.raises(OutputError, match=rf"part{suffix}: damaged: the XXH64 of bytes 0 to {len(data)} does not"):
            merge([part, part], corpus / "ids")
        path.write_bytes(data[:-8])
        message = rf"part{suffix} does not have the size in its manifest, {len(data)} bytes"
        with pytest.raises(OutputError, match=message):
            merge([part, part], corpus / "ids")
        path.write_bytes(data)
    merge([part, part], corpus / "ids")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="requires /proc")
@pytest.mark.parametrize("power", [False, True])
def test_a_merge_stopped_at_any_call(toy, corpus, power):
    command = ["tokenize", "in", "-m", "toy", "-o", "part", "--doc", "line", "--metadata", "--shard"]
    toy.save(corpus / "toy")
    for k in range(3):
        run_crash(corpus, {"command": [*command, f"{k}/3"]}, check=True)
    parts = [f"part.{k}-of-3" for k in range(3)]
    result = crashes(corpus, {"command": ["merge", *parts, "-o", "ids"], "points": None, "power": power})
    assert (result["wrong"], result["stopped"]) == ([], result["calls"])
    assert result["calls"] > 12
