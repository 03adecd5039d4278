"""Writes pyunitok/vocab/huggingface/unicode_tables.py: the character classes of the installed tokenizers.

    python tools/unicode_tables.py

Every table is an experiment over all code points, so it holds whatever Unicode versions the library was built with.
The experiments on grapheme clusters use that Precompiled takes a cluster of fewer than 6 bytes as one: with a charsmap
that maps the first bytes of characters to nothing, a cluster vanishes whole, while parts of it would leave something.
Needs unicodedata2, the newest Unicode data there is, for the characters that a future Python normalizes.
"""

from __future__ import annotations

import base64
import json
import struct
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tokenizers
import unicodedata2
from tokenizers import normalizers, pre_tokenizers

OUT = Path(__file__).resolve().parents[1] / "pyunitok/vocab/huggingface/unicode_tables.py"
CODE_POINTS = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]


def ranges(code_points: Iterable[int]) -> str:
    """ "41-5a 61": in hexadecimal."""
    ret: list[list[int]] = []
    for c in sorted(code_points):
        if ret and ret[-1][1] == c - 1:
            ret[-1][1] = c
        else:
            ret.append([c, c])
    return " ".join(f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in ret)


def where(test: Callable[[str], bool]) -> str:
    return ranges(c for c in CODE_POINTS if test(chr(c)))


def vanisher(keys: dict[bytes, bytes]) -> Any:
    """Precompiled of these keys of one byte each: a double array with one block of children."""
    replacements = b"".join(value + b"\0" for value in keys.values())
    starts, at = {}, 0
    for key, value in keys.items():
        starts[key], at = at, at + len(value) + 1
    units = [0] * 65536
    block = {b"": 256}
    for k, key in enumerate(keys):
        block[key] = 256 * (k + 2)
    units[0] = 256 << 10
    for key in keys:
        child = 256 ^ key[0]
        units[child] = (child ^ block[key]) << 10 | 1 << 8 | key[0]
        units[block[key]] = 1 << 31 | starts[key]
    for i in range(1, len(units)):
        units[i] = units[i] or i & 0xFF ^ 0xFF
    blob = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + replacements
    state = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}
    probe = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    probe["normalizer"] = state
    return tokenizers.Tokenizer.from_str(json.dumps(probe)).normalizer


def clusters() -> dict[str, str]:
    """The classes of grapheme cluster boundaries (UAX 29) that clusters of fewer than 6 bytes depend on."""
    leads = [*range(1, 0x61), *range(0x62, 0x80), *range(0xC2, 0xF5)]
    heart, ka, virama, zwj = "\u2764", "\u0915", "\u094d", "\u200d"
    keep = vanisher({b"a": b"b"}).normalize_str
    marks = {lead: mark for mark in "\u0301\u0591" for lead in mark.encode()[:1]}
    drops = {
        mark: vanisher({bytes([b]): b"" for b in leads if b != lead} | {b"a": b"b"}).normalize_str
        for lead, mark in marks.items()
    }
    twice = vanisher({bytes([b]): b"b" if b == 0xD6 else b"" for b in leads}).normalize_str

    def joined(before: str, last: str, c: str) -> bool:
        """Is `last` (3 bytes, with a mark of 2 after it) part of the cluster before it, which has c in it?"""
        mark = "\u0591" if c.encode()[0] == 0xCC else "\u0301"
        return bool(drops[mark](before + last + mark) == mark)

    # Of a cluster that is too long, each character loses its first byte's key; the mark is none, and stays.
    assert joined(heart + zwj, heart, heart) and not joined(zwj, ka, ka)
    extenders = {c for c in CODE_POINTS if keep("a" + chr(c)) == "b"}
    linkers = {c for c in extenders if joined(ka + chr(c), ka, chr(c))}
    between = {c for c in extenders if joined(ka + virama + chr(c), ka, chr(c))}
    bases = [c for c in CODE_POINTS if c not in extenders]
    prepend = {c for c in bases if c != 0xD and drops["\u0301"](chr(c) + "a") == ""}
    others = [c for c in bases if c not in prepend]
    return {
        "EXTEND": ranges(extenders),
        "PREPEND": ranges(prepend),
        "CONTROL": ranges(c for c in others if twice(chr(c) + "\u0591\u0591") == "b" and len(chr(c).encode()) > 3)
        + " "
        + ranges(c for c in others if drops["\u0301"](chr(c) + "\u0301") != "" and c != 0x61 and c < 0x10000),
        "PICTOGRAPHIC": ranges(c for c in others if joined(chr(c) + zwj, heart, chr(c))),
        "PICTOGRAPHIC_EXTEND": ranges(c for c in extenders if joined(heart + chr(c) + zwj, heart, chr(c))),
        "CONSONANT": ranges(c for c in others if joined(chr(c) + virama, ka, chr(c))),
        "LINKER": ranges(linkers),
        "CONJUNCT_EXTEND": ranges(between),
    }


