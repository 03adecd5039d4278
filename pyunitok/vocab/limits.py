"""Limits on what a model file may ask for. They are far above what real models need; raise one by assigning to it:

    from pyunitok.vocab import limits
    limits.pattern_states = 100_000
"""

from __future__ import annotations

from typing import TypeVar

from pyunitok.errors import UnitokError

_Text = TypeVar("_Text", str, list[str])

added_token_characters = 1 << 20  # of all added tokens of a tokenizer.json together
components = 256  # normalizers, pre-tokenizers, decoders, post-processors: at most this many of each
growth = 1000  # a text may become this many times as long when normalized or decoded
growth_from = 1 << 20  # or this many characters, if that is more
pattern_states = 10_000  # of a regular expression, its counted repetitions written out


def most_characters(n: int) -> int:
    """What a text of n characters may become."""
    return max(growth_from, growth * n)


def check_growth(text: _Text, most: int) -> _Text:
    """The text, or its parts. UnitokError if it has more characters."""
    n = len(text) if isinstance(text, str) else sum(map(len, text))
    if n > most:
        raise UnitokError(
            f"the model's normalizers or decoders make {n} characters of a text, more than {growth} times what it had"
            " (pyunitok.vocab.limits.growth, which may be raised)"
        )
    return text
