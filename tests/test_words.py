"""Compares answers about the words of an index to a linear search of the documents; damaged files cause errors."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import words as oracle
from toys.models import BYTES

import pyunitok
from pyunitok import Tokenizer, open_index
from pyunitok.cli import cli
from pyunitok.errors import InputError, LimitError, PatternError
from pyunitok.index import word_matches
from pyunitok.index.build import build_index
from pyunitok.index.columns import Columns, write_columns
from pyunitok.index.lexicon import BOTH, CASE, Folding, sort_key
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.opening import open_shards
from pyunitok.index.page.answers import ask
from pyunitok.index.page.parameters import BadRequest
from pyunitok.index.verify import verify_index
from pyunitok.index.word_build import MARK_EVERY, add_words
from pyunitok.index.word_matches import find_words
from pyunitok.index.word_query import WordOptions, parse_words

PIECES = [*BYTES, b"the", b" the", b" Fox", "é".encode(), b"ing ", "日".encode()]
SOME = ["the", "The", "THE", "fox", "Fox", "él", "el", "Él", "walking", "walked", "straße", "STRASSE", "日本", "don't",
        "a"]  # fmt: skip
SEPARATORS = [" ", ", ", "\n", " – ", "... ", b"\xff".decode("utf-8", "surrogateescape")]


def make(folder: Path, documents: list[list[bytes]], **options: Any) -> Any:
    """An index with words, of one token file for each list of documents."""
    tokenizer = Tokenizer.from_pieces(PIECES, eod=len(PIECES))
    tokenizer.save(folder / "m.utk")
    paths = []
    for k, texts in enumerate(documents):
        sources = []
        for n, text in enumerate(texts):
            (folder / f"{k}-{n:04}.txt").write_bytes(text)
            sources.append(folder / f"{k}-{n:04}.txt")
        paths.append(folder / f"{k}.u16")
        pyunitok.tokenize(sources, paths[-1], model=folder / "m.utk", separator="file")
    build_index(paths, folder / "idx", **options)
    add_words(folder / "idx")
    return open_index(folder / "idx")


def corpus(rng: random.Random, n: int) -> list[bytes]:
    texts = []
    for _ in range(n):
        text = "".join(rng.choice(SOME) + rng.choice(SEPARATORS) for _ in range(rng.randrange(1, 60)))
        texts.append(text.encode("utf-8", "surrogateescape"))
    return texts


@pytest.fixture(scope="module")
def texts() -> list[list[bytes]]:
    rng = random.Random(0)
    long = " ".join(rng.choice(SOME) for _ in range(3 * MARK_EVERY + 5)).encode()
    return [[*corpus(rng, 30), long], [*corpus(rng, 9), b"  ", *corpus(rng, 5)]]


@pytest.fixture(scope="module", params=["suffix array", "compact"])
def index(request: pytest.FixtureRequest, texts: list[list[bytes]], tmp_path_factory: pytest.TempPathFactory) -> Any:
    compact = CompactOptions() if request.param == "compact" else None
    return make(tmp_path_factory.mktemp("words"), texts, shard_tokens=20_000, compact=compact)


@pytest.fixture(scope="module")
def documents(texts: list[list[bytes]]) -> list[list[str]]:
    return [oracle.words(text) for part in texts for text in part]


def places(index: Any, hits: Any) -> list[tuple[int, int, int]]:
    return list(zip(hits.documents.tolist(), hits.begins.tolist(), hits.ends.tolist(), strict=True))


def in_bytes(texts: list[list[bytes]], found: list[oracle.Place]) -> list[tuple[int, int, int]]:
    flat = [text for part in texts for text in part]
    bounds = [oracle.word_bounds(text).tolist() for text in flat]
    return [(d, bounds[d][begin][0], bounds[d][end - 1][1]) for d, begin, end in found]


ITEM = st.sampled_from(
    ["the", "fox", "el", "él", "strasse", "walking", "zebra", "a", "the|fox", "wal*", "*ed", "*al*", "?l", "*a*k*", "*"]
)  # fmt: skip
GAP = st.none() | st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(ITEM, GAP), min_size=1, max_size=4), st.booleans(), st.booleans(), st.booleans())
def test_queries_equal_a_linear_search(
    index: Any, texts: list[list[bytes]], documents: list[list[str]], items: Any, case: bool, accents: bool, wild: bool
) -> None:  # fmt: skip
    items = [item for item in items if wild or not set("*?") & set(item[0])] or [("the", None)]
    gaps = [gap or (0, 0) for _, gap in items[:-1]]
    query = items[0][0]
    for (item, _), (least, most) in zip(items[1:], gaps, strict=True):
        query += f" [{least}-{most}] {item}" if most else f" {item}"
    tests = [oracle.accepts(item, case, accents, wild) for item, _ in items]
    options = WordOptions(ignore_case=case, ignore_accents=accents, wildcards=wild)
    expected = oracle.matches(documents, tests, gaps)
    for share in (word_matches.SCAN_SHARE, 1):  # reads all words, or those around the rarest place
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(word_matches, "SCAN_SHARE", share)
            assert index.words.count(query, options) == len(expected)
            hits = index.words.find(query, 30, 0, "text", options=options)
        assert hits.total == len(expected) and places(index, hits) == in_bytes(texts, expected[:30])
    found = index.words.documents(query, options)
    assert dict(zip(found.documents.tolist(), found.counts.tolist(), strict=True)) == Counter(d for d, *_ in expected)
    for after, name in ((True, "next"), (False, "previous")):
        near = getattr(index.words, name)(query, options=options)
        assert {row.text: row.count for row in near.rows} == oracle.neighbours(documents, expected, after)
        assert [row.count for row in near.rows] == sorted((row.count for row in near.rows), reverse=True)


@pytest.mark.parametrize(("query", "share"), [("the fox", 1), ("the [0-2] fox", 1), ("the|fox [1-2] walking", 0)])
def test_a_budget_cuts_the_search_of_a_shard_short(
    index: Any, query: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Every method returns some of the matches: combining places, reading around the rarest, and reading all words."""
    monkeypatch.setattr(word_matches, "SCAN_SHARE", share)
    parsed = parse_words(query, index.words.lexicon, WordOptions())
    for shard in index.words.shards:
        expected = list(zip(*(column.tolist() for column in find_words(shard, parsed).in_order()), strict=True))
        sizes = [0]
        for work in (0, 100, 500, 2_000, 10_000, 1 << 40):
            matches = find_words(shard, parsed, work)
            found = list(zip(*(column.tolist() for column in matches.in_order()), strict=True))
            assert set(found) <= set(expected) and (matches.approx or found == expected)
            if share == 0:
                assert found == expected[: len(found)] and (matches.approx or work > len(shard))
            sizes.append(len(found))
        assert sizes == sorted(sizes) and sizes[1] == 0 and sizes[-1] == len(expected) and not matches.approx


