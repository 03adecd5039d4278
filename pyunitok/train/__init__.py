"""Trains models: counts the units of a corpus, and makes a model from the counts.

The package is also callable: pyunitok.train(...) calls api.train(...).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from pyunitok.train.api import train


class _Callable(ModuleType):
    """The package, which is also callable as the function train()."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return train(*args, **options)


sys.modules[__name__].__class__ = _Callable
