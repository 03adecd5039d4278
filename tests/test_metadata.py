"""Metadata: the origin of each document, stored in a sidecar file; and the list of skipped lines."""

import json
import subprocess
from shutil import which

import numpy as np
import pytest
import zstandard
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from test_pipeline import run

import pyunitok
from pyunitok.cli import cli
from pyunitok.disk.outfile import OutFile
from pyunitok.errors import InputError, OutputError
from pyunitok.export import origins
from pyunitok.tokens import metadata as metadata_module
from pyunitok.tokens.metadata import Metadata, MetadataFile, errors_path, metadata_path

LINES = st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line), max_size=40)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(metadata_module, "FRAME_BYTES", 100)


def finish(file):
    file.end()
    file._file.finish()


@given(LINES, st.lists(st.integers(0, 40), max_size=3))
def test_lines_by_number(tmp_path_factory, lines, flushes):
    path = tmp_path_factory.mktemp("metadata") / "m"
    file = MetadataFile(OutFile(path))
    for k, line in enumerate(lines):
        file.append([line])
        if k in flushes:
            file.flush()
    finish(file)
    got = Metadata(path)
    assert [got.line(i) for i in range(len(got))] == lines
    assert [got.line(i) for i in reversed(range(-len(lines), 0))] == lines[::-1]
    with pytest.raises(IndexError):
        got.line(len(lines))
    whole = zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True).read()
    assert whole == b"".join(line + b"\n" for line in lines)


@given(LINES, LINES)
def test_resuming_after_a_checkpoint_and_joining_files(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("metadata")
    path = folder / "m"
    file = MetadataFile(OutFile(path))
    file.append(first)
    file.flush()
    finish(file)
    n_bytes = file._index[-1][0] if file._index else 0  # every checkpoint ends a frame
    data = path.read_bytes()
    ends = [begin - 24 for begin, _ in file._index[1:]] + [len(data) - 8 - 16 * (len(file._index) + 1) - 16]
    begun = folder / "begun"
    begun.write_bytes(data[: ends[-1]])
    again = MetadataFile(_AtEnd(begun), begun)
    assert again.n_documents == len(first) and again._file.n_bytes == ends[-1] >= n_bytes
    again.append(second)
    again.append_file(path)
    finish(again)
    got = Metadata(begun)
    assert [got.line(i) for i in range(len(got))] == first + second + first


class _AtEnd:
    """Reopen an OutFile, as a resumed run does."""

    def __init__(self, path):
        self.file = path.open("ab")
        self.n_bytes = path.stat().st_size

    def write(self, data):
        self.n_bytes += self.file.write(data)

    def finish(self):
        self.file.close()


def test_damage_is_detected(tmp_path):
    path = tmp_path / "m"
    file = MetadataFile(OutFile(path))
    file.append([b"%d" % k * 20 for k in range(30)])
    finish(file)
    data = path.read_bytes()
    ends = [begin - 24 for begin, _ in file._index] + [len(data) - 8 - 16 * (len(file._index) + 1) - 16]
    for n in range(len(data)):
        path.write_bytes(data[:n])
        with pytest.raises(OutputError):
            Metadata(path)
        if n not in ends:
            with pytest.raises(OutputError):
                MetadataFile(_AtEnd(path), path)
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        try:
            got = Metadata(path)
            assert [got.line(i) for i in range(len(got))] == [b"%d" % k * 20 for k in range(30)]
        except OutputError:
            pass


def _of_lines(path, *lines):
    file = MetadataFile(OutFile(path))
    file.append(lines)
    finish(file)
    return Metadata(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[1]", "not a JSON object"),
        (b"5", "not a JSON object"),
        (b'{"file": "a", "metadata": [1]}', "not a JSON object"),
        (b'{"metadata": {}}', "the file is missing or invalid, or the line is invalid"),
        (b'{"file": "a", "line": "1"}', "the file is missing or invalid, or the line is invalid"),
        (b'{"file": ', "invalid JSON"),
        (b"[" * 100_000, "invalid JSON"),
        (b"\xff", "invalid JSON"),
    ],
)
def test_invalid_lines_of_metadata(tmp_path, line, message):
    """Regression: such lines caused tracebacks in `export --to dolma` and `--to infini-gram`."""
    got = _of_lines(tmp_path / "m", b'{"file": "a"}', line)
    assert got[0] == {"file": "a"}
    with pytest.raises(OutputError, match=f"document 1: .*{message}"):
        got[1]


