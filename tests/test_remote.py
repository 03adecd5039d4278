"""Files at URLs: finding files, range requests, transient and permanent errors."""

import gzip
import http.server
import io
import random
import sys
import threading

import pytest
import streams
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pyunitok.corpus import stream as stream_module
from pyunitok.corpus.inputs import find
from pyunitok.corpus.raw_file import RawFile
from pyunitok.corpus.source import Source
from pyunitok.disk import remote
from pyunitok.disk.url import without_query
from pyunitok.errors import InputError

fsspec = pytest.importorskip("fsspec")
memory = pytest.importorskip("fsspec.implementations.memory")


class Unreliable(memory.MemoryFileSystem):
    """The file system of unreliable:// URLs: its requests raise the errors listed in `failures`, in order."""

    protocol = "unreliable"
    store: dict = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012
    cachable = False
    failures: dict = {}  # noqa: RUF012
    log: list = []  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("unreliable://", "memory://"))

    @classmethod
    def request(cls, kind, *what):
        cls.log.append((kind, *what))
        errors = cls.failures.get(kind, [])
        if errors and (error := errors.pop(0)):
            raise error

    def info(self, path, **options):
        self.request("info", path)
        return super().info(path, **options)

    def cat_file(self, path, start=None, end=None, **options):
        self.request("cat", start, end)
        return super().cat_file(path, start, end, **options)

    def put_file(self, lpath, rpath, **options):
        self.request("put", rpath)
        return super().put_file(lpath, rpath, **options)


@pytest.fixture
def store(monkeypatch):
    """An empty Unreliable file system without failures, and no delay between attempts."""
    fsspec.register_implementation("unreliable", Unreliable, clobber=True)
    monkeypatch.setattr(Unreliable, "store", {})
    monkeypatch.setattr(Unreliable, "failures", {})
    monkeypatch.setattr(Unreliable, "log", [])
    monkeypatch.setattr(remote, "FIRST_DELAY_SECONDS", 0)
    monkeypatch.setitem(remote.PROTOCOLS, "unreliable", "remote")
    return Unreliable()


def fill(store, *paths):
    for path in paths:
        store.pipe(path, b"x")


def paths(*arguments, **options):
    return [source.path.removeprefix("unreliable:///") for source in find(arguments, input_format="text", **options)]


# ----------------------------------------------------------------------------------------------- finding files

TREE = ["d/b/x.txt", "d/b.txt", "d/a.txt", "d/B.txt", "d/.hidden.txt", "d/.git/x.txt", "d/é.txt", "e/[1].txt"]
IN_D = ["d/B.txt", "d/a.txt", "d/b.txt", "d/b/x.txt", "d/é.txt"]


def test_directories_and_patterns(store):
    """The rules are those of local paths: see test_inputs.py."""
    fill(store, *TREE)
    assert paths("unreliable://d") == IN_D
    assert paths("unreliable://d/") == IN_D
    assert paths("unreliable://e", "unreliable://d") == ["e/[1].txt", *IN_D]
    assert paths("unreliable://d/*.txt") == [path for path in IN_D if path != "d/b/x.txt"]
    assert paths("unreliable://d/[ab].txt") == ["d/a.txt", "d/b.txt"]
    assert paths("unreliable://d/*") == IN_D
    assert paths("unreliable://d/**/*.txt") == IN_D
    assert paths("unreliable://*/b/x.txt") == ["d/b/x.txt"]
    assert paths("unreliable://d/.h*") == ["d/.hidden.txt"]
    (source,) = find(["unreliable://d/a.txt"])
    assert (source.path, source.size_bytes, source.format) == ("unreliable://d/a.txt", 1, "text")


@pytest.mark.parametrize("url", ["unreliable://nothing", "unreliable://d/*.json", "unreliable://d/nothing.txt"])
def test_missing_files(store, url):
    fill(store, *TREE)
    with pytest.raises(InputError, match="no such file"):
        paths(url)


def test_own_outputs(store):
    fill(store, "d/a.txt", "d/out")
    assert paths("unreliable://d", own=["unreliable://d/out", "/d/a.txt"]) == ["d/a.txt"]
    with pytest.raises(InputError, match="both an input and the output"):
        paths("unreliable://d", refuse=["unreliable:///d/out"])


def test_file_urls(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"x")
    assert paths(f"file://{tmp_path}") == [str(tmp_path / "a.txt")]
    assert paths(f"FILE://{tmp_path}/*.txt") == [str(tmp_path / "a.txt")]


def test_queries_are_not_a_suffix():
    assert without_query("https://host/a.gz?b=.txt#c") == "https://host/a.gz"
    assert without_query("s3://bucket/what?.gz") == "s3://bucket/what?.gz"


def test_identity_of_files():
    info = {"size": 3, "ETag": '"abc"', "LastModified": "2026-11-20T01:02:03Z"}
    assert remote._found("u", info) == remote.RemoteFile("u", 3, "abc", None)
    del info["ETag"]
    assert remote._found("u", info) == remote.RemoteFile("u", 3, None, 1795136523 * 10**9)
    assert remote._found("u", {"size": None, "mtime": 1.5}) == remote.RemoteFile("u", None, None, 1500000000)
    assert remote._found("u", {"updated": "no time"}) == remote.RemoteFile("u", None, None, None)


