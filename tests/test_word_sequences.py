"""Compares overlap, spans and trace with normalize to a naive search for folded words, and to decontaminate."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from oracle import repeats
from test_words import make

from pyunitok._c.grams import Grams
from pyunitok.cli import cli
from pyunitok.corpus.words import word_rules
from pyunitok.errors import LimitError
from pyunitok.index import word_sequences
from pyunitok.index.build import build_index
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.opened import open_index
from pyunitok.index.page.answers import ask
from pyunitok.index.trace import trace
from pyunitok.packed import Packed

# Few words, so that sequences repeat: words without upper case, with folds of a different length, and with accents.
WORDS = ["the", "The", "THE", "a", "A", "fox", "Fox", "straße", "STRASSE", "ﬁn", "FIN", "日本", "カ", "é", "É", "42"]
SEPARATORS = [" ", " ", ", ", "\n", " – ", "... ", "", "²", b"\xff".decode("utf-8", "surrogateescape")]
TEXT = st.lists(st.tuples(st.sampled_from([*WORDS, "unseen"]), st.sampled_from(SEPARATORS)), max_size=30)


def spelled(parts: Sequence[tuple[str, str]]) -> bytes:
    return "".join(word + separator for word, separator in parts).encode("utf-8", "surrogateescape")


def folded(text: bytes) -> list[tuple[int, int, str]]:
    """(begin, end, folded word) for each word of a text; begin and end are byte positions."""
    characters = text.decode("utf-8", "surrogateescape")
    places = [len(characters[:k].encode("utf-8", "surrogateescape")) for k in range(len(characters) + 1)]
    return [(places[a], places[b], characters[a:b].casefold()) for a, b in repeats.words(characters)]


def corpus() -> list[list[bytes]]:
    rng = random.Random(5)
    sizes = [[rng.randrange(1, 40) for _ in range(25)], [rng.randrange(1, 40) for _ in range(15)]]
    texts = [[spelled([(rng.choice(WORDS), rng.choice(SEPARATORS)) for _ in range(n)]) for n in part] for part in sizes]
    long = spelled([(WORDS[k * k % 7 % len(WORDS)], " ") for k in range(200)])
    texts[0].append(long)
    texts[1].append(long.upper() if long.isascii() else long.replace(b"the", b"THE"))
    return texts


@pytest.fixture(scope="module", params=[None, CompactOptions()], ids=["suffix array", "compact"])
def index(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return make(tmp_path_factory.mktemp("sequences"), corpus(), shard_tokens=3000, compact=request.param)


@pytest.fixture(scope="module")
def documents() -> list[list[str]]:
    return [[word for _, _, word in folded(text)] for part in corpus() for text in part]


@pytest.fixture(params=[(12, 4096), (2, 1), (3, 1 << 40)], ids=["as it is", "extended", "compared"])
def limits(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of extending and comparing sequences, some of which the small corpus exceeds."""
    monkeypatch.setattr(word_sequences, "N_EXTENDED", request.param[0])
    monkeypatch.setattr(word_sequences, "MAX_COMPARED", request.param[1])
    monkeypatch.setattr(word_sequences, "BLOCK", 3)


def places(documents: list[list[str]], wanted: list[str]) -> Iterator[int]:
    """The document of each occurrence of a sequence of words."""
    for number, words in enumerate(documents):
        for at in range(len(words) - len(wanted) + 1):
            if words[at : at + len(wanted)] == wanted:
                yield number


@given(st.lists(TEXT.map(spelled), max_size=4), st.integers(1, 6))
def test_overlap_equals_a_naive_count(index: Any, documents: list[list[str]], texts: list[bytes], n: int) -> None:
    found = index.overlap(texts, n, normalize=True)
    assert len(found) == len(texts) and not found.approx
    for k, text in enumerate(texts):
        words = folded(text)
        windows = [words[at : at + n] for at in range(len(words) - n + 1)]
        where = [list(places(documents, [word for _, _, word in window])) for window in windows]
        part = slice(int(found.offsets[k]), int(found.offsets[k + 1]))
        assert found.counts[part].tolist() == list(map(len, where))
        ranges = list(zip(found.begins[part].tolist(), found.ends[part].tolist(), strict=True))
        assert ranges == [(window[0][0], window[-1][1]) for window in windows]
        inside = {at + i for at, hits in enumerate(where) if hits for i in range(n)}
        assert found.share[k] == pytest.approx(len(inside) / max(1, len(words)))
        assert found.is_short[k] == (len(words) < n)
        most = max(where, key=len, default=[])
        assert found.documents[k] in (most or [-1])


