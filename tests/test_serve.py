"""The search page: its answers, its HTTP behaviour, and the page in a browser."""

from __future__ import annotations

import contextlib
import csv
import http.client
import io
import json
import re
import socket
import threading
import time
from pathlib import Path
from unittest import mock
from urllib.parse import quote

import commands
import pytest
from toys.models import BYTES

pytest.importorskip("starlette", reason="pip install 'pyunitok[serve]'")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from pyunitok import Tokenizer, add_words, open_index, tokenize
from pyunitok.errors import OutputError
from pyunitok.index.build import build_index
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.page import answers
from pyunitok.index.page.app import STATIC, make_app
from pyunitok.tokens import page as reports

ROOT = Path(__file__).resolve().parents[1]
TEXTS = {
    "a.txt": b"the cat sat on the mat\nthe the <b>bold</b> cat",
    "b.txt": "<script>document.title='bad'</script> שלום עולם, 日本語の文章。日本語 \U0001f600 end".encode(),
    "c.txt": b"bytes \xff\xfe that are no text, the end" + b" the" * 300,
    "d.txt": "עולם גדול: שלום לכל האנשים".encode(),
    "e.txt": "An English line with ברוך in its middle".encode(),
}
PIECES = [*BYTES, b"the", b" the", b" cat", b"<script>", "日本".encode(), b"\xe6\x97", b"<eod>"]


@pytest.fixture(scope="module", params=["suffix array", "compact"])
def folder(request, tmp_path_factory) -> Path:
    """An index of TEXTS, with a toy model: suffix arrays, or a compact index that also stores the tokens."""
    ret = tmp_path_factory.mktemp("serve")
    for name, text in TEXTS.items():
        (ret / name).write_bytes(text)
    model = Tokenizer.from_pieces(PIECES, eod=len(PIECES) - 1, name="toy")
    model.save(ret / "toy.utk")
    tokenize([ret / name for name in TEXTS], ret / "ids.u16", str(ret / "toy.utk"))
    options = {"compact": CompactOptions(), "drop_tokens": True} if request.param == "compact" else {}
    build_index([ret / "ids.u16"], ret / "idx", shard_tokens=400, **options)
    return ret


@pytest.fixture(scope="module")
def client(folder) -> TestClient:
    app = make_app(open_index(folder / "idx"), {"localhost", "testserver"})
    return TestClient(app, base_url="http://localhost:8765")


def occurrences(query: bytes) -> int:
    return sum(len(re.findall(b"(?=" + re.escape(query) + b")", text)) for text in TEXTS.values())


@pytest.mark.parametrize("query", ["the", "t", " the", "日本語", "<script>", "שלום", "he cat", "absent", "\n"])
def test_counts(client, query):
    answer = client.get("/api/count.json", params={"q": query}).json()
    counts = [{"query": query, "count": occurrences(query.encode()), "approx": False}]
    assert answer == {"counts": counts, "tokens": client.get("/api/info.json").json()["tokens"]}


def test_several_counts(client):
    answer = client.get("/api/count.json", params={"q": ["the", "cat"]}).json()
    assert [row["count"] for row in answer["counts"]] == [occurrences(b"the"), occurrences(b"cat")]


@pytest.mark.parametrize("sort", ["rank", "text", "random", "R1", "L1"])
def test_hits_are_paginated(client, sort):
    seen = []
    for offset in range(0, 400, 90):
        answer = client.get("/api/hits.json", params={"q": "the", "sort": sort, "limit": 90, "offset": offset}).json()
        assert answer["count"] == occurrences(b"the")
        seen += [(hit["document"], hit["begin"]) for hit in answer["hits"]]
    expected = [(k, m.start()) for k, text in enumerate(TEXTS.values()) for m in re.finditer(b"the", text)]
    assert sorted(seen) == expected


