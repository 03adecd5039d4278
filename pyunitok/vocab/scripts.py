"""Looks up Unicode scripts by name, and compiles patterns that match their words and characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyunitok.errors import OptionError
from pyunitok.vocab import japanese

# Names that users expect, and the Unicode scripts that each one stands for.
SEVERAL = {"japanese": ("Han", "Hiragana", "Katakana"), "korean": ("Hangul", "Han")}
_LONG_VOWELS = "\u30fc\uff70"  # their script is Common in Unicode, but they are parts of words in kana
_KANA = {"hiragana", "hira", "katakana", "kana"}


def expand(names: Sequence[str]) -> list[str]:
    """The Unicode scripts for these names, without duplicates. Raises OptionError for an unknown script."""
    ret = list(dict.fromkeys(script for name in names for script in SEVERAL.get(name.lower(), (name,))))
    for script in ret:
        _check(script)
    return ret


def _check(script: str) -> None:
    package = regex()
    try:
        if script.replace("_", "").replace(" ", "").isalpha():
            package.compile(rf"\p{{Script={script}}}")
            return
    except package.error:
        pass
    raise OptionError(
        f"{script!r} is not a Unicode script; try Latin, Cyrillic, Han, Hiragana, or {', '.join(SEVERAL)}"
    )


def words(names: Sequence[str]) -> Any:
    """A compiled pattern that matches words: characters of one script with their marks, after an optional space.

    For "Japanese" it matches runs, which japanese.divide() splits into words.
    """
    others = [name for name in names if name.lower() != "japanese"]
    parts = [" ?(?:" + "|".join(map(_word, expand(others))) + ")"] if others else []
    return regex().compile("|".join([japanese.RUNS] * has_japanese(names) + parts))


def has_japanese(names: Sequence[str]) -> bool:
    return any(name.lower() == "japanese" for name in names)


def _word(script: str) -> str:
    more = _LONG_VOWELS if script.lower() in _KANA else ""
    return rf"\p{{Script={script}}}[\p{{Script={script}}}\p{{Script=Inherited}}{more}]*+"


def characters(names: Sequence[str]) -> Any:
    """A compiled pattern that matches a character of one of the scripts."""
    return regex().compile("[" + "".join(rf"\p{{Script={script}}}" for script in expand(names)) + "]")


def regex() -> Any:
    """The optional regex package."""
    try:
        import regex
    except ImportError:
        raise OptionError("the regex package is not installed: pip install 'pyunitok[vocab]'") from None
    return regex
