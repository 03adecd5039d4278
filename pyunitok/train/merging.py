"""BPE: merges in C, then the pieces in the order of SentencePiece's models."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from pyunitok._c.train import Counts, Rules, Units
from pyunitok._c.train_bpe import BpeTrainer
from pyunitok.packed import Bytes
from pyunitok.train.alphabet import Alphabet
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.modelfile import Piece

SAVE_SECONDS = 20.0  # between two checkpoints of the merges
STEP_WORK = 1 << 20  # positions per call, which cannot be interrupted
Progress = Callable[[int, int], None]  # done, of how many


def train(
    rules: Rules, counted: list[Units], n_pieces: int, alphabet: Alphabet, *, min_count: int, progress: Progress,
    checkpoint: Checkpoint, threads: int = 1, by_char: Counts | None = None,
) -> list[Piece]:  # fmt: skip
    """The pieces, at most n_pieces including characters: the merges in order, then the characters.

    counted     a list of the units, which is emptied: the trainer copies them
    by_char     counts of characters, to choose those that save most tokens
    min_count   merge no rarer pair. With 0, as in sentencepiece, pairs that no longer occur become pieces, too
    checkpoint  saves the merges, or supplies those of an earlier run
    """
    n_merges = n_pieces if by_char is not None else n_pieces - len(alphabet.required)
    trainer = merge(
        rules, counted, n_merges, keep=alphabet.keep, min_count=min_count, progress=progress, threads=threads,
        checkpoint=checkpoint,
    )  # fmt: skip
    merged = trainer.pieces()
    del trainer  # frees its memory before the pieces become Python objects
    if by_char is not None:
        pieces = _with_best_characters(merged.items(), merged.counts.tolist(), n_pieces, by_char)
    else:
        pieces = merged.items() + alphabet.pieces()
    return [(piece, -float(rank)) for rank, piece in enumerate(pieces)]


def merge(
    rules: Rules, counted: list[Units], n_merges: int, *, keep: Bytes | None = None, min_count: int,
    progress: Progress, threads: int, checkpoint: Checkpoint,
) -> BpeTrainer:  # fmt: skip
    """A trainer after its merges. Arguments as for train()."""
    trainer = BpeTrainer(rules, counted.pop(), keep, threads)
    if (kept := checkpoint.load("merges")) is not None:
        try:
            trainer.resume(kept[0]["symbols"], kept[0]["counts"])
        except (KeyError, ValueError) as error:
            raise checkpoint.damaged("merges", error) from None
    saved = time.monotonic()
    progress(trainer.n_pieces, n_merges)
    while trainer.step(n_merges, min_count=min_count, max_work=STEP_WORK):
        progress(trainer.n_pieces, n_merges)
        if checkpoint.folder is not None and time.monotonic() - saved >= SAVE_SECONDS:
            symbols, counts = trainer.merges()
            checkpoint.save("merges", symbols=symbols, counts=counts)
            saved = time.monotonic()
    return trainer


def _with_best_characters(merges: list[bytes], counts: list[int], n_pieces: int, by_char: Counts) -> list[bytes]:
    """auto_character_coverage: the first k merges, their characters, and the other characters that save most tokens.

    A character outside the vocabulary takes a token for each of its bytes, so a piece for it saves bytes - 1 tokens per
    occurrence. k maximizes the sum of all savings; of equal sums, the larger k.
    """
    codes = np.flatnonzero(by_char)
    n_bytes = 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    gains = by_char[codes].astype(np.int64) * (n_bytes - 1)
    saving = gains > 0
    codes, gains = codes[saving], gains[saving]
    order = np.lexsort((codes, -by_char[codes].astype(np.int64), -gains))
    codes, gains = codes[order], gains[order]
    rank = {int(c): i for i, c in enumerate(codes.tolist())}
    free, free_gains = Sums(len(codes), np.ones(len(codes), np.int64)), Sums(len(codes), gains)

    best_gain, best_k, best_n = None, 0, 0
    merged_gain = inside_gain = 0
    inside: set[int] = set()
    for k in range(len(merges) + 1):
        if k + len(inside) <= n_pieces:
            n = min(n_pieces - k - len(inside), free.total())
            gain = merged_gain + inside_gain + free_gains.up_to(free.find(n))
            if best_gain is None or gain >= best_gain:
                best_gain, best_k, best_n = gain, k, n
        if k == len(merges):
            break
        merged_gain += counts[k]
        for c in map(ord, merges[k].decode()):
            if c in inside:
                continue
            inside.add(c)
            if c in rank:
                free.add(rank[c], -1)
                free_gains.add(rank[c], -int(gains[rank[c]]))
                inside_gain += int(gains[rank[c]])
    chosen = merges[:best_k]
    needed = sorted({ord(c) for piece in chosen for c in piece.decode()})
    others = [c for c in codes.tolist() if c not in set(needed)][:best_n]
    return chosen + [chr(c).encode() for c in [*needed, *others]]


class Sums:
    """A Fenwick tree: prefix sums of n numbers in O(log n)."""

    def __init__(self, n: int, values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        self._tree = [0] * (n + 1)
        for i, value in enumerate(values.tolist()):
            self.add(i, value)

    def add(self, index: int, value: int) -> None:
        at = index + 1
        while at < len(self._tree):
            self._tree[at] += value
            at += at & -at

    def up_to(self, n: int) -> int:
        """The sum of the first n."""
        total = 0
        while n > 0:
            total += self._tree[n]
            n -= n & -n
        return total

    def total(self) -> int:
        return self.up_to(len(self._tree) - 1)

    def find(self, wanted: int) -> int:
        """The length of the shortest prefix whose sum is at least `wanted`."""
        at, step = 0, 1 << len(self._tree).bit_length()
        while step:
            if at + step < len(self._tree) and self._tree[at + step] < wanted:
                at += step
                wanted -= self._tree[at]
            step >>= 1
        return at + 1 if wanted > 0 else 0
