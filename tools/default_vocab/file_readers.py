"""Converts files of a package to plain text. Each function reads one file format and returns None if the file is not
text."""

from __future__ import annotations

import bz2
import gettext
import gzip
import hashlib
import html
import io
import json
import re
from collections.abc import Callable
from typing import Any

_DROPPED = re.compile(r"<(script|style|head|nav)\b.*?</\1\s*>|<!--.*?-->|<\?.*?\?>", re.S | re.I)
_BLOCK = re.compile(
    r"</?(?:p|div|li|ul|ol|dl|dt|dd|h[1-6]|tr|table|br|pre|section|title|item|note|para|td)\b[^>]*>", re.I
)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_SPACES = re.compile(r"[ \t\r\f\v]+")
_BLANK_LINES = re.compile(r"\n\s*\n+")
_CONTEXT = re.compile(r"[a-z_ ]{1,40}\^")  # Wesnoth's syntax: `female^Yes, sir`
_LINK = re.compile(r"<(?:ref|header)>(?:dst='[^']*' )?text='([^']*)'</(?:ref|header)>")  # also Wesnoth's
_SENTENCE = re.compile(r"[.!?…。！？।።။៕]['\"”’»」』)]*$")
_VARIABLE = re.compile(r"%[\w(]|[{}<>]|\w_\w|&#?\w")
_ROFF_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d|\\[&|^%,/:]|\\c")
_ROFF_CHAR = {r"\-": "-", r"\(bu": "•", r"\(aq": "'", r"\(dq": '"', r"\(em": "—", r"\(en": "–", r"\e": "\\", r"\ ": " ",
              r"\(lq": "“", r"\(rq": "”", r"\(oq": "‘", r"\(cq": "’", r"\~": " ", r"\(co": "©", r"\0": " "}  # fmt: skip


def decode(data: bytes) -> str | None:
    """Decode UTF-8 text, which may be compressed. Returns None for text in other encodings and for binary data."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:3] == b"BZh":
        data = bz2.decompress(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.removeprefix("\ufeff").replace("\r\n", "\n")


def markup(text: str) -> str:
    """HTML and XML: the text between the tags, one line per block."""
    text = _TAG.sub("", _BLOCK.sub("\n", _DROPPED.sub(" ", text)))
    text = _SPACES.sub(" ", html.unescape(text))
    return _BLANK_LINES.sub("\n", text).strip()


def _catalogue(data: bytes) -> dict[Any, Any] | None:
    """The keys and translations of a compiled gettext catalogue; None if it is invalid."""
    try:
        catalogue: dict[Any, Any] = gettext.GNUTranslations(io.BytesIO(data))._catalog  # type: ignore[attr-defined]
        return catalogue
    except (OSError, UnicodeDecodeError, ValueError):
        return None


def catalogue(data: bytes) -> str | None:
    """A compiled gettext catalogue: its translations, one per line."""
    strings = _catalogue(data)
    if strings is None:
        return None
    lines = [text for key, text in strings.items() if key and isinstance(text, str)]
    return "\n".join(re.sub(r"<[^<>]*>", "", _LINK.sub(r"\1", line)).strip() for line in lines)


def manual(text: str) -> str:
    """A roff manual page: its running text, without requests or font changes."""
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


def source_strings(data: bytes) -> str | None:
    """A compiled gettext catalogue: the source texts, one per line. In most programs they are English."""
    keys = _catalogue(data)
    if keys is None:
        return None
    texts = [key[0] if isinstance(key, tuple) else key for key in keys]
    texts = [text.partition("^")[2] if _CONTEXT.match(text) else text for text in texts]
    texts = [_LINK.sub(r"\1", text.rpartition("\x04")[2]) for text in texts if text]
    return "\n".join(re.sub(r"<[^<>]*>", "", text).strip() for text in texts)


def sentences(data: bytes) -> str | None:
    """A compiled gettext catalogue: the translations that are sentences, in pseudorandom order."""
    return _spread(catalogue(data))


def source_sentences(data: bytes) -> str | None:
    """Like sentences(), for the source texts."""
    return _spread(source_strings(data))


def _spread(text: str | None) -> str | None:
    """The lines that are sentences without variables, in the order of their hashes."""
    lines = {line for line in html.unescape(text or "").splitlines() if _is_sentence(line)}
    return "\n".join(sorted(lines, key=lambda line: hashlib.sha256(line.encode()).digest())) if text else None


def _is_sentence(line: str) -> bool:
    return len(line.encode()) >= 40 and bool(_SENTENCE.search(line)) and not _VARIABLE.search(line)


def paragraphs(text: str) -> str:
    """HTML and XML: only the sentences, without headings, links to other pages or lists."""
    return "\n".join(line.strip() for line in markup(text).splitlines() if _is_sentence(line.strip()))


def entries(text: str) -> str:
    """Dungeon Crawl's descriptions: entries separated by `%%%%`; each consists of a name and text in wrapped lines."""
    found = []
    for entry in re.split(r"^%%%%.*\n", text, flags=re.M):
        parts = re.sub(r"^#.*\n", "", entry, flags=re.M).partition("\n")[2].strip().split("\n\n")
        texts = [re.sub(r"</?\w+>|\[\[\w*\]\]", "", part) for part in parts]
        found += [re.sub(r"\s*\n\s*", " ", text) for text in texts if not re.search(r"[{}$@]|^[:<w]", text)]
    return "\n".join(text for text in found if text.count(" ") > 2 or not text.isascii())


