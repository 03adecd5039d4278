"""Byte-level tokenizer.json files compared with tokenizers: the real files in the folder that the environment variable
PYUNITOK_MODELS names, if it is set, and the small files in golden/byte_level, whose ids never change.

`PYTHONPATH=.:tests python tests/test_byte_level_files.py` adds missing golden files; it never changes existing ones.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import SHARED, fewer, find_shared
from hypothesis import given
from hypothesis import strategies as st
from toys import byte_level_files, byte_texts

import pyunitok
from pyunitok import Tokenizer
from pyunitok.cli import cli
from pyunitok.errors import InputError, ModelFormatError, VocabularyError
from pyunitok.model.tokenizer import from_vocabulary
from pyunitok.vocab import open_model, patterns
from pyunitok.vocab.convert import convert
from pyunitok.vocab.huggingface import file as huggingface
from pyunitok.vocab.huggingface.byte_rules import ByteRules
from pyunitok.vocab.vocabulary import Vocabulary

pytestmark = pytest.mark.filterwarnings("ignore::pyunitok.errors.ModelWarning")

GOLDEN = Path(__file__).parent / "golden" / "byte_level"
IDS = GOLDEN / "ids.jsonl"  # a line for each file: its name and the ids of byte_texts.GOLDEN
FOLDER = Path(os.environ.get("PYUNITOK_MODELS", "nowhere"))
REAL = sorted(FOLDER.glob("*.json"))
FILES = [*sorted(GOLDEN.glob("*.json")), *REAL]
DELEGATED = {"clip_base", "falcon", "gemma3"}  # the real files that C does not support
CORPORA = sorted((SHARED / "data/corpora").glob("*.txt.zst"))
EXPENSIVE = os.environ.get("HYPOTHESIS_PROFILE") == "expensive"

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
every_real_file = pytest.mark.parametrize("path", REAL or [None], ids=lambda path: path.stem if path else "none")


@cache
def opened(path: Path) -> Tokenizer:
    return Tokenizer.from_file(path)


@cache
def theirs(path: Path) -> Any:
    return pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))


@cache
def added(path: Path) -> list[str]:
    return [token["content"] for token in json.loads(path.read_bytes())["added_tokens"]]


@every_file
def test_for_c(path: Path) -> None:
    assert isinstance(opened(path).codec.rules, ByteRules) == (path.stem not in DELEGATED)


def check(tokenizer: Tokenizer, other: Any, text: str) -> None:
    found = other.encode(text, add_special_tokens=False)
    ids, spans = tokenizer.encode_with_offsets(text)
    assert tokenizer.encode(text).tolist() == found.ids == ids.tolist(), ascii(text)
    assert list(map(tuple, spans.tolist())) == found.offsets, ascii(text)
    assert tokenizer.encode_as_pieces(text) == found.tokens, ascii(text)
    assert tokenizer.encode(text, add_special=True).tolist() == other.encode(text).ids, ascii(text)
    other.encode_special_tokens = True
    try:
        expected = other.encode(text, add_special_tokens=False).ids
    finally:
        other.encode_special_tokens = False
    assert tokenizer.encode(text, special=False).tolist() == expected, ascii(text)
    for skip in (True, False):
        decoded = other.decode(found.ids, skip_special_tokens=skip)
        assert tokenizer.decode(found.ids, "replace", skip_special=skip) == decoded, ascii(text)


@every_file
@fewer(4)
@given(seed=st.integers(0, 2**32))
def test_hard_texts(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        check(opened(path), theirs(path), byte_texts.text(rng, added(path)))


@every_real_file
def test_corpora(path: Path | None) -> None:
    """Encodes a few documents of each corpus, or all of them with HYPOTHESIS_PROFILE=expensive."""
    import zstandard

    find_shared("corpora")
    if path is None:
        pytest.skip("PYUNITOK_MODELS is not a folder with tokenizer.json files")
    tokenizer, other = opened(path), theirs(path)
    for corpus in CORPORA:
        with corpus.open("rb") as file:
            text = zstandard.ZstdDecompressor().stream_reader(file).read(8 << 20 if EXPENSIVE else 20_000)
        texts = [text[at : at + 6000].decode("utf-8", "ignore") for at in range(0, len(text), 6000)]
        expected = [item.ids for item in other.encode_batch_fast(texts, add_special_tokens=False)]
        assert [ids.tolist() for ids in tokenizer.encode_batch(texts)] == expected, corpus.stem
        assert tokenizer.decode_batch(expected, "replace") == other.decode_batch(expected), corpus.stem
        check(tokenizer, other, texts[0])


@every_file
def test_random_ids_decode_alike(path: Path) -> None:
    tokenizer, other = opened(path), theirs(path)
    rng = random.Random(1)
    known = [id_ for id_ in range(tokenizer.vocab_size) if other.id_to_token(id_) is not None]
    for _ in range(100):
        ids = rng.choices(known, k=rng.randrange(8))
        for skip in (True, False):
            decoded = other.decode(ids, skip_special_tokens=skip)
            assert tokenizer.decode(ids, "replace", skip_special=skip) == decoded, ids


@every_file
def test_invalid_utf8(path: Path) -> None:
    """An invalid byte is a token or part of one; the pattern treats it as U+FFFD."""
    tokenizer = opened(path)
    if not isinstance(tokenizer.codec.rules, ByteRules) or tokenizer.codec.rules._absent:
        pytest.skip("not all 256 bytes have a piece")
    rng = random.Random(2)
    for _ in range(200):
        data = bytes(rng.choices(b"\xff\xc3\xa9\xe3\x81\x82ab 1\n\xf0\x9f", k=rng.randrange(12)))
        ids, spans = tokenizer.encode_with_offsets(data)
        assert ids.tolist() == tokenizer.encode(data).tolist()
        if not tokenizer.codec.rules._settings.steps.prefix_space:
            assert tokenizer.decode_bytes(ids) == data
        assert all(0 <= begin <= end <= len(data) for begin, end in spans.tolist())
        back = tokenizer.decode_bytes(ids).decode("utf-8", "replace")
        assert tokenizer.decode(ids, "replace") == back


@every_file
def test_saved_and_pickled(path: Path, tmp_path: Path) -> None:
    tokenizer = opened(path)
    tokenizer.save(tmp_path / "t.utk")
    rng = random.Random(3)
    texts = [byte_texts.text(rng, added(path)) for _ in range(50)]
    for again in (Tokenizer.from_file(tmp_path / "t.utk"), pickle.loads(pickle.dumps(tokenizer))):
        for text in texts:
            ids = tokenizer.encode(text, add_special=True).tolist()
            assert again.encode(text, add_special=True).tolist() == ids
            assert again.encode(text, special=False).tolist() == tokenizer.encode(text, special=False).tolist()
            assert again.decode(ids, "replace") == tokenizer.decode(ids, "replace")


@every_file
def test_converted_files(path: Path, tmp_path: Path) -> None:
    """tokenizers reads the file that convert writes and gives the same ids."""
    result = CliRunner().invoke(cli, ["convert", str(path), str(tmp_path / "t.json"), "--to", "huggingface"])
    assert result.exit_code == 0, result.output
    tokenizer, other = opened(path), theirs(tmp_path / "t.json")
    rng = random.Random(4)
    for text in (byte_texts.text(rng, added(path)) for _ in range(50)):
        assert other.encode(text).ids == tokenizer.encode(text, add_special=True).tolist(), ascii(text)


@every_file
def test_round_trips(path: Path, tmp_path: Path) -> None:
    """A folder with vocab.json, and a file of ranks opened as the conversion's notes say, give the same ids again."""
    vocabulary = Vocabulary.of(*open_model(path))
    prepare = vocabulary.prepare or {}
    tokenizer, rng = opened(path), random.Random(6)
    texts = [byte_texts.text(rng, added(path)) for _ in range(50)]
    expected = [tokenizer.encode(text).tolist() for text in texts]
    if path.stem in DELEGATED:
        with pytest.raises(VocabularyError, match="must be byte-level BPE that the C library supports"):
            convert(path, tmp_path / "folder", "vocab-merges")
        return
    notes = convert(path, tmp_path / "folder", "vocab-merges")
    if not any("ignore_merges is lost" in note for note in notes):
        assert [Tokenizer.from_file(tmp_path / "folder").encode(text).tolist() for text in texts] == expected
    check_vocab_merges(tmp_path / "folder", path, texts)
    try:
        notes = convert(path, tmp_path / "t.tiktoken", "tiktoken")
    except VocabularyError as error:
        reasons = (
            "has no piece, but tiktoken requires all 256|tiktoken merges in the order of the ids|tiktoken would merge"
        )
        assert re.search(reasons, str(error))
        return
    assert any("normalizer" in note for note in notes) == (prepare["normalizer"] is not None)
    if re.search("cannot express|normalizer|add_prefix_space", " ".join(notes)) or any(
        token[key] for token in prepare["added_tokens"] for key in ("lstrip", "rstrip", "single_word")
    ):
        return
    tokens = {token["content"]: token["id"] for token in prepare["added_tokens"]}
    pattern = patterns.shown(vocabulary.pattern)
    assert pattern in notes[0]
    again = Tokenizer.from_file(tmp_path / "t.tiktoken", pattern=pattern, special_tokens=tokens)
    assert [again.encode(text).tolist() for text in texts] == expected
    check_ranks(tmp_path / "t.tiktoken", pattern, [text for text in texts if not any(map(text.__contains__, tokens))])


