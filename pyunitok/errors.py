"""Defines the package's exceptions. Each is a UnitokError and also the built-in exception that callers would expect."""

from __future__ import annotations

import re

from pyunitok.disk.url import redacted

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object, *, lines: bool = False) -> str:
    r"""Make a text safe to print: control characters, including those that change the text direction, and invalid
    UTF-8 in file names become escapes such as \x1b or \xff. With `lines`, newlines are kept.

    Use this for every message that contains a file name or other external data.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return _CONTROLS.sub(lambda found: found[0] if lines and found[0] == "\n" else _escaped(found[0]), shown)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # Python's surrogate escape for a byte of invalid UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def count(n: int, noun: str) -> str:
    """'1 document', '2,000 documents'."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


class UnitokError(Exception):
    """The base class of the package's errors. Messages are printable, and URLs in them contain no secrets."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(printable(redacted(x), lines=True) if isinstance(x, str) else x for x in arguments))


class VocabularyError(UnitokError, ValueError):
    """A vocabulary violates a rule of its format. The message names the file and line, or the piece."""


class ModelFormatError(UnitokError, ValueError):
    """A model file has an unknown format, is damaged, or was made by a newer version."""


class PatternError(VocabularyError):
    """A pre-tokenizer pattern is invalid, or the C library does not support it; the message names the byte."""


class IdError(UnitokError, IndexError, ValueError):
    """An id has no piece. The message names the id and its position."""


class InputError(UnitokError, ValueError):
    """A corpus file cannot be read, or its contents are invalid. The message names the file and the line or byte.

    source    in a run: the number of the input, from 0
    document  the number of the document in its batch, from 0
    """

    source: int | None = None
    document: int | None = None


class OutputError(UnitokError, ValueError):
    """A file cannot be written, or an existing one is not a complete token file."""


class MissingFileError(OutputError, FileNotFoundError):
    """A token file or one of its sidecars does not exist."""


class CpuError(UnitokError, ValueError):
    """The requested instruction set is not available on this machine."""


class OptionError(UnitokError, ValueError):
    """Options conflict, or a value is invalid."""


class LimitError(UnitokError, ValueError):
    """A request exceeds a limit that the caller gave. The message says which limit would suffice."""


class TrainingError(UnitokError, ValueError, RuntimeError):
    """A model cannot be trained with these options or on these texts. The message says what to change."""


class TrainingOptionError(TrainingError, OptionError):
    """A model cannot be trained with these options on any texts."""


class NoTextError(TrainingError):
    """There is no text to train on."""


class InputWarning(UserWarning):
    """A corpus file was read, but is probably not what the caller expects. The message names the file."""


class ModelWarning(UserWarning):
    """A model file was loaded, but one of its settings has no effect. The message names the file and the field."""


class ClusterWarning(UserWarning):
    """A machine of the cluster was lost and the run continues without it, or no machine has enough cores for a task."""
