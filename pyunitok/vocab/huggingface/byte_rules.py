"""ByteRules encodes and decodes with the byte-level models of tokenizer.json that C supports, without Hugging Face's
library.

    text ─▶ added tokens ─▶ NFC or NFKC ─▶ added tokens ─▶ pattern ─▶ BPE
            added_tokens.py unicode9.py    normalized      └── the C model

    sections    hello ␣ | <mask> | ␣world        texts are divided into sections, each a token or a text, and
    ids          ... ... | 50264  |  ...          encoded together. A batch without tokens goes to C unchanged

Files that need more than this are rejected, and delegate.py reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c.text import Finder, Sections, is_normal, is_normal_around
from pyunitok.packed import Bytes, Ids, Offsets
from pyunitok.vocab import byte_level, unicode9, utf8
from pyunitok.vocab.huggingface import added_tokens, decoders, pre_tokenizers, spans, writer
from pyunitok.vocab.huggingface.added_tokens import AddedToken
from pyunitok.vocab.huggingface.decoders import Template
from pyunitok.vocab.huggingface.delegate import DelegatedRules, delegated
from pyunitok.vocab.huggingface.division import Divider
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.pre_tokenizers import Steps
from pyunitok.vocab.huggingface.scratch import RulesScratch
from pyunitok.vocab.vocabulary import NORMAL, About, pack, split

_NEEDED = "requires `tokenizers`"
_FORMS = ("NFC", "NFKC")
# Divides texts as writer.SPLIT_REGEX does; if no piece crosses a space, this does not change the ids.
SPLIT_PATTERN = b"o" + writer.SPLIT_REGEX.encode()


@dataclass(frozen=True)
class ByteSettings:
    """The settings in a tokenizer.json, except its model. Raises VocabularyError, which names a component that requires
    `tokenizers`.

    form  the normalization: "", "NFC" or "NFKC"
    """

    form: str
    steps: Steps
    tokens: list[AddedToken]
    template: Template

    @classmethod
    def of(cls, document: Fields) -> ByteSettings:
        form = ""
        for part in document.parts("normalizer", "normalizers"):
            if form or part.string("type") not in _FORMS:
                part.refuse(f"this normalizer before ByteLevel {_NEEDED}")
            form = part.string("type")
        if [part.string("type") for part in document.parts("decoder", "decoders")] != ["ByteLevel"]:
            document.refuse(f"a decoder other than ByteLevel {_NEEDED}", "decoder")
        tokens = added_tokens.read(document, form)
        return cls(form, pre_tokenizers.read(document), tokens, decoders.read_template(document))


class ByteRules:
    """See scratch.TextRules. Raises VocabularyError if `document` is damaged or C cannot apply its rules."""

    memory_factor = 0  # as for other C models
    warning = ""

    def __init__(self, document: Fields, model: c_model.Model, about: About) -> None:
        self._model, self._about = model, about
        self.kind, self.algorithm, self.summary = model.kind.name, model.kind.algorithm, model.kind.summary
        settings = self._settings = ByteSettings.of(document)
        self._finders: list[Finder | None] = [
            added_tokens.finder(settings.tokens, normalized=normalized) for normalized in (False, True)
        ]
        self._check(document, model)
        empty_id = document.integer("empty_id") if document.has("empty_id") else -1
        types = model.piece_types()
        self._is_special = np.zeros(len(types) + 1, np.bool_)
        self._is_special[[token.id for token in settings.tokens if token.special]] = True
        self._tokens = {token.id: token.content for token in settings.tokens} | {empty_id: ""}
        # Ids whose pieces C does not decode: control symbols, and the piece "".
        self._is_named = np.append(types == library.PIECE_TYPES["control"], False)

    def _check(self, document: Fields, model: c_model.Model) -> None:
        settings, flags, known = self._settings, int(model.info.flags), library.MODEL_FLAGS
        ids = [token.id for token in settings.tokens] + [*settings.template.before, *settings.template.after]
        if max(ids, default=0) >= model.info.n_ids:
            document.refuse(f"id {max(ids)} has no piece; the largest id is {model.info.n_ids - 1}", "added_tokens")
        own = model.pattern()
        if not flags & known["bytes"] or own not in (settings.steps.pattern, b""):
            document.refuse(f"this model {_NEEDED}")
        if own != settings.steps.pattern and settings.steps.pattern != SPLIT_PATTERN:
            document.refuse(f"this model {_NEEDED}")

    @cached_property
    def _delegate(self) -> DelegatedRules:
        why = "offsets of a text that is not normalized, or has bytes without a piece, require `tokenizers`"
        return delegated(self._model, self._about, f"{self._about.name}: {why}")

    # ---------------------------------------------------------------------------------------------- encoding ---

    def new_scratch(self, model: c_model.Model) -> ByteScratch:
        return ByteScratch(model, self)

    def is_plain(self, data: Any, offsets: Offsets) -> bool:
        if self._settings.steps.prefix_space:
            return False
        part = data[int(offsets[0]) : int(offsets[-1])]
        if any(finder.matches(part) for finder in self._finders if finder):
            return False
        return not self._settings.form or is_normal(part, self._settings.form)

    def split(self, text: Any) -> int:
        # Unigram sums scores over the complete text, so the text cannot be divided.
        has_merges = self._model.info.flags & library.MODEL_FLAGS["listed_merges"]
        return self._divider.last(text) if has_merges else 0

    @cached_property
    def _divider(self) -> Divider:
        form = self._settings.form
        return Divider(self._model, self._finders, partial(is_normal_around, form=form) if form else None)

    def sections(
        self, data: Bytes, offsets: Offsets, *, special: bool = True, prefix: bool = True, continues: bool = False
    ) -> Sections:
        """The texts divided at added tokens, and normalized.

        prefix     add a space before texts if the file requires it
        continues  the first text continues an earlier one, so no space is added before it
        """
        n = len(offsets) - 1
        ret = Sections(data, offsets, np.full(n, -1, np.int64), np.arange(n + 1))
        first, second = self._finders
        if first:
            ret = first.split(data, offsets, hide_special=not special)
        if self._settings.form:
            ret = self._normalized(ret)
        if second:
            found = second.split(ret.data, ret.offsets, ret.given, hide_special=not special)
            ret = found._replace(starts=found.starts[ret.starts])
        return _with_spaces(ret, first=int(continues)) if prefix and self._settings.steps.prefix_space else ret

    def _normalized(self, sections: Sections) -> Sections:
        """The sections with normalized texts. Added tokens are left unchanged, even if they are not normalized."""
        data, offsets, form = sections.data, sections.offsets, self._settings.form
        if is_normal(data[int(offsets[0]) : int(offsets[-1])], form):
            return sections
        parts = _parts(sections)
        for k in np.flatnonzero(sections.given < 0).tolist():
            parts[k] = unicode9.normalize(parts[k], form)
        return _joined(sections, parts)

    def encode(self, scratch: RulesScratch, data: bytes, *, special: bool = True, add_special: bool = False) -> Ids:
        offsets = np.array([0, len(data)], np.int64)
        if not add_special and self.is_plain(data, offsets):
            return scratch.encode_by_c(data)
        sections = self.sections(np.frombuffer(data, np.uint8), offsets, special=special)
        ids = scratch.encode_divided(sections)[0]
        if not add_special:
            return ids
        before, after = (np.array(side, ids.dtype) for side in self._settings.template[:2])
        return np.concatenate((before, ids, after))

    def tokens(self, scratch: RulesScratch, data: bytes) -> list[str]:
        sections = self.sections(np.frombuffer(data, np.uint8), np.array([0, len(data)], np.int64))
        ids, ends = scratch.encode_divided(sections)
        ret = [self._token(id_) for id_ in ids.tolist()]
        texts = _parts(sections)
        for k in np.flatnonzero(sections.given >= 0).tolist():
            ret[ends[k]] = utf8.replaced(texts[k])
        return ret

    def _token(self, id_: int) -> str:
        """The token as spelled in the tokenizer.json."""
        if id_ in self._tokens:
            return self._tokens[id_]
        piece = self._model.piece(id_) or b""
        is_own = self._model.piece_types()[id_] == NORMAL
        return byte_level.shown(piece) if is_own else piece.decode()

    @cached_property
    def _absent(self) -> bytes:
        """The bytes that are dropped because they have no piece."""
        data, offsets = self._model.pieces()
        is_byte = (np.diff(offsets) == 1) & (self._model.piece_types() == NORMAL)
        return bytes({*range(256)} - {*data[offsets[:-1][is_byte]].tolist()})

    def spans(self, scratch: RulesScratch, data: bytes) -> Offsets:
        form = self._settings.form
        is_dropped = self._absent and data.translate(None, self._absent) != data
        if (form and not is_normal(data, form)) or (is_dropped and utf8.is_valid(data)):
            return self._delegate.spans(scratch, data)
        sections = self.sections(np.frombuffer(data, np.uint8), np.array([0, len(data)], np.int64), prefix=False)
        tables, names = [], []
        starts = sections.offsets[:-1].tolist()
        for part, begin, given in zip(_parts(sections), starts, sections.given.tolist(), strict=True):
            if given >= 0:
                tables.append(np.array([[given, begin, begin + len(part)]], np.int64))
                names.append(utf8.replaced(part))
            else:
                tables.append(self._spans_of_part(scratch, part) + np.array([0, begin, begin]))
                names += map(self._token, tables[-1][:, 0].tolist())
        return spans.trimmed(np.concatenate(tables), data, names, self._settings.template.trims)

    def _spans_of_part(self, scratch: RulesScratch, part: bytes) -> Offsets:
        """The spans of a text between added tokens. An added space counts as part of the first character."""
        n_added = self._settings.steps.prefix_space and not part.startswith(b" ") and part != b""
        table = scratch.spans_by_c(b" " * n_added + part)[:, :3]
        table[:, 1:] = np.maximum(table[:, 1:] - n_added, np.array([0, n_added]))
        return table

    def normalize(self, text: str) -> str:
        form = self._settings.form
        return unicode9.normalize(text.encode(), form).decode() if form else text

    # ---------------------------------------------------------------------------------------------- decoding ---

    def bytes_of(self, piece: bytes) -> bytes:
        return piece

    def decode_packed(self, ids: Ids, offsets: Offsets, skip_special: bool) -> tuple[Bytes, Offsets]:
        """Decode packed ids to packed bytes."""
        if skip_special and (is_dropped := self._is_special[ids]).any():
            n_kept = np.concatenate(([0], np.cumsum(~is_dropped)))
            ids, offsets = ids[~is_dropped], n_kept[offsets]
        named = np.flatnonzero(self._is_named[ids])
        if not len(named):
            return self._model.decode_batch(ids, offsets)
        bounds = np.unique(np.concatenate((offsets, named, named + 1)))
        data, ends = self._model.decode_batch(ids, bounds)
        parts = split(data, ends)
        for k, id_ in zip(np.searchsorted(bounds, named).tolist(), ids[named].tolist(), strict=True):
            parts[k] = byte_level.decoded(self._token(id_))
        data, ends = pack(parts)
        return data, ends[np.searchsorted(bounds, offsets)]

    def _decode(self, ids: list[int], skip_special: bool) -> bytes:
        offsets = np.array([0, len(ids)], np.int64)
        return self.decode_packed(np.array(ids, self._model.dtype), offsets, skip_special)[0].tobytes()

    def decode(self, ids: list[int], skip_special: bool) -> str:
        return utf8.escaped(self._decode(ids, skip_special))

    def decode_replaced(self, ids: list[int], skip_special: bool) -> str:
        return self._decode(ids, skip_special).decode("utf-8", "replace")  # as Rust does


def _parts(sections: Sections) -> list[bytes]:
    return split(sections.data, sections.offsets)


def _joined(sections: Sections, parts: list[bytes]) -> Sections:
    """The sections with `parts` as their texts."""
    data, offsets = pack(parts)
    return sections._replace(data=data, offsets=offsets)


def _with_spaces(sections: Sections, first: int) -> Sections:
    """From section `first` on, adds a space before each text that does not begin with one."""
    parts = _parts(sections)
    for k in np.flatnonzero(sections.given < 0).tolist():
        if k >= first and parts[k] and not parts[k].startswith(b" "):
            parts[k] = b" " + parts[k]
    return _joined(sections, parts)


class ByteScratch(RulesScratch):
    """Encodes with ByteRules."""

    __slots__ = ()
    _rules: ByteRules

    def encode_by_rules(
        self, data: Bytes, offsets: Offsets, ids: Ids, id_offsets: Offsets, eod_id: int, open_start: bool,
        open_end: bool,
    ) -> int:  # fmt: skip
        sections = self._rules.sections(data, offsets, continues=open_start)
        if eod_id >= 0:  # an empty section after each document
            at = sections.starts[1 : len(offsets) - open_end]
            sections = sections._replace(
                offsets=np.insert(sections.offsets, at, sections.offsets[at]),
                given=np.insert(sections.given, at, eod_id),
                starts=sections.starts + np.minimum(np.arange(len(sections.starts)), len(at)),
            )  # fmt: skip
        ends = np.empty(len(sections.given) + 1, np.int64)
        n_ids = self.encode_sections(sections, ids, ends)
        id_offsets[: len(offsets)] = ends[sections.starts]
        return n_ids