def test_a_hit_has_its_context_and_source(client):
    (hit,) = client.get("/api/hits.json", params={"q": "sat", "before": 4, "after": 3}).json()["hits"]
    assert (hit["before"], hit["match"], hit["after"]) == ("cat ", "sat", " on")
    assert hit["source"].endswith("a.txt")


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """An index of two documents with large metadata."""
    folder = tmp_path_factory.mktemp("large")
    fields = {"id": 7, "blob": "é" * (1 << 19), "list": ["x" * 5000, 1], "\ud800": "\udfff", "last": "z"}
    many = {f"field {k}": "y" * 3000 for k in range(300)}
    lines = [{"text": "a fox. " * 400, **fields}, {"text": "a fox. ", **many}, {"text": "a fox. ", "id": 8}]
    (folder / "in").mkdir()
    (folder / "in/a.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    Tokenizer.from_pieces(BYTES, name="toy").save(folder / "toy.utk")
    tokenize(folder / "in", folder / "ids.u16", folder / "toy.utk", eod=None, metadata=True)
    build_index([folder / "ids.u16"], folder / "idx")
    return folder


def test_metadata_is_sent_once_and_truncated(large):
    """Regression: the answer for 400 hits in a document with 1 MB of metadata was 400 MB and took 1.2 GB of memory."""
    client = TestClient(make_app(open_index(large / "idx"), {"localhost"}), base_url="http://localhost:8765")
    response = client.get("/api/hits.json", params={"q": "fox", "limit": 1000})
    assert len(response.content) < 200_000
    answer = response.json()
    assert len(answer["hits"]) == 402 and "metadata" not in answer["hits"][0]
    first, second, third = (answer["metadata"][key] for key in "012")
    assert first["truncated"] is second["truncated"] is True and "truncated" not in third
    assert third == {"file": "a.jsonl", "line": 3, "metadata": {"id": 8}}
    fields = first["metadata"]
    assert fields["blob"] == "é" * 2048 and fields["id"] == 7 and fields["\ud800"] == "\udfff"
    assert fields["list"] == json.dumps(["x" * 5000, 1])[:4096] and fields["last"] == "z"
    assert 14_000 < len(json.dumps(second)) < 17_000
    assert list(second["metadata"]) == [f"field {k}" for k in range(6)]
    without = client.get("/api/hits.json", params={"q": "fox", "limit": 1000, "metadata": 0})
    assert "metadata" not in without.json()
    document = client.get("/api/document.json", params={"n": 0}).json()
    assert document["metadata"]["metadata"]["blob"] == "é" * (1 << 19) and "truncated" not in document["metadata"]
    rows = list(csv.DictReader(io.StringIO(client.get("/api/hits.csv", params={"q": "fox", "limit": 1000}).text)))
    assert len(rows) == 402 and max(len(row["metadata"].encode()) for row in rows) <= 4096


def test_the_command_sends_metadata_once(large):
    from commands import run

    done = run(large, "search", "idx", "fox", "--json", "--limit", "1000")
    assert len(done.stdout) < 200_000
    answer = json.loads(done.stdout)
    assert set(answer["metadata"]) == {"0", "1", "2"} and answer["metadata"]["0"]["truncated"] is True
    rows = list(csv.DictReader(io.StringIO(run(large, "search", "idx", "fox", "--csv").stdout.decode())))
    assert rows[0]["metadata"].startswith('{"file": ')


def test_the_page_does_not_show_folders(folder, large, monkeypatch):
    """Regression: the page showed the paths of files on this machine."""
    for where, base, names in ((folder, folder, set(TEXTS)), (large, large / "in", {"a.jsonl"})):
        opened = open_index(where / "idx")
        client = TestClient(make_app(opened, {"localhost"}), base_url="http://localhost:8765")
        for name in ("info", "count", "hits", "next", "previous", "sources", "document"):
            for form in ("json", "csv"):
                given = {"q": "o", "n": 0, "limit": 1000}
                accepted = {key: given[key] for key in given if key in answers.ACCEPTED[name].split()}
                response = client.get(f"/api/{name}.{form}", params=accepted)
                assert response.status_code == 200 and str(base) not in response.text, name
        rows = client.get("/api/sources.json", params={"q": "o"}).json()["rows"]
        assert {row["source"] for row in rows} <= names

        message = f"{where / 'idx'}/00000.sa: damaged; {where / 'ids.u16'}: {where / 'idx'} is"
        monkeypatch.setattr(type(opened), "count", mock.Mock(side_effect=OutputError(message)))
        error = client.get("/api/count.json", params={"q": "o"}).json()["error"]
        assert error == "00000.sa: damaged; ids.u16: idx is"
        monkeypatch.undo()


def test_neighbours_and_sources(client):
    answer = client.get("/api/next.json", params={"q": "日"}).json()
    assert answer["count"] == 2 and {row["text"] for row in answer["rows"]} == {"本"}
    answer = client.get("/api/previous.json", params={"q": "cat"}).json()
    assert [row["count"] for row in answer["rows"]] == [2]
    answer = client.get("/api/sources.json", params={"q": "the"}).json()
    assert [Path(row["source"]).name for row in answer["rows"]] == ["c.txt", "a.txt"]


@pytest.mark.parametrize("number", range(len(TEXTS)))
@pytest.mark.parametrize("begin, end", [(0, 0), (0, 3), (5, 9), (11, 30)])
def test_the_parts_of_a_document_are_its_text(client, number, begin, end):
    text = list(TEXTS.values())[number]
    answer = client.get("/api/document.json", params={"n": number, "begin": begin, "end": end}).json()
    assert answer["size"] == len(text) == answer["to"]
    pieces = "".join(part["text"] for part in answer["parts"])
    hit = "".join(part["text"] for part in answer["parts"] if part["hit"])
    assert hit == text[begin:end].decode("utf-8", "backslashreplace")
    if number not in (1, 3):  # in documents 1 and 3, a hit may begin inside a character
        assert pieces == text.decode("utf-8", "backslashreplace")


def test_a_window_of_a_document(client, monkeypatch):
    monkeypatch.setattr(answers, "WINDOW_BYTES", 100)
    monkeypatch.setattr(answers, "TOKENS_PER_STEP", 7)
    text, shown, at = TEXTS["c.txt"], "", 0
    while at < len(text):
        answer = client.get("/api/document.json", params={"n": 2, "at": at}).json()
        assert answer["from"] == at and answer["size"] == len(text)
        shown += "".join(part["text"] for part in answer["parts"])
        assert answer["to"] > at
        at = answer["to"]
    assert shown == text.decode("utf-8", "backslashreplace")


BAD = [
    ("count", {}), ("count", {"q": ["x"] * 11}), ("count", {"q": "x" * 10_001}), ("hits", {"q": "a", "limit": "1001"}),
    ("hits", {"q": "a", "limit": "-1"}), ("hits", {"q": "a", "limit": "x"}), ("hits", {"q": "a", "limit": "9" * 400}),
    ("hits", {"q": "a", "sort": "up"}), ("hits", {"q": ["a", "b"]}), ("document", {}), ("document", {"n": "5"}),
    ("hits", {"q": "a", "sort": "R1", "offset": "10001"}), ("document", {"n": "0", "begin": "5", "end": "4"}),
    ("next", {}),
]  # fmt: skip


def test_slow_answers_are_estimated_or_rejected(client, monkeypatch):
    monkeypatch.setattr(answers, "MAX_SCANNED", 100)
    answer = client.get("/api/sources.json", params={"q": "the"}).json()
    assert answer["approx"] and 0.9 < answer["count"] / occurrences(b"the") < 1.1
    response = client.get("/api/hits.json", params={"q": "the", "sort": "text"})
    assert response.status_code == 400 and "choose another order" in response.json()["error"]
    assert client.get("/api/hits.json", params={"q": "cat", "sort": "text"}).status_code == 200


@pytest.mark.parametrize("name, parameters", BAD)
def test_bad_requests(client, name, parameters):
    response = client.get(f"/api/{name}.json", params=parameters)
    assert response.status_code == 400 and response.json()["error"]


def test_hostile_queries_are_bounded(client):
    for query in ("a" * 1000, " ", "the" * 3000, "\ud800"):
        assert client.get("/api/count.json", params={"q": query.encode("utf-8", "replace").decode()}).status_code == 200


@pytest.mark.parametrize("name", ["hits", "next", "previous", "sources"])
def test_csv_has_its_header_without_rows(client, name):
    full, empty = (client.get(f"/api/{name}.csv", params={"q": q}).text.splitlines() for q in ("sat", "absent"))
    assert empty == full[:1]


def test_every_answer_as_csv(client):
    for name, parameters in [("count", {"q": "the"}), ("hits", {"q": "the"}), ("next", {"q": "the"}), ("info", {}),
                             ("sources", {"q": "the"}), ("document", {"n": 0})]:  # fmt: skip
        response = client.get(f"/api/{name}.csv", params=parameters)
        assert response.headers["content-type"].startswith("text/csv")
        assert list(csv.DictReader(io.StringIO(response.text)))


def test_cells_are_not_formulas(folder):
    row = client_rows([{"text": "=1+1", "n": -5}])
    assert row["text"] == "'=1+1" and row["n"] == "-5"


def client_rows(rows: list[dict]) -> dict[str, str]:
    from pyunitok.index.page.app import _csv

    return next(csv.DictReader(io.StringIO(_csv("x", rows).body.decode())))


@pytest.mark.parametrize("path", ["/", "/api/info.json", "/static/app.js", "/nothing"])
def test_headers(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_other_hosts_are_rejected(client):
    for host in ("evil.example", "localhost.evil.example", ""):
        assert client.get("/api/info.json", headers={"host": host}).status_code == 400
    assert client.get("/api/info.json", headers={"host": "localhost:1"}).status_code == 200


@pytest.fixture
def listening(folder, monkeypatch):
    """The address of a server with at most three connections and one second per request."""
    pytest.importorskip("uvicorn")
    from pyunitok.index.page import app, server

    monkeypatch.setattr(server, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(server, "CONNECTION_SECONDS", 4.0)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    yield from served(server.config(app.make_app(open_index(folder / "idx"), {"127.0.0.1"})))


def served(config):
    """The address of a server with this configuration, which runs in a thread."""
    running = pytest.importorskip("uvicorn").Server(config)
    with socket.create_server(("127.0.0.1", 0)) as sockets:
        thread = threading.Thread(target=running.run, kwargs={"sockets": [sockets]})
        thread.start()
        yield sockets.getsockname()
        running.should_exit = True
        thread.join()


GET = b"GET /api/info.json HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def is_closed(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        return not connection.recv(1 << 16)
    except ConnectionError:
        return True


def test_a_connection_without_a_request_is_closed(listening):
    with socket.create_connection(listening) as idle, socket.create_connection(listening) as slow:
        slow.sendall(GET)  # without the empty line that ends a request
        assert is_closed(idle, 5) and is_closed(slow, 5)


@pytest.mark.slow
def test_a_connection_may_send_several_requests(listening):
    """A connection may stay open longer than the limit for one request, but not than the limit for a connection."""
    begun = time.monotonic()
    connection = http.client.HTTPConnection(*listening, timeout=10)
    connection.connect()
    connection.auto_open = 0  # type: ignore[assignment]  # do not reopen a closed connection
    n = 0
    with contextlib.closing(connection), contextlib.suppress(ConnectionError, http.client.HTTPException):
        while time.monotonic() < begun + 30:
            connection.request("GET", "/api/info.json")
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read()
            n += 1
            time.sleep(0.3)
    assert n >= 2 and time.monotonic() - begun < 30


def test_the_number_of_connections_is_limited(listening):
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(socket.create_connection(listening)) for _ in range(3)]
        many[0].sendall(GET + b"\r\n")
        assert b" 200 OK" in many[0].recv(1 << 16)
        assert is_closed(stack.enter_context(socket.create_connection(listening)), 0.7)


def test_nothing_can_be_written(client):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", "/api/count.json", "/static/app.js"):
            assert client.request(method, path).status_code == 405
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e/app.py").status_code == 404


def test_the_page_does_not_contact_other_hosts():
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), path


# ------------------------------------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def address(folder):
    with commands.serving(folder / "idx") as ret:
        yield ret


def open_hits(page, address, query):
    """Open the page with this query, and wait for the hits."""
    page.goto(f"{address}?q={query}")
    page.wait_for_selector(".hits a")


@pytest.mark.slow
def test_searching(page, address):
    page.goto(address)
    page.fill("#q", "the")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits a")
    commands.wait_for_count(page, f"{occurrences(b'the')} occurrences")
    assert page.inner_text(".hits mark") == "the" and "q=the" in page.url
    page.wait_for_selector(".hits li:nth-child(50)", state="attached")
    page.keyboard.press("Escape")  # leave the search box
    page.keyboard.press("2")
    page.wait_for_selector("td button")
    assert "view=next" in page.url
    page.go_back()
    page.wait_for_selector(".hits a")
    page.select_option("#sort", "text")
    page.wait_for_url("**sort=text**")


def test_trace(client):
    text = "Perhaps the cat sat on the mat, or 日本語 not"
    answer = client.get("/api/trace.json", params={"q": text, "min": 6, "documents": 2}).json()
    spans = {span["text"]: span["count"] for span in answer["spans"]}
    assert answer["text"] == text and spans and all(n == occurrences(part.encode()) for part, n in spans.items())
    assert all(one["source"] in TEXTS for span in answer["spans"] for one in span["documents"])
    rows = list(csv.DictReader(client.get("/api/trace.csv", params={"q": text, "min": 6}).text.splitlines()))
    assert [row["text"] for row in rows] == list(spans)
    assert client.get("/api/trace.csv", params={"q": ""}).status_code == 200
    assert client.get("/api/trace.json", params={"q": text, "documents": 51}).status_code == 400


@pytest.mark.slow
def test_tracing(page, address):
    """😀 has two UTF-16 code units, but offsets in the answer count code points."""
    page.goto(address + "?view=trace&q=" + quote("😀 new: the cat sat on the mat\nthe the \U0001f600"))
    page.wait_for_selector(".traced mark")
    assert page.inner_text(".traced").startswith("😀 new: the cat")
    page.focus(".traced mark")
    page.keyboard.press("Enter")
    page.wait_for_selector("#occurrences li")
    chosen = page.inner_text(".traced mark[aria-pressed='true']")
    assert page.inner_text("#occurrences mark") == chosen.replace("\n", "⏎")
    assert "also occurs in the corpus" in page.inner_text("#occurrences")
    page.click("#occurrences a")
    page.wait_for_selector(".document mark")
    page.click("#back")
    page.wait_for_selector(".traced mark")
    page.goto(address + "?view=trace&q=short")
    page.wait_for_selector("#view:not(.loading) .traced")
    assert "No part" in page.inner_text("#view")


@pytest.mark.slow
def test_text_that_does_not_occur(page, address):
    page.goto(address + "?q=absent")
    page.wait_for_selector("#view:not(.loading)")
    commands.wait_for_count(page, "0 occurrences")
    assert "does not occur" in page.inner_text("#view")


@pytest.mark.slow
def test_opening_a_document_with_the_keyboard(page, address):
    open_hits(page, address, "sat")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".document mark")
    assert page.inner_text(".document mark") == "sat" and "bold" in page.inner_text(".document")
    page.click("text=show tokens")
    page.wait_for_selector(".chips .hit")
    page.keyboard.press("Escape")
    page.wait_for_selector(".hits a")


