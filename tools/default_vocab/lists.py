"""Word lists with frequencies → text that has words as often as running text has them; and other small data files."""

from __future__ import annotations

import gzip
import json
import random
import re

WHOLE = {"emoji", "kaomoji"}  # kinds of which every item counts
N_WORDS = 150_000  # drawn from one list


def wordfreq(data: bytes, joint: str = " ") -> str | None:
    """wordfreq's list: words in bins of one centibel of frequency; words are drawn by their frequency, 12 to a line."""
    import msgpack

    bins = msgpack.unpackb(gzip.decompress(data), raw=False)[1:]
    words = [word for bin_ in bins for word in bin_]
    weights = [10 ** (-cb / 100) for cb, bin_ in enumerate(bins) for _ in bin_]
    return _draw(words, weights, joint, "." if joint else "。")


def wordfreq_joined(data: bytes) -> str | None:
    """The same for a language that writes no spaces."""
    return wordfreq(data, "")


def _draw(words: list[str], weights: list[float], joint: str, ends: str) -> str:
    """Sentences of 6 to 16 words, each ended by one of `ends`."""
    rng = random.Random(1)
    drawn = rng.choices(words, weights, k=N_WORDS)
    lines, i = [], 0
    while i < len(drawn):
        n = rng.randint(6, 16)
        line = joint.join(drawn[i : i + n])
        end = ends if len(ends) == 1 else rng.choice(ends)  # a choice of one would use up random bits, too
        lines.append(line[:1].upper() + line[1:] + end)
        i += n
    return "\n".join(lines)


def jieba(data: bytes) -> str | None:
    """jieba's dictionary: word, count, part of speech."""
    rows = [line.split(" ") for line in data.decode("utf-8").splitlines()]
    rows = [row for row in rows if len(row) >= 2 and int(row[1]) > 2]
    return _draw([row[0] for row in rows], [float(row[1]) for row in rows], "", "。。。，！？")


def opencc(data: bytes) -> str | None:
    """A table of phrases, simplified and traditional: the traditional side, each once."""
    rows = [line.split("\t") for line in data.decode("utf-8").splitlines()]
    return "\n".join(row[1].split(" ")[0] for row in rows if len(row) == 2)


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
    "wordfreq_joined": wordfreq_joined,
    "jieba": jieba,
    "opencc": opencc,
    "emoji": emoji,
    "kaomoji": kaomoji,
    "strings": strings,
}
