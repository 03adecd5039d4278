"""Reads the merges of a tokenizer.json. A merge is "left right" or ["left", "right"].

    "model": {"vocab": {…}, "merges": ["i n", "Ġ t", …]}
                                       ╰─── most of the file, so C parses it and looks up the pieces
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from pyunitok._c import text
from pyunitok.errors import VocabularyError
from pyunitok.packed import Offsets, Packed
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.writer import serde_float

_LIST = re.compile(rb'"merges"\s*:\s*(?=\[)')
_MARK = "\0merges"
_DECODER = msgspec.json.Decoder(float_hook=serde_float)  # this decoder is twice as fast as json.loads()


def load(data: bytes) -> Any:
    """json.loads(), except that the merges are Packed if C could read them. Raises ValueError or RecursionError if the
    file is not valid JSON."""
    found = _LIST.search(data)
    if found and data.count(b'"merges"') == 1 and (read := text.json_merges(data[found.end() :])):
        sides, n_bytes = read
        rest = data[: found.end()] + json.dumps(_MARK).encode() + data[found.end() + n_bytes :]
        try:
            document = _DECODER.decode(rest)
        except (msgspec.DecodeError, UnicodeError):  # not JSON, or JSON that only json.loads() accepts: "\ud800"
            return json.loads(data, parse_float=serde_float)
        model = document.get("model") if isinstance(document, dict) else None
        if isinstance(model, dict) and model.get("merges") == _MARK:
            model["merges"] = sides
            return document
    return json.loads(data, parse_float=serde_float)


def read(fields: Fields, ids: Mapping[str, int]) -> Offsets:
    """int64[3 * n]: the ids of the left sides, then of the right sides, then of the results. `ids` is {piece: id}."""
    sides = fields.values.get("merges")
    places = None
    if not isinstance(sides, Packed):
        sides, places = _packed(fields)
    try:
        found = text.find_merges(Packed.from_documents(ids), sides)
    except UnicodeEncodeError:
        fields.refuse("a piece contains a lone surrogate", "vocab")
    except VocabularyError as error:
        k = error.item  # type: ignore[attr-defined]
        left, right = (sides[side].tobytes().decode() for side in (2 * k, 2 * k + 1))
        missing = next(piece for piece in (left, right, left + right) if piece not in ids)
        fields.refuse(f"{missing[:40]!r} is not in the vocabulary", f"merges[{places[k] if places else k}]")
    return np.fromiter(ids.values(), np.int64, len(ids))[found]


def _packed(fields: Fields) -> tuple[Packed, list[int]]:
    """The sides of all merges, and the index of each merge in the list, which may also contain comments."""
    ret: list[str] = []
    places = []
    for k, merge in enumerate(fields.list("merges")):
        if isinstance(merge, str) and merge.startswith("#version"):
            continue
        sides = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(sides, list) or len(sides) != 2 or not all(isinstance(side, str) for side in sides):
            fields.refuse("expected two pieces", f"merges[{k}]")
        ret += sides
        places.append(k)
    try:
        return Packed.from_documents(ret), places
    except UnicodeEncodeError:
        fields.refuse("a merge contains a lone surrogate", "merges")