@pytest.mark.slow
def test_markup_in_text_is_escaped(page, address):
    open_hits(page, address, "%3Cscript%3E")
    assert page.inner_text(".hits mark") == "<script>" and page.title() == "<script> – pyunitok search"
    page.click(".hits a")
    page.wait_for_selector(".document mark")
    assert "document.title='bad'" in page.inner_text(".document") and "bad" not in page.title()


ADJACENT_LETTER = """(side) => {  // the edges of the last letter before the match, or of the first one after it
  const text = document.querySelector(`.hits .${side} bdi`).firstChild, n = text.length, range = document.createRange();
  const letters = [...Array(n).keys()].filter((k) => text.data[k] !== " ");
  const k = side === "before" ? letters[letters.length - 1] : letters[0];
  range.setStart(text, k), range.setEnd(text, k + 1);
  const box = range.getBoundingClientRect();
  return [box.left, box.right];
}"""


@pytest.mark.slow
@pytest.mark.parametrize(("query", "is_right"), [("שלום לכל", True), ("ברוך", False)])
def test_the_letters_next_to_a_match(page, address, query, is_right):
    open_hits(page, address, query)
    assert page.get_attribute(".hits a", "dir") == ("rtl" if is_right else "ltr")
    box = page.query_selector(".hits mark").bounding_box()
    mark = (box["x"], box["x"] + box["width"])
    before, after = (page.evaluate(ADJACENT_LETTER, side) for side in ("before", "after"))
    left, right = (after, before) if is_right else (before, after)
    assert 0 <= mark[0] - left[1] < 12 and 0 <= right[0] - mark[1] < 12


