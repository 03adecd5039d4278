"""The pipeline: output independent of threads and blocks, round trips, and no incomplete file under a final name."""

import errno
import gzip
import json
import os
import threading
from array import array
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from toys.plans import make_plan

import pyunitok
from pyunitok.corpus import inputs
from pyunitok.corpus.sniff import why_not_text
from pyunitok.errors import InputError, OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run.encoding import Encoded
from pyunitok.run.pipeline import tokenize
from pyunitok.run.plan import Callbacks
from pyunitok.tokens.detokenize import detokenize


def run(toy: Tokenizer, paths: list[Path], out: Path, **options) -> pyunitok.TokenArray:
    input_format = options.pop("input_format", "auto")
    sources = inputs.find(map(str, paths), input_format=input_format, text_key=options.get("text_key", "text"))
    options = {"eod": 300, "overwrite": True} | options
    tokenize(make_plan(sources=sources, out=out, tokenizer=toy, **options))
    return pyunitok.open(out, model=toy)


def restored(array: pyunitok.TokenArray) -> bytes:
    parts: list[bytes] = []

    class Sink:
        def write(self, data):
            parts.append(bytes(data[:100]))  # a short write, as can happen with a pipe
            return len(parts[-1])

    detokenize(array, array.tokenizer, Sink(), lambda _: None)
    return b"".join(parts)


def test_text_files_one_document_each(toy, tmp_path):
    texts = [b"the cat\nthe dog\n", b"", b"\xff\x00aaaaa the", "吾輩は猫である".encode()]
    paths = [tmp_path / f"{k}.txt" for k in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)
    array = run(toy, paths, tmp_path / "ids")
    assert [array.text_bytes(k) for k in range(len(array))] == texts
    assert [ids.tolist() for ids in array] == [[*toy.encode(text).tolist(), 300] for text in texts]
    assert restored(array) == b"".join(texts)
    raw = np.memmap(tmp_path / "ids", dtype="<u2")
    assert raw.tolist() == [id_ for text in texts for id_ in [*toy.encode(text).tolist(), 300]]
    assert np.fromfile(tmp_path / "ids.ends", "<u8").tolist() == array.ends.tolist()


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_lines_and_ends_of_inputs(toy, tmp_path, end):
    (tmp_path / "a.txt").write_bytes(b"one\n\nthe two\r\nthree" + end)
    (tmp_path / "b.txt").write_bytes(b"")
    (tmp_path / "c.txt").write_bytes(b"\n")
    array = run(toy, [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"], tmp_path / "ids", separator=b"\n")
    docs = [array.text_bytes(k) for k in range(len(array))]
    assert docs == [b"one", b"", b"the two\r", b"three", *[b""] * (len(end) - 1 if end else 0), b""]
    assert restored(array) == b"one\n\nthe two\r\nthree" + end + b"\n"


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text(st.sampled_from("a| thé\nで\x00"), max_size=200).map(str.encode), max_size=4),
    st.sampled_from([None, b"\n", b"|", b"aa", b"||"]), st.integers(1, 4), st.integers(1, 300),
    st.sampled_from([None, 300, 97]),
)  # fmt: skip
def test_any_text_is_restored(toy, tmp_path_factory, texts, separator, threads, block_bytes, eod_id):
    # Text with many NULs looks like UTF-16, which is skipped in folders; the first read may return any prefix.
    assume(not any(why_not_text(text[:n]) for text in texts for n in range(len(text) + 1)))
    folder = tmp_path_factory.mktemp("corpus")
    for k, text in enumerate(texts):
        (folder / f"{k}.txt").write_bytes(text)
    if not texts:
        (folder / "empty.txt").write_bytes(b"")
    options = {"separator": separator, "eod": eod_id}
    array = run(toy, [folder], folder / "ids", threads=threads, block_bytes=block_bytes, **options)
    assert restored(array) == b"".join(texts)
    paths = [folder / f"{k}.txt" for k in range(len(texts))] or [folder / "empty.txt"]
    whole = run(toy, paths, folder / "whole", **options)
    assert array.ids.tolist() == whole.ids.tolist()
    assert array.ends.tolist() == whole.ends.tolist()
    docs = [whole.text_bytes(k) for k in range(len(whole))]
    eod = [] if eod_id is None else [eod_id]
    assert whole.ids.tolist() == [id_ for doc in docs for id_ in toy.encode(doc).tolist() + eod]


