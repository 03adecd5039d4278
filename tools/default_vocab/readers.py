"""Files of a package → plain text: one function per file format, bytes in, str out (None where it is not text)."""

from __future__ import annotations

import gettext
import gzip
import html
import io
import re
from collections.abc import Callable

_DROPPED = re.compile(r"<(script|style|head|nav)\b.*?</\1\s*>|<!--.*?-->|<\?.*?\?>", re.S | re.I)
_BLOCK = re.compile(
    r"</?(?:p|div|li|ul|ol|dl|dt|dd|h[1-6]|tr|table|br|pre|section|title|item|note|para|td)\b[^>]*>", re.I
)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_SPACES = re.compile(r"[ \t\r\f\v]+")
_BLANK_LINES = re.compile(r"\n\s*\n+")
_ROFF_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d|\\[&|^%,/:]|\\c")
_ROFF_CHAR = {r"\-": "-", r"\(bu": "•", r"\(aq": "'", r"\(dq": '"', r"\(em": "—", r"\(en": "–", r"\e": "\\", r"\ ": " ",
              r"\(lq": "“", r"\(rq": "”", r"\(oq": "‘", r"\(cq": "’", r"\~": " ", r"\(co": "©", r"\0": " "}  # fmt: skip


def decode(data: bytes) -> str | None:
    """UTF-8 text, or None: text in other encodings and binary files are left out."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.removeprefix("\ufeff").replace("\r\n", "\n")


def markup(data: bytes) -> str | None:
    """HTML and XML: the text between the tags, a line per block."""
    text = decode(data)
    if text is None:
        return None
    text = _TAG.sub("", _BLOCK.sub("\n", _DROPPED.sub(" ", text)))
    text = _SPACES.sub(" ", html.unescape(text))
    return _BLANK_LINES.sub("\n", text).strip()


def catalogue(data: bytes) -> str | None:
    """A compiled gettext catalogue: its translations, one to a line."""
    try:
        strings = gettext.GNUTranslations(io.BytesIO(data))._catalog  # type: ignore[attr-defined]
    except (OSError, UnicodeDecodeError, ValueError):
        return None
    lines = [text for key, text in strings.items() if key and isinstance(text, str)]
    return "\n".join(re.sub(r"<[^<>]*>", "", line).strip() for line in lines)


def manual(data: bytes) -> str | None:
    """A roff manual page: its running text, without requests and font changes."""
    text = decode(data)
    if text is None:
        return None
    lines = []
    for line in text.splitlines():
        if line.startswith((".", "'")):
            name, _, rest = line[1:].strip().partition(" ")
            if name not in ("SH", "SS", "B", "I", "BR", "BI", "IP", "TP", "IR", "RB", "RI", "IB"):
                continue
            line = rest.replace('"', "")
        line = _ROFF_FONT.sub("", line)
        for escape, character in _ROFF_CHAR.items():
            line = line.replace(escape, character)
        lines.append(re.sub(r"\\\[u([0-9A-F]{4,6})\]", lambda m: chr(int(m[1], 16)), line))
    return "\n".join(lines)


READERS: dict[str, Callable[[bytes], str | None]] = {
    "text": decode, "markup": markup, "catalogue": catalogue, "manual": manual,
}  # fmt: skip