def test_regular_expressions(index: Any, documents: list[list[str]]) -> None:
    import re

    for regex in ("walk(ing|ed)", "[^a]+", r"\p{Lu}.*", "t.?e", "^fox$", "(a+)+b", "[Tt]he|él"):
        test = re.compile(regex.replace(r"\p{Lu}", "[A-ZÉ]"))
        expected = sum(test.fullmatch(word) is not None for words in documents for word in words)
        assert index.words.count(regex, WordOptions(regex=True)) == expected, regex
    both = WordOptions(regex=True, ignore_case=True, ignore_accents=True)
    assert index.words.count("E.", both) == sum(oracle.folded(w, True, True) == "el" for ws in documents for w in ws)
    with pytest.raises(PatternError):
        index.words.count("(a", WordOptions(regex=True))
    with pytest.raises(LimitError, match="line break"):
        index.words.count(r"(?:\s|\w)+", WordOptions(regex=True))


def test_orders_list_every_match_once(index: Any, texts: list[list[bytes]], documents: list[list[str]]) -> None:
    expected = oracle.matches(documents, [oracle.accepts("the", True, False, False)], [])
    options = WordOptions(ignore_case=True)
    for order in ("rank", "text", "random", "R1", "L1"):
        pages = [index.words.find("the", 100, at, order, 3, options) for at in range(0, len(expected), 100)]
        found = [place for page in pages for place in places(index, page)]
        assert sorted(found) == in_bytes(texts, expected), order
    ids = {word: id_ for id_, word in enumerate(index.words.lexicon.words(range(len(index.words.lexicon))))}
    hits = index.words.find("the", 200, 0, "R1", options=options)
    place_of = dict(zip(in_bytes(texts, expected), expected, strict=True))
    keys = []
    for place in places(index, hits):
        document, _, end = place_of[place]
        following = [ids[word] for word in documents[document][end : end + 4]]
        keys.append(following + [0] * (4 - len(following)))
    assert keys == sorted(keys)


