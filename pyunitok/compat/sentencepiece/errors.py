"""Defines exceptions that are also instances of the types that the various versions of sentencepiece raise."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyunitok.errors import UnitokError


class FileError(UnitokError, OSError, RuntimeError):
    """A file cannot be read. sentencepiece raises OSError or RuntimeError."""


class ModelError(UnitokError, ValueError, RuntimeError):
    """A model cannot be loaded. sentencepiece raises RuntimeError; pyunitok raises ValueError."""


def read_file(path: Any) -> bytes:
    """The contents of a file. Raises FileError, which names the file, or TypeError if `path` is not a path."""
    try:
        return Path(os.fsdecode(path)).read_bytes()
    except OSError as error:
        raise FileError(error.errno, error.strerror, error.filename) from None
