"""Decoders of a tokenizer.json, and its post-processor: from ids to text, and the ids added around those of a text.

A decoder makes of a list of tokens another. A byte that belongs to no character is carried as the lone surrogate
U+DC00 + byte; it is shown as U+FFFD in the end (BROKEN).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pyunitok.vocab.huggingface import patterns, pretokenizers
from pyunitok.vocab.huggingface.fields import Fields, flatten

Decoder = Callable[[list[str]], list[str]]

BROKEN = re.compile("[\udc00-\udcff]")
_BYTE = re.compile(r"<0x(?:([0-9a-fA-F]{2})|\+([0-9a-fA-F]))>")  # Rust reads numbers with a sign, too


def read(fields: Fields | None) -> list[Decoder]:
    """In their order; VocabularyError names one that is not supported."""
    return [_read_one(part) for part in flatten(fields, "decoders")]


def _read_one(fields: Fields) -> Decoder:
    kind = fields.string("type")
    if kind == "Fuse":
        return lambda tokens: ["".join(tokens)]
    if kind == "ByteFallback":
        return _bytes
    if kind == "Replace":
        replace = patterns.read(fields).replacer(fields.string("content"))
        return lambda tokens: [replace(token) for token in tokens]
    if kind == "Strip":
        return _strip(fields)
    if kind == "Metaspace":
        return _metaspace(pretokenizers.read_metaspace(fields))
    return fields.refuse(f"the decoder {kind[:40]!r} is not supported", "type")


def _bytes(tokens: list[str]) -> list[str]:
    ret: list[str] = []
    waiting = bytearray()
    for token in [*tokens, ""]:
        match = _BYTE.fullmatch(token)
        if match:
            waiting.append(int(match[1] or match[2], 16))
            continue
        if waiting:
            try:
                ret.append(waiting.decode())
            except UnicodeDecodeError:
                ret += [chr(0xDC00 + byte) for byte in waiting]
            waiting.clear()
        ret.append(token)
    return ret[:-1]


def _strip(fields: Fields) -> Decoder:
    content, start, stop = fields.character("content"), fields.integer("start"), fields.integer("stop")

    def strip(token: str) -> str:
        n_left = min(len(token) - len(token.lstrip(content)), start)
        n_right = min(len(token) - len(token.rstrip(content)), stop)
        return token[n_left : max(n_left, len(token) - n_right)]

    return lambda tokens: [strip(token) for token in tokens]


def _metaspace(rule: pretokenizers.Metaspace) -> Decoder:
    first = " " if rule.scheme == "never" else ""

    def decode(tokens: list[str]) -> list[str]:
        ret = [token.replace(rule.replacement, " ") for token in tokens]
        if tokens:
            ret[0] = tokens[0].replace(rule.replacement, first)
        return ret

    return decode


@dataclass(frozen=True)
class Template:
    """The ids before and after those of a text."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


def read_template(fields: Fields | None) -> Template:
    """Of the post-processor, for one text."""
    template = Template()
    for part in flatten(fields, "processors"):
        kind = part.string("type")
        if kind == "ByteLevel":  # only for offsets
            continue
        if kind == "TemplateProcessing":
            one = _template(part)
        elif kind in ("BertProcessing", "RobertaProcessing"):
            one = Template((_pair_id(part, "cls"),), (_pair_id(part, "sep"),))
        else:
            part.refuse(f"the post-processor {kind[:40]!r} is not supported", "type")
        template = Template(one.before + template.before, template.after + one.after)
    return template


def _template(fields: Fields) -> Template:
    sides: list[list[int]] = [[]]
    specials = fields.child("special_tokens")
    for piece in fields.children("single"):
        if piece.has("Sequence"):
            if piece.child("Sequence").choice("id", ("A", "B")) == "B" or len(sides) == 2:
                piece.refuse("the template of one text must hold it once", "Sequence")
            sides.append([])
            continue
        name = piece.child("SpecialToken").string("id")
        if name not in specials.values:
            specials.refuse(f"{name[:40]!r} of the template is missing")
        token = specials.child(name)
        ids = [Fields({"id": id_}, token.path("ids")).integer("id") for id_ in token.list("ids")]
        sides[-1] += ids
    if len(sides) != 2:
        fields.refuse("the template of one text must hold it once", "single")
    return Template(tuple(sides[0]), tuple(sides[1]))


def _pair_id(fields: Fields, key: str) -> int:
    pair = fields.list(key)
    return Fields({"id": pair[1] if len(pair) == 2 else None}, fields.path(key)).integer("id")
