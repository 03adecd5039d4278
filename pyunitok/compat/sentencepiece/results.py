"""Convert tokenizations to the type that the caller requests: ids, pieces, arrays, protos or offset mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyunitok.compat.sentencepiece.buffers import as_array
from pyunitok.compat.sentencepiece.engine import Engine, Sampling
from pyunitok.compat.sentencepiece.immutable import ImmutableNBestSentencePieceText, ImmutableSentencePieceText
from pyunitok.compat.sentencepiece.rewriting import Rewriting
from pyunitok.compat.sentencepiece.text import EncodedText, serialize_nbest, strings, to_nbest_proto, to_proto

RETURN_TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
IMMUTABLE = object()  # the return type of the methods named ..._as_immutable_proto
WITH_PLACES = ("proto", "serialized_proto", "offset_mapping", IMMUTABLE)


class Tokenizations(Protocol):
    """Tokenizations, each representation of which is computed on request."""

    def ids(self) -> list[list[int]]: ...

    def pieces(self) -> list[list[bytes]]: ...

    def encoded(self) -> list[EncodedText]: ...


@dataclass
class OfTexts:
    """One tokenization of each text."""

    engine: Engine
    texts: Sequence[bytes]
    threads: int = -1
    sampling: Sampling | None = None

    def ids(self) -> list[list[int]]:
        return self.engine.ids(self.texts, self.threads, self.sampling)

    def pieces(self) -> list[list[bytes]]:
        return self.engine.pieces_of(self.texts, self.threads, self.sampling)

    def encoded(self) -> list[EncodedText]:
        return self.engine.encoded(self.texts, self.sampling)


@dataclass
class NBest:
    """The n best tokenizations of a text."""

    engine: Engine
    text: bytes
    n: int

    def ids(self) -> list[list[int]]:
        return self.engine.nbest_ids(self.text, self.n)

    def pieces(self) -> list[list[bytes]]:
        return [item.pieces for item in self.encoded()]

    def encoded(self) -> list[EncodedText]:
        return self.engine.nbest(self.text, self.n)


@dataclass
class Given:
    """Tokenizations that have been computed already."""

    items: list[EncodedText]

    def ids(self) -> list[list[int]]:
        return [item.ids for item in self.items]

    def pieces(self) -> list[list[bytes]]:
        return [item.pieces for item in self.items]

    def encoded(self) -> list[EncodedText]:
        return self.items


def with_places(found: Tokenizations, rewriting: Rewriting) -> list[EncodedText]:
    rewriting.check_text()
    return [rewriting.text(item) for item in found.encoded()]


def convert(found: Tokenizations, rewriting: Rewriting, kind: Any, *, as_bytes: bool = False) -> list[Any]:
    """One result per tokenization. kind is one of RETURN_TYPES; as_bytes applies to mappings."""
    if kind in (int, "numpy"):
        ids = [rewriting.ids(item) for item in found.ids()]
        return ids if kind is int else [as_array(item) for item in ids]
    if kind in (str, bytes):
        pieces = [rewriting.pieces(item) for item in found.pieces()]
        return pieces if kind is bytes else [strings(item) for item in pieces]
    return [as_kind(item, kind, as_bytes=as_bytes, with_text=False) for item in with_places(found, rewriting)]


def as_kind(encoded: EncodedText, kind: Any, *, as_bytes: bool, with_text: bool) -> Any:
    """kind is one of WITH_PLACES; the other options apply to mappings."""
    if kind == "offset_mapping":
        return encoded.offset_mapping(as_bytes=as_bytes, with_text=with_text)
    if kind is IMMUTABLE:
        return ImmutableSentencePieceText(encoded)
    return to_proto(encoded) if kind == "proto" else encoded.serialize()


def as_nbest(encoded: Sequence[EncodedText], kind: Any) -> Any:
    """One result for several tokenizations of a text. kind is one of WITH_PLACES except mappings."""
    if kind is IMMUTABLE:
        return ImmutableNBestSentencePieceText(encoded)
    return to_nbest_proto(encoded) if kind == "proto" else serialize_nbest(encoded)
