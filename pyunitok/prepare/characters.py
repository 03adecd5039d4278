"""Sets of characters for regular expressions, from the tables of tokenizers (unicode_tables.py)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

from pyunitok.prepare import unicode_tables as tables


def members(table: str) -> str:
    """The inside of a class [...] for a table of code points, "41-5a 61"."""
    parts = []
    for item in table.split():
        first, _, last = item.partition("-")
        parts.append(f"\\U{int(first, 16):08x}" + (f"-\\U{int(last, 16):08x}" if last else ""))
    return "".join(parts)


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
def is_word(character: str) -> bool:
    """Rust's \\w."""
    return re.match(f"[{members(tables.WORD)}]", character) is not None


@lru_cache(None)
def _inert() -> re.Pattern[str]:
    return re.compile(f"([{members(tables.INERT)}])")


def normal_form(form: str) -> Callable[[str], str]:
    """unicodedata.normalize as tokenizers has it: characters that its Unicode does not know stay, and part the text."""

    def normalize(text: str) -> str:
        if text.isascii():
            return text
        parts = _inert().split(text)
        if len(parts) == 1:
            return unicodedata.normalize(form, text)  # type: ignore[arg-type]
        return "".join(p if k % 2 else unicodedata.normalize(form, p) for k, p in enumerate(parts))  # type: ignore[arg-type]

    return normalize


@lru_cache(None)
def _newer_lower() -> tuple[re.Pattern[str], dict[str, str]]:
    pairs = [item.split(":") for item in tables.LOWER.split()]
    lower = {chr(int(c, 16)): chr(int(to, 16)) for c, to in pairs}
    return re.compile(f"[{members_of(lower)}]"), lower


def lowercase(text: str) -> str:
    """Each character's lower case by itself: no final sigma."""
    if text.isascii():
        return text.lower()
    pattern, lower = _newer_lower()
    text = pattern.sub(lambda match: lower[match[0]], text.replace("Σ", "σ"))
    return text.lower()
