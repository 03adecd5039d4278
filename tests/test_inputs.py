"""Finding the inputs: order, links, patterns, exclusion, compression and format; pipes are read only once."""

import bz2
import gzip
import json
import lzma
import os
import pathlib
import subprocess
import sys
import threading

import pytest
import streams
import zstandard

from pyunitok.corpus import inputs
from pyunitok.corpus import stream as stream_module
from pyunitok.corpus.inputs import find
from pyunitok.corpus.raw_file import RawFile
from pyunitok.errors import InputError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths, links and pipes")
LINE = b'{"text":"a"}\n'


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("d/b/x.txt", "d/b.txt", "d/a.txt", "d/B.txt", "d/.hidden.txt", "d/.git/x.txt", "d/é.txt", "e/[1].txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"x")
    (tmp_path / "d/loop").symlink_to(tmp_path / "d")
    (tmp_path / "d/link.txt").symlink_to(tmp_path / "e/[1].txt")
    (tmp_path / "d/dangling.txt").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "d/pipe")
    return tmp_path


IN_D = ["d/B.txt", "d/a.txt", "d/b.txt", "d/b/x.txt", "d/link.txt", "d/é.txt"]


def paths(*arguments, **options):
    return [source.path for source in find(arguments, **options)]


def test_directories(tree):
    assert paths("d") == IN_D
    assert paths("e", "d") == ["e/[1].txt", *IN_D]
    assert paths("./d") == ["./" + path for path in IN_D]
    assert paths(str(tree / "d")) == [str(tree / path) for path in IN_D]
    assert paths("d/loop") == ["d/loop" + path[1:] for path in IN_D]


def test_patterns(tree):
    assert paths("d/*.txt") == [path for path in IN_D if path != "d/b/x.txt"]
    assert paths("d/?.txt") == ["d/B.txt", "d/a.txt", "d/b.txt", "d/é.txt"]
    assert paths("d/[ab].txt") == ["d/a.txt", "d/b.txt"]
    assert paths("d/*") == IN_D
    assert paths("d/**") == IN_D
    assert paths("d/**/*.txt") == IN_D
    assert paths("**/x.txt") == ["d/b/x.txt"]
    assert paths("*/b/x.txt") == ["d/b/x.txt"]
    assert paths("d/.h*") == ["d/.hidden.txt"]
    assert paths(str(tree) + "/d/[ab].txt") == [str(tree / "d/a.txt"), str(tree / "d/b.txt")]
    assert paths("e/[1].txt") == ["e/[1].txt"]  # an existing file takes precedence over the pattern


def test_files_keep_their_order(tree):
    assert paths("d/b.txt", "d/a.txt", "d/b.txt", "d/.hidden.txt") == ["d/b.txt", "d/a.txt", "d/b.txt", "d/.hidden.txt"]
    assert find(["d/a.txt"])[0].size_bytes == 1


@pytest.mark.parametrize("argument", ["nothing", "d/*.json", "d/b/*/x", "d/.git/empty", "", "-", "d/dangling.txt"])
def test_nothing_there(tree, argument):
    (tree / "d/.git/empty").mkdir()
    with pytest.raises(InputError):
        paths("d/a.txt", argument, "-", input_format="text")


def test_exclude(tree):
    assert paths("d", own=["d/a.txt", "d/not_yet.txt"]) == [path for path in IN_D if path != "d/a.txt"]
    assert "d/link.txt" not in paths("d", own=["e/[1].txt"])
    os.link("d/a.txt", "d/hard.txt")
    assert "d/hard.txt" not in paths("d", own=["d/loop/a.txt"])
    with pytest.raises(InputError, match="is an output of this command"):
        paths("d/a.txt", own=["d/a.txt"])


def test_deep_tree(tree):
    deep = tree / "deep"
    for _ in range(300):
        deep /= "a"
    deep.mkdir(parents=True)
    (deep / "x").write_bytes(b"x")
    assert paths("deep") == [str((deep / "x").relative_to(tree))]


