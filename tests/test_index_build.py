"""pyunitok index: shards on disk, resumed runs, --add, --ray, other engines' formats, verify, and broken indexes."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from oracle import suffix as oracle
from oracle.search import positions
from toys import models
from toys.indexes import contents

import pyunitok
from pyunitok.cli import cli
from pyunitok.disk.outfile import OutFile
from pyunitok.errors import LimitError, ModelFormatError, OutputError, VocabularyError
from pyunitok.index import build as build_module
from pyunitok.index import compact as compact_module
from pyunitok.index import search as search_module
from pyunitok.index.build import build_index
from pyunitok.index.manifest import CompactOptions, IndexManifest
from pyunitok.index.opened import open_index
from pyunitok.index.opening import open_shards
from pyunitok.index.plan import Limits, cut
from pyunitok.index.suffix import suffix_array
from pyunitok.index.verify import verify_index
from pyunitok.model.tokenizer import Tokenizer

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "then", "it", "ate", "\n", "caté", "日本"]

SUFFIXES = ("sa", "first", "top", "left")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A greedy model whose ids are not in the order of the pieces' bytes."""
    pieces = [bytes([b]) for b in range(255, -1, -1)] + [b" the", b" cat", b" sa", b"at", "日".encode()]
    path = tmp_path_factory.mktemp("model") / "toy.model"
    Tokenizer.from_pieces(pieces, eod=300).save(path)
    return path


def write_tokens(path: Path, model: Path, seed: int = 1, n_documents: int = 40) -> Path:
    random = np.random.default_rng(seed)
    documents = [" ".join(random.choice(WORDS, random.integers(0, 60))) for _ in range(n_documents)]
    lines = path.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    run("tokenize", str(lines), "-o", str(path), "-m", str(model))
    return path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, arguments)
    if code == 0 and result.exception:
        raise result.exception
    assert result.exit_code == code or (code == 1 and result.exception), result.output
    return result.output + (str(result.exception) if code else "")


@pytest.fixture
def tokens(tmp_path: Path, model: Path) -> Path:
    return write_tokens(tmp_path / "ids.u16", model)


def check_whole(folder: Path, order: str, left: bool) -> None:
    """Compare every shard with the oracle, and assert that shards cover all documents."""
    index = open_shards(folder)
    assert verify_index(index) == []
    at = dict.fromkeys(range(len(index.arrays)), (0, 0))
    for shard, record in zip(index.shards, index.manifest.shards, strict=True):
        assert (shard.first_document, shard.begin) == at[shard.file]
        at[shard.file] = (shard.first_document + len(shard.ends), shard.begin + len(shard))
        assert (shard.rank is None) == (order == "id")
        ids = shard.ids.tolist()
        assert shard.sa.tolist() == oracle.suffix_array(ids, shard.ranks.tolist())
        assert (shard.left is not None) == left
        if shard.left is not None:
            assert shard.left.tolist() == [ids[i - 1] for i in shard.sa.tolist()]
        assert shard.ids.tolist() == index.arrays[shard.file].ids[shard.begin : shard.begin + record.tokens].tolist()
    assert [at[k] for k in at] == [(len(array), len(array.ids)) for array in index.arrays]


@pytest.mark.parametrize("order", ["bytes", "id"])
@pytest.mark.parametrize("left", [False, True])
def test_an_index_of_several_shards(tokens: Path, tmp_path: Path, order: str, left: bool) -> None:
    arguments = ["index", str(tokens), "-o", str(tmp_path / "idx"), "--order", order, "--shard-tokens", "700"]
    output = run(*arguments, *["--left"] * left)
    assert "shards" in output and len(open_shards(tmp_path / "idx").shards) > 3
    check_whole(tmp_path / "idx", order, left)
    run(*arguments, *["--left"] * left)  # already complete
    assert "intact" in run("verify", str(tmp_path / "idx"))


def test_a_compact_index_gives_the_same_answers(tokens: Path, tmp_path: Path) -> None:
    idx = str(tmp_path / "compact")
    arguments = ["index", str(tokens), "-o", idx, "--compact", "--shard-tokens", "700"]
    sizes = ["--block", "64", "--locate-every", "4", "--extract-every", "9"]
    assert "shards" in run(*arguments, *sizes)
    assert "already complete" in run(*arguments, *sizes)
    run(*arguments, code=1)  # the options differ
    build_index([tokens], tmp_path / "idx", shard_tokens=700)
    compact, other = open_index(idx), open_index(tmp_path / "idx")
    assert len(compact.shards) == len(other.shards) > 3 and compact.prefetch() > 0
    for query in ("the", " ", "e", "cat sat", "absent"):
        assert compact.count(query) == other.count(query)
        found, expected = (index.find(query, 100, order="text") for index in (compact, other))
        assert found.documents.tolist() == expected.documents.tolist()
        assert found.begins.tolist() == expected.begins.tolist()
    assert "intact" in run("verify", idx)
    more = tmp_path / "more.u16"
    for suffix in ("", ".ends", ".json"):
        shutil.copy(f"{tokens}{suffix}", f"{more}{suffix}")
    run("index", str(more), "-o", idx, "--add")
    assert open_index(idx).count("the") == 2 * other.count("the")