def test_models_that_drop_the_first_space(tmp_path: Path) -> None:
    """The positions of words in long documents are correct even though decoding drops a space."""
    golden = Path(__file__).parent / "golden/models/unigram.utk.zst"
    data = zstandard.ZstdDecompressor().decompress(golden.read_bytes(), max_output_size=1 << 26)
    (tmp_path / "m.utk").write_bytes(data)
    rng = random.Random(3)
    for k, n in enumerate((3, 50, 3 * MARK_EVERY)):
        text = " ".join(rng.choice(["the", "fox", "cat.", "end,", "of", "world"]) for _ in range(n))
        (tmp_path / f"{k}.txt").write_text(text)
    pyunitok.tokenize(sorted(tmp_path.glob("*.txt")), tmp_path / "0.u16", model=tmp_path / "m.utk", separator="file")
    build_index([tmp_path / "0.u16"], tmp_path / "idx")
    add_words(tmp_path / "idx")
    index = open_index(tmp_path / "idx")
    assert index.tables.drops_space.any()
    texts = [index.text_bytes(k) for k in range(3)]
    for word in {word for text in texts for word in oracle.words(text)}:
        found = oracle.matches([oracle.words(text) for text in texts], [word.__eq__], [])
        hits = index.words.find(word, 1000, 0, "text")
        assert places(index, hits) == in_bytes([texts], found)
        assert {context.match.decode() for context in index.context_batch(hits)} == {word}


def test_lists_of_words(index: Any, documents: list[list[str]]) -> None:
    counts = Counter(word for words in documents for word in words)
    found = index.words.frequencies()
    assert {row.text: row.count for row in found.rows} == counts and found.total == counts.total()
    assert index.words.frequencies(limit=3).rows == found.rows[:3] and found.distinct == len(counts)
    for case, accents in ((True, False), (False, True), (True, True)):
        options = WordOptions(ignore_case=case, ignore_accents=accents)
        folded = index.words.frequencies(options=options)
        assert {oracle.folded(row.text, case, accents): row.count for row in folded.rows} == Counter(
            oracle.folded(word, case, accents) for word in counts.elements()
        )
        assert len(folded.rows) == len({oracle.folded(row.text, case, accents) for row in folded.rows})
        for row in folded.rows:  # each row shows the most frequent form of the word
            forms = [n for word, n in counts.items() if options.folding.of(word) == options.folding.of(row.text)]
            assert counts[row.text] == max(forms)
        assert index.words.frequencies("unseen", options=options).rows == []
    some = index.words.frequencies("wal*", options=WordOptions(wildcards=True))
    assert {row.text: row.count for row in some.rows} == {w: n for w, n in counts.items() if w.startswith("wal")}
    assert index.words.n_words == counts.total()


@settings(deadline=None)
@given(st.text(max_size=8))
def test_equal_forms_are_consecutive(word: str) -> None:
    """If two words differ only in case, the first two parts of their sort keys are equal."""
    for other in (word.upper(), word.lower(), word.title(), word.casefold()):
        if Folding(case=True).of(other) == Folding(case=True).of(word):
            assert sort_key(other)[:2] == sort_key(word)[:2]
    for folding in (CASE, BOTH, Folding(accents=True)):
        assert BOTH.of(folding.of(word)) == BOTH.of(word)


def test_invalid_queries(index: Any) -> None:
    for query in ("", "...", "[1-2] the", "the [2]", "the [3-1] fox", "the|don't", "a " * 65, "the [0-300] fox",
                  "the [0-1000] fox", "the [1000] fox"):  # fmt: skip
        with pytest.raises(LimitError):
            index.words.count(query)
    with pytest.raises(LimitError, match="cannot be combined"):
        index.words.count("the", WordOptions(wildcards=True, regex=True))


