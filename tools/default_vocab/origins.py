"""Prints the origins of the default vocabulary's pieces. The origin of a piece is the kind of training text that uses
it most, by weight.

    python tools/default_vocab/origins.py FOLDER
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import corpus
import numpy as np
from train import required
from weights import WEIGHT

from pyunitok import Tokenizer
from pyunitok.vocab.lists import escape

N_EXAMPLES = 6
MIN_PIECES = 300  # kinds with fewer pieces share one row


def kind_of(name: str) -> str:
    """en.prose/sotu → en; code-c/linux → code."""
    kind = name.split("/")[0].split(".")[0]
    if kind in WEIGHT:
        return kind
    return "code" if kind.startswith("code-") else "markup" if kind in corpus.MARKUP else "other languages"


def main() -> None:
    tok, folder = Tokenizer.default(), Path(sys.argv[1])
    uses: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = defaultdict(lambda: np.zeros(tok.vocab_size))
    for name, source in corpus.build(folder):
        found = tok.encode_batch([text.tobytes() for text in source.documents]).data
        uses[kind_of(name)] += source.weight * np.bincount(found, minlength=tok.vocab_size)
    kinds = sorted(uses)
    table = np.array([uses[kind] for kind in kinds])
    groups: dict[str, list[int]] = defaultdict(list)
    for id_ in range(257, tok.vocab_size):
        most = int(table[:, id_].argmax())
        groups[kinds[most] if table[most, id_] else "none: required"].append(id_)
    rows = {kind: ids for kind, ids in groups.items() if len(ids) >= MIN_PIECES}
    rest = [kind for kind in groups if kind not in rows]
    print("| most used in | pieces | examples |\n|---|---|---|")
    for kind, ids in sorted(rows.items(), key=lambda row: -len(row[1])):
        examples = (ids[(2 * k + 1) * len(ids) // (2 * N_EXAMPLES)] for k in range(N_EXAMPLES))
        print(f"| {kind} | {len(ids):,} | {' '.join(f'`{escape(tok.id_to_bytes(id_))}`' for id_ in examples)} |")
    print(f"| {', '.join(sorted(rest))} | {sum(len(groups[kind]) for kind in rest):,} | |")
    print(f"\n{len(required(folder)):,} pieces are always in the vocabulary, however rarely the text uses them.")


if __name__ == "__main__":
    main()