@pytest.mark.slow
def test_a_view_that_does_not_exist(page, address):
    open_hits(page, address, "sat&view=zzz")
    assert "no view named zzz" in page.inner_text("#problem")


@pytest.mark.slow
def test_a_server_that_was_stopped(browser, address):
    with browser.new_context() as context:
        page = context.new_page()
        open_hits(page, address, "sat")
        context.set_offline(True)
        page.fill("#q", "cat")
        page.keyboard.press("Enter")
        page.wait_for_selector("#problem:not([hidden])")
        assert "pyunitok serve" in page.inner_text("#problem") and page.query_selector(".hits") is None


@pytest.mark.slow
def test_a_browser_without_javascript(browser, address):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address)
        assert "requires JavaScript" in page.inner_text("main")


@pytest.mark.slow
def test_charts_of_a_report_fit_a_phone(page, tmp_path):
    pytest.importorskip("matplotlib")
    svg = reports.image(reports.figure([lambda axes: axes.plot([1, 2], [3, 4])] * 2), "svg")
    (tmp_path / "report.html").write_text(reports.page("Report", [("key", "value")], [reports.picture(svg, "charts")]))
    page.goto((tmp_path / "report.html").as_uri())
    box = page.query_selector("svg").bounding_box()
    width = page.viewport_size["width"]
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["width"] > 0.5 * min(width, 700)


