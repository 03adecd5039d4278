"""Which pieces of a text are the first one, for Metaspace with prepend_scheme "first".

tokenizers calls a piece first if it begins at byte 0 of the text as it was before normalization. It keeps an offset for
every normalized character; all that matters of them is how many of the first characters have the offset 0:

    text            ﬁ n d            first = 1
    NFKC            f i n d          first = 2: both stand for the ﬁ
    split at "i"    f | i | n d      the pieces "f" and "i" are first, "nd" is not

Here stands, for each kind of normalizer, how `first` of the text before becomes that of the text after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

Change = tuple[str, int]  # a character; 0: in place of one, 1: inserted, -n: in place of one and the n after it


def kept(text: str, normalized: str, first: int, normalize: Callable[[str], str]) -> int:
    """Characters are removed or replaced one by one: Nmt, StripAccents, Lowercase."""
    return len(normalize(text[:first]))


def prepended(text: str, normalized: str, first: int) -> int:
    return first + len(normalized) - len(text) if first else 0


def stripped(text: str, normalized: str, first: int, n_left: int) -> int:
    return min(max(first - n_left, 0), len(normalized))


def composed(text: str, normalized: str, first: int, normalize: Callable[[str], str]) -> int:
    """NFC and its like: characters have the offset of what they were made of, up to the place where later ones join
    them. New characters have the offset of the character that they replace, or of the characters that were joined."""
    alone = normalize(text[:first])
    n = next((k for k, (a, b) in enumerate(zip(alone, normalized, strict=False)) if a != b), len(alone))
    replaced = {0, *accumulate(len(normalize(character)) for character in text[:first])} if n < len(alone) else ()
    return min(n + (n in replaced), len(normalized))


def replaced(first: int, matches: Iterable[tuple[int, int]], n_content: int) -> int:
    """Replace: the content has the offset of the last character that it replaces, or of the one before."""
    ret = done = 0
    for begin, end in matches:
        if begin > first:
            break
        ret += begin - done
        done = end
        if end - 1 >= first:  # -1 < 0: an empty match at the beginning has the offset 0
            return ret
        ret += n_content
    return ret + max(first - done, 0)


def mapped(first: int, parts: Iterable[tuple[str, str | None]]) -> int:
    """Precompiled: parts of the text and what replaces them, None: nothing."""
    ret = at = 0
    for _, change in changes(parts):
        if change <= 0:
            is_first = at < first
            at += 1 - change
        else:
            is_first = at - 1 < first
        if not is_first:
            break
        ret += 1
    return ret


def changes(parts: Iterable[tuple[str, str | None]]) -> Iterator[Change]:
    """tokenizers counts the characters that a replacement adds or drops at its last characters; a replacement that is
    empty drops its own at the last character before, or not at all where there is none."""
    waiting: list[Change] = []
    for part, to in parts:
        if to is None:
            to = part
        surplus = len(to) - len(part)
        if not to:
            if waiting:
                waiting[-1] = (waiting[-1][0], waiting[-1][1] + surplus)
            continue
        yield from waiting
        waiting = [(c, int(k >= len(to) - surplus)) for k, c in enumerate(to)]
        if surplus < 0:
            waiting[-1] = (waiting[-1][0], surplus)
    yield from waiting
