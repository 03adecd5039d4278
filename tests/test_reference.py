"""Ids compared with pyrwkv-tokenizer 0.9.1, on documents of many sizes, with every instruction set."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CPUS, ENGINES, SHARED, decompressed, find_shared
from hypothesis import given
from hypothesis import strategies as st

from pyunitok import Packed, Tokenizer

reference_module = pytest.importorskip("pyrwkv_tokenizer", reason="pyrwkv-tokenizer is not installed")

CORPORA = sorted(path.name for path in (SHARED / "data/corpora").glob("*.zst"))
BYTES_OF_A_CORPUS = 1_000_000


@pytest.fixture(scope="module")
def reference() -> Any:
    return reference_module.RWKVTokenizer()


@pytest.fixture(scope="module")
def tokenizers(rwkv_path: Path) -> list[Tokenizer]:
    ret = [Tokenizer.from_file(rwkv_path, cpu=cpu) for cpu in CPUS]
    return [*ret, *(Tokenizer.from_file(rwkv_path, engine=engine) for engine in ENGINES[1:])]


def documents(text: str, rng: random.Random) -> list[str]:
    """The text, split at random into documents of 1 to 10,000 characters."""
    ret, at = [], 0
    while at < len(text):
        n = int(10 ** rng.uniform(0, 4))
        ret.append(text[at : at + n])
        at += n
    return ret


def check(docs: list[str], tokenizers: list[Tokenizer], reference: Any) -> None:
    expected = [reference.encode(doc) for doc in docs]
    data = np.fromiter((i for ids in expected for i in ids), np.uint16)
    wanted = Packed(data, np.cumsum([0, *map(len, expected)], dtype=np.int64))
    for tok in tokenizers:
        found = tok.encode_batch(docs)
        if found != wanted:  # to name the document in the error
            for doc, ids, right in zip(docs, found, expected, strict=True):
                assert ids.tolist() == right, (tok, doc)
        assert [item.tobytes() for item in tok.decode_bytes_batch(found)] == [doc.encode() for doc in docs]


@pytest.mark.parametrize("name", CORPORA)
def test_corpus(name: str, tokenizers: list[Tokenizer], reference: Any) -> None:
    rng = random.Random(name)
    data = decompressed(find_shared(f"corpora/{name}"), 6_000_000)
    at = rng.randrange(max(1, len(data) - BYTES_OF_A_CORPUS))
    docs = documents(data[at : at + BYTES_OF_A_CORPUS].decode("utf-8", "replace"), rng)
    check(docs, tokenizers, reference)


def test_hard_texts(tokenizers: list[Tokenizer], reference: Any) -> None:
    rng = random.Random(4)
    pieces = [tokenizers[0].id_to_piece(i) for i in range(1, 65530)]
    docs = [" " * n for n in range(300)] + ["\n" * n for n in range(70)] + ["ab " * n for n in range(60)]
    docs += ["".join(rng.choices(pieces, k=rng.randrange(200))) for _ in range(500)]
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    docs += ["".join(rng.choices(characters, k=50)) for _ in range(500)]
    docs += ["".join(chr(rng.randrange(128)) for _ in range(rng.randrange(200))) for _ in range(500)]
    docs += ["a" * 100_000, "あ" * 30_000, "\0" * 5000, "'s" * 5000, "<|endoftext|>"]
    check(docs, tokenizers, reference)


@given(st.lists(st.text(), max_size=5))
def test_any_text(tokenizers: list[Tokenizer], reference: Any, docs: list[str]) -> None:
    check(docs, tokenizers, reference)


def test_sample(tokenizers: list[Tokenizer], reference: Any) -> None:
    """The sample corpus of the repository, which does not require the shared data."""
    text = decompressed(Path(__file__).parent / "data/sample.jsonl.zst").decode()
    check(documents(text[:600_000], random.Random(1)), tokenizers, reference)