@pytest.mark.slow
def test_comparing(page, address):
    page.goto(address + "?q=the&view=compare")
    page.fill("#other", "cat")
    page.keyboard.press("Enter")
    page.wait_for_selector("tbody tr:nth-child(2)")
    assert "q=the&q=cat" in page.url


@pytest.mark.slow
def test_errors_are_shown(page, address):
    page.goto(address + "?document=99&begin=0&end=0")
    page.wait_for_selector("#problem:not([hidden])")
    assert "from 0 to 4" in page.inner_text("#problem")


@pytest.mark.slow
def test_text_of_several_lines(page, address):
    page.goto(address)
    page.fill("#q", "mat")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("the")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits a")
    commands.wait_for_count(page, "1 occurrence of")
    assert "q=mat%0Athe" in page.url
    assert page.input_value("#q") == "mat\nthe" and page.get_attribute("#q", "rows") == "2"


@pytest.fixture(scope="module")
def cut_short(folder):
    """A server whose searches stop immediately."""
    uvicorn = pytest.importorskip("uvicorn")
    app = make_app(open_index(folder / "idx", max_work=0), {"127.0.0.1"})
    for host, port in served(uvicorn.Config(app, log_level="error")):
        yield f"http://{host}:{port}/"


@pytest.mark.slow
def test_answers_that_are_lower_bounds_say_so(page, cut_short):
    page.goto(cut_short + "?q=cat%20sat%20on%20the")
    page.wait_for_selector("#view:not(.loading)", state="attached")
    page.wait_for_selector("text=cut short")
    commands.wait_for_count(page, "at least 0 occurrences")
    page.goto(cut_short + "?q=cat%20sat%20on%20the&q=the&view=compare")
    page.wait_for_selector("tbody tr:nth-child(2)")
    assert page.inner_text("tbody tr:first-child .number").startswith("≥ 0")


