"""pyunitok.train: from corpora to counts to a model. Also a function: pyunitok.train(...) is api.train(...)."""

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
