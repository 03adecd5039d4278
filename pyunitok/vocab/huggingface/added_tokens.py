"""Reads and finds the added tokens of a tokenizer.json, at which texts are divided.

Tokens are found in two passes: first those that are not `normalized`, in the original text; then the `normalized` ones,
in the normalized text between the tokens of the first pass. csrc/text/added_tokens.c describes a pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pyunitok._c.library import TOKEN_FLAGS
from pyunitok._c.text import Finder
from pyunitok.errors import ModelWarning
from pyunitok.vocab import unicode9
from pyunitok.vocab.huggingface.fields import Fields

_NEEDED = "requires `tokenizers`"


@dataclass(frozen=True)
class AddedToken:
    content: str
    id: int
    special: bool
    normalized: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False

    @property
    def flags(self) -> int:
        """The bits of enum unitok_token_flags."""
        return sum(bit for name, bit in TOKEN_FLAGS.items() if getattr(self, name))


def read(document: Fields, form: str) -> list[AddedToken]:
    """The distinct tokens, with the ids in the file. Tokens with the same content become one, which has the id of the
    first and the flags of the last, and is special if any of them is special.

    form  the normalization form of the text in which normalized tokens are found: "", "NFC" or "NFKC"
    """
    found: dict[str, AddedToken] = {}
    for fields in document.children("added_tokens") if document.has("added_tokens") else ():
        content = fields.string("content")
        flags = {key: fields.boolean(key) for key in ("special", "normalized", "single_word", "lstrip", "rstrip")}
        if not content:
            continue
        token, before = AddedToken(content, fields.integer("id"), **flags), found.get(content)
        found[content] = replace(token, id=before.id, special=before.special or token.special) if before else token
        data = content.encode()
        if token.normalized and form and unicode9.normalize(data, form) != data:
            fields.refuse(f"a token that normalization changes {_NEEDED}", "content")
    for normalized in (False, True):
        tokens = [token for token in found.values() if token.normalized is normalized]
        if any(token.rstrip for token in tokens) and any(token.content[0].isspace() for token in tokens):
            document.refuse(f"rstrip together with a token that begins with white space {_NEEDED}", "added_tokens")
    return list(found.values())


def with_ids(tokens: Iterable[AddedToken], ids: dict[str, int], document: Fields) -> list[AddedToken]:
    """The tokens with the ids that `tokenizers` assigns: the id of an equal piece or, if there is none, the next
    id after the pieces.

    ids  {piece: id} of the model
    """
    next_id, used, ret = len(ids), set(ids.values()), []
    for token in tokens:
        id_ = ids.get(token.content, next_id)
        if token.content not in ids:
            if id_ in used:
                document.refuse(f"{token.content[:40]!r} and a piece share id {id_}, which {_NEEDED}", "added_tokens")
            next_id += 1
        if id_ != token.id:
            message = f"{token.content[:40]!r} has id {id_}, as in `tokenizers`, not {token.id}"
            warnings.warn(ModelWarning(f"{document.path('added_tokens')}: {message}"), stacklevel=2)
        ret.append(replace(token, id=id_))
    return ret


def to_json(token: AddedToken) -> dict[str, Any]:
    names = ("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special")
    return {name: getattr(token, name) for name in names}


def finder(tokens: Iterable[AddedToken], *, normalized: bool) -> Finder | None:
    """The Finder for the tokens of one pass; None if there are none."""
    chosen = [token for token in tokens if token.normalized is normalized]
    if not chosen:
        return None
    return Finder(
        [token.content.encode() for token in chosen],
        [token.id for token in chosen],
        [token.flags for token in chosen],
    )
