"""Files of a package → plain text: one function per file format, bytes in, str out (None where it is not text)."""

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

_DROPPED = re.compile(r"<(script|style|head|nav)\b.*?</\1\s*>|<!--.*?-->|<\?.*?\?>", re.S | re.I)
_BLOCK = re.compile(
    r"</?(?:p|div|li|ul|ol|dl|dt|dd|h[1-6]|tr|table|br|pre|section|title|item|note|para|td)\b[^>]*>", re.I
)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_SPACES = re.compile(r"[ \t\r\f\v]+")
_BLANK_LINES = re.compile(r"\n\s*\n+")
_CONTEXT = re.compile(r"[a-z_ ]{1,40}\^")  # Wesnoth's own: `female^Yes, sir`
_LINK = re.compile(r"<(?:ref|header)>(?:dst='[^']*' )?text='([^']*)'</(?:ref|header)>")  # Wesnoth's own, too
_SENTENCE = re.compile(r"[.!?…。！？।።။៕]['\"”’»」』)]*$")
_VARIABLE = re.compile(r"%[\w(]|[{}<>]|\w_\w|&#?\w")
_ROFF_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d|\\[&|^%,/:]|\\c")
_ROFF_CHAR = {r"\-": "-", r"\(bu": "•", r"\(aq": "'", r"\(dq": '"', r"\(em": "—", r"\(en": "–", r"\e": "\\", r"\ ": " ",
              r"\(lq": "“", r"\(rq": "”", r"\(oq": "‘", r"\(cq": "’", r"\~": " ", r"\(co": "©", r"\0": " "}  # fmt: skip


def decode(data: bytes) -> str | None:
    """UTF-8 text, or None: text in other encodings and binary files are left out."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:3] == b"BZh":
        data = bz2.decompress(data)
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
    return "\n".join(re.sub(r"<[^<>]*>", "", _LINK.sub(r"\1", line)).strip() for line in lines)


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


def source_strings(data: bytes) -> str | None:
    """A compiled gettext catalogue: the texts that it translates, one per line. In most programs they are English."""
    try:
        keys = gettext.GNUTranslations(io.BytesIO(data))._catalog  # type: ignore[attr-defined]
    except (OSError, UnicodeDecodeError, ValueError):
        return None
    texts = [key[0] if isinstance(key, tuple) else key for key in keys]
    texts = [text.partition("^")[2] if _CONTEXT.match(text) else text for text in texts]
    texts = [_LINK.sub(r"\1", text.rpartition("\x04")[2]) for text in texts if text]
    return "\n".join(re.sub(r"<[^<>]*>", "", text).strip() for text in texts)


def sentences(data: bytes) -> str | None:
    """A compiled gettext catalogue: the translations that are sentences, in an order that spreads over all of it."""
    return _spread(catalogue(data))


def source_sentences(data: bytes) -> str | None:
    """The same of the texts that it translates."""
    return _spread(source_strings(data))


def _spread(text: str | None) -> str | None:
    """The lines that are sentences without variables, in the order of their hashes."""
    lines = {line for line in html.unescape(text or "").splitlines() if _is_sentence(line)}
    return "\n".join(sorted(lines, key=lambda line: hashlib.sha256(line.encode()).digest())) if text else None


def _is_sentence(line: str) -> bool:
    return len(line.encode()) >= 40 and bool(_SENTENCE.search(line)) and not _VARIABLE.search(line)


def paragraphs(data: bytes) -> str | None:
    """HTML and XML: the sentences alone, without headings, links to other pages and lists."""
    text = markup(data)
    return "\n".join(line.strip() for line in text.splitlines() if _is_sentence(line.strip())) if text else None


def entries(data: bytes) -> str | None:
    """Dungeon Crawl's descriptions: entries between lines of `%%%%`, each a name and a text in wrapped lines."""
    text = decode(data)
    if text is None:
        return None
    found = []
    for entry in re.split(r"^%%%%.*\n", text, flags=re.M):
        parts = re.sub(r"^#.*\n", "", entry, flags=re.M).partition("\n")[2].strip().split("\n\n")
        texts = [re.sub(r"</?\w+>|\[\[\w*\]\]", "", part) for part in parts]
        found += [re.sub(r"\s*\n\s*", " ", text) for text in texts if not re.search(r"[{}$@]|^[:<w]", text)]
    return "\n".join(text for text in found if text.count(" ") > 2 or not text.isascii())


