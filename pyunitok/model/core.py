"""Core: a model, ready for use by the rest of this package. Tokenizer is its public face."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c import scratch as c_scratch
from pyunitok.errors import ModelFormatError, ModelWarning, VocabularyError
from pyunitok.model.decoding import Decoding
from pyunitok.packed import Ids
from pyunitok.vocab import nfc, utf8
from pyunitok.vocab.huggingface.direct import rules_of
from pyunitok.vocab.huggingface.scratch import RulesScratch, TextRules
from pyunitok.vocab.vocabulary import PREPARE_NFC, About, split


class Core(Decoding):
    """Immutable: threads share it. What changes is in scratches, one for each thread that encodes.

    model        the C model
    about        what Python knows of it
    rules        how to encode and decode, for models of tokenizer.json
    scratches    idle ones; append and pop are atomic
    shown        {id: its piece as text}, of those asked for
    known        {piece, as str or bytes: id}, likewise
    decodes_few  whether C alone makes the text of ids
    """

    def __init__(self, model: c_model.Model, about: About) -> None:
        self.model, self.about = model, about
        self.scratches: list[c_scratch.Scratch] = []
        self.shown: dict[int, str] = {}
        self.known: dict[str | bytes, int] = {}
        self.decodes_few = about.denormalization is None and (about.prepare is None or about.prepare == PREPARE_NFC)
        self.rules: TextRules | None = None
        self.is_nfc = about.prepare == PREPARE_NFC
        if about.prepare is not None and not self.is_nfc:
            try:
                self.rules = rules_of(about, model)
            except VocabularyError as error:
                raise ModelFormatError(f"the model's rules for texts (`prepare`) cannot be used: {error}") from None
            if self.rules.warning:
                warnings.warn(ModelWarning(self.rules.warning), stacklevel=1)  # once, wherever it is opened

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return self.model.dtype

    @property
    def normalizes(self) -> bool:
        """Whether C normalizes texts before it encodes them."""
        return self.model.kind.has_spec and not self.model.info.flags & library.MODEL_FLAGS["bytes"]

    @cached_property
    def lossless(self) -> bool:
        """Whether every text comes back exactly: greedy longest prefix, if all 256 bytes are pieces; models whose
        symbols are bytes, if nothing is done to texts before."""
        if self.model.info.flags & library.MODEL_FLAGS["bytes"]:
            return self.about.prepare is None
        return not self.model.kind.has_spec and all(self.model.find(bytes([byte])) >= 0 for byte in range(256))

    @cached_property
    def ids_by_piece(self) -> dict[bytes, int]:
        """Of pieces that are the same the lowest id, as c_model.Model.find, which looks at all pieces."""
        pieces = split(*self.model.pieces())
        return {piece: len(pieces) - 1 - k for k, piece in enumerate(reversed(pieces)) if piece}

    def find(self, piece: bytes) -> int:
        """The id of exactly this piece, or -1."""
        return self.ids_by_piece.get(piece, -1) if self.model.kind.has_spec else self.model.find(piece)

    def encode_list(self, data: bytes) -> list[int]:
        """The ids of one document."""
        try:  # scratch() spelled out: this is measured in nanoseconds
            scratch = self.scratches.pop()
        except IndexError:
            scratch = self.new_scratch()
        ids = scratch.encode_list(data)
        self.scratches.append(scratch)
        return ids

    def encode(self, data: bytes) -> Ids:
        """dtype[n]: the ids of one document."""
        with self.scratch() as scratch:
            ids: Ids = scratch.encode(data)
            return ids

    def normalize(self, data: bytes) -> str:
        """The text that is encoded."""
        if self.rules is not None:
            return self.rules.normalize(utf8.replaced(data))
        if self.is_nfc:
            data = nfc.normalize(data)
        return (self.model.normalize(data) if self.normalizes else data).decode("utf-8", "replace")

    def split(self, text: bytes | bytearray | memoryview) -> int:
        """How much of an unfinished document can be encoded now, whatever follows: see unitok_split in csrc/unitok.h.

        Where the model keeps nothing from one part to the next (greedy longest prefix), encode(text[:k]) followed by
        encode(text[k:] + more) is encode(text + more); others carry a c_scratch.State. 0: not yet.
        """
        if self.rules is not None:
            return 0
        if self.is_nfc:
            return nfc.split(text)
        return self.model.split(text)

    def new_scratch(self) -> c_scratch.Scratch:
        """What a thread needs to encode."""
        if self.rules is not None:
            return RulesScratch(self.model, self.rules)
        if self.is_nfc:
            return nfc.NfcScratch(self.model)
        return c_scratch.Scratch(self.model)

    def take_scratch(self) -> c_scratch.Scratch:
        """An idle one, or a new one. Append it to `scratches` when it is idle again."""
        try:
            return self.scratches.pop()
        except IndexError:
            return self.new_scratch()

    @contextmanager
    def scratch(self) -> Iterator[c_scratch.Scratch]:
        """An idle one, or a new one."""
        scratch = self.take_scratch()
        try:
            yield scratch
        finally:
            self.scratches.append(scratch)