def test_words_are_updated(tmp_path: Path) -> None:
    index = make(tmp_path, [[b"the fox"], [b"a fox"]])
    assert index.words.count("fox") == 2
    before = {path.name: path.read_bytes() for path in (tmp_path / "idx").glob("*.words")}
    add_words(tmp_path / "idx")  # already up to date, so nothing changes
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "idx").glob("*.words")}
    (tmp_path / "new.txt").write_bytes(b"the fox the fox")
    pyunitok.tokenize([tmp_path / "new.txt"], tmp_path / "2.u16", model=tmp_path / "m.utk", separator="file")
    build_index([tmp_path / "2.u16"], tmp_path / "idx", add=True)
    with pytest.raises(InputError, match="has changed"):
        open_index(tmp_path / "idx").words.count("fox")
    add_words(tmp_path / "idx")
    assert open_index(tmp_path / "idx").words.count("the fox") == 3
    build_index([tmp_path / "0.u16"], tmp_path / "idx", overwrite=True)
    assert not open_index(tmp_path / "idx").has_words
    with pytest.raises(LimitError, match="--words"):
        open_index(tmp_path / "idx").words  # noqa: B018


@pytest.mark.slow
def test_damaged_files_are_errors(tmp_path: Path) -> None:
    """If any byte is changed, queries raise an error or return an answer, but never read outside the arrays."""
    make(tmp_path, [[b"the fox, the Fox", b"a fox"]])
    rng, options = random.Random(1), WordOptions(ignore_case=True, wildcards=True)
    for name in ("lexicon.words", "00000.words"):
        path = tmp_path / "idx" / name
        data = path.read_bytes()
        for size in (0, 10, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:size])
            with pytest.raises(InputError):
                open_index(tmp_path / "idx").words  # noqa: B018
        n_columns = len(data) - 24 - int.from_bytes(data[-24:-16], "little")
        for at in [*range(n_columns, len(data)), *rng.sample(range(n_columns), 150)]:
            path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
            try:
                words = open_index(tmp_path / "idx").words
                words.count("the [0-1] f*", options)
                with pytest.MonkeyPatch.context() as patched:
                    patched.setattr(word_matches, "SCAN_SHARE", 1)
                    words.count("the [0-1] f*", options)
                words.find("the", 5, 0, "R1", options=options)
                words.find("f*", 5, 0, "text", options=options)
                words.next("the")
                words.frequencies()
            except pyunitok.errors.UnitokError:
                continue
            assert at < n_columns, "a changed byte of the JSON is always an error"
        path.write_bytes(data)
    assert open_index(tmp_path / "idx").words.count("the") == 2
    assert verify_index(open_shards(tmp_path / "idx")) == []
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    assert ["column 'words' is damaged" in found for found in verify_index(open_shards(tmp_path / "idx"))] == [True]
    path.write_bytes(data[:-1])
    assert ["truncated" in found for found in verify_index(open_shards(tmp_path / "idx"))] == [True]


def test_the_page_answers_queries_about_words(tmp_path: Path) -> None:
    index = make(tmp_path, [[b"the quick fox and The Fox", b"A lazy dog; the end"]])
    i = {"ignore_case": ["1"]}
    assert ask(index, "word_count", {"q": ["THE fox"], **i}) == {"count": 1, "approx": False}
    found = ask(index, "word_hits", {"q": ["[1-2] fox"], **i} | {"q": ["the [0-1] fox"]})
    assert [hit["match"] for hit in found["hits"]] == ["the quick fox", "The Fox"] or found["count"] == 2
    assert ask(index, "next_words", {"q": ["the"], "limit": ["1"], **i})["next_words"][0]["count"] == 1
    assert ask(index, "previous_words", {"q": ["d?g"], "wildcards": ["1"]})["previous_words"][0]["text"] == "lazy"
    assert ask(index, "word_list", {"limit": ["1"], **i})["word_list"][0]["text"] == "the"
    assert ask(index, "word_ngrams", {"n": ["2"], "min": ["1"]})["distinct"] == 9
    assert ask(index, "word_sources", {"q": ["fo."], "regex": ["1"]})["sources"][0]["count"] == 1
    for name, parameters in (("word_count", {"q": [""]}), ("word_hits", {"q": ["a"], "sort": ["x"]}),
                             ("word_count", {"q": ["("], "regex": ["1"]})):  # fmt: skip
        with pytest.raises(BadRequest):
            ask(index, name, parameters)
    for path in (tmp_path / "idx").glob("*.words"):
        path.unlink()
    with pytest.raises(BadRequest, match="no words"):
        ask(open_index(tmp_path / "idx"), "word_count", {"q": ["a"]})


