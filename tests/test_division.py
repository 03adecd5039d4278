"""Long documents of byte-level models are encoded in parts: the ids are those of the complete document."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st
from toys import byte_level_files, byte_texts, rank_files, text_models
from toys.byte_level_files import QWEN2

import pyunitok
from pyunitok import Tokenizer
from pyunitok._c.text import is_normal_around
from pyunitok.errors import UnitokError
from pyunitok.model.tokenizer import from_vocabulary
from pyunitok.vocab import ranks, unicode9
from pyunitok.vocab.huggingface.byte_rules import ByteRules

pytestmark = pytest.mark.filterwarnings("ignore::pyunitok.errors.ModelWarning")

GOLDEN = Path(__file__).parent / "golden" / "byte_level"
FILES = sorted(GOLDEN.glob("*.json"))
UNDIVIDED = {"undivided"}  # a model with no pattern and with a long piece that no merge creates

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@cache
def opened(path: Path) -> Tokenizer:
    return Tokenizer.from_file(path)


@cache
def tokens_of(path: Path) -> list[str]:
    return [token["content"] for token in json.loads(path.read_bytes())["added_tokens"]]


def long_text(rng: random.Random, tokens: list[str], n: int = 12) -> bytes:
    """Hard texts, joined; some are followed by invalid bytes or by spaces."""
    parts = [byte_texts.text(rng, tokens).encode() for _ in range(n)]
    for k in range(0, n, 3):
        parts[k] += rng.choice([b"\xff", b"\xc3", b"\xe3\x81", b"\x80a", b"", b"  ", b" \n", "\u3000 ".encode()])
    return b"".join(parts)


def check(tokenizer: Tokenizer, rng: random.Random, text: bytes) -> None:
    for block in (3, 40):
        assert text_models.encode_in_parts(tokenizer, rng, text, block) == tokenizer.encode(text).tolist(), text


@every_file
@fewer(4)
@given(seed=st.integers(0, 2**32))
def test_parts_of_a_document(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        check(opened(path), rng, long_text(rng, tokens_of(path)))


@fewer(2)
@given(seed=st.integers(0, 2**32))
def test_random_files(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = random.Random(seed)
    document = byte_level_files.random_document(rng)
    path = tmp_path_factory.mktemp("random") / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        tokenizer = Tokenizer.from_file(path)
    except UnitokError:
        return
    if isinstance(tokenizer.codec.rules, ByteRules):
        tokens = [token["content"] for token in document["added_tokens"]]
        for _ in range(5):
            check(tokenizer, rng, long_text(rng, tokens))


@every_file
def test_tokens_at_every_position(path: Path) -> None:
    """A token, with and without spaces around it, is moved across the cuts of a text."""
    tokenizer, rng = opened(path), random.Random(1)
    text = "the hello  world\r\n\r\n été 日本語 a1 12345 e\u0301x 's the\u3000 y".encode()
    for token in tokens_of(path) or ["the"]:
        for sides in (b"", b" ", b"\n\n"):
            middle = sides + token.encode() + sides
            for at in [k for k in range(len(text) + 1) if k == len(text) or text[k] & 0xC0 != 0x80]:
                whole = text[:at] + middle + text[at:]
                assert text_models.encode_in_parts(tokenizer, rng, whole, 60) == tokenizer.encode(whole).tolist(), whole


@every_file
def test_prose_is_divided(path: Path) -> None:
    text = "the hello world of été, 日本語 and 12345 words.\n".encode() * 100
    found = opened(path).codec.split(text)
    assert (found > len(text) - 200) == (path.stem not in UNDIVIDED), found


@pytest.mark.parametrize("token", [{}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}])
@pytest.mark.parametrize("form", [None, "NFC", "NFKC"])
def test_beside_a_token(token: dict[str, bool], form: str | None, tmp_path: Path) -> None:
    """No part ends next to a token or, if the token strips spaces, after a space."""
    document = byte_level_files.document(
        byte_level_files.bpe(), byte_level_files.byte_level(), normalizer=form and {"type": form},
        added_tokens=[byte_level_files.token(0, "<m>", **token), byte_level_files.token(0, "<n>", normalized=True)],
    )  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    tokenizer = Tokenizer.from_file(tmp_path / "tokenizer.json")
    for spaces in ("", " ", "\n \n"):
        for name in ("<m>", "<n>"):
            text = f"the{spaces}{name}{spaces}world".encode()
            at = tokenizer.codec.split(text + b" hello" * 20 + b"x" * 40)
            assert at > len(text) and at != len(text)
            ends = {tokenizer.codec.split(text + b"x" * n) for n in range(200)}
            begin = text.index(name.encode())
            assert not ends & {begin, begin + 3}, (text, ends)


def test_marks_stay_with_their_letter(tmp_path: Path) -> None:
    """NFC composes letters and marks: no text is divided between them, or where later text may change a character."""
    tokenizer = opened(GOLDEN / "qwen2.json")
    for text in ("e\u0301", "\u1112\u1161\u11ab", "か\u3099", "a\u0323\u0301", "한\u11ab"):
        data = ("x" * 100 + ". " + text + ". " + "y" * 100).encode()
        for n in range(len(data)):
            at = tokenizer.codec.split(data[:n])
            left, right = data[:at], data[at:]
            assert unicode9.normalize(left, "NFC") + unicode9.normalize(right, "NFC") == unicode9.normalize(data, "NFC")
    assert tokenizer.codec.split(("a\u0301" * 500).encode()) == 0


def test_boundaries_of_normalization() -> None:
    """If is_normal_around() allows a cut, dividing the text there does not change its normal form."""
    rng = random.Random(4)
    lively = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000 and not is_inert(chr(c))]
    n_divided = 0
    for form in ("NFC", "NFKC"):
        for _ in range(20_000):
            text = "".join(rng.choice(lively) if rng.random() < 0.4 else byte_texts.character(rng) for _ in range(6))
            data = ("ab" + text + "ab").encode()
            for at in range(1, len(data)):
                if data[at] & 0xC0 != 0x80 and is_normal_around(data, at, 1, form):
                    n_divided += 1
                    parts = (unicode9.normalize(part, form) for part in (data[:at], data[at:]))
                    assert b"".join(parts) == unicode9.normalize(data, form), (ascii(text), at)
    assert n_divided > 20_000


def is_inert(character: str) -> bool:
    return unicodedata.combining(character) == 0 and unicodedata.normalize("NFKD", character) == character


# ------------------------------------------------------------------------------------------ models by rank -----


def rank_model(folder: Path, *, pattern: str = "cl100k", special: dict[str, int] | None = None) -> Tokenizer:
    path = rank_files.write(folder / "toy.tiktoken")
    return Tokenizer.from_file(path, pattern=pattern, special_tokens=rank_files.SPECIAL if special is None else special)


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "tekken", "dsv3", "kimi"])
def test_ranks(pattern: str, tmp_path: Path) -> None:
    rng = random.Random(2)
    tokenizer = rank_model(tmp_path, pattern=pattern)
    text = b" the thing and banding, " * 20
    assert tokenizer.codec.split(text) > len(text) - 60
    for _ in range(60):
        check(tokenizer, rng, long_text(rng, list(rank_files.SPECIAL)))


def test_tekken(tmp_path: Path) -> None:
    (tmp_path / "tekken.json").write_text(json.dumps(rank_files.tekken()), encoding="utf-8")
    tokenizer, rng = Tokenizer.from_file(tmp_path / "tekken.json"), random.Random(3)
    assert tokenizer.codec.split(b" the thing and" * 20) > 200
    for _ in range(60):
        check(tokenizer, rng, long_text(rng, ["<s>", "</s>", "[INST]", "<SPECIAL_20>"]))


def test_qwen(tmp_path: Path) -> None:
    """Python's unicodedata normalizes the texts, before special tokens are found."""
    tokens = {"<|end|>": 300, "K;": 301, "the": 302}
    vocabulary = ranks.vocabulary(rank_files.RANKS, b"t" + QWEN2.encode(), tokens, "toy", apply_nfc=True)
    tokenizer, rng = from_vocabulary(vocabulary), random.Random(7)
    assert tokenizer.codec.split(b" the thing and bandings" * 20) > 200
    for _ in range(60):
        check(tokenizer, rng, long_text(rng, [*tokens, "\u212a;", "K\u037e", "the\u0301"]))
    text = "".join(byte_texts.HARD).encode() * 4
    for at in {tokenizer.codec.split(text[:n]) for n in range(len(text))}:
        left, right = tokenizer.encode(text[:at]), tokenizer.encode(text[at:])
        assert [*left, *right] == tokenizer.encode(text).tolist(), at


