"""The C side of finding seeds: the strings that repeat in units. See "Training" in csrc/unitok.h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyunitok._c.library import check, ffi, lib
from pyunitok._c.train import Counter, Rules, Units


class Seeds:
    """The strings that repeat in units, found in parts; see unitok_seeds in csrc/unitok.h."""

    def __init__(self, rules: Rules, units: Units, *, compat: bool) -> None:
        ret, error = ffi.new("unitok_seeds **"), ffi.new("unitok_error *")
        check(lib.unitok_seeds_new(rules.handle, units.part(), compat, ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_seeds_free)
        self._keep = rules

    def step(self, budget: int = 1 << 23) -> float:
        """Prepare the parts for a while; how much is done, 1 when all is."""
        progress, error = ffi.new("double *"), ffi.new("unitok_error *")
        check(lib.unitok_seeds_step(self.handle, budget, progress, error), error)
        return float(progress[0])

    @property
    def n_parts(self) -> int:
        return int(lib.unitok_seeds_parts(self.handle))

    def add_leaves(self, min_leaf: int, counters: Sequence[Counter], budget: int = 1 << 23) -> bool:
        """Count in the first counter, for a while, units that none of them holds; whether that was all. Not with
        compat."""
        done, error = ffi.new("int32_t *"), ffi.new("unitok_error *")
        handles = ffi.new("unitok_counter *[]", [counter.handle for counter in counters])
        status = lib.unitok_seeds_leaves(self.handle, min_leaf, budget, handles, len(counters), done, error)
        check(status, error)
        return bool(done[0])


class SeedFinder:
    """Finds what repeats in parts of Seeds, for one thread. limit: see max_seeds in csrc/unitok.h."""

    def __init__(self, seeds: Seeds, limit: int) -> None:
        ret, error = ffi.new("unitok_seed_finder **"), ffi.new("unitok_error *")
        check(lib.unitok_seed_finder_new(seeds.handle, limit, ret, error), error)
        self.handle: Any = ffi.gc(ret[0], lib.unitok_seed_finder_free)
        self._keep = seeds

    def add(self, part: int) -> None:
        """Each part goes to one finder."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_seed_finder_add(self.handle, part, error), error)

    def finish(self, counter: Counter) -> None:
        """Count what was found."""
        error = ffi.new("unitok_error *")
        check(lib.unitok_seed_finder_finish(self.handle, counter.handle, error), error)
