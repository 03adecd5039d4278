"""TextField extracts one string field from JSON lines as UTF-8, and formats error messages. The parser is in C.

    block.lines: {"id": 1, "text": "caf\\u00e9"}⏎ {…}⏎ …  ──▶ unitok_json_read ──▶ block.data: documents, packed

Parsing releases the GIL. If a name occurs twice in an object, the last field is used. Lone surrogate escapes (\\ud800)
and invalid UTF-8 are errors in the text, and are ignored elsewhere. NaN and Infinity are accepted as values.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pyunitok._c import text as c_text

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"  # JSON's white space
NO_LIMIT = 1 << 62

_E = c_text.JSON_ERRORS
_MESSAGES = {
    _E["LINE_ENDS"]: "the line ends inside the object; each object must be on one line",
    _E["STRING_ENDS"]: "the line ends inside a string",
    _E["CONTROL"]: "a control character in a string must be escaped",
    _E["ESCAPE"]: "this backslash does not begin a valid escape",
    _E["VALUE"]: "expected a value",
    _E["NUMBER"]: "expected a digit",
    _E["KEY"]: "expected a field name in double quotes",
    _E["COLON"]: "expected a colon after the field name",
    _E["COMMA"]: "expected a comma or a closing bracket after the value",
    _E["TRAILING"]: "trailing characters after the object; each line must hold one object",
    _E["DEPTH"]: "more than 512 nested objects and arrays",
    _E["NO_OBJECT"]: "expected an object, {…}",
    _E["UTF8"]: "the text is not valid UTF-8 here",
}
_KINDS = {b"n": "null", b"t": "a boolean", b"f": "a boolean", b"[": "an array", b"{": "an object", b'"': "a string"}


def key_path(text_key: str) -> list[str]:
    r"""The field names on the path to the text: "a.b" is the field b inside the field a; "a\.b" is a single name."""
    return [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", text_key)]


class TextField(c_text.JsonLines):
    """Extracts the string under text_key (see key_path) from lines. Thread-safe.

    max_line_bytes  a longer line is an error
    """

    def __init__(self, text_key: str, max_line_bytes: int = NO_LIMIT, cpu: str | None = None) -> None:
        self.path = key_path(text_key)
        self._key = text_key
        super().__init__([name.encode("utf-8", "surrogateescape") for name in self.path], max_line_bytes, cpu)

    def of_line(self, line: bytes) -> bytes:
        """The text of one line. Raises ValueError with a message if the line is bad."""
        out, offsets, place = np.empty(len(line), np.uint8), np.zeros(2, np.int64), self.new_place()
        if line and not self.read(memoryview(line), out, offsets, place):
            raise ValueError(self.message(line, place))
        if place.n_docs == 0:
            raise ValueError("the line is blank")
        text: bytes = out[: int(offsets[1])].tobytes()
        return text

    def message(self, data: Any, place: Any) -> str:
        """A message about the error in the line at `place`, with its byte offset in the line."""
        what = self._what(place.error, place.detail, bytes(data[place.at + max(0, place.error_at) :][:1]))
        return what if place.error_at < 0 else f"byte {place.error_at}: {what}"

    def _what(self, error: int, detail: int, start: bytes) -> str:
        if error == _E["TOO_LONG"]:
            return f"longer than {self._max_line_bytes} bytes; raise --max-line if the line is correct"
        if error == _E["MISSING"]:
            return f"the object has no field {self._key!r} (--text-key)"
        if error == _E["NOT_STRING"]:
            return f"the field {self._key!r} is {_KINDS.get(start, 'a number')}, not a string"
        if error == _E["NOT_OBJECT"]:
            name = ".".join(self.path[: detail + 1])
            return f"the field {name!r} is {_KINDS.get(start, 'a number')}, not an object with {self._key!r}"
        if error == _E["SURROGATE"]:
            return f"the text has a lone surrogate (\\u{detail:04x}), which UTF-8 cannot encode"
        return _MESSAGES[error]
