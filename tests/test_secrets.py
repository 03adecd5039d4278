"""Secrets in URLs are neither stored nor shown, and a URL with a new signature is the same input."""

from __future__ import annotations

import base64
import http.server
import json
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from toys import models
from toys.plans import in_parts, make_plan

import pyunitok
from pyunitok.corpus.source import InputFile, without_secrets
from pyunitok.disk import remote
from pyunitok.disk.url import hash_of_secrets, redacted, shown
from pyunitok.errors import InputError, OutputError
from pyunitok.run.identity import Identity
from pyunitok.tokens.manifest import Manifest

V4 = (
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=SECRET%2F20261124%2Fus-east-1%2Fs3%2Faws4_request"
    "&X-Amz-Date=20261124T000000Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host&X-Amz-Security-Token=SECRET"
    "&X-Amz-Signature=SECRET"
)
SIGNED = {
    "AWS v4": V4,
    "AWS v2": "AWSAccessKeyId=SECRET&Signature=SECRET%2Fx%3D&Expires=1764000000",
    "CloudFront": "Expires=1764000000&Signature=SECRET~x__&Key-Pair-Id=SECRET&Policy=SECRET",
    "GCS v4": V4.replace("X-Amz", "X-Goog"),
    "GCS v2": "GoogleAccessId=SECRET%40x&Expires=1764000000&Signature=SECRET",
    "Azure": "sv=2024-11-04&st=2026-11-24&se=2026-11-25&sr=b&sp=r&spr=https&skoid=SECRET&sktid=SECRET&sig=SECRET%3D",
    "OSS": "OSSAccessKeyId=SECRET&Expires=1764000000&Signature=SECRET&security-token=SECRET",
    "COS": "q-sign-algorithm=sha1&q-ak=SECRET&q-sign-time=1;2&q-key-time=1;2&q-signature=SECRET",
}


@pytest.mark.parametrize("query", SIGNED.values(), ids=SIGNED)
def test_signatures_are_removed(query: str) -> None:
    url = f"https://host/a.jsonl?{query}"
    assert shown(url) == "https://host/a.jsonl" and hash_of_secrets(url) is None
    assert shown(f"https://host/a.jsonl?part=2&{query}&x") == "https://host/a.jsonl?part=2&x"
    assert redacted(f"404, url='{url}' (Caused by x?)") == "404, url='https://host/a.jsonl' (Caused by x?)"


@pytest.mark.parametrize(
    "url, expected",
    [
        ("https://user:SECRET@host/a", "https://host/a"),
        ("https://user:SE'CR@ET@host:80/a@b?c=d@e", "https://host:80/a@b?c=d@e"),
        ("s3://KEY:SECRET@bucket/a.jsonl", "s3://bucket/a.jsonl"),
        ("https://host/a?token=SECRET", "https://host/a?token=REDACTED"),
        ("https://host/a?x=1;accessToken=SECRET;y", "https://host/a?x=1&accessToken=REDACTED"),
        ("https://host/a?API_KEY=SECRET#access_token=SECRET", "https://host/a?API_KEY=REDACTED#access_token=REDACTED"),
        ("https://host/a?client%2Dsecret=SECRET it is", "https://host/a?client%2Dsecret=REDACTED"),
        ("https://host/a?X-Amz-Credential=SECRET", "https://host/a?X-Amz-Credential=REDACTED"),
        # These are not secrets:
        ("https://host/a?st=1&sp=2&tokenizer=bpe&author=me", "https://host/a?st=1&sp=2&tokenizer=bpe&author=me"),
        ("https://host/a?x=1;y=2", "https://host/a?x=1;y=2"),
        ("hf://datasets/user/name@main/a?.parquet", "hf://datasets/user/name@main/a?.parquet"),
        ("s3://bucket/a@b/*.jsonl", "s3://bucket/a@b/*.jsonl"),
        ("dir/a?token=1", "dir/a?token=1"),  # a local file name
    ],
)
def test_shown_urls(url: str, expected: str) -> None:
    assert shown(url) == expected
    assert shown(expected) == expected


@given(st.text("abz:/?&;=#@ .-%\n", max_size=60))
def test_showing_a_shown_url_changes_nothing(text: str) -> None:
    for function in (shown, redacted):
        once = function(f"https://{text}")
        assert function(once) == once


def test_values_that_may_name_a_file_are_compared() -> None:
    """The values are compared only if the files have neither an etag nor a modification time."""
    files = [InputFile(f"https://host/get?key={key}", "text", "none", 5) for key in ("one", "two", "one")]
    a, b, again = map(without_secrets, files)
    assert a.path == b.path == "https://host/get?key=REDACTED" and a != b and a == again
    assert "one" not in str(a.secrets_sha256) and "SECRET" not in a.description()
    (difference,) = Identity.of({}, [a]).differences(Identity.of({}, [b]))
    assert "URL secrets with hash" in difference
    known = [without_secrets(InputFile(file.path, "text", "none", 5, etag="v1")) for file in files]
    assert known[0] == known[1]
    assert Identity.from_json(json.loads(json.dumps(Identity.of({}, [a]).to_json()))).inputs == [a]


