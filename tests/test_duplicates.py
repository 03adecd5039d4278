"""Compares repeated spans to a search of all windows, and checks token files from which repeats were dropped."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard
from click.testing import CliRunner
from oracle.repeats import joined, later_starts, windows
from toys import indexes, models

import pyunitok
from pyunitok import Tokenizer
from pyunitok._c.windows import TokenWindows
from pyunitok.cli import cli
from pyunitok.errors import LimitError, OutputError
from pyunitok.index import duplicates
from pyunitok.index import windows as windows_module

pytestmark = pytest.mark.usefixtures("both_kinds")

EOD = 300


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return models.greedy(eod=None)


def random_documents(rng: random.Random, alphabet: list[int]) -> list[list[int]]:
    parts = [[rng.choice(alphabet) for _ in range(rng.choice([1, 4, 9]))] for _ in range(6)]
    docs = [[id_ for _ in range(rng.choice([0, 1, 3, 6])) for id_ in rng.choice(parts)] for _ in range(9)]
    docs.append([alphabet[0]] * rng.choice([0, 7, 30]))
    return [*docs, rng.choice(docs)]


@pytest.mark.parametrize("seed", range(25))
def test_spans_cover_all_repeated_windows(seed: int, tokenizer: Tokenizer, tmp_path: Path) -> None:
    rng = random.Random(seed)
    documents = random_documents(rng, rng.choice([[97], [97, 98], list(range(97, 117))]))
    eod = rng.choice([EOD, None])
    index = indexes.make(
        tmp_path, tokenizer, [documents[:5], documents[5:]], eod=eod, order=rng.choice(["id", "bytes"]),
        documents_per_shard=rng.choice([1, 2, 100]),
    )  # fmt: skip
    for n in (1, 3, 8):
        places = {where: starts for starts in windows(documents, n).values() if len(starts) > 1 for where in starts}
        expected = joined(list(places), n)
        later = Counter()
        for d, begin, end in joined(later_starts(documents, n), n):
            later[next(s for s in expected if s[0] == d and s[1] <= begin and end <= s[2])] += end - begin
        found = [record for spans in duplicates.repeated_spans(index, n) for record in spans.records()]
        assert [(r["document"], *r["tokens"]) for r in found] == expected
        assert [tuple(r["bytes"]) for r in found] == [(begin, end) for _, begin, end in expected]  # one-byte tokens
        assert [r["later_tokens"] for r in found] == [later[span] for span in expected]
        assert [r["occurrences"] for r in found] == [
            max(len(starts) for (d2, i), starts in places.items() if d2 == d and begin <= i and i + n <= end)
            for d, begin, end in expected
        ]


@pytest.mark.parametrize("seed", range(12))
def test_drop_removes_later_occurrences(seed: int, tokenizer: Tokenizer, tmp_path: Path) -> None:
    rng = random.Random(seed)
    if seed % 2:  # ids from 97 on are long pieces
        pieces = [bytes([byte]) * (3 if 97 <= byte < 117 else 1) for byte in range(256)]
        tokenizer = Tokenizer.from_pieces([*pieces, *(bytes([byte]) for byte in range(97, 117))])
    documents = random_documents(rng, rng.choice([[97], [97, 98], list(range(97, 117))]))
    eod = rng.choice([EOD, None])
    files = [("a.txt", 3), ("b.txt", len(documents) - 3)]
    index = indexes.make(
        tmp_path, tokenizer, [documents], eod=eod, inputs=files, documents_per_shard=rng.choice([1, 2, 100])
    )
    n = rng.choice([1, 3, 8])
    manifest, gone = duplicates.drop_repeats(index, tmp_path / "out.u16", n)
    dropped = {(d, k) for d, begin, end in joined(later_starts(documents, n), n) for k in range(begin, end)}
    kept = [[id_ for k, id_ in enumerate(ids) if (d, k) not in dropped] for d, ids in enumerate(documents)]
    array = pyunitok.open(tmp_path / "out.u16")
    assert [ids.tolist() for ids in array] == [[*ids, *([] if eod is None else [eod])] for ids in kept]
    assert gone == len(dropped) == index.n_tokens - manifest.tokens
    sizes = list(map(len, array))
    assert [record.tokens for record in manifest.inputs] == [sum(sizes[:3]), sum(sizes[3:])]
    again, _ = duplicates.drop_repeats(index, tmp_path / "out.u16", n)
    assert again.tokens == manifest.tokens
    assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == [
        "out.u16", "out.u16.ends", "out.u16.json",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_the_result_depends_on_neither_memory_nor_threads(
    seed: int, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: Any
) -> None:
    """With 1 KB, one bucket of records does not fit in memory, and the counters discard few windows."""
    rng = random.Random(seed)
    documents = [*random_documents(rng, list(range(97, 117))), [97] * 900]  # windows of one group fill a bucket
    index = indexes.make(tmp_path, tokenizer, [documents], eod=rng.choice([EOD, None]), documents_per_shard=4)
    pieces, grouped = [], windows_module._grouped_in_pieces
    monkeypatch.setattr(windows_module, "_grouped_in_pieces", lambda *given: pieces.append(1) or grouped(*given))
    for n in (1, 3, 8):
        found = []
        for memory, threads in ((1 << 30, 1), (1 << 10, 1), (1 << 10, 3)):
            pieces.clear()
            work: Any = {"max_memory_bytes": memory, "threads": threads}
            spans = duplicates.repeated_spans(index, n, **work)
            duplicates.drop_repeats(index, tmp_path / "out.u16", n, overwrite=True, **work)
            found.append((
                [record for some in spans for record in some.records()],
                [(tmp_path / f"out.u16{suffix}").read_bytes() for suffix in ("", ".ends")],
            ))  # fmt: skip
            assert bool(pieces) == (memory < 1 << 20)
        assert found[0] == found[1] == found[2] and found[0][0]


def test_equal_hashes_of_different_windows(tokenizer: Tokenizer, tmp_path: Path, monkeypatch: Any) -> None:
    """The search starts again with different hashes."""
    documents = [list(b"one two three four"), list(b"x one two three four y, three four")]
    index = indexes.make(tmp_path, tokenizer, [documents], eod=EOD)
    expected = [record for spans in duplicates.repeated_spans(index, 6) for record in spans.records()]
    find, seeds = TokenWindows.find, []

    def colliding(self: Any, begin: int, end: int) -> Any:
        records = find(self, begin, end)
        if len(set(seeds)) < 3:
            records["key"] = records["value"] = 0
        return records

    def randbits(n: int) -> int:
        seeds.append(random.Random(len(seeds)).getrandbits(n))
        return seeds[-1]

    monkeypatch.setattr(TokenWindows, "find", colliding)
    monkeypatch.setattr(windows_module.secrets, "randbits", randbits)
    found = [record for spans in duplicates.repeated_spans(index, 6) for record in spans.records()]
    assert found == expected and len(seeds) == 3


def test_an_index_without_windows(tokenizer: Tokenizer, tmp_path: Path) -> None:
    index = indexes.make(tmp_path, tokenizer, [[[], []]], eod=None)
    assert not list(duplicates.repeated_spans(index, 2))
    manifest, gone = duplicates.drop_repeats(index, tmp_path / "out.u16", 2)
    assert gone == manifest.tokens == 0 and manifest.documents == 2


def test_characters_are_not_cut(tokenizer: Tokenizer, tmp_path: Path) -> None:
    text = "日本語の文章は長いです。"
    documents = [f"{text}".encode(), f"あ{text}".encode(), f"本{text}x".encode()]
    index = indexes.make(tmp_path, tokenizer, [indexes.encode(tokenizer, documents)], eod=EOD)
    for n in range(2, 12):
        duplicates.drop_repeats(index, tmp_path / "out", n, overwrite=True)
        array = pyunitok.open(tmp_path / "out")
        array._tokenizer = tokenizer
        texts = [array.text(k) for k in range(3)]  # raises UnicodeDecodeError if a character is cut
        assert texts[0] == text


def test_the_command_writes_lines_and_token_files(tokenizer: Tokenizer, tmp_path: Path, monkeypatch: Any) -> None:
    documents = [list(b"one two three four"), list(b"x one two three four y")]
    index = indexes.make(tmp_path, tokenizer, [documents], eod=EOD)
    monkeypatch.setattr("pyunitok.cli.duplicates.open_index", lambda *_, **__: index)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(cli, ["duplicates", str(tmp_path), *arguments])

    monkeypatch.setattr(duplicates, "FRAME_BYTES", 1)
    unpack: dict[str, Any] = {
        ".zst": lambda data: zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read(),
        ".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress, "": bytes,
    }  # fmt: skip
    for suffix, decompress in unpack.items():
        name = f"dups.jsonl{suffix}"
        result = run("--min-tokens", "10", "-o", str(tmp_path / name))
        assert result.exit_code == 0 and "2 spans, 36 of 42 tokens" in result.output
        data = decompress((tmp_path / name).read_bytes())
        assert [json.loads(line) for line in data.splitlines()] == [
            {"document": 0, "tokens": [0, 18], "bytes": [0, 18], "occurrences": 2, "later_tokens": 0},
            {"document": 1, "tokens": [2, 20], "bytes": [2, 20], "occurrences": 2, "later_tokens": 18},
        ]
    assert run("-o", str(tmp_path / "dups.jsonl")).exit_code != 0
    result = run("--min-tokens", "10", "--drop", "-o", str(tmp_path / "unique.u16"))
    assert result.exit_code == 0 and "18 were repeats" in result.output
    assert pyunitok.open(tmp_path / "unique.u16")[1].tolist() == [*b"x  y", EOD]
    assert not list(tmp_path.glob(".pyunitok*"))


def test_verify_and_inspect_after_drop(tmp_path: Path, monkeypatch: Any) -> None:
    """Regression: `verify --inputs` reported damage, and `inspect` gave the size of the kept text as the input size."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("".join(f"Line {i % 8} of a text that repeats itself and repeats\n" for i in range(40)))
    Path("b.txt").write_text("nothing here repeats\n")
    for command in (
        "tokenize a.txt -o a.u16 --doc line", "tokenize b.txt -o b.u16 --doc line", "index a.u16 -o idx",
        "duplicates idx --min-tokens 8 --drop -o unique.u16", "merge unique.u16 b.u16 -o merged.u16",
    ):  # fmt: skip
        assert CliRunner().invoke(cli, command.split()).exit_code == 0, command
    (record,) = (pyunitok.open("unique.u16").manifest or pytest.fail("no manifest")).inputs
    size = Path("a.txt").stat().st_size
    assert record.abridged and record.bytes == size and record.text_bytes < size // 3
    assert f"from {size:,} bytes of input" in CliRunner().invoke(cli, ["inspect", "unique.u16"]).output
    verified = CliRunner().invoke(cli, ["verify", "unique.u16", "--inputs"])
    assert verified.exit_code == 0 and "skipped 1 input" in verified.output and "intact" in verified.output
    # The other inputs of a merged file are still compared.
    assert CliRunner().invoke(cli, ["verify", "merged.u16", "--inputs"]).exit_code == 0
    Path("b.txt").write_text("nothing here is equal\n")
    verified = CliRunner().invoke(cli, ["verify", "merged.u16", "--inputs"])
    assert verified.exit_code == 1 and "b.txt: document 0 (document 40 of" in verified.output


def test_invalid_requests(tokenizer: Tokenizer, tmp_path: Path) -> None:
    index = indexes.make(tmp_path, tokenizer, [[[1, 2]]], eod=EOD)
    with pytest.raises(LimitError):
        list(duplicates.repeated_spans(index, 0))
    (tmp_path / "there").write_bytes(b"")
    with pytest.raises(OutputError, match="exists"):
        duplicates.write_repeats(index, tmp_path / "there")
    assert [len(spans) for spans in duplicates.repeated_spans(index, 5)] == [0]
