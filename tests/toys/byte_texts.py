"""Hard texts for byte-level models: added tokens between spaces, class boundaries, and characters of all planes."""

from __future__ import annotations

import random

HARD = [
    *"aZ09 .,'-_/\n\r\t\x00\x0b\x1c\x7f\x85\xa0", "  ", "   ", "\r\n", "\n\n", " \n", "'s", "'S", "'ſ", "'LL", "'re",
    "é", "e\u0301", "\u0301", "\u0323\u0301", "ß", "ǅ", "ʰ", "ª", "µ", "ſ", "\u212a", "Σ", "İ", "я", "Ж", "א", "ب", "٣",
    "क\u094dष", "\u093c", "ก\u0e33", "日本", "ひ", "カ", "か\u3099", "が", "한", "\u1112\u1161\u11ab", "。", "、", "！",
    "½", "²", "Ⅷ", "①", "\u200b", "\u200d", "\u2028", "\u3000", "\u2007", "\u180e", "\ufeff", "\ufffd", "\ufffe",
    "€", "$", "+", "^", "`", "~", "|", "«", "—", "…", "👍🏽", "😀", "𝔸", "𠀀", "\U000e0100", "\U0010ffff", "\U00011de1",
    "\u07fd", "\u0898", "\u1b4e", "\U00016ff0\u0301", "the", " hello", "world", "12345", "1234", "f(", "    return",
]  # fmt: skip

GOLDEN = [
    "", " ", "the the hello  world", "Hello, World's 'LL 123456 a1b2\r\n\r\n  x \t\n", "<|endoftext|>the <mask> <|end",
    "日本語ひらがな カタカナ 한국어。「」", "жизнь Жизнь É e\u0301 ﬁ ½ ² İ\u0323 क\u094dष \U00016ff0\u0301",
    "\x00\x1c\u200b\ufeff\U0010ffff👍🏽", "def f(x):\n    return x == 1  # ok\n\n\n      y",
    "<raw>日本 <｜x｜> <think> õ Ġthe",
    "a<word> <word>b <word> <twice>  <end>  日本語 日本語a", "<|0.04|><|0.05|>",
]  # fmt: skip


def character(rng: random.Random) -> str:
    """Any scalar value; half of the draws are limited to values below U+10000."""
    code = rng.randrange(0x110000) if rng.random() < 0.5 else rng.randrange(0x10000)
    return chr(code) if not 0xD800 <= code < 0xE000 else "x"


def text(rng: random.Random, tokens: list[str]) -> str:
    kinds = rng.choice([(8, 1, 2), (3, 0, 0), (1, 1, 0), (3, 0, 4), (0, 1, 0)])
    few = [*rng.choices(HARD, k=6), *rng.choices(tokens or ["a"], k=2), *rng.choices(HARD, k=4)]
    parts = []
    for _ in range(rng.randrange(1, 25)):
        kind = rng.choices(range(3), kinds)[0]
        parts.append(
            rng.choice(few) if kind == 0 else character(rng) if kind == 1
            else rng.choice(["", " ", "  ", "\n", "a"]) + rng.choice(tokens or ["a"]) + rng.choice(["", " ", "\t", "a"])
        )  # fmt: skip
    return "".join(parts)
