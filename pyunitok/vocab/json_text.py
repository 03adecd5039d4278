"""Reads and writes JSON in vocabulary files: errors name the line, and lone surrogates are allowed."""

from __future__ import annotations

import json
from typing import Any

from pyunitok.errors import VocabularyError

FIRST_KEY = rb'\s*\{\s*"[^"\\]*(?:\\.[^"\\]*)*"\s*:\s*'  # matches a JSON object up to its first value


def decode(data: bytes, name: str) -> str:
    """The text of a vocabulary file. Raises VocabularyError, which names the line and the first invalid byte."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise VocabularyError(f"{name}, line {line}: invalid UTF-8 (byte {error.start} of the file)") from None


def load(text: str, name: str, **options: Any) -> Any:
    """json.loads() of a vocabulary file. Raises VocabularyError, which names the line."""
    try:
        return json.loads(text, **options)
    except json.JSONDecodeError as error:
        raise VocabularyError(f"{name}, line {error.lineno}: invalid JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # numbers with thousands of digits; thousands of nested brackets
        raise VocabularyError(f"{name}: not a vocabulary: {error}") from None


def dump(value: Any, indent: int | None = None) -> bytes:
    """JSON as UTF-8. If there is a lone surrogate, which UTF-8 cannot encode, all non-ASCII characters are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent).encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent).encode()
