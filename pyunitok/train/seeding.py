"""Finds the seeds of a Unigram model: the characters, and the strings that repeat, ranked by count times length."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pyunitok._c import train as c_train
from pyunitok._c.sharing import share_out
from pyunitok._c.train import Counter, Counts, Rules, Units, merge
from pyunitok._c.train_lexicon import Floats, Numbers
from pyunitok._c.train_seeds import SeedFinder, Seeds
from pyunitok.errors import TrainingError

# A complete unit such as "▁however" is a seed if it occurs this often (or has at most three characters). Rarer units
# overfit: with 2 instead of 15, 16,000 pieces trained on 4 MB of code need 3 % more tokens on unseen code, and 0.7 %
# more on mixed text. With 20, Chinese needs 0.3 % more tokens than with sentencepiece's seeds.
MIN_LEAF = 15
PREPARING = 10  # the share of the total time, in percent

Progress = Callable[[str, int, int], None]


def ranked(
    rules: Rules, units: Units, by_char: Counts, spec: Any, *, compat: bool, threads: int, progress: Progress
) -> tuple[Units, Floats, Numbers]:
    """(pieces sorted by bytes, their values, their numbers in sentencepiece's order: characters, then best first).

    A character's value is its count; the value of any other piece is its count times its number of characters.
    """
    if spec.seed_sentencepieces_file:
        return _in_order(*_from_file(rules, by_char, spec))
    limit = spec.seed_sentencepiece_size or max(100000, 8 * spec.vocab_size)
    found = repeats(rules, units, limit, compat=compat, threads=threads, progress=progress)
    values = found.counts.astype(np.float32) * count_chars_of(found).astype(np.float32)
    sizes = np.diff(found.offsets)
    key = values.view(np.uint32).astype(np.uint64) << np.uint64(32) | sizes.astype(np.uint64)  # values are positive
    best = np.argsort(~key, kind="stable")[:limit]
    chars, char_values = _characters(by_char)
    number = np.zeros(len(found), np.uint64)
    number[best] = np.arange(len(chars) + 1, len(chars) + 1 + len(best))
    chosen = found.take(np.sort(best))
    pieces = merge(_sorted(chars), Units(chosen.data, chosen.offsets, number[number > 0]))
    return _in_order(pieces, np.concatenate((char_values, values[best])))


def _sorted(pieces: list[bytes]) -> Units:
    """The pieces sorted by bytes, each with 1 + its index in the list as its count."""
    order = sorted(range(len(pieces)), key=pieces.__getitem__)
    return Units.pack([pieces[k] for k in order], [k + 1 for k in order])


def repeats(
    rules: Rules, units: Units, limit: int, *, compat: bool, threads: int, progress: Progress
) -> Units:
    """Strings that repeat in the units and may be pieces, sorted by bytes, with their counts: at least the `limit`
    strings with the largest product of count and number of characters."""
    seeds = Seeds(rules, units, compat=compat)
    while (done := seeds.step()) < 1:
        progress("seeds", int(done * PREPARING), 100)
    finders = [SeedFinder(seeds, 0 if compat else limit) for _ in range(threads)]
    n_parts, n_done = seeds.n_parts, [0] * threads

    def work(thread: int, part: int) -> None:
        finders[thread].add(part)
        n_done[thread] += 1

    def tick() -> None:
        progress("seeds", PREPARING + sum(n_done) * (99 - PREPARING) // max(1, n_parts), 100)

    share_out(range(n_parts), threads, work, tick)
    counters = [Counter() for _ in finders]
    share_out(range(threads), threads, lambda _, k: finders[k].finish(counters[k]))
    finders.clear()
    while not compat and not seeds.add_leaves(MIN_LEAF, counters):
        progress("seeds", 99, 100)
    del seeds
    share_out(counters, threads, lambda _, counter: counter.sort())
    found = counters.pop().export()
    while counters:
        found = merge(found, counters.pop().export())
    return found


def _characters(by_char: Counts) -> tuple[list[bytes], Floats]:
    """The characters and their counts, most frequent first."""
    codes = np.flatnonzero(by_char)
    codes = codes[(codes != 0x2585) & (codes != 0x1F)]
    codes = codes[np.lexsort((codes, -by_char[codes].astype(np.int64)))]
    return [chr(c).encode() for c in codes.tolist()], by_char[codes].astype(np.int64).astype(np.float32)


def count_chars_of(pieces: Units) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The number of characters of each piece; no piece is empty."""
    if not len(pieces):
        return np.zeros(0, np.int32)
    return np.add.reduceat((pieces.data & 0xC0) != 0x80, pieces.offsets[:-1], dtype=np.int32)


def _in_order(pieces: Units, values: Floats) -> tuple[Units, Floats, Numbers]:
    """The result of ranked(). pieces: sorted by bytes, each with 1 + its number in sentencepiece's order as its count;
    values: the values in sentencepiece's order."""
    numbers = pieces.counts.astype(np.int64) - 1
    order = np.empty(len(numbers), np.int64)
    order[numbers] = np.arange(len(numbers))
    return pieces, values[numbers], order


def _from_file(rules: Rules, by_char: Counts, spec: Any) -> tuple[Units, Floats]:
    """Read seeds from a file whose lines consist of a piece, a tab and the count of the piece."""
    path = Path(os.fsdecode(spec.seed_sentencepieces_file))
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise TrainingError(f"{path}: cannot be read: {error.strerror}") from error
    if lines and not lines[-1]:
        lines.pop()
    chars, values = _characters(by_char)
    known = dict(zip(chars, values.tolist(), strict=True))
    for number, line in enumerate(lines, 1):
        piece, _, rest = line.partition(b"\t")
        count = rest.split(b"\t")[0].strip()
        if not count.isdigit() or int(count) <= 0:
            raise TrainingError(f"{path}:{number}: expected a piece, a tab and a count of at least 1")
        if piece in known or not c_train.allowed(rules, piece):
            continue
        if len(known) >= spec.seed_sentencepiece_size:
            break
        known[piece] = float(np.float32(int(count) * len(piece.decode())))
    ordered = sorted(known.items(), key=lambda item: (-item[1], item[0]))
    return _sorted([piece for piece, _ in ordered]), np.array([value for _, value in ordered], np.float32)
