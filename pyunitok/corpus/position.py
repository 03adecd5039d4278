"""Position is a place in the inputs between two blocks. Checkpoints store it so that reading can resume there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


@dataclass(frozen=True)
class Position:
    """A place between two blocks, where reading can resume with the same result.

    source      the input's number, from 0; the number of inputs once all have been read
    bytes       decompressed bytes of the input before this place
    documents   documents of the input that end before this place, including skipped ones
    lines       for JSON lines, the lines of the input before this place; otherwise 0
    inside      bytes of the current document that are in earlier blocks; 0 between documents
    state       the encoder's state inside the current document, in hexadecimal; "" if it has none
    file_at     offset in the stored file where decompression can start to reach this place
    file_bytes  decompressed bytes before file_at
    """

    source: Count = 0
    bytes: Count = 0
    documents: Count = 0
    lines: Count = 0
    inside: Count = 0
    state: Annotated[str, Meta(pattern="^[0-9a-f]*$")] = ""
    file_at: Count = 0
    file_bytes: Count = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Position:
        """The inverse of to_json(). Raises ValueError if the values are invalid."""
        if set(values) != set(cls.__dataclass_fields__):
            raise ValueError("not a position in the inputs")
        return msgspec.convert(values, cls)


BEGINNING = Position()
