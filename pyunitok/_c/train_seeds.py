"""Bindings for the section "Seeds" of csrc/unitok_train.h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyunitok._c.library import call, create, ffi, lib
from pyunitok._c.train import Counter, Rules, Units


class Seeds:
    """The repeated strings in some units, found part by part; see unitok_seeds."""

    def __init__(self, rules: Rules, units: Units, *, compat: bool) -> None:
        self.handle: Any = create("seeds", rules.handle, units.part(), compat)
        self._keep = rules

    def step(self, budget: int = 1 << 23) -> float:
        """Continue preparing the parts. Returns the progress, which is 1 at the end."""
        progress = ffi.new("double *")
        call(lib.unitok_seeds_step, self.handle, budget, progress)
        return float(progress[0])

    @property
    def n_parts(self) -> int:
        return int(lib.unitok_seeds_parts(self.handle))

    def add_leaves(self, min_leaf: int, counters: Sequence[Counter], budget: int = 1 << 23) -> bool:
        """Continue adding to the first counter the units that no counter contains. Returns True at the end. Must not be
        called with compat."""
        done = ffi.new("int32_t *")
        handles = ffi.new("unitok_counter *[]", [counter.handle for counter in counters])
        call(lib.unitok_seeds_leaves, self.handle, min_leaf, budget, handles, len(counters), done)
        return bool(done[0])


class SeedFinder:
    """Finds the repeated strings in some parts of Seeds, in one thread. limit: see unitok_seed_finder_new."""

    def __init__(self, seeds: Seeds, limit: int) -> None:
        self.handle: Any = create("seed_finder", seeds.handle, limit)
        self._keep = seeds

    def add(self, part: int) -> None:
        """Search a part. Each part must go to exactly one finder."""
        call(lib.unitok_seed_finder_add, self.handle, part)

    def finish(self, counter: Counter) -> None:
        """Add the strings found, with their counts, to `counter`."""
        call(lib.unitok_seed_finder_finish, self.handle, counter.handle)