def test_a_damaged_compact_index_is_refused_or_reported(tokens: Path, tmp_path: Path) -> None:
    build_index([tokens], tmp_path / "idx", compact=CompactOptions())
    path = tmp_path / "idx" / "00000.compact"
    whole = path.read_bytes()
    for at in range(0, len(whole), len(whole) // 50):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert verify_index(open_shards(tmp_path / "idx"))
        except OutputError as error:
            assert str(path) in str(error)
    for n_bytes in (0, 100, len(whole) - 8):
        path.write_bytes(whole[:n_bytes])
        with pytest.raises(OutputError, match="compact"):
            open_shards(tmp_path / "idx")
    path.write_bytes(whole)
    assert verify_index(open_shards(tmp_path / "idx")) == []
    path.unlink()
    with pytest.raises(OutputError, match="missing"):
        open_shards(tmp_path / "idx")


@pytest.mark.parametrize("drop", [False, True])
def test_queries_of_a_damaged_compact_index_end_or_name_it(tokens: Path, tmp_path: Path, drop: bool) -> None:
    """Answers may be wrong, but no query crashes or runs forever."""
    options = CompactOptions(locate_every=4, extract_every=9)
    build_index([tokens], tmp_path / "idx", compact=options, shard_tokens=700, drop_tokens=drop)
    rng = np.random.default_rng(1)
    for path in sorted(path for path in (tmp_path / "idx").iterdir() if path.name != "index.json"):
        whole = path.read_bytes()
        for _ in range(6):
            data = bytearray(whole)
            for at in rng.integers(0, len(data), 1 if path.suffix == ".json" else 30):
                data[at] = rng.integers(256)
            path.write_bytes(data[: len(data) - 8 * int(rng.integers(3) == 0)])
            try:
                index = open_index(tmp_path / "idx", max_work=10_000_000)
                for query in ("the", " ", "cat sat"):
                    hits = index.find(query, 20, order="random")
                    index.context_batch(hits)
                    index.documents(query), index.next(query, 3), index.previous(query, 3), index.by_source(query)
                index.count_tokens([101, 102]), index.next([101], 3), index.previous([101], 3), index.ngrams(2, limit=3)
                index.spans("the cat sat on a mat", 4), index.text_bytes(3), verify_index(open_shards(tmp_path / "idx"))
            except (OutputError, IndexError, ModelFormatError, VocabularyError):
                pass
        path.write_bytes(whole)
    assert verify_index(open_shards(tmp_path / "idx")) == []


def test_compressing_a_shard_reports_progress_and_stops(tokens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.array(pyunitok.open(tokens).ids)
    sa, options, compact_file = suffix_array(ids), CompactOptions(), compact_module.compact_file
    monkeypatch.setattr(compact_module, "build_parts", partial(compact_module.build_parts, budget=500))
    shares: list[float] = []
    parts = [part.tobytes() for part in compact_file(ids.copy(), sa.copy(), options, shares.append)]
    assert shares == sorted(shares) and len(set(shares)) > 10 and shares[-1] == 1 and sum(map(len, parts)) > 1000

    def stop(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(compact_file(ids.copy(), sa.copy(), options, stop))


def test_an_index_is_converted_without_sorting(tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--compact", "--block", "64"]
    run("index", str(tokens), "-o", str(tmp_path / "once"), "--shard-tokens", "700", *options)
    build_index([tokens], tmp_path / "old", shard_tokens=700, left=True)
    with monkeypatch.context() as patch:
        patch.setattr(build_module, "suffix_array", None)
        patch.setattr(build_module, "_commit", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build_index(tmp_path / "old", tmp_path / "new", compact=CompactOptions(64))
        patch.undo()
        patch.setattr(build_module, "write_shard", None)  # all shards are done
        run("index", str(tmp_path / "old"), "-o", str(tmp_path / "new"), *options)
    assert contents(tmp_path / "new") == contents(tmp_path / "once")
    assert "intact" in run("verify", str(tmp_path / "new"))
    for wrong in (["--compact", "--shard-tokens", "700"], [], ["--compact", "--overwrite"]):
        target = "old" if "--overwrite" in wrong else "other"
        message = run("index", str(tmp_path / "old"), "-o", str(tmp_path / target), *wrong, code=1)
        assert "is an index" in message and ("choose another folder" in message or "-o NEW --compact" in message)
    message = run("stats", str(tmp_path / "old"), code=1)
    assert "is an index" in message and f"pyunitok export {tmp_path / 'old'} --to tokens" in message
    assert open_index(tmp_path / "old").count("the") > 0  # --overwrite did not remove the old index
    assert "is compact" in run("index", str(tmp_path / "new"), "-o", str(tmp_path / "other"), "--compact", code=1)
    path = tmp_path / "old" / "00001.sa"
    path.write_bytes(path.read_bytes()[4:] + b"\0\0\0\0")
    assert "00001.sa" in run("index", str(tmp_path / "old"), "-o", str(tmp_path / "other"), "--compact", code=1)


def test_an_index_that_only_counts(tokens: Path, tmp_path: Path, model: Path) -> None:
    idx = str(tmp_path / "counts")
    run("index", str(tokens), "-o", idx, "--compact", "--count-only", "--shard-tokens", "700")
    build_index([tokens], tmp_path / "idx", shard_tokens=700)
    build_index([tokens], tmp_path / "full", shard_tokens=700, compact=CompactOptions())
    small, full = (
        sum(path.stat().st_size for path in (tmp_path / name).glob("*.compact")) for name in ("counts", "full")
    )
    index, other = open_index(idx), open_index(tmp_path / "idx")
    assert small < full and "intact" in run("verify", idx)
    for query in ("the", " ", "e", "cat sat", "absent"):
        assert index.count(query) == other.count(query)
        ids = other.ids(query)
        assert index.count_tokens(ids) == other.count_tokens(ids)
        assert index.next(ids).counts.tolist() == other.next(ids).counts.tolist()
        assert index.previous(ids).counts.tolist() == other.previous(ids).counts.tolist()
        assert repr(index.infgram_prob(ids, 5)) == repr(other.infgram_prob(ids, 5))
    text = ["the cat sat on a mat"]
    assert index.overlap(text, 3).counts.tolist() == other.overlap(text, 3).counts.tolist()
    assert index.overlap(text, 3).documents.tolist() == [-1] == index.spans(text[0], 4).documents.tolist()[:1]
    assert index.text_bytes(2) == other.text_bytes(2)
    assert index.ngrams(2).counts.tolist() == other.ngrams(2).counts.tolist()
    found = [repr(pyunitok.duplicates(one, tmp_path / f"{k}.jsonl")) for k, one in enumerate((index, other))]
    assert found[0] == found[1]
    for question in ([], ["--documents"], ["--by-source"], ["--next"], ["--previous"], ["--sort", "random"]):
        message = run("search", idx, "the", *question, code=1)
        assert "was built with --count-only" in message and "`pyunitok search --count`" in message
    for options in (["--locate-every", "4"], ["--extract-every", "4"]):
        run("index", str(tokens), "-o", idx, "--compact", "--count-only", *options, code=2)
    lines = tmp_path / "ids.jsonl"
    run("tokenize", str(lines), "-o", str(tmp_path / "bare.u16"), "-m", str(model), "--eod", "none")
    arguments = ["index", str(tmp_path / "bare.u16"), "-o", str(tmp_path / "bare"), "--compact", "--count-only"]
    assert "end with an eod" in run(*arguments, code=1)


def test_many_hits_of_a_compact_index_are_sampled(tokens: Path, tmp_path: Path, monkeypatch: Any) -> None:
    build_index([tokens], tmp_path / "compact", shard_tokens=700, compact=CompactOptions())
    build_index([tokens], tmp_path / "idx", shard_tokens=700)
    compact, other = open_index(tmp_path / "compact"), open_index(tmp_path / "idx")
    exact = other.documents("e")
    assert repr(compact.documents("e")) == repr(exact) and exact.n_sampled is None and not exact.approx
    assert other.documents("e", max_hits=60).n_sampled == 60
    monkeypatch.setattr(search_module, "MAX_LOCATED", 60)
    found, total = compact.documents("e"), int(exact.counts.sum())
    assert found.n_sampled == 60 and found.approx and total > 200 and set(found.documents) <= set(exact.documents)
    assert len(found) < len(exact) and abs(found.n_documents - len(exact)) < len(exact) / 3
    assert abs(int(found.counts.sum()) - total) < total / 5
    assert repr(compact.documents("cat sat")) == repr(other.documents("cat sat"))  # fewer than 60 occurrences
    assert compact.next("e").approx and compact.next("e").total == other.next("e").total == total
    (source,) = compact.by_source("e")
    assert source.approx and source.hits == total
    assert compact.find("e", 1000).total == total and len(compact.find("e", 1000)) == total  # find() is exact
    shown = run("search", str(tmp_path / "compact"), "e", "--documents")
    assert f"{total:,} occurrences in about {found.n_documents} documents; estimated from 60 occurrences" in shown
    assert "estimated from 60" in run("search", str(tmp_path / "compact"), "e", "--by-source")
    shown = run("search", str(tmp_path / "idx"), "e", "--documents")
    assert f"{total:,} occurrences in {len(exact)} documents\n" in shown


def test_the_number_of_documents_is_estimated() -> None:
    rng = np.random.default_rng(3)
    for mean in (2, 10, 60):
        counts = rng.geometric(1 / mean, 3000)
        hits = np.repeat(np.arange(len(counts)), counts)
        for share in (0.1, 0.3, 0.9):
            n = int(share * len(hits))
            sample = np.unique(rng.choice(hits, n, replace=False), return_counts=True)[1]
            found = search_module._estimated(sample, n, len(hits))
            assert len(sample) <= found and abs(found - 3000) < 3000 * 0.25
    assert search_module._estimated(np.array([2, 2]), 4, 4) == 2 and search_module._estimated(np.empty(0), 0, 9) == 0


def test_options_of_compact_indexes(tokens: Path, tmp_path: Path) -> None:
    for options in (["--compact", "--left"], ["--compact", "--order", "id"], ["--compact", "--add"], ["--block", "64"]):
        run("index", str(tokens), "-o", str(tmp_path / "idx"), *options, code=2)
    arguments = ["index", str(tokens), "-o", str(tmp_path / "idx"), "--compact", "--locate-every", "3"]
    assert "power of two" in run(*arguments, code=1)


def test_bytes_do_not_depend_on_threads(tokens: Path, tmp_path: Path) -> None:
    for threads in (1, 2, 5):
        build_index([tokens], tmp_path / f"{threads}", shard_tokens=300, threads=threads)
    a, b, c = (contents(tmp_path / name) for name in ("1", "2", "5"))
    assert a == b == c


def test_an_index_can_be_moved_with_its_tokens(tokens: Path, tmp_path: Path, model: Path) -> None:
    build_index([tokens], tmp_path / "idx")
    (tmp_path / "elsewhere").mkdir()
    for path in [*tmp_path.glob("ids.u16*"), tmp_path / "idx"]:
        shutil.move(path, tmp_path / "elsewhere")
    check_whole(tmp_path / "elsewhere" / "idx", "bytes", False)


@pytest.mark.parametrize("when", range(1, 12))
def test_a_killed_run_resumes_with_identical_output(
    tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: int
) -> None:
    options: dict[str, Any] = {"left": True, "shard_tokens": 900, "threads": 1}
    build_index([tokens], tmp_path / "once", **options)
    calls = 0

    def crash(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == when:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        for name in ("sync_folder", "top_of", "write_whole"):
            real = getattr(build_module, name)
            patch.setattr(build_module, name, lambda *a, real=real: (real(*a), crash())[0])
        with pytest.raises(KeyboardInterrupt):
            build_index([tokens], tmp_path / "idx", **options)
    done = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "idx").glob("*.json.partial")}
    build_index([tokens], tmp_path / "idx", **options)
    assert contents(tmp_path / "idx") == contents(tmp_path / "once")
    assert done is not None


def test_finished_shards_are_not_built_again(tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    real = build_module.write_shard

    def write_two(work: Any, number: int, on_share: Any) -> Any:
        if len(built) == 2:
            raise OutputError("no space left")
        built.append(number)
        return real(work, number, on_share)

    monkeypatch.setattr(build_module, "write_shard", write_two)
    with pytest.raises(OutputError, match="no space"):
        build_index([tokens], tmp_path / "idx", shard_tokens=700, threads=1)
    with pytest.raises(OutputError, match="unfinished index of different files or with different options"):
        build_index([tokens], tmp_path / "idx", shard_tokens=800, threads=1)
    first = list(built)
    monkeypatch.setattr(build_module, "write_shard", lambda *a: (built.append(a[1]), real(*a))[1])
    seen: list[Any] = []
    build_index([tokens], tmp_path / "idx", shard_tokens=700, on_progress=lambda p: seen.append(p.resumed))
    assert seen[0] == 2 and sorted(built) == list(range(len(built))) and built[:2] == first
    check_whole(tmp_path / "idx", "bytes", False)


def test_files_of_a_run_killed_at_its_end_are_removed(tokens: Path, tmp_path: Path, model: Path) -> None:
    folder, more = tmp_path / "idx", write_tokens(tmp_path / "more.u16", model, seed=2)
    build_index([tokens], folder, shard_tokens=700)
    for add in (False, True):
        shutil.copy(folder / "index.json", folder / "plan.json.partial")
        (folder / "00001.json.partial").write_text("{}")
        build_index([more if add else tokens], folder, shard_tokens=700, add=add)
        assert not list(folder.glob("*.partial"))
        check_whole(folder, "bytes", False)


def test_add_leaves_old_shards_alone(tokens: Path, tmp_path: Path, model: Path) -> None:
    folder, more = tmp_path / "idx", write_tokens(tmp_path / "more.u16", model, seed=2)
    run("index", str(tokens), "-o", str(folder), "--shard-tokens", "700", "--order", "id", "--left")
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("0*")}
    run("index", str(more), "-o", str(folder), "--add", "--shard-tokens", "500")
    assert before == {name: (folder / name).stat().st_mtime_ns for name in before}
    assert len(open_shards(folder).arrays) == 2
    check_whole(folder, "id", True)
    # Regression: repeating the command failed. Repeating must report a complete index; other commands must fail.
    written = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = run("index", str(more), "-o", str(folder), "--add", "--shard-tokens", "500")
    assert "already complete" in again
    assert written == {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert "already in the index" in run("index", str(more), "-o", str(folder), "--add", code=1)
    assert "already in the index" in run("index", str(tokens), str(more), "-o", str(folder), "--add", code=1)
    assert "already in the index" in run("index", str(tokens), "-o", str(folder), "--add", code=1)
    assert "--overwrite to replace" in run("index", str(more), "-o", str(folder), code=1)
    run("index", str(more), "-o", str(folder), "--overwrite")
    assert not (folder / "00001.sa").exists()
    check_whole(folder, "bytes", False)


@pytest.mark.parametrize("damage", ["short", "other"])
def test_add_does_not_sort_by_damaged_ranks(tokens: Path, tmp_path: Path, model: Path, damage: str) -> None:
    """Regression: a short file was read beyond its end, and another order of ids would have given wrong answers."""
    folder, more = tmp_path / "idx", write_tokens(tmp_path / "more.u16", model, seed=2)
    run("index", str(tokens), "-o", str(folder), "--order", "bytes")
    ranks = folder / "rank.u16"
    whole = ranks.read_bytes()
    ranks.write_bytes(b"dear" if damage == "short" else whole[2:] + whole[:2])
    before = (folder / "index.json").read_bytes()
    assert "rank.u16" in run("index", str(more), "-o", str(folder), "--add", code=1)
    assert (folder / "index.json").read_bytes() == before
    ranks.write_bytes(whole)
    run("index", str(more), "-o", str(folder), "--add")
    check_whole(folder, "bytes", False)


def test_an_interrupted_add_is_resumed(tokens: Path, tmp_path: Path, model: Path, monkeypatch: Any) -> None:
    folder, more = tmp_path / "idx", write_tokens(tmp_path / "more.u16", model, seed=2)
    build_index([tokens], folder, shard_tokens=700)
    n_old = len(open_shards(folder).shards)
    with monkeypatch.context() as patch:
        patch.setattr(build_module, "_commit", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build_index([more], folder, add=True, shard_tokens=700)
    assert len(open_shards(folder).shards) == n_old  # still the old index
    build_index([more], folder, add=True, shard_tokens=700)
    check_whole(folder, "bytes", False)
    assert not list(folder.glob("*.partial"))


def test_documents_and_shards(tokens: Path, tmp_path: Path) -> None:
    array = pyunitok.open(tokens)
    for limit in (200, 333, 1000, 10**6):
        shards = cut(array, 0, limit)
        assert all(0 < shard.tokens <= limit for shard in shards)
        assert sum(shard.tokens for shard in shards) == len(array.ids)
        assert sum(shard.documents for shard in shards) == len(array)
    with pytest.raises(LimitError, match=r"document \d+ has [\d,]+ tokens, but a shard has at most 20"):
        cut(array, 0, 20)


def test_limits() -> None:
    assert Limits(max_memory=1 << 30).tokens == ((1 << 30) - (100 << 20)) * 10 // 124
    assert Limits(max_memory=1 << 40).tokens == 2**31 - 1
    with pytest.raises(LimitError, match="indexing requires at least"):
        _ = Limits(max_memory=1 << 20).tokens
    with pytest.raises(LimitError, match="shard_tokens must be 1 to"):
        _ = Limits(shard_tokens=2**31).tokens
    assert Limits(max_memory=1 << 30).at_once(50 << 20, 8) == 2
    with pytest.raises(LimitError, match="--max-memory"):
        Limits(max_memory=1 << 30).at_once(500 << 20, 8)


def test_token_files_that_cannot_be_indexed(tokens: Path, tmp_path: Path, model: Path) -> None:
    wide = tmp_path / "wide.u32"
    run("tokenize", str(tmp_path / "ids.jsonl"), "-o", str(wide), "-m", str(model), "--dtype", "uint32")
    output = run("index", str(tokens), str(wide), "-o", str(tmp_path / "a"), code=1)
    assert "its ids are uint32, but those of the other files are uint16" in output
    np.full(len(pyunitok.open(wide).ids), 1 << 18, "<u4").tofile(wide)
    assert "token 0 is 262144" in run("index", str(wide), "-o", str(tmp_path / "a"), code=1)
    other = tmp_path / "other.model"
    models.greedy().save(other)
    foreign = write_tokens(tmp_path / "foreign.u16", other)
    assert "its vocabulary differs" in run("index", str(tokens), str(foreign), "-o", str(tmp_path / "b"), code=1)
    assert "given twice" in run("index", str(tokens), str(tokens), "-o", str(tmp_path / "c"), code=1)
    bare = tmp_path / "bare.u16"
    bare.write_bytes(np.arange(2000, dtype="<u2").tobytes())
    assert "model" in run("index", str(bare), "-o", str(tmp_path / "d"), code=1)
    run("index", str(bare), "-o", str(tmp_path / "d"), "--order", "id")
    check_whole(tmp_path / "d", "id", False)


def test_an_empty_token_file(tmp_path: Path, model: Path) -> None:
    empty = tmp_path / "empty.u16"
    (tmp_path / "empty.jsonl").write_text("")
    run("tokenize", str(tmp_path / "empty.jsonl"), "-o", str(empty), "-m", str(model))
    build_index([empty], tmp_path / "idx")
    assert open_shards(tmp_path / "idx").shards == []
    assert "intact" in run("verify", str(tmp_path / "idx"))


@pytest.fixture
def index(tokens: Path, tmp_path: Path) -> Path:
    build_index([tokens], tmp_path / "idx", left=True, shard_tokens=900)
    return tmp_path / "idx"


def test_prefetch_within_its_limit(index: Path) -> None:
    opened = pyunitok.open_index(index)
    sizes = {suffix: sum(path.stat().st_size for path in index.glob(f"0*.{suffix}")) for suffix in SUFFIXES}
    tables, everything = sizes["first"] + sizes["top"], sum(sizes.values()) + 2 * opened.n_tokens
    if hasattr(os, "posix_fadvise"):
        assert opened.prefetch() == opened.prefetch(everything) == everything
        assert opened.prefetch(tables) == tables < opened.prefetch(everything - 1) < everything
    assert opened.prefetch(1) == 0


@pytest.mark.parametrize("name", ["00000.sa", "00001.first", "00000.top", "00001.left", "rank.u16"])
def test_truncated_and_missing_files(index: Path, name: str) -> None:
    data = (index / name).read_bytes()
    (index / name).write_bytes(data[:-1])
    with pytest.raises(OutputError, match=f"{name} has {len(data) - 1} bytes, not {len(data)}"):
        open_shards(index)
    (index / name).unlink()
    with pytest.raises(OutputError, match=f"{name} is missing"):
        open_shards(index)


@pytest.mark.parametrize("name", ["00000.sa", "00000.top", "00001.left"])
def test_verify_finds_a_changed_byte(index: Path, name: str) -> None:
    data = bytearray((index / name).read_bytes())
    data[len(data) // 2] ^= 1
    (index / name).write_bytes(data)
    assert name in run("verify", str(index), code=1)


def test_verify_finds_a_wrong_order_with_right_hashes(index: Path) -> None:
    import xxhash

    manifest = json.loads((index / "index.json").read_bytes())
    for suffix, message in ((".sa", "not the suffix array"), (".top", "every 4096th"), (".left", "token before")):
        path = index / f"00000{suffix}"
        data = path.read_bytes()
        path.write_bytes(data[4:8] + data[:4] + data[8:])
        record = json.loads(json.dumps(manifest))
        record["shards"][0]["hash"][suffix] = [xxhash.xxh64_hexdigest(path.read_bytes())]
        (index / "index.json").write_text(json.dumps(record))
        (fault,) = verify_index(open_shards(index))
        assert message in fault
        path.write_bytes(data)


def test_tokens_that_changed(index: Path, tokens: Path, model: Path) -> None:
    write_tokens(tokens.with_name("new.u16"), model, seed=9)
    for suffix in ("", ".ends", ".json"):
        shutil.copy(f"{tokens.with_name('new.u16')}{suffix}", f"{tokens}{suffix}")
    with pytest.raises(OutputError, match="has changed since it was indexed"):
        open_shards(index)
    tokens.unlink()
    with pytest.raises(OutputError, match=r"the token file .* is missing"):
        open_shards(index)


CHANGES: list[tuple[str, Any]] = [
    ("format", "other"), ("version", 99), ("order", "size"), ("files", []), ("files", None), ("shards", [{}]),
    ("shards", [[1]]), ("model", 3), ("eod", -1), ("rank_hash", "0"),
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_manifests_that_are_damaged(index: Path, change: tuple[str, Any]) -> None:
    manifest = json.loads((index / "index.json").read_bytes())
    (index / "index.json").write_text(json.dumps(manifest | dict([change])))
    with pytest.raises(OutputError):
        open_shards(index)


@pytest.mark.parametrize("field", ["file", "first_document", "documents", "begin", "tokens"])
@pytest.mark.parametrize("value", [-1, 1, 10**12, "1", None, 2.5])
def test_shard_records_that_are_damaged(index: Path, field: str, value: Any) -> None:
    manifest = json.loads((index / "index.json").read_bytes())
    if manifest["shards"][1][field] == value:
        return
    manifest["shards"][1][field] = value
    (index / "index.json").write_text(json.dumps(manifest))
    with pytest.raises(OutputError):
        open_shards(index)


def test_not_an_index(tmp_path: Path, tokens: Path) -> None:
    for data in (b"", b"{", b"[]", b"null", b"[" * 100_000):
        with pytest.raises(OutputError):
            IndexManifest.parse(data, "index.json")
    assert "is not an index" in run("verify", str(tmp_path), code=1)
    (tmp_path / "idx").mkdir()
    (tmp_path / "idx" / "00000.sa").write_bytes(b"mine")
    assert "exists; --overwrite" in run("index", str(tokens), "-o", str(tmp_path / "idx"), code=1)


def test_a_full_disk_is_an_error_that_names_the_file(tokens: Path, tmp_path: Path, monkeypatch: Any) -> None:
    def fail(self: OutFile, *_: object) -> int:
        raise OutputError(f"{self.path}: byte 0: cannot be written: No space left on device")

    monkeypatch.setattr(OutFile, "write", fail)
    with pytest.raises(OutputError, match="No space left"):
        build_index([tokens], tmp_path / "idx", threads=2, shard_tokens=700)


@pytest.mark.slow
def test_on_a_cluster(tokens: Path, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    from pyunitok.ray import index as index_on_ray

    ray.init("local", num_cpus=2, log_to_driver=False, logging_level="ERROR")
    try:
        index_on_ray([tokens], tmp_path / "ray", limits=Limits(shard_tokens=700))
    finally:
        ray.shutdown()
    build_index([tokens], tmp_path / "here", shard_tokens=700)
    assert contents(tmp_path / "ray") == contents(tmp_path / "here")


# ------------------------------------------------------------------------------------------------ other engines


@pytest.mark.parametrize("shards", [1, 3])
def test_infini_gram_opens_the_index(tokens: Path, tmp_path: Path, shards: int) -> None:
    engine_module = pytest.importorskip("infini_gram.engine")
    array = pyunitok.open(tokens)
    limit = 10**6 if shards == 1 else -(-(len(array.ids) + len(array)) // 3) + 50
    run("index", str(tokens), "-o", str(tmp_path / "ig"), "--format", "infini-gram", "--shard-tokens", str(limit))
    assert len(list((tmp_path / "ig").glob("table.*"))) == shards
    engine = engine_module.InfiniGramEngine(
        str(tmp_path / "ig"), eos_token_id=array.eod_id, vocab_size=65535, version=4, token_dtype="u16"
    )
    random = np.random.default_rng(0)
    for _ in range(60):
        document = array[int(random.integers(len(array)))][:-1]
        if len(document) < 5:
            continue
        at, n = int(random.integers(len(document) - 4)), int(random.integers(1, 5))
        query = document[at : at + n].tolist()
        expected = sum(
            document.tolist()[k : k + n] == query
            for document in (array[d][:-1] for d in range(len(array)))
            for k in range(len(document) - n + 1)
        )
        assert engine.count(input_ids=query)["count"] == expected


@pytest.mark.parametrize("n_documents", [1, 80])
def test_nearby_clauses_are_counted_as_in_infini_gram(tmp_path: Path, model: Path, n_documents: int) -> None:
    """The counts agree for one document. For several, infini-gram omits the matches that infini_gram_count()
    describes. (infini-gram measures the distance of a third clause from the range of the first two.)"""
    engine_module = pytest.importorskip("infini_gram.engine")
    random = np.random.default_rng(1)
    lines = ["".join(random.choice(list("abcdefghijk"), 2500 // n_documents)) for _ in range(n_documents)]
    (tmp_path / "some.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in lines))
    run("tokenize", str(tmp_path / "some.jsonl"), "-o", str(tmp_path / "some.u16"), "-m", str(model))
    run("index", str(tmp_path / "some.u16"), "-o", str(tmp_path / "ig"), "--format", "infini-gram")
    build_index([tmp_path / "some.u16"], tmp_path / "idx")
    index = pyunitok.open_index(tmp_path / "idx")
    engine = engine_module.InfiniGramEngine(
        str(tmp_path / "ig"), eos_token_id=index.eod, vocab_size=65535, version=4, token_dtype="u16"
    )
    stream = np.fromfile(tmp_path / "ig" / "tokenized.0", "<u2").tolist()
    found = n_queries = n_different = 0
    for _ in range(150):
        terms = [lines[0][at : at + int(random.integers(1, 4))] for at in random.integers(len(lines[0]) - 4, size=6)]
        ids = [index.ids(term).tolist() for term in terms]
        clauses = [ids[: int(random.integers(1, 3))], ids[3 : int(random.integers(4, 6))]]
        places = [sorted(p for term in clause for p in positions(stream, term)) for clause in clauses]
        if len(places[0]) == len(places[1]):  # the two engines may choose different rare clauses
            continue
        rare, other = sorted(places, key=len)
        within = int(random.choice([1, 2, 5, 20, 100, 10_000]))
        ours = index.count(all_of=clauses, within=within)
        theirs = engine.count_cnf(cnf=clauses, max_diff_tokens=within, max_clause_freq=10_000)["count"]
        document = np.cumsum(np.array(stream) == 0xFFFF)  # the document of each token
        assert ours == sum(any(document[p] == document[q] and abs(p - q) <= within for q in other) for p in rare)
        assert theirs == infini_gram_count(rare, other, within, document)
        found, n_queries, n_different = found + theirs, n_queries + 1, n_different + (ours != theirs)
    assert found > 500 and (n_different == 0 if n_documents == 1 else n_different > n_queries // 5)


def infini_gram_count(rare: list[int], other: list[int], within: int, document: Any) -> int:
    """The count that infini-gram returns. For each position of the rare clause, it finds the nearest match of the other
    clause on each side, and ignores those more than `within` tokens away. The position counts if a match is left and
    none is in another document. So a match in the same document does not count if one on the other side is near but
    in another document."""
    count = 0
    for p in rare:
        left = [q for q in other if q < p][-1:]
        right = [q for q in other if q >= p][:1]
        near = [q for q in left + right if abs(p - q) <= within]
        count += bool(near) and all(document[q] == document[p] for q in near)
    return count


def test_tokengrams_opens_the_index(tokens: Path, tmp_path: Path) -> None:
    run("index", str(tokens), "-o", str(tmp_path / "tg"), "--format", "tokengrams")
    ids, sa = np.fromfile(tmp_path / "tg" / "ids.bin", "<u2"), np.fromfile(tmp_path / "tg" / "ids.idx", "<u8")
    assert sa.tolist() == oracle.suffix_array(ids.tolist())
    assert "exists" in run("index", str(tokens), "-o", str(tmp_path / "tg"), "--format", "tokengrams", code=1)
    run("index", str(tokens), "-o", str(tmp_path / "tg"), "--format", "tokengrams", "--overwrite")
    tokengrams = pytest.importorskip("tokengrams")
    index = tokengrams.MemmapIndex(str(tmp_path / "tg" / "ids.bin"), str(tmp_path / "tg" / "ids.idx"))
    for n in (1, 2, 5):
        query = ids[10 : 10 + n].tolist()
        assert index.count(query) == sum(ids[k : k + n].tolist() == query for k in range(len(ids) - n + 1))