def check_vocab_merges(folder: Path, path: Path, texts: list[str]) -> None:
    """Compare the ids of `path` to those of tokenizers with the BPE in vocab.json and merges.txt."""
    library = pytest.importorskip("tokenizers")
    model = library.models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    document = json.loads(library.Tokenizer(model).to_str())
    original = json.loads(path.read_bytes())
    document |= {key: original[key] for key in ("normalizer", "pre_tokenizer", "added_tokens")}
    document["model"]["ignore_merges"] = original["model"].get("ignore_merges", False)
    other = library.Tokenizer.from_str(json.dumps(document))
    for text in texts:
        assert other.encode(text).ids == theirs(path).encode(text, add_special_tokens=False).ids


def check_ranks(file: Path, pattern: str, texts: list[str]) -> None:
    library = pytest.importorskip("tiktoken")
    load = pytest.importorskip("tiktoken.load").load_tiktoken_bpe
    tokenizer = Tokenizer.from_file(file, pattern=pattern, special_tokens={})
    row = patterns.PATTERNS.get(pattern, patterns.NamedPattern((pattern,)))
    if len(row.parts) > 1:
        return
    regex = row.tiktoken or row.parts[0]
    other = library.Encoding("other", pat_str=regex, mergeable_ranks=load(str(file)), special_tokens={})
    for text in texts:
        assert other.encode_ordinary(text) == tokenizer.encode(text).tolist()


