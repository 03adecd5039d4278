r"""Defines the named pre-tokenizer patterns, one row each. Users give a pattern by name or as a regular expression.

A row contains the regexes of a tokenizer.json, each of which divides the pieces of the previous one, and for some names
the regex that tools of the tiktoken family use. Both forms find the same pieces, except that the possessive `\s++$` of
tiktoken's matches a final "\n  " as one piece. Both are needed, because the two dialects of csrc/text/pattern.h read
`$` and `{1,3}+` differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from pyunitok._c.text import Pattern
from pyunitok.errors import OptionError, PatternError

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_PREFIX = r"[^\r\n\p{L}\p{N}]?"  # one character before a word
_SYMBOLS = r" ?[^\s\p{L}\p{N}]+"
_SPACES = r"\s+(?!\S)|\s+"
_LINES = rf"\s*[\r\n]+|{_SPACES}"
_CL100K = rf"{_CONTRACTIONS}|{_PREFIX}\p{{L}}+|\p{{N}}{{1,3}}|{_SYMBOLS}[\r\n]*|{_LINES}"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def _by_case(contractions: str, digits: str, upper: str = _UPPER, lower: str = _LOWER, symbols: str = "/") -> str:
    """A pattern that begins a new piece at a capital letter within a word."""
    words = rf"{_PREFIX}{upper}*{lower}+{contractions}|{_PREFIX}{upper}+{lower}*{contractions}"
    return rf"{words}|{digits}|{_SYMBOLS}[\r\n{symbols}]*|{_LINES}"


class NamedPattern(NamedTuple):
    """parts: regexes in the dialect of tokenizer.json. tiktoken: one regex in tiktoken's dialect; "": use `parts`."""

    parts: tuple[str, ...]
    tiktoken: str = ""


_GPT2 = NamedPattern(
    (rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+|{_SYMBOLS}|{_SPACES}",),
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
)
PATTERNS: dict[str, NamedPattern] = {
    "gpt2": _GPT2,
    "r50k": _GPT2,
    "p50k": _GPT2,
    "cl100k": NamedPattern(
        (_CL100K,),
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s",
    ),
    "llama3": NamedPattern((_CL100K,)),
    "nanochat": NamedPattern((_CL100K.replace("{1,3}", "{1,2}"),)),
    "qwen2": NamedPattern((_CL100K.replace("{1,3}", ""),)),
    "qwen35": NamedPattern(
        (
            rf"{_CONTRACTIONS}|{_PREFIX}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_LINES}",
        )
    ),
    "o200k": NamedPattern((_by_case(_CONTRACTIONS + "?", r"\p{N}{1,3}"),)),
    "tekken": NamedPattern((_by_case("", r"\p{N}"),)),
    "kimi": NamedPattern(
        (
            r"[\p{Han}]+|"
            + _by_case(
                _CONTRACTIONS + "?", r"\p{N}{1,3}", _UPPER[:-1] + r"&&[^\p{Han}]]", _LOWER[:-1] + r"&&[^\p{Han}]]", ""
            ),
        )
    ),
    "starcoder": NamedPattern((r"\p{HfNumeric}", *_GPT2.parts)),  # the steps Digits and ByteLevel in a tokenizer.json
    "dsv3": NamedPattern(
        (
            r"\p{N}{1,3}",
            r"[一-龥぀-ゟ゠-ヿ]+",
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_LINES}",
        )
    ),
}
# Names that select not only a pattern but also the special tokens of a published file of ranks: see vocab/tiktoken.py.
PATTERNS |= {
    "p50k_edit": PATTERNS["p50k"], "o200k_harmony": PATTERNS["o200k"], "whisper": _GPT2, "whisper_v3": _GPT2,
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")  # a pre-tokenizer regex contains other characters


class ReadOptions(NamedTuple):
    """The settings that some model files do not contain: see Tokenizer.from_file."""

    pattern: str | None = None
    special_tokens: Mapping[str, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """The options that are set, as arguments of Tokenizer.from_file. Manifests contain them."""
        values = {"pattern": self.pattern, "special_tokens": self.special_tokens and dict(self.special_tokens)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, values: Any) -> ReadOptions:
        """The inverse of to_json(); values of other types are ignored."""
        if not isinstance(values, dict):
            return cls()
        pattern, tokens = values.get("pattern"), values.get("special_tokens")
        return cls(pattern if isinstance(pattern, str) else None, tokens if isinstance(tokens, dict) else None)


NO_OPTIONS = ReadOptions()


def regex_of(pattern: str) -> str | None:
    """The user's regex, in tiktoken's dialect; None if it is a name. Raises OptionError for an unknown name."""
    if pattern in PATTERNS:
        return None
    if _NAME.fullmatch(pattern):
        near = get_close_matches(pattern, PATTERNS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"use {', '.join(PATTERNS)} or a regular expression"
        raise OptionError(f"there is no pattern named {pattern!r}; {hint}")
    return pattern


def parts_for_tokenizers(pattern: str) -> bytes:
    """The parts of a pattern, given by name or as a regex, in the dialect of tokenizer.json; see unitok_pattern_new."""
    regex = regex_of(pattern)
    return "\0".join("o" + part for part in (PATTERNS[pattern].parts if regex is None else (regex,))).encode()


def parts_for_tiktoken(pattern: str) -> bytes:
    """Like parts_for_tokenizers, but in tiktoken's dialect, except for chains of several regexes."""
    regex = regex_of(pattern)
    if regex is None:
        row = PATTERNS[pattern]
        if len(row.parts) > 1:
            return parts_for_tokenizers(pattern)
        regex = row.tiktoken or row.parts[0]
    return b"t" + regex.encode()


def shown(parts: bytes) -> str:
    """The pattern of a model as users pass it: its name in PATTERNS or, if it has none, its regexes."""
    if not parts:
        return "none"
    texts = [part.decode() for part in parts.split(b"\0")]
    regexes = [text[1:].replace("\r", r"\r").replace("\n", r"\n") for text in texts]
    for name, row in PATTERNS.items():
        if regexes == ([row.tiktoken or row.parts[0]] if texts[0].startswith("t") else list(row.parts)):
            return name
    return " then ".join(regexes)


def check(parts: bytes, name: str) -> bytes:
    """The parts. Raises PatternError, which names the model and the byte, if C does not support them."""
    try:
        Pattern(parts)
    except PatternError as error:
        raise PatternError(f"{name}: the pattern {parts[1:200].decode(errors='replace')!r}: {error}") from None
    return parts


def tokenizers_regexes(parts: bytes) -> list[str]:
    """The regexes of a tokenizer.json for a model's pattern. Raises ValueError if its dialect cannot be translated."""
    texts = [part.decode() for part in parts.split(b"\0")]
    if all(text[:1] in "oi" for text in texts):
        return [text[1:] for text in texts]
    for row in PATTERNS.values():
        if texts == ["t" + (row.tiktoken or row.parts[0])]:
            return list(row.parts)
    regex = texts[0][1:]
    if len(texts) > 1 or "$" in regex or "}+" in regex:
        raise ValueError("`$` and `{m,n}+` have a different meaning in a tokenizer.json")
    return [regex]
