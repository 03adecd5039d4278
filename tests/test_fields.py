"""Fields of documents: filters, groups and facets equal a count over the documents and their metadata."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import search as oracle
from oracle import words as oracle_words
from toys.models import BYTES

import pyunitok
from pyunitok import Tokenizer, open_index
from pyunitok.cli import cli
from pyunitok.errors import InputError, LimitError, OutputError, UnitokError
from pyunitok.index.build import build_index
from pyunitok.index.field_answers import filtered_documents
from pyunitok.index.field_build import add_fields
from pyunitok.index.groups import count_by, facets, find_where
from pyunitok.index.opening import open_shards
from pyunitok.index.page.answers import ask
from pyunitok.index.verify import verify_index
from pyunitok.index.word_build import add_words
from pyunitok.index.word_query import WordOptions

Record = dict[str, Any]
NAMES = ["lang", "year", "info.path", "tags"]
I = WordOptions(ignore_case=True)  # noqa: E741


def records() -> list[list[Record]]:
    rng = random.Random(4)
    files = []
    for n in (40, 25):
        rows = []
        for k in range(n):
            words = [rng.choice(["the", "The", "fox", "a", "ox"]) for _ in range(rng.randrange(9))]
            row: Record = {"text": " ".join(words)}
            if rng.random() < 0.8:
                row["lang"] = rng.choice(["de", "en", "1990", ""])
            if rng.random() < 0.8:
                row["year"] = rng.choice([1989, 1990, "1990", "1990.0", 2001.5, "late", None])
            row["info"] = {"path": f"p{k}"} if rng.random() < 0.5 else None
            row["tags"] = ["x", 1] if rng.random() < 0.3 else True
            rows.append(row)
        files.append(rows)
    return files


def make(folder: Path, files: list[list[Record]], metadata: bool = True, shard_tokens: int = 600) -> Path:
    Tokenizer.from_pieces([*BYTES, b"the", b" fox"], eod=258).save(folder / "m.utk")
    for k, rows in enumerate(files):
        (folder / f"{k}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        pyunitok.tokenize([folder / f"{k}.jsonl"], folder / f"{k}.u16", model=folder / "m.utk", metadata=metadata)
    build_index([folder / f"{k}.u16" for k in range(len(files))], folder / "idx", shard_tokens=shard_tokens)
    return folder / "idx"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = make(tmp_path_factory.mktemp("fields"), records())
    add_fields(folder, NAMES)
    add_words(folder)
    return open_index(folder)


@pytest.fixture(scope="module")
def rows() -> list[Record]:
    return [row for part in records() for row in part]


def naive(row: Record, name: str) -> str | None:
    value: Any = row
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def holds(row: Record, name: str, test: str, value: str) -> bool:
    own: Any = naive(row, name)
    if own is None:
        return False
    try:
        a, b = float(own), float(value)
    except ValueError:
        a, b = own, value  # type: ignore[assignment]
    return {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[test]


CONDITION = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.sampled_from(["de", "1990", "1989.5", "late", "", "p3", "true", '["x", 1]']),
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.lists(CONDITION, max_size=2), st.sampled_from(["the", "fox", "e f", "ox"]), st.booleans())
def test_filters_equal_a_count(index: Any, rows: list[Record], conditions: Any, query: str, words: bool) -> None:
    where = ["".join(condition) for condition in conditions]
    chosen = [all(holds(row, *condition) for condition in conditions) for row in rows]
    assert index.fields.where(where).tolist() == chosen
    if words and " " not in query:
        found = [[m.span() for m in re.finditer(rf"\b{query}\b", row["text"], re.IGNORECASE)] for row in rows]
    else:
        words, starts = False, [oracle.starts(row["text"].encode(), query.encode()) for row in rows]
        found = [[(begin, begin + len(query)) for begin in part] for part in starts]
    places = [(d, *span) for d, part in enumerate(found) for span in part if chosen[d]]
    options = I if words else None
    for order in ("text", "rank", "random", "R1", "L1"):
        hits = find_where(index, query, where, 1000, 0, order, 5, options)  # type: ignore[arg-type]
        got = list(zip(hits.documents.tolist(), hits.begins.tolist(), hits.ends.tolist(), strict=True))
        assert (got if order == "text" else sorted(got)) == places and hits.total == len(places)
    for name in NAMES:
        groups = count_by(index, query, name, where=where, words=options)
        expected = Counter(naive(rows[d], name) for d, *_ in places)
        assert {group.value: group.hits for group in groups} == expected
        for group in groups:
            inside = [d for d, row in enumerate(rows) if chosen[d] and naive(row, name) == group.value]
            assert group.documents == len({d for d, *_ in places if d in inside})
            assert group.words == sum(len(oracle_words.words(rows[d]["text"].encode())) for d in inside)
            assert group.per_million == pytest.approx(1e6 * group.hits / group.words)
    for facet in facets(index, query, where=where, limit=2, words=options):
        expected = Counter(value for d, *_ in places if (value := naive(rows[d], facet.field)) is not None)
        assert facet.distinct == len(expected)
        top = sorted(expected.items(), key=lambda item: (-item[1], item[0]))[:2]
        assert [(row.value, row.hits) for row in facet.rows] == top


def test_groups_are_in_the_order_of_values(index: Any) -> None:
    assert [group.value for group in count_by(index, "the", "year")] == [
        "1989", "1990", "1990.0", "2001.5", "late", None,
    ]  # fmt: skip
    assert [group.value for group in count_by(index, "the", "@file")] == ["0.jsonl", "1.jsonl"]


def test_errors(index: Any, tmp_path: Path) -> None:
    for condition in ("lang", "=x", "other=1"):
        with pytest.raises(LimitError):
            index.fields.where([condition])
    for test in ("===", "!==", "<>", "<<", ">>", "<==", ">==", "=>", "=<"):
        with pytest.raises(LimitError, match=f"{test} is not a test; use =, !="):
            index.fields.where([f"year{test}1990"])
    for same in ("lang==de", "lang == de"):
        assert index.fields.where([same]).tolist() == index.fields.where(["lang=de"]).tolist()
    assert index.fields.where(["lang=de"]).any()
    assert not index.fields.where(["lang= =de"]).any() and not index.fields.where(["lang=<unk>"]).any()
    folder = make(tmp_path, [[{"text": "a"}]], metadata=False)
    with pytest.raises(OutputError, match="metadata"):
        add_fields(folder, ["lang"])
    with pytest.raises(LimitError):
        add_fields(folder, ["@file"])


def test_fields_are_added_to_and_damage_is_an_error(tmp_path: Path) -> None:
    folder = make(tmp_path, records()[:1])
    add_fields(folder, ["lang"])
    add_fields(folder, ["year", "lang"])
    path = folder / "fields.columns"
    data = path.read_bytes()
    add_fields(folder, ["year"])
    assert path.read_bytes() == data and open_index(folder).fields.names == ["lang", "year"]
    assert verify_index(open_shards(folder)) == []
    rng = random.Random(2)
    n_columns = len(data) - 24 - int.from_bytes(data[-24:-16], "little")
    for at in [*rng.sample(range(n_columns, len(data)), 100), *rng.sample(range(n_columns), 100)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        try:
            fields = open_index(folder).fields
            fields.where(["lang=de", "year>1"])
        except UnitokError:
            continue
        assert at < n_columns
        assert verify_index(open_shards(folder)) or data[at:at + 1] == b"\0"  # a zero byte may be padding
    path.write_bytes(data)
    (tmp_path / "1.jsonl").write_text('{"text": "the", "lang": "fr"}\n')
    pyunitok.tokenize([tmp_path / "1.jsonl"], tmp_path / "1.u16", model=tmp_path / "m.utk", metadata=True)
    build_index([tmp_path / "1.u16"], folder, add=True)
    with pytest.raises(InputError, match="has changed"):
        open_index(folder).fields.where(["lang=fr"])
    add_fields(folder, ["lang"])
    assert open_index(folder).fields.where(["lang=fr"]).sum() == 1


def test_filtered_documents_are_sorted_by_count(tmp_path: Path) -> None:
    rows: list[Record] = [{"text": "a " * (k % 3 + 1), "lang": "de"} for k in range(5)]
    add_fields(make(tmp_path, [rows]), ["lang"])
    found = filtered_documents(open_index(tmp_path / "idx"), "a", ["lang=de"], None, 1, 3)
    assert [(row["document"], row["count"]) for row in found["documents"]] == [(1, 2), (4, 2), (0, 1)]


def test_command_and_page(tmp_path: Path) -> None:
    rows: list[Record] = [
        {"text": "the fox", "lang": "de", "year": 1}, {"text": "The ox", "lang": "en"}, {"text": "the", "lang": "de"}
    ]  # fmt: skip
    idx = str(make(tmp_path, [rows]))

    def run(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(cli, list(arguments))
        assert result.exit_code == code, result.output
        return result

    assert "fields lang, year" in run("index", idx, "-o", idx, "--words", "--fields", "lang,year").stderr
    assert run("search", idx, "the", "--where", "lang=de", "--count").stdout == "2\n"
    hits = json.loads(run("search", idx, "-i", "the", "--where", "lang=en", "--json").stdout)["hits"]
    assert [hit["match"] for hit in hits] == ["The"] and hits[0]["fields"] == {"lang": "en"}
    groups = json.loads(run("search", idx, "-i", "the", "--by", "lang", "--json").stdout)["groups"]
    assert groups == [
        {"value": "de", "count": 2, "documents": 2, "words": 3, "per_million": 2e6 / 3},
        {"value": "en", "count": 1, "documents": 1, "words": 2, "per_million": 5e5},
    ]
    assert run("search", idx, "the", "--facets", "--csv").stdout.splitlines()[1:] == ["lang,de,2,2", "year,1,1,1"]
    assert json.loads(run("search", idx, "the", "--where", "year>0", "--documents", "--json").stdout)["count"] == 1
    assert "cannot be combined" in run("search", idx, "the", "--where", "lang=de", "--next", code=2).output
    assert "cannot be combined" in run("search", idx, "1 2", "--ids", "--where", "lang=de", code=2).output
    index = open_index(idx)
    parameters = {"q": ["the"], "by": ["lang"], "words": ["1"], "ignore_case": ["1"]}
    assert ask(index, "groups", parameters)["groups"] == groups
    assert ask(index, "facets", {"q": ["the"], "field": ["lang"]})["facets"][0]["count"] == 2
    assert ask(index, "filtered", {"q": ["the"], "where": ["year=1"]})["count"] == 1
