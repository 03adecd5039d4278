"""The benchmarks run and verify their results. The times are not checked."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from base64 import b64encode
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import zstandard
from click import ClickException
from click.testing import CliRunner
from conftest import SHARED
from toys import models, sentencepieces

from pyunitok.vocab.byte_level import CHARACTERS

ROOT = Path(__file__).resolve().parent.parent

pytestmark = [
    pytest.mark.skipif(find_spec("pyrwkv_tokenizer") is None, reason="needs pyrwkv-tokenizer"), pytest.mark.slow,
]  # fmt: skip


def bench(*arguments: str, n: bool = True, corpora: bool = True) -> Any:
    argv = [sys.executable, ROOT / "tools" / "bench.py", *arguments, "--json"]
    argv += ["--corpora", "sample"] * corpora
    argv += ["-n", "1"] if n else []
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("part", ["size", "queries", "build", "sort", "disk"])
def test_compact(part: str) -> None:
    report = bench("compact", "--part", part)
    assert len(report["rows"]) >= 2 and "verified" in report["notes"][0]


def test_longest() -> None:
    report = bench("encode", "--model", "longest", "--levels")
    assert {row["corpus"] for row in report["rows"]} == {"sample"}
    assert "portable" in {row["cpu"] for row in report["rows"]}
    assert "0 different" in report["notes"][0]


def test_longest_again() -> None:
    report = bench("encode", "--model", "longest", "--again", "2")
    assert "0 different" in report["notes"][0] and "2 copies of half a corpus" in report["notes"][1]


def test_single() -> None:
    report = bench("single")
    assert [row["strings"] for row in report["rows"]] == ["sample", "sample, one string"]
    assert "0 different" in report["notes"][0]


def write_toy(path: Path, model_type: int) -> Path:
    """A SentencePiece model with byte pieces and frequent strings of the sample corpus."""
    reader = zstandard.ZstdDecompressor().stream_reader((ROOT / "tests" / "data" / "sample.jsonl.zst").read_bytes())
    text = "▁".join(json.loads(line)["text"] for line in reader.read(20_000).decode(errors="ignore").split("\n")[:-1])
    counts = Counter(text[i : i + n] for n in (1, 2, 3, 4) for i in range(len(text)))
    frequent = [piece for piece, _ in counts.most_common(2000) if "\n" not in piece]
    pieces = [(piece.encode(), -1.0 - k / 100, sentencepieces.NORMAL) for k, piece in enumerate(frequent)]
    path.write_bytes(sentencepieces.make(pieces, model_type=model_type, byte_fallback=True).SerializeToString())
    return path


@pytest.mark.parametrize(("name", "n_rows"), [("single", 6), ("load", 3)])
def test_sentencepiece_models(name: str, n_rows: int, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    argv = ["--model", str(write_toy(tmp_path / "toy.model", sentencepieces.BPE))]
    rows = bench(name, *argv, corpora=False)["rows"]
    assert [row["model"] for row in rows] == ["toy"] * n_rows
    assert all(row["shim ratio"] > 0 and row["Tokenizer ratio"] > 0 for row in rows)


SMALL = ("--megabytes", "0.02", "--doc-bytes", "500", "--share", "3")


@pytest.mark.parametrize("model_type", [sentencepieces.UNIGRAM, sentencepieces.BPE])
def test_models(model_type: int, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    report = bench("encode", *SMALL, "--model", str(write_toy(tmp_path / "toy.model", model_type)))
    [row] = report["rows"]
    assert (row["model"], row["corpus"], row["peer"]) == ("toy", "sample", "sentencepiece")
    assert report["notes"][0].startswith("ids: 20 documents of 1 models, 0 different")


def test_missing_models() -> None:
    """A model in the table is skipped with a note if its file is missing; an unknown name is an error."""
    report = bench("encode", "--shared", str(ROOT / "tests"), "--model", "t5_base")
    assert report["rows"] == [] and "left out" in report["notes"][1]
    with pytest.raises(AssertionError, match="no model nonsense"):
        bench("encode", "--model", "nonsense")


@pytest.mark.parametrize(
    ("model_type", "method"), [(sentencepieces.UNIGRAM, "lattice"), (sentencepieces.BPE, "dropout")]
)
def test_sample(model_type: int, method: str, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    [row] = bench("sample", *SMALL, "--model", str(write_toy(tmp_path / "toy.model", model_type)))["rows"]
    assert row["method"] == method and row["peer"] == "sentencepiece"
    assert 0.8 < row["ids of peers"] < 1.25


def test_bytepiece(tmp_path: Path) -> None:
    pytest.importorskip("pyunitok.vocab.bytepiece")
    pytest.importorskip("bytepiece")
    if __import__("ahocorasick").unicode:
        pytest.skip("bytepiece requires pyahocorasick built with AHOCORASICK_BYTES=1")
    pieces = [bytes([byte]) for byte in range(256)] + [b"th", b"the", b" the", "的".encode()]
    values = {b64encode(piece).decode(): [k + 3, "", 10 + k] for k, piece in enumerate(pieces)}
    path = tmp_path / "toy.model"
    path.write_text(json.dumps(values))
    [row] = bench("encode", *SMALL, "--model", str(path))["rows"]
    assert row["peer"] == "bytepiece"
    [row] = bench("sample", *SMALL, "--model", str(path))["rows"]
    assert row["peer"] == "bytepiece" and 0.8 < row["ids of peers"] < 1.25


def byte_level_files(folder: Path) -> tuple[Path, Path]:
    """A tokenizer.json with GPT-2's pattern, and a file of ranks; both merge "th" into one piece."""
    vocab = {character: byte for byte, character in enumerate(CHARACTERS)} | {"th": 256}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    merged = {"type": "BPE", "vocab": vocab, "merges": ["t h"]}
    json_path, ranks_path = folder / "toy.json", folder / "toy.tiktoken"
    document = {"added_tokens": [], "pre_tokenizer": byte_level, "decoder": byte_level, "model": merged}
    json_path.write_text(json.dumps(document))
    pieces = [*(bytes([byte]) for byte in range(256)), b"th"]
    ranks_path.write_bytes(b"".join(b"%s %d\n" % (b64encode(piece), rank) for rank, piece in enumerate(pieces)))
    return json_path, ranks_path