def test_unknown_and_missing_packages(monkeypatch):
    with pytest.raises(InputError, match=r"nonsense://b/x: nonsense:// is not supported; use s3://"):
        find(["nonsense://b/x"])
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(InputError, match=r"pip install 'pyunitok\[s3\]'"):
        find(["s3://b/x"])
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match=r"pip install 'pyunitok\[remote\]'"):
        find(["memory://b/x"])


@pytest.mark.parametrize("url", ["reference://x", "zip://a::memory://b", "memory://a::file:///etc/passwd",
                                 "ftp://h/x", "simplecache://x", "local:///etc/passwd"])  # fmt: skip
def test_protocols_that_could_run_or_read_anything(url):
    """fsspec would accept all these URLs."""
    for ask in (lambda: find([url]), lambda: remote.open_file(url), lambda: remote.canonical(url)):
        with pytest.raises(InputError, match="not supported"):
            ask()


def test_colons_in_names():
    for url in ("s3://bucket/a::b.txt", "http://[::1]:80/a.txt", "MEMORY://a"):
        remote.check_protocol(url)


# -------------------------------------------------------------------------------------------------------- reading

PACK = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


def test_compressed_under_another_name(store):
    """Regression: local files were decompressed according to their content, but remote files were rejected."""
    store.pipe("d/a.txt", gzip.compress(b"one"))
    store.pipe("d/b.jsonl", PACK[".zst"](b'{"text":"a"}\n'))
    store.pipe("d/c.txt", b"plain")
    store.pipe("d/d.txt", b"\x89PNG\r\n\x1a\n\0\0\0")
    store.pipe("d/e", gzip.compress(b"two"))
    store.pipe("d/f.txt", b"")
    left_out = []
    sources = find(["unreliable://d/"], left_out=left_out)
    assert [(source.path[-5:], source.compression, source.format) for source in sources] == [
        ("a.txt", "gz", "text"), ("jsonl", "zst", "jsonl"), ("c.txt", "none", "text"), ("//d/e", "gz", "text"),
        ("f.txt", "none", "text"),
    ]  # fmt: skip
    assert [(item.path, item.reason) for item in left_out] == [("unreliable:///d/d.txt", "a PNG image, not text")]
    assert streams.read_all(stream_module.open(sources[0]), 10) == b"one"
    with pytest.raises(InputError, match=r"d\.txt: a PNG image, not text"):
        find(["unreliable://d/d.txt"])


@pytest.mark.parametrize("suffix", PACK)
def test_streams(store, suffix):
    content = b'{"text":"a"}\n' * 50_000
    store.pipe(f"d/file{suffix}", PACK[suffix](content))
    (source,) = find([f"unreliable://d/file{suffix}"])
    assert source.format == "jsonl"
    opened = stream_module.open(source)
    assert streams.read_all(opened, 10_000) == content
    assert opened.compressed_position() == source.size_bytes
    opened.close()


@given(
    st.integers(0, 3000),
    st.lists(st.tuples(st.integers(-20, 3020), st.integers(1, 700), st.booleans()), max_size=30),
    st.integers(1, 200),
    st.integers(0, 600),
)
def test_range_file_behaves_like_a_file(n_bytes, steps, range_bytes, ahead_bytes):
    """Random reads and seeks match those of a file in memory; nothing beyond the file is requested."""
    data = random.Random(n_bytes).randbytes(n_bytes)
    fs = memory.MemoryFileSystem()
    fs.pipe("/range", data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "RANGE_BYTES", range_bytes)
        patch.setattr(remote, "AHEAD_BYTES", max(ahead_bytes, range_bytes))
        file, want = remote.RangeFile(fs, "/range", n_bytes), io.BytesIO(data)
        for offset, size, jump in steps:
            if jump:
                assert file.seek(max(0, offset)) == want.seek(max(0, offset))
            piece = file.read(size)
            assert piece == want.read(len(piece))
            assert piece or file.tell() >= n_bytes
        file.close()


def test_reads_ahead_only_when_reading_sequentially(store):
    store.pipe("d/file", bytes(1 << 20))
    file = remote.open_file("unreliable://d/file")
    file.seek(1 << 19)
    file.read(100)
    asked = [what for what in store.log if what[0] == "cat"]
    assert asked[0] == ("cat", 1 << 19, (1 << 19) + 100)
    assert sum(end - begin for _, begin, end in asked) <= 200
    while file.read(50_000):
        pass
    file.close()
    asked = sorted(what[1:] for what in store.log if what[0] == "cat")
    assert [begin for begin, _ in asked[1:]] == [end for _, end in asked[:-1]], "each byte is requested once"
    assert len(asked) < 20


PASSING = [OSError(5, "reset"), TimeoutError(), ConnectionResetError("gone")]


