"""Compares every number of `stats` to a simple count."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from test_cli import pyunitok as command
from test_pipeline import run
from toys import tokenfiles
from toys.models import BYTES

import pyunitok
from pyunitok.errors import OutputError
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens import counting, stats_page
from pyunitok.tokens.counting import count_ids
from pyunitok.tokens.stats import EXAMPLES, bins, stats

PIECES = [*BYTES, b"the", b" the"]


@given(st.lists(st.integers(0, 70000), max_size=60), st.integers(1, 3), st.integers(1, 9), st.booleans())
def test_counts(ids, threads, chunk, narrow):
    ids = np.array([id_ % 65536 if narrow else id_ for id_ in ids], np.uint16 if narrow else np.uint32)
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "CHUNK_IDS", chunk)
        counts = count_ids(ids, threads=threads, on_ids=seen.append)
    assert {k: int(counts[k]) for k in np.flatnonzero(counts).tolist()} == Counter(ids.tolist())
    assert sum(seen) == len(ids)


@fewer(3)
@given(st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=9), st.sampled_from([None, 0, 5]))
def test_numbers(tmp_path_factory, docs, eod):
    array = tokenfiles.write(tmp_path_factory.mktemp("stats") / "ids", docs, eod=eod)
    found = stats(array, top=3)
    own = Counter(id_ for doc in docs for id_ in doc)
    n = sum(own.values())
    assert {k: int(found.counts[k]) for k in np.flatnonzero(found.counts).tolist()} == own
    assert math.isclose(found.entropy_bits, -sum(c / n * math.log2(c / n) for c in own.values()), abs_tol=1e-9)
    assert [(p.id, p.count) for p in found.top] == sorted(own.items(), key=lambda item: (-item[1], item[0]))[:3]
    lengths = sorted(map(len, docs))
    if docs:
        quantiles = found.document_tokens
        assert (quantiles["0.0"], quantiles["1.0"]) == (lengths[0], lengths[-1])
        assert quantiles["0.5"] == lengths[(len(lengths) + 1) // 2 - 1]
        assert math.isclose(quantiles["mean"], sum(lengths) / len(lengths))
        assert sum(found.histogram_tokens[1]) == len(docs)
    assert (found.tokens, found.documents, found.used) == (len(array.ids), len(docs), len(own))
    assert found.vocabulary is None and found.document_bytes is None  # the model is missing
    json.dumps(found.to_json())


@pytest.fixture
def folder(tmp_path):
    Tokenizer.from_pieces(PIECES, eod=300).save(tmp_path / "toy")
    (tmp_path / "a.txt").write_bytes(b"the cat|the the the|\xff<b>")
    run(Tokenizer.from_file(tmp_path / "toy"), [tmp_path / "a.txt"], tmp_path / "ids", separator=b"|")
    return tmp_path


def test_with_its_model(folder):
    found = stats(pyunitok.open(folder / "ids"))
    assert (found.vocabulary, found.bytes) == (258, 7 + 11 + 4)
    assert found.document_bytes["0.0"] == 4 and found.document_bytes["1.0"] == 11
    assert found.top[0].piece in ("the", " the") and found.top[0].count == 2
    assert len(found.never_used) == EXAMPLES and all(p.count == 0 for p in found.never_used)
    assert found.bytes_per_token == 22 / len(pyunitok.open(folder / "ids").ids)


def test_the_command(folder):
    done = command(folder, "stats", "ids", "--top", "3", "--json", "s.json")
    out = done.stdout.decode()
    assert "never used" in out and "tokens/document" in out and "'the'" in out and "bits/token" in out
    values = json.loads((folder / "s.json").read_text())
    assert values["documents"] == 3 and values["counts"]["256"] == 2 and len(values["top"]) == 3
    assert json.loads(command(folder, "stats", "ids", "--json", "-").stdout)["tokens"] == values["tokens"]
    (folder / "toy").unlink()
    assert "?" in command(folder, "stats", "ids").stdout.decode()


def test_pictures(folder, tmp_path):
    pytest.importorskip("matplotlib")
    empty = stats(tokenfiles.write(tmp_path / "none", []))
    for found in (stats(pyunitok.open(folder / "ids")), empty):
        stats_page.write(found, tmp_path / "s.html", as_page=True)
        page = (tmp_path / "s.html").read_text()
        assert "<svg role=img" in page and "currentColor" in page and "http" not in page
        stats_page.write(found, tmp_path / "s.png", as_page=False)
        assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_without_matplotlib(folder, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(OutputError, match=r"pyunitok\[plot\]"):
        stats_page.draw(stats(pyunitok.open(folder / "ids")))


@given(st.integers(0, 10**7))
def test_bins_never_get_narrower(largest):
    """If bin widths went up and down, so would the heights of the bars, even if the lengths are evenly distributed."""
    edges = bins(largest)
    widths = np.diff(edges)
    assert edges[0] == 0 and edges[-1] > largest
    assert (widths >= 1).all() and (np.diff(widths) >= 0).all()


def test_the_page_shows_each_input(tmp_path):
    array = tokenfiles.write(tmp_path / "ids", [[1, 2, 3], [4]], inputs=[("<a>.txt", 1), ("b.txt", 1)])
    found = stats(array)
    assert [(each.path, each.tokens, each.bytes_per_token) for each in found.inputs] == [
        ("<a>.txt", 3, 1.0), ("b.txt", 1, 1.0)
    ]  # fmt: skip
    page = stats_page._page(found, b'<svg viewBox="0 0 1 1"></svg>')
    assert "<td>&lt;a&gt;.txt</td>" in page and "<th class=n>bytes/token</th>" in page
    assert "<title>Token statistics of " in page
    assert stats_page.lines_of(stats_page.input_table(found), [0, 1]) == [
        "input    format  documents  bytes  tokens  bytes/token",
        "<a>.txt  text            1      3       3        1.000",
        "b.txt    text            1      1       1        1.000",
    ]


def test_damaged_ends(tmp_path):
    tokenfiles.write(tmp_path / "ids", [[1], [2], [3]], eod=0)
    np.array([4, 2, 6], "<u8").tofile(tmp_path / "ids.ends")
    with pytest.raises(OutputError, match=r"document 1 spans tokens 4 to 2; the \.ends file is damaged"):
        stats(pyunitok.open(tmp_path / "ids"))