@pytest.mark.parametrize("part", ["speed", "open", "tokenize"])
def test_bytelevel(part: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    pytest.importorskip("tiktoken")
    text = tmp_path / "text"
    text.write_text("the thing in the path\n" * 200)
    paths = byte_level_files(tmp_path)
    argv = ["--part", part, "--pattern", "gpt2", "--text", f"words={text}", "--repeat", "1"]
    report = bench("bytelevel", *argv, *(word for path in paths for word in ("-m", str(path))), corpora=False)
    assert [row["model"] for row in report["rows"]] == ["toy", "toy"]
    if part == "speed":
        verified = [note for note in report["notes"] if note.startswith("ids: toy on words")]
        assert ["tokenizers" in verified[0], "tiktoken" in verified[-1]] == [True, True]
        assert all("0 different" in note for note in verified)
        assert all(row["text"] == "words" and row["cold MB/s"] > 0 for row in report["rows"])


def test_the_first_difference_is_reported(bench_encode: Any) -> None:
    bench_encode.check_ids("toy", 10, 4, [[1], [1, 2]], [[1], [1, 2]], "peer")
    with pytest.raises(ClickException, match="toy, document 14, position 1: 2, but 3 from peer"):
        bench_encode.check_ids("toy", 10, 4, [[1], [1, 2]], [[1], [1, 3]], "peer")
    with pytest.raises(ClickException, match="document 10, position 1: the end, but 2 from peer"):
        bench_encode.check_ids("toy", 10, 4, [[1]], [[1, 2]], "peer")


@pytest.mark.parametrize(
    ("ids", "is_cut"),
    [([1, 2, 3], True), ([1, 0, 3], True), ([0], True), ([0, 3], True), ([1, 0], True), ([0, 2, 0], True),
     ([1, 2], False), ([2, 3], False), ([1, 2, 3, 0], False), ([0, 1, 2, 3], False), ([0, 3, 2, 0], False)],
)  # fmt: skip
def test_is_cut_of(bench_encode: Any, ids: list[int], is_cut: bool) -> None:
    from bench_sample import UNKNOWN, is_cut_of

    assert is_cut_of(b"abbcc", ids, [UNKNOWN, b"a", b"bb", b"cc"]) == is_cut


@pytest.fixture
def bench_encode(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("bench_encode")


def test_reading() -> None:
    rows = bench("reading", "--gigabytes", "0.001", "--files", "7")["rows"]
    assert len(rows) == 10 and {row["threads"] for row in rows} == {1, 2}


@pytest.mark.parametrize("doc", ["line", "file"])
def test_stream(doc: str) -> None:
    report = bench("stream", "--gigabytes", "0.15", "--doc", doc, n=False)
    row = report["rows"][0]
    assert row["text GB"] == 0.15 and (row["documents"] == 1) == (doc == "file")
    assert "verified" in report["notes"][0]


MODELS = [SHARED / "data/models" / path for path in ("spm/llama2.model", "hf/kitoken_llama2.json")]


@pytest.mark.skipif(not all(path.exists() for path in MODELS), reason="needs the shared models")
def test_pipelines() -> None:
    """Includes the peers that the environment variable PYUNITOK_PEERS lists."""
    arguments = ["--gigabytes", "0.001", "--megabytes", "0.1", "-m", str(MODELS[0]), "--peer-model", str(MODELS[1])]
    report = bench("pipelines", *arguments)
    peers = [name for name in ("datatrove", "dolma") if not any(f"{name} left out" in note for note in report["notes"])]
    assert [row["pipeline"] for row in report["rows"]] == ["pyunitok", *peers]
    assert report["rows"][0]["Mtokens"] > 0
    assert ("verified" in report["notes"][-1]) == bool(peers)


def test_train_counting() -> None:
    rows = bench("train", "--part", "counting", "--megabytes", "1", corpora=False)["rows"]
    assert len(rows) == 1 and rows[0]["count s"] > 0


def test_deduplicate() -> None:
    report = bench("deduplicate", "--gigabytes", "0.001", "--hits", "0.5", corpora=False)
    assert [row["what"] for row in report["rows"]] == ["pyunitok"]
    assert "one copy of each paragraph" in report["notes"][0]


def test_decontaminate() -> None:
    report = bench("decontaminate", "--gigabytes", "0.001", "--grams", "2000", "--hits", "0.2", corpora=False)
    assert [row["what"] for row in report["rows"]] == ["pyunitok"]
    assert "verified" in report["notes"][0]


def test_words() -> None:
    report = bench("words", "--tokens", "0.1")
    whats = [row["what"] for row in report["rows"]]
    assert len(whats) == 15 and "keyness of two groups" in whats and all(row["ms"] > 0 for row in report["rows"])
    assert "verified" in report["notes"][0]


def test_vocabularies() -> None:
    [row] = bench("vocabularies")["rows"]
    assert row["corpus"] == "sample"
    assert row["bytes per token"] > row["other"] > 1
    [row] = bench("vocabularies", "-m", "rwkv-world", "-m", "rwkv-world")["rows"]
    assert row["denser"] == 1 and row["target"] is row["verdict"] is None


def test_vocabularies_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bytes.utk"
    models.greedy(eod=None).save(path)
    [row] = bench("vocabularies", "-m", str(path))["rows"]
    assert row["bytes per token"] == 1 < row["other"]
    assert row["target"] == 0.7


def test_vocabularies_of_several_corpora() -> None:
    report = bench("vocabularies", "--corpora", "sample,sample", corpora=False)
    *rows, mean = report["rows"]
    assert [row["corpus"] for row in report["rows"]] == ["sample", "sample", "mean of 2"]
    assert mean["ratio"] == pytest.approx((rows[0]["ratio"] * rows[1]["ratio"]) ** 0.5)
    assert mean["denser"] == pytest.approx(rows[0]["denser"])
    assert mean["target"] == 0.95
    assert f"{min(row['ratio'] for row in rows):.2f}" in report["notes"][0]


def test_vocabularies_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    module = importlib.import_module("bench_encode")
    report = importlib.import_module("bench_timing").Report("", 1)
    module.add(report, "a", (100.0, 200.0), 0.5, (2.0, 1.0), 0.7)
    module.add(report, "b", (800.0, 400.0), 2.0, (4.0, 8.0), 0.7)
    module.summarize(report, 0.95)
    assert [row["verdict"] for row in report.rows] == ["MISS", "pass", "pass"]
    mean = report.rows[-1]
    assert [mean[name] for name in ("ratio", "MB/s", "other MB/s")] == pytest.approx([1, 80000**0.5, 80000**0.5])
    assert [mean[name] for name in ("bytes per token", "other", "denser")] == pytest.approx([8 / 3, 16 / 9, 1.5])
    assert report.notes == ["slowest relative to the other: a, 0.50; least dense: b, 0.500"]


def test_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows show our value, the peer's and the ratio, for rates and times; the peer may be missing."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    bench_report = importlib.import_module("bench_report")
    rate = bench_report.Headline("encoding", "encode", {"corpus": "en"}, "MB/s", "MB/s", "times", "other")
    time = bench_report.Headline("training", "train", {}, "s", "s", "times", "other", is_time=True)
    theirs = bench_report.Headline("pipelines", "pipelines", {}, "rate", "k/s", "ours to it", "other", of_peer=True)
    alone = bench_report.Headline("alone", "count -m {gpt2}", {}, "us", "µs")
    found = {
        "encode": [{"corpus": "ja", "MB/s": 1.0, "times": 9.0}, {"corpus": "en", "MB/s": 300.0, "times": 6.0}],
        "train": [{"s": 2.0, "times": 4.0}],
        "pipelines": [{"rate": 10.0, "ours to it": 30.0}],
        f"count -m {tmp_path}": [{"us": 7.0}],
    }
    monkeypatch.setattr(bench_report, "HEADLINES", [rate, time, theirs, alone])
    monkeypatch.setattr(bench_report, "rows_of", lambda command, _: found[command])
    argv = ["--out", str(tmp_path / "x"), "--runs", "2"]
    done = CliRunner().invoke(bench_report.report, [*argv, "--gpt2", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "x/report.csv").read_text().splitlines()[1:] == [
        'encoding,300 MB/s,"other, 50 MB/s",6 × (6 to 6)',
        'training,2 s,"other, 8 s",4 × (4 to 4)',
        'pipelines,300 k/s,"other, 10 k/s",30 × (30 to 30)',
        "alone,7 µs,,",
    ]
    assert (tmp_path / "x/report.md").read_text().count("| encoding | 300 MB/s |") == 1
    assert (tmp_path / "x/report.svg").stat().st_size > 1000
    done = CliRunner().invoke(bench_report.report, argv)
    assert "alone: left out; use --gpt2 FILE" in done.output
    assert "alone" not in (tmp_path / "x/report.csv").read_text()
    found["train"] = []
    done = CliRunner().invoke(bench_report.report, argv)
    assert done.exit_code == 1 and "is other installed?" in done.output


@pytest.mark.skipif(not (SHARED / "data/corpora").exists(), reason="no corpora")
def test_one_headline(tmp_path: Path) -> None:
    argv = [sys.executable, ROOT / "tools/bench.py", "report", "--only", "World, Japanese", "--runs", "1"]
    done = subprocess.run([*argv, "--out", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0 and "| RWKV World, Japanese |" in done.stdout, done.stderr