@every_file
def test_tokenize_and_detokenize(path: Path, tmp_path: Path) -> None:
    rng = random.Random(5)
    lines = [byte_texts.text(rng, added(path)).replace("\n", " ").replace("\r", " ") for _ in range(200)]
    text, out, back = tmp_path / "in.txt", tmp_path / "out.ids", tmp_path / "back.txt"
    text.write_text("\n".join(lines) + "\n")
    tokenizer = opened(path)
    eod = [] if tokenizer.eod_id is not None else ["--eod", "none"]
    command = ["tokenize", str(text), "-m", str(path), "-o", str(out), "--doc", "line", "--block", "1K", "--verify"]
    result = CliRunner().invoke(cli, [*command, *eod])
    assert result.exit_code == 0, result.output
    array = pyunitok.open(out)
    end = [] if tokenizer.eod_id is None else [tokenizer.eod_id]
    expected = [[*tokenizer.encode(line).tolist(), *end] for line in lines]
    assert [array[k].tolist() for k in range(len(array))] == expected
    for command in (["verify", str(out), str(text), "-m", str(path)],
                    ["detokenize", str(out), "-m", str(path), "-o", str(back)]):  # fmt: skip
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
    assert back.read_bytes().decode("utf-8", "replace").split("\n")[:-1] == [
        tokenizer.decode(tokenizer.encode(line), "replace") for line in lines
    ]


# ------------------------------------------------------------------------------------------------ random files ----


def panics(other: Any, text: str) -> bool:
    """Whether tokenizers panics, as it does if a token begins in whitespace that the previous token has stripped."""
    try:
        other.encode(text)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return True
    return False