# -------------------------------------------------------------------------------------------------- a signed server

LINES = b"".join(b'{"text": "%d bottles of beer", "n": %d}\n' % (k, k) for k in range(200))


class Signed(http.server.BaseHTTPRequestHandler):
    """Serves `files` to requests with a valid signature or password."""

    files: dict[str, bytes] = {}  # noqa: RUF012
    signatures: set[str] = set()  # noqa: RUF012
    has_etags = True

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        values = dict(pair.partition("=")[::2] for pair in query.split("&"))
        password = base64.b64encode(b"user:PASSWORD-SECRET").decode()
        is_known = self.headers.get("Authorization") == f"Basic {password}"
        is_known |= values.get("X-Amz-Signature", values.get("token")) in self.signatures
        data = self.files.get(path, b"") if is_known else b""
        self.send_response(200 if data else 403 if not is_known else 404)
        if data and self.has_etags:
            self.send_header("ETag", f'"{hash(data)}"')
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    do_HEAD = do_GET

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The HOST:PORT of a running Signed server."""
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(remote, "FIRST_DELAY_SECONDS", 0)
    monkeypatch.setattr(Signed, "files", {"/a.jsonl": LINES, "/b.jsonl": LINES + b"{broken\n", "/c": LINES})
    monkeypatch.setattr(Signed, "signatures", {"SECRET-1", "SECRET-2"})
    monkeypatch.setattr(Signed, "has_etags", True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Signed) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "toy.utk"
    models.greedy(eod=None, name="toy").save(path)
    return path


def signed(host: str, name: str, number: int = 1) -> str:
    return f"http://{host}/{name}?X-Amz-Date=D{number}&X-Amz-Credential=SECRET&X-Amz-Signature=SECRET-{number}"


def check_no_secret(folder: Path, *done: Any) -> None:
    for one in done:
        assert b"SECRET" not in one.stdout + one.stderr, one.stderr
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".zst":
                data += zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
            assert b"SECRET" not in data, path
            assert b"SECRET" not in str(path).encode()


def test_no_output_contains_a_secret(server: str, model: Path, tmp_path: Path) -> None:
    """Regression: OUT.json contained the URL, and search --json and the page showed it."""
    inputs = [signed(server, "a.jsonl"), f"http://user:PASSWORD-SECRET@{server}/b.jsonl"]
    options = ["-m", str(model), "--metadata", "--on-error", "skip", "--stats-json", "stats.json", "--eod", "none"]
    dry = run(tmp_path, "tokenize", *inputs, "-o", "ids", *options, "--dry-run")
    done = run(tmp_path, "tokenize", *inputs, "-o", "ids", *options)
    assert done.returncode == 3, done.stderr
    later = [
        run(tmp_path, "index", "ids", "-o", "idx"),
        run(tmp_path, "search", "idx", "beer", "--json"),
        run(tmp_path, "search", "idx", "beer", "--by-source"),
        run(tmp_path, "stats", "ids", "--json", "-"),
        run(tmp_path, "inspect", "ids"),
        run(tmp_path, "verify", "ids", "--inputs"),
        run(tmp_path, "verify", "ids", *inputs),
        run(tmp_path, "export", "ids", "--to", "dolma", "-o", "dolma"),
        run(tmp_path, "export", "ids", "--to", "infini-gram", "-o", "infini"),
    ]
    assert [one.returncode for one in later] == [0, 0, 0, 0, 0, 1, 0, 0, 0], later
    check_no_secret(tmp_path, dry, done, *later)
    sources = {hit["source"] for hit in json.loads(later[1].stdout)["hits"]}
    assert sources <= {f"http://{server}/a.jsonl", f"http://{server}/b.jsonl"}


def test_a_run_resumes_with_a_new_signature(server: str, model: Path, tmp_path: Path) -> None:
    inputs = [signed(server, "a.jsonl"), signed(server, "b.jsonl"), "-m", str(model), "--eod", "none"]
    stopped = run(tmp_path, "tokenize", *inputs, "-o", "ids")
    assert stopped.returncode == 1 and b"line 201" in stopped.stderr
    assert (tmp_path / "ids.journal.partial").exists()
    check_no_secret(tmp_path, stopped)
    Signed.files["/b.jsonl"] = LINES
    other = run(tmp_path, "tokenize", signed(server, "c", 2), signed(server, "b.jsonl", 2), *inputs[2:], "-o", "ids")
    assert other.returncode == 1 and b"started by another command" in other.stderr
    again = [signed(server, "a.jsonl", 2), signed(server, "b.jsonl", 2), *inputs[2:]]
    done = run(tmp_path, "tokenize", *again, "-o", "ids")
    assert done.returncode == 0 and b"resuming after 200 documents" in done.stderr, done.stderr
    finished = run(tmp_path, "tokenize", *inputs, "-o", "ids")
    assert b"already complete" in finished.stderr
    check_no_secret(tmp_path, other, done, finished)


def test_another_token_without_etags_is_another_input(server: str, model: Path, tmp_path: Path) -> None:
    for has_etags in (True, False):
        Signed.has_etags = has_etags
        done = []
        for number in (1, 2, 1):
            url = f"http://{server}/c?token=SECRET-{number}"
            done.append(run(tmp_path, "tokenize", url, "-o", f"ids{has_etags}", "-m", str(model), "--eod", "none"))
        assert [one.returncode for one in done] == ([0, 0, 0] if has_etags else [0, 1, 0]), done
        check_no_secret(tmp_path, *done)


def test_runs_in_parts_and_shards(server: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyunitok.corpus import inputs
    from pyunitok.run.parts import parts_folder
    
    monkeypatch.chdir(tmp_path)
    tokenizer = pyunitok.Tokenizer.from_file(model)
    for number in (1, 2):  # the second run finds the work already done
        sources = inputs.find([signed(server, "a.jsonl", number), signed(server, "c", number)])
        plan = make_plan(sources, tmp_path / "ids", tokenizer, None, threads=1)
        in_parts(plan, unit_bytes=3000, keep_parts=True)
        assert (parts_folder(tmp_path / "ids") / "plan.json").exists()
        urls = [signed(server, "a.jsonl", number), signed(server, "c", number)]
        done = run(tmp_path, "tokenize", *urls, "-o", "x", "--shard", f"{number - 1}/2", "-m", str(model),
                   "--eod", "none")  # fmt: skip
        assert done.returncode == 0, done.stderr
    merged = run(tmp_path, "merge", "x.0-of-2", "x.1-of-2", "-o", "x")
    assert merged.returncode == 0, merged.stderr
    check_no_secret(tmp_path, done, merged)


def test_training(server: str, tmp_path: Path) -> None:
    url = signed(server, "a.jsonl")
    options = ["-o", "new.txt", "--vocab-size", "300", "--checkpoint", "kept", "--weight", f"{url}=2"]
    pytest.importorskip("matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        from pyunitok.train.checkpoint import Checkpoint

        patch.setattr(Checkpoint, "remove", lambda _: None)
        done = run(tmp_path, "train", "longest", url, *options, "--report", "report.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept/training.json").exists()
    check_no_secret(tmp_path, done)


@pytest.mark.parametrize(
    "url",
    [
        "http://HOST/a.jsonl?X-Amz-Date=1&X-Amz-Signature=SECRET-9",  # rejected by the server
        "http://HOST/absent.jsonl?X-Amz-Signature=SECRET-1",
        "http://user:SECRET@HOST/a.jsonl",
        "http://user:SECRET@127.0.0.1:9/a.jsonl?token=SECRET",
        "http://user:SECRET@absent.invalid/a.jsonl?token=SECRET",
        "ftp://user:SECRET@127.0.0.1/a.jsonl",
        "zip://a::http://user:SECRET@127.0.0.1/a.zip",
        "http://HOST/a.jsonl::http://b?token=SECRET",
        "s3://KEY:SECRET@bucket/a.jsonl",
        "hf://datasets/a/b/c?token=SECRET",
    ],
)
def test_no_message_contains_a_secret(server: str, model: Path, tmp_path: Path, url: str) -> None:
    url = url.replace("HOST", server)
    done = run(tmp_path, "tokenize", url, "-o", "ids", "-m", str(model), "--eod", "none")
    assert done.returncode == 1 and done.stderr.startswith(b"error: "), done.stderr
    check_no_secret(tmp_path, done)
    with pytest.raises((InputError, OutputError)) as failed:
        pyunitok.tokenize(url, tmp_path / "ids", model, eod=None)
    assert "SECRET" not in "".join(traceback.format_exception(failed.value))


def test_output_urls(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setattr(remote, "FIRST_DELAY_SECONDS", 0)
    (tmp_path / "a.txt").write_text("one")
    for out in ("ftp://user:SECRET@127.0.0.1/ids", "http://user:SECRET@127.0.0.1:9/ids", "http://user:SECRET@host/"):
        done = run(tmp_path, "tokenize", "a.txt", "-o", out, "-m", str(model), "--eod", "none", "--spool", "spool")
        assert done.returncode == 1
        check_no_secret(tmp_path, done)


def test_secrets_in_foreign_manifests_are_not_shown(server: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    done = run(tmp_path, "tokenize", "a.jsonl", "-o", "ids", "-m", str(model), "--eod", "none")
    assert done.returncode == 0
    values = json.loads((tmp_path / "ids.json").read_bytes())
    values["inputs"][0]["path"] = "https://user:SECRET@host/a.jsonl?X-Amz-Signature=SECRET"
    (tmp_path / "ids.json").write_text(json.dumps(values))
    assert Manifest.read(tmp_path / "ids.json").inputs[0].path == "https://host/a.jsonl"
    shown_now = [run(tmp_path, "index", "ids", "-o", "idx"), run(tmp_path, "search", "idx", "beer", "--json")]
    assert [one.returncode for one in shown_now] == [0, 0]
    assert all(b"SECRET" not in one.stdout + one.stderr for one in shown_now)
    then = {"options": {}, "inputs": [["https://h/a?X-Amz-Signature=SECRET", "text", "none", 3, None, "v"]]}
    assert Identity.from_json(then).inputs[0].path == "https://h/a"