def words() -> str:
    """What \\w is to Rust's regex: a token of single words does not match beside it."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={}, merges=[]))
    tokenizer.add_tokens([tokenizers.AddedToken("\U000e0001", single_word=True, normalized=False)])
    return where(lambda c: tokenizer.encode(c + "\U000e0001", add_special_tokens=False).ids == [])


def splits(pre_tokenizer: Any) -> Callable[[str], bool]:
    return lambda c: len(pre_tokenizer.pre_tokenize_str("\u4e00" + c + "\u4e00")) > 1


def removed(normalizer: Any) -> Callable[[str], bool]:
    return lambda c: normalizer.normalize_str("a" + c) == "a"


def inert() -> str:
    """Characters that Unicode normalizes, now, and tokenizers does not know: starters that stay as they are."""
    forms = {"NFD": normalizers.NFD(), "NFKD": normalizers.NFKD()}

    def is_inert(c: str) -> bool:
        if not unicodedata2.combining(c) and unicodedata2.normalize("NFKD", c) == c:
            return False
        same = all(form.normalize_str(c) == c for form in forms.values())
        # A combining character that is known moves before or after one of another class.
        moves = any(
            forms["NFD"].normalize_str(x + y) != x + y
            for x, y in ((c, "\u0334"), (c, "\u0316"), ("\u0345", c), ("\u0301", c), (c, "\u0301"), ("\u0316", c))
        )
        return same and not moves

    return where(is_inert)


def onig_digits() -> str:
    return where(splits(pre_tokenizers.Split(tokenizers.Regex(r"\d"), "removed")))


def main() -> None:
    lower = {c: normalizers.Lowercase().normalize_str(chr(c)) for c in CODE_POINTS}
    tables = {
        "WHITESPACE": where(splits(pre_tokenizers.WhitespaceSplit())),
        "ONIG_SPACE": where(splits(pre_tokenizers.Split(tokenizers.Regex(r"\s"), "removed"))),
        "ONIG_DIGITS": onig_digits(),
        "NUMERIC": where(splits(pre_tokenizers.Digits())),
        "PUNCTUATION": where(splits(pre_tokenizers.Punctuation("removed"))),
        "MARKS": where(removed(normalizers.StripAccents())),
        "WORD": words(),
        "INERT": inert(),
        **clusters(),
    }
    lines = [
        '"""Classes of characters, as tokenizers has them; written by tools/unicode_tables.py, as is the last."""',
        "",
    ]
    lines += ["from __future__ import annotations", ""]
    for name, text in tables.items():
        body = "\n".join(textwrap.wrap(text, 114, break_on_hyphens=False))
        lines += [f'{name} = """', body, '"""', ""]
    newer = {c: s for c, s in lower.items() if c > 0x1C80 and s != chr(c) and (c in _NEWER or chr(c).lower() != s)}
    body = "\n".join(textwrap.wrap(" ".join(f"{c:x}:{ord(s):x}" for c, s in newer.items()), 114))
    lines += ["# What characters newer than Unicode 13 are in lower case: Python's own may not know them."]
    lines += ['LOWER = """', body, '"""', ""]
    OUT.write_text("\n".join(lines))


_NEWER = {c for a, b in ((0x2C2F, 0x2C2F), (0xA7C0, 0xA7DF), (0x10570, 0x10595)) for c in range(a, b + 1)}


if __name__ == "__main__":
    main()