def test_a_small_frame_that_expands_is_rejected(tmp_path, monkeypatch):
    """Regression: 48 KB expanded to 3 GB."""
    monkeypatch.setattr(metadata_module, "MAX_FRAME_BYTES", 1 << 20)
    got = _of_lines(tmp_path / "m", b"a" * (1 << 20) + b"b")
    with pytest.raises(OutputError, match="the frame has 1,048,578 bytes; at most 1,048,576 are allowed"):
        got.line(0)
    monkeypatch.setattr(metadata_module, "MAX_PARSED_BYTES", 9)
    got = _of_lines(tmp_path / "m", b'{"file": "a"}')
    assert got.line(0) == b'{"file": "a"}'
    with pytest.raises(OutputError, match="13 bytes of JSON"):
        got[0]
    monkeypatch.undo()
    got = _of_lines(tmp_path / "m", b'{"file": "a", "metadata": {"x": [' + b"[]," * 2_000_000 + b"0]}}")
    with pytest.raises(OutputError, match=r"document 0: 6,000,\d+ bytes of JSON with about 4,000,\d+ values"):
        got[0]  # Regression: this took 150 MB
    text = "x" * 10_000_000
    assert _of_lines(tmp_path / "m", json.dumps({"file": text}).encode())[0] == {"file": text}
    monkeypatch.setattr(metadata_module, "FRAME_BYTES", 1 << 20)
    path = tmp_path / "m"
    got = _of_lines(path, *[b""] * 1000)
    monkeypatch.setattr(metadata_module, "FRAME_BYTES", 100)  # as if a hostile frame had more lines than fit in memory
    with pytest.raises(OutputError, match="the number of lines differs from the index"):
        Metadata(path).line(0)


@pytest.mark.parametrize("block_bytes", [40, 1 << 20])
def test_origins_of_documents(toy, tmp_path, block_bytes):
    lines = [{"id": k, "text": "the " * (k % 40), "tags": ["a", k]} for k in range(90)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n\n" for line in lines))
    (tmp_path / "b.txt").write_bytes(b"one\n\nthree")
    paths = [tmp_path / "a.jsonl", tmp_path / "b.txt"]
    array = run(toy, paths, tmp_path / "ids", metadata=True, block_bytes=block_bytes, threads=2, separator=b"\n")
    want = [
        {"file": str(paths[0]), "line": 2 * k + 1, "metadata": {"id": k, "tags": ["a", k]}} for k in range(90)
    ] + [{"file": str(paths[1]), "line": k, "byte": byte} for k, byte in ((1, 0), (2, 4), (3, 5))]
    assert [array.metadata(k) for k in range(len(array))] == want
    assert list(array.all_metadata) == want and array.all_metadata[3:5] == want[3:5]
    if which("zstd"):
        done = subprocess.run(["zstd", "-dc", metadata_path(tmp_path / "ids")], capture_output=True, check=True)
        assert [json.loads(line) for line in done.stdout.splitlines()] == want
    array = run(toy, paths, tmp_path / "ids")
    assert not metadata_path(tmp_path / "ids").exists()
    with pytest.raises(OutputError, match="has no metadata"):
        array.metadata(0)


@pytest.mark.parametrize("block_bytes", [30, 200, 1 << 20])
def test_bad_lines_are_skipped_and_listed(toy, tmp_path, block_bytes):
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"the"}\n{"text":1}\n\n{"text":"cat"}\nno\n')
    (tmp_path / "b.jsonl").write_bytes(b'{"text":"\\ud800"}\n{"text":"' + b"x" * 900 + b'"}\n{"text":"dog"}')
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    options = {"block_bytes": block_bytes, "max_line_bytes": 100, "threads": 2}
    array = run(toy, paths, tmp_path / "ids", on_error="skip", metadata=True, **options)
    assert [array.text(k) for k in range(len(array))] == ["the", "cat", "dog"]
    assert [array.metadata(k)["line"] for k in range(3)] == [1, 4, 3]
    bad = [json.loads(line) for line in errors_path(tmp_path / "ids").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in bad] == [
        (str(paths[0]), 2), (str(paths[0]), 5), (str(paths[1]), 1), (str(paths[1]), 2),
    ]  # fmt: skip
    assert "lone surrogate" in bad[2]["error"] and "longer than 100" in bad[3]["error"]
    assert [record.skipped for record in array.manifest.inputs] == [2, 2]
    with pytest.raises(InputError, match=r"a\.jsonl: line 2: "):
        run(toy, paths, tmp_path / "ids", **options)
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"the"}\n')
    run(toy, paths[:1], tmp_path / "ids", on_error="skip")
    assert not errors_path(tmp_path / "ids").exists()


