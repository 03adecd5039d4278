"""Work, the budget of a query about words."""

from __future__ import annotations


class Work:
    """A budget in units of about a nanosecond; None is unlimited. is_spent: an operation has been skipped."""

    def __init__(self, units: int | None) -> None:
        self._left = units
        self.is_spent = False

    def take(self, n: int, cost: int) -> int:
        """How many of n operations, which cost `cost` units each, the budget allows; they are deducted from it."""
        if self._left is None:
            return n
        allowed = min(n, self._left // cost)
        self._left -= allowed * cost
        self.is_spent |= allowed < n
        return allowed