def signs(text: str) -> str:
    """A Crossfire map: the texts of signs, books and people, between `msg` and `endmsg`; `@` begins a command."""
    said = re.findall(r"^msg\n(.*?)^endmsg", text, re.M | re.S)
    lines = [line for message in said for line in message.splitlines() if not re.match(r"\s*[@#{}\[\"]|\w+:", line)]
    return re.sub(r"\[/?\w+(?:=\w+)?\]", "", "\n".join(line for line in lines if line.count(" ") > 3))


def messages(text: str) -> str:
    """MediaWiki's JSON messages: the strings, without their names, wiki markup or variables."""
    rows = json.loads(text)
    lines = [row for name, row in rows.items() if isinstance(row, str) and not name.startswith("@")]
    return "\n".join(line for line in map(_plain, lines) if line)


def _plain(wikitext: str) -> str:
    """`{{PLURAL:$1|page|pages}}` → `pages`, `[[Help:Links|links]]` → `links`. Removes variables and tags."""
    text = re.sub(r"<[^<>]*>|'{2,}|^[*#:;=]+|=+$", "", wikitext, flags=re.M)
    previous = ""
    while previous != text:
        previous = text
        text = re.sub(r"\{\{[^{}|]*\}\}", "", text)
        text = re.sub(r"\{\{[^{}]*\|([^{}|]*)\}\}", r"\1", text)
    text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1", text)
    text = re.sub(r"\[\S+ ([^\[\]]*)\]", r"\1", text)
    return _SPACES.sub(" ", re.sub(r"\$\d|\(\$\d\)", "", text)).strip()


def properties(text: str) -> str:
    """A Java properties file: the values, with continued lines joined and without variables such as %name%."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    values = [line.partition("=")[2].strip() for line in lines if "=" in line and not line.lstrip().startswith("#")]
    values = [re.sub(r"\\u([0-9A-Fa-f]{4})", lambda m: chr(int(m[1], 16)), value) for value in values]
    values = [re.sub(r"\{\{[^{}]*\}\}|%\w+%|<[^<>]*>", "", value.replace("\\n", "\n")) for value in values]
    return _SPACES.sub(" ", "\n".join(value for value in values if value))


def quoted(text: str) -> str:
    """A game script: the strings in "double quotes" or `backquotes` that have several words."""
    strings = [first or second for first, second in re.findall(r'"((?:[^"\\\n]|\\.)*)"|`([^`\n]*)`', text)]
    strings = [re.sub(r"<[^<>]*>", "", string.replace('\\"', '"').replace("\\n", "\n")) for string in strings]
    return "\n".join(string.strip() for string in strings if string.strip().count(" ") >= 2)


def dialogues(text: str) -> str:
    """Subtitles of Fish Fillets: the translations or, if there are none, the original texts."""
    strings = re.findall(r'dialogStr\("(.*)"\)', text) or re.findall(r'dialogId\(.*,.*,\s*"(.*)"\)', text)
    return "\n".join(string.replace('\\"', '"') for string in strings)


def stringtable(text: str) -> str:
    """FreeOrion's string table: the lines that are neither names nor comments, without links or variables."""
    lines = [line for line in text.replace("'''", "").splitlines() if not re.match(r"[A-Z0-9_]+$|#", line.strip())]
    return _SPACES.sub(" ", re.sub(r"<[^<>]*>|%\w+%|\[\[[^\[\]]*\]\]", "", "\n".join(lines)))


def qt_catalogue(data: bytes) -> str | None:
    """A compiled Qt catalogue (.qm): its translations, one per line."""
    if not data.startswith(b"\x3c\xb8\x64\x18"):
        return None
    at, strings = 16, []
    while at + 5 <= len(data):  # sections: tag, size, contents; 0x69 holds the messages
        tag, size = data[at], int.from_bytes(data[at + 1 : at + 5], "big")
        if tag == 0x69:
            strings = _qt_messages(data[at + 5 : at + 5 + size])
        at += 5 + size
    return "\n".join(re.sub(r"<[^<>]*>", "", string).strip() for string in strings)


def _qt_messages(data: bytes) -> list[str]:
    """The translations in the messages section, a list of fields: u8 tag, u32 size, contents. Tag 1 ends a message and
    has no size; tag 3 is a translation in UTF-16; tag 5 is an obsolete hash of 4 bytes, without a size."""
    at, strings = 0, []
    while at < len(data):
        tag = data[at]
        at += 1
        if tag in (1, 5):
            at += 4 * (tag == 5)
            continue
        size = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if size == 0xFFFFFFFF:
            continue
        if tag == 3:
            strings.append(data[at : at + size].decode("utf-16-be", "replace"))
        at += size
    return strings


def _of_text(read: Callable[[str], str]) -> Callable[[bytes], str | None]:
    """Turn a reader of text into a reader of bytes."""

    def read_bytes(data: bytes) -> str | None:
        text = decode(data)
        return None if text is None else read(text)

    return read_bytes


_OF_TEXT = (markup, manual, messages, properties, quoted, paragraphs, entries, signs, dialogues, stringtable)
_OF_BYTES = (catalogue, source_strings, sentences, source_sentences, qt_catalogue)
READERS: dict[str, Callable[[bytes], str | None]] = {
    "text": decode, **{read.__name__: read for read in _OF_BYTES}, **{read.__name__: _of_text(read) for read in
_OF_TEXT}, }  # fmt: skip
