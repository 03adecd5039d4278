"""Converts between str and bytes that may contain invalid UTF-8."""

from __future__ import annotations

import re

_ESCAPED = re.compile("[\udc00-\udcff]")
_ESCAPED_ASCII = re.compile("[\udc00-\udc7f]")


def escaped(data: bytes) -> str:
    """Decode, with each invalid byte as the lone surrogate U+DC00 + byte."""
    return data.decode("utf-8", "surrogateescape")


def unescaped(text: str) -> bytes:
    """The inverse of escaped()."""
    if text.isascii():
        return text.encode()
    return _ESCAPED_ASCII.sub(lambda match: chr(ord(match[0]) & 0xFF), text).encode("utf-8", "surrogateescape")


def replaced(data: bytes) -> str:
    """Decode, with each invalid byte as U+FFFD, as SentencePiece does; Python's "replace" merges adjacent bytes."""
    return replace_escapes(escaped(data))


def replace_escapes(text: str) -> str:
    return text if text.isascii() else _ESCAPED.sub("\ufffd", text)


def readable(data: bytes) -> str:
    """Decode for display, with \\xNN for each invalid byte."""
    return data.decode("utf-8", "backslashreplace")


def is_valid(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def shown(data: bytes) -> str:
    """Decode; invalid bytes become names of SentencePiece's byte pieces, such as <0xE3>."""
    return _ESCAPED.sub(lambda match: f"<0x{ord(match[0]) & 0xFF:02X}>", escaped(data))


def unshown(text: str) -> bytes:
    """The inverse of shown()."""
    parts = re.split(r"<0x([0-9A-F]{2})>", text)
    return b"".join(bytes.fromhex(part) if k % 2 else part.encode() for k, part in enumerate(parts))
