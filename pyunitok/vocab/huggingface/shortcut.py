"""Which parts of a tokenizer.json the C side can do all by itself, and for which texts.

    normalizer             pre-tokenizer                       C does
    Prepend ▁, Replace " "  none                               a dummy prefix (Llama 2, llm-jp)
    Precompiled, or none   Metaspace                           charsmap; a dummy prefix; every ▁ begins a piece, or none
    the same               WhitespaceSplit, Metaspace          and spaces are removed (T5)

Other normalizers that leave ASCII alone may stand before (XLNet): then only ASCII texts take this shortcut. A text for
which Guard is not sure goes through Python, which does everything; only the part of it around the odd place does, where
it can be cut between words:

    … plain words │ words with <unk> in them │ plain words …        each part begins as a text would: with a ▁
          C                 Python                 C
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pyunitok._c.library import MODEL_FLAGS
from pyunitok.packed import Bytes, Offsets
from pyunitok.vocab.huggingface import patterns
from pyunitok.vocab.huggingface import unicode_tables as tables
from pyunitok.vocab.huggingface.added import AddedToken
from pyunitok.vocab.huggingface.characters import WHITESPACE, bmp, members, members_of
from pyunitok.vocab.huggingface.charsmap import Charsmap, read, seconds_of
from pyunitok.vocab.huggingface.fields import Fields, flatten, optional
from pyunitok.vocab.huggingface.normalizers import FORMS
from pyunitok.vocab.huggingface.pretokenizers import SPACE, Metaspace, read_metaspace
from pyunitok.vocab.huggingface.strings import Strings

SEGMENT = 256  # characters of a text that are looked at together, where not all of it is plain

_BEGIN = r"(?<!\n)^"  # of a text: another way to write Prepend


@dataclass
class Shortcut:
    """How the C side is built, and what else must be true of a text that goes there as it is."""

    flags: int = 0  # of enum unitok_model_flags
    charsmap: Charsmap | None = None
    is_direct: bool = False
    removes_spaces: bool = False
    is_ascii: bool = False  # only texts of ASCII
    no_space_first: bool = False  # only texts that do not begin with a space
    strings: list[str] = field(default_factory=list)  # only texts without these

    def drop_restart(self) -> None:
        if self.flags & MODEL_FLAGS["restart_at_space"]:
            self.flags &= ~MODEL_FLAGS["restart_at_space"]
            self.is_direct = False


def of(document: Fields) -> Shortcut:
    """What the C side can do of a tokenizer.json by itself."""
    normalizers = flatten(optional(document, "normalizer"), "normalizers")
    parts = flatten(optional(document, "pre_tokenizer"), "pretokenizers")
    kinds = [part.string("type") for part in parts]
    if not parts:
        return _without_pre_tokenizer(normalizers)
    if kinds[-1] != "Metaspace":
        return Shortcut()
    metaspace = read_metaspace(parts[-1])
    if metaspace.replacement != SPACE:
        return Shortcut()
    ret = Shortcut(MODEL_FLAGS["escape_whitespaces"])
    if metaspace.split and (len(parts) == 1 or metaspace.scheme == "always"):
        ret.flags |= MODEL_FLAGS["restart_at_space"]
    if kinds == ["Metaspace"]:
        ret.no_space_first = metaspace.scheme != "never"
        ret.is_direct = True
    elif kinds == ["WhitespaceSplit", "Metaspace"] and metaspace == Metaspace(SPACE, "always", True):
        ret.is_direct = ret.removes_spaces = True
        ret.flags |= MODEL_FLAGS["remove_extra_whitespaces"]
    if ret.is_direct and metaspace.scheme != "never":
        ret.flags |= MODEL_FLAGS["add_dummy_prefix"]
    ret.is_direct = ret.is_direct and _normalize_in_c(ret, normalizers)
    return ret


def _without_pre_tokenizer(normalizers: list[Fields]) -> Shortcut:
    """Prepend and Replace, either before the other; Replace alone makes spaces compact."""
    prefixed = spaces = False
    for part in normalizers:
        kind = part.string("type")
        if kind == "Prepend" and part.string("prepend") == SPACE and not prefixed:
            prefixed = True
        elif kind == "Replace" and part.string("content") == SPACE:
            pattern = part.child("pattern").values.get("Regex")
            if pattern == _BEGIN and not prefixed:
                prefixed = True
            elif patterns.literal(part) == " ":
                spaces = True
            else:
                return Shortcut()
        else:
            return Shortcut()
    if not spaces:
        return Shortcut()
    dummy = MODEL_FLAGS["add_dummy_prefix"] if prefixed else 0
    return Shortcut(MODEL_FLAGS["escape_whitespaces"] | dummy, is_direct=True)


def _normalize_in_c(short: Shortcut, normalizers: list[Fields]) -> bool:
    for k, part in enumerate(normalizers):
        kind = part.string("type")
        if kind in (*FORMS, "StripAccents"):
            short.is_ascii = True
        elif kind == "Replace" and patterns.literal(part):
            short.strings.append(patterns.literal(part) or "")
        elif kind == "Precompiled" and k == len(normalizers) - 1:
            short.charsmap = read(part)
            if short.charsmap.has_parts:
                return False
        else:
            return False
    return True


class Guard:
    """Tells the texts that the C side does by itself as tokenizers would."""

    def __init__(self, short: Shortcut, tokens: list[AddedToken], unknown: str | None) -> None:
        found = [token.pattern.replace(SPACE, " ").strip(" ") for token in tokens] + ([unknown] if unknown else [])
        self.is_possible = short.is_direct and all(found)
        self._is_ascii, self._no_space_first = short.is_ascii, short.no_space_first
        self._strings = Strings(sorted({text for text in [*found, *short.strings] if text}))
        self._characters: re.Pattern[str] | None = None
        self._ascii: re.Pattern[bytes] | None = None
        self._firsts: frozenset[int] | None = None
        # What a space may stand between where the text is cut: not an added token, to which the space would belong.
        edges = members_of({edge for token in tokens for edge in (token.pattern[0], token.pattern[-1])})
        self._word = f"[^\\s{SPACE}{edges}]" if not short.is_ascii else f"(?![{edges or ' '}])[0-9A-Za-z]"
        self._gap = 1 if short.flags & MODEL_FLAGS["add_dummy_prefix"] else 0  # which stands for the space, or not
        self._look_at_firsts(short, {text[0] for text in found if text})
        self._cut = re.compile(f"{self._word} (?={self._word})") if self._is_divisible(short, tokens, found) else None

    def _look_at_firsts(self, short: Shortcut, wanted: set[str]) -> None:
        if short.charsmap is None and not short.removes_spaces:
            if self._no_space_first:
                self._firsts = frozenset(range(256)) - frozenset(b" \xe2")
            return
        self._look_at(short.charsmap, short.removes_spaces, wanted)

    @staticmethod
    def _is_divisible(short: Shortcut, tokens: list[AddedToken], found: list[str]) -> bool:
        """Whether the parts before and after the space between two words have nothing to do with each other."""
        if short.strings and any(token.normalized for token in tokens):
            return False  # what replaces them may begin a token
        has_space = any(" " in text for text in [*found, *short.strings])
        return bool(short.flags & MODEL_FLAGS["restart_at_space"]) and not has_space

    def _look_at(self, charsmap: Charsmap | None, removes_spaces: bool, wanted: set[str]) -> None:
        """Which characters need a closer look: those that join others to clusters or keys, that become a space of
        another kind, a ▁, or a part of something to be found."""
        changed = charsmap.characters if charsmap else {}
        odd = set(WHITESPACE) - {" "} | {SPACE} if removes_spaces else {SPACE}
        bad = {c for c, to in changed.items() if set(to) & (odd | wanted - {c})}
        bad |= {c for c in odd if c not in changed} | {"\0"}
        if charsmap:
            bad |= seconds_of(charsmap.all_keys)
        newline = self._newline(charsmap, removes_spaces)
        body = members_of(c for c in bad if c < "\U00010000")
        ranges = members(bmp(tables.EXTEND + " " + tables.PREPEND)) + "\U00010000-\U0010ffff" if charsmap else ""
        if not self._is_ascii:
            firsts = {key.decode("utf-8", "ignore")[:1] for key in charsmap.all_keys} - {""} if charsmap else ()
            self._word = f"{self._word[:-1]}{body}{ranges}{members_of(firsts)}]"
        if charsmap:  # characters above U+FFFF take the other way: see characters.bmp
            body += ranges
        self._characters = re.compile(f"[{body}]" + ("" if newline else "|\r\n"))
        low = "".join(f"\\x{ord(c):02x}" for c in bad if c.isascii())
        self._ascii = re.compile(f"[{low}]".encode() + (b"" if newline else b"|\r\n"))
        if self._no_space_first:
            self._firsts = frozenset(c for c in range(128) if chr(c).isalnum() and chr(c) not in changed)

    @staticmethod
    def _newline(charsmap: Charsmap | None, removes_spaces: bool) -> bool:
        """Whether \\r\\n as a cluster comes to the same as its characters: without a charsmap, or as spaces removed."""
        if charsmap is None:
            return True
        whole = charsmap.transform("\r\n")
        one = [charsmap.characters.get(c, c) for c in "\r\n"]
        return whole is None or (removes_spaces and not (whole + "".join(one)).strip(" ") and bool(whole))

    def allows(self, data: bytes) -> bool:
        if not self.is_possible or self._strings.any_in(data):
            return False
        if self._firsts is not None and data and data[0] not in self._firsts:
            return False
        return self._allows_characters(data)

    def parts(self, text: str, *, divide: bool) -> Iterator[tuple[str, bool]]:
        """(part of a text, whether C does it by itself). Each part is encoded like a text of its own.

        divide  False: the whole, as one part
        """
        data = text.encode()
        if self._cut is None or not divide or len(text) < 2 * SEGMENT or self.allows(data):
            yield text, self.allows(data)
            return
        begin, was_plain = 0, False  # of the run of segments of one kind
        at = 0
        while at < len(text):
            cut = self._cut.search(text, at + SEGMENT)
            end = len(text) if cut is None else cut.start() + 1
            is_plain = self._is_plain(text[at:end], is_first=at == 0)
            if is_plain != was_plain:
                if begin < at:
                    yield text[begin : at - self._gap], was_plain
                begin, was_plain = at, is_plain
            at = end + (self._gap if cut is not None else 0)
        yield text[begin:], was_plain

    def _is_plain(self, text: str, *, is_first: bool) -> bool:
        data = text.encode()
        if is_first or not self.is_possible:
            return self.allows(data)
        return not self._strings.any_in(data) and self._allows_characters(data)

    def _allows_characters(self, data: bytes) -> bool:
        if self._is_ascii or self._characters is not None:
            if data.isascii():
                return self._ascii is None or self._ascii.search(data) is None
            if self._is_ascii or self._characters is None:
                return False
            try:
                return self._characters.search(data.decode()) is None
            except UnicodeDecodeError:
                return False
        return True

    def allows_all(self, data: Bytes, offsets: Offsets) -> bool:
        """Whether it allows each of these documents; one look at all of them at once."""
        text = data[offsets[0] : offsets[-1]].tobytes()
        if not self.is_possible or self._strings.any_in(text):
            return False
        if self._firsts is not None:
            begins = offsets[:-1][np.diff(offsets) > 0]
            if not frozenset(np.unique(data[begins]).tolist()) <= self._firsts:
                return False
        return self._allows_characters(text)
