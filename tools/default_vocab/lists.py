"""Lists of words, with frequencies or of proper nouns, as tables; and other small data files.

    words-LANG      word TAB frequency, the most frequent first; frequencies of different documents have no common unit
    proper-LANG     words that are written with a capital only, one per line
    traditional     simplified TAB traditional Chinese: characters and phrases
    variants        traditional TAB the same character as Taiwan writes it
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator

WHOLE = {"emoji", "kaomoji", "traditional", "variants"}  # kinds that are not cut
MAX_WORDS = 300_000  # of a list; later ones occur less than once in 10 million words
_LETTER = re.compile(r"[^\W\d_]")


def is_whole(kind: str) -> bool:
    """Whether documents of this kind are not cut."""
    return kind in WHOLE or kind.startswith(("words-", "proper-"))


def _table(rows: Iterable[tuple[str, float]]) -> str:
    most = sorted(rows, key=lambda row: (-row[1], row[0]))[:MAX_WORDS]
    return "".join(f"{word}\t{frequency:.4g}\n" for word, frequency in most)


def rows(table: str) -> list[tuple[str, float]]:
    """A document of kind words-LANG as pairs."""
    fields = (line.rpartition("\t") for line in table.splitlines())
    return [(word, float(frequency)) for word, _, frequency in fields if word]


def wordfreq(data: bytes) -> str:
    """wordfreq's list: a header and bins of words, bin n with the frequency 10^(-n / 100)."""
    import msgspec

    bins = msgspec.msgpack.decode(gzip.decompress(data))[1:]
    return _table((word, 10 ** (-n / 100)) for n, words in enumerate(bins) for word in words)


def counts(data: bytes) -> str:
    """Lines of a word, its count and perhaps more, between tabs or spaces; jieba's dictionary has parts of speech."""
    fields = (line.split() for line in data.decode("utf-8").splitlines())
    return _table((row[0], float(row[1])) for row in fields if len(row) > 1 and row[1].isdigit() and int(row[1]) > 2)


def proper(data: bytes) -> str:
    """A list of words, one per line: those that occur only with a capital."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return "".join(f"{word}\n" for word in sorted(proper_nouns(text.splitlines())))


def proper_nouns(words: Iterable[str]) -> set[str]:
    """The words that begin with a capital and are not also there without one."""
    found = {word.strip() for word in words}
    capitals = {word for word in found if len(word) > 1 and word[0].isupper() and _LETTER.match(word[1])}
    return {word for word in capitals if not {word.lower(), word[0].lower() + word[1:]} & found}


def opencc(data: bytes) -> str:
    """OpenCC's table: a word in simplified characters TAB its traditional forms, the usual one first."""
    fields = (line.split("\t") for line in data.decode("utf-8").splitlines() if not line.startswith("#"))
    return "".join(f"{row[0]}\t{row[1].split(' ')[0]}\n" for row in fields if len(row) == 2)


def traditional(
    words: Iterable[tuple[str, float]], tables: Iterable[str], variants: Iterable[str] = ()
) -> Iterator[tuple[str, float]]:
    """The words in traditional characters: at each position the longest match in documents of kind `traditional`, then
    the characters of documents of kind `variants`."""
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
    """The sequences themselves, without names in any language."""
    return "\n".join(json.loads(data))


def kaomoji(data: bytes) -> str | None:
    """The faces alone, each once, without those that come only from dictionaries of unknown licence."""
    rows = [json.loads(line) for line in gzip.decompress(data).decode("utf-8").splitlines()]
    return "\n".join(sorted({row["text"] for row in rows if {"fontvibe", "kaomoji_proj"} & {*row["sources"]}}))


def strings(data: bytes) -> str | None:
    """A JavaScript file of translations: the right-hand strings."""
    found = re.findall(r':\s*"((?:[^"\\]|\\.)*)"', data.decode("utf-8", "replace"))
    return "\n".join(json.loads(f'"{text}"') for text in found if _valid(text))


def _valid(text: str) -> bool:
    try:
        json.loads(f'"{text}"')
    except ValueError:
        return False
    return True


READERS = {
    "wordfreq": wordfreq,
    "counts": counts,
    "proper": proper,
    "opencc": opencc,
    "emoji": emoji,
    "kaomoji": kaomoji,
    "strings": strings,
}