@fewer(2)
@given(seed=st.integers(0, 2**32))
def test_random_files(seed: int) -> None:
    reference = pytest.importorskip("tokenizers")
    rng = random.Random(seed)
    document = byte_level_files.random_document(rng)
    try:
        tokenizer = from_vocabulary(huggingface.read(json.dumps(document).encode(), "t.json"))
    except VocabularyError as error:
        assert str(error).startswith("t.json: ")
        return
    other = reference.Tokenizer.from_str(json.dumps(document))
    names = [token["content"] for token in document["added_tokens"]]
    texts = [byte_texts.text(rng, names) for _ in range(10)]
    texts = [text for text in texts if not panics(other, text)]
    for text in texts:
        check(tokenizer, other, text)
    assert [ids.tolist() for ids in tokenizer.encode_batch(texts)] == [tokenizer.encode(t).tolist() for t in texts]


# ----------------------------------------------------------------------------------------------- damaged files ----


def test_a_template_id_without_a_piece() -> None:
    """Regression: the file opened, and encode(add_special=True) raised OverflowError."""
    processor = byte_level_files.template([("<s>", 2**32 - 1)], [])
    document = byte_level_files.document(
        byte_level_files.bpe(), byte_level_files.byte_level(), post_processor=processor
    )
    vocabulary = huggingface.read(json.dumps(document).encode(), "t.json")
    with pytest.raises(ModelFormatError, match="post_processor: id 4294967295 has no piece; the largest"):
        from_vocabulary(vocabulary)


def test_a_template_that_cannot_be_applied() -> None:
    """`tokenizers` panics when it applies a template that refers to the second text of a pair."""
    part = {"Sequence": {"id": "B", "type_id": 0}}
    processor = byte_level_files.template([], []) | {"single": [part]}
    document = byte_level_files.document(
        byte_level_files.bpe(), byte_level_files.byte_level(), post_processor=processor
    )
    tokenizer = from_vocabulary(huggingface.read(json.dumps(document).encode(), "t.json"))
    with pytest.raises(InputError, match="cannot encode the text that begins with 'hello'"):
        tokenizer.encode("hello")


@pytest.mark.parametrize("field, value", [("fuse_unk", 1), ("byte_fallback", "no"), ("unk_token", 3)])
def test_a_field_of_the_wrong_type(field: str, value: Any) -> None:
    """Regression: fields that do not affect the ids were not checked, so files opened that `tokenizers` rejects."""
    model = byte_level_files.bpe() | {field: value}
    document = byte_level_files.document(model, byte_level_files.byte_level())
    with pytest.raises(VocabularyError, match=f"t.json: model.{field}: expected "):
        huggingface.read(json.dumps(document).encode(), "t.json")


def test_one_large_id() -> None:
    """Regression: opening took seconds, because `tokenizers` was asked for the piece of every id up to the largest."""
    library = pytest.importorskip("tokenizers").Tokenizer
    model = byte_level_files.bpe()
    model["vocab"]["large"] = 4_194_303
    split = byte_level_files.split("e", "MergedWithPrevious")  # not supported in C
    data = json.dumps(byte_level_files.document(model, byte_level_files.sequence(split)))
    tokenizer = from_vocabulary(huggingface.read(data.encode(), "t.json"))
    assert tokenizer.vocab_size == 4_194_304
    assert tokenizer.encode("hello").tolist() == library.from_str(data).encode("hello", add_special_tokens=False).ids


# -------------------------------------------------------------------------------------------------- golden ids ----


def golden_ids() -> dict[str, list[list[int]]]:
    return dict(map(json.loads, IDS.read_text().splitlines())) if IDS.exists() else {}


@pytest.mark.parametrize("name", golden_ids())
def test_golden_ids(name: str) -> None:
    tokenizer = opened(GOLDEN / f"{name}.json")
    found = [tokenizer.encode(text, add_special=True).tolist() for text in byte_texts.GOLDEN]
    assert found == golden_ids()[name]


def test_golden_files_cover_all_families() -> None:
    assert set(golden_ids()) == set(byte_level_files.families()) == {path.stem for path in GOLDEN.glob("*.json")}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for family, document in byte_level_files.families().items():
        path = GOLDEN / f"{family}.json"
        if not path.exists():
            path.write_text(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
            ids = [theirs(path).encode(text).ids for text in byte_texts.GOLDEN]
            with IDS.open("a") as lines:
                lines.write(json.dumps([family, ids], separators=(",", ":")) + "\n")
