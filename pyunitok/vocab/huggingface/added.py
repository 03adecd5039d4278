"""Added tokens: found in a text before anything else, or in the normalized text, leftmost and longest first."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pyunitok._c import library
from pyunitok.errors import ModelWarning
from pyunitok.vocab.huggingface.characters import WHITESPACE, is_word
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.strings import Strings

_SPACES = re.compile(f"[{WHITESPACE}]*")


@dataclass(frozen=True)
class AddedToken:
    content: str
    id: int
    special: bool
    normalized: bool
    single_word: bool
    lstrip: bool
    rstrip: bool
    pattern: str  # what is looked for, and what it is in decoding: the content, normalized or not


def read(
    document: Fields, vocabulary: Mapping[str, int], n_pieces: int, normalize: Callable[[str], str]
) -> list[AddedToken]:
    """The tokens of document["added_tokens"] with the ids that tokenizers gives them, whatever the file says: that of
    the piece, where the vocabulary has it; else the next one from n_pieces on."""
    ret: list[AddedToken] = []
    seen: set[str] = set()
    next_id = n_pieces
    for fields in document.children("added_tokens") if document.has("added_tokens") else ():
        content = fields.string("content")
        if not content:
            continue  # as tokenizers does
        if content in seen:
            fields.refuse(f"{content[:40]!r} is listed twice", "content")
        seen.add(content)
        id_ = vocabulary.get(content)
        if id_ is None:
            id_, next_id = next_id, next_id + 1
        if id_ > library.WIDE_ID_MAX:
            fields.refuse(f"{content[:40]!r} would have the id {id_}, and the largest is {library.WIDE_ID_MAX}", "id")
        if fields.integer("id") != id_:
            message = f"{content[:40]!r} has the id {id_}, as in tokenizers, not {fields.integer('id')}"
            warnings.warn(ModelWarning(f"{fields.path('id')}: {message}"), stacklevel=2)
        ret.append(_read_one(fields, content, id_, normalize))
    return ret


def settled(document: Fields, normalize: Callable[[str], str]) -> list[AddedToken]:
    """The same of a document that has been read once: its ids hold."""
    if not document.has("added_tokens"):
        return []
    fields_of = [fields for fields in document.children("added_tokens") if fields.string("content")]
    return [_read_one(fields, fields.string("content"), fields.integer("id"), normalize) for fields in fields_of]


def _read_one(fields: Fields, content: str, id_: int, normalize: Callable[[str], str]) -> AddedToken:
    flags = {name: fields.boolean(name) for name in ("special", "normalized", "single_word", "lstrip", "rstrip")}
    pattern = normalize(content) if flags["normalized"] else content
    if not pattern:
        fields.refuse(f"{content[:40]!r} is nothing once normalized", "content")
    return AddedToken(content, id_, pattern=pattern, **flags)


class Finder:
    """Finds the added tokens that occur in the text itself (`normalized` False), or in normalized text."""

    def __init__(self, tokens: list[AddedToken], normalized: bool, where: Fields) -> None:
        self._tokens = {token.pattern: token for token in tokens if token.normalized == normalized}
        if len(self._tokens) < sum(token.normalized == normalized for token in tokens):
            where.refuse("two tokens are the same once normalized", "added_tokens")
        self._strings = Strings(list(self._tokens))

    def split(self, text: str, special: bool) -> Iterator[tuple[int, int, int | None]]:
        """The parts of a text, (begin, end, None), and the tokens between them, (begin, end, id), with the whitespace
        that these take along; as AddedVocabulary::find_matches."""
        done = 0
        for begin, end in self._strings.find(text):
            token = self._tokens[text[begin:end]]
            if (token.special and not special) or (token.single_word and not _stands_alone(text, begin, end)):
                continue
            if token.lstrip:
                while begin > done and text[begin - 1] in WHITESPACE:
                    begin -= 1
                begin = max(begin, done)
            if token.rstrip:
                space = _SPACES.match(text, end)
                assert space is not None
                end = space.end()
            if done < begin:
                yield done, begin, None
            yield begin, end, token.id
            done = end
        if done != len(text):
            yield done, len(text), None


def _stands_alone(text: str, begin: int, end: int) -> bool:
    return not (begin and is_word(text[begin - 1])) and not (end < len(text) and is_word(text[end]))