@pytest.mark.parametrize("kind", ["info", "cat"])
def test_transient_errors(store, kind):
    content = random.Random(3).randbytes(300_000)
    store.pipe("d/file", content)
    store.failures[kind] = [*PASSING, None, *PASSING]
    raw = RawFile("unreliable://d/file")
    assert b"".join(iter(lambda: raw.read(10_000), b"")) == content
    assert store.failures[kind] == [] or kind == "info"
    raw.close()


def test_permanent_errors_name_url_and_byte(store):
    store.pipe("d/file", bytes(300_000))
    raw = RawFile("unreliable://d/file")
    assert len(raw.read(1000)) == 1000
    store.failures["cat"] = [OSError(5, "reset")] * 1000
    with pytest.raises(InputError, match=r"^unreliable://d/file: byte \d+: cannot be read: bytes \d+ to \d+: .*reset"):
        while raw.read(1000):
            pass
    assert len([1 for what in store.log if what[0] == "cat"]) < 60
    store.failures.clear()
    with pytest.raises(InputError, match=r"unreliable://d/nothing: cannot be opened: /d/nothing"):
        RawFile("unreliable://d/nothing")


@pytest.mark.parametrize("error", [PermissionError("no"), FileNotFoundError("gone")])
def test_final_errors_are_not_retried(store, error):
    store.pipe("d/file", b"x")
    store.failures["cat"] = [error]
    with pytest.raises(InputError, match=str(error)):
        RawFile("unreliable://d/file").read(10)
    assert len([1 for what in store.log if what[0] == "cat"]) == 1


def test_http_errors_by_status():
    class Answer(Exception):
        def __init__(self, status):
            self.status = status

    class NoCredentialsError(Exception): ...

    assert not remote._may_be_temporary(NoCredentialsError())
    for status, may_pass in ((400, False), (403, False), (404, False), (408, True), (429, True), (500, True)):
        assert remote._may_be_temporary(Answer(status)) == may_pass


def test_file_that_shrinks(store):
    store.pipe("d/file", bytes(3000))
    raw = RawFile("unreliable://d/file")
    store.pipe("d/file", bytes(1000))
    with pytest.raises(InputError, match="received 1000 bytes instead of 3000; the file may have changed"):
        raw.read(5000)


def test_closing_ends_retries(store, monkeypatch):
    """close() ends a thread that is retrying a range request."""
    monkeypatch.setattr(remote, "FIRST_DELAY_SECONDS", 1000)
    store.pipe("d/file", bytes(3000))
    file = remote.RangeFile(store, "/d/file", 3000)
    file.read(1000)
    store.failures["cat"] = [OSError(5, "reset")] * 1000
    for _ in range(2):
        file.read(1000) if file.tell() < 2000 else None
    file.close()
    assert file._threads._threads
    for thread in file._threads._threads:
        thread.join(10)
        assert not thread.is_alive()


# ----------------------------------------------------------------------------------------------------------- HTTP


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `content`, and ranges of it if `ranges` is true; drops the connection midway `n_drops` times."""

    content = b""
    ranges = True
    n_drops = 0

    def do_GET(self, head=False):
        begin, end = 0, len(self.content)
        asked = self.headers.get("Range")
        if self.ranges and asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin, end = int(first), min(int(last or end) + 1, end)
        self.send_response(206 if self.ranges and asked else 200)
        if self.ranges:
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(self.content)}")
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        if head:
            return
        if end - begin > 10_000 and Server.n_drops:
            Server.n_drops -= 1
            end -= 5000
        self.wfile.write(self.content[begin:end])

    def do_HEAD(self):
        self.do_GET(head=True)

    def log_message(self, *_): ...


@pytest.mark.parametrize("ranges", [True, False])
def test_http(monkeypatch, ranges):
    pytest.importorskip("aiohttp")
    content = "".join(f'{{"text":"{k} bottles"}}\n' for k in range(30_000)).encode()
    monkeypatch.setattr(remote, "FIRST_DELAY_SECONDS", 0)
    monkeypatch.setitem(remote.PROTOCOLS, "unreliable", "remote")
    monkeypatch.setattr(Server, "content", gzip.compress(content, 0))
    monkeypatch.setattr(Server, "ranges", ranges)
    monkeypatch.setattr(Server, "n_drops", 2)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/a.jsonl.gz?token=x.txt"
        (source,) = find([url])
        assert (source.compression, source.format) == ("gz", "jsonl")
        assert streams.read_all(stream_module.open(source), 100_000) == content
        assert Server.n_drops == 0
        raw = RawFile(url)
        raw.begin_at(200_000)
        assert raw.read(50) == Server.content[200_000:200_050]
        raw.close()
        if not ranges:
            with pytest.raises(InputError, match="does not support range requests; download the file"):
                stream_module.open_seekable(Source(url, "parquet", "none"))
        server.shutdown()


def test_a_cycle_of_causes_ends():
    """Regression: the loop over the causes never ended if a refused connection raised two errors, each the cause of the
    other."""
    first, second = OSError("refused"), ValueError("no host")
    first.__context__, second.__context__ = second, first
    assert remote.cause(first) is first
    second.args = ("http://user:secret@host/x",)
    assert remote.cause(first) is None
