"""Translates the pre-tokenizers of a byte-level tokenizer.json to a pattern of csrc/text/pattern.h, and back.

Each step divides the pieces of the previous step, so each step becomes a level of the pattern:

    Split         Isolated: its regex; Contiguous: its regex, repeated; Removed and inverted: its regex, if it leaves no
                  gaps
    Digits        a class; repeated unless individual_digits is set
    Punctuation   a class; Contiguous: repeated
    ByteLevel     GPT-2's regex, unless use_regex is false. It must be the last step, because it replaces bytes with
                  other characters. If it adds a space before each piece that it receives, it must also be first
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pyunitok._c.text import Pattern
from pyunitok.errors import PatternError
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.patterns import PATTERNS

_CLASSES = {"Digits": r"\p{HfNumeric}", "Punctuation": r"\p{HfPunctuation}"}
_STEPS: dict[str, dict[str, Any]] = {
    _CLASSES["Digits"]: {"type": "Digits", "individual_digits": True},
    _CLASSES["Digits"] + "+": {"type": "Digits", "individual_digits": False},
    _CLASSES["Punctuation"]: {"type": "Punctuation", "behavior": "Isolated"},
    _CLASSES["Punctuation"] + "+": {"type": "Punctuation", "behavior": "Contiguous"},
}
_NEEDED = "requires `tokenizers`"


class Steps(NamedTuple):
    pattern: bytes  # b"": texts are not divided
    prefix_space: bool  # a space is added before a text that does not begin with one


def is_byte_level(document: Fields) -> bool:
    """Whether one of the pre-tokenizers is ByteLevel."""
    return any(part.values.get("type") == "ByteLevel" for part in document.parts("pre_tokenizer", "pretokenizers"))


def read(document: Fields) -> Steps:
    """Read the steps. Raises VocabularyError, which names a step that is not supported."""
    *steps, last = document.parts("pre_tokenizer", "pretokenizers")
    if last.string("type") != "ByteLevel":
        last.refuse(f"a pre-tokenizer after ByteLevel {_NEEDED}")
    parts = list(map(_part, steps))
    prefix_space = last.boolean("add_prefix_space")
    if prefix_space and parts:
        last.refuse(f"true after other pre-tokenizers {_NEEDED}", "add_prefix_space")
    if last.boolean("use_regex", True):
        parts += ["o" + regex for regex in PATTERNS["gpt2"].parts]
    pattern = "\0".join(parts).encode()
    try:
        if pattern:
            Pattern(pattern)
    except PatternError as error:
        where = [*steps, last][error.item] if 0 <= error.item < len(parts) else last  # type: ignore[attr-defined]
        where.refuse(f"{error}, so it {_NEEDED}")
    return Steps(pattern, prefix_space)


def _part(fields: Fields) -> str:
    """The part of the pattern for a step before ByteLevel: its dialect and its regex."""
    kind = fields.string("type")
    if kind == "Split":
        return _split(fields)
    if kind == "Digits":
        return "o" + _CLASSES[kind] + ("" if fields.boolean("individual_digits") else "+")
    behavior = fields.string("behavior", "Isolated")
    if kind == "Punctuation" and behavior in ("Isolated", "Contiguous"):
        return "o" + _CLASSES[kind] + ("+" if behavior == "Contiguous" else "")
    return fields.refuse(f"the pre-tokenizer {kind[:40]} before ByteLevel {_NEEDED}")


def _split(fields: Fields) -> str:
    pattern, behavior, is_inverted = fields.child("pattern"), fields.string("behavior"), fields.boolean("invert")
    regex = pattern.string("Regex") if pattern.has("Regex") else _literal(pattern.string("String"))
    if "\0" in regex or not regex:
        pattern.refuse(f"an empty pattern, or one with NUL, {_NEEDED}")
    if behavior == "Isolated":
        return "o" + regex
    if behavior == "Contiguous":
        return f"o(?:{regex})+"
    if behavior == "Removed" and is_inverted:
        return "i" + regex
    return fields.refuse(f"{behavior[:40]!r} {_NEEDED}", "behavior")


def written(regexes: Iterable[str]) -> list[dict[str, Any]]:
    """The inverse of _part(): a step before ByteLevel for each regex, in the dialect of tokenizer.json."""
    splits = {"behavior": "Isolated", "invert": False}
    return [_STEPS.get(regex) or {"type": "Split", "pattern": {"Regex": regex}, **splits} for regex in regexes]


def _literal(text: str) -> str:
    """A regex that matches exactly this text."""
    return "".join(c if c.isalnum() or not c.isascii() else f"\\x{{{ord(c):X}}}" for c in text)
