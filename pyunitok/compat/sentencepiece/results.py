"""Converts tokenizations to the requested type: ids, pieces, arrays, protos or offset mappings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyunitok.compat.sentencepiece.buffers import as_array
from pyunitok.compat.sentencepiece.engine import Engine, Sampling
from pyunitok.compat.sentencepiece.immutable import ImmutableNBestSentencePieceText, ImmutableSentencePieceText
from pyunitok.compat.sentencepiece.rewriting import Rewriting
from pyunitok.compat.sentencepiece.text import EncodedText, serialize_nbest, strings, to_nbest_proto, to_proto

RETURN_TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
IMMUTABLE = object()  # the return type of the methods named ..._as_immutable_proto
WITH_POSITIONS = ("proto", "serialized_proto", "offset_mapping", IMMUTABLE)


@dataclass(frozen=True)
class Tokenizations:
    """Functions that compute the representations of tokenizations on request."""

    ids: Callable[[], list[list[int]]]
    pieces: Callable[[], list[list[bytes]]]
    encoded: Callable[[], list[EncodedText]]


def of_texts(
    engine: Engine, texts: Sequence[bytes], threads: int = -1, sampling: Sampling | None = None
) -> Tokenizations:
    """One tokenization of each text."""
    return Tokenizations(
        lambda: engine.ids(texts, threads, sampling),
        lambda: engine.pieces_of(texts, threads, sampling),
        lambda: engine.encoded(texts, sampling),
    )


def nbest_of(engine: Engine, text: bytes, n: int) -> Tokenizations:
    """The n best tokenizations of a text."""
    return Tokenizations(
        lambda: engine.nbest_ids(text, n),
        lambda: [item.pieces for item in engine.nbest(text, n)],
        lambda: engine.nbest(text, n),
    )


def computed(items: list[EncodedText]) -> Tokenizations:
    """Wrap tokenizations that have already been computed."""
    return Tokenizations(lambda: [item.ids for item in items], lambda: [item.pieces for item in items], lambda: items)


def with_positions(found: Tokenizations, rewriting: Rewriting) -> list[EncodedText]:
    rewriting.check_text()
    return [rewriting.text(item) for item in found.encoded()]


def convert(found: Tokenizations, rewriting: Rewriting, kind: Any, *, as_bytes: bool = False) -> list[Any]:
    """One result per tokenization. kind is one of RETURN_TYPES; as_bytes applies to offset mappings."""
    if kind in (int, "numpy"):
        ids = [rewriting.ids(item) for item in found.ids()]
        return ids if kind is int else [as_array(item) for item in ids]
    if kind in (str, bytes):
        pieces = [rewriting.pieces(item) for item in found.pieces()]
        return pieces if kind is bytes else [strings(item) for item in pieces]
    return [as_kind(item, kind, as_bytes=as_bytes, with_text=False) for item in with_positions(found, rewriting)]


def as_kind(encoded: EncodedText, kind: Any, *, as_bytes: bool, with_text: bool) -> Any:
    """The result for a tokenization. kind is one of WITH_POSITIONS; as_bytes and with_text apply to offset mappings."""
    if kind == "offset_mapping":
        return encoded.offset_mapping(as_bytes=as_bytes, with_text=with_text)
    if kind is IMMUTABLE:
        return ImmutableSentencePieceText(encoded)
    return to_proto(encoded) if kind == "proto" else encoded.serialize()


def as_nbest(encoded: Sequence[EncodedText], kind: Any) -> Any:
    """One result for several tokenizations of a text. kind is one of WITH_POSITIONS except "offset_mapping"."""
    if kind is IMMUTABLE:
        return ImmutableNBestSentencePieceText(encoded)
    return to_nbest_proto(encoded) if kind == "proto" else serialize_nbest(encoded)