@pytest.mark.slow
def test_going_back_restores_the_position(page, address):
    page.goto(address + "?q=the&sort=random")
    page.wait_for_selector(".hits li:nth-child(50)", state="attached")
    for n in (100, 150):
        page.locator(".hits li").last.scroll_into_view_if_needed()
        page.wait_for_url(f"**shown={n}**")
    page.locator(".hits li").nth(120).locator("a").click()
    page.wait_for_selector(".document mark")
    page.go_back()
    page.wait_for_selector(".hits li:nth-child(150)", state="attached")
    page.wait_for_function("scrollY > 1000")
    first = page.inner_text(".hits li:first-child")
    page.click("text=shuffle again")
    page.wait_for_url("**seed=1**")
    page.wait_for_function("text => document.querySelector('.hits li')?.innerText !== text", arg=first)
    assert "shown" not in page.url


def test_examples_occur(client, large):
    answer = client.get("/api/info.json").json()
    assert answer["examples"] and all(occurrences(phrase.encode()) > 0 for phrase in answer["examples"])
    app = make_app(open_index(large / "idx"), {"localhost"})
    assert TestClient(app, base_url="http://localhost:8765").get("/api/info.json").json()["examples"] == ["fox. a"]


@pytest.mark.slow
def test_welcome_and_order(page, address):
    page.goto(address)
    page.click("#examples a")
    page.wait_for_selector(".hits a")
    assert page.input_value("#sort") == "random" and "sort=" not in page.url
    first = page.inner_text("#view ol")
    page.reload()
    page.wait_for_selector(".hits a")
    assert page.inner_text("#view ol") == first


