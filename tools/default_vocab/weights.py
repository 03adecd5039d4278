"""Defines the weight of each kind of text in training, and how a language's weight is divided among its parts.

A weight of 1 counts as one megabyte of text, whatever the size of the actual text. The weights were tuned on the
validation texts: kinds with few bytes per token got more weight, and kinds with many bytes per token got less.
"""

from __future__ import annotations

WEIGHT = {
    # Languages, weighted by their number of writers and by the bytes per token reached so far.
    "en": 6.0, "es": 1.6, "fr": 1.6, "de": 1.5, "pt": 1.3, "ru": 1.2, "ja": 1.7, "ko": 1.7, "zh": 1.1, "zh_trad": 3.5,
    "it": 0.7, "vi": 0.2, "uk": 0.6, "pl": 0.4, "nl": 0.4, "sv": 0.4, "cs": 0.3, "tr": 0.2, "el": 0.13, "id": 0.11,
    "th": 0.05, "ar": 0.22, "hi": 0.1, "fa": 0.07, "he": 0.07, "hu": 0.3, "fi": 0.22, "da": 0.25, "no": 0.23,
    "ro": 0.33, "bg": 0.23, "sr": 0.12, "hr": 0.17, "sk": 0.15, "sl": 0.12, "ca": 0.3, "sw": 0.22, "yo": 0.12,
    "tl": 0.1, "ms": 0.05, "bn": 0.025, "ta": 0.018, "ur": 0.03, "lt": 0.11, "lv": 0.09, "et": 0.14, "mk": 0.1,
    "sh": 0.07, "is": 0.08, "gl": 0.2, "eu": 0.14, "sq": 0.11, "af": 0.14,
    # Other kinds.
    "en_prose": 9.0, "code": 4.3, "json": 1.2, "latex": 2.6, "logs": 1.6, "data": 0.8, "markup": 0.7, "emoji": 0.13,
    "mail": 0.3, "diff": 0.3, "csv": 0.3, "notebook": 0.2,
}  # fmt: skip
OTHER_LANGUAGE = 0.016
# The parts of a language's weight: prose from its word list; books, games and speeches; everything else.
SHARES = {"list": 0.45, "prose": 0.3, "other": 0.25}
FULL_BYTES = 300_000  # a part with less text is weighted by the square root of its size
