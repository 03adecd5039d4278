"""Normalizers of a tokenizer.json: each a function from text to text, which also tells what is first in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyunitok.vocab import limits
from pyunitok.vocab.forms import Form
from pyunitok.vocab.huggingface import charsmap, first, patterns
from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface.characters import WHITESPACE, lowercase, normal_form, remover
from pyunitok.vocab.huggingface.fields import Fields, flatten

FORMS: dict[str, Form] = {"NFC": "NFC", "NFD": "NFD", "NFKC": "NFKC", "NFKD": "NFKD"}

_NMT_REMOVED = [*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]
_NMT_SPACES = [0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD]
_NMT: dict[int, str | None] = {**dict.fromkeys(_NMT_REMOVED), **dict.fromkeys(_NMT_SPACES, " ")}


@dataclass(frozen=True)
class TextNormalizer:
    """A function from text to text.

    first  (text, normalized, how many characters of the text are first) -> how many of the normalized are: see first.py
    """

    normalize: Callable[[str], str]
    first: Callable[[str, str, int], int]

    def __call__(self, text: str) -> str:
        return self.normalize(text)


def read(fields: Fields | None) -> list[TextNormalizer]:
    """In their order; VocabularyError names one that is not supported."""
    parts = flatten(fields, "normalizers")
    kinds = [part.string("type") for part in parts]
    for k, part in enumerate(parts):
        if kinds[k] == "Replace" and patterns.read(part).can_be_empty and set(kinds[k:]) > {"Replace"}:
            part.refuse("a pattern that matches nothing is supported only before other Replace normalizers", "pattern")
    return [_read_one(part) for part in parts]


def apply(normalizers: list[TextNormalizer], text: str) -> str:
    most = limits.most_characters(len(text))
    for normalizer in normalizers:
        text = limits.check_growth(normalizer(text), most)
    return text


def _read_one(fields: Fields) -> TextNormalizer:
    kind = fields.string("type")
    if kind in FORMS:
        form = normal_form(FORMS[kind])
        return TextNormalizer(form, lambda text, new, n: first.composed(text, new, n, form))
    if kind == "Prepend":
        content = fields.string("prepend")
        return TextNormalizer(lambda text: content + text if text else text, first.prepended)
    if kind == "Replace":
        return _replace(fields)
    if kind == "Precompiled":
        rules = charsmap.read(fields)
        return TextNormalizer(rules.normalize, lambda text, new, n: first.mapped(n, rules.parts(text)))
    if kind == "Strip":
        return _strip(fields)
    one_by_one = {"StripAccents": remover(tables.MARKS), "Lowercase": lowercase, "Nmt": _nmt}.get(kind)
    if one_by_one is None:
        fields.refuse(f"the normalizer {kind[:40]!r} is not supported", "type")
    return TextNormalizer(one_by_one, lambda text, new, n: first.kept(text, new, n, one_by_one))


def _nmt(text: str) -> str:
    return text.translate(_NMT)


def _replace(fields: Fields) -> TextNormalizer:
    content, literal = fields.string("content"), patterns.literal(fields)
    if len(content) > limits.growth:
        fields.refuse(
            f"{len(content)} characters; at most {limits.growth} are allowed (pyunitok.vocab.limits.growth, which may"
            " be raised)", "content",
        )  # fmt: skip
    if literal:
        return TextNormalizer(
            lambda text: text.replace(literal, content),
            lambda text, new, n: first.replaced(n, _places(text, literal), len(content)),
        )
    pattern = patterns.read(fields)
    return TextNormalizer(
        pattern.replacer(content),
        lambda text, new, n: first.replaced(n, pattern.find(text) if text else (), len(content)),
    )


def _places(text: str, literal: str) -> Iterator[tuple[int, int]]:
    at = text.find(literal)
    while at >= 0:
        yield at, at + len(literal)
        at = text.find(literal, at + len(literal))


def _strip(fields: Fields) -> TextNormalizer:
    left, right = fields.boolean("strip_left"), fields.boolean("strip_right")

    def strip(text: str) -> str:
        text = text.lstrip(WHITESPACE) if left else text
        return text.rstrip(WHITESPACE) if right else text

    def stripped(text: str, normalized: str, n: int) -> int:
        return first.stripped(text, normalized, n, len(text) - len(text.lstrip(WHITESPACE)) if left else 0)

    return TextNormalizer(strip, stripped)
