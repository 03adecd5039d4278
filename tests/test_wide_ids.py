"""Every command that reads token files supports uint32 ids; the model is byte-level and has ids above 65,535."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import readers
from click.testing import CliRunner
from toys import rank_files

import pyunitok
from pyunitok.cli import cli

END = 100_000
LINES = ["the thing and  the", "", "日本 é\u0301 12345", "a<|other|>b", "the\tin"]


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(cli, list(map(str, arguments)))
    assert result.exit_code == code, f"{result.output}{result.exception}"
    return result.output + (str(result.exception) if code else "")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    tokens = {"<|endoftext|>": END, "<|other|>": END + 1}
    tokenizer = pyunitok.Tokenizer.from_file(
        rank_files.write(tmp_path / "toy.tiktoken"), pattern="cl100k", special_tokens=tokens
    )
    tokenizer.save(tmp_path / "toy.utk")
    return tmp_path / "toy.utk"


@pytest.fixture
def tokens(tmp_path: Path, model: Path) -> Path:
    (tmp_path / "a.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    output = run("tokenize", tmp_path / "a.txt", "-m", model, "-o", tmp_path / "a.ids", "--doc", "line", "--verify")
    assert "uint32" in output
    return tmp_path / "a.ids"


def expected(model: Path) -> list[list[int]]:
    tokenizer = pyunitok.Tokenizer.from_file(model)
    return [[*tokenizer.encode(line).tolist(), END] for line in LINES]


def test_file(tokens: Path, model: Path, tmp_path: Path) -> None:
    array = pyunitok.open(tokens)
    assert array.ids.dtype == np.uint32 and [array[k].tolist() for k in range(len(array))] == expected(model)
    assert END + 1 in array[3]
    refused = run("tokenize", tmp_path / "a.txt", "-m", model, "-o", tmp_path / "b.ids", "--dtype", "uint16", code=1)
    assert "uint16" in refused and not (tmp_path / "b.ids").exists()


def test_reading_commands(tokens: Path, model: Path, tmp_path: Path) -> None:
    assert "<u4" in run("inspect", tokens)
    run("stats", tokens, "-m", model)
    run("verify", tokens)
    run("verify", tokens, tmp_path / "a.txt", "-m", model)
    run("detokenize", tokens, "-m", model, "-o", tmp_path / "back.txt")
    text = (tmp_path / "a.txt").read_text(encoding="utf-8").replace("<|other|>", "")  # as decode --skip-special does
    assert (tmp_path / "back.txt").read_text(encoding="utf-8") == text
    assert run("decode", "-m", model, *expected(model)[3]) == "ab\n"
    assert run("decode", "-m", model, "--skip-special", *expected(model)[3]) == "ab\n"
    assert run("decode", "-m", model, "--keep-special", *expected(model)[3]) == "a<|other|>b<|endoftext|>\n"


def test_encode_command(model: Path) -> None:
    assert run("encode", "-m", model, "the<|other|>日") == f"257 {END + 1} 266\n"
    rows = [(257, 0, 3, "the"), (END + 1, 3, 12, "<|other|>"), (266, 12, 15, "日")]
    assert run("encode", "-m", model, "--offsets", "the<|other|>日") == "".join(
        f"{id_}\t{begin}\t{end}\t{text}\n" for id_, begin, end, text in rows
    )
    plain = pyunitok.Tokenizer.from_file(model).encode("the<|other|>", special=False).tolist()
    assert run("encode", "-m", model, "--plain", "the<|other|>") == " ".join(map(str, plain)) + "\n"
    assert "cannot be combined" in run("encode", "-m", model, "--plain", "--offsets", "a", code=2)


def test_encode_command_with_a_template() -> None:
    roberta = Path(__file__).parent / "golden" / "byte_level" / "roberta.json"
    tokenizer = pyunitok.Tokenizer.from_file(roberta)
    ids = tokenizer.encode("the", add_special=True).tolist()
    assert len(ids) > len(tokenizer.encode("the"))
    assert run("encode", "-m", roberta, "--add-special", "the") == " ".join(map(str, ids)) + "\n"


def test_merge(tokens: Path, model: Path, tmp_path: Path) -> None:
    run("merge", tokens, tokens, "-o", tmp_path / "twice.ids")
    array = pyunitok.open(tmp_path / "twice.ids")
    assert array.ids.dtype == np.uint32
    assert [array[k].tolist() for k in range(len(array))] == 2 * expected(model)


@pytest.mark.parametrize("to", ["megatron", "llm.c", "datatrove", "dolma", "infini-gram", "tokengrams", "npy"])
def test_exports(tokens: Path, model: Path, tmp_path: Path, to: str) -> None:
    options = {"llm.c": ["--shard-tokens", "1000"]}.get(to, [])
    run("export", tokens, "--to", to, "-o", tmp_path / to, *options)
    joined = [id_ for doc in expected(model) for id_ in doc]
    if to == "megatron":
        assert readers.megatron(tmp_path / to, "a") == expected(model)
        assert (tmp_path / to / "a.idx").read_bytes()[17] == 4  # int32
    elif to == "llm.c":
        assert [id_ for shard in readers.llmc(tmp_path / to, "a") for id_ in shard] == [END, *joined[:-1]]
    elif to == "datatrove":
        assert readers.datatrove(tmp_path / to, "a")[0] == expected(model)
    elif to == "npy":
        found = np.concatenate([np.load(path) for path in (tmp_path / to).glob("*.npy") if "end" not in path.name])
        assert found.dtype == np.uint32 and found.tolist() == joined
    assert any((tmp_path / to).iterdir())


def test_nanogpt_is_refused(tokens: Path, tmp_path: Path) -> None:
    assert "nanoGPT reads only uint16" in run("export", tokens, "--to", "nanogpt", "-o", tmp_path / "n", code=1)


def test_tokenize_into_megatron(tokens: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    output = run(
        "tokenize", tmp_path / "a.txt", "-m", model, "-o", tmp_path / "m/ids", "--doc", "line", "--format", "megatron"
    )
    assert "uint32" in output
    name = next((tmp_path / "m").glob("*.idx")).stem
    assert readers.megatron(tmp_path / "m", name) == expected(model)
