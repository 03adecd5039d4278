"""record() against dataclass(): the same classes made by both, called and compared the same ways."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyunitok.records import record


def classes(decorate):
    """A frozen class, one with every kind of field, one that inherits, one that compares by identity."""

    @decorate(frozen=True)
    class Frozen:
        a: int
        b: str = "x"

    @decorate()
    class Every:
        a: int
        b: list[int] = dataclasses.field(default_factory=list)
        c: object = dataclasses.field(default=None, compare=False, repr=False)

    @decorate(frozen=True)
    class More(Frozen):
        c: float = 0.5
        b: str = "y"

    @decorate(eq=False)
    class Alone:
        a: int
        b: int = 1

    return Frozen, Every, More, Alone


RECORDS, DATACLASSES = classes(record), classes(dataclasses.dataclass)

values = st.lists(st.integers(0, 1), max_size=4)
names = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 1), max_size=3)


def made(cls, values, named):
    try:
        return cls(*values, **named)
    except TypeError:
        return None


@given(st.integers(0, 3), values, names, values, names)
def test_as_dataclasses(k, values, named, other_values, other_named):
    mine, theirs = made(RECORDS[k], values, named), made(DATACLASSES[k], values, named)
    assert (mine is None) == (theirs is None)
    if mine is None:
        return
    assert repr(mine) == repr(theirs)
    assert dataclasses.asdict(mine) == dataclasses.asdict(theirs)
    assert copy.copy(mine).__dict__ == mine.__dict__ == theirs.__dict__
    assert mine != theirs
    other_mine = made(RECORDS[k], other_values, other_named)
    other_theirs = made(DATACLASSES[k], other_values, other_named)
    if other_mine is not None:
        assert (mine == other_mine) == (theirs == other_theirs)
    if RECORDS[k].__hash__ is not None and k != 3:
        assert hash(mine) == hash(theirs)
    for change in (lambda x: setattr(x, "a", 5), lambda x: delattr(x, "a")):
        outcomes = []
        for instance in (mine, theirs):
            try:
                change(instance)
                outcomes.append(None)
            except dataclasses.FrozenInstanceError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
    assert mine.__dict__ == theirs.__dict__


@pytest.mark.parametrize("k", range(4))
def test_class_as_dataclass(k):
    mine, theirs = RECORDS[k], DATACLASSES[k]
    assert [f.name for f in dataclasses.fields(mine)] == [f.name for f in dataclasses.fields(theirs)]
    assert (mine.__hash__ is None) == (theirs.__hash__ is None)
    parameters = [
        [(p.name, p.kind, p.annotation, p.default is p.empty) for p in inspect.signature(cls).parameters.values()]
        for cls in (mine, theirs)
    ]
    assert parameters[0] == parameters[1]


def test_factories_make_a_new_object_each_time():
    first, second = RECORDS[1](1), RECORDS[1](1)
    first.b.append(1)
    assert second.b == []


def test_replace_and_pickle():
    from pyunitok.corpus.position import Position

    at = Position(1, 2)
    assert dataclasses.replace(at, source=3) == Position(3, 2)
    assert pickle.loads(pickle.dumps(at)) == at
    assert hash(pickle.loads(pickle.dumps(at))) == hash(at)


def test_a_wrong_call_says_what_is_right():
    with pytest.raises(TypeError, match=r"Frozen\(a: 'int', b: 'str' = 'x'\) was called with \(1, c=2\)"):
        RECORDS[0](1, c=2)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace")
def test_copy_replace():
    assert copy.replace(RECORDS[0](1), a=2) == RECORDS[0](2)