@pytest.mark.slow
def test_words_on_the_page(page, tmp_path):
    lines = [json.dumps({"text": text}) + "\n" for text in ("The Cat sat", "the cat ran, a cat")] * 6
    (tmp_path / "a.jsonl").write_text("".join(lines))
    tokenize(tmp_path / "a.jsonl", tmp_path / "ids")
    build_index([tmp_path / "ids"], tmp_path / "idx")
    add_words(tmp_path / "idx")
    with commands.serving(tmp_path / "idx") as address:
        page.goto(address + "?q=THE+cat")
        page.wait_for_selector("#mode:not([hidden])")
        page.wait_for_selector("#view:not(.loading)")
        commands.wait_for_count(page, "0 occurrences")
        page.select_option("#mode", "case")
        page.wait_for_selector(".hits a")
        commands.wait_for_count(page, "12 occurrences")
        assert "mode=case" in page.url
        page.click("text=Nearby words")
        page.wait_for_selector("td.text")
        assert {"sat", "ran"} <= set(page.inner_text("#view tbody").split())
        page.click("text=After")
        page.wait_for_selector("td.text button")
        page.goto(address + "?q=c*&mode=wildcards&view=sources")
        page.wait_for_selector(".sources td")
        commands.wait_for_count(page, "18 occurrences")
