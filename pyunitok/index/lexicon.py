"""WordLexicon contains the distinct words of an index, and finds those that a query matches.

    id 0       the end of a document, which no query matches
    id 1 …     words in the order of (their form without case or accents, their form without case, the word)

Words that differ only in case, or only in case and accents, therefore have consecutive ids, and two binary searches
find them. Wildcards and regular expressions are matched against all words, in linear time, by the C library.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c.text import Pattern
from pyunitok.errors import InputError, LimitError, PatternError
from pyunitok.index.hits import Int64s

CACHED_KEYS = 1 << 14
_IOTA = "\u0345"  # a mark that case folding turns into a letter
# The regex escapes that also match line breaks, each with an equivalent class that does not.
_ESCAPES = {"D": r"[^\d\n]", "W": r"[^\w\n]", "S": r"[^\s]"}


class Folding(NamedTuple):
    """Which differences between words are ignored."""

    case: bool = False
    accents: bool = False

    def of(self, word: str) -> str:
        """The form in which words are compared."""
        if self.case:
            word = word.casefold()
        if self.accents:
            word = without_accents(word)
        return word.casefold() if self.case else word


SAME, CASE, BOTH = Folding(), Folding(case=True), Folding(case=True, accents=True)


def without_accents(text: str) -> str:
    """The text in NFD, without nonspacing marks."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn" or c == _IOTA)


def sort_key(word: str) -> tuple[str, str, str]:
    """The sort key that determines the order in which words are numbered."""
    if word.isascii():
        folded = word.lower()
        return folded, folded, word
    return BOTH.of(word), CASE.of(word), word


class WordLexicon:
    """Words 1 to n.

    data, offsets  word k is data[offsets[k]:offsets[k + 1]] in UTF-8; word 0 is empty
    counts         int64[n + 1]: how often each word occurs; counts[0] is the number of documents
    """

    def __init__(self, data: np.ndarray[Any, Any], offsets: Int64s, counts: Int64s, name: str = "a lexicon") -> None:
        self.name, self.counts = name, counts
        if not (len(offsets) == len(counts) + 1 > 1 and offsets[0] == offsets[1] == 0 and offsets[-1] == len(data)):
            raise InputError(f"{name}: the offsets of words are damaged")
        if bool((offsets[2:] <= offsets[1:-1]).any()) or int(counts.min()) < 0:
            raise InputError(f"{name}: the offsets or counts of words are damaged")
        self._data, self._offsets = data, offsets

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def n_bytes(self) -> int:
        """The size of all words."""
        return len(self._data)

    def word(self, id_: int) -> str:
        return self._data[self._offsets[id_] : self._offsets[id_ + 1]].tobytes().decode("utf-8", "backslashreplace")

    def words(self, ids: Sequence[int] | Int64s) -> list[str]:
        return [self.word(int(id_)) for id_ in ids]

    # ---------------------------------------------------------------------------------------------------- matching ---

    def ids(self, word: str, folding: Folding = SAME) -> Int64s:
        """The ids of the words that equal `word` in the given form, ascending."""
        if folding == BOTH:
            return self._between((BOTH.of(word),))
        if folding == CASE:
            return self._between((BOTH.of(word), CASE.of(word)))
        if not folding.accents:
            found = self._between(sort_key(word))
            return found[:1]
        similar, wanted = self._between((BOTH.of(word),)), folding.of(word)
        return np.array([id_ for id_ in similar.tolist() if folding.of(self.word(id_)) == wanted], np.int64)

    def _between(self, key: tuple[str, ...]) -> Int64s:
        """The ids of the words whose sort keys begin with `key`."""
        begin, step = self._bisect(key, False, 1, len(self)), 1
        while begin + step < len(self) and self._key(begin + step)[: len(key)] == key:  # few words match
            step *= 2
        return np.arange(begin, self._bisect(key, True, begin, min(len(self), begin + step)), dtype=np.int64)

    def _bisect(self, key: tuple[str, ...], after: bool, low: int, high: int) -> int:
        n = len(key)
        while low < high:
            middle = (low + high) // 2
            found = self._key(middle)[:n]
            if found < key or (after and found == key):
                low = middle + 1
            else:
                high = middle
        return low

    @cached_property
    def _key(self) -> Callable[[int], tuple[str, str, str]]:
        """The sort key of a word, cached because most binary searches begin with the same words."""
        return lru_cache(CACHED_KEYS)(lambda id_: sort_key(self.word(id_)))

    def wildcard(self, pattern: str, folding: Folding = SAME) -> Int64s:
        """The ids of the words that match a pattern in which * matches any text and ? any character."""
        pattern, listed = folding.of(pattern), self._listed(folding)
        fixed = pattern.split("*")
        if len(fixed) == 2 and "?" not in pattern:
            return listed.beginning_and_ending(*(part.encode() for part in fixed))
        if len(fixed) == 3 and fixed[0] == fixed[2] == "" != fixed[1] and "?" not in pattern:
            return listed.containing(fixed[1].encode())
        translated = re.sub(r"[*?]|[^*?]+", lambda found: _WILD.get(found[0]) or _escaped(found[0]), pattern)
        return listed.matching(translated)

    def regex(self, regex: str, folding: Folding = SAME) -> Int64s:
        """The ids of the words that a regular expression matches as a whole. Raises PatternError if it is invalid."""
        regex = _within_lines(regex.removeprefix("^"))
        if regex.endswith("$") and not regex.endswith("\\$"):
            regex = regex[:-1]
        if folding.accents:
            regex = without_accents(regex)
        return self._listed(Folding(accents=folding.accents)).matching(f"(?i:{regex})" if folding.case else regex)

    def _listed(self, folding: Folding) -> _WordLines:
        if folding == SAME:
            return self._exact
        with_form = self._forms.get(folding)
        if with_form is None:
            with_form = self._forms[folding] = self._lines(folding.of(self._text))
        return with_form

    def _lines(self, text: str) -> _WordLines:
        lines = _WordLines(text)
        if len(lines.ends) != len(self) - 1:
            raise InputError(f"{self.name}: a word contains a line break")
        return lines

    def first_equal(self, folding: Folding) -> Int64s:
        """For each word, the id of the first word that has the same folded form."""
        found = self._first_equal.get(folding)
        if found is None:
            forms = self._listed(folding).data.split(b"\n")[:-1]
            if folding.case:  # equal words have consecutive ids
                found = np.arange(len(forms) + 1)
                found[2:][np.fromiter(map(operator.eq, forms[1:], forms), np.bool_)] = 0
                found = np.maximum.accumulate(found)
            else:
                first: dict[bytes, int] = {}
                found = np.array([0, *(first.setdefault(form, k + 1) for k, form in enumerate(forms))], np.int64)
            self._first_equal[folding] = found
        return found

    @cached_property
    def _first_equal(self) -> dict[Folding, Int64s]:
        return {}

    @cached_property
    def _text(self) -> str:
        """All words, each followed by a newline."""
        ends = np.asarray(self._offsets[2:]).astype(np.int64)
        return np.insert(np.asarray(self._data), ends, 10).tobytes().decode("utf-8", "replace")

    @cached_property
    def _exact(self) -> _WordLines:
        return self._lines(self._text)

    @cached_property
    def _forms(self) -> dict[Folding, _WordLines]:
        return {}


