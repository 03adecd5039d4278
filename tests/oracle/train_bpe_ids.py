"""Trains BPE as BpeTrainer of Hugging Face's tokenizers 0.23.3 does, with a queue of (count, pair, words)."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

Pair = tuple[int, int]


def merged(word: list[int], pair: Pair, new_id: int) -> tuple[list[int], list[tuple[Pair, int]]]:
    """The word after a merge, applied from left to right, and the changes to the counts of pairs."""
    changes: list[tuple[Pair, int]] = []
    out: list[int] = []
    at = 0
    while at < len(word):
        if tuple(word[at : at + 2]) != pair:
            out.append(word[at])
            at += 1
            continue
        if out:
            changes += [((out[-1], pair[0]), -1), ((out[-1], new_id), 1)]
        if at + 2 < len(word):
            changes += [((pair[1], word[at + 2]), -1), ((new_id, word[at + 2]), 1)]
        out.append(new_id)
        at += 2
    return out, changes


def train(
    words: Mapping[str, int], alphabet: Iterable[str], size: int, *, special: Iterable[str] = (), min_count: int = 0
) -> tuple[list[str], list[tuple[str, str]]]:
    """The vocabulary of at most `size` pieces, in the order of ids, and the merges, in the order of ranks."""
    names = list(dict.fromkeys([*special, *sorted({*alphabet, *"".join(words)})]))
    ids = {name: id_ for id_, name in enumerate(names)}
    texts, counts = [[ids[c] for c in word] for word in words], list(words.values())
    totals: Counter[Pair] = Counter()
    waiting: dict[Pair, set[int]] = {}
    for number, text in enumerate(texts):
        for pair in pairwise(text):
            totals[pair] += counts[number]
            waiting.setdefault(pair, set()).add(number)
    queue: list[tuple[int, Pair, int, set[int]]] = []
    merges: dict[Pair, int] = {}
    n_pushed = 0

    def push() -> None:
        nonlocal n_pushed
        for pair, where in waiting.items():
            if totals[pair] > 0:
                heapq.heappush(queue, (-totals[pair], pair, n_pushed, where))
                n_pushed += 1
        waiting.clear()

    push()
    while len(names) < size and queue:
        count, pair, number, where = heapq.heappop(queue)
        if -count != totals[pair]:
            heapq.heappush(queue, (-totals[pair], pair, number, where))
            continue
        if -count < max(1, min_count):
            break
        name = names[pair[0]] + names[pair[1]]
        assert name not in ids  # only the limit on characters, omitted here, could create a piece twice
        ids[name] = len(names)
        names.append(name)
        assert pair not in merges
        merges[pair] = ids[name]
        for number in where:
            texts[number], changes = merged(texts[number], pair, ids[name])
            for changed, change in changes:
                totals[changed] += change * counts[number]
                if change > 0:
                    waiting.setdefault(changed, set()).add(number)
        push()
    return names, [(names[left], names[right]) for left, right in merges]