def test_a_long_text_without_cuts_does_not_depend_on_blocks(toy, tmp_path):
    text = b"a" * 100_003 + b"ab" * 5_000 + b" the" * 1_000
    (tmp_path / "a.txt").write_bytes(text)
    expected = toy.encode(text).tolist()
    for threads, block_bytes in [(1, 100), (3, 4096), (2, 1 << 20)]:
        options = {"threads": threads, "block_bytes": block_bytes, "eod": None}
        assert run(toy, [tmp_path / "a.txt"], tmp_path / "ids", **options).ids.tolist() == expected


def test_jsonl_in_frames(toy, tmp_path):
    docs = ["the cat", "", "である" * 500, "tab\tquote\"", "\x00", "😀"]
    lines = [json.dumps({"id": k, "text": doc}, ensure_ascii=k % 2 == 0) for k, doc in enumerate(docs)]
    data = "\n\n".join(lines).encode() + b"\n\n \n"
    frames = b"".join(zstandard.compress(data[k : k + 37]) for k in range(0, len(data), 37))
    (tmp_path / "c.jsonl.zst").write_bytes(frames)
    for block_bytes in (50, 1 << 20):
        array = run(toy, [tmp_path / "c.jsonl.zst"], tmp_path / "ids", block_bytes=block_bytes, threads=2)
        assert [array.text(k) for k in range(len(array))] == docs
    assert [json.loads(line) for line in restored(array).splitlines()] == [{"text": doc} for doc in docs]
    record = array.manifest.inputs[0]
    assert (record.documents, record.bytes, record.format) == (len(docs), len(data), "jsonl")
    assert record.tokens == array.manifest.tokens == len(array.ids)


def test_a_nested_key_is_restored(toy, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a":{"b":"the"}}\n')
    array = run(toy, [tmp_path / "a.jsonl"], tmp_path / "ids", text_key="a.b")
    assert restored(array) == b'{"a":{"b":"the"}}\n'


def test_mixed_compressions(toy, tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"the gz") + gzip.compress(b" member"))
    (tmp_path / "b.txt.zst").write_bytes(zstandard.compress(b"the zst"))
    (tmp_path / "c.txt").write_bytes(b"plain")
    array = run(toy, [tmp_path], tmp_path / "ids")
    assert [array.text(k) for k in range(3)] == ["the gz member", "the zst", "plain"]


def test_an_error_keeps_only_partial_files(toy, tmp_path):
    good, bad = tmp_path / "a.txt", tmp_path / "b.txt.zst"
    good.write_bytes(b"the cat" * 1000)
    bad.write_bytes(zstandard.compress(b"x" * 1000)[:-3])
    with pytest.raises(InputError, match=r"b\.txt\.zst: byte \d+"):
        run(toy, [good, bad], tmp_path / "ids")
    assert not any((tmp_path / name).exists() for name in ("ids", "ids.ends", "ids.json"))
    assert (tmp_path / "ids.partial").exists()
    bad.write_bytes(zstandard.compress(b"x" * 1000))
    assert len(run(toy, [good, bad], tmp_path / "ids")) == 2


def test_existing_output_is_rejected_before_reading(toy, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"the")
    for name in ("ids", "ids.ends", "ids.json"):
        (tmp_path / name).write_bytes(b"mine")
        with pytest.raises(OutputError, match="--overwrite"):
            run(toy, [tmp_path / "a.txt"], tmp_path / "ids", overwrite=False)
        assert (tmp_path / name).read_bytes() == b"mine"
        (tmp_path / name).unlink()


def test_failed_overwrite_keeps_the_old_file(toy, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"the")
    run(toy, [tmp_path / "a.txt"], tmp_path / "ids")
    (tmp_path / "bad.jsonl").write_bytes(b"{")
    with pytest.raises(InputError, match=r"bad\.jsonl: line 1"):
        run(toy, [tmp_path / "bad.jsonl"], tmp_path / "ids")
    assert pyunitok.open(tmp_path / "ids", model=toy).text(0) == "the"


