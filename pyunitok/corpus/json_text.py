"""One string field of JSON lines, as UTF-8: many lines at once where all is well, one by one where it is not.

msgspec validates what is JSON (RFC 8259) and finds the field; the string itself is unescaped in C, without the GIL:

    lines ──▶ decode_lines: "caf\\u00e9", "b", … (msgspec.Raw) ──▶ joined ──▶ unitok_json_unescape ──▶ packed list

Where a name occurs twice the last one counts, whatever the others are. A lone surrogate escape (\\ud800) is an error in
the text, where it has no UTF-8, and ignored elsewhere.
"""

from __future__ import annotations

import json
import operator
import re
from typing import Any

import msgspec
import numpy as np

from pyunitok import _ffi

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"  # JSON's white space
_OPEN, _CLOSE, _NEWLINE, _RETURN = b"{}\n\r"

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Offsets = np.ndarray[Any, np.dtype[np.int64]]


def key_path(text_key: str) -> list[str]:
    r"""The names that lead to the text: "a.b" is b inside a; "a\.b" is the one name "a.b"."""
    return [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", text_key)]


def _decoder(path: list[str], leaf: Any) -> msgspec.json.Decoder[Any]:
    """Of objects with something at `path`; all other fields are passed over."""
    kind = leaf
    for name in reversed(path):
        kind = msgspec.defstruct("Line", [("value", kind)], rename={"value": name}, gc=False)
    return msgspec.json.Decoder(kind)


class TextField:
    """The string under text_key (see key_path) of lines. Any number of threads at once."""

    def __init__(self, text_key: str) -> None:
        self._path = key_path(text_key)
        self._raw = _decoder(self._path, msgspec.Raw)
        self._str = _decoder(self._path, str)
        self._fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
        self._value_of = operator.attrgetter(".".join(["value"] * len(self._path)))

    def of_lines(self, data: Bytes, ends: Offsets, out: Bytes, offsets: Offsets) -> bool:
        """Put the texts of the lines in `data` into `out`, a packed list with offsets[0..len(ends)]; False if a line
        wants a closer look. ends[i] is where line i ends, its newline included. `out` has room for the lines.

        decode_lines takes a value that spans lines, and several in one line. Where each line begins with "{" and
        ends with "}" the first cannot be: inside a value no "{" follows a "}" and white space, and a string holds no
        newline. So each line then has at least one value, and as many values as lines means one each.
        """
        closes = ends - 2
        closes[-1] += data[ends[-1] - 1] != _NEWLINE
        if data[0] != _OPEN or not (data[ends[:-1]] == _OPEN).all():
            return False
        closes -= data[closes] == _RETURN
        if not (data[closes] == _CLOSE).all():
            return False
        try:
            lines = self._raw.decode_lines(data.data[: int(ends[-1])])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return False
        if len(lines) != len(ends):
            return False
        strings = b"".join(map(self._value_of, lines))
        return _ffi.json_unescape(strings, len(ends), out, offsets) == len(ends)

    def of_line(self, line: bytes) -> bytes:
        """The text of one line, without white space around it. ValueError says what is wrong."""
        try:
            value = bytes(self._value_of(self._raw.decode(line)))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._closely(line)
        out, offsets = np.empty(len(value), np.uint8), np.empty(2, np.int64)
        if _ffi.json_unescape(value, 1, out, offsets) == 1:
            return out[: int(offsets[1])].tobytes()
        return self._closely(line)

    def rest_of_line(self, line: bytes) -> bytes:
        """The object without the text and without white space between its parts; {} where nothing is left."""
        try:
            return _compact(self._without(line, self._path))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return _without_slowly(line, self._path)

    def _without(self, value: bytes | msgspec.Raw, path: list[str]) -> bytes:
        fields = self._fields.decode(value)
        inner = fields.pop(path[0])
        if len(path) > 1 and (rest := self._without(inner, path[1:])) != b"{}":
            fields[path[0]] = msgspec.Raw(rest)
        return msgspec.json.encode(fields)

    def _closely(self, line: bytes) -> bytes:
        """What remains: lone surrogates outside the text, which msgspec refuses; and what to say of errors."""
        try:
            text: str = self._value_of(self._str.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            text = _with_surrogates(line, self._path, error)
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            raise ValueError(
                f"the text has a lone surrogate (\\u{code:04x}) at character {error.start}"
            ) from error


def _loads(line: bytes, **options: Any) -> Any:
    """Python's parser, which takes lone surrogates. Bytes that are no UTF-8 pass too, as in msgspec's skipped fields;
    in the text they fail later."""
    return json.loads(line.decode("utf-8", "surrogateescape"), parse_constant=_refuse, **options)


def _with_surrogates(line: bytes, path: list[str], error: Exception) -> str:
    """What Python's parser finds in a line that msgspec refuses for a lone surrogate; ValueError(error) if it
    was refused for anything else."""
    if not isinstance(error, msgspec.DecodeError) or isinstance(error, msgspec.ValidationError):
        raise ValueError(str(error)) from error
    if re.search(rb"\\u[dD][89a-fA-F]", line) is None:
        raise ValueError(str(error)) from error
    try:
        value = _loads(line, parse_int=str, parse_float=str)
        for name in path:
            value = value[name]
    except (ValueError, KeyError, TypeError, RecursionError) as second:
        raise ValueError(str(error)) from second
    if not isinstance(value, str):
        raise ValueError(str(error)) from error
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _compact(value: bytes) -> bytes:
    """Without white space; and UTF-8, where the fields that msgspec passed over were not."""
    return msgspec.json.format(value, indent=-1).decode("utf-8", "replace").encode()


def _without_slowly(line: bytes, path: list[str]) -> bytes:
    """rest_of_line of a line that msgspec refuses for a lone surrogate somewhere."""
    value = _loads(line)
    holders = [value]
    for name in path[:-1]:
        holders.append(holders[-1][name])
    del holders[-1][path[-1]]
    for holder, name in zip(holders[-2::-1], path[-2::-1], strict=True):
        if not holder[name]:
            del holder[name]
    return json.dumps(value, separators=(",", ":")).encode()


def find_line_ends(data: Bytes, n_bytes: int) -> Offsets:
    """Where the lines of data[:n_bytes] end, newlines included; the last one perhaps without."""
    ends = np.flatnonzero(data[:n_bytes] == _NEWLINE) + 1
    if n_bytes and (len(ends) == 0 or ends[-1] < n_bytes):
        ends = np.append(ends, n_bytes)
    return ends


def count_blank(data: Bytes, ends: Offsets) -> int:
    """How many of the lines hold nothing but white space."""
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    firsts = data[starts]
    n_blank = 0
    for i in np.flatnonzero(firsts <= 0x20).tolist():
        n_blank += not data[starts[i] : ends[i]].tobytes().strip(BLANK)
    return n_blank
