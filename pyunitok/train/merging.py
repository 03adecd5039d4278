"""Trains BPE: merges pairs in C, and returns the pieces in the order of SentencePiece's models."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from pyunitok._c.train import Counts, Rules, Units
from pyunitok._c.train_bpe import BpeTrainer
from pyunitok.packed import Bytes
from pyunitok.train.alphabet import Alphabet
from pyunitok.train.checkpoint import Checkpoint
from pyunitok.train.modelfile import Piece

SAVE_SECONDS = 20.0  # between two checkpoints of the merges
STEP_WORK = 1 << 20  # positions per call into C, which cannot be interrupted
Progress = Callable[[int, int], None]  # done, total


def train(
    rules: Rules, counted: list[Units], n_pieces: int, alphabet: Alphabet, *, min_count: int, progress: Progress,
    checkpoint: Checkpoint, threads: int = 1, by_char: Counts | None = None,
) -> list[Piece]:  # fmt: skip
    """The pieces, at most n_pieces including characters: the merges in order, then the characters.

    counted     a list of the units, which is emptied: the trainer copies them
    by_char     counts of characters, to choose the ones that save the most tokens
    min_count   do not merge rarer pairs. With 0, as in sentencepiece, pairs that no longer occur become pieces, too
    checkpoint  saves the merges, or supplies the merges of an earlier run
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
    rules: Rules | None, counted: list[Units], n_merges: int, *, keep: Bytes | None = None, min_count: int,
    progress: Progress, threads: int, checkpoint: Checkpoint, reserved: Sequence[bytes] = (),
) -> BpeTrainer:  # fmt: skip
    """A trainer that has made its merges. The arguments are those of train(); rules and reserved: see BpeTrainer.

    Merges that make reserved pieces do not count toward n_merges.
    """
    trainer = BpeTrainer(rules, counted.pop(), keep, threads, reserved)
    if (kept := checkpoint.load("merges")) is not None:
        try:
            trainer.resume(kept[0]["symbols"], kept[0]["counts"])
        except (KeyError, ValueError) as error:
            raise checkpoint.damaged("merges", error) from None
    saved = time.monotonic()
    progress(trainer.n_pieces, n_merges)
    n_wanted = n_merges
    while trainer.step(n_wanted, min_count=min_count, max_work=STEP_WORK) or (
        reserved and not trainer.done and n_wanted < (n_wanted := n_merges + _n_made(trainer, reserved))
    ):
        progress(trainer.n_pieces, n_merges)
        if checkpoint.folder is not None and time.monotonic() - saved >= SAVE_SECONDS:
            symbols, counts = trainer.merges()
            checkpoint.save("merges", symbols=symbols, counts=counts)
            saved = time.monotonic()
    return trainer


def _n_made(trainer: BpeTrainer, reserved: Sequence[bytes]) -> int:
    return len({*reserved}.intersection(trainer.pieces().items()))


def _with_best_characters(merges: list[bytes], counts: list[int], n_pieces: int, by_char: Counts) -> list[bytes]:
    """The pieces with auto_character_coverage: the first k merges, the characters in these merges, and the other
    characters that save the most tokens.

    A character outside the vocabulary takes a token for each of its bytes, so a piece for it saves bytes - 1 tokens per
    occurrence. k maximizes the sum of all savings; for equal sums, the larger k.
    """
    codes = np.flatnonzero(by_char)
    n_bytes = 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    gains = by_char[codes].astype(np.int64) * (n_bytes - 1)
    saving = gains > 0
    codes, gains = codes[saving], gains[saving]
    order = np.lexsort((codes, -by_char[codes].astype(np.int64), -gains))
    codes, gains = codes[order].tolist(), gains[order].tolist()
    rank = {c: i for i, c in enumerate(codes)}

    # The best characters outside the merges are the n_top characters in codes[:end] that are not in `inside`. Each
    # merge leaves space for fewer, so `end` only decreases.
    n_top = end = min(n_pieces, len(codes))
    top_gain, merged_gain, inside_gain = sum(gains[:end]), 0, 0
    inside: set[int] = set()  # the characters of the first k merges
    best_gain, best_k, best_n = -1, 0, 0
    for k in range(len(merges) + 1):
        capacity = n_pieces - k - len(inside)
        while n_top > max(0, capacity):
            end -= 1
            if codes[end] not in inside:
                n_top, top_gain = n_top - 1, top_gain - gains[end]
        gain = merged_gain + inside_gain + top_gain
        if capacity >= 0 and gain >= best_gain:
            best_gain, best_k, best_n = gain, k, n_top
        if k == len(merges):
            break
        merged_gain += counts[k]
        for c in set(map(ord, merges[k].decode())) - inside:
            inside.add(c)
            if c in rank:
                inside_gain += gains[rank[c]]
                if rank[c] < end:
                    n_top, top_gain = n_top - 1, top_gain - gains[rank[c]]
    chosen = merges[:best_k]
    needed = {ord(c) for piece in chosen for c in piece.decode()}
    others = [c for c in codes if c not in needed][:best_n]
    return chosen + [chr(c).encode() for c in [*sorted(needed), *others]]
