"""The manifest: whatever OUT.json contains, each of its readers works or raises a UnitokError."""

import contextlib
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import models, tokenfiles

import pyunitok
import pyunitok.export
from pyunitok.errors import OutputError, UnitokError
from pyunitok.export.direct import Direct
from pyunitok.export.options import Options
from pyunitok.run import merge
from pyunitok.run.identity import Identity
from pyunitok.run.shard import RunShard
from pyunitok.tokens.detokenize import detokenize
from pyunitok.tokens.inspect import token_rows
from pyunitok.tokens.manifest import Manifest, is_token_file
from pyunitok.tokens.stats import stats
from pyunitok.tokens.verify import verify
from pyunitok.tokens.verify_text import sources_of, verify_text

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just("\ud800") | st.just("\0")
    | st.sampled_from(["", "jsonl", "parquet", "documents", "zst", "<u4", "-", "/dev/zero", "http://127.0.0.1:9/"])
    | st.sampled_from(["a.b\\", "\\", 2**62])
)  # fmt: skip
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner))


class Nowhere:
    def write(self, data):
        return len(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The path of a token file with a complete manifest, the manifest, and the model."""
    folder = tmp_path_factory.mktemp("manifest")
    toy = models.greedy()
    inputs = [(str(folder / "a.txt"), 2), (str(folder / "b.txt"), 1)]
    for (name, _), text in zip(inputs, (b"\1\2\n\3", b""), strict=True):
        Path(name).write_bytes(text)
    array = tokenfiles.write(folder / "ids", [[1, 2], [3], []], eod=300, inputs=inputs)
    manifest = array.manifest
    manifest.model["sha256"] = toy.sha256
    manifest.shard = asdict(RunShard(0, 2, 0, "x", (0, 5)))
    manifest.run = {"eod": 300, "shard": "0/2"}
    manifest.sample = {"alpha": 0.1, "seed": 1}
    manifest.exported = {"wanted": {"format": "npy"}, "files": {"ids.npy": 3}}
    return folder / "ids", json.loads(manifest.to_json()), toy


def _places(value, path=()):
    """The paths of all values nested in a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, inner in items:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _read_in_every_way(path, text, toy):
    manifest = Manifest.parse(text, "m")
    assert Manifest.parse(manifest.to_json(), "m") is not None
    made_by = Identity.of_manifest(manifest)
    made_by.differences(made_by)
    [file.description() for file in made_by.inputs]
    json.dumps(manifest.statistics())
    merge.combined([manifest, manifest])
    path.with_name("ids.json").write_bytes(text)
    assert is_token_file(path)
    token_rows(path)
    array = pyunitok.open(path, model=toy)
    for use in (
        lambda: detokenize(array, toy, Nowhere(), lambda _: None),
        lambda: verify(array, toy, threads=1),
        lambda: stats(array, threads=1),
        lambda: verify_text(array, toy, sources_of(array.manifest.inputs), threads=1),
        lambda: Direct(path.with_name("gone"), "npy", Options("ids")).finished(made_by),
    ):
        with contextlib.suppress(UnitokError):
            use()


@given(st.data())
def test_mutated(made, data):
    """Regression: ten of the mutations caused a traceback."""
    path, manifest, toy = made
    manifest = json.loads(json.dumps(manifest))
    places = list(_places(manifest))
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(places))
        inside = manifest
        try:
            for key in way:
                inside = inside[key]
            if data.draw(st.integers(0, 3)):
                inside[last] = data.draw(VALUES)
            else:
                del inside[last]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier mutation removed it
    try:
        _read_in_every_way(path, json.dumps(manifest).encode(), toy)
    except UnitokError as error:
        assert str(error)


@given(st.binary(max_size=100) | st.text(alphabet='{}[]":,0123456789abcn\\u', max_size=50).map(str.encode))
def test_other_files_as_manifests(text):
    with pytest.raises(OutputError):
        Manifest.parse(text, "m")


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"[" * 100_000, b"{}", b'{"format": "pyunitok tokens", "x": ' + b"9" * 5000 + b"}"]
)
def test_json_that_python_rejects(text):
    with pytest.raises(OutputError, match="m: not a valid manifest"):
        Manifest.parse(text, "m")


def test_a_newer_release_is_named(made):
    _, manifest, _ = made
    with pytest.raises(OutputError, match=r"another release of pyunitok \(format version 2, but this one reads 1\)"):
        Manifest.parse(json.dumps(manifest | {"version": 2}).encode(), "m")


def test_text_bytes_that_were_not_counted(made):
    """A manifest without "text_bytes" is rejected; otherwise, the bytes per token would not match the text."""
    _, manifest, _ = made
    wanted = "the text bytes of the inputs do not add up to those of the file"
    with pytest.raises(OutputError, match=wanted):
        Manifest.parse(json.dumps({k: v for k, v in manifest.items() if k != "text_bytes"}).encode(), "m")


def test_too_many_shards(made):
    """Regression: merge took 48 seconds and 7 GB to list the missing shards."""
    _, manifest, _ = made
    with pytest.raises(OutputError, match="<= 1000000"):
        Manifest.parse(json.dumps(manifest | {"shard": manifest["shard"] | {"count": 10**8}}).encode(), "m")


@pytest.mark.parametrize("ends", [[2, 1, 6], [3, 2, 6], [2**63, 5, 6], [7, 5, 6], [0, 0, 6], [2**64 - 1, 0, 6]])
def test_ends_that_decrease(made, ends):
    import numpy as np

    path, manifest, toy = made
    path.with_name("ids.json").write_text(json.dumps(manifest))
    whole = path.with_name("ids.ends").read_bytes()
    try:
        np.array(ends, "<u8").tofile(path.with_name("ids.ends"))
        array = pyunitok.open(path, model=toy)
        for use in (
            lambda: detokenize(array, toy, Nowhere(), lambda _: None),
            lambda: stats(array, threads=1),
            lambda: [ids.tolist() for ids in array],
            lambda: pyunitok.export.export(array, "dolma", path.parent / "out", overwrite=True),
        ):
            with pytest.raises(OutputError, match=r"the \.ends file is damaged"):
                use()
        assert verify(array, toy, threads=1)
    finally:
        path.with_name("ids.ends").write_bytes(whole)