class _WordLines:
    """All words, folded in the same way, one per line; line k is word k + 1."""

    def __init__(self, text: str) -> None:
        self.data = text.encode("utf-8")
        array = np.frombuffer(self.data, np.uint8)
        self.ends = np.flatnonzero(array == 10)  # the positions of the newlines
        self.begins = np.concatenate(([0], self.ends[:-1] + 1)) if len(self.ends) else self.ends
        self.array = array

    def beginning_and_ending(self, first: bytes, last: bytes) -> Int64s:
        """The words that begin with `first` and end with `last`, without overlap between the two."""
        chosen = np.flatnonzero(self.ends - self.begins >= len(first) + len(last))
        for k, byte in enumerate(first):
            chosen = chosen[self.array[self.begins[chosen] + k] == byte]
        for k, byte in enumerate(reversed(last)):
            chosen = chosen[self.array[self.ends[chosen] - 1 - k] == byte]
        return chosen + 1

    def containing(self, part: bytes) -> Int64s:
        """The words that contain `part`."""
        found = [match.start() for match in re.finditer(re.escape(part), self.data)]
        lines: Int64s = np.unique(np.searchsorted(self.ends, np.array(found, np.int64)))
        return lines + 1

    def matching(self, regex: str) -> Int64s:
        """The words that match a regex in the C library's dialect. The pattern keeps a matching line and its newline
        as one piece, and splits any other line into two."""
        try:
            pattern = Pattern(b"o(?:" + regex.encode("utf-8", "backslashreplace") + b")\\n|[^\\n]+|\\n")
        except PatternError as error:
            raise PatternError(f"{regex}: {error}") from None
        offsets = pattern.split(self.data)
        begins, ends = offsets[:-1], offsets[1:]
        chosen = np.flatnonzero((ends - begins > 1) & (self.array[ends - 1] == 10)) if len(begins) else begins
        lines = np.searchsorted(self.ends, ends[chosen] - 1)
        if not np.array_equal(self.begins[lines], begins[chosen]):
            raise LimitError(f"{regex} matches line breaks, which no word contains; exclude them")
        return lines.astype(np.int64) + 1


_WILD = {"*": r"[^\n]*", "?": r"[^\n]"}


def _escaped(text: str) -> str:
    """A regex that matches the text. Because words consist of letters, marks and digits, other characters never
    match."""
    return "".join(c if c.isalnum() else f"\\{c}" if c.isascii() else c for c in text)


def _within_lines(regex: str) -> str:
    """The regex, with its negated classes changed so that they do not match line breaks."""
    if "\n" in regex:
        raise LimitError("a regular expression for words cannot contain line breaks")
    parts = re.findall(r"\\[pPxu]\{[^}]*\}|\\.|\[\^|.", regex, re.DOTALL)
    ret, inside = [], False
    for part in parts:
        if part == "[^" and not inside:
            ret.append(r"[^\n")
            inside = True
            continue
        if part == "[":
            inside = True
        elif part == "]":
            inside = False
        ret.append(_ESCAPES.get(part[1:], part) if part.startswith("\\") and not inside else part)
    return "".join(ret)