def signs(data: bytes) -> str | None:
    """A map of Crossfire: what signs, books and people say, between `msg` and `endmsg`; `@` begins a command."""
    text = decode(data)
    if text is None:
        return None
    said = re.findall(r"^msg\n(.*?)^endmsg", text, re.M | re.S)
    lines = [line for message in said for line in message.splitlines() if not re.match(r"\s*[@#{}\[\"]|\w+:", line)]
    return re.sub(r"\[/?\w+(?:=\w+)?\]", "", "\n".join(line for line in lines if line.count(" ") > 3))


def messages(data: bytes) -> str | None:
    """MediaWiki's JSON messages: the strings without their names, with wiki markup and variables taken out."""
    text = decode(data)
    if text is None:
        return None
    rows = json.loads(text)
    lines = [row for name, row in rows.items() if isinstance(row, str) and not name.startswith("@")]
    return "\n".join(line for line in map(_plain, lines) if line)


def _plain(wikitext: str) -> str:
    """`{{PLURAL:$1|page|pages}}` → `pages`, `[[Help:Links|links]]` → `links`; variables and tags disappear."""
    text = re.sub(r"<[^<>]*>|'{2,}|^[*#:;=]+|=+$", "", wikitext, flags=re.M)
    previous = ""
    while previous != text:
        previous = text
        text = re.sub(r"\{\{[^{}|]*\}\}", "", text)
        text = re.sub(r"\{\{[^{}]*\|([^{}|]*)\}\}", r"\1", text)
    text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1", text)
    text = re.sub(r"\[\S+ ([^\[\]]*)\]", r"\1", text)
    return _SPACES.sub(" ", re.sub(r"\$\d|\(\$\d\)", "", text)).strip()


def properties(data: bytes) -> str | None:
    """A Java properties file: the values, with continued lines joined and variables like %name% taken out."""
    text = decode(data)
    if text is None:
        return None
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    values = [line.partition("=")[2].strip() for line in lines if "=" in line and not line.lstrip().startswith("#")]
    values = [re.sub(r"\\u([0-9A-Fa-f]{4})", lambda m: chr(int(m[1], 16)), value) for value in values]
    values = [re.sub(r"\{\{[^{}]*\}\}|%\w+%|<[^<>]*>", "", value.replace("\\n", "\n")) for value in values]
    return _SPACES.sub(" ", "\n".join(value for value in values if value))


def quoted(data: bytes) -> str | None:
    """A script of a game: the strings of several words in "double quotes" or `backquotes`."""
    text = decode(data)
    if text is None:
        return None
    strings = [first or second for first, second in re.findall(r'"((?:[^"\\\n]|\\.)*)"|`([^`\n]*)`', text)]
    strings = [re.sub(r"<[^<>]*>", "", string.replace('\\"', '"').replace("\\n", "\n")) for string in strings]
    return "\n".join(string.strip() for string in strings if string.strip().count(" ") >= 2)


def dialogues(data: bytes) -> str | None:
    """Subtitles of Fish Fillets: the translations alone where there are any (the original stands beside them)."""
    text = decode(data)
    if text is None:
        return None
    strings = re.findall(r'dialogStr\("(.*)"\)', text) or re.findall(r'dialogId\(.*,.*,\s*"(.*)"\)', text)
    return "\n".join(string.replace('\\"', '"') for string in strings)


def stringtable(data: bytes) -> str | None:
    """FreeOrion's table of strings: the lines that are neither names nor comments, without links and variables."""
    text = decode(data)
    if text is None:
        return None
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
    """Fields of one byte and, but for the end mark, a size; 3 is a translation in UTF-16, 5 is an obsolete hash."""
    at, strings = 0, []
    while at < len(data):
        tag = data[at]
        at += 1
        if tag == 1:
            continue
        if tag == 5:
            at += 4
            continue
        size = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if size == 0xFFFFFFFF:
            continue
        if tag == 3:
            strings.append(data[at : at + size].decode("utf-16-be", "replace"))
        at += size
    return strings


READERS: dict[str, Callable[[bytes], str | None]] = {
    "text": decode, "markup": markup, "catalogue": catalogue, "manual": manual,
    "source_strings": source_strings, "messages": messages, "properties": properties, "quoted": quoted,
    "sentences": sentences, "source_sentences": source_sentences,
    "paragraphs": paragraphs, "entries": entries, "signs": signs,
    "dialogues": dialogues, "stringtable": stringtable, "qt_catalogue": qt_catalogue,
}  # fmt: skip
