"""The syntax tree of a pattern: written as a regular expression of Python's, and judged by what it may cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

_WAYS_MAX = 1000  # to match one place that `re` may try, all in vain


@dataclass(frozen=True)
class Character:
    """A literal character, a class, or any but a newline."""

    pattern: str


@dataclass(frozen=True)
class Edge:
    """The beginning or the end of a line."""

    pattern: str


@dataclass(frozen=True)
class Sequence:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    item: Node
    least: int
    most: int | None
    is_lazy: bool
    spelled: str  # "*", "{2,5}?"


@dataclass(frozen=True)
class Look:
    item: Node
    is_behind: bool
    is_negative: bool


Node = Character | Edge | Sequence | Choice | Repeat | Look


def spell(node: Node) -> str:
    """As a regular expression of Python's."""
    if isinstance(node, Character | Edge):
        return node.pattern
    if isinstance(node, Sequence):
        return "".join(map(spell, node.items))
    if isinstance(node, Choice):
        return f"(?:{'|'.join(map(spell, node.items))})"
    if isinstance(node, Repeat):
        return f"(?:{spell(node.item)}){node.spelled}"
    return f"(?{'<' if node.is_behind else ''}{'!' if node.is_negative else '='}{spell(node.item)})"


def can_be_empty(node: Node) -> bool:
    if isinstance(node, Character):
        return False
    if isinstance(node, Sequence):
        return all(map(can_be_empty, node.items))
    if isinstance(node, Choice):
        return any(map(can_be_empty, node.items))
    return not isinstance(node, Repeat) or node.least == 0 or can_be_empty(node.item)


def width(node: Node) -> int:
    """Of the contents of a look-behind, which has only one width in Python."""
    if isinstance(node, Character):
        return 1
    if isinstance(node, Sequence):
        return sum(map(width, node.items))
    if isinstance(node, Choice):
        return width(node.items[0])
    return width(node.item) * node.least if isinstance(node, Repeat) else 0


def size(node: Node) -> int:
    """How many states it has, with counted repetitions written out."""
    if isinstance(node, Sequence | Choice):
        return 1 + sum(map(size, node.items))
    if isinstance(node, Repeat):
        return 1 + size(node.item) * max(node.least + 1, node.most or 0)
    return 1 + size(node.item) if isinstance(node, Look) else 1


def is_cheap(node: Node) -> bool:
    """Whether `re` takes a bounded number of steps if it does not match, and one step per character if it does.

    So it is if the only unbounded repetition is of single characters and nothing after it can fail.
    """
    if isinstance(node, Choice):
        return all(map(is_cheap, node.items)) and len(node.items) <= _WAYS_MAX
    if isinstance(node, Sequence) and node.items:
        return _ways(Sequence(node.items[:-1])) * size(node) <= _WAYS_MAX and is_cheap(node.items[-1])
    if isinstance(node, Repeat) and node.most is None:
        return isinstance(node.item, Character) and node.least <= _WAYS_MAX
    return _ways(node) * size(node) <= _WAYS_MAX


def _ways(node: Node) -> float:
    """In how many ways it may match at one place, at most."""
    if isinstance(node, Sequence):
        return prod(map(_ways, node.items))
    if isinstance(node, Choice):
        return sum(map(_ways, node.items))
    if isinstance(node, Repeat):
        ways = _ways(node.item)
        if node.most is None or (ways > 1 and node.most > 10):
            return float("inf")
        return float(sum(ways**k for k in range(node.least, node.most + 1)))
    return _ways(node.item) if isinstance(node, Look) else 1
