"""Compares the JSON results of commands and of the search page to their description in tools/docs/json.md.

Every key that occurs is described, and every described key occurs.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_fields import make
from toys import models

from pyunitok.cli import cli
from pyunitok.cli.search import ANSWERS as SEARCH_ANSWERS
from pyunitok.cli.search_fields import FIELD_QUERIES
from pyunitok.cli.search_words import ONLY_WORDS
from pyunitok.index.build import build_index
from pyunitok.index.field_build import add_fields
from pyunitok.index.manifest import CompactOptions
from pyunitok.index.opened import Index, open_index
from pyunitok.index.page.answers import ACCEPTED, ANSWERS, ask
from pyunitok.index.page.parameters import BadRequest
from pyunitok.index.word_build import add_words
from pyunitok.job import tokenize

PAGE = Path(__file__).parent.parent / "tools" / "docs" / "json.md"
ROW = re.compile(r"\| `(?P<key>[^`]+)` \| (?P<type>.+?)(?P<optional>, optional)? \| (?P<text>.+) \|")
PHRASE = "the first train leaves the old town and the small hotel"
# The queries that `search` and the search page run, either for the text "the" or for a file that contains PHRASE.
SEARCHES = {
    "hits": ["the"], "count": ["the", "--count"], "documents": ["the", "--documents"],
    "by_source": ["the", "--by-source"], "next": ["the", "--next"], "previous": ["the", "--previous"],
    "prob": ["the", "--prob", "32"], "infgram": ["the", "--infgram", "32"], "infgram_next": ["the", "--infgram-next"],
    "all_of": ["--all-of", "the|fox", "--within", "9"], "ngrams": ["--ngrams", "2"], "sample": ["the", "--sample", "4"],
    "overlap": ["--overlap", "FILE", "--window", "3"], "spans": ["--spans", "FILE"],
    "next_words": ["the", "--next-words"], "previous_words": ["the", "--previous-words"], "word_list": ["--word-list"],
    "word_ngrams": ["--word-ngrams", "2"], "collocations": ["the", "--collocations"],
    "keyness": ["--keyness", "year=1", "--where", "year=0"], "dispersion": ["the", "--dispersion"],
    "by": ["the", "-i", "--by", "year"], "facets": ["the", "--facets"],
}  # fmt: skip
VARIANTS = [
    ("hits", ["256", "--ids"]), ("hits", ["the", "-i"]), ("hits", ["the", "--where", "year=1"]),
    ("count", ["the", "-i", "--count"]), ("count", ["the", "--count", "--where", "year=1"]),
    ("documents", ["the", "-i", "--documents"]), ("documents", ["the", "--documents", "--where", "year=1"]),
    ("by_source", ["the", "-i", "--by-source"]), ("next", ["256", "--ids", "--next"]),
    ("previous", ["256", "--ids", "--previous"]), ("prob", ["qqq", "--prob", "32"]),
    ("overlap", ["--overlap", "FILE", "--window", "3", "--normalize"]), ("spans", ["--spans", "FILE", "--normalize"]),
    ("dispersion", ["the", "--dispersion", "--parts", "year"]), ("by", ["the", "--by", "@file"]),
    ("collocations", ["the", "-i", "--collocations", "--near", "2"]),
]  # fmt: skip
REQUESTS: dict[str, dict[str, list[str]]] = {
    "info": {}, "count": {"q": ["the", "a"]}, "document": {"n": ["3"], "begin": ["4"], "end": ["6"]},
    "trace": {"q": [PHRASE]}, "word_list": {}, "word_ngrams": {}, "ngrams": {}, "values": {},
    "all_of": {"q": ["the|fox", "a"]}, "overlap": {"q": [PHRASE], "n": ["3"]}, "spans": {"q": [PHRASE]},
    "keyness": {"where": ["year=0"]},
    "groups": {"q": ["the"], "by": ["year"], "words": ["1"]}, "dispersion": {"q": ["the"], "parts": ["4"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Any:
    rng, words = random.Random(1), [*PHRASE.split(), "The", "fox"]
    texts = [" ".join(rng.choices(words, k=rng.randrange(1, 30))) for _ in range(30)]
    rows: list[dict[str, Any]] = [{"text": text, "year": k % 3, "title": f"T{k}"} for k, text in enumerate(texts)]
    del rows[-1]["year"]
    rows.append({"text": PHRASE, "title": "x" * 5000})
    folder = make(tmp_path_factory.mktemp("json"), [rows])
    add_fields(folder, ["year"])
    add_words(folder)
    return open_index(folder)


@pytest.fixture(scope="module")
def plain(index: Index, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An index without fields or metadata."""
    folder = make(tmp_path_factory.mktemp("plain"), [[{"text": "the fox"}] * 5], metadata=False)
    add_words(folder)
    return open_index(folder)


