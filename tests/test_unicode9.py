"""NFC and NFKC of Unicode 9 compared with tokenizers: every character between others, and random texts."""

from __future__ import annotations

import random
import time
import unicodedata
from itertools import product

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given
from hypothesis import strategies as st

from pyunitok._c.text import is_normal
from pyunitok.vocab import unicode9
from pyunitok.vocab.vocabulary import pack, split

normalizers = pytest.importorskip("tokenizers").normalizers
THEIRS = {"NFC": normalizers.NFC(), "NFKC": normalizers.NFKC()}
FORMS = [*THEIRS]
SCALARS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
# Characters that decompose, compose or are reordered, and some from later versions of Unicode.
LIVELY = [
    c for c in SCALARS
    if unicodedata.combining(c) or unicodedata.decomposition(c) or unicodedata.normalize("NFC", "a" + c) != "a" + c
]  # fmt: skip
LIVELY += [*"ab \n\u1100\u1161\u11a8\u11a7\uac00\uac01\u09be\u09d7\u0bbe\U000110ba", "e", "\u0928", "\u0930"]
LIVELY += [chr(first) for first, _ in unicode9._RANGES]


def check(text: str, form: str) -> None:
    expected = THEIRS[form].normalize_str(text)
    data = text.encode()
    assert unicode9.normalize(data, form).decode() == expected, ascii(text)
    assert not is_normal(data, form) or text == expected, ascii(text)


@pytest.mark.parametrize("form", FORMS)
def test_every_character(form: str) -> None:
    before, after = "a\u0345", "\u0334\u0301 "
    text = "".join(before + character + after + character + "\u0323" for character in SCALARS)
    for begin in range(0, len(text), 1 << 16):
        check(text[begin : begin + (1 << 16)], form)


@pytest.mark.parametrize("form", FORMS)
def test_nearly_all_normal_texts_are_detected(form: str) -> None:
    """is_normal() rejects only texts that normalization changes, and texts with jamo."""
    for character in SCALARS:
        if not 0x1100 <= ord(character) < 0x1200:
            data = character.encode()
            assert is_normal(data, form) == (unicode9.normalize(data, form) == data), ascii(character)
    assert not is_normal("\u0130\u0323".encode(), "NFC")  # becomes U+1ECA U+0307
    for text in ("बड़ा", "বাংলা", "தமிழ்", "Tiếng Việt", "ไทย", "شَدَّة", "한국어", "日本語が"):
        assert is_normal(text.encode(), "NFC") == (unicodedata.normalize("NFC", text) == text), text


@fewer(2)
@given(seed=st.integers(0, 2**32), form=st.sampled_from(FORMS))
def test_random(seed: int, form: str) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        few = rng.choices(LIVELY, k=rng.randrange(1, 12))
        check("".join(rng.choices(few, k=rng.randrange(1, 30))), form)


PARTS = [b"e\xcc\x81", b"\xcc\x81", b"e", b"\xcc", b"\x81", b"\xff", b"", b"\xef\xac\x81"]


@given(texts=st.lists(st.sampled_from(PARTS)))
def test_packed(texts: list[bytes]) -> None:
    """Texts do not combine with their neighbours, nor across invalid bytes."""
    for form in FORMS:
        data, offsets = unicode9.normalize_packed(*pack(texts), form)
        assert split(data, offsets) == [unicode9.normalize(text, form) for text in texts]
    assert unicode9.normalize(b"e\xff\xcc\x81\xffe\xcc\x81", "NFC") == b"e\xff\xcc\x81\xff\xc3\xa9"


@pytest.mark.parametrize(
    ("form", "unit"),
    [*product(FORMS, ["\u0301\u0323", "\uff9e\u0301", "\u1ab0", "\U00016ff0"])],
)
def test_long_runs_take_linear_time(form: str, unit: str) -> None:
    begin = time.process_time()
    unicode9.normalize(("a" + unit * 200_000).encode(), form)
    assert time.process_time() - begin < 20


def test_plain_batches_are_not_copied() -> None:
    data, offsets = pack([b"a", "é".encode(), b"\xff"])
    same, bounds = unicode9.normalize_packed(data, offsets, "NFC")
    assert same is data and bounds is offsets and np.array_equal(bounds, [0, 1, 3, 4])
