"""The exceptions of the package: each is a UnitokError and also the builtin that a caller would expect."""

from __future__ import annotations


class UnitokError(Exception):
    """The base of every error that this package raises by itself."""


class VocabularyError(UnitokError, ValueError):
    """A vocabulary breaks a rule of its format; the message names file and line, or the piece."""


class ModelFormatError(UnitokError, ValueError):
    """A model file is of no known format, damaged, or made by a newer version."""


class IdError(UnitokError, IndexError, ValueError):
    """An id has no piece; the message names the id and its position."""


class InputError(UnitokError, ValueError):
    """A corpus file cannot be read as what it should be; the message names the file and the line or byte."""


class OutputError(UnitokError, ValueError):
    """A token file cannot be written, or what lies there is no whole token file."""


class MissingFileError(OutputError, FileNotFoundError):
    """A token file, or a file that belongs to it, does not exist."""


class CpuError(UnitokError, ValueError):
    """The instruction set asked for is not to be had here."""


class LimitError(UnitokError, ValueError):
    """What was asked for does not fit into a limit that was given with it; the message says what would."""


class ModelWarning(UserWarning):
    """A model file was loaded, but not all that it asks for is done; the message names file and field."""
