"""Defines TextRules, the interface of the rules of a tokenizer.json, and RulesScratch, their per-thread state."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c import scratch as c_scratch
from pyunitok._c.text import Sections
from pyunitok.errors import InputError
from pyunitok.packed import Bytes, Ids, Offsets, Packed
from pyunitok.vocab import utf8


class TextRules(Protocol):
    """Encodes and decodes as `tokenizers` does. Immutable; threads may share it.

    kind, algorithm, summary  describe the model, as in _c/kinds.py
    memory_factor             bytes of memory per byte of a document being encoded, not counting the C library's
    warning                   tells users that encoding is slow; may be empty
    """

    kind: str
    algorithm: str
    summary: str
    memory_factor: int
    warning: str

    def new_scratch(self, model: c_model.Model) -> RulesScratch: ...

    def split(self, text: Any) -> int:
        """See Codec.split."""

    def is_plain(self, data: Bytes, offsets: Offsets) -> bool:
        """Whether the C model alone encodes these documents."""

    def encode(self, scratch: RulesScratch, data: bytes, *, special: bool = True, add_special: bool = False) -> Ids:
        """dtype[n]: see Tokenizer.encode. Raises InputError if the model has no ids for the text."""

    def tokens(self, scratch: RulesScratch, data: bytes) -> list[str]:
        """The pieces of a text as returned by `tokenizers`."""

    def spans(self, scratch: RulesScratch, data: bytes) -> Offsets:
        """int64[n, 3]: for each token its id, and where its text begins and ends."""

    def normalize(self, text: str) -> str: ...

    def bytes_of(self, piece: bytes) -> bytes:
        """The bytes that a piece decodes to. Raises VocabularyError if they depend on adjacent pieces."""

    def decode(self, ids: list[int], skip_special: bool) -> str:
        """The text, with each invalid byte as the lone surrogate U+DC00 + byte."""

    def decode_packed(self, ids: Ids, offsets: Offsets, skip_special: bool) -> tuple[Bytes, Offsets]:
        """Decode packed ids to packed bytes."""

    def decode_replaced(self, ids: list[int], skip_special: bool) -> str:
        """The text, with each invalid byte as U+FFFD."""


class WholeTexts:
    """Common methods of rules that process one complete text at a time."""

    def split(self, text: Any) -> int:
        return 0

    def new_scratch(self: TextRules, model: c_model.Model) -> RulesScratch:
        return RulesScratch(model, self)

    def decode_packed(self: TextRules, ids: Ids, offsets: Offsets, skip_special: bool) -> tuple[Bytes, Offsets]:
        items = (ids[begin:end].tolist() for begin, end in pairwise(offsets.tolist()))
        parts = [utf8.unescaped(self.decode(item, skip_special)) for item in items]
        packed = Packed.from_documents(parts)
        return packed.data, packed.offsets


class RulesScratch(c_scratch.Scratch):
    """Encodes with TextRules, or with C alone if the rules allow it."""

    __slots__ = ("_rules",)

    def __init__(self, model: c_model.Model, rules: TextRules) -> None:
        super().__init__(model)
        self._rules = rules

    def encode(self, text: bytes) -> Any:
        return self._rules.encode(self, text)

    def encode_list(self, text: bytes) -> list[int]:
        ids: list[int] = self.encode(text).tolist()
        return ids

    def encode_by_c(self, text: bytes) -> Ids:
        ids: Ids = super().encode(text)
        return ids

    def spans_by_c(self, text: bytes) -> Offsets:
        return super().encode_spans(text)

    def encode_divided(self, sections: Sections) -> tuple[Ids, Offsets]:
        """The ids of all sections, and int64[n + 1]: where the ids of each section begin and end."""
        n = len(sections.given)
        capacity = c_scratch.capacity_for(int(sections.offsets[-1])) + n
        ends = np.empty(n + 1, np.int64)
        while True:
            ids: Ids = np.empty(capacity, self.dtype)
            try:
                n_ids = self.encode_sections(sections, ids, ends)
                ids.resize(n_ids, refcheck=False)
                return ids, ends
            except library.CapacityError:
                capacity *= 2

    def encode_normalized(self, text: bytes) -> Ids:
        """dtype[n]: the ids of a normalized text, in which spaces represent U+2581."""
        ids: Ids = np.empty(3 * len(text) + library.ENCODE_SLACK, self._model.dtype)
        offsets, ends = np.array([0, len(text)], np.int64), np.zeros(2, np.int64)
        n_ids = super().encode_batch(np.frombuffer(text, np.uint8), offsets, ids, ends, prepared=True)
        return ids[:n_ids]

    def count(self, text: bytes) -> int:
        return len(self.encode(text))

    def encode_spans(self, text: bytes) -> Offsets:
        return self._rules.spans(self, text)

    def encode_batch(
        self, data: Bytes, offsets: Offsets, ids: Ids, id_offsets: Offsets, *,
        eod_id: int = -1, open_start: bool = False, open_end: bool = False, state: c_scratch.State | None = None,
        sampling: Any = None, documents: Offsets | None = None, prepared: bool = False,
    ) -> int:  # fmt: skip
        """The attribute `document` of an InputError is the index of the document in the batch. Documents must have been
        divided by rules.split(), so that rules need no `state`."""
        assert sampling is None  # sampling.check() rejects it
        if self._rules.is_plain(data, offsets):
            return super().encode_batch(
                data, offsets, ids, id_offsets, eod_id=eod_id, open_start=open_start, open_end=open_end, state=state
            )
        return self.encode_by_rules(data, offsets, ids, id_offsets, eod_id, open_start, open_end)

    def encode_by_rules(
        self, data: Bytes, offsets: Offsets, ids: Ids, id_offsets: Offsets, eod_id: int, open_start: bool,
        open_end: bool,
    ) -> int:  # fmt: skip
        """encode_batch() for a batch that C alone cannot encode."""
        done, n_docs = 0, len(offsets) - 1
        id_offsets[0] = 0
        for k, (begin, end) in enumerate(pairwise(offsets.tolist())):
            eod: Any = np.array([eod_id] if eod_id >= 0 and not (open_end and k == n_docs - 1) else [], ids.dtype)
            try:
                found = self.encode(data[begin:end].tobytes())
            except InputError as error:
                error.document = k
                raise
            done = _put(eod, ids, _put(found, ids, done))
            id_offsets[k + 1] = done
        return done


def _put(found: Ids, ids: Ids, at: int) -> int:
    if at + len(found) > len(ids):
        raise library.CapacityError("the id array is too small")
    ids[at : at + len(found)] = found
    return at + len(found)
