"""Reads those decoders and post-processors of a tokenizer.json that can be applied without `tokenizers`.

A decoder is a function from a list of tokens to a new list. An invalid byte becomes the lone surrogate U+DC00 + byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from pyunitok.vocab.huggingface.fields import Fields

Decoder = Callable[[list[str]], list[str]]

SPACE = "\u2581"
_BYTE = re.compile(r"<0x(?:([0-9a-fA-F]{2})|\+([0-9a-fA-F]))>")  # Rust also accepts a sign
_FIRST_SPACE = r"(?<!\n)^ "  # the first space of a text; the lookbehind excludes other lines
_REGEX_SYMBOLS = set(r"\^$.|?*+()[]{}")


def read(document: Fields) -> list[Decoder]:
    """Read the decoders of a file. Raises VocabularyError, which names an unsupported decoder."""
    return [_read_one(part) for part in document.parts("decoder", "decoders")]


def literal(fields: Fields) -> str | None:
    """The string that a Replace searches for; None if it is a regular expression with special characters."""
    pattern = fields.child("pattern")
    text = pattern.string("Regex" if pattern.has("Regex") else "String")
    return None if not text or (pattern.has("Regex") and set(text) & _REGEX_SYMBOLS) else text


def _read_one(fields: Fields) -> Decoder:
    kind = fields.string("type")
    if kind == "Fuse":
        return lambda tokens: ["".join(tokens)]
    if kind == "ByteFallback":
        return _bytes
    if kind == "Replace":
        content, pattern = fields.string("content"), literal(fields)
        if pattern is not None:
            return lambda tokens: [token.replace(pattern, content) for token in tokens]
        if fields.child("pattern").values == {"Regex": _FIRST_SPACE} and not content:
            return lambda tokens: [token.removeprefix(" ") for token in tokens]
    if kind == "Strip" and [fields.values.get(key) for key in ("content", "start", "stop")] == [" ", 1, 0]:
        return lambda tokens: [token.removeprefix(" ") for token in tokens]
    if kind == "Metaspace" and fields.values.get("replacement") == SPACE:
        return _metaspace(" " if fields.values.get("prepend_scheme") == "never" else "")
    return fields.refuse(f"the decoder {kind[:40]} requires `tokenizers`")


def byte_runs(tokens: Iterable[str]) -> Iterator[tuple[list[str], bytes | None]]:
    """Pairs of a run of byte pieces (<0xE3>) and its bytes, or of a run of other tokens and None."""
    for is_byte, run in groupby(tokens, lambda token: _BYTE.fullmatch(token) is not None):
        names = list(run)
        yield names, bytes(int(re.sub("<0x|>", "", name), 16) for name in names) if is_byte else None


def _bytes(tokens: list[str]) -> list[str]:
    ret: list[str] = []
    for run, data in byte_runs(tokens):
        if data is None:
            ret += run
            continue
        try:
            ret.append(data.decode())
        except UnicodeDecodeError:
            ret += [chr(0xDC00 + byte) for byte in data]
    return ret


def _metaspace(first: str) -> Decoder:
    def decode(tokens: list[str]) -> list[str]:
        return [token.replace(SPACE, " " if k else first) for k, token in enumerate(tokens)]

    return decode


class Template(NamedTuple):
    """What the post-processors do to a single text.

    before, after  the ids that are added before and after the ids of the text
    trims          for each step that removes white space from the ends of spans: whether it keeps one space at the
                   beginning of the text, because that space may have been added
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    trims: tuple[bool, ...] = ()


def read_template(document: Fields) -> Template:
    """Read the post-processors of a file. Raises VocabularyError, which names an unsupported one."""
    template = Template()
    for part in document.parts("post_processor", "processors"):
        kind = _kind(part)
        one = Template()
        if kind == "TemplateProcessing":
            one = _template(part)
        elif kind == "RobertaProcessing":
            cls, sep = (_pair(part, key) for key in ("cls", "sep"))
            one = Template((cls,), (sep,))
        elif kind != "ByteLevel":
            part.refuse(f"the post-processor {kind[:40]} requires `tokenizers`")
        trims = template.trims
        if kind != "TemplateProcessing" and part.boolean("trim_offsets"):
            trims += (part.boolean("add_prefix_space"),)
        template = Template(one.before + template.before, template.after + one.after, trims)
    return template


def _kind(part: Fields) -> str:
    """The kind of a post-processor. As in `tokenizers`, it is the first kind whose fields are all present; only for
    ByteLevel is the type also checked."""
    for kind, keys in _FIELDS.items():
        if all(part.has(key) for key in keys) and (kind != "ByteLevel" or part.values.get("type") == kind):
            return kind
    return part.string("type")


_FIELDS = {
    "RobertaProcessing": ("sep", "cls", "trim_offsets", "add_prefix_space"), "BertProcessing": ("sep", "cls"),
    "ByteLevel": ("add_prefix_space", "trim_offsets"), "TemplateProcessing": ("single", "pair", "special_tokens"),
}  # fmt: skip


def _pair(part: Fields, key: str) -> int:
    """The id in the field `key`, which is [token, id]."""
    values = part.list(key)
    if len(values) != 2:
        part.refuse("expected a token and its id", key)
    return Fields({"id": values[1]}, part.path(key)).integer("id")


def _template(fields: Fields) -> Template:
    sides: list[list[int]] = [[]]
    specials = fields.child("special_tokens")
    for piece in fields.children("single"):
        if piece.has("Sequence"):
            if piece.child("Sequence").values.get("id") != "A" or len(sides) == 2:
                piece.refuse("expected the text A exactly once", "Sequence")
            sides.append([])
            continue
        token = specials.child(piece.child("SpecialToken").string("id"))
        sides[-1] += [Fields({"id": id_}, token.path("ids")).integer("id") for id_ in token.list("ids")]
    if len(sides) != 2:
        fields.refuse("expected the text A exactly once", "single")
    return Template(tuple(sides[0]), tuple(sides[1]))
