r"""Pre-tokenizer patterns of real models, as chains of Split regexes, and texts that are hard to split."""

from __future__ import annotations

import random

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
PREFIX = r"[^\r\n\p{L}\p{N}]?"
PUNCTUATION = r" ?[^\s\p{L}\p{N}]+"
SPACES = r"\s+(?!\S)|\s+"
LINES = rf"\s*[\r\n]+|{SPACES}"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
HAN_KANA = "[一-龥\u3040-ゟ゠-ヿ]+"
HAN_HANGUL = "[一-龥ࠀ-一가-\ud7ff]+"
GPT2 = rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+|{PUNCTUATION}|{SPACES}"
QWEN2 = rf"{CONTRACTIONS}|{PREFIX}\p{{L}}+|\p{{N}}|{PUNCTUATION}[\r\n]*|{LINES}"


def cased(numbers: str, contractions: str = CONTRACTIONS + "?", tail: str = r"[\r\n/]*", but: str = "") -> str:
    """GPT-4o's pattern and its relatives."""
    upper, lower = UPPER[:-1] + but + "]", LOWER[:-1] + but + "]"
    words = rf"{PREFIX}{upper}*{lower}+{contractions}|{PREFIX}{upper}+{lower}*{contractions}"
    return rf"{words}|{numbers}|{PUNCTUATION}{tail}|{LINES}"


def deepseek(punctuation: str) -> str:
    ascii_punctuation = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""
    return rf"{ascii_punctuation}[A-Za-z]+|[^" + "\r\n" + rf"\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+|{punctuation}"


# The letters of DeepSeek-LLM. An editor that normalizes text would corrupt them.
LETTERS = (
    r"A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿ\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫ"
    r"ᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ\x{1F5F}-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌ\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}Ῠ-Ῥ"
    r"\x{1FE0}-\x{1FE7}ῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗ"
    r"Ａ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)

# Chains of Split(Regex, Isolated).
CHAINS: dict[str, list[str]] = {
    "gpt2": [GPT2],
    "cl100k": [rf"{CONTRACTIONS}|{PREFIX}\p{{L}}+|\p{{N}}{{1,3}}|{PUNCTUATION}[\r\n]*|{LINES}"],
    "qwen2": [QWEN2],
    "qwen35": [rf"{CONTRACTIONS}|{PREFIX}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{LINES}"],
    "o200k": [cased(r"\p{N}{1,3}")],
    "tekken": [cased(r"\p{N}", "")],
    "kimi": [r"[\p{Han}]+|" + cased(r"\p{N}{1,3}", tail=r"[\r\n]*", but=r"&&[^\p{Han}]")],
    "dsv3": [r"\p{N}{1,3}", HAN_KANA, deepseek(rf" ?[\p{{P}}\p{{S}}]+[{chr(13)}{chr(10)}]*|{LINES}")],
    "digits": [r"\p{N}", GPT2],
    # rare patterns
    "minicpm5": [r"\p{N}{1,3}", QWEN2.replace(r"\p{N}|", r"\p{N}+|")],
    "deepseek-llm": [
        "[\r\n]", rf"\s?[{LETTERS}]+", "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+", r"\s+$", HAN_HANGUL, r"\p{N}",
    ],
    "deepseek-coder": ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", HAN_HANGUL, r"\p{N}"],
    "bloom": [r" ?[^(\s|[.,!?…。，、।۔،])]+"],
    "viking": [r" ?[^(\s|[.,!?…。，、।۔،])]+", r"\p{N}"],
    "ling": [
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|" + SPACES
    ],
    "spark": [r"\p{N}{1,3}", HAN_KANA, deepseek(rf" ?[\p{{P}}\p{{S}}]+|[\r\n]|{SPACES}"), r"\p{N}"],
    "seed-coder": [
        rf"{CONTRACTIONS}|{PREFIX}\p{{L}}+|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}" + "\r\n" + rf"]+|\s*[\r\n]+|{SPACES}"
    ],
    "falcon": [r"\p{P}+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "a.x-k2": [HAN_KANA, QWEN2],
    "jais2": [
        rf"{CONTRACTIONS}|{PREFIX}\p{{L}}+|\p{{N}}{{1,3}}|{PUNCTUATION}[\r\n]*|\s*[\r\n]+|"
        + "|".join(rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4)) + r"|\s{1,2}(?!\S)|\s{1}"
    ],
    "k-exaone": [
        rf"{CONTRACTIONS}|{PREFIX}(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}|{PUNCTUATION}[\r\n/]?|\s*[\r\n]|"
        + SPACES
    ],
    "youtu": [f"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|{HAN_KANA}", cased(r"\p{N}")],
    "chameleon": [
        "<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )", r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]", GPT2,
    ],
}  # fmt: skip

# The same for tiktoken, which drops text that no match covers.
TIKTOKEN: dict[str, str] = {
    "r50k": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
        r"\s+(?!\S)|\s"
    ),
    "o200k": cased(r"\p{N}{1,3}"),
    "kimi": CHAINS["kimi"][0],
    "nanochat": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|" + SPACES
    ),
}

# Chains that need more than one character of lookahead, each with a word from its error message.
UNSUPPORTED = {
    "laguna": (r"(?:\r?\n)+(?!\r?\n)", "lookahead"),
    "cohere2": (r"\d{1,3}(?=(?:\d{3})*\b)", "escape"),
    "superbpe": (r"(?=(\d{3})+(?!\d))", "lookahead"),
}

ATOMS = [
    *"'sSſtTdDmMaABzZ019.,!?/-_$~|<>()\t\n\r \0\x1c\x1f\x7f\x85\xa0",
    *"ǅʰªºéÉßµ中龥豈かカー、。ㄅ가ㄱ“…Дд\u0301\u0345\u093e\u20dd\u1e9bк٣Ⅷ½²०①\u2028\u2029\u3000\u200b\u200c\u200d\u180e\ufeff\ufffd",
    *"\u0378\u2126\u212a\ud7ff\ue000\uffff\U0001f600\U000e0100\U0010ffff\U00011de0\U00016ff4\U000323b0\U00031350",
    "'s", "'S", "'ſ", "'t", "'re", "'RE", "'rE", "'ve", "'m", "'LL", "'ll", "'d", "\r\n", "\n\n", "  ", "    ", " \n",
    "e\u0301", "IMGIMGAABZ", "<sentinel:12>", "123", "4567", "Straße", "iPhone", "HTTP", "don't", " the", "日本語",
    " " * 70, "中文，",
]  # fmt: skip


def hard_text(rng: random.Random, n_atoms: int) -> str:
    """A text with many class boundaries, characters of all planes, and repetitions of a few atoms."""
    few = rng.choices(ATOMS, k=rng.randrange(1, 8))
    ret = []
    for _ in range(n_atoms):
        kind = rng.random()
        if kind < 0.6:
            ret.append(rng.choice(ATOMS))
        elif kind < 0.85:
            ret.append(rng.choice(few))
        else:
            code = rng.randrange(rng.choice([0x80, 0x800, 0x3400, 0xD800, 0x110000]))
            ret.append(chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd")
    return "".join(ret)
