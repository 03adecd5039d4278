"""An S3 server (moto) with s3fs: files, directories and patterns, ranges, Parquet, outputs, failures."""

import io
import json
import logging
import os

import pytest
import zstandard
from toys.plans import make_plan

import pyunitok
from pyunitok.corpus import inputs
from pyunitok.disk import remote
from pyunitok.errors import InputError, OutputError
from pyunitok.run.pipeline import tokenize
from pyunitok.run.plan import Callbacks
from pyunitok.run.upload import Spool, tokenize_to

fsspec = pytest.importorskip("fsspec")
s3fs = pytest.importorskip("s3fs")
moto_server = pytest.importorskip("moto.server")

TEXTS = [f"the {k} bottles " * (k % 50) for k in range(2000)]
JSONL = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in TEXTS)


@pytest.fixture(scope="module")
def bucket():
    """The file system of an empty bucket on a local server."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto_server.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        fs = fsspec.filesystem("s3")
        fs.mkdir("bucket")
        yield fs
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture(scope="module")
def corpus(bucket):
    """The same documents in two files."""
    frames = [zstandard.ZstdCompressor().compress(part) for part in (JSONL[:100_000], JSONL[100_000:])]
    bucket.pipe("bucket/in/a.jsonl", JSONL)
    bucket.pipe("bucket/in/b/é c.jsonl.zst", b"".join(frames))
    bucket.pipe("bucket/in/.hidden/x.jsonl", b"rubbish")
    bucket.touch("bucket/in/b/folder/")
    return "s3://bucket/in"


def run(toy, arguments, out, **options):
    sources = inputs.find(arguments)
    plan = make_plan(sources, out, toy, 300, threads=2, overwrite=True, **options)
    return tokenize(plan)


def test_files_directories_patterns(corpus):
    files = ["s3://bucket/in/a.jsonl", "s3://bucket/in/b/é c.jsonl.zst"]
    for argument in ("s3://bucket/in", "s3://bucket/in/", "s3://bucket/in/**", "s3://bucket/i*/*"):
        found = inputs.find([argument])
        assert [source.path for source in found] == files
        assert found[0].size_bytes == len(JSONL)
        assert all(source.etag for source in found)
    assert inputs.find(files) == [*inputs.find([files[0]]), *inputs.find([files[1]])]
    assert [(s.etag, s.mtime_ns) for s in inputs.find(files)] == [(s.etag, s.mtime_ns) for s in inputs.find([corpus])]
    for nothing in ("s3://bucket/nothing", "s3://bucket/in/*.txt", "s3://nobody-has-this/x"):
        with pytest.raises(InputError):
            inputs.find([nothing])


def test_output_matches_local_files(corpus, toy, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(JSONL)
    manifest = run(toy, [corpus], tmp_path / "far")
    run(toy, [str(tmp_path / "a.jsonl")] * 2, tmp_path / "near")
    assert (tmp_path / "far").read_bytes() == (tmp_path / "near").read_bytes()
    assert (tmp_path / "far.ends").read_bytes() == (tmp_path / "near.ends").read_bytes()
    array = pyunitok.open(tmp_path / "far", model=toy)
    assert [array.text(k) for k in range(len(TEXTS))] == TEXTS
    assert [record.path for record in manifest.inputs] == ["s3://bucket/in/a.jsonl", "s3://bucket/in/b/é c.jsonl.zst"]


def test_parquet_in_parts(bucket, toy, tmp_path, monkeypatch):
    """Only one column is read, so most of the 12 MB is not requested."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"other": [os.urandom(6000) for _ in TEXTS], "text": TEXTS})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=400)
    bucket.pipe("bucket/p/a.parquet", file.getvalue())
    asked = []
    fetch = remote.RangeFile._fetch_once
    monkeypatch.setattr(
        remote.RangeFile, "_fetch_once", lambda self, begin, end: asked.append(end - begin) or fetch(self, begin, end)
    )
    manifest = run(toy, ["s3://bucket/p/*.parquet"], tmp_path / "ids")
    array = pyunitok.open(tmp_path / "ids", model=toy)
    assert [array.text(k) for k in range(len(array))] == TEXTS
    assert manifest.inputs[0].format == "parquet"
    assert 0 < sum(asked) < len(file.getvalue()) // 2


def test_output(bucket, corpus, toy, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(JSONL)
    run(toy, [str(tmp_path / "a.jsonl")], tmp_path / "want")
    starts = []
    for _ in range(2):
        spool = Spool("s3://bucket/out/ids.u16", tmp_path / "spool")
        plan = make_plan(inputs.find([f"{corpus}/a.jsonl"]), spool.out, toy, 300)
        tokenize_to(spool, plan, Callbacks(lambda start: starts.append(start.complete)))
        assert sorted(bucket.ls("bucket/out")) == [f"bucket/out/ids.u16{suffix}" for suffix in ("", ".ends", ".json")]
    assert starts == [False, True]
    assert bucket.cat("bucket/out/ids.u16") == (tmp_path / "want").read_bytes()
    assert bucket.cat("bucket/out/ids.u16.ends") == (tmp_path / "want.ends").read_bytes()
    bucket.pipe("bucket/in/a.jsonl", JSONL)  # rewritten later: the content and the etag are the same
    spool = Spool("s3://bucket/out/ids.u16", tmp_path / "spool")
    plan = make_plan(inputs.find([f"{corpus}/a.jsonl"]), spool.out, toy, 300)
    tokenize_to(spool, plan, Callbacks(lambda start: starts.append(start.complete)))
    assert starts == [False, True, True]


def test_output_to_a_missing_bucket(corpus, toy, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "FIRST_DELAY_SECONDS", 0)
    spool = Spool("s3://nobody-has-this/ids.u16", tmp_path / "spool")
    plan = make_plan(inputs.find([f"{corpus}/a.jsonl"]), spool.out, toy, 300)
    with pytest.raises(OutputError, match=r"^s3://nobody-has-this/ids\.u16: cannot be written: "):
        tokenize_to(spool, plan)
    assert not spool.out.exists(), "the error is raised before any work"


def test_changed_input_is_rejected(bucket, toy, tmp_path):
    bucket.pipe("bucket/c/a.txt", b"the cat")
    spool = Spool("s3://bucket/out/c.u16", tmp_path / "spool")
    tokenize_to(spool, make_plan(inputs.find(["s3://bucket/c/a.txt"]), spool.out, toy, 300))
    bucket.pipe("bucket/c/a.txt", b"the dog")
    spool = Spool("s3://bucket/out/c.u16", tmp_path / "spool")
    with pytest.raises(OutputError, match=r"input 1: was s3://bucket/c/a\.txt .*etag .*, now .*etag "):
        tokenize_to(spool, make_plan(inputs.find(["s3://bucket/c/a.txt"]), spool.out, toy, 300))