def test_chunks_of_kimi(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts are complete chunks, because their positions count from the beginning of the document."""
    monkeypatch.setattr(ranks, "CHUNK_CHARACTERS", 7)
    monkeypatch.setattr(ranks, "RUN_CHARACTERS", 3)
    monkeypatch.setattr(ranks, "_LONG_RUN", re.compile(r"\S{4,}|\s{4,}"))
    vocabulary = ranks.vocabulary(rank_files.RANKS, b"t\\s+|\\S+", rank_files.SPECIAL, "toy", cuts=True)
    tokenizer = from_vocabulary(vocabulary)
    rng, n_divided = random.Random(5), 0
    for _ in range(200):
        text = long_text(rng, list(rank_files.SPECIAL), 4)
        check(tokenizer, rng, text)
        n_divided += tokenizer.codec.split(text) > 0
    assert n_divided > 100


def test_one_document_of_many_blocks(tmp_path: Path) -> None:
    """tokenize reads a document in much smaller blocks and gives the ids of the complete document."""
    rng = random.Random(6)
    for name in ("prefix_space", "neox", "llama3", "tokens"):
        tokenizer = opened(GOLDEN / f"{name}.json")
        text = b" and ".join(long_text(rng, tokens_of(GOLDEN / f"{name}.json")) for _ in range(40))
        (tmp_path / "text.txt").write_bytes(text)
        for threads, block in ((1, 4096), (3, 700)):
            pyunitok.tokenize(
                tmp_path / "text.txt", tmp_path / "ids", tokenizer, block_bytes=block, threads=threads, eod=7,
                overwrite=True,
            )
            assert np.fromfile(tmp_path / "ids", "<u2").tolist() == [*tokenizer.encode(text).tolist(), 7]
