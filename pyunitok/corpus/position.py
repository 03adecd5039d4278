"""Position: where in the inputs all that comes before is encoded. What a checkpoint says of the reading side."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Position:
    """A place between two blocks, from which reading goes on as if never interrupted.

    source     which input, counting from 0; the number of inputs when all are read
    bytes      decompressed bytes of it that the blocks before here account for
    documents  of it that end before here, bad ones that were skipped included
    lines      of it before here, in JSON lines; 0 elsewhere
    inside     bytes of the document under way that have gone out; 0 between documents
    state      what the encoder carries on inside it, in hexadecimal; "" where it carries nothing
    file_at    where in the file, as it lies, decompression can begin to get there,
    file_bytes   and how many decompressed bytes come before that
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
        """ValueError where these are not the values of a position."""
        counts = {name: value for name, value in values.items() if name != "state"}
        if set(values) != set(cls.__dataclass_fields__) or not all(_is_count(value) for value in counts.values()):
            raise ValueError("not a position in the inputs")
        if not isinstance(values["state"], str) or re.fullmatch("[0-9a-f]*", values["state"]) is None:
            raise ValueError("not a position in the inputs")
        return cls(**values)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


BEGINNING = Position()