def test_no_threads_are_left_behind(toy, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"the " * 10_000)
    before = threading.active_count()
    run(toy, [tmp_path / "a.txt"], tmp_path / "ids", threads=5, block_bytes=100)
    assert threading.active_count() == before
    (tmp_path / "bad.jsonl").write_bytes(b'{"text":"a"}\n' * 5000 + b"{\n")
    with pytest.raises(InputError, match="line 5001"):
        run(toy, [tmp_path / "bad.jsonl"], tmp_path / "ids", threads=5, block_bytes=100)
    assert threading.active_count() == before


def test_hashes_match_the_files(toy, tmp_path, monkeypatch):
    import xxhash

    from pyunitok.disk import hashing
    from pyunitok.run import output

    for module in (hashing, output):
        monkeypatch.setattr(module, "HASH_CHUNK_BYTES", 1000)
    (tmp_path / "a.txt").write_bytes(b"the cat " * 3000)
    array = run(toy, [tmp_path / "a.txt"], tmp_path / "ids", separator=b" ", block_bytes=500)
    hashes = array.manifest.hash
    assert (hashes["algorithm"], hashes["chunk_bytes"]) == ("xxh64", 1000)
    for name, path in (("tokens", "ids"), ("ends", "ids.ends")):
        data = (tmp_path / path).read_bytes()
        assert hashes[name] == [xxhash.xxh64_hexdigest(data[k : k + 1000]) for k in range(0, len(data), 1000)]


def test_direct_writes_of_large_outputs(tmp_path, monkeypatch):
    from pyunitok.disk import outfile

    data = np.random.default_rng(1).bytes(3_000_001)
    for direct_from in (0, 1 << 20, 1 << 30):
        monkeypatch.setattr(outfile, "BUFFER_BYTES", 1 << 16)
        monkeypatch.setattr(outfile, "DIRECT_FROM_BYTES", direct_from)
        file = outfile.OutFile(tmp_path / "out")
        for k in range(0, len(data), 77_777):
            file.write(memoryview(data[k : k + 77_777]))
        file.finish()
        assert (tmp_path / "out").read_bytes() == data


