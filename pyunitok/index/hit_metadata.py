"""The document metadata that accompanies lists of hits, truncated to a bounded size."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pyunitok.index.opened import Index

FIELD_BYTES = 4 << 10  # the limit per field
DOCUMENT_BYTES = 16 << 10  # the limit for all fields, because a list can include a thousand documents


def metadata_of(index: Index, documents: Iterable[int]) -> dict[str, dict[str, Any]]:
    """document number -> truncated metadata, for documents that have metadata. The number is a string, as in JSON."""
    ret = {}
    for document in dict.fromkeys(documents):
        metadata = index.metadata(document)
        if metadata is not None:
            ret[str(document)] = cut(metadata)
    return ret


def rows_of_hits(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The hits of an answer as rows of a table, each with the metadata of its document as a single field."""
    ret = []
    for hit in answer["hits"]:
        metadata = answer.get("metadata", {}).get(str(hit["document"]))
        fields = {} if metadata is None else {"metadata": _text(_bytes(_json(metadata))[:FIELD_BYTES])}
        ret.append(hit | fields)
    return ret


def cut(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata truncated to FIELD_BYTES per field and DOCUMENT_BYTES in total, with "truncated": true if anything is
    missing. A truncated field becomes a string: the beginning of its JSON."""
    fields = metadata.get("metadata")
    outer = {name: value for name, value in metadata.items() if name != "metadata"}
    kept, is_cut = _cut_fields(outer)
    if "metadata" in metadata:
        kept["metadata"], fields_are_cut = _cut_fields(fields) if isinstance(fields, dict) else (fields, False)
        is_cut |= fields_are_cut
    return kept | ({"truncated": True} if is_cut else {})


def _cut_fields(fields: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Returns (the fields that fit, whether anything is missing)."""
    kept: dict[str, Any] = {}
    n_left, is_cut = DOCUMENT_BYTES, False
    for name, value in fields.items():
        n_left -= len(_bytes(name))
        if n_left <= 0:
            return kept, True
        data = _bytes(value if isinstance(value, str) else _json(value))
        limit = min(FIELD_BYTES, n_left)
        kept[name] = value if len(data) <= limit else _text(data[:limit])
        is_cut |= len(data) > limit
        n_left -= min(len(data), limit)
    return kept, is_cut


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # metadata from JSON Lines can contain lone surrogates


def _text(data: bytes) -> str:
    """Decode `data`, dropping an incomplete character at its end."""
    end = len(data)
    while end and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data[: end - 1].decode("utf-8", "surrogatepass")