@given(st.lists(TEXT.map(spelled), max_size=4), st.integers(1, 6))
def test_overlap_equals_decontaminate(index: Any, texts: list[bytes], n: int) -> None:
    """The windows that occur are the n-grams that decontaminate finds."""
    packed, searched = Packed.from_documents(texts), Packed.from_documents([x for part in corpus() for x in part])
    grams = Grams(packed.data, packed.offsets, n, n, word_rules())
    hits = {int(hit["gram"]) for hit in grams.find(searched.data, searched.offsets)}
    hits |= {place for first, place in grams.repeats.tolist() if first in hits}
    found = index.overlap(texts, n, normalize=True)
    sizes = (found.offsets[1:] - found.offsets[:-1]).tolist()
    windows = [start + at for start, size in zip(grams.starts.tolist()[:-1], sizes, strict=True) for at in range(size)]
    assert {place for place, count in zip(windows, found.counts.tolist(), strict=True) if count} == hits


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("seed", range(6))
def test_spans_equal_a_naive_search(index: Any, documents: list[list[str]], seed: int) -> None:
    rng, texts = random.Random(seed), [text for part in corpus() for text in part]
    parts = [text[rng.randrange(len(text)) :][: rng.randrange(60)] for text in rng.choices(texts, k=4)]
    text, least = b" unseen ".join(parts).swapcase().replace(b" ", b" -\n"), rng.randrange(1, 12)
    words, spans = folded(text), {}
    for first in range(len(words)):
        for last in range(first + 1, len(words) + 1):
            where = list(places(documents, [word for _, _, word in words[first:last]]))
            if where and words[last - 1][1] - words[first][0] >= least:
                spans[words[first][0], words[last - 1][1]] = where
    longest = {
        span: where for span, where in spans.items()
        if not any(other != span and other[0] <= span[0] and span[1] <= other[1] for other in spans)
    }  # fmt: skip
    found = index.spans(text, least, normalize=True)
    columns = (column.tolist() for column in (found.begins, found.ends, found.counts))
    assert list(zip(*columns, strict=True)) == sorted((*span, len(where)) for span, where in longest.items())
    for begin, end, document in zip(*(x.tolist() for x in (found.begins, found.ends, found.documents)), strict=True):
        assert document in longest[begin, end]
    rare = index.spans(text, least, 2, normalize=True)
    assert rare.counts.tolist() == [n for n in found.counts.tolist() if n <= 2] == [one.total for one in rare.matches]


@pytest.mark.usefixtures("limits")
def test_a_document_is_one_span(index: Any, documents: list[list[str]]) -> None:
    long = corpus()[0][-1]
    found = index.spans(long.replace(b" ", b"; ").swapcase(), 1, normalize=True)
    assert len(found) == 1 and found.counts[0] == 2 and found.begins[0] == 0
    for text in (b"", b" ", b"\xff", b"zzz zzz"):
        assert len(index.spans(text, 1, normalize=True)) == 0
        assert index.overlap([text], 1, normalize=True).counts.tolist() == [0] * len(folded(text))


@pytest.mark.parametrize("seed", range(3))
def test_trace_shows_the_matches(index: Any, documents: list[list[str]], seed: int) -> None:
    """Each line shows a different document, and its match consists of the words of the span."""
    texts = [text for part in corpus() for text in part]
    text = b" unseen ".join(random.Random(seed).choices([x[:50] for x in texts], k=4)).swapcase()
    found = trace(index, text, min_bytes=4, max_spans=1000, max_documents=3, context=9, normalize=True)
    assert found.spans and found.n_found == len(found.spans)
    for span in found.spans:
        words = [word for _, _, word in folded(span.text)]
        where = list(places(documents, words))
        assert span.count == len(where) and len({line.hit.document for line in span.lines}) == len(span.lines)
        assert len(span.lines) == min(3, len(set(where))) or span.count > 12
        for line in span.lines:
            document = texts[line.hit.document]
            match = document[line.hit.begin : line.hit.end]
            assert line.hit.document in where and [word for _, _, word in folded(match)] == words
            assert match.decode("utf-8", "backslashreplace") == line.match
    again = trace(index, text, min_bytes=4, max_spans=1000, max_documents=3, context=9, normalize=True)
    assert repr(again.spans) == repr(found.spans)
    assert all(not span.lines for span in trace(index, text, normalize=True, max_documents=0).spans)


def test_commands_and_the_page(index: Any, tmp_path: Path) -> None:
    first = b" ".join(corpus()[0][-1].split()[:20]).decode()
    (tmp_path / "a.txt").write_text(first.swapcase().replace(" ", " - ") + "\nunseen\n")

    def run(command: str, *arguments: str) -> Any:
        result = CliRunner().invoke(cli, [command, str(index.folder), *arguments])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    name = str(tmp_path / "a.txt")
    lines = run("search", "--overlap", name, "--window", "5", "--normalize", "--json")["overlap"]
    assert lines[0]["share"] == 1 and lines[1]["short"]
    assert run("search", "--overlap", name, "--window", "5", "--json")["overlap"][0]["share"] < 1
    spans = run("search", "--spans", name, "--normalize", "--json")["spans"]
    assert spans[0]["begin"] == 0 and spans[0]["count"] >= 2
    for traced in (
        run("trace", name, "--normalize", "--json"),
        ask(index, "trace", {"q": [(tmp_path / "a.txt").read_text()], "normalize": ["1"]}),
    ):
        one = traced["spans"][0]["documents"][0]
        match = one["text"][one["needleOffset"] :][: one["needleLength"]]
        assert match.casefold().split() == first.casefold().split() != match.split()
    assert not ask(index, "trace", {"q": [(tmp_path / "a.txt").read_text()]})["spans"]


def test_refused(index: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the fox")
    for unit in ("bytes", "tokens"):
        with pytest.raises(LimitError, match="only words"):
            index.overlap(["a"], 1, unit, normalize=True)
    with pytest.raises(LimitError, match="whole_words"):
        trace(index, "a", whole_words=False, normalize=True)
    name = str(tmp_path / "a.txt")
    for arguments in (
        ["search", "--overlap", name, "--unit", "bytes", "--normalize"], ["search", "the", "--normalize"],
        ["trace", name, "--part-words", "--normalize"],
    ):  # fmt: skip
        result = CliRunner().invoke(cli, [arguments[0], str(index.folder), *arguments[1:]])
        assert result.exit_code == 2 and "--normalize" in result.output


def test_without_words(index: Any, tmp_path: Path) -> None:
    build_index([array.path for array in index.arrays], tmp_path / "idx")
    other = open_index(tmp_path / "idx")
    for call in (lambda: other.overlap(["a"], 1, normalize=True), lambda: other.spans("a", 1, normalize=True)):
        with pytest.raises(LimitError, match="--words"):
            call()
