"""Extracts the metadata of a JSON line, which is the object without its text.

    {"id": 1, "text": "…", "score": NaN, "title": "\\ud800"}  ──▶  {"id":1,"score":null,"title":"\\ud800"}

msgspec removes the text and the white space between values without parsing the values, so numbers keep their spelling.
It rejects some lines that json_text.py accepts; these are rewritten first, and lone surrogates are restored
afterwards.
"""

from __future__ import annotations

import re
import secrets

import msgspec

# A string or, outside strings, a constant that JSON does not allow.
_TOKENS = re.compile(rb'"(?:[^"\\]+|\\.)*"|-?Infinity|NaN', re.DOTALL)
_ESCAPES = re.compile(rb"\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)|\\u([dD][89a-fA-F]..)|\\.", re.DOTALL)


class RestOfLine:
    """Removes the text under `path` from lines: see json_text.TextField."""

    def __init__(self, path: list[str]) -> None:
        self._path = path
        self._fields = msgspec.json.Decoder(dict[str, msgspec.Raw])

    def of_line(self, line: bytes) -> bytes:
        """The object without the text and without white space between values; NaN and Infinity become null."""
        try:
            return _compact(self._without(line, self._path))
        except (msgspec.DecodeError, UnicodeError):
            mark = b"lone" + secrets.token_hex(16).encode()
            acceptable = _marked(line, mark).decode("utf-8", "replace").encode()
            return _compact(self._without(acceptable, self._path)).replace(mark, b"\\u")

    def _without(self, value: bytes | msgspec.Raw, path: list[str]) -> bytes:
        fields = self._fields.decode(value)
        inner = fields.pop(path[0])
        if len(path) > 1 and (rest := self._without(inner, path[1:])) != b"{}":
            fields[path[0]] = msgspec.Raw(rest)
        return msgspec.json.encode(fields)


def _compact(value: bytes) -> bytes:
    """Remove white space and replace invalid UTF-8, because msgspec does not validate fields that it skips."""
    return msgspec.json.format(value, indent=-1).decode("utf-8", "replace").encode()


def _marked(line: bytes, mark: bytes) -> bytes:
    """Replace the \\u of lone surrogates with `mark`, which is unique, and NaN and Infinity with null."""

    def escape(found: re.Match[bytes]) -> bytes:
        return found[0] if found[3] is None else mark + found[3]

    def token(found: re.Match[bytes]) -> bytes:
        return _ESCAPES.sub(escape, found[0]) if found[0].startswith(b'"') else b"null"

    return _TOKENS.sub(token, line)
