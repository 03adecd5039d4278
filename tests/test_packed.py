"""Packed: valid and invalid arguments, and its behaviour as a list."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyunitok import Packed
from pyunitok._c import library


@given(st.lists(st.binary(max_size=9) | st.text(max_size=5)))
def test_packed_behaves_like_a_list(documents: list[str | bytes]) -> None:
    items = [document.encode() if isinstance(document, str) else document for document in documents]
    for packed in (Packed.from_documents(documents), Packed.from_documents(iter(documents))):
        assert len(packed) == len(items)
        assert [item.tobytes() for item in packed] == items
        assert [packed[i].tobytes() for i in range(-len(items), len(items))] == items * 2
        assert packed == Packed.from_documents(items)
        assert packed.offsets.tolist() == [sum(map(len, items[:i])) for i in range(len(items) + 1)]
        for index in (len(items), -len(items) - 1):
            with pytest.raises(IndexError, match=f"there are {len(items)}"):
                packed[index]


def test_arrays_are_not_copied() -> None:
    data, offsets = np.arange(6, dtype=np.uint16), np.array([1, 3, 3, 5])
    packed = Packed(data, offsets)
    assert np.shares_memory(packed.data, data) and np.shares_memory(packed.offsets, offsets)
    assert np.shares_memory(packed[0], data)
    assert [item.tolist() for item in packed] == [[1, 2], [], [3, 4]]
    assert Packed(data[::2], np.array([0, 3]))[0].tolist() == [0, 2, 4]  # an array that is not contiguous is copied
    assert Packed(data, np.array([0, 2, 6], np.uint32))[1].tolist() == [2, 3, 4, 5]


def test_equality() -> None:
    one, other = Packed.from_documents(["ab", "c"]), Packed.from_documents(["a", "bc"])
    assert one != other and one != Packed.from_documents(["ab"]) and one != ["ab", "c"]
    assert one == Packed(np.frombuffer(b"_abc_", np.uint8), np.array([1, 3, 4]))
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_repr() -> None:
    assert repr(Packed.from_documents(["ab", "c"])) == "Packed(2 items, uint8[3])"
    assert repr(Packed.from_documents([])) == "Packed(0 items, uint8[0])"


@pytest.mark.parametrize(
    "data, offsets",
    [
        (np.zeros(3, np.uint8), []),
        (np.zeros(3, np.uint8), [[0, 3]]),
        (np.zeros((3, 1), np.uint8), [0, 3]),
        (np.zeros(3, np.uint8), [0, 4]),
        (np.zeros(3, np.uint8), [-1, 3]),
        (np.zeros(3, np.uint8), [0, 2, 1]),
        (np.zeros(3, np.uint8), [2**62, 0]),
        (np.zeros(3, np.uint8), np.array([0, 2**63], np.uint64)),
        (np.zeros(3, np.uint8), [0, np.iinfo(np.int64).min, 3]),
    ],
)
def test_wrong_offsets(data: Any, offsets: Any) -> None:
    with pytest.raises(ValueError, match="offset"):
        Packed(data, np.array(offsets))


def test_wrong_documents() -> None:
    with pytest.raises(TypeError):
        Packed.from_documents([1])  # type: ignore[list-item]
    with pytest.raises(UnicodeEncodeError):
        Packed.from_documents(["a", "\udfff"])
    with pytest.raises(TypeError):
        Packed.from_documents(["a"])["0"]  # type: ignore[index]


def test_memoryviews_may_be_collected_with_their_pointers() -> None:
    """Regression: clearing an exported memoryview before its pointer made the garbage collector raise BufferError or
    crash."""

    class Holder:
        pass

    for _ in range(10):
        view, holder = np.zeros(100, np.uint16).data, Holder()
        holder.itself, holder.view, holder.pointer = holder, view, library.pointer(view, writable=True)
        holder.pointer[99] = 7
        assert view[99] == 7
        del view, holder
        gc.collect()


def test_pointers_to_buffers() -> None:
    for array in (np.arange(3, dtype=np.int64), np.empty(0, np.uint16)):
        library.pointer(array)
        library.pointer(array.data)
    library.pointer(memoryview(b"abc"))
    for wrong in (np.arange(6)[::2], np.zeros((2, 2), np.uint8), np.zeros(2, ">u2"), np.zeros(2, bool)):
        with pytest.raises(ValueError, match="contiguous vector"):
            library.pointer(wrong)
    with pytest.raises(BufferError):
        library.pointer(memoryview(b"abc"), writable=True)
