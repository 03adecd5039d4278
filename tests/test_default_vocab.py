"""tools/default_vocab: the characters, words and generated text that the default vocabulary is made with."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "default_vocab"))

import characters
import exemplars


def test_every_letter_of_living_alphabets() -> None:
    required = {piece.decode() for piece in characters.characters()}
    texts = [
        "ÀÉĞıŁőßẠỵƙɓ", "ДжЄіїґЎҚңҰһ", "ΆέςΏὅῶῳ", "Աեօև", "אבגץ", "ابتپچکگیۓڈ", "अआइकखगघङ्ाि",
        "অআকখগৎ", "தமிழ்", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "ગુજરાતી", "ਪੰਜਾਬੀ", "ଓଡ଼ିଆ", "සිංහල",
        "ไทยกขฃค", "ລາວ", "ខ្មែរ", "မြန်မာ", "བོདཡིག", "ქართული", "አማርኛ", "ߒߞߏ", "ᱥᱟᱱᱛᱟᱲᱤ",
        "ᠮᠣᠩᠭᠣᠯ", "ꦗꦮ", "𞤀𞤣𞤤𞤢𞤥", "ⵜⵉⴼⵉⵏⴰⵖ", "ꯃꯤꯇꯩ", "ひらがなカタカナー", "ㄅㄆㄇ", "“”„«»…–—。、،؛؟।€₹₽",
    ]  # fmt: skip
    assert {c for text in texts for c in text if ord(c) > 0x7F} - required == set()


def test_large_and_historic_scripts_enter_by_frequency_alone() -> None:
    names = [unicodedata.name(piece.decode(), "") for piece in characters.characters()]
    for start in ("CJK UNIFIED", "HANGUL", "YI ", "CHEROKEE", "COPTIC", "GOTHIC LETTER A"):
        assert not [name for name in names if name.startswith(start)]


def test_prefixes_are_beginnings_of_characters() -> None:
    found = characters.prefixes()
    assert {"가".encode()[:2], "中".encode()[:2], "😀".encode()[:2], "😀".encode()[:3]} <= found
    assert all(piece[0] >= 0xE0 and len(piece) in (2, 3) for piece in found)
    assert b"\xee\x80" not in found  # private use


def test_sets_of_cldr() -> None:
    assert exemplars.parse_set(r"[a-c {ch} \- \u0301 \[ \\]") == {*"abch-[\\", "\u0301"}
    assert exemplars.with_capitals({"a", "ß"}) == {"a", "A", "ß"}
    assert exemplars.ranges({"a", "b", "c", "z"}) == "61-63 7A"
