"""Defines the contents of a model file: a Vocabulary, from which C builds the model, and About, its other metadata."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from pyunitok._c import model as c_model
from pyunitok.errors import VocabularyError
from pyunitok.packed import Bytes, Offsets, Packed, Scores

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # types of pieces, as in csrc/unitok.h
PREPARE_NFC = {"nfc": True}  # the About.prepare of models whose texts are normalized by nfc.py

PackedPieces = tuple[Bytes, Offsets]  # piece i is data[offsets[i]:offsets[i + 1]]


def pack(pieces: Sequence[bytes]) -> PackedPieces:
    packed = Packed.from_documents(pieces)
    return packed.data, packed.offsets


def split(data: Bytes, offsets: Offsets) -> list[bytes]:
    """The inverse of pack()."""
    joined, bounds = data.tobytes(), offsets.tolist()
    return [joined[begin:end] for begin, end in pairwise(bounds)]


def piece_at(packed: PackedPieces, index: int) -> bytes:
    data, offsets = packed
    return data[offsets[index] : offsets[index + 1]].tobytes()


@dataclass(frozen=True)
class About:
    """Model metadata that only Python uses; stored as JSON after a native image.

    name             the name of the vocabulary
    eod_piece        the text of the end-of-document token, or None
    special          {role: id}; the roles are "unk", "bos", "eos" and "pad", and any may be missing
    denormalization  (charsmap, flags) for decoded text; see csrc/text/normalize.h
    prepare          further processing of texts: PREPARE_NFC, the rules of huggingface/, or None
    count_total      BytePiece: the sum of the counts from which the scores were computed
    """

    name: str
    eod_piece: str | None = None
    special: dict[str, int] = field(default_factory=dict)
    denormalization: tuple[bytes, int] | None = None
    prepare: dict[str, Any] | None = None
    count_total: int | float | None = None

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {"name": self.name, "eod_piece": self.eod_piece}
        if self.special:
            values["special"] = self.special
        if self.denormalization:
            charsmap, flags = self.denormalization
            values["denormalization"] = {"charsmap": b64encode(charsmap).decode(), "flags": flags}
        if self.prepare:
            values["prepare"] = self.prepare
        if self.count_total is not None:
            values["count_total"] = self.count_total
        return values

    @classmethod
    def from_json(cls, values: Any) -> About:
        """The inverse of to_json(). Raises ValueError if the value is not a valid About. Unknown keys are ignored."""
        if not isinstance(values, dict):
            raise ValueError("expected an object")
        name, eod_piece = values.get("name"), values.get("eod_piece")
        if not isinstance(name, str) or not isinstance(eod_piece, str | None):
            raise ValueError("the name or the end-of-document piece is not a string")
        (name + (eod_piece or "")).encode()  # a lone surrogate could not be saved again
        special, prepare = values.get("special", {}), values.get("prepare")
        if not isinstance(special, dict) or not all(type(id_) is int for id_ in special.values()):
            raise ValueError("a special id is not a number")
        if not isinstance(prepare, dict | None):
            raise ValueError("prepare is not an object")
        count_total = values.get("count_total")
        if count_total is not None and type(count_total) not in (int, float):
            raise ValueError("the sum of counts is not a number")
        rules = values.get("denormalization")
        denormalization = None
        if rules is not None:
            if not isinstance(rules, dict) or type(rules.get("flags")) is not int:
                raise ValueError("the denormalization is invalid")
            denormalization = (b64decode(rules["charsmap"], validate=True), rules["flags"])
        return cls(name, eod_piece, special, denormalization, prepare, count_total)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Packed pieces with their ids: piece i is data[offsets[i]:offsets[i + 1]] and has the id ids[i].

    See unitok_spec in csrc/unitok.h.
    """

    data: Bytes
    offsets: Offsets  # [n + 1]
    ids: Offsets  # [n]
    eod_id: int | None  # the end of document; need not have a piece, because no text contains this token
    eod_piece: str | None  # the text of the end-of-document token
    fallback_id: int | None  # the id of a byte that no piece covers; None if all 256 bytes are pieces
    name: str  # for messages; usually the file
    kind: str = "longest"  # a name in kinds.KINDS
    flags: int = 0
    scores: Scores | None = None  # [n]
    types: Bytes | None = None  # [n]
    charsmap: bytes = b""
    unknown_surface: bytes = b""
    merges: Offsets | None = None  # [3 * n_merges]: left sides, right sides, results; with listed_merges
    pattern: bytes = b""  # the pre-tokenizer pattern; see unitok_pattern_new in csrc/unitok.h
    special: dict[str, int] = field(default_factory=dict)
    denormalization: tuple[bytes, int] | None = None
    prepare: dict[str, Any] | None = None
    count_total: int | float | None = None

    @property
    def pieces(self) -> list[bytes]:
        return split(self.data, self.offsets)

    @classmethod
    def pack(
        cls, pieces: Sequence[bytes], ids: Offsets, *, eod_id: int | None, eod_piece: str | None, name: str,
        fallback_id: int | None = None, **more: Any,
    ) -> Vocabulary:  # fmt: skip
        """Pack the pieces in order, without any checks."""
        return cls(*pack(pieces), ids, eod_id, eod_piece, fallback_id, name, **more)

    @classmethod
    def of(cls, model: c_model.Model, about: About) -> Vocabulary:
        """The vocabulary from which a model was built."""
        info = model.info
        common: dict[str, Any] = {
            "eod_id": None if info.eod_id < 0 else int(info.eod_id), "eod_piece": about.eod_piece,
            "fallback_id": None if info.fallback_id < 0 else int(info.fallback_id), "name": about.name,
            "kind": model.kind.name,
        }  # fmt: skip
        if not model.kind.has_spec:
            data, offsets = model.pieces()
            ids = np.flatnonzero(np.diff(offsets))
            return cls(data, np.append(offsets[ids], offsets[-1]), ids, **common)
        return cls(
            **model.spec(), **common, flags=int(info.flags), special=about.special,
            denormalization=about.denormalization, prepare=about.prepare, count_total=about.count_total,
        )  # fmt: skip

    def about(self, name: str) -> About:
        return About(name, self.eod_piece, self.special, self.denormalization, self.prepare, self.count_total)

    def build(self, *, engine: str = "double-array", cpu: str | None = None) -> c_model.Model:
        """Build the model. Raises VocabularyError, which names the piece that breaks a rule of unitok_model_new()."""
        try:
            return c_model.Model.new(
                self.data, self.offsets, self.ids, kind=self.kind, flags=self.flags, scores=self.scores,
                types=self.types, charsmap=self.charsmap, unknown_surface=self.unknown_surface, eod_id=self.eod_id,
                fallback_id=self.fallback_id, merges=self.merges, pattern=self.pattern, engine=engine, cpu=cpu,
            )  # fmt: skip
        except VocabularyError as error:
            item = getattr(error, "item", -1)
            if item < 0:
                raise VocabularyError(f"{self.name}: {error}") from None
            piece = piece_at((self.data, self.offsets), item)[:64]
            raise VocabularyError(f"{self.name}: piece {item} ({piece!r}, id {self.ids[item]}): {error}") from None
