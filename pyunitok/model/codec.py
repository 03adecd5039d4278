"""Codec encodes and decodes with one model. Users call Tokenizer; the other subpackages use Codec directly.

    text ─▶ NFC, or the rules of a tokenizer.json, if the model has them ─▶ C: ids
    ids ─▶ C: pieces to bytes ─▶ denormalizer of a SentencePiece model, if it has one ─▶ bytes ─▶ text
    ids ─▶ decoders of a tokenizer.json ───────────────────────────────────────────────▶ text ─▶ bytes
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c import scratch as c_scratch
from pyunitok._c import text as c_text
from pyunitok.errors import ModelFormatError, ModelWarning, VocabularyError
from pyunitok.model.ids import as_ids
from pyunitok.packed import Bytes, Ids, Offsets, Packed
from pyunitok.vocab import nfc, utf8
from pyunitok.vocab.huggingface.scratch import TextRules
from pyunitok.vocab.rules import rules_of
from pyunitok.vocab.vocabulary import NORMAL, PREPARE_NFC, USER_DEFINED, About, split

Errors = Literal["strict", "replace"]
_SPACE = "\u2581".encode()


class Codec:
    """Immutable and shared by threads. Each thread that encodes takes a scratch, which holds all mutable state.

    model        the C model
    about        the model's name, special ids and normalization, for Python
    rules        the rules of a tokenizer.json for encoding and decoding, or None
    scratches    idle scratches; append and pop are atomic
    shown        {id: its piece as text}, a cache
    known        {piece, as str or bytes: id}, a cache
    decodes_few  whether C alone decodes ids to text
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
                # Stack level 1 is this line, so Python shows the warning only once, wherever models are opened.
                warnings.warn(ModelWarning(self.rules.warning), stacklevel=1)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return self.model.dtype

    @property
    def normalizes(self) -> bool:
        """Whether C normalizes text before it encodes it."""
        return self.model.kind.has_spec and not self.model.info.flags & library.MODEL_FLAGS["bytes"]

    @cached_property
    def carries_state(self) -> bool:
        """Whether encoding a part of a document depends on the part before it; always False with a pattern."""
        return self.model.kind.carries_state and not self.model.info.flags & library.MODEL_FLAGS["pattern"]

    @cached_property
    def lossless(self) -> bool:
        """Whether every text survives a round trip. True for greedy longest prefix if all 256 bytes are pieces, and for
        models whose symbols are bytes if they do not normalize texts first; otherwise False."""
        if self.model.info.flags & library.MODEL_FLAGS["bytes"]:
            return self.about.prepare is None
        return not self.model.kind.has_spec and all(self.model.find(bytes([byte])) >= 0 for byte in range(256))

    @cached_property
    def ids_by_piece(self) -> dict[bytes, int]:
        """{piece: id}. Equal pieces map to the lowest id, as in c_model.Model.find, which scans all pieces."""
        pieces = split(*self.model.pieces())
        return {piece: len(pieces) - 1 - k for k, piece in enumerate(reversed(pieces)) if piece}

    def find(self, piece: bytes) -> int:
        """The id of exactly this piece, or -1."""
        return self.ids_by_piece.get(piece, -1) if self.model.kind.has_spec else self.model.find(piece)

    def encode_list(self, data: bytes) -> list[int]:
        """Like encode, but returns a list: a third faster than encode(data).tolist() for a sentence."""
        scratch = self.take_scratch()  # scratch() would take another microsecond
        ids = scratch.encode_list(data)
        self.scratches.append(scratch)
        return ids

    def encode(self, data: bytes) -> Ids:
        """dtype[n]: the ids of one document."""
        scratch = self.take_scratch()
        ids: Ids = scratch.encode(data)
        self.scratches.append(scratch)
        return ids

    def normalize(self, data: bytes) -> str:
        """The text after normalization, the first step of encoding."""
        if self.rules is not None:
            return self.rules.normalize(utf8.replaced(data))
        if self.is_nfc:
            data = nfc.normalize(data)
        return (self.model.normalize(data) if self.normalizes else data).decode("utf-8", "replace")

    def split(self, text: bytes | bytearray | memoryview) -> int:
        """The length of the prefix of an unfinished document that can be encoded now, whatever follows; 0 if none.

        See unitok_split in csrc/unitok.h. For greedy longest prefix, encode(text[:k]) followed by
        encode(text[k:] + more) equals encode(text + more); other models carry a c_scratch.State between parts.
        """
        if self.rules is not None:
            return self.rules.split(text)
        if self.is_nfc:
            return nfc.split(text)
        return self.model.split(text)

    def new_scratch(self) -> c_scratch.Scratch:
        """The working memory that a thread needs to encode."""
        if self.rules is not None:
            return self.rules.new_scratch(self.model)
        if self.is_nfc:
            return nfc.NfcScratch(self.model)
        return c_scratch.Scratch(self.model)

    def take_scratch(self) -> c_scratch.Scratch:
        """An idle scratch, or a new one. Append it to `scratches` after use."""
        try:
            return self.scratches.pop()
        except IndexError:
            return self.new_scratch()

    @contextmanager
    def scratch(self) -> Iterator[c_scratch.Scratch]:
        """Borrow an idle scratch, or a new one."""
        scratch = self.take_scratch()
        try:
            yield scratch
        finally:
            self.scratches.append(scratch)

    # ----------------------------------------------------------------------------------------------- decoding ---

    @property
    def decodes_whole(self) -> bool:
        """Whether the ids of a document must be decoded together: SentencePiece treats the first space differently;
        denormalizers and the decoders of a tokenizer.json need the complete text."""
        return self.rules is not None or self.normalizes

    def decode_documents(
        self, ids: Ids, offsets: Offsets, *, drop_last: bool = False, separator: bytes = b""
    ) -> tuple[Bytes, Offsets]:
        """Like c_model.Model.decode_batch, for any model. If decodes_whole, documents must be complete."""
        if ids.dtype != self.model.dtype:  # a file of uint32 may contain the ids of a uint16 model
            ids = as_ids(ids, self.model.dtype)
        if self.rules is None and self.about.denormalization is None:
            return self.model.decode_batch(ids, offsets, drop_last=drop_last, separator=separator)
        ids, offsets = ids[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0]
        if drop_last:
            kept: Any = np.delete(ids, offsets[1:] - 1)
            ids, offsets = kept, offsets - np.arange(len(offsets))
        data, bounds = self.model.decode_batch(ids, offsets)  # raises IdError
        if self.rules is None:
            parts = [self.denormalize(data[a:b].tobytes()) + separator for a, b in pairwise(bounds.tolist())]
        else:
            data, bounds = self.rules.decode_packed(ids, offsets, True)
            if not separator:
                return data, bounds
            parts = [data[a:b].tobytes() + separator for a, b in pairwise(bounds.tolist())]
        packed = Packed.from_documents(parts)
        return packed.data, packed.offsets

    def decode_bytes(self, ids: Ids) -> bytes:
        return self.decode_documents(ids, np.array([0, len(ids)], np.int64))[0].tobytes()

    def decode_text(self, ids: Ids, errors: Errors, skip_special: bool) -> str:
        if self.rules is not None:
            self.model.decode_batch(ids, np.array([0, len(ids)], np.int64))  # raises IdError
            if errors == "replace":
                return self.rules.decode_replaced(ids.tolist(), skip_special)
            return utf8.unescaped(self.rules.decode(ids.tolist(), skip_special)).decode()
        if errors == "replace" and self.normalizes:
            parts = self.model.decode_batch(ids, self.model.bounds_of_runs(ids))
            spelled = "".join(utf8.replaced(part.tobytes()) for part in Packed(*parts))
            return self.denormalize(spelled.encode()).decode()
        return self.decode_bytes(ids).decode("utf-8", errors)

    def denormalize(self, data: bytes) -> bytes:
        return data if self._denormalizer is None else self._denormalizer.normalize(data)

    @cached_property
    def _denormalizer(self) -> c_text.Normalizer | None:
        if self.about.denormalization is None:
            return None
        charsmap, flags = self.about.denormalization
        return c_text.Normalizer(charsmap, [], flags)

    # ---------------------------------------------------------------------------------------------- verifying ---

    def reference(self, text: bytes) -> bytes:
        """The expected result of decode_bytes(encode(text)), for verification.

        Lossless models: the text. Models that keep all normalized text: the normalized text, with spaces for U+2581.
        Other models: the result of a round trip, which may lose, for example, unknown characters.
        """
        if self.lossless:
            return text
        if self.is_nfc:
            return nfc.normalize(text)
        if not self._keeps_normalized:
            return self.decode_bytes(self.encode(text))
        spaced = self.model.normalize(text).replace(_SPACE, b" ")
        if self.model.info.flags & library.MODEL_FLAGS["remove_extra_whitespaces"]:
            spaced = spaced.lstrip(b" ")
        elif self.model.info.flags & library.MODEL_FLAGS["add_dummy_prefix"]:
            spaced = spaced.removeprefix(b" ")
        return self.denormalize(spaced)

    @cached_property
    def _keeps_normalized(self) -> bool:
        """Whether every normalized text survives a round trip, except that U+2581 becomes a space.

        Byte pieces spell the characters that no piece covers. U+2581 spelled with bytes does not become a space, so
        U+2581 must be a piece. Word models do not qualify, because they spell complete unknown words, which begin with
        U+2581. If the model removes spaces, the decoder strips one U+2581 from each of the leading pieces, so no piece
        may begin with two.
        """
        flags, known = self.model.info.flags, library.MODEL_FLAGS
        is_plain = self.normalizes and self.rules is None and not self.model.kind.falls_back_whole
        if not is_plain or not flags & known["byte_fallback"] or not flags & known["escape_whitespaces"]:
            return False
        spec = self.model.spec()
        data, bounds = spec["data"].tobytes(), spec["offsets"].tolist()
        types = [t for t, a, b in zip(spec["types"], bounds, bounds[1:], strict=False) if data[a:b] == _SPACE]
        if not set(types) & {NORMAL, USER_DEFINED}:
            return False
        return not flags & known["remove_extra_whitespaces"] or not any(data.startswith(2 * _SPACE, a) for a in bounds)
