"""pyunitok.compat.rwkv compared with the rwkv package (its rwkv_tokenizer.py) and pyrwkv_tokenizer."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st

from pyunitok.compat.rwkv import RWKV_TOKENIZER, TRIE_TOKENIZER, RWKVTokenizer, WorldTokenizer
from pyunitok.errors import IdError, VocabularyError

WORDS = st.sampled_from(["Hello", " world", "日本", "\n\n", "  "])
TEXTS = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=20).map("".join))


@pytest.fixture(scope="module")
def trie(rwkv_path: Path) -> TRIE_TOKENIZER:
    return TRIE_TOKENIZER(rwkv_path)


@pytest.fixture(scope="module")
def reference(rwkv_path: Path) -> Any:
    """TRIE_TOKENIZER of the rwkv package, loaded without the package's other modules, which need torch."""
    try:
        files = metadata.files("rwkv") or []
    except metadata.PackageNotFoundError:
        pytest.skip("rwkv is not installed")
    path = next(Path(str(file.locate())) for file in files if file.name == "rwkv_tokenizer.py")
    spec = importlib.util.spec_from_file_location("rwkv_tokenizer", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TRIE_TOKENIZER(str(rwkv_path))


@pytest.fixture(scope="module")
def world() -> tuple[RWKVTokenizer, Any]:
    pyrwkv_tokenizer = pytest.importorskip("pyrwkv_tokenizer")
    return RWKVTokenizer(), pyrwkv_tokenizer.RWKVTokenizer()


def test_vocabulary_of_rwkv(trie: TRIE_TOKENIZER, reference: Any) -> None:
    assert trie.idx2token == reference.idx2token
    assert trie.token2idx == reference.token2idx


@given(data=st.one_of(st.binary(max_size=40), TEXTS.map(str.encode)))
def test_bytes_match_rwkv(trie: TRIE_TOKENIZER, reference: Any, data: bytes) -> None:
    ids = trie.encodeBytes(data)
    assert ids == reference.encodeBytes(data) and all(type(id_) is int for id_ in ids)
    assert trie.decodeBytes(ids) == data
    assert trie.decode(ids) == reference.decode(ids)


@given(ids=st.lists(st.one_of(st.integers(0, 300), st.integers(0, 70000)), max_size=10))
def test_any_ids_match_rwkv(trie: TRIE_TOKENIZER, reference: Any, ids: list[int]) -> None:
    assert trie.decode(ids) == reference.decode(ids)
    try:
        expected = reference.decodeBytes(ids)
    except KeyError:
        with pytest.raises(KeyError):
            trie.decodeBytes(ids)
    else:
        for form in (ids, iter(ids), np.array(ids, np.int64)):
            assert trie.decodeBytes(form) == expected


def test_print_tokens_matches_rwkv(trie: TRIE_TOKENIZER, reference: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [*trie.encode("Hello 日本\n"), 228]
    trie.printTokens(ids)
    ours = capsys.readouterr().out
    reference.printTokens(ids)
    assert ours == capsys.readouterr().out


def test_trie_tokenizer(trie: TRIE_TOKENIZER, rwkv_path: Path, tmp_path: Path) -> None:
    assert trie.encode("Hello") == [33155] and trie.decode([33155]) == "Hello"
    assert trie.decodeBytes([228]) == b"\xe3" and trie.decode([228]) == trie.decode([0]) == "\ufffd"
    assert RWKV_TOKENIZER(str(rwkv_path)).encode("") == []
    with pytest.raises(KeyError):
        trie.decodeBytes([70000])
    with pytest.raises(UnicodeEncodeError):
        trie.encode("\ud800")
    with pytest.raises(TypeError):
        trie.encodeBytes("text")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        TRIE_TOKENIZER(tmp_path / "missing.txt")


@fewer(2)
@given(texts=st.lists(TEXTS, max_size=5))
def test_texts_match_pyrwkv_tokenizer(world: tuple[RWKVTokenizer, Any], texts: list[str]) -> None:
    ours, theirs = world
    assert ours.encode_batch(texts) == theirs.encode_batch(texts) == [ours.encode(text) for text in texts]
    for text in texts:
        assert ours.decode(ours.encode(text)) == theirs.decode(ours.encode(text)) == text


def test_vocabulary_of_pyrwkv_tokenizer(world: tuple[RWKVTokenizer, Any]) -> None:
    ours, theirs = world
    assert ours.vocab_size() == theirs.vocab_size() == 65530
    expected = theirs.get_vocab()
    expected.pop("Binary string (TODO)", None)  # pyrwkv's placeholder for pieces that are not UTF-8
    assert ours.get_vocab() == expected
    assert ours.decode([1, 0, 2]) == theirs.decode([1, 0, 2]) == "\0\0\1"
    assert ours.decode(np.array([33155, 45])) == theirs.decode((33155, 45))
    for wrong in [b"a", 5, None]:
        for tokenizer in world:
            with pytest.raises(TypeError):
                tokenizer.encode(wrong)
            with pytest.raises(TypeError):
                tokenizer.encode_batch([wrong])
            with pytest.raises(TypeError):
                tokenizer.encode_batch("text")


def test_world_tokenizer(rwkv_path: Path) -> None:
    tokenizer = WorldTokenizer(rwkv_path)
    assert tokenizer.encode("Hello,") == RWKVTokenizer(vocab_filepath=rwkv_path).encode("Hello,") == [33155, 45]
    with pytest.raises(IdError):
        tokenizer.decode([65535])
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode([228])
    with pytest.raises(TypeError):
        tokenizer.decode("text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Other"):
        RWKVTokenizer("Other")


def test_a_file_that_is_not_a_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.txt"
    path.write_text("1 'a' 2\n", encoding="utf-8")
    with pytest.raises(VocabularyError):
        TRIE_TOKENIZER(path)
