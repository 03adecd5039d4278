"""What every vocabulary file is read into: packed pieces, their ids, and the special ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyunitok import _ffi
from pyunitok.errors import VocabularyError


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The pieces as a packed list: piece i is data[offsets[i]:offsets[i + 1]] and has the id ids[i]."""

    data: _ffi.Bytes
    offsets: _ffi.Offsets  # [n + 1]
    ids: _ffi.Offsets  # [n]
    eod_id: int | None  # end of document; in no text, so it need not have a piece
    eod_piece: str | None  # how it is shown
    fallback_id: int | None  # what a byte becomes that no piece covers; None if all 256 bytes are pieces
    name: str  # for messages: the file, mostly

    @classmethod
    def pack(
        cls,
        pieces: Sequence[bytes],
        ids: _ffi.Offsets,
        *,
        eod_id: int | None,
        eod_piece: str | None,
        fallback_id: int | None,
        name: str,
    ) -> Vocabulary:
        """Packs the pieces, in their order. Checks nothing."""
        data = np.frombuffer(b"".join(pieces), np.uint8)
        offsets = np.zeros(len(pieces) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=offsets[1:])
        return cls(data, offsets, ids, eod_id, eod_piece, fallback_id, name)

    def build(self, *, engine: str, cpu: str | None) -> _ffi.Model:
        """The model of these pieces. VocabularyError names the piece that breaks a rule (unitok_model_new's)."""
        try:
            return _ffi.Model.new(
                self.data, self.offsets, self.ids,
                eod_id=self.eod_id, fallback_id=self.fallback_id, engine=engine, cpu=cpu,
            )  # fmt: skip
        except VocabularyError as error:
            item = getattr(error, "item", -1)
            if item < 0:
                raise VocabularyError(f"{self.name}: {error}") from None
            piece = self.data[self.offsets[item] : self.offsets[item + 1]][:64].tobytes()
            raise VocabularyError(f"{self.name}: piece {item} ({piece!r}, id {self.ids[item]}): {error}") from None
