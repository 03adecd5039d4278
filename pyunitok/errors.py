"""The exceptions of the package: each is a UnitokError and also the builtin that a caller would expect."""

from __future__ import annotations

import re

from pyunitok.disk.url import redacted

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object, *, lines: bool = False) -> str:
    r"""Text as it may go to a terminal: control characters, among them those that change the direction of writing, and
    bytes of a file name that are not UTF-8 as escapes, \x1b or \xff. `lines`: newlines stay.

    For every message with a file name or anything else that came from outside.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return _CONTROLS.sub(lambda found: found[0] if lines and found[0] == "\n" else _escaped(found[0]), shown)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def count(n: int, noun: str) -> str:
    """'1 document', '2,000 documents'."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


class UnitokError(Exception):
    """The base of every error that this package raises by itself. Its message is printable, and no URL in it has
    secrets."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(printable(redacted(x), lines=True) if isinstance(x, str) else x for x in arguments))


class VocabularyError(UnitokError, ValueError):
    """A vocabulary breaks a rule of its format; the message names file and line, or the piece."""


class ModelFormatError(UnitokError, ValueError):
    """A model file is of no known format, damaged, or made by a newer version."""


class IdError(UnitokError, IndexError, ValueError):
    """An id has no piece; the message names the id and its position."""


class InputError(UnitokError, ValueError):
    """A corpus file cannot be read as what it should be; the message names the file and the line or byte.

    source    in a run: which input, counting from 0
    document  which of the documents that were encoded together, counting from 0
    """

    source: int | None = None
    document: int | None = None


class OutputError(UnitokError, ValueError):
    """A token file cannot be written, or what is there is not a complete token file."""


class MissingFileError(OutputError, FileNotFoundError):
    """A token file, or a file that belongs to it, does not exist."""


class CpuError(UnitokError, ValueError):
    """The requested instruction set is not available on this machine."""


class OptionError(UnitokError, ValueError):
    """Options conflict, or a value is invalid."""


class LimitError(UnitokError, ValueError):
    """What was asked for does not fit into a limit that was given with it; the message says what would."""


class TrainingError(UnitokError, ValueError, RuntimeError):
    """A model cannot be trained with these options or from these texts; the message says what to change."""


class TrainingOptionError(TrainingError, OptionError):
    """A model cannot be trained with these options, whatever the texts."""


class NoTextError(TrainingError):
    """There is no text to train on."""


class InputWarning(UserWarning):
    """A corpus file is read, but is perhaps not what it should be; the message names the file."""


class ModelWarning(UserWarning):
    """A model file was loaded, but a setting in it has no effect; the message names file and field."""


class ClusterWarning(UserWarning):
    """A machine of the cluster was lost, and the run goes on without it; or no machine has as many cores as a task."""
