"""Byte-level BPE converted to tokenizer.json, to tiktoken's ranks, and to vocab.json with merges.txt."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import rank_files
from toys.rank_files import RANKS, SPECIAL, TEXTS

from pyunitok import Tokenizer
from pyunitok._c.library import MODEL_FLAGS
from pyunitok.errors import OutputError, VocabularyError
from pyunitok.vocab import byte_convert, merges, ranks
from pyunitok.vocab.convert import convert
from pyunitok.vocab.vocabulary import NORMAL, Vocabulary

LISTED = MODEL_FLAGS["bytes"] | MODEL_FLAGS["pattern"] | MODEL_FLAGS["listed_merges"]


@pytest.fixture
def native(tmp_path: Path) -> Path:
    path = rank_files.write(tmp_path / "toy.tiktoken")
    tokenizer = Tokenizer.from_file(path, pattern="cl100k", special_tokens={**SPECIAL, "<|hole|>": 310})
    tokenizer.save(tmp_path / "toy.utk")
    return tmp_path / "toy.utk"


def test_tokenizer_json(native: Path, tmp_path: Path) -> None:
    library = pytest.importorskip("tokenizers")
    assert convert(native, tmp_path / "tokenizer.json", "huggingface") == []
    own, other = Tokenizer.from_file(native), library.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*TEXTS, "a<|hole|>b"]:
        assert own.encode(text).tolist() == other.encode(text, add_special_tokens=False).ids


def test_ranks(native: Path, tmp_path: Path) -> None:
    notes = convert(native, tmp_path / "a.tiktoken", "tiktoken")
    assert "pattern" in notes[0] and "'<|endoftext|>': 300" in notes[1]
    lines = (tmp_path / "a.tiktoken").read_bytes().split()
    assert {b64decode(piece): int(rank) for piece, rank in zip(lines[::2], lines[1::2], strict=True)} == RANKS
    copied = tmp_path / "b.tiktoken"
    assert convert(tmp_path / "a.tiktoken", copied, "tiktoken", pattern="gpt2") == []
    assert copied.read_bytes() == (tmp_path / "a.tiktoken").read_bytes()


def test_vocab_merges(native: Path, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    folder = tmp_path / "folder"
    notes = convert(native, folder, "vocab-merges")
    assert [note for note in notes if "pattern" in note] and [note for note in notes if "ignore_merges" in note]
    assert sorted(path.name for path in folder.iterdir()) == ["merges.txt", "tokenizer_config.json", "vocab.json"]
    own, again = Tokenizer.from_file(native), Tokenizer.from_file(folder, pattern="llama3", special_tokens=SPECIAL)
    for text in TEXTS:
        assert own.encode(text).tolist() == again.encode(text).tolist()
    assert Tokenizer.from_file(folder, pattern="llama3").encode("<|hole|>").tolist() == [310]
    with pytest.raises(OutputError, match="exists; --overwrite"):
        convert(native, folder, "vocab-merges")
    convert(native, folder, "vocab-merges", overwrite=True)
    with pytest.raises(OutputError, match="is a file; name a folder"):
        convert(native, native.with_suffix(".tiktoken"), "vocab-merges", overwrite=True)


def test_gpt2s_pattern_needs_no_note(tmp_path: Path) -> None:
    path = rank_files.write(tmp_path / "toy.tiktoken")
    notes = convert(path, tmp_path / "folder", "vocab-merges", pattern="gpt2")
    assert len(notes) == 1 and notes[0].endswith("1 piece that no merge creates can no longer match")
    config = json.loads((tmp_path / "folder/tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == "GPT2Tokenizer"


def listed(pairs: list[tuple[bytes, bytes]], ids: dict[bytes, int], flags: int = LISTED) -> Vocabulary:
    pieces = [*ids]
    numbers = [ids[a] for a, _ in pairs] + [ids[b] for _, b in pairs] + [ids[a + b] for a, b in pairs]
    return Vocabulary.pack(
        pieces, np.array([*ids.values()], np.int64), eod_id=None, eod_piece=None, name="toy", kind="bpe", flags=flags,
        types=np.full(len(pieces), NORMAL, np.uint8), merges=np.array(numbers, np.int64), pattern=b"o\\w+|\\W+",
    )  # fmt: skip


BYTES = {bytes([byte]): byte for byte in range(256)}


@pytest.mark.parametrize(
    ("pairs", "pieces", "message"),
    [
        ([(b"a", b"b"), (b"c", b"d")], [b"cd", b"ab"], "in the order of the ids"),
        ([(b"a", b"b"), (b"ab", b"c")], [b"ab", b"abc"], None),
        # The list has no merge for "bc", so "abc" is merged from "ab" and "c"; by rank, "bc" would come first.
        ([(b"a", b"b"), (b"ab", b"c")], [b"bc", b"ab", b"abc"], None),
        ([(b"a", b"b")], [b"ab", b"xyz"], None),
    ],
)
def test_ranks_from_listed_merges(pairs: Any, pieces: list[bytes], message: str | None) -> None:
    vocabulary = listed(pairs, BYTES | {piece: 256 + k for k, piece in enumerate(pieces)})
    if message is not None:
        with pytest.raises(VocabularyError, match=message):
            byte_convert.tiktoken_ranks(vocabulary)
        return
    lines = byte_convert.tiktoken_ranks(vocabulary).split()
    found = {b64decode(piece): int(rank) for piece, rank in zip(lines[::2], lines[1::2], strict=True)}
    # Pieces that no merge produces are omitted.
    assert set(found) - set(BYTES) == {left + right for left, right in pairs}
    own = Tokenizer(vocabulary.build(), vocabulary.about("toy"))
    model = ranks.vocabulary(found, vocabulary.pattern, {}, "toy")
    other = Tokenizer(model.build(), model.about("toy"))
    for text in ("abc", "bcabc", "xyz ab", "cdab"):
        assert own.encode(text).tolist() == other.encode(text).tolist()


def test_ranks_that_would_merge_differently() -> None:
    ids = BYTES | {b"bc": 256, b"ab": 257, b"abc": 258}
    vocabulary = listed([(b"a", b"b"), (b"ab", b"c")], ids, LISTED | MODEL_FLAGS["ignore_merges"])
    with pytest.raises(VocabularyError, match="tiktoken would merge b'bc'"):
        byte_convert.tiktoken_ranks(vocabulary)


def test_ranks_survive_conversion_to_merges() -> None:
    found = merges.by_rank(RANKS, RANKS)
    vocabulary = listed([*found.values()], RANKS, LISTED | MODEL_FLAGS["ignore_merges"])
    assert len(byte_convert.tiktoken_ranks(vocabulary).splitlines()) == len(RANKS)


def test_other_models(tmp_path: Path) -> None:
    for to in ("tiktoken", "vocab-merges"):
        with pytest.raises(VocabularyError, match="must be byte-level BPE"):
            convert("unitok-v1", tmp_path / "x", to)
