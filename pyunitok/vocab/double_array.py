"""Builds double arrays that map byte strings to values, with the same units as the darts-clone library.

    keys ──▶ states of a minimal acyclic automaton ──▶ units

charsmap.py describes the units. The array grows in blocks of 256 units. A state is placed at the first offset that has
a free unit for each of its labels. Candidate offsets come from a ring of the free units in the last 16 blocks. These
rules affect the bytes of a charsmap, so they must not change.
"""

from __future__ import annotations

from collections.abc import Mapping

BLOCK = 256
RING = 16 * BLOCK
_BOTH = 0xFF << 21, 0xFF  # set_offset() cannot encode a distance with bits in both masks

State = tuple[tuple[int, int], ...]  # (label, next state), sorted by label; label 0 ends a key and has its value


def build(values: Mapping[bytes, int]) -> list[int]:
    """The units. Keys must not be empty or contain a NUL."""
    states, is_shared = _states(values)
    array = _Array()
    placed: dict[int, int] = {}
    waiting = [(0, len(states) - 1)]
    while waiting:
        at, number = waiting.pop()
        state = states[number]
        if number in placed and _is_distance(at ^ placed[number]):
            array.set_offset(at, at ^ placed[number], has_value=state[0][0] == 0)
            continue
        offset = array.place(at, state)
        if is_shared[number]:
            placed[number] = offset
        waiting += [(offset ^ label, target) for label, target in reversed(state) if label]
    return array.finish()


def _states(values: Mapping[bytes, int]) -> tuple[list[State], list[bool]]:
    """All states (the root last), and for each state whether several trie nodes are merged in it."""
    states: list[State] = []
    is_shared: list[bool] = []
    numbers: dict[State, int] = {}
    path: list[list[tuple[int, int]]] = [[]]  # the transitions found so far after each prefix of the last key

    def close(depth: int) -> None:
        while len(path) > depth:
            state = tuple(path.pop())
            number = numbers.setdefault(state, len(states))
            if number == len(states):
                states.append(state)
                is_shared.append(False)
            else:
                is_shared[number] = True
            if path:
                path[-1][-1] = path[-1][-1][0], number

    last = b""
    for key in sorted(values):
        common = 0
        while common < min(len(key), len(last)) and key[common] == last[common]:
            common += 1
        close(common + 1)
        for byte in key[common:]:
            path[-1].append((byte, -1))
            path.append([])
        path[-1].append((0, values[key]))
        last = key
    close(0)
    return states, is_shared


def _is_distance(distance: int) -> bool:
    return not (distance & _BOTH[0] and distance & _BOTH[1])


class _Array:
    """The units and the ring of free units, which is a linked list indexed by the unit's number modulo RING."""

    def __init__(self) -> None:
        self._units: list[int] = []
        self._next, self._previous = [0] * RING, [0] * RING
        self._is_fixed = [False] * RING  # whether the unit is taken
        self._is_used = [False] * RING  # whether the unit is the offset of a state; a second state must not use it
        self._first = 0  # the first free unit of the ring, or len(self._units) if the ring is empty
        self._take(0)
        self._is_used[0] = True
        self.set_offset(0, 1)

    def set_offset(self, at: int, distance: int, *, has_value: bool = False) -> None:
        """Set the distance from unit `at` to its child state: up to 21 bits, or a larger multiple of 256."""
        code = distance << 10 if distance < 1 << 21 else distance << 2 | 1 << 9
        self._units[at] = self._units[at] & (1 << 31 | 1 << 8 | 0xFF) | code | has_value << 8

    def place(self, at: int, state: State) -> int:
        """Place the child state of unit `at`; returns its offset."""
        offset = self._find(at, [label for label, _ in state])
        self.set_offset(at, at ^ offset, has_value=state[0][0] == 0)
        for label, target in state:
            self._take(offset ^ label)
            self._units[offset ^ label] = label if label else target | 1 << 31
        self._is_used[offset % RING] = True
        return offset

    def _find(self, at: int, labels: list[int]) -> int:
        free = self._first
        while free < len(self._units):
            offset = free ^ labels[0]
            if (
                not self._is_used[offset % RING] and _is_distance(at ^ offset)
                and not any(self._is_fixed[(offset ^ label) % RING] for label in labels[1:])
            ):  # fmt: skip
                return offset
            free = self._next[free % RING]
            if free == self._first:
                break
        return len(self._units) | at & 0xFF

    def _take(self, at: int) -> None:
        if at >= len(self._units):
            self._grow()
        following, preceding = self._next[at % RING], self._previous[at % RING]
        if at == self._first:
            self._first = following if following != at else len(self._units)
        self._next[preceding % RING] = following
        self._previous[following % RING] = preceding
        self._is_fixed[at % RING] = True

    def _grow(self) -> None:
        begin, end = len(self._units), len(self._units) + BLOCK
        if end > RING:
            self._fill(begin - RING)
        self._units += [0] * BLOCK
        for at in range(begin, end):
            self._is_used[at % RING] = self._is_fixed[at % RING] = False
            self._next[at % RING] = at + 1
            self._previous[at % RING] = at - 1
        is_alone = self._first == begin
        last = end - 1 if is_alone else self._previous[self._first % RING]
        self._previous[begin % RING] = last
        self._next[(end - 1) % RING] = self._first
        self._next[last % RING] = begin
        self._previous[self._first % RING] = end - 1

    def _fill(self, begin: int) -> None:
        """Fill the free units of a block with labels that no lookup can reach."""
        block = range(begin, begin + BLOCK)
        unused = next((at for at in block if not self._is_used[at % RING]), 0)
        for at in block:
            if not self._is_fixed[at % RING]:
                self._take(at)
                self._units[at] = (at ^ unused) & 0xFF

    def finish(self) -> list[int]:
        for begin in range(max(0, len(self._units) - RING), len(self._units), BLOCK):
            self._fill(begin)
        return self._units
