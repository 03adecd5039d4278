"""vector(): zeros that are written, sliced and viewed, whether they are few or many."""

from __future__ import annotations

import os

import pytest

from pyunitok.arrays import vector


@pytest.mark.parametrize("n", [0, 1, 1025, 1 << 17, (1 << 20) + 4096])
@pytest.mark.parametrize(("code", "item_bytes"), [("B", 1), ("H", 2), ("I", 4), ("q", 8)])
def test_zeros(code, item_bytes, n):
    data = vector(code, n)
    assert (len(data), data.nbytes, data.format) == (n, n * item_bytes, code)
    assert not any(data[:100]) and not any(data[-100:])
    if n:
        data[n - 1] = 7
        assert data[n - 1 :].tolist() == [7]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_writes_into_its_own():
    data = vector("B", 1 << 20)
    child = os.fork()
    if child == 0:
        data[0] = 1
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert data[0] == 0
