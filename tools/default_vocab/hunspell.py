"""Expands the entries of Hunspell dictionaries to words with all affixes, as the program `unmunch` does.

An .aff file defines classes of suffixes and prefixes, each identified by a flag. The .dic file lists stems with the
flags of their classes:

    SFX V Y 2                   class V of 2 rules, which may be combined with prefixes
    SFX V e ive e               if the stem ends in e: drop `e`, add `ive`
    SFX V 0 ive [^e]            otherwise: add `ive`
    create/V                    create, creative
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

MAX_ENTRIES = 60_000  # per dictionary, evenly spaced
MAX_FORMS = 500  # expanded per stem; in agglutinative languages, a stem has thousands of forms
MAX_NAME_FORMS = 60  # kept per proper noun
MAX_KEPT_FORMS = 12  # kept per stem, evenly spaced
SKIPPED = ("NOSUGGEST", "FORBIDDENWORD", "ONLYINCOMPOUND")  # flags of offensive words, of errors, and of parts of words
ONLY_WITH_AFFIX = ("NEEDAFFIX", "PSEUDOROOT")  # flags of stems that are not words by themselves


class Affix(NamedTuple):
    prefix: bool
    cross: bool  # may be combined with affixes on the other side of the stem
    strip: str
    add: str
    flags: tuple[str, ...]  # the flags of affixes that may follow
    condition: re.Pattern[str]

    def apply(self, word: str) -> str | None:
        if not self.condition.search(word):
            return None
        if self.prefix:
            return self.add + word.removeprefix(self.strip) if word.startswith(self.strip) else None
        return word.removesuffix(self.strip) + self.add if word.endswith(self.strip) else None


class Dictionary:
    def __init__(self, aff: str) -> None:
        lines = [line.split() for line in aff.splitlines()]
        self.flag_type = next((line[1] for line in lines if line[:1] == ["FLAG"] and len(line) > 1), "")
        aliases = [line[1] for line in lines if line[:1] == ["AF"] and len(line) > 1]
        self.aliases: list[tuple[str, ...]] = [(), *map(self._split, aliases[1:])]
        self.skipped = {line[1] for line in lines if len(line) > 1 and line[0] in SKIPPED}
        self.only_with_affix = {line[1] for line in lines if len(line) > 1 and line[0] in ONLY_WITH_AFFIX}
        self.affixes: dict[str, list[Affix]] = {}
        cross: dict[tuple[str, str], bool] = {}
        for line in lines:
            if not line or line[0] not in ("SFX", "PFX") or len(line) < 4:
                continue
            kind, flag = line[:2]
            if (kind, flag) not in cross:  # the header line of a class
                cross[kind, flag] = line[2] == "Y"
                continue
            if affix := self._affix(kind == "PFX", cross[kind, flag], line[2:]):
                self.affixes.setdefault(flag, []).append(affix)

    def _affix(self, prefix: bool, cross: bool, fields: list[str]) -> Affix | None:
        add, _, flags = fields[1].partition("/")
        condition = fields[2] if len(fields) > 2 and fields[2] != "." else ""
        condition = re.sub(r"[\\*+?(){}|^$](?![^\[]*\])", lambda match: "\\" + match[0], condition)
        try:
            pattern = re.compile(f"^{condition}" if prefix else f"{condition}$")
        except re.error:
            return None
        strip, add = ("" if part == "0" else part for part in (fields[0], add))
        return Affix(prefix, cross, strip, add, self._flags(flags), pattern)

    def _split(self, flags: str) -> tuple[str, ...]:
        if self.flag_type == "num":
            return tuple(flags.split(","))
        step = 2 if self.flag_type == "long" else 1
        return tuple(flags[i : i + step] for i in range(0, len(flags), step))

    def _flags(self, text: str) -> tuple[str, ...]:
        if len(self.aliases) > 1 and text.isdigit():
            return self.aliases[int(text)] if int(text) < len(self.aliases) else ()
        return self._split(text)

    def forms(self, entry: str) -> Iterator[str]:
        """The forms of a .dic entry: the stem, the stem with one or two suffixes, and all of these with prefixes."""
        stem, _, flags_text = re.split(r"[\t ]", entry.replace("\\/", "\0"), maxsplit=1)[0].partition("/")
        stem = stem.replace("\0", "/")
        flags = self._flags(flags_text)
        if self.skipped & set(flags):
            return
        if not self.only_with_affix & set(flags):
            yield stem
        affixes = [affix for flag in flags for affix in self.affixes.get(flag, [])]
        for affix in affixes:
            if (form := affix.apply(stem)) is None:
                continue
            yield form
            inner = [second for flag in affix.flags for second in self.affixes.get(flag, [])]
            others = [other for other in affixes if affix.cross and other.cross and other.prefix and not affix.prefix]
            for second in inner + others:
                if (longer := second.apply(form)) is not None:
                    yield longer


def _open(aff: bytes, dic: bytes) -> tuple[Dictionary, list[str]]:
    """The dictionary with its affixes, and the lines of its entries."""
    encoding = re.search(rb"^\s*SET\s+(\S+)", aff.removeprefix(b"\xef\xbb\xbf"), re.M)
    name = encoding[1].decode() if encoding else "latin-1"
    name = {"microsoft-cp1251": "cp1251", "TIS620-2533": "tis-620"}.get(name, name)
    dictionary = Dictionary(aff.decode(name, "replace").removeprefix("\ufeff"))
    return dictionary, [line.strip() for line in dic.decode(name, "replace").splitlines()[1:]]


def read(aff: bytes, dic: bytes) -> str:
    """One line per word: word TAB weight. The stem gets half of an entry's weight; the other forms share the rest."""
    dictionary, entries = _open(aff, dic)
    weights: dict[str, float] = {}
    for entry in entries[:: -(-len(entries) // MAX_ENTRIES) or 1]:
        forms = list(dict.fromkeys(islice(dictionary.forms(entry), MAX_FORMS)))
        if not forms or not re.fullmatch(r"[^\W\d_]+(?:[\w\u200c\u200d'’ʼ·-]|[^\x00-\x7f])*", forms[0]):
            continue
        others = forms[1:]
        others = others[:: -(-len(others) // MAX_KEPT_FORMS) or 1]
        weights[forms[0]] = weights.get(forms[0], 0) + 0.5
        for form in others:
            weights[form] = weights.get(form, 0) + 0.5 / len(others)
    return "".join(f"{word}\t{weight:.3g}\n" for word, weight in weights.items())


def proper(aff: bytes, dic: bytes) -> str:
    """The forms of words that are always capitalized, one per line."""
    dictionary, entries = _open(aff, dic)
    capitals = {
        form: None
        for entry in entries
        if entry[:1].isupper()
        for form in islice(dictionary.forms(entry), MAX_NAME_FORMS)
        if len(form) > 1 and form[0].isupper() and form.isalpha()
    }
    names = {form.lower() for form in capitals}
    starts = {name[:2] for name in names}
    ordinary = {
        form
        for entry in entries
        if entry[:1].islower() and entry[:2] in starts
        for form in islice(dictionary.forms(entry), MAX_FORMS)
        if form in names
    }
    return "".join(f"{form}\n" for form in sorted(capitals) if form.lower() not in ordinary)


READERS = {"hunspell": read, "hunspell_proper": proper}  # each function takes the contents of two files, .aff and .dic
