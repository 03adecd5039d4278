"""Reads lists of words with frequencies, lists of proper nouns, and other small data files. The results are tables:

    words-LANG      word TAB frequency, most frequent first; the unit differs between documents
    proper-LANG     words that are always capitalized, one per line
    traditional     simplified TAB traditional Chinese: characters and phrases
    variants        traditional character TAB its form in Taiwan
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from collections.abc import Iterable, Iterator

WHOLE = {"emoji", "kaomoji", "traditional", "variants"}  # kinds whose documents are never truncated
MAX_WORDS = 300_000  # kept per list; the words left out occur less than once in 10 million words
_LETTER = re.compile(r"[^\W\d_]")


def is_whole(kind: str) -> bool:
    """Whether documents of this kind are never truncated."""
    return kind in WHOLE or kind.startswith(("words-", "proper-"))


def _table(rows: Iterable[tuple[str, float]]) -> str:
    most = sorted(rows, key=lambda row: (-row[1], row[0]))[:MAX_WORDS]
    return "".join(f"{word}\t{frequency:.4g}\n" for word, frequency in most)


def rows(table: str) -> list[tuple[str, float]]:
    """A document of kind words-LANG as (word, frequency) pairs."""
    fields = (line.rpartition("\t") for line in table.splitlines())
    return [(word, float(frequency)) for word, _, frequency in fields if word]


def wordfreq(data: bytes) -> str:
    """A wordfreq list: a header and bins of words; bin n has the frequency 10^(-n / 100)."""
    import msgspec

    bins = msgspec.msgpack.decode(gzip.decompress(data))[1:]
    return _table((word, 10 ** (-n / 100)) for n, words in enumerate(bins) for word in words)


def counts(data: bytes) -> str:
    """Lines with a word, its count and perhaps other fields, such as the parts of speech in jieba's dictionary."""
    fields = (line.split() for line in data.decode("utf-8").splitlines())
    return _table((row[0], float(row[1])) for row in fields if len(row) > 1 and row[1].isdigit() and int(row[1]) > 2)


def proper(data: bytes) -> str:
    """The words in a list (one per line) that are always capitalized."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return "".join(f"{word}\n" for word in sorted(proper_nouns(text.splitlines())))


def proper_nouns(words: Iterable[str]) -> set[str]:
    """The words that begin with a capital and do not also occur without it."""
    found = {word.strip() for word in words}
    capitals = {word for word in found if len(word) > 1 and word[0].isupper() and _LETTER.match(word[1])}
    return {word for word in capitals if not {word.lower(), word[0].lower() + word[1:]} & found}


def opencc(data: bytes) -> str:
    """An OpenCC table: a word in simplified characters TAB its traditional forms, the usual one first."""
    fields = (line.split("\t") for line in data.decode("utf-8").splitlines() if not line.startswith("#"))
    return "".join(f"{row[0]}\t{row[1].split(' ')[0]}\n" for row in fields if len(row) == 2)


def traditional(
    words: Iterable[tuple[str, float]], tables: Iterable[str], variants: Iterable[str] = ()
) -> Iterator[tuple[str, float]]:
    """Convert words to traditional characters: at each position, replace the longest match in `tables` (kind
    `traditional`), and then replace the characters that `variants` lists."""
    forms = _pairs(tables)
    usual = str.maketrans({old: new for old, new in _pairs(variants).items() if len(old) == 1})
    longest = max(map(len, forms), default=1)
    for word, frequency in words:
        at, parts = 0, []
        while at < len(word):
            end = next((end for end in range(min(len(word), at + longest), at, -1) if word[at:end] in forms), at + 1)
            parts.append(forms.get(word[at:end], word[at:end]))
            at = end
        yield "".join(parts).translate(usual), frequency


def _pairs(tables: Iterable[str]) -> dict[str, str]:
    return dict(line.split("\t", 1) for table in tables for line in table.splitlines())


def emoji(data: bytes) -> str | None:
    """The emoji sequences, without their names."""
    return "\n".join(json.loads(data))


def kaomoji(data: bytes) -> str | None:
    """The distinct faces, without those that occur only in dictionaries of unknown licence."""
    rows = [json.loads(line) for line in gzip.decompress(data).decode("utf-8").splitlines()]
    return "\n".join(sorted({row["text"] for row in rows if {"fontvibe", "kaomoji_proj"} & {*row["sources"]}}))


def strings(data: bytes) -> str | None:
    """A JavaScript file of translations: the valid strings after colons."""
    found = []
    for text in re.findall(r':\s*"((?:[^"\\]|\\.)*)"', data.decode("utf-8", "replace")):
        with contextlib.suppress(ValueError):
            found.append(json.loads(f'"{text}"'))
    return "\n".join(found)


READERS = {read.__name__: read for read in (wordfreq, counts, proper, opencc, emoji, kaomoji, strings)}