def of_text(folder: Path, model: Path) -> Path:
    """An index of text files, whose metadata gives positions in a different form than that of JSON lines."""
    for name, separator in (("lines", "\n"), ("parts", "; ")):
        (folder / f"{name}.txt").write_text(f"the fox{separator}the end{separator}")
        tokenize(folder / f"{name}.txt", folder / name, model=model, separator=separator, metadata=True)
    build_index([folder / "lines", folder / "parts"], folder / "text")
    return folder / "text"


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def results(index: Index, plain: Index, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """Yields (the title of the section in json.md, the result) for all commands and requests."""
    (folder / "phrase.txt").write_text(PHRASE + "\nunseen\n")
    name = str(folder / "phrase.txt")
    for query, arguments in (*SEARCHES.items(), *VARIANTS):
        given = [name if argument == "FILE" else argument for argument in arguments]
        yield f"search: {query}", run("search", str(index.folder), *given, "--json")
    (folder / "queries.txt").write_text("the\n")
    yield "search: queries", run("search", str(index.folder), "--queries", str(folder / "queries.txt"), "--count")
    for request in ANSWERS:
        yield f"page: {request}", ask(index, request, REQUESTS.get(request, {"q": ["the"]}))
    yield "page: hits", ask(plain, "hits", {"q": ["the"], "metadata": ["0"]})
    for request in ("word_hits", "filtered"):
        yield f"page: {request}", ask(plain, request, {"q": ["the"]})
    yield "search: hits", run("search", str(plain.folder), "the", "--json")
    yield "search: hits", run("search", str(of_text(folder, index.folder.parent / "m.utk")), "the", "--json")
    yield "trace", run("trace", str(index.folder), name, "--json", "--span-bytes", "4")
    yield "trace", run("trace", str(index.folder), name, "--json", "--normalize")
    yield "stats", run("stats", str(index.arrays[0].path), "--json", "-")
    CliRunner().invoke(cli, ["duplicates", str(index.folder), "--min-tokens", "9", "-o", str(folder / "dups.jsonl")])
    for line in (folder / "dups.jsonl").read_text().splitlines():
        yield "duplicates", json.loads(line)
    build_index([index.arrays[0].path], folder / "small", compact=CompactOptions())
    monkeypatch.setattr("pyunitok.index.search.MAX_LOCATED", 3)
    for query in ("documents", "by_source"):
        yield f"search: {query}", run("search", str(folder / "small"), *SEARCHES[query], "--json")


def results_in_files(folder: Path) -> Iterator[tuple[str, Any]]:
    """(name of the section, result) of the commands that write JSON to files, and of `vocab`."""
    (folder / "bench.jsonl").write_text(json.dumps({"q": f"{PHRASE} {PHRASE}"}))
    (folder / "c.jsonl").write_text("".join(json.dumps({"text": f"{PHRASE} {PHRASE} {k}"}) + "\n" for k in range(3)))
    (folder / "c.txt").write_text(f"{PHRASE} {PHRASE}")
    inputs, json_file = [str(folder / "c.jsonl"), str(folder / "c.txt")], folder / "table.json"
    for name, arguments, lines in [
        ("decontaminate", ["--against", folder / "bench.jsonl", "--field", "q", "--report"], "match"),
        ("deduplicate", ["--ranges"], "ranges"),
    ]:  # fmt: skip
        out, list_file = folder / f"{name}d", folder / f"{name}.jsonl"
        argv = [name, *inputs, "-o", out, "--json", json_file, *arguments, list_file]
        assert CliRunner().invoke(cli, list(map(str, argv))).exit_code == 0
        found = json.loads(json_file.read_text())
        for row in found if isinstance(found, list) else [found]:
            yield f"{name}: {'table' if isinstance(found, list) else 'summary'}", row
        for line in list_file.read_text().splitlines():
            yield f"{name}: {lines}", json.loads(line)
    models.greedy().save(folder / "m.utk")
    (folder / "add.txt").write_text("zqzqzq\n")
    yield "vocab list", run("vocab", "list", str(folder / "m.utk"), "--longest", "1", "--json")
    text = ["--text", str(folder / "c.txt"), "--json", "-"]
    yield "vocab diff", run("vocab", "diff", str(folder / "m.utk"), str(folder / "m.utk"), *text)
    added = ["--add", str(folder / "add.txt"), "--dry-run"]
    yield "vocab edit", run("vocab", "edit", str(folder / "m.utk"), *added, *text)


# -------------------------------------------------------------------------------------------------- the description ---

Record = dict[str, tuple[str, bool]]  # key: (type, whether it is optional)
SAME = {  # queries whose result has the same description as another query's
    **{f"page: {name}": f"search: {name}" for name in (*ONLY_WORDS, "facets", "ngrams", "overlap", "spans")},
    "page: groups": "search: by", "page: trace": "trace", "page: word_count": "search: count",
    "page: word_hits": "search: hits", "page: filtered": "search: hits", "page: word_sources": "search: by_source",
    "search: all_of": "search: count",
}  # fmt: skip
SIMPLE = {"integer": int, "string": str, "boolean": bool}


def described() -> dict[str, Record]:
    """The records that json.md describes, by title. Each consists of a heading and a table of keys."""
    records: dict[str, Record] = {}
    for part in re.split(r"^##+ ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, text = part.partition("\n")
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        found = [ROW.fullmatch(line) for line in rows]
        assert all(found), (title, rows)
        for row in filter(None, found):
            for key in row["key"].split(", "):
                assert key not in records.setdefault(title, {}), (title, key)
                records[title][key] = row["type"], bool(row["optional"])
    return records


class Checker:
    """Checks values against json.md, and collects the keys that occur."""

    def __init__(self) -> None:
        self.records = described()
        self.seen: set[tuple[str, str]] = set()
        self.absent: set[tuple[str, str]] = set()  # optional keys that some record lacks

    def record(self, title: str, value: Any) -> None:
        fields = self.records[title]
        assert isinstance(value, dict) and set(value) <= set(fields), (title, set(value) - set(fields))
        for key, (type_, is_optional) in fields.items():
            if key in value:
                self.seen.add((title, key))
                assert self.fits(type_, value[key]), (title, key, type_, value[key])
            else:
                assert is_optional, (title, key)
                self.absent.add((title, key))

    def fits(self, type_: str, value: Any) -> bool:
        if type_.endswith(" or null"):
            return value is None or self.fits(type_.removesuffix(" or null"), value)
        if type_.startswith("list of "):
            return isinstance(value, list) and all(self.fits(type_.removeprefix("list of "), item) for item in value)
        if type_.startswith("map of "):
            items = value.values() if isinstance(value, dict) else [...]
            return all(self.fits(type_.removeprefix("map of "), item) for item in items)
        if link := re.fullmatch(r"\[(.+)\]\(#(.+)\)", type_):
            assert link[2] == link[1].replace(" ", "-")
            self.record(link[1], value)
            return True
        if type_ == "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        return type_ == "any" or type(value) is SIMPLE[type_]


def test_every_key_is_described_and_occurs(
    index: Index, plain: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    checker, names = Checker(), set()
    found = itertools.chain(results(index, plain, tmp_path, monkeypatch), results_in_files(tmp_path))
    for name, value in found:
        checker.record(SAME.get(name, name), value)
        names.add(name)
    missing = {(title, key) for title, fields in checker.records.items() for key in fields} - checker.seen
    assert not missing
    optional = {(title, key) for title, fields in checker.records.items() for key in fields if fields[key][1]}
    assert optional <= checker.absent  # keys that always occur are not optional
    queries = {f"search: {name}" for name in (*SEARCH_ANSWERS, *ONLY_WORDS, *FIELD_QUERIES)}
    queries |= {"search: queries", "trace", "stats", "duplicates", "vocab list", "vocab diff", "vocab edit"}
    queries |= {"decontaminate: table", "decontaminate: match", "deduplicate: summary", "deduplicate: ranges"}
    assert names == queries | {f"page: {name}" for name in ANSWERS}


class Asked(dict[str, list[str]]):
    """Parameters of a request; `names` are those that the request reads."""

    def __init__(self, given: dict[str, list[str]]) -> None:
        super().__init__(given)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)


def test_requests_reject_unknown_parameters(index: Index) -> None:
    """Regression: hits ignored `where`, and every request ignored misspelled names. json.md lists the names."""
    names = " ".join(ACCEPTED["word_count"].split()[1:])
    for line in re.findall(r"^- (`.+`): (.*)$", PAGE.read_text(encoding="utf-8"), re.M):
        requests, accepted = (part.replace("`", "").replace("WORDS", names).replace(",", "") for part in line)
        for name in requests.split():
            assert sorted(accepted.split()) == sorted(ACCEPTED[name].split()), name
    for name in ANSWERS:
        accepted, given = ACCEPTED[name].split(), REQUESTS.get(name, {"q": ["the"]})
        assert name == "info" or re.search(rf"^- .*`{name}`.*: ", PAGE.read_text(encoding="utf-8"), re.M)
        parameters = Asked(given | ({"words": ["1"]} if "words" in accepted else {}))
        ask(index, name, parameters)
        assert parameters.names == set(accepted), name
        for wrong in {"limits", "where"} - set(accepted):
            with pytest.raises(BadRequest, match=f"{name} does not accept {wrong}; it accepts "):
                ask(index, name, given | {wrong: ["1"]})


def test_an_index_that_only_counts(index: Index, tmp_path: Path) -> None:
    """Spans and overlaps have no documents. Regression: listing spans failed."""
    build_index([index.arrays[0].path], tmp_path / "idx", compact=CompactOptions(locate_every=0, extract_every=0))
    (tmp_path / "a.txt").write_text(PHRASE)
    checker = Checker()
    for query in ("spans", "overlap"):
        arguments = [str(tmp_path / "a.txt") if x == "FILE" else x for x in SEARCHES[query]]
        found = run("search", str(tmp_path / "idx"), *arguments, "--json")
        checker.record(f"search: {query}", found)
        assert [row["document"] for row in found[query]] == [None]


def test_a_wrong_description_fails() -> None:
    checker = Checker()
    right = {"count": 1, "approx": True}
    for wrong in ({"count": 1}, right | {"approx": 0}, right | {"x": 1}, right | {"count": None}):
        with pytest.raises(AssertionError):
            checker.record("search: count", wrong)
