"""Trains the default vocabulary on the sources in FOLDER, numbers its pieces and writes it.

python tools/default_vocab/train.py FOLDER OUT.utk [--threads N]
"""

from __future__ import annotations

import argparse
import re
import time
from functools import cache, partial
from pathlib import Path

import corpus
import numpy as np
from characters import characters
from names import is_personal, is_project, ordinary_words, read_names, sections
from unwanted import is_unwanted

from pyunitok._c.train_greedy import VALUES, GreedyCounts, GreedyRound, GreedyRules
from pyunitok.train.longest import WEIGHT_UNIT, LongestState, Step, WeightedText, train_longest
from pyunitok.vocab import native
from pyunitok.vocab.vocabulary import Vocabulary

NAME = "unitok-v1"
EOD = "<|endoftext|>"  # id 0; no text encodes to it
N_IDS = 65_280  # infini-gram's scan would treat ids from 0xFF00 on as separators
# Words and numbers are closed, so every word ends at a cut, and encoding takes half the time. Only pieces that begin
# with punctuation contain spaces: `, and`, `": "`, `) {`.
RULES = GreedyRules(max_piece_bytes=32, max_run_bytes=128, max_words=4, max_digits=3, closed_words=1)
MIN_SOURCES = 3  # a piece of LONG_BYTES or more must occur in this many sources
LONG_BYTES = 7
N_ALONE = 1_500  # pieces that only one source uses, to be replaced at the end
NEW_SENTENCE = re.compile(rb"[.!?][)\"']*\s*\n\s*\w")


def required(folder: Path) -> list[bytes]:
    """The pieces that do not depend on the training text: indentation, rules and characters."""
    runs = [b" " * n for n in [*range(2, 33), 36, 40, 44, 48, 52, 56, 60, 64, 72, 80, 96, 112, 128]]
    runs += [b"\t" * n for n in range(2, 17)]
    runs += [bytes([byte]) * n for byte in b"-=*_#~.+/<>" for n in (2, 3, 4, 8, 16, 32, 64)]
    return sorted({*runs, *characters(), *corpus.ideographs(folder)})


def is_allowed(piece: bytes, people: frozenset[str]) -> bool:
    """Whether a piece is free of unwanted words, names, and starts of sentences on a new line."""
    return not (NEW_SENTENCE.search(piece) or is_unwanted(piece) or is_project(piece) or is_personal(piece, people))


def people(folder: Path, sources: list[corpus.Named]) -> frozenset[str]:
    """The names of people that are not ordinary words, and those in names.txt, in lower case."""
    wheels = [path for package in ("faker", "mimesis") for path in sorted((folder / "pypi").glob(f"{package}-*.whl"))]
    names = read_names(wheels)
    cased = (text.tobytes() for name, source in sources if "words" not in name for text in source.documents)
    return names - ordinary_words(names, cased) | sections()["person"]


def alone(pieces: list[bytes], sources: list[WeightedText], kept: list[bytes]) -> list[bytes]:
    """The pieces of several characters, except `kept`, that only one source uses, least useful first."""
    counts = GreedyCounts(GreedyRound(pieces, RULES))
    for source in sources:
        counts.count(source.documents.data, source.documents.offsets, VALUES)
        counts.end_source(max(1, round(source.weight * WEIGHT_UNIT)), source.damping)
    _, values, n_sources = counts.pieces()
    free = {piece for piece in pieces if len(piece.decode("utf-8", "replace")) > 1}.difference(kept)
    rows = sorted(zip(values.tolist(), counts.round_pieces, n_sources.tolist(), strict=True))
    return [piece for _, piece, n in rows if n <= 1 and piece in free]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    sources = corpus.build(options.folder)
    start = time.monotonic()

    def show(step: Step) -> None:
        rate, seconds = step.n_bytes / step.n_tokens, time.monotonic() - start
        progress = f"{step.n_pieces} pieces, {rate:.4f} bytes/token, {seconds:.0f} s"
        print(f"{step.phase} {step.number}: {progress}", flush=True)

    texts, kept = [source for _, source in sources], required(options.folder)
    train = partial(
        train_longest,
        texts,
        N_IDS - 1,
        rules=RULES,
        required=kept,
        min_sources=MIN_SOURCES,
        allowed=cache(partial(is_allowed, people=people(options.folder, sources))),
        threads=options.threads,
        on_step=show,
    )
    pieces = train(long_bytes=LONG_BYTES)
    # Unseen text hardly uses pieces from a single source. Replace them with pieces from three sources, of any length.
    dropped = alone(pieces, texts, kept)[:N_ALONE]
    pieces = train(long_bytes=1, state=LongestState({*pieces}.difference(dropped), dict.fromkeys(dropped, 0), "settle"))
    write(numbered(pieces), options.out)


def write(pieces: list[bytes], path: Path) -> None:
    """Write a vocabulary of these pieces; the first one gets id 1."""
    ids = np.arange(1, 1 + len(pieces))
    vocabulary = Vocabulary.pack(pieces, ids, eod_id=0, eod_piece=EOD, fallback_id=None, name=NAME)
    native.save(path, vocabulary.build(), vocabulary.about(NAME))


def numbered(pieces: list[bytes]) -> list[bytes]:
    """The single bytes, then the other pieces, each group in byte order."""
    return sorted(pieces, key=lambda piece: (len(piece) > 1, piece))


if __name__ == "__main__":
    main()
