"""Edits vocabularies, and counts words; a script is given as the string of its letters."""

from __future__ import annotations

from collections import Counter


def edit(
    pieces: dict[bytes, int], add: list[bytes], remove: list[bytes], max_id: int, special: set[int]
) -> dict[bytes, int]:
    """The {piece: id} after the edit."""
    ret, freed = dict(pieces), []
    for piece in remove:
        if piece in ret and len(piece) > 1 and ret[piece] not in special and piece not in add:
            freed.append(ret.pop(piece))
    for piece in add:
        if piece not in ret:
            never = [id_ for id_ in range(max_id + 1) if id_ not in {*pieces.values(), *ret.values(), *special}]
            again = [id_ for id_ in sorted(freed) if id_ <= max_id and id_ not in ret.values()]
            if never or again:
                ret[piece] = (never + again)[0]
    return ret


def words(texts: list[str], scripts: list[str]) -> Counter[str]:
    """How often each word occurs. A script is a string of its letters."""
    ret: Counter[str] = Counter()
    for text in texts:
        i = 0
        while i < len(text):
            letters = next((letters for letters in scripts if text[i] in letters), None)
            if letters is None:
                i += 1
                continue
            begin = i
            while i < len(text) and text[i] in letters:
                i += 1
            ret[text[begin - (begin > 0 and text[begin - 1] == " ") : i]] += 1
    return ret