NAMES = {
    "a.jsonl": ("none", "jsonl"), "a.NDJSON.zst": ("zst", "jsonl"), "a.jsonl.gz": ("gz", "jsonl"),
    "a.txt": ("none", "text"), "a.md.zstd": ("zst", "text"), "a.jsonl.bz2": ("bz2", "jsonl"),
    "a.txt.xz": ("xz", "text"), "a.jsonl.txt": ("none", "text"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_by_name(tree, name):
    (tree / name).write_bytes(b"")  # not opened
    (source,) = find([name])
    assert (source.compression, source.format) == NAMES[name]
    assert source.reason.startswith("its name ends in .")
    assert find([name], input_format="jsonl")[0].format == "jsonl"


PACK = {
    "": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress, ".bz2": bz2.compress,
    ".xz": lzma.compress,
}  # fmt: skip
CONTENTS = {
    LINE: "jsonl",
    b"\xef\xbb\xbf\r\n \n" + LINE + b"rubbish": "jsonl",
    LINE.strip(): "jsonl",
    b'{"text":"\\ud800"}': "text",
    b'{"text":1}\n': "text",
    b'{"t":"a"}\n': "text",
    b'["text"]\n': "text",
    b"plain\n" + LINE: "text",
    b"": "text",
    b"\n" * 3_000_000 + LINE: "text",
    b'{"text": "' + b"x" * 2_000_000 + b'"}\n': "jsonl",
    b'{"id":1,"text" :\n': "text",
    b'{"id":"' + b"x" * 2_000_000 + b'","text":"a"}\n': "text",
    b"x" * 2_000_000: "text",
}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
def test_by_first_line(tree, suffix, content):
    (tree / f"file{suffix}").write_bytes(PACK[suffix](content))
    (source,) = find([f"file{suffix}"])
    assert source.format == CONTENTS[content]
    assert "first line" in source.reason
    assert source.opened is None
    assert streams.read_all(stream_module.open(source), 1000) == content


def test_by_first_line_with_another_key(tree):
    (tree / "file").write_bytes(b'{"a":{"b":"x"}}\n')
    assert find(["file"], text_key="a.b")[0].format == "jsonl"
    assert find(["file"], text_key="a")[0].format == "text"


def test_sniffing_reads_little(tree, monkeypatch):
    asked = []
    read_into = RawFile.readinto
    monkeypatch.setattr(RawFile, "readinto", lambda self, buffer: asked.append(len(buffer)) or read_into(self, buffer))
    (tree / "file").write_bytes(b"x" * 5_000_000)
    find(["file"])
    assert sum(asked) == inputs.LINE_BYTES


def test_binary_files_are_rejected(tree):
    (tree / "a.npy").write_bytes(b"NUMPY")
    with pytest.raises(InputError, match=r"a\.npy: a \.npy file, not text; .*--input-format text"):
        find(["a.npy"])
    assert find(["a.npy"], input_format="text")[0].format == "text"


def test_parquet_is_detected(tree):
    for name in ("a.parquet", "b.PQ", "c"):
        (tree / name).write_bytes(b"PAR1")
        assert find([name])[0].format == "parquet"
    (tree / "d.parquet.zst").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be read from a compressed file or pipe; decompress it"):
        find(["d.parquet.zst"])
    assert find(["a.parquet"], input_format="text")[0].format == "text"


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK)
@pytest.mark.parametrize("content", [LINE * 100_000, b"text\n" * 500_000, b"", b"x"], ids=range(4))
def test_fifo_is_opened_once(tree, pack, content):
    os.mkfifo("fifo")
    writer = threading.Thread(target=lambda: (tree / "fifo").write_bytes(pack(content)), daemon=True)
    writer.start()
    (source,) = find(["fifo"])
    stream = stream_module.open(source)
    assert streams.read_all(stream, 65536) == content
    writer.join()
    stream.close()
    assert source.format == ("jsonl" if content[:1] == b"{" else "text")
    assert source.size_bytes is None


@pytest.mark.parametrize("input_format", ["auto", "parquet"])
def test_parquet_from_a_pipe(tree, input_format):
    os.mkfifo("fifo")
    writer = threading.Thread(target=lambda: (tree / "fifo").write_bytes(b"PAR1......PAR1"), daemon=True)
    writer.start()
    with pytest.raises(InputError, match="fifo: a Parquet file cannot be read from a pipe"):
        find(["fifo"], input_format=input_format)
    writer.join()


READ_STDIN = """
import sys
from pyunitok.corpus import inputs, stream
source, = inputs.find(["-"], input_format=sys.argv[1])
print(source.path, source.name, source.compression, source.format, source.size_bytes, flush=True)
data = stream.open(source)
buffer = bytearray(10000)
while n := data.readinto(memoryview(buffer)):
    sys.stdout.buffer.write(buffer[:n])
"""


@pytest.mark.parametrize("input_format", ["auto", "text"])
@pytest.mark.parametrize("pack", PACK)
def test_stdin(pack, input_format):
    content = b"".join(json.dumps({"text": "x" * i}).encode() + b"\n" for i in range(2000))
    done = subprocess.run(
        [sys.executable, "-c", READ_STDIN, input_format], input=PACK[pack](content), capture_output=True, check=True
    )
    first, _, rest = done.stdout.partition(b"\n")
    found = "jsonl" if input_format == "auto" else "text"
    assert first.decode() == f"- <stdin> {pack[1:] or 'none'} {found} None"
    assert rest == content


def test_stdin_twice(monkeypatch):
    monkeypatch.setattr("sys.stdin", pathlib.Path(os.devnull).open())  # noqa: SIM115
    with pytest.raises(InputError, match="twice"):
        find(["-", "-"], input_format="text")


@pytest.mark.parametrize(
    ("name", "module", "message"),
    [
        ("y.parquet", "pyarrow.parquet", r"Parquet requires pyarrow: pip install 'pyunitok\[parquet\]'"),
        ("far/y.pq", "pyarrow.parquet", r"Parquet requires pyarrow: pip install 'pyunitok\[parquet\]'"),
        ("y.txt.bz2", "bz2", "this Python was built without bz2"),
        ("y.txt.xz", "lzma", "this Python was built without lzma"),
        ("y.xz", "lzma", "this Python was built without lzma"),
    ],
)
def test_a_missing_package_is_detected_before_any_work(tmp_path, monkeypatch, name, module, message):
    """Regression: the error came only after hours of work on earlier inputs."""
    import pyunitok

    if module.startswith("pyarrow"):
        pytest.importorskip(module)
        monkeypatch.delattr(module, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far").mkdir()
    (tmp_path / "langs").mkdir()
    (tmp_path / "langs/a.txt").write_bytes(b"the" * 1000)
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"a\nb"))
    (tmp_path / name).write_bytes({"bz2": bz2.compress, "lzma": lzma.compress}.get(module, b"PAR1".__add__)(b"text"))
    monkeypatch.setitem(sys.modules, module, None)
    read = []
    for given in (name, "far" if "/" in name else name):
        with pytest.raises(InputError, match=rf"^{name}: {message}"):
            pyunitok.tokenize(["langs", "x.gz", given], "ids", on_start=read.append)
    assert not read and not list(tmp_path.glob("ids*"))
    pyunitok.tokenize(["langs", "x.gz"], "ids", on_start=read.append)
