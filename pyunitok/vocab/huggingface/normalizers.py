"""Normalizers of a tokenizer.json: each a function from text to text."""

from __future__ import annotations

from collections.abc import Callable

from pyunitok.vocab.huggingface import charsmap, patterns
from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface.characters import WHITESPACE, lowercase, normal_form, remover
from pyunitok.vocab.huggingface.fields import Fields, flatten

Normalizer = Callable[[str], str]

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# They remove no character that a text begins with; see pretokenizers.check_first.
KEEPS_FIRST = (*FORMS, "Prepend", "Lowercase")

_NMT_REMOVED = [*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]
_NMT_SPACES = [0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD]
_NMT: dict[int, str | None] = {**dict.fromkeys(_NMT_REMOVED), **dict.fromkeys(_NMT_SPACES, " ")}


def read(fields: Fields | None) -> list[Normalizer]:
    """In their order; VocabularyError names one that is not known here."""
    parts = flatten(fields, "normalizers")
    kinds = [part.string("type") for part in parts]
    for k, part in enumerate(parts):
        if kinds[k] == "Replace" and patterns.read(part).can_be_empty and set(kinds[k:]) > {"Replace"}:
            part.refuse("what may match nothing can only stand before other Replace normalizers here", "pattern")
    return [_read_one(part) for part in parts]


def _read_one(fields: Fields) -> Normalizer:
    kind = fields.string("type")
    if kind in FORMS:
        return normal_form(kind)
    if kind == "Prepend":
        content = fields.string("prepend")
        return lambda text: content + text if text else text
    if kind == "Replace":
        return _replace(fields)
    if kind == "Precompiled":
        return charsmap.read(fields).normalize
    if kind == "StripAccents":
        return remover(tables.MARKS)
    if kind == "Lowercase":
        return lowercase
    if kind == "Strip":
        return _strip(fields)
    if kind == "Nmt":
        return lambda text: text.translate(_NMT)
    return fields.refuse(f"the normalizer {kind[:40]!r} is not done here", "type")


def _replace(fields: Fields) -> Normalizer:
    content, literal = fields.string("content"), patterns.literal(fields)
    if literal:
        return lambda text: text.replace(literal, content)
    return patterns.read(fields).replacer(content)


def _strip(fields: Fields) -> Normalizer:
    left, right = fields.boolean("strip_left"), fields.boolean("strip_right")
    if left and right:
        return lambda text: text.strip(WHITESPACE)
    if left:
        return lambda text: text.lstrip(WHITESPACE)
    return (lambda text: text.rstrip(WHITESPACE)) if right else (lambda text: text)