def test_columns(tmp_path: Path) -> None:
    path, values = tmp_path / "c", {"a": np.arange(5, dtype="<u4"), "b": np.empty(0, "<f8")}
    digest = write_columns(path, "toys", values, {"x": 1})
    found = Columns(path, "toys")
    assert found.digest == digest and found.about == {"x": 1} and found.problems() == []
    assert found.column("a", "<u4", 5).tolist() == list(range(5)) and len(found.column("b", "<f8")) == 0
    for wrong in (("a", "<u8", None), ("a", "<u4", 4), ("c", "<u4", None)):
        with pytest.raises(InputError, match="missing or is not"):
            found.column(*wrong)
    with pytest.raises(InputError, match="not a file of"):
        Columns(path, "others")
    with pytest.raises(ValueError, match="dtype"):
        write_columns(path, "toys", {"a": np.arange(5)}, {})
    data = path.read_bytes()
    path.write_bytes(data[:1] + b"\xff" + data[2:])
    assert ["column 'a' is damaged" in problem for problem in Columns(path, "toys").problems()] == [True]


def test_ngrams(index: Any, documents: list[list[str]]) -> None:
    for n, least in ((1, 1), (2, 1), (2, 3), (4, 2)):
        found = index.words.ngrams(n, least)
        expected = {" ".join(gram): count for gram, count in oracle.ngrams(documents, n).items() if count >= least}
        assert {row.text: row.count for row in found.rows} == expected
        assert [row.count for row in found.rows] == sorted(expected.values(), reverse=True)
        assert index.words.ngrams(n, least, 3).rows == found.rows[:3]
    with pytest.raises(LimitError):
        index.words.ngrams(0)


def test_command(tmp_path: Path) -> None:
    make(tmp_path, [[b"the quick fox and The Fox", b"A lazy dog; the end"]])
    for path in (tmp_path / "idx").glob("*.words"):
        path.unlink()

    def run(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        return result

    idx = str(tmp_path / "idx")
    assert "--words" in str(run("search", idx, "-i", "the", code=1).exception)
    assert ": 11 words, 10 distinct" in run("index", idx, "-o", idx, "--words").stderr
    assert run("search", idx, "-i", "THE fox", "--count").stdout == "1\n"
    assert run("search", idx, "-i", "the [0-1] fox|end", "--count").stdout == "3\n"
    assert json.loads(run("search", idx, "-w", "The", "--json").stdout)["hits"][0]["match"] == "The"
    assert run("search", idx, "-i", "the", "--next-words").stdout.split()[:3] == ["text", "count", "share"]
    listed = json.loads(run("search", idx, "--word-list", "-i", "--limit", "1", "--json").stdout)
    assert listed["word_list"] == [{"text": "the", "count": 3, "share": 3 / 11}] and listed["count"] == 11
    assert run("search", idx, "--wildcards", "?o*", "--word-list", "--csv").stdout.splitlines()[1].startswith("dog,1,")
    grams = json.loads(run("search", idx, "--word-ngrams", "2", "--min-count", "1", "--json").stdout)
    assert grams["distinct"] == 9 and grams["word_ngrams"][0]["count"] == 1
    sources = json.loads(run("search", idx, "-i", "the", "--by-source", "--json").stdout)["sources"]
    assert [(Path(row["source"]).name, row["count"]) for row in sources] == [("0-0000.txt", 2), ("0-0001.txt", 1)]
    found = json.loads(run("search", idx, "-i", "the|lazy|dog", "--documents", "--json").stdout)
    assert found["n_documents"] == 2 and [(row["document"], row["count"]) for row in found["documents"]] == [
        (1, 3), (0, 2)]  # most frequent first
    (tmp_path / "queries").write_text("the\n.\n")
    stopped = run("search", idx, "-i", "--queries", str(tmp_path / "queries"), "--count", code=1)
    assert str(stopped.exception) == f"{tmp_path / 'queries'}: line 2: '.' contains no words"
    assert "cannot be combined" in run("search", idx, "-i", "the", "--next", code=2).output
    assert "cannot be combined" in run("search", idx, "-i", "the", "--ids", code=2).output
