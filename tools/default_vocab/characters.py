"""Lists the characters that are always in the default vocabulary, whether or not the training text contains them.

Letters, punctuation and digits come from exemplars.tsv, which exemplars.py derives from CLDR: every alphabet, abugida
and small syllabary that more than a million people write, and two official syllabaries. Chinese characters come from
the word lists (corpus.py). All other characters, including Hangul syllables, symbols and emoji, become pieces only if
they are frequent in the training text.
"""

from __future__ import annotations

import csv
from pathlib import Path

TABLE = Path(__file__).with_name("exemplars.tsv")
CURRENCIES = "$¢£¤¥৳฿៛₡₦₩₪₫€₭₮₱₲₴₵₸₹₺₼₽₾₿"  # all currencies in use, the generic sign, and bitcoin
TYPOGRAPHY = "§©®°±×÷¼½¾µ\xa0\xad\u200b\u200c\u200d\u200e\u200f\u202f\ufe0f\ufeff\ufffd№™−…"


def characters() -> set[bytes]:
    """The required characters, in UTF-8."""
    return {c.encode() for c in {*exemplars(), *CURRENCIES, *TYPOGRAPHY} if ord(c) > 0x7F}


def exemplars() -> set[str]:
    """The characters of exemplars.tsv."""
    ret: set[str] = set()
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            for span in row["code points"].split():
                first, _, last = span.partition("-")
                ret |= {chr(code) for code in range(int(first, 16), int(last or first, 16) + 1)}
    return ret
