"""Bytes that need not be UTF-8, as text: each byte that is part of no character by itself."""

from __future__ import annotations

import re

_ESCAPED = re.compile("[\udc00-\udcff]")
_ESCAPED_ASCII = re.compile("[\udc00-\udc7f]")


def escaped(data: bytes) -> str:
    """Invalid bytes as the lone surrogates U+DC00 + byte."""
    return data.decode("utf-8", "surrogateescape")


def unescaped(text: str) -> bytes:
    """UTF-8, with the bytes that lone surrogates stand for."""
    if text.isascii():
        return text.encode()
    return _ESCAPED_ASCII.sub(lambda match: chr(ord(match[0]) & 0xFF), text).encode("utf-8", "surrogateescape")


def replaced(data: bytes) -> str:
    """U+FFFD for each invalid byte, as SentencePiece has it; Python's "replace" makes one of several."""
    return replace_escapes(escaped(data))


def replace_escapes(text: str) -> str:
    return text if text.isascii() else _ESCAPED.sub("\ufffd", text)


def shown(data: bytes) -> str:
    """Invalid bytes as <0xE3>, which is what SentencePiece calls its byte pieces."""
    return _ESCAPED.sub(lambda match: f"<0x{ord(match[0]) & 0xFF:02X}>", escaped(data))


def unshown(text: str) -> bytes:
    """The bytes of a piece as shown() shows it."""
    parts = re.split(r"<0x([0-9A-F]{2})>", text)
    return b"".join(bytes.fromhex(part) if k % 2 else part.encode() for k, part in enumerate(parts))
