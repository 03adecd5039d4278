"""The encoder's state between two parts of a document: it is saved, loaded, and rejected if it is invalid."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyunitok._c import scratch as c_scratch

FIELDS = ("sum", "position", "last_unknown", "last_byte")
NORMALIZE = ("n_held_bytes", "is_verbatim", "is_started", "is_after_space", "is_ended")
GOOD = (1, -12.5, 70_000, 3, 0b101, ord("a"))  # version, sum, position, held bytes, bits, last byte


def values(state: c_scratch.State) -> dict[str, float]:
    handle = state.handle
    ret = {name: getattr(handle, name) for name in FIELDS}
    return ret | {name: getattr(handle.normalize, name) for name in NORMALIZE}


def saved(*fields: float) -> str:
    return struct.pack("<BdqqBB", *fields).hex()


@given(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 1 << 62), st.integers(0, 1 << 40),
    st.integers(0, 7), st.integers(0, 255),
)  # fmt: skip
def test_saved_and_read(total: float, position: int, held: int, bits: int, last_byte: int) -> None:
    text = saved(1, total, position, held, bits, last_byte)
    state = c_scratch.State(text)
    assert state.hexadecimal() == text
    assert values(state) == {
        "sum": total, "position": position, "n_held_bytes": held, "is_started": bits & 1,
        "is_after_space": bits >> 1 & 1, "last_unknown": bits >> 2, "last_byte": last_byte, "is_verbatim": 0,
        "is_ended": 0,
    }  # fmt: skip


def test_new() -> None:
    assert c_scratch.State().hexadecimal() == "01" + "00" * 26
    assert not any(values(c_scratch.State("01" + "00" * 26)).values())


@pytest.mark.parametrize(
    ("at", "value"), [(0, 0), (0, 2), (1, math.inf), (1, math.nan), (2, -1), (3, -1), (3, 1 << 41), (4, 8), (4, 128)]
)
def test_invalid_states(at: int, value: float) -> None:
    """Regression: a negative number of held bytes made the encoder write before the start of its buffer."""
    c_scratch.State(saved(*GOOD))
    with pytest.raises(ValueError, match="not the state"):
        c_scratch.State(saved(*GOOD[:at], value, *GOOD[at + 1 :]))


@pytest.mark.parametrize("text", ["00", "xyz", "01" * 28, "01" * 26, "00" * 48])
def test_invalid_lengths(text: str) -> None:
    with pytest.raises(ValueError):
        c_scratch.State(text)
