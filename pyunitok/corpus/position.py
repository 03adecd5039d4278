"""Position is a place in the inputs between two blocks, where a checkpoint lets reading resume."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Position:
    """A place between two blocks, where reading can resume with the same result.

    source      number of the input, from 0; the number of inputs when all have been read
    bytes       decompressed bytes of the input before this place
    documents   documents of the input that end before this place, including skipped ones
    lines       lines of the input before this place, for JSON lines; otherwise 0
    inside      bytes of the current document in earlier blocks; 0 between documents
    state       the encoder's state inside the current document, in hexadecimal; "" if it has none
    file_at     offset in the stored file where decompression can start to reach this place
    file_bytes  decompressed bytes before file_at
    """

    source: int = 0
    bytes: int = 0
    documents: int = 0
    lines: int = 0
    inside: int = 0
    state: str = ""
    file_at: int = 0
    file_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Position:
        """The inverse of to_json(). ValueError if the values are invalid."""
        counts = {name: value for name, value in values.items() if name != "state"}
        if set(values) != set(cls.__dataclass_fields__) or not all(_is_count(value) for value in counts.values()):
            raise ValueError("not a position in the inputs")
        if not isinstance(values["state"], str) or re.fullmatch("[0-9a-f]*", values["state"]) is None:
            raise ValueError("not a position in the inputs")
        return cls(**values)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


BEGINNING = Position()
