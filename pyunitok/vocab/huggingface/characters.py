"""Sets of characters for regular expressions, from the tables of tokenizers (unicode_tables.py)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from pyunitok.vocab import forms
from pyunitok.vocab.huggingface import unicode_tables as tables


def members(table: str) -> str:
    """The inside of a class [...] for a table of code points, "41-5a 61"."""
    parts = []
    for item in table.split():
        first, _, last = item.partition("-")
        parts.append(f"\\U{int(first, 16):08x}" + (f"-\\U{int(last, 16):08x}" if last else ""))
    return "".join(parts)


def bmp(table: str) -> str:
    """The part of a table below U+10000. Classes with ranges above are searched from range to range: slow."""
    items = [item.partition("-") for item in table.split()]
    kept = [(a, min(int(b or a, 16), 0xFFFF)) for a, _, b in items if int(a, 16) < 0x10000]
    return " ".join(f"{a}-{b:x}" for a, b in kept)


def difference(table: str, other: str) -> str:
    """The table without the characters of the other."""
    return " ".join(f"{ord(c):x}" for c in sorted({*listed(table)} - {*listed(other)}))


ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def remover(table: str) -> Callable[[str], str]:
    """What takes out the characters of a table."""
    low, all_ = re.compile(f"[{members(bmp(table))}]+"), re.compile(f"[{members(table)}]+")
    return lambda text: text if text.isascii() else (all_ if ASTRAL.search(text) else low).sub("", text)


def members_of(characters: Iterable[str]) -> str:
    """The same for these characters."""
    return "".join(f"\\U{ord(c):08x}" for c in sorted(characters))


def listed(table: str) -> str:
    """All characters of a table."""
    ret = []
    for item in table.split():
        first, _, last = item.partition("-")
        ret += [chr(c) for c in range(int(first, 16), int(last or first, 16) + 1)]
    return "".join(ret)


WHITESPACE = listed(tables.WHITESPACE)


@lru_cache(None)
def _word() -> re.Pattern[str]:
    return re.compile(f"[{members(tables.WORD)}]")


def is_word(character: str) -> bool:
    """Rust's \\w."""
    return _word().match(character) is not None


@lru_cache(None)
def _inert(table: str) -> re.Pattern[str]:
    return re.compile(f"([{members(table)}])")


_INERT_BMP = bmp(tables.INERT)


def normal_form(form: forms.Form) -> Callable[[str], str]:
    """unicodedata.normalize as tokenizers has it: characters that its Unicode does not know stay, and part the text."""

    def normalize(text: str) -> str:
        if text.isascii():
            return text
        parts = _inert(tables.INERT if ASTRAL.search(text) else _INERT_BMP).split(text)
        if len(parts) == 1:
            return forms.normalize(form, text)
        return "".join(p if k % 2 else forms.normalize(form, p) for k, p in enumerate(parts))

    return normalize


@lru_cache(None)
def _newer_lower() -> tuple[re.Pattern[str], dict[str, str]]:
    pairs = [item.split(":") for item in tables.LOWER.split()]
    lower = {chr(int(c, 16)): chr(int(to, 16)) for c, to in pairs}
    low = members_of(c for c in lower if c < "\U00010000")
    return re.compile(f"[{low}\U00010000-\U0010ffff]"), lower


def lowercase(text: str) -> str:
    """Each character's lower case by itself: no final sigma."""
    if text.isascii():
        return text.lower()
    pattern, lower = _newer_lower()
    return pattern.sub(lambda match: lower.get(match[0], match[0]), text.replace("Σ", "σ")).lower()