def test_damaged_files_are_never_skipped(toy, tmp_path):
    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(b'{"text":"the"}\n' * 100)[:-3])
    with pytest.raises(InputError, match="ends inside the zstd frame"):
        run(toy, [tmp_path / "a.jsonl.zst"], tmp_path / "ids", on_error="skip")


def test_command(tmp_path, rwkv):
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"the","n":1}\n{"text":1}\n')
    out = str(tmp_path / "ids")
    command = ["tokenize", str(tmp_path), "-o", out, "-m", rwkv.path, "--on-error", "skip", "--metadata"]
    for options in ([], ["--overwrite"]):  # the second run finds the sidecars of the first among the inputs
        done = CliRunner().invoke(cli, command + options)
        assert done.exit_code == 3, done.output
        assert "skipped 1 bad line" in done.output and "ids.errors.jsonl" in done.output
    array = pyunitok.open(out)
    assert array.metadata(0) == {"file": str(tmp_path / "a.jsonl"), "line": 1, "metadata": {"n": 1}}
    done = CliRunner().invoke(cli, [*command[:6], "--overwrite"])
    assert done.exit_code == 1


def test_too_little_memory_is_rejected(tmp_path, rwkv):
    (tmp_path / "a.txt").write_bytes(b"the")
    command = ["tokenize", str(tmp_path), "-o", str(tmp_path / "ids"), "-m", rwkv.path, "--threads", "8"]
    done = CliRunner().invoke(cli, [*command, "--block", "64M", "--max-memory", "256M"])
    assert done.exit_code != 0
    assert "8 threads with blocks of 67108864 bytes need" in str(done.exception or "") + done.output
    assert not list(tmp_path.glob("ids*"))
    assert CliRunner().invoke(cli, [*command, "--max-memory", "64M"]).exit_code == 0


def test_origins_in_parts(toy, tmp_path, monkeypatch):
    """Regression: the origins of a million documents were all created at once."""
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": k, "text": "the"}) + "\n" for k in range(40)))
    array = run(toy, [tmp_path / "a.jsonl"], tmp_path / "ids", metadata=True)
    bounds = np.arange(41)
    whole = [list(origins.csv_rows(array, 0, bounds)), list(origins.json_lines(array, 0, 40))]
    monkeypatch.setattr(origins, "PART_BYTES", 100)
    parts = [list(origins.csv_rows(array, 0, bounds)), list(origins.json_lines(array, 0, 40))]
    assert [b"".join(part) for part in parts] == [b"".join(part) for part in whole]
    assert all(len(part) > 5 and len(max(part, key=len)) < 300 for part in parts)