@pytest.mark.parametrize("raised", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_write_errors_are_raised(toy, tmp_path, monkeypatch, raised):
    """Regression: closing the buffer that the write was still using raised BufferError."""
    (tmp_path / "a.txt").write_bytes(b"the cat")

    def write(fd, data):
        raise raised

    monkeypatch.setattr(os, "write", write)
    expected = OutputError if isinstance(raised, OSError) else type(raised)
    open_files = Path("/proc/self/fd")
    n_open = len(list(open_files.iterdir())) if open_files.exists() else 0
    for _ in range(3):
        with pytest.raises(expected) as failure:
            run(toy, [tmp_path / "a.txt"], tmp_path / "ids")
        if expected is OutputError:
            assert "ids.partial: byte 0: cannot be written: No space" in str(failure.value)
    if n_open:
        assert len(list(open_files.iterdir())) <= n_open
    monkeypatch.undo()
    assert run(toy, [tmp_path / "a.txt"], tmp_path / "ids").text(0) == "the cat"


def test_the_model_file_may_be_removed_during_a_run(toy, tmp_path):
    toy.save(tmp_path / "model.utk")
    tokenizer = Tokenizer.from_file(tmp_path / "model.utk")
    (tmp_path / "a.txt").write_bytes(b"the cat")
    plan = make_plan(sources=inputs.find([str(tmp_path / "a.txt")]), out=tmp_path / "ids", tokenizer=tokenizer, eod=300)
    manifest = tokenize(plan, Callbacks(on_progress=lambda _: (tmp_path / "model.utk").unlink(missing_ok=True)))
    assert manifest.documents == 1
    assert len(manifest.model["file_sha256"]) == 64


def test_invalid_output_is_rejected_first(toy, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"the cat")
    for name in ("ids", "ids.ends", "ids.json"):
        (tmp_path / name).mkdir()
        with pytest.raises(OutputError, match="is a directory"):
            run(toy, [tmp_path / "a.txt"], tmp_path / "ids")
        (tmp_path / name).rmdir()


@pytest.mark.skipif(os.name == "nt", reason="Windows does not support these locks")
def test_two_writers_of_one_output(toy, tmp_path):
    from pyunitok.disk.outfile import OutFile

    (tmp_path / "a.txt").write_bytes(b"the cat")
    other = OutFile(tmp_path / "ids.partial")
    other.write(memoryview(b"x" * 100))
    with pytest.raises(OutputError, match="another process is writing it"):
        run(toy, [tmp_path / "a.txt"], tmp_path / "ids")
    other.finish()
    assert (tmp_path / "ids.partial").read_bytes() == b"x" * 100
    run(toy, [tmp_path / "a.txt"], tmp_path / "ids")


def test_threads_that_cannot_start(toy, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_bytes(b"the cat " * 1000)
    before, started = threading.active_count(), threading.Thread.start

    def start(thread):
        if threading.active_count() > before + 1:
            raise RuntimeError("can't start new thread")
        started(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="new thread"):
        run(toy, [tmp_path / "a.txt"] * 3, tmp_path / "ids", threads=5, block_bytes=50)
    assert threading.active_count() == before


def test_damaged_ends(toy, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"the|cat|and|dog")
    run(toy, [tmp_path / "a.txt"], tmp_path / "ids", separator=b"|")
    ends = np.fromfile(tmp_path / "ids.ends", "<u8")
    for wrong in (2**63 + 5, 0, 1000):
        damaged = ends.copy()
        damaged[1] = wrong
        damaged.tofile(tmp_path / "ids.ends")
        with pytest.raises(OutputError, match=r"document \d spans tokens .*; the \.ends file is damaged"):
            restored(pyunitok.open(tmp_path / "ids", model=toy))


def test_no_inputs(toy, tmp_path):
    manifest = tokenize(make_plan(sources=[], out=tmp_path / "ids", tokenizer=toy, eod=300))
    assert (manifest.documents, manifest.tokens, manifest.inputs) == (0, 0, [])


@pytest.mark.parametrize("frame_bytes", [1, 7, 500, 100_000])
@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_frames_of_any_size_with_any_threads(toy, tmp_path, frame_bytes, kind):
    docs = ["the cat " * (k % 50) + "である😀" * (k % 3) for k in range(60 if frame_bytes < 500 else 2000)]
    lines = docs
    if kind == "jsonl":
        lines = [json.dumps({"n": k, "text": doc}, ensure_ascii=k % 2 == 0) for k, doc in enumerate(docs)]
    data = "\n".join(lines).encode()
    frames = [zstandard.compress(data[k : k + frame_bytes]) for k in range(0, len(data), frame_bytes)]
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00data"
    (tmp_path / f"a.{kind}.zst").write_bytes(skippable.join(frames))
    (tmp_path / f"b.{kind}.zst").write_bytes(zstandard.compress(data))
    (tmp_path / f"c.{kind}").write_bytes(data)
    expected = [id_ for doc in docs * 3 for id_ in [*toy.encode(doc).tolist(), 300]]
    for threads in (1, 2, 5):
        for block_bytes, max_memory in ((300, 1 << 30), (1 << 16, 48 << 20)):
            options = {"threads": threads, "block_bytes": block_bytes, "max_memory_bytes": max_memory}
            paths = [tmp_path / f"a.{kind}.zst", tmp_path / f"b.{kind}.zst", tmp_path / f"c.{kind}"]
            array = run(toy, paths, tmp_path / "ids", separator=b"\n", **options)
            assert array.ids.tolist() == expected
            assert len(array) == 3 * len(docs)


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_outside_the_blocks_are_raised(toy, tmp_path, monkeypatch, threads):
    from pyunitok.corpus.zst import ZstdFrames

    def fail(_):
        raise OSError("cannot be closed")

    (tmp_path / "a.txt.zst").write_bytes(zstandard.compress(b"the cat " * 1000) * 50)
    monkeypatch.setattr(ZstdFrames, "close", fail)
    with pytest.raises(OSError, match="cannot be closed"):
        run(toy, [tmp_path / "a.txt.zst"] * 3, tmp_path / "ids", threads=threads, block_bytes=1000)


@given(st.lists(st.integers(0, 1 << 61), max_size=20), st.integers(0, 1 << 61))
def test_ends_of_blocks_are_added_up(ends, n_before):
    encoded = Encoded(np.empty(0, np.uint16), 0, np.array(ends, np.int64))
    assert encoded.data_of_ends(n_before).tobytes() == array("q", [end + n_before for end in ends]).tobytes()
