"""DirectRules encodes and decodes with the models of tokenizer.json that C supports, without Hugging Face's library.

    normalizer              pre-tokenizer               encoding in C
    Prepend ▁, Replace " "  none                        adds a dummy prefix; spaces become U+2581 (Llama 2, llm-jp)
    none                    Metaspace                   likewise; with "split", every U+2581 begins a segment

Added tokens are matched in the original text, leftmost and longest first. byte_rules.py handles byte-level models.
Files with other components are rejected, and delegate.py reads them. Two rarely used features are delegated on first
use: offsets, and special=False for a text that contains Unigram's unknown piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok.packed import Bytes, Ids, Offsets
from pyunitok.vocab import utf8
from pyunitok.vocab.huggingface import added_tokens, decoders
from pyunitok.vocab.huggingface.added_tokens import AddedToken
from pyunitok.vocab.huggingface.decoders import SPACE, Template
from pyunitok.vocab.huggingface.delegate import DelegatedRules, delegated
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.scratch import RulesScratch, WholeTexts
from pyunitok.vocab.vocabulary import About

_BEGIN = r"(?<!\n)^"  # matches the beginning of a text; a Replace of it is equivalent to Prepend
_NEEDED = "requires `tokenizers`"


@dataclass(frozen=True)
class Settings:
    """The settings in a tokenizer.json, except its model. Raises VocabularyError, which names a component that requires
    `tokenizers`.

    prefix  when U+2581 is added before a text: "never"; "prepend" (always); "always" (unless the text begins with one);
            "first" (like "always", but only at the beginning of a document)
    flags   of enum unitok_model_flags; the C model must have them
    """

    prefix: str
    flags: int
    tokens: list[AddedToken]
    decoders: list[decoders.Decoder] | None
    template: Template

    @classmethod
    def of(cls, document: Fields) -> Settings:
        parts = document.parts("pre_tokenizer", "pretokenizers")
        prefix, flags = _metaspace(document, parts) if parts else _prepended(document)
        decode = decoders.read(document) if document.has("decoder") else None
        return cls(prefix, flags, list(_tokens(document)), decode, decoders.read_template(document))


def _metaspace(document: Fields, parts: list[Fields]) -> tuple[str, int]:
    """(prefix, flags) of a file with only a Metaspace pre-tokenizer."""
    fields = parts[0]
    if document.has("normalizer"):
        document.refuse(f"a normalizer before a pre-tokenizer {_NEEDED}", "normalizer")
    if len(parts) > 1 or fields.string("type") != "Metaspace" or fields.values.get("replacement") != SPACE:
        document.refuse(f"a pre-tokenizer other than Metaspace {_NEEDED}", "pre_tokenizer")
    prefix = fields.string("prepend_scheme", "always")
    is_prefixed = prefix in ("always", "first") and fields.boolean("add_prefix_space", True)
    if not is_prefixed and prefix != "never":
        fields.refuse(f"{prefix[:40]!r} {_NEEDED}", "prepend_scheme")
    names = ["escape_whitespaces"]
    names += ["restart_at_space"] if fields.boolean("split", True) else []
    names += ["add_dummy_prefix"] if is_prefixed else []
    return prefix, sum(library.MODEL_FLAGS[name] for name in names)


def _prepended(document: Fields) -> tuple[str, int]:
    """(prefix, flags) of a file without a pre-tokenizer: its normalizer replaces spaces, and may add a prefix before or
    after doing so."""
    found: list[str] = []
    for part in document.parts("normalizer", "normalizers"):
        kind = part.string("type")
        if kind == "Prepend" and part.string("prepend") == SPACE:
            found.append("prefix")
        elif kind == "Replace" and part.string("content") == SPACE:
            begins = part.child("pattern").values == {"Regex": _BEGIN}
            found.append("prefix" if begins else "spaces" if decoders.literal(part) == " " else kind)
        else:
            found.append(kind)
    if set(found) - {"prefix", "spaces"} or found.count("prefix") > 1 or "spaces" not in found:
        document.refuse(f"this normalizer {_NEEDED}", "normalizer")
    is_prefixed = "prefix" in found
    dummy = library.MODEL_FLAGS["add_dummy_prefix"] if is_prefixed else 0
    return "prepend" if is_prefixed else "never", library.MODEL_FLAGS["escape_whitespaces"] | dummy


def _tokens(document: Fields) -> Iterator[AddedToken]:
    seen: set[str] = set()
    for fields in document.children("added_tokens") if document.has("added_tokens") else ():
        content = fields.string("content")
        if not content or content in seen:
            fields.refuse("the token is empty or a duplicate", "content")
        for key in ("single_word", "lstrip", "rstrip", "normalized"):
            if fields.boolean(key):
                fields.refuse(f"true {_NEEDED}", key)
        seen.add(content)
        yield AddedToken(content, fields.integer("id"), fields.boolean("special"))


class DirectRules(WholeTexts):
    """See scratch.TextRules. Raises VocabularyError if `document` is damaged or C cannot apply its rules."""

    memory_factor = 0  # as for other C models
    warning = ""

    def __init__(self, document: Fields, model: c_model.Model, about: About) -> None:
        self._model, self._about = model, about
        self.kind, self.algorithm, self.summary = model.kind.name, model.kind.algorithm, model.kind.summary
        settings = self._settings = Settings.of(document)
        model.complete()  # computes info.is_whole
        self._finder = added_tokens.finder(settings.tokens, normalized=False)
        self._shown = {token.id: token.content for token in settings.tokens}
        self._special = {token.id for token in settings.tokens if token.special}
        self._check_model(document, int(model.info.flags))
        around = [*settings.template.before, *settings.template.after]
        for key, ids in (("added_tokens", list(self._shown)), ("post_processor", around)):
            if ids and max(ids) >= model.info.n_ids:
                document.refuse(f"id {max(ids)} has no piece; the largest id is {model.info.n_ids - 1}", key)

    def _check_model(self, document: Fields, flags: int) -> None:
        info, known, wanted = self._model.info, library.MODEL_FLAGS, self._settings.flags
        if flags & wanted != wanted or document.values.get("reference") or document.has("missing_unknown"):
            document.refuse(f"this model {_NEEDED}")
        restarts = wanted & known["restart_at_space"]
        if not info.is_compact or (restarts and info.is_whole):
            document.refuse(f"this vocabulary {_NEEDED}")
        self._unknown: bytes | None = None  # the text of Unigram's unknown piece, which C never matches
        if "lattice" in self._model.kind.sampling:
            self._unknown = self._model.piece(self._about.special.get("unk", -1)) or b""
            if not flags & known["byte_fallback"] or self._unknown.decode() not in self._shown.values():
                document.refuse(f"a model with unknown characters {_NEEDED}")

    @cached_property
    def _delegate(self) -> DelegatedRules:
        return delegated(self._model, self._about, f"{self._about.name}: offsets require `tokenizers`")

    # ---------------------------------------------------------------------------------------------- encoding ---

    def is_plain(self, data: Bytes, offsets: Offsets) -> bool:
        if self._finder and self._finder.matches(data[int(offsets[0]) : int(offsets[-1])]):
            return False
        if self._settings.prefix not in ("always", "first"):
            return True
        begins = data[offsets[:-1][np.diff(offsets) > 0]]
        return not np.isin(begins, (ord(" "), SPACE.encode()[0])).any()

    def encode(self, scratch: RulesScratch, data: bytes, *, special: bool = True, add_special: bool = False) -> Ids:
        if not special and self._unknown and self._unknown in data:
            return self._delegate.encode(scratch, data, special=special, add_special=add_special)
        parts: list[Any] = list(self._encoded(scratch, data, special))
        if add_special:
            parts = [self._settings.template.before, *parts, self._settings.template.after]
        if len(parts) == 1:
            ids: Ids = np.asarray(parts[0], scratch.dtype)
            return ids
        ret: Ids = np.concatenate([np.asarray(part, scratch.dtype) for part in parts])
        return ret

    def _encoded(self, scratch: RulesScratch, data: bytes, special: bool) -> Iterator[Any]:
        """The ids of the added tokens and of the texts between them."""
        if self._finder is None or not self._finder.matches(data):
            yield self._encode_part(scratch, data, True)
            return
        whole = np.array([0, len(data)], np.int64)
        found = self._finder.split(np.frombuffer(data, np.uint8), whole, hide_special=not special)
        for given, (begin, end) in zip(found.given.tolist(), pairwise(found.offsets.tolist()), strict=True):
            yield [given] if given >= 0 else self._encode_part(scratch, data[begin:end], begin == 0)

    def _encode_part(self, scratch: RulesScratch, text: bytes, is_first: bool) -> Ids:
        prefix = self._settings.prefix
        begins = prefix in ("always", "first") and text.startswith((b" ", SPACE.encode()))
        if begins or (prefix == "first" and not is_first):
            return scratch.encode_normalized(utf8.replaced(text).replace(SPACE, " ").encode())
        return scratch.encode_by_c(text)

    def tokens(self, scratch: RulesScratch, data: bytes) -> list[str]:
        return [self._token(id_) for id_ in self.encode(scratch, data).tolist()]

    def _token(self, id_: int) -> str:
        piece = self._model.piece(id_) or b""
        return self._shown.get(id_) or piece.decode()

    def spans(self, scratch: RulesScratch, data: bytes) -> Offsets:
        return self._delegate.spans(scratch, data)

    def normalize(self, text: str) -> str:
        if self._settings.prefix in ("always", "first"):
            return text
        return (SPACE if text and self._settings.prefix == "prepend" else "") + text.replace(" ", SPACE)

    # ---------------------------------------------------------------------------------------------- decoding ---

    def bytes_of(self, piece: bytes) -> bytes:
        return piece.replace(SPACE.encode(), b" ")

    def decode(self, ids: list[int], skip_special: bool) -> str:
        kept = [id_ for id_ in ids if not (skip_special and id_ in self._special)]
        tokens = [self._token(id_) for id_ in kept]
        if self._settings.decoders is None:
            return " ".join(tokens)
        for decode in self._settings.decoders:
            tokens = decode(tokens)
        return "".join(tokens)

    def decode_replaced(self, ids: list[int], skip_special: bool) -> str:
        return utf8.replace_escapes(self.decode(ids, skip_special))
