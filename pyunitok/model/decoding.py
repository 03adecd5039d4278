"""Ids to bytes and to text: all that is decoded, by any method or command, is decoded here.

    ids ─▶ C: pieces to bytes ─▶ denormalizer of a SentencePiece model, if it has one ─▶ bytes ─▶ text
    ids ─▶ decoders of a tokenizer.json ───────────────────────────────────────────────▶ text ─▶ bytes
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c import text as c_text
from pyunitok.errors import IdError
from pyunitok.packed import Bytes, Ids, Offsets, Packed
from pyunitok.vocab import nfc, utf8
from pyunitok.vocab.huggingface.scratch import TextRules
from pyunitok.vocab.vocabulary import NORMAL, USER_DEFINED, About

Errors = Literal["strict", "replace"]
_SPACE = "\u2581".encode()


class Decoding:
    """The part of Core that decodes."""

    model: c_model.Model
    about: About
    rules: TextRules | None
    is_nfc: bool

    @property
    def normalizes(self) -> bool:
        raise NotImplementedError

    @property
    def lossless(self) -> bool:
        raise NotImplementedError

    def encode(self, data: bytes) -> Ids:
        raise NotImplementedError

    @property
    def decodes_whole(self) -> bool:
        """Whether the ids of a document must be decoded together: for SentencePiece, the first space is not as others;
        denormalizers and the decoders of a tokenizer.json see the whole text."""
        return self.rules is not None or self.normalizes

    def decode_documents(
        self, ids: Ids, offsets: Offsets, *, drop_last: bool = False, separator: bytes = b""
    ) -> tuple[Bytes, Offsets]:
        """The bytes of many documents, as c_model.Model.decode_batch. A document must be whole where decodes_whole."""
        if ids.dtype != self.model.dtype:  # a file of uint32 ids of a model with few
            ids = as_ids(ids, self.model.dtype)
        if self.rules is None and self.about.denormalization is None:
            return self.model.decode_batch(ids, offsets, drop_last=drop_last, separator=separator)
        data, bounds = self.model.decode_batch(ids, offsets, drop_last=drop_last)  # names an id without a meaning
        if self.rules is None:
            parts = [self.denormalize(data[a:b].tobytes()) + separator for a, b in pairwise(bounds.tolist())]
        else:
            ends = (offsets[1:] - drop_last).tolist()
            items = [ids[begin:end].tolist() for begin, end in zip(offsets.tolist(), ends, strict=False)]
            parts = [utf8.unescaped(self.rules.decode(item, True)) + separator for item in items]
        packed = Packed.from_documents(parts)
        return packed.data, packed.offsets

    def decode_bytes(self, ids: Ids) -> bytes:
        return self.decode_documents(ids, np.array([0, len(ids)], np.int64))[0].tobytes()

    def decode_text(self, ids: Ids, errors: Errors, skip_special: bool) -> str:
        if self.rules is not None:
            self.model.decode_batch(ids, np.array([0, len(ids)], np.int64))  # names an id without a meaning
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

    # ---------------------------------------------------------------------------------------------- to verify by ---

    def reference(self, text: bytes) -> bytes:
        """What decode_bytes(encode(text)) must give, to verify by.

        The text, where the model is lossless. Its normalized form with spaces for U+2581, where that is certain to come
        back. Else what encoding and decoding leave of it: unknown characters, for instance, are lost.
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
        """Whether every normalized text comes back from its ids, U+2581 as a space.

        Byte pieces spell what no piece covers, but U+2581 that they spell does not become a space: so it must be a
        piece, and words, which are spelled whole, are out. Where spaces are removed, the decoder takes one U+2581 off
        each piece that a text begins with: so none may begin with two.
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


def as_ids(ids: Iterable[int], dtype: np.dtype[Any]) -> Ids:
    """dtype[n] from any sequence of integers; IdError names the first that does not fit, and its position."""
    is_array = hasattr(ids, "__array__")  # numpy's own, and tensors of torch and others, which need not be imported
    array = np.asarray(ids) if is_array else _array_of(ids)
    if array.dtype == dtype and array.ndim == 1:
        return np.ascontiguousarray(array)
    if is_array and (array.dtype.kind == "O" or array.size == 0):
        array = _array_of(array.tolist())  # objects may be no integers; an empty array is float64 unless told otherwise
    if array.ndim != 1 or array.dtype.kind not in "iuO":
        raise TypeError(f"ids must be a sequence of integers, not {array.dtype}{list(array.shape)}")
    largest = np.iinfo(dtype).max
    wrong = np.flatnonzero((array < 0) | (array > largest))
    if len(wrong):
        raise IdError(f"id {array[wrong[0]]} at position {wrong[0]}: ids lie within 0..{largest}")
    return array.astype(dtype)


def _array_of(ids: Iterable[int]) -> np.ndarray[Any, Any]:
    items: Sequence[int] = ids if isinstance(ids, list | tuple | range) else list(ids)
    try:
        return np.array(list(map(operator.index, items)), object)
    except TypeError:
        position = next(k for k, item in enumerate(items) if not _is_integer(item))
        held = type(items[position]).__name__
        raise TypeError(f"ids must be integers; position {position} holds {held}") from None


def _is_integer(item: object) -> bool:
    try:
        operator.index(item)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def as_batch(batch: Packed | Iterable[Iterable[int]], dtype: np.dtype[Any]) -> Packed:
    """A Packed of ids from one, or from sequences of integers. Errors as as_ids; they name the sequence."""
    if isinstance(batch, Packed):
        if batch.data.dtype != dtype:
            raise TypeError(f"expected a Packed of {dtype}, not of {batch.data.dtype}")
        return batch
    items: list[Ids] = []
    for number, ids in enumerate(batch):
        try:
            items.append(as_ids(ids, dtype))
        except (TypeError, IdError) as error:
            raise type(error)(f"sequence {number}: {error}") from None
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=offsets[1:])
    return Packed(np.concatenate(items) if items else np.empty(0, dtype), offsets)
