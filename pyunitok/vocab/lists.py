r"""Reads lists of pieces (files with one piece per line, emoji, kaomoji), and escapes pieces as lines of text.

    line            piece
    (* ^ ω ^)       the same text, including spaces, without LF or CRLF; empty lines are skipped
    \n \r \t \0     a newline, a carriage return, a tab, a NUL
    \x80            a byte
    \u3042          a character; also \U0001f600
    \\              a backslash
    ¯\_(ツ)_/¯      the same text: other backslashes are literal
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyunitok.errors import InputError, OptionError

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[nrt0\\])")
_NAMED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"\\": b"\\"}
_NAMES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\0", "\\": r"\\"}


@dataclass(frozen=True)
class PieceList:
    """Pieces, and their origin for messages."""

    origin: str
    pieces: Sequence[bytes]


def unescape(line: bytes) -> bytes:
    """The piece on a line. Raises ValueError for an escape of an invalid code point."""

    def piece_of(match: re.Match[bytes]) -> bytes:
        escape = match[1]
        if escape in _NAMED:
            return _NAMED[escape]
        code = int(escape[1:], 16)
        if escape[:1] == b"x":
            return bytes([code])
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ValueError(f"{match[0].decode()} is not a valid character")
        return chr(code).encode()

    return _ESCAPE.sub(piece_of, line)


def escape(piece: bytes) -> str:
    """The inverse of unescape(): one line of text, in which only unprintable characters are escaped."""
    return "".join(_shown(character) for character in piece.decode("utf-8", "surrogateescape"))


def _shown(character: str) -> str:
    code = ord(character)
    if character in _NAMES:
        return _NAMES[character]
    if character == " " or character.isprintable():
        return character
    if 0xDC80 <= code < 0xDD00:  # an invalid byte
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def from_file(path: str | Path, *, escapes: bool = True) -> PieceList:
    """The pieces in a UTF-8 file, in order. Raises InputError, which names the line. With escapes=False, backslashes
    are literal."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read the file: {error.strerror}") from error
    pieces = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = line.removesuffix(b"\r")
        try:
            line.decode()
            piece = unescape(line) if escapes else line
        except UnicodeDecodeError:
            raise InputError(f"{path}, line {number}: invalid UTF-8; escape each invalid byte, as in \\x80") from None
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        if piece:
            pieces.append(piece)
    return PieceList(str(path), pieces)


def emoji() -> PieceList:
    """All emoji in the `emoji` package, including skin tones and joined sequences, shortest first."""
    try:
        from emoji import EMOJI_DATA
    except ImportError:
        raise _missing("emoji") from None
    return PieceList("emoji", [text.encode() for text in sorted(EMOJI_DATA, key=lambda text: (len(text), text))])


def kaomoji(n: int | None = None) -> PieceList:
    """The first n kaomoji in the `kaomoji-dataset` package (CC BY 4.0); its core tier comes first."""
    try:
        import kaomoji_dataset
    except ImportError:
        raise _missing("kaomoji-dataset") from None
    entries = sorted(kaomoji_dataset.all(), key=lambda entry: entry["tier"] != "core")
    return PieceList("kaomoji", list(dict.fromkeys(entry["text"].encode() for entry in entries))[:n])


def _missing(package: str) -> OptionError:
    return OptionError(f"the {package} package is not installed: pip install 'pyunitok[vocab]'")
