"""Bindings for the n-grams in csrc/unitok_clean.h: indexes the n-grams of items, and finds them in documents."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from pyunitok._c.library import call, copied, create, ffi, lib, pointer
from pyunitok.packed import Bytes, Offsets

JOINED: int = lib.UNITOK_WORD_JOINED
MARK: int = lib.UNITOK_WORD_MARK
ALONE: int = lib.UNITOK_WORD_ALONE
MAX_UNITS: int = lib.UNITOK_GRAMS_MAX_UNITS
MAX_LENGTHS: int = lib.UNITOK_GRAMS_MAX_LENGTHS

# The fields of unitok_gram_hit.
HIT = np.dtype([(name, np.int64) for name in ("document", "unit", "begin", "end", "gram")])
Hits = np.ndarray[Any, np.dtype[np.void]]
# The initial capacity for hits is FIRST_CAPACITY plus one hit for every 8 units of a document. Unused memory costs
# nothing, but a second search takes time.
FIRST_CAPACITY = 1024
_SEED = secrets.randbits(64)  # the seed of the hashes; results do not depend on it


class WordRules:
    """Which characters form words, and which characters count as equal: see corpus/words.py."""

    __slots__ = ("handle",)

    def __init__(self, classes: Bytes, folds: np.ndarray[Any, Any], longer: np.ndarray[Any, Any]) -> None:
        more = np.ascontiguousarray(longer, np.uint32).reshape(-1)
        if len(classes) != lib.UNITOK_WORD_CODE_POINTS or len(folds) != len(classes):
            raise ValueError("expected a class and a fold for every code point")
        self.handle: Any = create("word_rules", pointer(classes), pointer(folds), pointer(more), len(more) // 3, _SEED)


class Grams:
    """The n-grams of some items. Immutable; threads may share it.

    data, offsets  the items: bytes or, if `data` is uint32, ids
    n              the number of units in an n-gram
    min_units      an item with fewer than n units is an n-gram itself if it has at least min_units
    rules          divide text into words, which are the units; None: units are bytes or ids
    starts         int64[items + 1]: item k has the units starts[k]..starts[k + 1] - 1 of all units
    n_grams        the number of distinct n-grams; each is identified by the unit where it first begins
    repeats        int64[r, 2]: for each repeat of an n-gram: the unit that identifies the n-gram, and the unit where
                   the repeat begins
    """

    def __init__(
        self, data: np.ndarray[Any, Any], offsets: Offsets, n: int, min_units: int, rules: WordRules | None = None
    ) -> None:
        n_items = len(offsets) - 1
        self._rules = rules  # keeps the rules alive
        self.has_ids = data.dtype == np.uint32
        self.starts: Offsets = offsets.copy() if self.has_ids else np.zeros(n_items + 1, np.int64)
        if self.has_ids:
            self.handle: Any = create(
                "grams", pointer(data), pointer(offsets), n_items, n, min_units, _SEED, how="new_ids"
            )
        else:
            handle = ffi.NULL if rules is None else rules.handle
            self.handle = create(
                "grams", handle, pointer(data), pointer(offsets), n_items, n, min_units, _SEED,
                pointer(self.starts, writable=True),
            )  # fmt: skip
        info = ffi.new("unitok_grams_info *")
        lib.unitok_grams_get_info(self.handle, info)
        self.n_units, self.n_grams, self.memory_bytes = int(info.n_units), int(info.n_grams), int(info.memory_bytes)
        repeats = copied(info.repeats, 2 * info.n_repeats, np.uint32) if info.n_repeats else np.empty(0, np.uint32)
        self.repeats = repeats.astype(np.int64).reshape(-1, 2)

    def find(self, data: np.ndarray[Any, Any], offsets: Offsets) -> Hits:
        """HIT[]: the n-grams in documents data[offsets[k]:offsets[k + 1]], which consist of bytes or, if the n-grams
        consist of ids, of uint32."""
        if (data.dtype == np.uint32) != self.has_ids or int(offsets[-1]) > len(data):
            raise ValueError("the documents have the wrong type, or the offsets reach past the data")
        search = lib.unitok_grams_find_ids if self.has_ids else lib.unitok_grams_find
        capacity, n = FIRST_CAPACITY + int(offsets[-1]) // 8, ffi.new("int64_t *")
        while True:
            hits = np.empty(capacity, HIT)
            into = ffi.from_buffer("unitok_gram_hit[]", hits, require_writable=True)
            call(search, self.handle, pointer(data), pointer(offsets), len(offsets) - 1, into, capacity, n)
            if n[0] <= capacity:
                return hits[: n[0]]
            capacity = int(n[0])
